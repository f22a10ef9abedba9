"""Custom operators: schemas, kernels, formulas, and what is refused."""

import gc
import pickle
import weakref
from collections import namedtuple
from typing import List, Optional, Sequence, Tuple  # noqa: UP035  # both spellings are hints

import numpy as np
import pytest

import adjoint
from adjoint import Tensor, library
from adjoint.library import legacy, ops, scoped
from adjoint.library.schema_text import parse

HERE = __file__


@pytest.fixture(autouse=True)
def undone():
    with library.scoped():
        yield


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


def make_cube(name="mine::cube", **options):
    @library.custom_op(name, mutates_args=(), **options)
    def cube(x: Tensor) -> Tensor:
        return adjoint.from_numpy(x.detach().numpy() ** 3)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * grad * x**2

    cube.register_autograd(backward, setup_context=setup_context)
    cube.register_fake(adjoint.empty_like)
    return cube


class TestSchema:
    @pytest.mark.parametrize(
        "text",
        [
            "f(Tensor x) -> Tensor",
            "f() -> ()",
            "f(Tensor? x, Tensor[] y, Tensor?[] z) -> (Tensor, Tensor[])",
            "f(Tensor(a0!) x, SymInt[]? dims=None, *, float eps=0.5) -> ()",
            'f(str how="sum", bool keep=True, Scalar by=2) -> ((Tensor))',
            "f(ScalarType kind=6, Device where=cpu, MemoryFormat form=2) -> Tensor",
            "f(float a=1., float b=0.10000000000000001, float[] c=[1.5, -2.]) -> Tensor",
            "f(int[3] a=1, int[2] b=[1, 2], SymInt[2] c=[0, 0], bool[2]? d=None) -> Tensor values",
            "f(Any x, Generator? by=None, complex z=2.) -> (Tensor values, Tensor)",
            "f(SymInt[] dims=[0, 1]) -> SymInt",
            "f(Tensor(a) x) -> Tensor(a)",
        ],
    )
    def test_text_is_read_and_written(self, text):
        assert str(parse(text)) == text

    def test_parts_of_a_schema(self):
        text = "f.out(Tensor? x, int[2] size, *, int n=-3, Tensor(a!) o) -> (Tensor values, Tensor)"
        schema = parse(text)
        assert [a.type for a in schema.arguments] == [
            "Optional[Tensor]",
            "List[int]",
            "int",
            "Tensor",
        ]
        assert [a.N for a in schema.arguments] == [None, 2, None, None]
        assert [a.is_write for a in schema.arguments] == [False, False, False, True]
        assert [r.name for r in schema.returns] == ["values", ""]
        assert schema.arguments[2].default == -3
        named = parse('f(ScalarType d=float32, Device w="cpu", MemoryFormat m=channels_last) -> ()')
        assert str(named) == "f(ScalarType d=6, Device w=cpu, MemoryFormat m=2) -> ()"
        assert [a.default_value for a in named.arguments] == [6, adjoint.device("cpu"), 2]

    @pytest.mark.parametrize(
        "text", ["(Tensor x", "(Tensor x) ->", "(Foo x) -> Tensor", "() -> Tensor y, int", "x"]
    )
    def test_bad_text_is_refused(self, text):
        with pytest.raises(RuntimeError, match="schema"):
            parse(text)

    def test_hints_in_both_spellings(self):
        def new(a: list[Tensor], b: Tensor | None, c: list[int] | None) -> tuple[Tensor, float]: ...

        def old(a: List[Tensor], b: Optional[Tensor], c: Optional[Sequence[int]]) -> Tuple[Tensor, float]: ...  # fmt: skip  # noqa: E501, UP006, UP045

        def text(a: "list[Tensor]", b: "Tensor | None", c: "list[int] | None") -> "tuple[Tensor, float]": ...  # fmt: skip  # noqa: E501

        schemas = {library.infer_schema(f, mutates_args=()) for f in (new, old, text)}
        assert schemas == {"(Tensor[] a, Tensor? b, SymInt[]? c) -> (Tensor, float)"}

    def test_every_mutation_may_be_unknown(self):
        def f(x: Tensor, n: int, ys: list[Tensor]) -> None: ...

        schema = library.infer_schema(f, mutates_args="unknown", op_name="f")
        assert schema == "f(Tensor(a0!) x, SymInt n, Tensor(a2!)[] ys) -> ()"
        with pytest.raises(ValueError, match="'unknown'; got 'x'"):
            library.infer_schema(f, mutates_args="x")

    def test_what_is_no_schema(self):
        def untyped(x): ...
        def no_return(x: Tensor): ...
        def rest(x: Tensor, *more: int) -> Tensor: ...
        def mapping(x: dict) -> Tensor: ...
        def pair(x: tuple[int, int]) -> Tensor: ...
        def number(x: int) -> None: ...
        def returns(x: Tensor) -> str: ...
        def default(x: Tensor, y: list[int] = (1, 2)) -> Tensor: ...
        def unknown(x: "Nowhere") -> Tensor: ...  # noqa: F821

        cases = {
            untyped: "x must have a type annotation",
            no_return: "No return type annotation",
            rest: "varargs",
            mapping: "unsupported type <class 'dict'>",
            pair: "Take a list in place of a tuple",
            returns: "Return has unsupported type",
            default: "unsupported default",
            unknown: "not a type",
        }
        for function, message in cases.items():
            with pytest.raises(ValueError, match=message):
                library.infer_schema(function, mutates_args=())
        with pytest.raises(ValueError, match="only Tensors can be mutated"):
            library.infer_schema(number, mutates_args=["x"])
        with pytest.raises(ValueError, match=r"\['z'\] in mutates_args"):
            library.infer_schema(number, mutates_args=["z"])


