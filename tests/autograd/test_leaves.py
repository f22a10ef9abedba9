"""What a leaf's gradient is: its data type, its memory and its layout."""

import gc
import linecache
import sys

import numpy as np
import pytest

import adjoint
from adjoint.autograd import Function, enforce_grad_layout_policy, leaves as leaves_module
from adjoint.autograd.early_writes import any_open
from adjoint.autograd.reference_counts import is_alone
from adjoint.call.context import Changed
from adjoint.tensors.upper import upper


def leaf(*values, dtype=adjoint.float32):
    return adjoint.tensor(list(values), dtype=dtype, requires_grad=True)


class Doubled(Function):
    """The identity, with a gradient in double precision."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.double()


class Remembering(Function):
    """Hands the same gradient to both inputs, and notes where it lies."""

    kept = None
    place = 0
    keep = False

    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, grad):
        Remembering.place = grad.data_ptr()
        Remembering.kept = grad if Remembering.keep else None
        return grad, grad


class Ones(Function):
    """The sum, with a new gradient in C's layout."""

    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx, grad):
        return adjoint.ones(ctx.shape)


class TestDtype:
    def test_gradients_are_cast_before_they_are_summed(self):
        x = leaf(1.0)
        x.grad_dtype = adjoint.float64
        (x * 1e8 + x).sum().backward()
        assert x.grad.dtype is adjoint.float64
        assert x.grad.tolist() == [1e8 + 1.0]  # which float32 can't hold

    def test_none_takes_what_comes(self):
        x = leaf(1.0)
        x.grad_dtype = None
        Doubled.apply(x).sum().backward()
        assert x.grad.dtype is adjoint.float64

    @pytest.mark.parametrize("kind", [None, adjoint.float64])
    def test_set_after_the_forward(self, kind):
        x = leaf(1.0, 2.0)
        y = (x * x).sum() + Doubled.apply(x).sum()
        x.grad_dtype = kind
        y.backward()
        assert x.grad.dtype is adjoint.float64
        assert x.grad.tolist() == [3.0, 5.0]

    def test_one_accumulator_as_before(self):
        x = leaf(1.0)
        x.grad_dtype = adjoint.float16
        first, second = x * 2, x * 3
        assert first.grad_fn.next_functions[0][0] is second.grad_fn.next_functions[0][0]

    def test_a_hook_and_grad_see_it(self):
        x = leaf(1.0)
        x.grad_dtype = adjoint.float64
        seen = []
        x.register_hook(lambda grad: seen.append(grad.dtype))
        (x * 2).sum().backward()
        assert seen == [adjoint.float64]
        (found,) = adjoint.autograd.grad((x * 2).sum(), x)
        assert found.dtype is adjoint.float64

    def test_a_gradient_of_another_type_is_not_assigned(self):
        x = leaf(1.0)
        x.grad_dtype = adjoint.float16
        with pytest.raises(RuntimeError, match="grad_dtype float16"):
            x.grad = adjoint.ones(1)
        x.grad = adjoint.ones(1, dtype=adjoint.float16)
        with pytest.raises(RuntimeError, match="already a gradient"):
            x.grad_dtype = adjoint.float32
        assert x.grad_dtype is adjoint.float16

    def test_refusals(self):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="must be a dtype"):
            x.grad_dtype = "float16"
        with pytest.raises(RuntimeError, match="on leaf tensors"):
            (x * 2).grad_dtype  # noqa: B018
        with pytest.raises(RuntimeError, match="on leaf tensors"):
            (x * 2).grad_dtype = None


