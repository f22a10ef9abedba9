"""Modes that see every operation of their block, and selective checkpoints in torch.ops' words."""

import contextlib
import functools

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
)
from adjoint.compat.torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

aten = compat.ops.aten


class Seen(TorchDispatchMode):
    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_calls_of_its_block():
    x = compat.ones(2, requires_grad=True)
    with Seen() as seen:
        assert _get_current_dispatch_mode() is seen
        y = (x * 2).sin()
        y.view(2, 1).add_(1)
    x.exp()
    assert _get_current_dispatch_mode() is None
    expected = ["aten.mul.Tensor", "aten.sin.default", "aten.view.default", "aten.add_.Tensor"]
    assert seen.calls == expected
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx((2 * compat.cos(compat.tensor([2.0, 2.0]))).tolist())


def test_a_mode_may_answer_otherwise_and_is_off_inside_itself():
    class Cosine(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is aten.sin.default:
                return args[0].sin().cos()  # this sin is not seen
            return func(*args, **(kwargs or {}))

    x = compat.tensor([0.5])
    wanted = x.sin().cos().item()
    with Cosine():
        assert compat.sin(x).item() == wanted


def test_modes_nest_and_the_inner_one_comes_first():
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Named("outer"), Named("inner"):
        compat.ones(1).exp()
    assert order == ["inner", "outer"] * 2  # one is made, and its exponential
    with contextlib.suppress(ZeroDivisionError), Named("failed"):
        1 / 0  # noqa: B018
    compat.ones(1).exp()
    assert order == ["inner", "outer"] * 2


def test_arguments_are_those_of_the_call():
    calls = []

    class Arguments(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((func.__name__, args[1:], dict(kwargs)))
            return func(*args, **kwargs)

    x = compat.ones(2, 3)
    with Arguments():
        x.sum(1, keepdim=True)
        compat.add(x, 1, alpha=2)
    assert calls == [("sum.default", (1, True), {}), ("add.Tensor", (1,), {"alpha": 2})]


def test_a_policy_names_operations_as_torch_ops_does():
    seen = []

    def policy(ctx, func, *args, **kwargs):
        seen.append(str(func))
        kept = func == aten.sin.default or func in {aten.mm.default, aten.cos.default}
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    x = compat.ones(2, 2, requires_grad=True)
    for choice in (policy, [aten.sin.default, aten.mm.default]):
        contexts = functools.partial(create_selective_checkpoint_contexts, choice)
        run = lambda x: (x @ x).sin().exp()
        output = checkpoint(run, x, use_reentrant=False, context_fn=contexts)
        (found,) = compat.autograd.grad(output.sum(), x)
        (wanted,) = compat.autograd.grad(run(x).sum(), x)
        assert found.tolist() == wanted.tolist()
    assert seen == ["aten.matmul.default", "aten.sin.default", "aten.exp.default"]


def test_a_list_of_operations_names_overloads():
    with pytest.raises(ValueError, match=r"aten\.sin\.default"):
        create_selective_checkpoint_contexts([aten.sin])


def test_a_mode_sees_a_backward_of_its_block():
    x = compat.ones(2, requires_grad=True)
    y = x.sin().sum()
    with Seen() as seen:
        y.backward()
    assert "aten.cos.default" in seen.calls
    assert x.grad.tolist() == x.detach().cos().tolist()


def test_a_mode_sees_new_tensors_as_pytorch_shows_them(torch):
    def shown(library, mode_class):
        log = []

        class Log(mode_class):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                plain = [arg for arg in args if not isinstance(arg, library.Tensor)]
                log.append((func._overloadpacket.__name__, plain))
                return func(*args, **(kwargs or {}))

        with Log():
            made = library.zeros(2, 3, requires_grad=True)
            library.ones((2,))
            library.arange(3)
            library.eye(2)
            library.zeros_like(made)
            made.new_ones(2)
        assert made.requires_grad
        return log

    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    ours = shown(compat, TorchDispatchMode)
    assert ours == shown(torch, Theirs)
    assert [name for name, _ in ours] == [
        "zeros",
        "ones",
        "arange",
        "eye",
        "zeros_like",
        "new_ones",
    ]
