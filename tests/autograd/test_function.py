"""autograd.Function: what PyTorch does not promise, and what it leaves to chance."""

import copy
import gc
import pickle
import threading
import weakref

import pytest

import adjoint
from adjoint.autograd import Function, grad
from adjoint.autograd.function import FunctionCtx, InplaceFunction, once_differentiable
from adjoint.autograd.graph import Node, saved_tensors_hooks
from adjoint.call import context


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


class Save(Function):
    """Saves what `make` answers; its backward multiplies by it."""

    @staticmethod
    def forward(ctx, x, make):
        ctx.save_for_backward(make(x))
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


@pytest.fixture
def no_collector():
    """Whatever is freed is freed by counting references alone."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class TestSavedIntermediates:
    """A second derivative that would be silently wrong is an error."""

    @pytest.mark.parametrize(
        "make",
        [
            lambda x: x * x,
            lambda x: adjoint.exp(x).sum(),
            lambda x: adjoint.cat([x, x])[: len(x)],
            lambda x: x.clone().mul_(2),
            lambda x: adjoint.zeros_like(x).add_(x),
            lambda x: x[:],
            lambda x: Square.apply(x),
        ],
    )
    def test_differentiating_through_one_is_refused(self, make):
        x = leaf(1.0, 2.0)
        y = Save.apply(x, make)
        y.sum().backward(retain_graph=True)
        first = x.grad
        (g,) = grad(y.sum(), x, create_graph=True)
        assert (g == first).all()
        with pytest.raises(RuntimeError, match=r"Save.*saved_tensors\[0\].*silently wrong"):
            grad(g.sum(), x, retain_graph=True)
        with pytest.raises(RuntimeError, match="Return it as an output"):
            g.sum().backward()

    @pytest.mark.parametrize(
        "make",
        [
            lambda x: adjoint.ones(2),
            lambda x: (x > 1).to(x.dtype),
            lambda x: adjoint.ones_like(x) * 3,
            lambda x: x.detach() * 2,
            lambda x: (x * 2).detach(),
            lambda x: x,
            lambda x: x.clone().detach_().requires_grad_(),
        ],
    )
    def test_what_does_not_depend_on_the_inputs_is_a_constant(self, make):
        x, weight = leaf(1.0, 2.0), leaf(1.0, 1.0)
        (g,) = grad((Save.apply(x, make) * weight).sum(), x, create_graph=True)
        (h,) = grad(g.sum(), weight)
        assert h.tolist() == make(x).tolist()

    def test_one_that_is_returned_has_its_history(self):
        class Cube(Function):
            @staticmethod
            def forward(ctx, x):
                square = x * x
                ctx.save_for_backward(x, square)
                return square * x, square

            @staticmethod
            def backward(ctx, g, g_square):
                x, square = ctx.saved_tensors
                return 3 * g * square + 2 * g_square * x

        x = leaf(2.0)
        (g,) = grad(Cube.apply(x)[0], x, create_graph=True)
        assert grad(g, x)[0].tolist() == [12.0]

    def test_only_paths_to_the_inputs_matter(self):
        x, weight = leaf(2.0), leaf(5.0)
        (g,) = grad(Save.apply(x, lambda x: x * x) * weight, x, create_graph=True)
        assert grad(g, weight)[0].tolist() == [4.0]

    def test_a_failing_forward_stops_tracking(self):
        def fail(x):
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            Save.apply(leaf(1.0), fail)
        assert context.current().intermediates is None
        assert adjoint.is_grad_enabled()


class TestMemory:
    def test_a_graph_is_freed_at_once(self, no_collector):
        x = leaf(1.0)
        y = Square.apply(Square.apply(x) * 2)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None

    @pytest.mark.parametrize("view", [False, True])
    def test_saved_outputs_make_no_cycle(self, view, no_collector):
        class Keep(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                x.mul_(2)
                ctx.save_for_backward(x)
                return x

            @staticmethod
            def backward(ctx, g):
                return g * ctx.saved_tensors[0]

        def scope():
            x = leaf(3.0)
            y = x * 1
            if view:
                y = y[:]
            out = Keep.apply(y)
            out.backward()
            assert x.grad.tolist() == [6.0]
            return weakref.ref(out), weakref.ref(out.grad_fn)

        assert [reference() for reference in scope()] == [None, None]

    def test_saved_tensors_go_with_the_pass(self, no_collector):
        x = leaf(1.0)
        mid = x * 1
        y = Square.apply(mid)
        kept = weakref.ref(mid)
        del mid
        y.backward(retain_graph=True)
        assert kept() is not None
        y.backward()
        assert kept() is None

    def test_saved_tensors_given_out_once_are_the_users_alone(self, no_collector):
        alive = []

        class Once(Square):
            clear_saved_tensors_on_access = True

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                kept = weakref.ref(x)
                del x
                alive.append(kept())
                return g

        Once.apply(leaf(1.0) * 1).backward()
        assert alive == [None]

    def test_boxed_gradients_are_the_users_alone(self, no_collector):
        alive = []

        class Boxed(Function):
            boxed_grads_call = True

            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grads):
                kept = weakref.ref(grads[0])
                answer = grads[0] * 2
                grads.clear()
                alive.append(kept())
                return answer

        x = leaf(1.0)
        Boxed.apply(x).backward()
        assert (alive, x.grad.tolist()) == ([None], [2.0])

    def test_a_ctx_that_was_kept_still_works(self):
        kept = []

        class Stash(Square):
            @staticmethod
            def backward(ctx, g):
                kept.append(ctx)
                return ctx.saved_tensors

        x = leaf(3.0)
        Stash.apply(x).backward(retain_graph=True)
        assert kept[0].saved_tensors[0] is x
        assert kept[0].name() == "StashBackward"

    def test_gradients_never_share_memory_with_what_the_user_holds(self):
        held = []

        class Hand(Function):
            @staticmethod
            def forward(ctx, x, y):
                ctx.save_for_backward(y)
                return x * y

            @staticmethod
            def backward(ctx, g):
                (y,) = ctx.saved_tensors
                held.append(y)
                return y, y

        x, y = leaf(1.0), leaf(7.0)
        for _ in range(2):
            Hand.apply(x, y).backward()
        assert held[0].tolist() == y.tolist() == [7.0]
        assert x.grad.tolist() == y.grad.tolist() == [14.0]

    def test_a_deep_chain_of_functions(self):
        class Add(Function):
            @staticmethod
            def forward(ctx, x, y):
                return x + y

            @staticmethod
            def backward(ctx, g):
                return g, None

        x = leaf(1.0)
        y = x.clone()
        for _ in range(20_000):
            y = Add.apply(y, x.detach())
        y.backward()
        assert x.grad.tolist() == [1.0]
        del y


class TestCtx:
    def test_names_of_the_engine_are_free(self):
        names = [n for n in dir(Node) if not n.startswith("__") and n not in ("name", "metadata")]

        class Odd(Function):
            @staticmethod
            def forward(ctx, x):
                for name in names:
                    setattr(ctx, name, name)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                assert [getattr(ctx, name) for name in names] == names
                return g * 2

        x = leaf(1.0)
        y = Odd.apply(x)
        y.grad_fn.register_hook(lambda ins, outs: None)
        y.backward()
        assert x.grad.tolist() == [2.0]

    def test_the_node_knows_the_line_that_made_it(self):
        source = Square.apply(leaf(1.0)).grad_fn.source()
        assert (source.filename, source.text) == (
            __file__,
            "source = Square.apply(leaf(1.0)).grad_fn.source()",
        )

    def test_it_shows_nothing_of_the_engine(self):
        def forward(ctx, x):
            assert not hasattr(ctx, "edges")
            assert "ctx of LookBackward" in repr(ctx)
            return x * 2

        type("Look", (Function,), {"forward": staticmethod(forward)}).apply(leaf(1.0))

    def test_one_can_be_made_to_try_a_forward(self):
        ctx = FunctionCtx()
        x = leaf(3.0)
        assert Square.forward(ctx, x).tolist() == [9.0]
        assert ctx.to_save == (x,)
        assert isinstance(ctx, FunctionCtx) and not isinstance(ctx, Node)

    def test_save_for_forward_takes_tensors(self):
        ctx = FunctionCtx()
        x = leaf(1.0)
        ctx.save_for_forward(x, None)
        assert ctx.saved_for_forward == (x, None)
        with pytest.raises(TypeError, match="argument 1 is a int"):
            ctx.save_for_forward(x, 3)

    def test_a_node_can_be_neither_copied_nor_pickled(self):
        node = Square.apply(leaf(1.0)).grad_fn
        for action in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="SquareBackward"):
                action(node)
        assert pickle.loads(pickle.dumps(Square)) is Square
        assert pickle.loads(pickle.dumps(Square.apply))(leaf(3.0)).tolist() == [9.0]


class TestSavedTensorHooks:
    def test_they_see_what_a_function_saves(self):
        packed = []

        class Both(Function):
            @staticmethod
            def forward(ctx, x):
                out = x.exp()
                ctx.save_for_backward(x, None, out)
                return out

            @staticmethod
            def backward(ctx, g):
                x, nothing, out = ctx.saved_tensors
                assert nothing is None
                return g * out + 0 * x

        def pack(tensor):
            packed.append(tensor.tolist())
            return tensor.numpy_array().copy()

        x = leaf(0.0)
        with saved_tensors_hooks(pack, adjoint.from_numpy):
            y = Both.apply(x * 1)
        assert packed == [[0.0], [1.0]]
        (g,) = grad(y, x, create_graph=True)
        assert grad(g, x)[0].tolist() == [1.0]

    def test_they_can_be_put_on_one_tensor(self):
        x = leaf(3.0)
        y = Square.apply(x)
        (saved,) = y.grad_fn._raw_saved_tensors
        with pytest.raises(TypeError, match="incompatible function arguments"):
            saved.register_hooks(1, 2)
        saved.register_hooks(lambda t: t * 10, lambda t: t)
        with pytest.raises(RuntimeError, match="already been set"):
            saved.register_hooks(lambda t: t, lambda t: t)
        y.backward()
        assert x.grad.tolist() == [60.0]
        with pytest.raises(RuntimeError, match="SquareBackward"):
            assert y.grad_fn._raw_saved_tensors

    def test_none_has_nothing_to_pack(self):
        y = Save.apply(leaf(1.0), lambda x: None)
        with pytest.raises(RuntimeError, match="None is forbidden"):
            y.grad_fn._raw_saved_tensors[0].register_hooks(abs, abs)


class TestInPlace:
    def test_a_view_may_be_any_of_the_inputs(self):
        class Into(Function):
            @staticmethod
            def forward(ctx, x, view):
                ctx.mark_dirty(view)
                return view.add_(x)

            @staticmethod
            def backward(ctx, g):
                return g * 3, g * 5

        x, source = leaf(1.0), leaf(2.0, 4.0)
        base = source * 1
        part = base[1:]
        assert Into.apply(x, part) is part
        base.sum().backward()
        assert (x.grad.tolist(), source.grad.tolist()) == ([3.0], [1.0, 5.0])

    def test_a_refused_change_is_not_counted(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="leaf Variable"):
            InPlaceNothing.apply(x)
        assert (x._version, x.is_leaf) == (0, True)

    def test_hooks_stay_with_the_old_value(self):
        seen = []
        x = leaf(1.0)
        y = x * 1
        y.register_hook(lambda g: seen.append(g.tolist()))
        y.retain_grad()
        InPlaceNothing.apply(y)
        (y * 5).backward()
        assert (seen, y.grad.tolist()) == ([[15.0]], [5.0])

    @pytest.mark.parametrize(
        "forward, reason",
        [
            (lambda ctx, x: x[:1], "created inside a custom Function"),
            (lambda ctx, x: (x[:1], x * 2), "returns multiple views"),
        ],
    )
    def test_views_made_by_forward_are_refused_by_name(self, forward, reason):
        made = type("Part", (Function,), {"forward": staticmethod(forward)})
        out = made.apply(leaf(1.0, 2.0) * 1)
        part = out[0] if isinstance(out, tuple) else out
        message = f"Output 0 of Part is a view and is being modified inplace.*{reason}"
        with pytest.raises(RuntimeError, match=message):
            part.add_(1)
        assert part.tolist() == [1.0]

    def test_views_follow_a_base_that_was_changed(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        part = y[:1]
        InPlaceNothing.apply(y)
        part.sum().backward()
        assert x.grad.tolist() == [3.0, 0.0]


class InPlaceNothing(Function):
    """Says it changes its input; its derivative is 3."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class TestRefusals:
    @pytest.mark.parametrize(
        "answer, message",
        [
            ((None, None, 1), "SquareBackward.*incorrect number of gradients: 3.*1 argument"),
            ((), "SquareBackward.*incorrect number of gradients: 0"),
            ("text", "SquareBackward.*expected a Tensor or None.*got str"),
            (adjoint.ones(3), r"SquareBackward.*got \[3\] but expected shape \[2\]"),
        ],
    )
    def test_wrong_gradients_name_the_function(self, answer, message):
        made = type("Square", (Square,), {"backward": staticmethod(lambda ctx, g: answer)})
        x = leaf(1.0, 2.0)
        with pytest.raises(RuntimeError, match=message) as caught:
            made.apply(x).sum().backward()
        assert "SquareBackward" in caught.value.__notes__[0]
        assert x.grad is None

    def test_instances_are_not_called(self):
        with pytest.warns(DeprecationWarning, match="should not be instantiated"):
            made = Square()
        assert isinstance(made, Square)
        with pytest.raises(RuntimeError, match=r"non-static forward.*Square\.apply"):
            made(leaf(1.0))
        assert (made.name(), made.next_functions, made.metadata) == ("SquareBackward", (), {})
        with pytest.warns(DeprecationWarning):
            assert InplaceFunction(inplace=True).inplace

    def test_errors_of_backward_arrive_unchanged(self):
        problem = ValueError("mine")

        def backward(ctx, g):
            raise problem

        made = type("Bad", (Square,), {"backward": staticmethod(backward)})
        with pytest.raises(ValueError, match="mine") as caught:
            made.apply(leaf(1.0)).backward()
        assert caught.value is problem
        assert adjoint.is_grad_enabled()

    def test_once_differentiable_counts_even_if_the_gradient_is_constant(self):
        made = type(
            "Once", (Square,), {"backward": staticmethod(once_differentiable(Square.backward))}
        )
        x = leaf(3.0)
        (g,) = grad(made.apply(x), x, create_graph=True)
        assert g.tolist() == [6.0]
        with pytest.raises(RuntimeError, match="differentiate twice Once"):
            grad(g, x)


