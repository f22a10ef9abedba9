"""How gradients come into `.grad` where a mode sees the pass: PyTorch's steps, all or none."""

import contextlib
import threading

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.overrides import enable_reentrant_dispatch
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from tests.parity.test_dispatch_modes import shown


def ones(torch, *shape):
    return torch.ones(*shape, requires_grad=True)


def first(torch, run):
    x = ones(torch, 3)
    run(lambda: (x * 2).sum().backward())
    return [x]


def first_of_a_view(torch, run):
    x = ones(torch, 3)
    run(lambda: x.sum().backward())
    return [x]


def second(torch, run):
    x = ones(torch, 3)
    for factor in (2, 3):
        run(lambda: (x * factor).sum().backward())  # noqa: B023  # run at once
    return [x]


def given_by_the_caller(torch, run):
    x, given = ones(torch, 3), torch.ones(3)
    run(lambda: (x + 0).backward(given))
    run(lambda: (x + 0).backward(given))
    return [x]


def shared_by_leaves(torch, run):
    x, y = ones(torch, 3), ones(torch, 3)
    run(lambda: (x + y).backward(torch.ones(3)))
    return [x, y]


def summed_up(torch, run):
    x = ones(torch, 3)
    run(lambda: (x + x).backward(torch.ones(3)))
    return [x]


def of_one_row(torch, run):
    x = torch.ones(1, 2, 3, requires_grad=True)
    run(lambda: (x.transpose(0, 1) * 2).sum().backward())
    return [x]


def transposed(torch, run):
    x = torch.ones(4, 3).t().requires_grad_()
    run(lambda: (x * 2).sum().backward())
    return [x]


def with_gaps(torch, run):
    x, y = torch.ones(8)[::2].requires_grad_(), torch.ones(8)[::2].requires_grad_()
    run(lambda: (x * 2).sum().backward())
    run(lambda: y.sum().backward())
    return [x, y]


def expanded(torch, run):
    x = torch.ones(1).expand(4).requires_grad_()
    run(lambda: x.sum().backward())
    return [x]


def recorded(torch, run):
    x = ones(torch, 3)
    for _ in "12":
        run(lambda: (x * 2).sum().backward(create_graph=True))
    return [x]


def retained(torch, run):
    x = ones(torch, 3)
    y = x * 2
    y.retain_grad()
    loss = (y * 3).sum()
    run(lambda: loss.backward(retain_graph=True))
    run(loss.backward)
    return [x, y]


def hooked(torch, run):
    x, y = ones(torch, 3), ones(torch, 3)
    x.register_hook(lambda grad: grad * 2)

    def zeroed(leaf):
        leaf.grad.zero_()

    y.register_post_accumulate_grad_hook(zeroed)
    run(lambda: (x * y).sum().backward())
    return [x, y]


def only_some(torch, run):
    x, y = ones(torch, 3), ones(torch, 3)
    run(lambda: (x * y).sum().backward(inputs=[y]))
    return [x, y]


def of_a_shifted_layer(torch, run):
    """The shift gets its gradient first, then the input, and the weight when it is turned back."""
    x, weight, bias = ones(torch, 2, 3), ones(torch, 4, 3), ones(torch, 4)
    run(lambda: torch.nn.functional.linear(x, weight, bias).sum().backward())
    run(lambda: torch.nn.functional.linear(x[None], weight, bias).sum().backward())
    return [x, weight, bias]


def of_a_layer(torch, run):
    layer = torch.nn.Linear(3, 2, bias=False)
    torch.nn.init.ones_(layer.weight)
    for _ in "12":
        run(lambda: layer(torch.ones(1, 3)).sum().backward())
    return [layer.weight]


PROGRAMS = [
    first,
    first_of_a_view,
    second,
    given_by_the_caller,
    shared_by_leaves,
    summed_up,
    transposed,
    with_gaps,
    expanded,
    recorded,
    retained,
    hooked,
    only_some,
    of_a_layer,
    of_a_shifted_layer,
    of_one_row,
]