class TestCalls:
    def test_an_op_is_a_function_with_a_name(self):
        cube = make_cube()
        assert cube(leaf(2.0)).tolist() == [8.0]
        assert repr(cube) == "<CustomOpDef(mine::cube)>"
        assert library.lookup("mine::cube") is library.ops.mine.cube is cube.default is cube
        assert pickle.loads(pickle.dumps(cube)) is cube
        assert cube.where.startswith(HERE)

    def test_kernels_by_device(self):
        @library.custom_op("mine::where", mutates_args=())
        def where(x: Tensor) -> Tensor:
            return x * 1

        @where.register_kernel("cpu")
        def _(x):
            return x * 2

        x = adjoint.ones(1)
        assert where(x).tolist() == [2.0]
        with where.set_kernel_enabled("cpu", enabled=False):
            assert where(x).tolist() == [1.0]
            with where.set_kernel_enabled("cpu"):
                assert where(x).tolist() == [2.0]
        assert where(x).tolist() == [2.0]

    def test_a_device_argument_chooses_without_tensors(self):
        @library.custom_op("mine::make", mutates_args=(), device_types="cpu")
        def make(n: int, device: adjoint.device) -> Tensor:
            return adjoint.ones(n, device=device)

        assert make(2, "cpu").tolist() == [1.0, 1.0]
        message = "on cuda: mine::make .*kernel registered for cuda, only for cpu"
        with pytest.raises(NotImplementedError, match=message):
            make(2, device=adjoint.device("cuda"))

    def test_a_subclass_sees_the_call(self):
        seen = []

        class Watching(Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(func)
                return 5

        cube = make_cube()
        assert cube(Watching([1.0])) == 5
        assert seen == [cube]

    def test_names_must_have_a_namespace(self):
        for name in ("cube", "a::b::c", "::cube", "a b::c"):
            with pytest.raises(ValueError, match="namespace::name"):
                make_cube(name)
        with pytest.raises(ValueError, match="no custom op 'mine::nothing'"):
            library.lookup("mine::nothing")
        with pytest.raises(AttributeError, match="mine::nothing"):
            assert library.ops.mine.nothing

    def test_nothing_of_a_scope_remains(self):
        cube = make_cube()
        formula = cube.registered.formula
        with library.scoped():
            make_cube("mine::other")
            cube.register_autograd(lambda ctx, g: None)
            cube.register_kernel("cpu", lambda x: x * 0)
            library.define("mine::third", "(Tensor x) -> Tensor")
        assert cube.registered.formula is formula
        assert cube(leaf(2.0)).tolist() == [8.0]
        for name in ("mine::other", "mine::third"):
            with pytest.raises(ValueError, match="no custom op"):
                library.lookup(name)

    def test_tensors_by_keyword_alone_have_no_formula(self):
        op = library.define("mine::late", "(Tensor x, *, Tensor y) -> Tensor")
        for register in (op.register_autograd, op.register_vmap):
            with pytest.raises(NotImplementedError, match="mine::late.*kwarg-only Tensor args"):
                register(lambda *args: None)
        with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
            library.custom_op(
                "mine::later",
                lambda x, y: x + y,
                mutates_args=(),
                schema="(Tensor x, *, Tensor y) -> Tensor",
            )
        with pytest.raises(ValueError, match="no custom op"):
            library.lookup("mine::later")

    def test_lists_may_be_any_sequence(self):
        seen = []
        op = library.define("mine::seen", "(int[] n, Layout[] l, MemoryFormat f) -> ()")
        library.impl("mine::seen", "default", lambda *args: seen.append(args))
        op(range(2), (adjoint.strided,), adjoint.channels_last)
        assert seen == [([0, 1], [adjoint.strided], adjoint.channels_last)]
        for wrong in ("12", {1: 2}, iter([1])):
            with pytest.raises(RuntimeError, match=r"mine::seen\(\).*'n'"):
                op(wrong, [], adjoint.channels_last)


class TestMutation:
    def make(self):
        @library.custom_op("mine::fill", mutates_args=("out", "others"))
        def fill(x: Tensor, out: Tensor, others: list[Tensor]) -> None:
            for target in (out, *others):
                target.detach().numpy()[...] = x.detach().numpy()

        return fill

    def test_changes_are_counted(self):
        x, out, other = adjoint.ones(2), adjoint.zeros(2), adjoint.zeros(2)
        self.make()(x, out, [other])
        assert (out.tolist(), other.tolist()) == ([1.0, 1.0], [1.0, 1.0])
        assert (x._version, out._version, other._version) == (0, 1, 1)

    def test_a_saved_tensor_that_it_changes_is_noticed(self):
        y = leaf(1.0, 2.0) * 1
        z = (y * y).sum()
        self.make()(adjoint.ones(2), y, [])
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()

    @pytest.mark.parametrize("view", [False, True])
    def test_its_history_is_not_silently_that_of_the_old_value(self, view):
        x = leaf(1.0, 2.0)
        y = x * 1
        self.make()(adjoint.ones(1), y[:1] if view else y, [])
        assert y.tolist() == ([1.0, 2.0] if view else [1.0, 1.0])
        with pytest.raises(RuntimeError, match=r"mine::fill, defined at .*test_library.py:\d+"):
            y.sum().backward()

    def test_it_can_have_no_formula(self):
        with pytest.raises(RuntimeError, match=r"non-functional.*mine|mine::fill.*non-functional"):
            self.make().register_autograd(lambda ctx, g: None)


class TestFormula:
    def test_first_and_second_order(self):
        x = leaf(2.0)
        (g,) = adjoint.autograd.grad(make_cube()(x), x, create_graph=True)
        assert g.tolist() == [12.0]
        assert adjoint.autograd.grad(g, x)[0].tolist() == [12.0]

    def test_it_may_be_replaced(self):
        cube = make_cube()
        x = leaf(2.0)
        old = cube(x)
        cube.register_autograd(lambda ctx, g: g * 100)
        new = cube(x)
        assert adjoint.autograd.grad(new, x)[0].tolist() == [100.0]
        assert adjoint.autograd.grad(old, x)[0].tolist() == [12.0]

    def test_lists_and_optional_tensors(self):
        @library.custom_op("mine::stack", mutates_args=())
        def stack(xs: list[Tensor], y: Tensor | None, k: float) -> tuple[list[Tensor], Tensor, int]:
            return [x * k for x in xs], xs[0] + 0, len(xs)

        needs = []

        def backward(ctx, grads, grad, count):
            needs.append(ctx.needs_input_grad)
            assert count is None
            return [g * 10 for g in grads], None, None

        stack.register_autograd(backward)
        a, b = leaf(1.0), leaf(2.0)
        (first, *_), same, count = stack([a, b.detach(), b], None, 3)
        assert (first.tolist(), same.tolist(), count) == ([3.0], [1.0], 3)
        first.backward()
        assert (a.grad.tolist(), b.grad.tolist()) == ([10.0], [0.0])
        assert needs == [([True, False, True], False, False)]

    def test_hooks_and_names(self):
        packed = []
        cube = make_cube()
        x = leaf(2.0)
        with adjoint.autograd.graph.saved_tensors_hooks(
            lambda t: packed.append(t.tolist()) or t, lambda t: t
        ):
            y = cube(x)
        assert (packed, y.grad_fn.name()) == ([[2.0]], "mine::cubeBackward")
        y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 2,))
        y.backward()
        assert x.grad.tolist() == [24.0]

    def test_without_one_it_can_be_called_but_not_differentiated(self):
        @library.custom_op("mine::plain", mutates_args=())
        def plain(x: Tensor) -> Tensor:
            return x * 2

        y = plain(leaf(1.0))
        assert y.requires_grad
        with pytest.raises(RuntimeError, match=r"mine::plain, defined at .*no autograd formula"):
            y.backward()

    @pytest.mark.parametrize(
        "answer, message",
        [((1, 2), "1 gradients must be returned, got 2"), ([None], "the list 'xs'.*2 gradients")],
    )
    def test_wrong_answers_name_op_and_place(self, answer, message):
        @library.custom_op("mine::pair", mutates_args=())
        def pair(xs: list[Tensor]) -> Tensor:
            return xs[0] + xs[1]

        pair.register_autograd(lambda ctx, g: answer)
        with pytest.raises(RuntimeError, match=rf"mine::pair.*test_library.py:\d+, .*{message}"):
            pair([leaf(1.0), leaf(2.0)]).backward()

    def test_a_kernel_of_defined_ops_is_recorded(self):
        library.define("mine::twice", "(Tensor x) -> Tensor")
        library.impl("mine::twice", "default", lambda x: x * 2)
        x = leaf(1.0)
        library.ops.mine.twice(x).backward()
        assert x.grad.tolist() == [2.0]
        library.register_autograd("mine::twice", lambda ctx, g: g * 7)
        library.ops.mine.twice(x).backward()
        assert x.grad.tolist() == [9.0]