class TestMemory:
    def test_one_place_and_two(self):
        array = np.ones(3)
        assert is_alone(array)
        other = array
        assert not is_alone(array)
        del other
        view = array[:1]
        assert not is_alone(array)
        assert not is_alone(view)
        del view
        assert is_alone(array)

    @pytest.mark.parametrize("keep", [False, True])
    def test_what_a_function_lets_go_is_not_copied(self, monkeypatch, keep):
        monkeypatch.setattr(Remembering, "keep", keep)
        x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
        Remembering.apply(x, y)[0].backward()
        places = [x.grad.data_ptr(), y.grad.data_ptr()]
        assert places.count(Remembering.place) == (0 if keep else 1)
        assert x.grad.tolist() == y.grad.tolist() == [1.0, 0.0]

    def test_what_a_hook_answers_is_not_copied(self):
        x = leaf(1.0, 2.0)
        places = []

        def double(grad):
            answer = grad * 2
            places.append(answer.data_ptr())
            return answer

        x.register_hook(double)
        (x * 3).sum().backward()
        assert x.grad.data_ptr() == places[0]
        assert x.grad.tolist() == [6.0, 6.0]

    def test_what_a_hook_keeps_is_copied(self):
        x = leaf(1.0, 2.0)
        kept = []

        def double(grad):
            kept.append(grad * 2)
            return kept[0]

        x.register_hook(double)
        (x * 3).sum().backward()
        x.grad.add_(1)
        assert kept[0].tolist() == [6.0, 6.0]

    def test_what_the_caller_gave_is_copied(self):
        x = leaf(1.0, 2.0)
        given = adjoint.ones(2)
        x.register_hook(lambda grad: None)
        x.view_as(x).backward(given)
        x.backward(given)
        assert x.grad.tolist() == [2.0, 2.0]
        assert given.tolist() == [1.0, 1.0]


class TestLayout:
    def columns(self):
        return adjoint.ones(4, 3).t().requires_grad_()

    def test_as_the_leaf_unless_switched_off(self):
        x = self.columns()
        Ones.apply(x).backward()
        assert x.grad.stride() == x.stride() == (1, 3)
        with enforce_grad_layout_policy(False):
            x.grad = None
            Ones.apply(x).backward()
            assert x.grad.stride() == (4, 1)
        x.grad = None
        Ones.apply(x).backward()
        assert x.grad.stride() == (1, 3)

    def test_as_a_function_and_a_decorator(self):
        x = self.columns()
        run = enforce_grad_layout_policy(False)(lambda: Ones.apply(x).backward())
        Ones.apply(x).backward()
        assert x.grad.stride() == (1, 3)
        x.grad = None
        run()
        assert x.grad.stride() == (4, 1)
        enforce_grad_layout_policy(False)
        try:
            x.grad = None
            Ones.apply(x).backward()
            assert x.grad.stride() == (4, 1)
        finally:
            enforce_grad_layout_policy(True)

    def test_a_recorded_gradient_has_the_leafs_layout(self):
        x = self.columns()
        (x * x * adjoint.ones(3, 4)).sum().backward(create_graph=True)
        assert x.grad.stride() == (1, 3)
        assert x.grad.grad_fn.name() == "CopyBackwards"
        x.grad = None
        gc.collect()


