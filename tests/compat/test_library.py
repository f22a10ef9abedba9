"""Custom ops as programs for PyTorch define and call them: torch.ops, overloads, older forms."""

import pytest

import adjoint.compat.torch as compat
from adjoint import library
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode

NS = "compat_ops"


@pytest.fixture(autouse=True)
def undone():
    with library.scoped():
        yield


def make_double(name="double", **options):
    def double(x: compat.Tensor) -> compat.Tensor:
        return x * 2

    return compat.library.custom_op(f"{NS}::{name}", double, mutates_args=(), **options)


def test_overloads_are_shown_in_torch_ops():
    double = make_double()
    packet = compat.ops.compat_ops.double
    assert packet.default is compat.ops.compat_ops.double.default
    assert (packet.default, str(packet.default)) == (double, f"{NS}.double.default")
    assert packet.default.name() == f"{NS}::double"
    assert str(packet.default._schema) == f"{NS}::double(Tensor x) -> Tensor"
    assert packet(compat.ones(1)).tolist() == packet.default(compat.ones(1)).tolist() == [2.0]
    with pytest.raises(AttributeError, match="double.other"):
        assert packet.other


def test_a_packet_calls_the_overload_that_takes_the_arguments():
    make_double()

    def both(x: compat.Tensor, y: compat.Tensor) -> compat.Tensor:
        return x + y

    compat.library.custom_op(f"{NS}::double.pair", both, mutates_args=())
    packet = compat.ops.compat_ops.double
    assert packet.overloads() == ["default", "pair"]
    x = compat.ones(1)
    assert (packet(x).tolist(), packet(x, x * 4).tolist()) == ([2.0], [5.0])
    assert packet.pair(x, x).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="takes 2 positional"):
        packet(x, x, x)


def test_tags_are_remembered():
    tag = compat.Tag.pointwise
    assert make_double(tags=tag).tags == [tag]
    shown = compat.ops.compat_ops.double.default
    assert shown.tags == [compat.Tag.pt2_compliant_tag, tag]
    assert (shown._name, shown._opname) == (f"{NS}::double", "double")
    compat.library.define(f"{NS}::tagged", "(Tensor x) -> Tensor", tags=(tag,))
    assert compat.ops.compat_ops.tagged.default.tags == [tag]


def test_registering_for_an_overload():
    make_double()
    op = compat.ops.compat_ops.double.default
    compat.library.register_kernel(op, "cpu", lambda x: x * 3)
    compat.library.register_fake(op, compat.empty_like)
    compat.library.register_autograd(op, lambda ctx, grad: grad * 3)
    x = compat.ones(1, dtype=compat.float64, requires_grad=True)
    op(x).backward()
    assert x.grad.tolist() == [3.0]
    assert set(compat.library.opcheck(op, (x,)).values()) == {"SUCCESS"}


def test_a_custom_op_knows_its_overload():
    own = make_double("overloaded")
    assert own._opoverload is getattr(compat.ops, NS).overloaded.default
    assert (own._qualname, own._namespace, own._name) == (own.name, NS, "overloaded")


def test_a_mode_sees_custom_ops():
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, len(args)))
            return func(*args, **(kwargs or {}))

    double = make_double()
    with Seen():
        assert double(compat.ones(1)).tolist() == [2.0]
    wanted = [compat.ops.aten.ones.default, compat.ops.compat_ops.double.default]
    assert seen == [(func, 1) for func in wanted]


def test_a_library_as_first_argument():
    lib = compat.library.Library(NS, "FRAGMENT")

    @compat.library.define(lib, "triple(Tensor x) -> Tensor")
    def triple(x):
        return x * 3

    lib.define("half(Tensor x) -> Tensor")

    @compat.library.impl(lib, "half", "CPU")
    def half(x):
        return x / 2

    x = compat.ones(1)
    ops = compat.ops.compat_ops
    assert (ops.triple(x).tolist(), ops.half(x).tolist()) == ([3.0], [0.5])
    lib.impl(ops.half.default, lambda x: x / 4, "CPU")
    assert ops.half(x).tolist() == [0.25]
    with pytest.raises(RuntimeError, match="half has a kernel for CPU already"):
        lib.impl("half", half, "CPU", allow_override=False)
    keysets = []
    lib.impl("half", lambda keys, x: keysets.append(keys) or x / 8, "CPU", with_keyset=True)
    assert ops.half(x).tolist() == [0.125]
    assert keysets == [compat._C.DispatchKeySet(compat._C.DispatchKey.CPU)]
    with pytest.raises(RuntimeError, match="expected the name of an op"):
        lib.impl(3, half, "CPU")