class TestTwoParts:
    """The older interface: save, then a dictionary of gradients."""

    def make(self, save=True, back=True, answer=None, differentiability=None):
        @legacy.custom_op("mine::two")
        def two(x: Tensor, ys: Sequence[Tensor], z: Optional[Tensor], k: float) -> Tuple[Tensor, int]:  # fmt: skip  # noqa: E501, UP006, UP045
            raise AssertionError("a prototype is never run")

        @legacy.impl("mine::two", device_types="cpu")
        def _(x, ys, z, k):
            return x * k + ys[0] * ys[1], len(ys)

        def saves(inputs, output):
            assert isinstance(output, tuple)
            return {"ys": inputs.ys, "more": Saved(inputs.k, (inputs.x, None))}

        def backward(ctx, saved, grad, count):
            assert (count, saved["more"].pair[1]) == (None, None)
            first, second = saved["ys"]
            found = {
                "x": grad * saved["more"].k,
                "ys": [grad * second, grad * first],
                "z": None,
            }
            return found if answer is None else answer(found)

        if save:
            library.impl_save_for_backward("mine::two")(saves)
        if back:
            library.impl_backward("mine::two", differentiability)(backward)
        return library.lookup("mine::two")

    def call(self, op):
        inputs = leaf(1.0), leaf(2.0), leaf(3.0)
        out, count = op(inputs[0], list(inputs[1:]), None, 5.0)
        assert count == 2
        return inputs, out

    def test_it_differentiates(self):
        inputs, out = self.call(self.make(differentiability=[True, False]))
        out.backward()
        assert [t.grad.tolist() for t in inputs] == [[5.0], [3.0], [2.0]]

    def test_second_order_goes_through_what_was_saved(self):
        inputs, out = self.call(self.make())
        (g,) = adjoint.autograd.grad(out, inputs[1], create_graph=True)
        assert adjoint.autograd.grad(g, inputs[2])[0].tolist() == [1.0]

    def test_outputs_without_gradient(self):
        _, out = self.call(self.make(differentiability=[False, False]))
        assert not out.requires_grad

    def test_tensors_are_saved_without_cycles(self):
        gc.collect()
        gc.disable()
        try:
            _, out = self.call(self.make())
            node = weakref.ref(out.grad_fn)
            assert len(out.grad_fn.saved_tensors) == 3
            del out
            assert node() is None
        finally:
            gc.enable()

    @pytest.mark.parametrize("save, back", [(True, False), (False, True)])
    def test_one_half_is_not_enough(self, save, back):
        op = self.make(save, back)
        names = ["impl_save_for_backward", "impl_backward"]
        have, lack = names if save else names[::-1]
        message = rf"mine::two.*given by {have} at .*test_library.py:\d+.*{lack}"
        with pytest.raises(RuntimeError, match=message):
            self.call(op)
        assert op(adjoint.ones(1), [adjoint.ones(1)] * 2, None, 2.0)[0].tolist() == [3.0]

    def test_no_half_is_not_enough(self):
        op = self.make(False, False)
        with pytest.raises(
            RuntimeError, match=r"not been implemented.*mine::two, defined at .*:\d+"
        ):
            self.call(op)
        with adjoint.no_grad():
            self.call(op)

    @pytest.mark.parametrize(
        "answer, message",
        [
            (lambda f: [], "a dict must be returned, got list"),
            (lambda f: {"x": None}, r"tensor-like inputs as keys, \['x', 'ys', 'z'\], but has"),
            (lambda f: {**f, "k": None}, "but has .*'k'"),
            (lambda f: {**f, "ys": f["x"]}, "'ys' a list of gradients is due, got Tensor"),
            (lambda f: {**f, "ys": [None]}, "'ys' 2 gradients are due, got 1"),
            (lambda f: {**f, "ys": [None, 3]}, r"'ys\[1\]' must be None or a Tensor, got int"),
            (lambda f: {**f, "x": 3.0}, "'x' must be None or a Tensor, got float"),
            (lambda f: {**f, "z": f["x"]}, "'z' must be None: it was no Tensor but a NoneType"),
        ],
    )
    def test_wrong_answers_name_op_and_place(self, answer, message):
        _, out = self.call(self.make(answer=answer))
        with pytest.raises(RuntimeError, match=rf"mine::two.*test_library.py:\d+, .*{message}"):
            out.backward()

    @pytest.mark.parametrize("flags", [[True], [True, 1], (True, False), "no"])
    def test_wrong_differentiability(self, flags):
        with pytest.raises(RuntimeError, match="mine::two.*output_differentiability"):
            self.make(differentiability=flags)

    def test_a_number_is_not_differentiable(self):
        with pytest.raises(RuntimeError, match=r"mine::two.*result 1 has a gradient.*int"):
            self.call(self.make(differentiability=[True, True]))

    def test_declarations_that_do_not_fit(self):
        self.make()
        with pytest.raises(RuntimeError, match="already"):
            legacy.custom_op("mine::two", "(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="already has an implementation for cpu"):
            legacy.impl("mine::two", device_types=["cpu"])(abs)
        with pytest.raises(ValueError, match="changes an argument"):
            legacy.custom_op("mine::new", "(Tensor(a!) x) -> Tensor")


Saved = namedtuple("Saved", ["k", "pair"])


class TestOpcheck:
    def test_a_good_op_passes(self):
        outcomes = library.opcheck(make_cube(), (leaf(1.0, 2.0),))
        assert set(outcomes.values()) == {"SUCCESS"}
        assert "test_gradients" in outcomes

    def test_a_wrong_formula_is_found(self):
        cube = make_cube()
        cube.register_autograd(lambda ctx, g: g)
        with pytest.raises(library.OpCheckError, match="test_gradients.*finite differences"):
            library.opcheck(cube, (leaf(1.0, 2.0),))

    def test_whose_history_the_results_have(self):
        check = "test_autograd_registration"
        with library.Library("mine", "DEF") as lib:
            lib.define("made(Tensor x) -> Tensor")
            lib.impl("made", lambda x: x * 2, "CompositeImplicitAutograd")
            found = library.opcheck(library.ops.mine.made, (leaf(1.0, 2.0),))
            assert found[check] == found["test_faketensor"] == "SUCCESS"

            class Twice(adjoint.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2

                @staticmethod
                def backward(ctx, g):
                    return g * 2

            for name, kernel in (("plain", lambda x: x * 2), ("function", Twice.apply)):
                lib.define(f"{name}(Tensor x) -> Tensor")
                lib.impl(name, kernel, "CPU")
                with pytest.raises(library.OpCheckError, match=f"{check}.*no autograd formula"):
                    library.opcheck(library.lookup(f"mine::{name}"), (leaf(1.0),), test_utils=check)
            lib.impl("function", Twice.apply, "Autograd")
            library.opcheck(library.ops.mine.function, (leaf(1.0),), test_utils=check)

    def test_undeclared_changes_are_found(self):
        @library.custom_op("mine::sly", mutates_args=())
        def sly(x: Tensor) -> Tensor:
            x.detach().numpy()[...] += 1
            return x * 1

        x = leaf(1.0)
        with pytest.raises(library.OpCheckError, match="Argument x is not defined as mutable"):
            library.opcheck(sly, (x,), test_utils="test_schema")
        assert x.tolist() == [1.0]

    @pytest.mark.parametrize(
        "fake", [lambda x: adjoint.ones(3), lambda x: x.float(), lambda x: [x, x]]
    )
    def test_wrong_fakes_are_found(self, fake):
        cube = make_cube()
        cube.register_fake(fake)
        outcomes = library.opcheck(cube, (leaf(1.0, 2.0),), raise_exception=False)
        assert isinstance(outcomes.pop("test_faketensor"), RuntimeError)
        assert set(outcomes.values()) == {"SUCCESS"}

    def test_an_op_without_a_fake_cannot_be_traced(self):
        @library.custom_op("mine::unfaked", mutates_args=())
        def unfaked(x: Tensor) -> Tensor:
            return x.clone()

        outcomes = library.opcheck(unfaked, (adjoint.ones(2),), raise_exception=False)
        failed = {name for name, outcome in outcomes.items() if outcome != "SUCCESS"}
        assert failed == {"test_faketensor", "test_aot_dispatch_dynamic"}

    def test_sizes_that_depend_on_values(self):
        @library.custom_op("mine::positive", mutates_args=())
        def positive(x: Tensor) -> Tensor:
            return x[x > 0]

        positive.register_fake(lambda x: adjoint.empty(library.get_ctx().new_dynamic_size()))
        x = adjoint.tensor([1.0, -1.0, 2.0])
        assert library.opcheck(positive, (x,), test_utils="test_faketensor")
        positive.register_fake(lambda x: adjoint.empty(library.get_ctx().new_dynamic_size(min=3)))
        with pytest.raises(library.OpCheckError, match="test_faketensor"):
            library.opcheck(positive, (x,), test_utils="test_faketensor")
        assert library.get_ctx() is None

    def test_a_recorded_kernel_is_no_formula(self):
        library.define("mine::loose", "(Tensor x) -> Tensor")
        library.impl("mine::loose", "cpu", lambda x: x * 2)
        with pytest.raises(library.OpCheckError, match="no autograd formula"):
            library.opcheck(
                library.lookup("mine::loose"),
                (leaf(1.0),),
                test_utils="test_autograd_registration",
            )

    def test_what_it_takes(self):
        with pytest.raises(ValueError, match="test_utils"):
            library.opcheck(make_cube(), (leaf(1.0),), test_utils="test_nothing")
        with pytest.raises(ValueError, match="custom op, got function"):
            library.opcheck(lambda x: x, (leaf(1.0),))


class TestLibrary:
    def test_definitions_end_with_it(self):
        with library.Library("mine", "DEF") as lib:
            assert lib.define("scale(Tensor x, int by=2) -> Tensor") == "scale"
            lib.impl("scale", lambda x, by=2: x * by)
            assert library.ops.mine.scale(adjoint.ones(1)).tolist() == [2.0]
        with pytest.raises(ValueError, match="no custom op"):
            library.lookup("mine::scale")

    def test_kernels_are_given_what_is_no_default(self):
        with library.Library("mine", "DEF") as lib:
            lib.define(
                "f(Tensor x, int[2] size=1, bool same=True, *, float by=2.0, int? n=None) -> ()"
            )
            seen = []
            lib.impl("f", lambda x, *args, **kwargs: seen.append((args, kwargs)))
            f, x = library.ops.mine.f, adjoint.ones(1)
            f(x)
            f(x, 1, True, by=2.0, n=None)
            f(x, 3)
            f(x, [4, 5], n=1)
            f(x, 1, False, by=1)
            plain, size = ((), {}), [1, 1]
            assert seen[:2] == [plain, plain]
            assert seen[2:4] == [(([3, 3],), {}), (([4, 5],), {"n": 1})]
            assert seen[4:] == [((size, False), {"by": 1.0})]
            for wrong in (2.5, "a", adjoint.tensor(3)):
                with pytest.raises(RuntimeError, match="'size', got a"):
                    f(x, wrong)
            lib.define("g(Tensor x, bool[2] same) -> ()")
            with pytest.raises(RuntimeError, match="'same', got a bool"):
                library.ops.mine.g(x, True)

    def test_numbers_come_in_arrays_and_tensors(self):
        with library.Library("mine", "DEF") as lib:
            lib.define("f(Tensor x, int n, int[] s, float[] w, bool b) -> ()")
            seen = []
            lib.impl("f", lambda x, *rest: seen.append(rest))
            f, x = library.ops.mine.f, adjoint.ones(1)
            one = adjoint.tensor([1, 2])
            f(x, np.int64(3), one, np.array([1.5, 2.0]), np.bool_(True))
            f(x, adjoint.tensor(3), np.array([1, 2]), [np.float32(1.5), 2], True)
            assert seen == [(3, [1, 2], [1.5, 2.0], True)] * 2
            assert all(type(each) is int for each in (seen[0][0], *seen[0][1]))
            for wrong in ((1 << 70, [1], [1.0]), (3, [1], one), (3, [1.5], [1.0]), (3, x, one)):
                with pytest.raises(RuntimeError, match="Expected a value of type"):
                    f(x, *wrong, True)

    def test_rules_over_batches_are_given_what_is_no_default(self):
        @library.custom_op("mine::scale", mutates_args=())
        def scale(x: Tensor, by: int = 2, *, more: int = 0) -> Tensor:
            return x * by + more

        seen = []

        @scale.register_vmap
        def batch(info, in_dims, x, *rest, **named):
            seen.append((in_dims, rest, named))
            return scale(x, *rest, **named), in_dims[0]

        x = adjoint.ones(3, 2)
        assert adjoint.vmap(scale)(x).tolist() == (x * 2).tolist()
        assert adjoint.vmap(lambda v: scale(v, 5, more=1))(x).tolist() == (x * 6).tolist()
        assert seen == [((0,), (), {}), ((0, None), (5,), {"more": 1})]

    def test_a_kernel_that_casts_by_itself(self):
        with library.Library("mine", "DEF") as lib:
            lib.define("f(Tensor x) -> Tensor")
            lib.impl("f", lambda x: x * 2, "CPU")

            def narrow(x):
                with adjoint.autocast("cpu", enabled=False):
                    return library.ops.mine.f(x.to(adjoint.bfloat16))

            lib.impl("f", narrow, "AutocastCPU")
            x = adjoint.ones(1, requires_grad=True)
            assert library.ops.mine.f(x).dtype is adjoint.float32
            with adjoint.autocast("cpu"):
                assert library.ops.mine.f(x).dtype is adjoint.bfloat16

    def test_a_fake_function_may_come_first(self):
        library.register_fake("mine::early", adjoint.empty_like)
        op = library.define("mine::early", "(Tensor x) -> Tensor")
        assert op.registered.fake is adjoint.empty_like
        assert op(adjoint.empty(2, device="meta")).shape == (2,)

    def test_names_and_tags_that_are_none(self):
        with library.Library("mine", "DEF") as lib:
            for tags in (3, "pointwise"):
                with pytest.raises(TypeError, match="mine::f: tags must be a Tag"):
                    lib.define("f(Tensor x) -> Tensor", tags=tags)
            with pytest.raises(ValueError, match="must look like"):
                lib.define("f.g.h(Tensor x) -> Tensor")
            lib.define("f(Tensor x) -> Tensor")
            with pytest.raises(RuntimeError, match="Expected one of cpu.*'zpu'"):
                library.ops.mine.f.register_kernel("zpu", lambda x: x)

    def test_it_ends_when_it_is_gone(self):
        lib = library.Library("mine", "DEF")
        lib.define("scale(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match=r"DEF already, made at .*test_library.py:\d+"):
            library.Library("mine", "DEF")
        assert library.lookup("mine::scale")
        del lib
        gc.collect()
        with pytest.raises(ValueError, match="no custom op"):
            library.lookup("mine::scale")
        library.Library("mine", "DEF")._destroy()

    def test_keys_of_pytorch(self):
        op = library.define("mine::scale", "(Tensor x) -> Tensor")
        library.impl("mine::scale", ["CPU", "cuda"], lambda x: x * 2)
        library.impl("mine::scale", "Meta", adjoint.empty_like)
        assert op(adjoint.ones(1)).tolist() == [2.0]
        assert set(op.registered.kernels) == {"cpu", "cuda"}
        assert op.registered.fake is adjoint.empty_like
        with pytest.raises(NotImplementedError, match="mine::scale.*dispatch key 'Sparse'"):
            library.impl("mine::scale", "Sparse", lambda x: x)
        library.impl("mine::scale", "CompositeImplicitAutograd", lambda x: x * 3)
        with pytest.raises(RuntimeError, match="needs no fake"):
            op.register_fake(adjoint.empty_like)
        for register in (library.impl_backward, library.impl_save_for_backward):
            with pytest.raises(RuntimeError, match="kernel for CompositeImplicitAutograd"):
                register("mine::scale")

    def test_a_name_in_the_schema_of_define(self):
        with pytest.raises(ValueError, match="mine::scale.*to look like"):
            library.define("mine::scale", "scale(Tensor x) -> Tensor")

    def test_defined_ops_may_answer_views(self):
        op = library.define("mine::head", "(Tensor x) -> Tensor")
        library.impl("mine::head", "default", lambda x: x[:1])
        x = adjoint.ones(2)
        y = op(x)
        x.mul_(3)
        assert y.tolist() == [3.0]
        with pytest.raises(library.OpCheckError, match="result 0 of mine::head shares memory"):
            library.opcheck(op, (x,), test_utils="test_schema")

    def test_kernels_end_with_it(self):
        cube = make_cube()
        with library.Library("mine", "IMPL", "CPU") as lib:
            lib.impl("cube", lambda x: x * 0)
            assert cube(leaf(2.0)).tolist() == [0.0]
            with pytest.raises(TypeError, match="callable"):
                lib.impl("cube", 3)
            with pytest.raises(RuntimeError, match="IMPL"):
                lib.define("new(Tensor x) -> Tensor")
        assert cube(leaf(2.0)).tolist() == [8.0]

    def test_free_forms(self):
        cube = make_cube()
        library.register_kernel("mine::cube", "cpu", lambda x: x * 1)
        library.register_fake("mine::cube")(adjoint.ones_like)
        library.register_vmap("mine::cube", max)
        library.register_autograd(cube, lambda ctx, g: g)
        assert cube.registered.fake is adjoint.ones_like
        assert cube.registered.vmap is max
        assert library.opcheck(cube, (leaf(1.0),))
        library.impl_abstract("mine::cube")(adjoint.zeros_like)
        assert cube.registered.fake is adjoint.zeros_like


def test_watchers_see_custom_ops():
    with library.scoped():

        @library.custom_op("watched::twice", mutates_args=())
        def twice(x: adjoint.Tensor, *, times: int = 2) -> adjoint.Tensor:
            return x * times

        with adjoint.profiler.profile() as seen:
            assert twice(adjoint.ones(2), times=3).tolist() == [3.0, 3.0]
    assert "watched::twice" in [event.name for event in seen.function_events]


def test_a_kernel_may_come_before_its_op() -> None:
    """Packages register kernels of devices in files that are read in any order."""
    with scoped():
        library.impl("early::twice", ["CPU", "CUDA"], lambda x: x * 2)
        library.register_kernel("early::thrice", "cpu", lambda x: x * 3)
        library.define("early::twice", "(Tensor x) -> Tensor")
        library.define("early::thrice", "(Tensor x) -> Tensor")
        assert ops.early.twice(adjoint.ones(2)).tolist() == [2.0, 2.0]
        assert ops.early.thrice(adjoint.ones(2)).tolist() == [3.0, 3.0]


def test_an_early_kernel_ends_with_its_library() -> None:
    with scoped():
        with library.Library("early", "FRAGMENT") as fragment:
            fragment.impl("once", lambda x: x, "CPU")
        library.define("early::once", "(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match="kernel"):
            ops.early.once(adjoint.ones(2))


def test_a_change_needs_no_letter():
    text = "fill_with(Tensor x, Tensor! out, Tensor[]! rest) -> ()"
    assert parse(text).mutated == ["out", "rest"]
    assert str(parse(text)) == text.replace("[]!", "![]")
    for wrong in ("(Tensor?! x) -> ()", "(Tensor!! x) -> ()", "(Tensor(a)! x) -> ()"):
        with pytest.raises(RuntimeError, match="expected the name"):
            parse(wrong)
    library.define("mine::fill_with", text.removeprefix("fill_with"))

    @library.register_kernel("mine::fill_with", "default")
    def fill(x, out, rest):
        out.copy_(x)

    out = adjoint.zeros(2)
    ops.mine.fill_with(adjoint.ones(2), out, [])
    assert out.tolist() == [1, 1]