class TestCalls:
    def test_keyword_only_arguments(self):
        class Scale(Function):
            @staticmethod
            def forward(x, *, by=2.0):
                return x * by

            @staticmethod
            def setup_context(ctx, inputs, output):
                _, ctx.by = inputs

            @staticmethod
            def backward(ctx, g):
                return g * ctx.by, None

        x = leaf(1.0)
        Scale.apply(x, by=5.0).backward()
        Scale.apply(x).backward()
        assert x.grad.tolist() == [7.0]

    def test_methods_may_belong_to_the_class(self):
        class Scale(Function):
            factor = 5

            @classmethod
            def forward(cls, x):
                return x * cls.factor

            @classmethod
            def setup_context(cls, ctx, inputs, output):
                ctx.seen = cls.factor

            @classmethod
            def backward(cls, ctx, g):
                return g * ctx.seen

        x = leaf(1.0)
        Scale.apply(x).backward()
        assert x.grad.tolist() == [5.0]

    def test_a_subclass_passes_through(self):
        class Named(adjoint.Tensor):
            pass

        x = Named([1.0, 2.0])
        same = type("Same", (Function,), {"forward": staticmethod(lambda ctx, x: x)})
        assert isinstance(same.apply(x), Named)

    def test_threads_share_a_function(self):
        results = {}

        def work(k):
            x = leaf(float(k))
            for _ in range(20):
                Square.apply(x).backward()
            results[k] = x.grad.tolist()

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {k: [40.0 * k] for k in range(4)}

    def test_a_pass_inside_backward(self):
        class Inner(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, g):
                (x,) = ctx.saved_tensors
                with adjoint.enable_grad():
                    y = x.detach().requires_grad_()
                    return g * grad(y**3, y)[0]

        x = leaf(2.0)
        Inner.apply(x).backward()
        assert x.grad.tolist() == [12.0]

    def test_restricted_passes(self):
        class Two(Function):
            @staticmethod
            def forward(ctx, x, y):
                return x * y

            @staticmethod
            def backward(ctx, g):
                return g * 2, g * 3

        x, y = leaf(1.0), leaf(1.0)
        out = Two.apply(x, y * 1)
        assert grad(out, x, retain_graph=True)[0].tolist() == [2.0]
        out.backward(inputs=[y])
        assert (x.grad, y.grad.tolist()) == (None, [3.0])