def test_a_kernel_that_records_by_itself():
    """The pattern of old: a Function under the key Autograd, the op itself below it."""
    lib = compat.library.Library(NS, "FRAGMENT")
    lib.define("slow(Tensor x) -> Tensor")
    lib.impl("slow", lambda x: x * 2, "CPU")
    op = compat.ops.compat_ops.slow

    class Slow(compat.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with compat._C._AutoDispatchBelowAutograd():
                return op(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    lib.impl("slow", Slow.apply, "Autograd")
    x = compat.ones(1, requires_grad=True)
    y = op(x)
    y.backward()
    assert (y.tolist(), x.grad.tolist()) == ([2.0], [7.0])
    with compat.no_grad():
        assert not op(x).requires_grad


class TestFirstInterfaces:
    def test_declare_and_forget(self):
        from adjoint.compat.torch import _custom_ops
        from adjoint.compat.torch._custom_op import impl as first

        @_custom_ops.custom_op(f"{NS}::foo")
        def foo(x: compat.Tensor) -> compat.Tensor: ...

        _custom_ops.impl(f"{NS}::foo", device_types="cpu")(lambda x: x * 2)
        assert list(first.global_registry) == [f"{NS}::foo"]
        assert first.get_op(f"{NS}::foo")(compat.ones(1)).tolist() == [2.0]
        with pytest.raises(RuntimeError, match="multiple times"):
            _custom_ops.custom_op(f"{NS}::foo", "(Tensor x) -> Tensor")
        first.global_registry[f"{NS}::foo"]._destroy()
        assert len(first.global_registry) == 0
        make_double()
        with pytest.raises(KeyError):
            first.global_registry[f"{NS}::double"]

    @pytest.mark.parametrize(
        "name, schema, message",
        [
            ("aten::foo", "(Tensor x) -> Tensor", "reserved namespace"),
            (f"{NS}::foo.other", "(Tensor x) -> Tensor", "no overload"),
            (f"{NS}::foo", "(Tensor(a!) x) -> Tensor", "functional"),
            (f"{NS}::foo", "(Tensor(a) x) -> Tensor(a)", "views"),
            (f"{NS}::foo", "(Tensor x) -> ()", "no returns"),
            (f"{NS}::foo", "(Tensor self) -> Tensor", "self"),
        ],
    )
    def test_what_is_refused(self, name, schema, message):
        from adjoint.compat.torch import _custom_ops

        with pytest.raises(ValueError, match=message):
            _custom_ops.custom_op(name, schema)

    def test_the_prototype_has_the_name(self):
        from adjoint.compat.torch import _custom_ops

        with pytest.raises(ValueError, match="to have name foo, got bar"):

            @_custom_ops.custom_op(f"{NS}::foo")
            def bar(x: compat.Tensor) -> compat.Tensor: ...

    def test_kernels_of_devices_that_are_not_supported_are_refused(self):
        from adjoint.compat.torch import _custom_ops

        _custom_ops.custom_op(f"{NS}::foo", "(Tensor x) -> Tensor")
        with pytest.raises(ValueError, match="we only support device_type"):
            _custom_ops.impl(f"{NS}::foo", device_types=["cpu", "xla"])
        with pytest.raises(AssertionError, match="Invalid function schema: bar"):
            _custom_ops.custom_op(f"{NS}::bar", "(")


class TestRules:
    """What an op is in a mode, and on instances of a class."""

    def test_a_rule_for_a_mode(self):
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        double = make_double()

        @compat.library.register_torch_dispatch(compat.ops.compat_ops.double.default, Mode)
        def rule(mode, func, types, args, kwargs):
            assert func is compat.ops.compat_ops.double.default
            return func(*args) + 1

        with Mode():
            assert double(compat.ones(1)).item() == 3
        assert double(compat.ones(1)).item() == 2

        @double.register_torch_dispatch(Mode)
        def other_rule(mode, func, types, args, kwargs):
            return func(*args) + 2

        with Mode():
            assert double(compat.ones(1)).item() == 4

    def test_a_class_and_its_rule_see_the_op_below_autograd(self):
        class Wrapper(compat.Tensor):
            @staticmethod
            def __new__(cls, inner, requires_grad=False):
                return compat.Tensor._make_wrapper_subclass(
                    cls, inner.shape, dtype=inner.dtype, requires_grad=requires_grad
                )

            def __init__(self, inner, requires_grad=False):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                seen.append(func)
                plain = [arg.inner if isinstance(arg, cls) else arg for arg in args]
                return cls(func(*plain, **(kwargs or {})))

        seen = []
        double = make_double()
        double.register_autograd(lambda ctx, grad: grad * 2)
        x = Wrapper(compat.ones(2), requires_grad=True)
        result = double(x)
        assert seen == [compat.ops.compat_ops.double.default]
        result.sum().backward()
        assert x.grad.inner.tolist() == [2, 2]

        with compat.library._scoped_library(NS, "FRAGMENT") as scoped:
            scoped._register_torch_dispatch_rule(
                "double", Wrapper, lambda cls, func, types, args, kwargs: cls(args[0].inner * 5)
            )
            assert double(x).inner.tolist() == [5, 5]
        assert double(x).inner.tolist() == [2, 2]


def test_kernels_by_their_keys():
    lib = compat.library.Library(NS, "FRAGMENT")
    lib.define("half(Tensor x) -> Tensor")
    lib.impl("half", lambda x: x / 2, "CPU")
    compat.library.impl_abstract(f"{NS}::half", compat.empty_like)
    has, key = compat._C._dispatch_has_kernel_for_dispatch_key, compat._C.DispatchKey
    half = compat.ops.compat_ops.half.default
    assert [has(half.name(), k) for k in ("CPU", "Meta", "CUDA")] == [True, True, False]
    assert half.has_kernel_for_dispatch_key(key.CPU)
    assert half.has_kernel_for_any_dispatch_key(compat._C.DispatchKeySet(key.CPU))
    assert compat._C._dispatch_has_kernel("aten::sin")
    assert not compat._C._dispatch_has_kernel(f"{NS}::other")
    with pytest.raises(RuntimeError, match="could not parse dispatch key: cpu"):
        has(half.name(), "cpu")
    with pytest.raises(RuntimeError, match="other does not exist"):
        has(f"{NS}::other", "CPU")
    keys, x = compat._C.DispatchKeySet(key.CPU), compat.ones(1)
    found = compat.library.get_kernel(half, "CPU")
    assert found.call_boxed(keys, x).tolist() == [0.5]
    assert compat.library.get_kernel("aten::add.Tensor", key.CPU).call_boxed(
        keys, x, x, alpha=3
    ).tolist() == [4.0]
    lib.impl("half", lambda x: x / 4, "CPU")
    with pytest.raises(RuntimeError, match="invalidated"):
        found.call_boxed(keys, x)
    for op, name, error in (
        (half, "Nonsense", ValueError),
        (3, "CPU", ValueError),
        ("aten::nope", "CPU", RuntimeError),
        (f"{NS}::nope", "CPU", RuntimeError),
        (half, "CUDA", RuntimeError),
    ):
        with pytest.raises(error):
            compat.library.get_kernel(op, name)


def test_names_of_a_library():
    lib = compat.library.Library(NS, "FRAGMENT")
    lib.define("half(Tensor x) -> Tensor")
    lib.define("half.by(Tensor(a -> *) x, int[2] n=1) -> Tensor(a)")
    lib.impl(f"{NS}::half", lambda x: x / 2, "CPU")
    packet = compat.ops.compat_ops.half
    assert packet(compat.ones(1)).tolist() == [0.5]
    assert list(packet) == ["default", "by"]
    assert "half" in dir(compat.ops.compat_ops)
    assert compat.ops.compat_ops.__name__ == f"torch.ops.{NS}"
    assert compat.ops.loaded_libraries == set()
    lib._register_fake("half", compat.empty_like)
    assert packet(compat.empty(3, device="meta")).shape == (3,)
    text = f"{NS}::half.by(Tensor(a -> *) x, int[2] n=1) -> Tensor(a)"
    assert repr(packet.by._schema) == str(compat._C._get_schema(f"{NS}::half", "by")) == text
    schemas = compat._C._jit_get_schemas_for_operator
    assert [each.overload_name for each in schemas(f"{NS}::half")] == ["", "by"]
    assert "Tensor" in {each.overload_name for each in schemas("aten::add")}
    with pytest.raises(RuntimeError, match="Could not find schema for .*nope"):
        compat._C._dispatch_find_schema_or_throw(f"{NS}::nope", "")
    with pytest.raises(RuntimeError, match=f"the Library is of the namespace {NS}"):
        lib.impl("other::half", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match="expected the name of an op"):
        lib.impl(packet, lambda x: x, "CPU")
    lib._destroy()
    for late in (lambda: lib.define("late() -> ()"), lambda: lib.impl("half", abs, "CPU")):
        with pytest.raises(AssertionError, match="has been destroyed"):
            late()


def test_a_triton_op_is_known_without_values():
    def add(x: compat.Tensor) -> compat.Tensor:
        return x + 1

    op = compat.library.triton_op(f"{NS}::added", add, mutates_args=())
    assert op(compat.empty(2, device="meta")).device.type == "meta"


def test_rules_of_modes_by_method():
    double = make_double()

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    @double.register_torch_dispatch(Mode)
    def _(mode, func, types, args, kwargs):
        return func(*args, **kwargs) * 10

    with Mode():
        assert double(compat.ones(1)).tolist() == [20.0]
    assert double(compat.ones(1)).tolist() == [2.0]


class TestDetails:
    def test_defaults_are_shown_as_pytorch_shows_them(self, torch):
        def op(x, a=None, b=3.5, c=True, d=3, e="foo", f=None, g=None):
            return x.clone()

        def annotated(library):
            op.__annotations__ = {
                "x": library.Tensor,
                "a": int | None,
                "b": float,
                "c": bool,
                "d": int,
                "e": str,
                "f": library.dtype,
                "g": library.device,
                "return": library.Tensor,
            }
            op.__defaults__ = (None, 3.5, True, 3, "foo", library.float32, library.device("cpu"))
            library.library.custom_op(f"{NS}::shown", op, mutates_args=())
            schema = getattr(library.ops, NS).shown.default._schema
            return [
                (a.name, str(a.default_value), a.has_default_value(), a.kwarg_only)
                for a in schema.arguments
            ]

        assert annotated(compat)[:-1] == annotated(torch)[:-1]
        device = getattr(compat.ops, NS).shown.default._schema.arguments[-1].default_value
        assert device == compat.device("cpu")

    def test_kernels_can_be_asked_for(self):
        with compat.library._scoped_library(NS, "FRAGMENT") as scoped:
            scoped.define("only(Tensor x) -> Tensor")
            scoped.impl("only", lambda x: x * 3, "CPU")
            kernel = compat.library.get_kernel(f"{NS}::only", "CPU")
            assert kernel.call_boxed(None, compat.ones(1)).item() == 3
            with pytest.raises(RuntimeError, match=f"no kernel for CUDA for {NS}::only"):
                compat.library.get_kernel(f"{NS}::only", "CUDA")
            scoped.impl("only", lambda x: x * 4, "CPU")
            with pytest.raises(RuntimeError, match="has been invalidated"):
                kernel.call_boxed(None, compat.ones(1))

    def test_an_op_over_triton_is_one_like_any_other(self):
        @compat.library.triton_op(f"{NS}::triton", mutates_args=())
        def triton(x: compat.Tensor) -> compat.Tensor:
            return compat.library.wrap_triton(compat.sin)(x)

        assert triton(compat.zeros(1)).item() == 0

    def test_tags_say_how_memory_must_lie(self):
        from adjoint.compat.torch._library.utils import get_layout_constraint_tag

        with compat.library._scoped_library(NS, "FRAGMENT") as scoped:
            tags = {compat.Tag.flexible_layout, compat.Tag.needs_fixed_stride_order}
            scoped.define("laid(Tensor x) -> Tensor", tags=tags)
            scoped.define("other(Tensor x) -> Tensor")
            found = [getattr(compat.ops, NS).laid.default, getattr(compat.ops, NS).other.default]
        wanted = [compat.Tag.needs_fixed_stride_order, compat.Tag.needs_exact_strides]
        assert [get_layout_constraint_tag(op) for op in found] == wanted

    @pytest.mark.parametrize(
        "schema",
        [
            "f(Tensor x) -> Tensor",
            "f(Tensor(a) x) -> Tensor",
            "f(Tensor(a!) x) -> Tensor",
            "f(Tensor(a) x) -> Tensor(a)",
            "f(Tensor x) -> ()",
        ],
    )
    def test_which_schemas_are_functional(self, schema, torch):
        wanted = torch._library.utils.is_functional_schema(schema)
        assert compat._library.utils.is_functional_schema(schema) == wanted

    def test_a_view_takes_no_symbolic_numbers(self):
        @compat.library.custom_op(
            f"{NS}::seen", mutates_args=(), schema="(Tensor(a) x, SymInt i) -> Tensor(a)"
        )
        def seen(x, i):
            return x.view_as(x)

        seen.register_autograd(lambda ctx, grad: (grad, None))
        with pytest.raises(RuntimeError, match="views do not support SymInt"):
            seen(compat.ones(1), 2)

    def test_a_function_of_lists(self):
        @compat._library.autograd.supports_tensorlist
        class Stack(compat.autograd.Function):
            @staticmethod
            def forward(ctx, xs):
                ctx.count = len(xs)
                return compat.stack(xs)

            @staticmethod
            def backward(ctx, grad):
                assert ctx.needs_input_grad == ([True] * ctx.count,)
                return list(grad.unbind(0))

        xs = [compat.ones(2, requires_grad=True) for _ in range(3)]
        (Stack.apply(xs) * compat.tensor([[1.0], [2.0], [3.0]])).sum().backward()
        assert [x.grad.tolist() for x in xs] == [[1, 1], [2, 2], [3, 3]]
        with pytest.raises(NotImplementedError, match=r"Function\.forward directly"):
            Stack.forward(None, xs)

    def test_autocast_casts_what_an_op_is_given(self):
        @compat.library.custom_op(f"{NS}::kept", mutates_args=())
        def kept(x: compat.Tensor, y: list[compat.Tensor]) -> compat.Tensor:
            assert not compat.is_autocast_enabled("cpu")
            return x + y[0]

        compat.library.register_autocast(f"{NS}::kept", "cpu", compat.float16)
        x = compat.ones(2, requires_grad=True)
        kept.register_autograd(lambda ctx, grad: (grad, [grad]))
        with compat.autocast("cpu", dtype=compat.float16):
            result = kept(x, [compat.ones(2)])
        assert result.dtype is compat.float16
        assert kept(x, [compat.ones(2)]).dtype is compat.float32
        result.sum().backward()
        assert x.grad.dtype is compat.float32
        with pytest.raises(RuntimeError, match="Expected one of cpu.*'tpu'"):
            kept.register_autocast("tpu", compat.float16)
        with pytest.raises(ValueError, match="xpu has no autocast here"):
            kept.register_autocast("xpu", compat.float16)
        with pytest.raises(ValueError, match="must be a str, got int"):
            kept.register_autocast(3, compat.float16)

    def test_an_op_is_traced_whole(self):
        double = make_double()
        traced = compat.fx.symbolic_trace(lambda x: double(x) + compat.ops.compat_ops.double(x))
        assert [node.op for node in traced.graph.nodes].count("call_function") == 3
        assert traced(compat.ones(1)).item() == 4

    def test_a_prototype_must_match_its_schema(self):
        from adjoint.compat.torch._custom_op.impl import custom_op

        for function in (lambda x: None, lambda y=1: None, lambda *args: None):
            with pytest.raises(ValueError, match="match|default arguments|not supported"):
                custom_op(f"{NS}::blah", "(Tensor y) -> Tensor")(function)


def test_which_overload_a_call_is():
    x = compat.ones(3)
    resolve = compat._C._jit_resolve_packet
    assert resolve("aten::sum", x) == "default"
    assert resolve("aten::sum", x, dim=1) == "dim_IntList"
    assert resolve("aten::pow", 2, x) == "Scalar"
    with pytest.raises(RuntimeError, match="failed to match any schema of aten::sum"):
        resolve("aten::sum", x, x, x)


def test_schemas_of_atens_own():
    from adjoint.compat.torch._subclasses.fake_tensor import _is_tensor_constructor

    aten = compat.ops.aten
    assert aten.where.default._schema.returns[0].type == "List[Tensor]"
    assert aten.index.Tensor._schema.arguments[1].type == "List[Optional[Tensor]]"
    assert aten.add_.Tensor._schema.mutated == ["self"]
    assert _is_tensor_constructor(aten.zeros.default)
    assert not _is_tensor_constructor(aten.zeros_like.default)
    assert aten.sub.complex is not aten.sub.Tensor


def test_a_schema_may_say_that_nothing_comes_back():
    calls = []
    with compat.library._scoped_library("doors", "DEF") as lib:
        lib.define("quiet() -> None")
        lib.impl("quiet", lambda: calls.append(1), "CompositeImplicitAutograd")
        assert compat.ops.doors.quiet() is None
    assert calls == [1]


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT"])
def test_nothing_can_be_added_to_prim(kind):
    with pytest.raises(ValueError, match="reserved namespace"):
        compat.library.Library("prim", kind)


def test_an_operation_of_aten_may_have_a_kernel_of_the_programs():
    ones = compat.ones(2)
    with compat.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("exp", lambda x: x * 0 + 5, "CPU")
        lib.impl("aten::sum", lambda x, dtype=None: x.clone(), "CPU")
        lib.impl(compat.ops.aten.mm.default, lambda x, y: compat.full((2, 2), 7.0), "CPU")
        leaf = compat.ones(2, requires_grad=True)
        result = leaf.exp()
        result.backward(ones)
        assert result.tolist() == leaf.grad.tolist() == [5.0, 5.0]
        assert compat.sum(ones).tolist() == [1.0, 1.0]
        assert compat.sum(ones, 0).tolist() == 2.0
        assert (compat.ones(2, 3) @ compat.ones(3, 2)).tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert compat.sum(ones).tolist() == 2.0
    assert compat.exp(compat.zeros(1)).tolist() == [1.0]
    assert (compat.ones(1, 3) @ compat.ones(3, 1)).tolist() == [[3.0]]


def test_a_kernel_that_calls_its_operation_reaches_what_it_replaced():
    with compat.library._scoped_library("aten", "IMPL", "CPU") as lib:
        lib.impl("sin", lambda x: compat.sin(x) + 1)
        assert compat.sin(compat.zeros(1)).tolist() == [1.0]
        lib.impl("sin", lambda x: compat.sin(x) + 2)
        assert compat.sin(compat.zeros(1)).tolist() == [2.0]


@pytest.mark.parametrize(
    ("error", "name", "kernel", "key"),
    [
        (AttributeError, "nonsense", lambda x: x, "CPU"),
        (RuntimeError, "sum.nonsense", lambda x: x, "CPU"),
        (NotImplementedError, "neg", lambda x: x, "ZeroTensor"),
        (NotImplementedError, "sort", lambda x: x, "CPU"),
        (NotImplementedError, "div.Tensor", lambda x: x, "CPU"),
        (TypeError, "neg", [], "CPU"),
    ],
)
def test_other_kernels_of_aten_are_refused(error, name, kernel, key):
    with compat.library._scoped_library("aten", "IMPL") as lib, pytest.raises(error):
        lib.impl(name, kernel, key)


class Tenfold(compat.autograd.Function):
    """Its gradient tells that it was called."""

    @staticmethod
    def forward(ctx, x):
        with compat._C._AutoDispatchBelowAutograd():
            return compat.neg(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * 10


@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU"])
def test_a_kernel_of_autograd_takes_the_place_of_a_call_and_its_record(key):
    with compat.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("neg", Tenfold.apply, key)
        x = compat.ones(2, requires_grad=True)
        for negated in (compat.neg(x), -x, x.neg(), compat.ops.aten.neg(x)):
            assert negated.tolist() == [-1.0, -1.0]
            assert type(negated.grad_fn).__name__ == "TenfoldBackward"
        assert compat.autograd.grad(compat.neg(x).sum(), x)[0].tolist() == [10.0, 10.0]
        lib.impl("neg", lambda x: compat.neg(x) + 1, "CPU")
        assert compat.neg(x).tolist() == [0.0, 0.0]
    assert compat.autograd.grad(compat.neg(x).sum(), x)[0].tolist() == [-1.0, -1.0]
    assert compat.neg(x).tolist() == [-1.0, -1.0]


def test_overloads_without_a_kernel_of_autograds_are_recorded_as_ever():
    with compat.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sum.dim_IntList", lambda x, dim, *rest, **options: x[0] * 5, "Autograd")
        x = compat.ones(2, 3, requires_grad=True)
        assert compat.autograd.grad(x.sum(), x)[0].tolist() == [[1.0] * 3] * 2
        assert compat.autograd.grad(x.sum(0).sum(), x)[0].tolist() == [[5.0] * 3, [0.0] * 3]


@pytest.mark.parametrize("name", ["mm", "bmm"])
def test_autocast_passes_over_a_function_of_several_operations(name):
    first, second = compat.ones(1, 2, 3), compat.ones(1, 3, 2)
    if name == "mm":
        first, second = first[0], second[0]

    def kind():
        with compat.autocast("cpu", dtype=compat.bfloat16):
            assert compat.matmul(first, second).dtype is compat.bfloat16
            return getattr(compat, name)(first, second).dtype

    with compat.library._scoped_library("aten", "IMPL") as lib:
        lib.impl(name, compat.library.fallthrough_kernel, "AutocastCPU")
        assert kind() is compat.float32
    assert kind() is compat.bfloat16


def test_a_kernel_of_aten_must_answer_a_tensor_and_fit_its_library():
    with compat.library._scoped_library("aten", "IMPL", "CPU") as lib:
        lib.impl("cos", lambda x: 5)
        with pytest.raises(RuntimeError, match="not a Tensor"):
            compat.cos(compat.ones(1))
        with pytest.raises(RuntimeError, match="inconsistent with the dispatch key"):
            lib.impl("sin", lambda x: x, "CUDA")


class TestStreams:
    def test_an_op_takes_and_gives_streams(self):
        with compat.library._scoped_library("streams_of_tests", "FRAGMENT") as lib:
            lib.define("given(Tensor self) -> Stream")
            lib.define("taken(Tensor self, Stream s) -> Tensor")
            lib.impl("given", lambda x: compat.Stream(stream_id=3, device_index=1), "CPU")
            lib.impl("taken", lambda x, s: x + s.stream_id, "CPU")
            own = compat.ops.streams_of_tests
            found = own.given(compat.ones(1))
            assert (found.stream_id, found.device_index, found.device_type) == (3, 1, 0)
            assert own.taken(compat.ones(1), found).tolist() == [4.0]
            with pytest.raises(RuntimeError, match="Stream"):
                own.taken(compat.ones(1), 3)

    def test_a_mode_sees_that_memory_is_kept_for_a_stream(self):
        seen = []

        class Log(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append((func.name(), args[1]))

        stream = compat.Stream(stream_id=1, device_index=2, device_type=3)
        numbers = compat.ones(1)
        with Log():
            numbers.record_stream(stream)
        assert seen[-1] == ("aten::record_stream", stream)
        with pytest.raises(NotImplementedError, match="cpu"):
            compat.ones(1).record_stream(stream)

    def test_streams_are_shown_and_compared_as_pytorchs(self, torch):
        for numbers in (
            {},
            {"device": "cpu"},
            {"stream_id": 1, "device_index": 2, "device_type": 3},
        ):
            ours, theirs = compat.Stream(**numbers), torch.Stream(**numbers)
            assert repr(ours) == repr(theirs)
            assert ours == compat.Stream(**numbers)
            assert ours != compat.Stream(stream_id=9)
            assert len({ours, compat.Stream(**numbers)}) == 1
        assert compat.Stream("cpu").query()