class TestAllOrNone:
    """A pass writes the gradients of all its leaves, or of none."""

    def leaves(self):
        """Leaves of which some have a gradient and some have none."""
        made = [leaf(1.0, 2.0, 3.0) for _ in range(5)]
        for x in made[::2]:
            x.grad = adjoint.ones(3)
        return made

    def state(self, leaves, versions=True):
        return [
            None if x.grad is None else (id(x.grad), x.grad.tolist(), versions and x.grad._version)
            for x in leaves
        ]

    def loss(self, leaves):
        return sum((x * (i + 1)).sum() for i, x in enumerate(leaves))

    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            (lambda x: setattr(x.grad, "data", adjoint.ones(2)), "shape"),
            (lambda x: setattr(x, "grad", adjoint.zeros(1).expand(3)), "single memory location"),
            (lambda x: x.grad.numpy().setflags(write=False), "read-only"),
        ],
        ids=["shape", "expanded", "read-only"],
    )
    @pytest.mark.parametrize("place", [0, 2, 4])
    def test_a_gradient_that_can_not_be_added_to(self, spoil, reason, place):
        leaves = self.leaves()
        spoil(leaves[place])
        before = self.state(leaves)
        with pytest.raises(RuntimeError, match=reason) as caught:
            self.loss(leaves).backward()
        assert self.state(leaves) == before
        assert "no .grad was changed" in caught.value.__notes__[0]
        leaves[place].grad = None
        self.loss(leaves).backward()
        assert leaves[place].grad.tolist() == [place + 1.0] * 3

    def test_an_expanded_gradient_before_a_hook_that_sees_it(self):
        x = leaf(1.0, 2.0, 3.0)
        x.grad = adjoint.zeros(1).expand(3)
        x.register_post_accumulate_grad_hook(lambda x: None)
        with pytest.raises(RuntimeError, match=r"clone\(\)"):
            (x * 2).sum().backward()
        assert x.grad.tolist() == [0.0] * 3

    def test_an_expanded_gradient_is_replaced_where_a_graph_is_made(self):
        x = leaf(1.0, 2.0, 3.0)
        x.grad = adjoint.zeros(1).expand(3)
        (x * adjoint.tensor([1.0, 2.0, 3.0])).sum().backward(create_graph=True)
        assert x.grad.tolist() == [1.0, 2.0, 3.0]

    @pytest.mark.parametrize("create_graph", [False, True])
    def test_memory_that_ends_at_any_leaf(self, monkeypatch, create_graph):
        failures = 0
        for allowed in range(100):
            leaves = self.leaves()
            loss = self.loss(leaves)
            before = self.state(leaves)
            made = upper.tensor
            left = allowed

            def scarce(array, made=made):
                nonlocal left
                left -= 1
                if left < 0:
                    raise MemoryError
                return made(array)

            try:
                with monkeypatch.context() as patch:
                    patch.setattr(upper, "tensor", scarce)
                    loss.backward(create_graph=create_graph)
            except MemoryError:
                failures += 1
                assert self.state(leaves) == before
            else:
                break
        assert failures >= 2

    @pytest.mark.parametrize("nested", [False, True])
    def test_an_interrupt_at_any_line(self, nested):
        """Compiled modules have no lines; there the pass just succeeds."""
        for line in range(1000):
            leaves = self.leaves()
            loss = self.loss(leaves)
            if nested:
                inner, loss = loss, (leaf(1.0) * 2).sum()
                loss.register_hook(lambda grad, inner=inner: inner.backward())
            before = self.state(leaves, not nested)  # put back, memory counts as changed
            left = line

            def on_line(frame, event, argument):
                nonlocal left
                source = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
                # No signal is heard between the end of a block and the release of its lock.
                left -= event == "line" and not source.lstrip().startswith("with ")
                if left < 0:
                    raise KeyboardInterrupt
                return on_line

            def on_call(frame, event, argument):
                return on_line if frame.f_code.co_filename == leaves_module.__file__ else None

            tracing = sys.gettrace()
            sys.settrace(on_call)
            try:
                loss.backward()
            except KeyboardInterrupt:
                sys.settrace(tracing)
                assert not any_open()
                after = self.state(leaves, not nested)
                assert after == before or None not in after
                if after != before:
                    expected = [[i + 2.0, i + 1.0][i % 2] for i in range(5)]
                    assert [x.grad[0].item() for x in leaves] == expected
            else:
                sys.settrace(tracing)
                break
        assert None not in self.state(leaves)

    def test_a_change_that_is_made_before_they_are_written_is_counted(self):
        """As by another thread: both changes count."""
        first, second = leaf(1.0), leaf(1.0)
        for each in (first, second):
            each.grad = adjoint.ones(1)
        told = []

        def guard(tensor):
            told.append(tensor)
            for grad in (first.grad, second.grad):
                grad.counter().count()

        loss = (first * second).sum()
        with Changed({"guards": (guard,)}):
            loss.backward()
        assert len(told) == 2
        assert (first.grad._version, second.grad._version) == (3, 3)

    def test_leaves_that_share_a_gradient_count_both_sums(self):
        first, second = leaf(1.0), leaf(2.0)
        first.grad = second.grad = adjoint.ones(1)
        (first * second).sum().backward()
        assert first.grad.tolist() == [4.0]
        assert first.grad._version == 2


def test_leaves_whose_data_type_has_changed_get_both_gradients():
    x = leaf(1.0, 2.0)
    first = x * 2
    x.data = x.data.double()
    (first.sum().double() + (x * 3).sum()).backward()
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("freeze", ["detach_", "requires_grad_"])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_leaf_frozen_after_its_call_gets_no_gradient(freeze, hooked):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    told = []
    if hooked:
        x.register_hook(lambda grad: told.append("grad"))
        x.register_post_accumulate_grad_hook(lambda tensor: told.append("post"))
    loss = (x * y).sum()
    x.detach_() if freeze == "detach_" else x.requires_grad_(False)
    loss.backward()
    assert x.grad is None
    assert y.grad.tolist() == [1.0, 2.0]
    assert told == (["grad", "post"] if hooked else [])


def test_a_leaf_frozen_for_a_while_gets_its_gradient():
    x = leaf(1.0)
    loss = (x * 3).sum()
    x.requires_grad_(False)
    x.requires_grad_()
    loss.backward()
    assert x.grad.tolist() == [3.0]