def seen(library, mode, program, kept):
    """What a mode sees of a program, and the gradients with their strides."""
    log = []

    class Log(mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = [shown(library, value) for value in args]
            given += [f"{name}={shown(library, value)}" for name, value in (kwargs or {}).items()]
            log.append(f"{func}({', '.join(given)})")
            answer = func(*args, **(kwargs or {}))
            if kept is not None:
                kept.append(answer)
            return answer

    def run(pass_):
        with Log():
            pass_()

    leaves = program(library, run)
    grads = [leaf.grad for leaf in leaves]
    return log, [None if g is None else (g.detach().numpy().tolist(), g.stride()) for g in grads]


@pytest.mark.filterwarnings("ignore:Using backward:UserWarning")
@pytest.mark.parametrize("keeps", [False, True], ids=["looks", "keeps"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_gradients_are_handed_over_in_pytorchs_steps(torch, program, keeps):
    """A mode that keeps what it sees makes a copy necessary, as in PyTorch."""
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    ours, found = seen(compat, TorchDispatchMode, program, [] if keeps else None)
    theirs, expected = seen(torch, Theirs, program, [] if keeps else None)
    if keeps:  # PyTorch detaches each gradient that is kept by others, wherever it goes
        theirs = [call for call in theirs if "detach" not in call]
    assert ours == theirs
    assert found == expected


class Failing(TorchDispatchMode):
    """Raises at the call with this number of one operation."""

    def __init__(self, name, number):
        super().__init__()
        self.name, self.left = name, number

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        answer = func(*args, **(kwargs or {}))
        if self.name in str(func):
            self.left -= 1
            if not self.left:
                raise KeyError(self.name)
        return answer


@pytest.mark.parametrize("name", ["aten.add_", "aten.copy_", "aten.mul.Tensor"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_mode_that_fails_leaves_every_gradient_as_it_was(name, number):
    old = [compat.full((2,), 5.0), None, compat.full((2,), 7.0), None]
    leaves = [compat.ones(2, requires_grad=True) for _ in old]
    for leaf, grad in zip(leaves, old, strict=True):
        leaf.grad = grad
    versions = [grad._version for grad in old if grad is not None]
    loss = (leaves[0] * 2 + leaves[1] + leaves[2] * 3 + leaves[3]).sum()
    with pytest.raises(KeyError), Failing(name, number):
        loss.backward(retain_graph=True)
    assert [leaf.grad for leaf in leaves] == old
    assert old[0].tolist() == [5, 5]
    assert old[2].tolist() == [7, 7]
    assert [grad._version for grad in old if grad is not None] == versions
    loss.backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[7, 7], [1, 1], [10, 10], [1, 1]]


def test_what_a_mode_keeps_does_not_change_with_the_gradient():
    kept = []

    class Keeping(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            kept.append(answer)
            return answer

    x = compat.ones(3, requires_grad=True)
    with Keeping():
        (x * 2).sum().backward()
    before = [each.tolist() for each in kept]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 4, 4]
    assert [each.tolist() for each in kept if each is not x.grad] == [
        value for each, value in zip(kept, before, strict=True) if each is not x.grad
    ]


def test_a_mode_may_add_something_else():
    class Doubling(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is compat.ops.aten.add_.Tensor:
                args = (args[0], args[1] * 2)
            return func(*args, **(kwargs or {}))

    x = compat.ones(3, requires_grad=True)
    x.grad = compat.ones(3)
    with Doubling():
        (x * 5).sum().backward()
    assert x.grad.tolist() == [11, 11, 11]


def test_a_pass_inside_a_mode_adds_to_the_same_gradient():
    """The addition is under way, and its handler runs another pass of the same leaf."""
    x = compat.ones(3, requires_grad=True)
    x.grad = compat.zeros(3)

    class Again(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is compat.ops.aten.add_.Tensor:
                with enable_reentrant_dispatch():
                    (x * 10).sum().backward()
            return func(*args, **(kwargs or {}))

    with Again():
        (x * 1).sum().backward()
    assert x.grad.tolist() == [11, 11, 11]


def test_threads_with_modes_and_without_add_exactly():
    x = compat.zeros(1000, requires_grad=True)
    x.grad = compat.zeros(1000)

    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    def passes(mode):
        for _ in range(50):
            with mode() if mode else compat.enable_grad():
                (x * 1).sum().backward()

    threads = [threading.Thread(target=passes, args=(mode,)) for mode in (Looking, None) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(1000, 200.0))


@pytest.mark.parametrize(("before", "after"), [(0, 1), (1, 0), (1, 1)])
def test_a_checkpoint_is_run_again_in_a_mode_or_without(before, after):
    """What it saves the first time is what it saves the second, also of a linear layer."""

    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    modes = [contextlib.nullcontext, Looking]
    layer = compat.nn.Linear(3, 3)
    x = compat.ones(2, 3, requires_grad=True)
    layer(layer(x).relu()).sum().backward()
    wanted, x.grad = x.grad, None
    with modes[before]():
        loss = compat.utils.checkpoint.checkpoint(
            lambda x: layer(layer(x).relu()), x, use_reentrant=False
        ).sum()
    with modes[after]():
        loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), wanted.numpy(), rtol=1e-6)
