"""Modes that see every operation of their block, and selective checkpoints in torch.ops' words."""

import contextlib
import copy
import functools

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._python_dispatch import (
    TorchDispatchMode,
    _get_current_dispatch_mode,
    is_in_torch_dispatch_mode,
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
    assert calls == [("sum.dim_IntList", ([1], True), {}), ("add.Tensor", (1,), {"alpha": 2})]


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
    assert seen == ["aten.mm.default", "aten.sin.default", "aten.exp.default"]


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


def test_a_mode_is_asked_below_autograd():
    seen = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            seen.append((str(func), args[0].requires_grad, answer.grad_fn))
            return answer

    x = compat.ones(2, requires_grad=True)
    with Look():
        y = x.exp()
        z = y * 2
    assert [each for each in seen if "detach" not in each[0]] == [
        ("aten.exp.default", True, None),
        ("aten.mul.Tensor", True, None),
    ]
    assert type(z.grad_fn).__name__ == "MulBackward0"
    z.sum().backward()
    assert x.grad.tolist() == pytest.approx((2 * x.exp()).tolist())


def test_a_change_in_a_mode_is_counted_once_and_recorded():
    x = compat.ones(3, requires_grad=True)
    with Seen() as seen:
        y = x * 2
        part = y[1:]
        part.mul_(x[:2])
    assert seen.calls == [
        "aten.mul.Tensor",
        "aten.slice.Tensor",
        "aten.slice.Tensor",
        "aten.clone.default",
        "aten.mul_.Tensor",
    ]
    assert y._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0, 2.0]
    with Seen() as seen, pytest.raises(RuntimeError, match="leaf Variable"):
        x.mul_(2)
    assert seen.calls == []


def test_a_view_made_in_place_in_a_mode():
    x = compat.ones(2, 3, requires_grad=True)
    with Seen() as seen:
        y = x.clone()
        y.t_()
    assert seen.calls == ["aten.clone.default", "aten.t_.default"]
    assert y.shape == (3, 2)
    (y * compat.arange(6.0).view(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (lambda x: x.sin(), r"aten.sin.default: __torch_dispatch__ returned a str"),
        (
            lambda x: x.sort(),
            r"aten.sort.default: __torch_dispatch__ returned a str, not 2 results",
        ),
        (lambda x: x.split(1), r"aten.split.Tensor: .* returned a str, not a list of Tensors"),
        (lambda x: compat.zeros(2), "aten.zeros.default: .* not a Tensor"),
    ],
)
def test_nonsense_is_named(program, what):
    class Nonsense(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return "nonsense"

    x = compat.ones(2, requires_grad=True)
    with Nonsense(), pytest.raises(RuntimeError, match=what):
        program(x)
    assert x.sin().requires_grad


@pytest.mark.parametrize(
    "program",
    [
        *(lambda x: x.sin(), lambda x: x.clone().add_(1), lambda x: x.view(-1)),
        *(lambda x: compat.ones(2), lambda x: x.sum().item(), lambda x: x.sum().backward()),
        *(lambda x: compat.nn.functional.linear(x, x.view(1, 2)), lambda x: x.mean() > 0),
    ],
)
@pytest.mark.parametrize("wrap", [lambda y: (y,), lambda y: [y, y], lambda y: ()])
def test_several_results_in_the_place_of_one_are_named(program, wrap):
    class Wrapping(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return wrap(func(*args, **(kwargs or {})))

    x = compat.ones(2, requires_grad=True)
    with Wrapping(), pytest.raises(RuntimeError, match="returned a (tuple|list) of"):
        program(x)
    assert x.grad is None and x.sin().requires_grad


def test_one_result_in_the_place_of_several_is_named():
    class Single(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return compat.zeros(3)

    for program in (lambda x: x.split(1), lambda x: x.unbind(0), lambda x: x.topk(1)):
        with Single(), pytest.raises(RuntimeError, match="returned a Tensor, not"):
            program(compat.ones(2, requires_grad=True))


def whole(library, answer):
    """An answer with its floating tensors as whole numbers."""
    if isinstance(answer, (tuple, list)):
        return type(answer)(whole(library, each) for each in answer)
    is_floating = isinstance(answer, library.Tensor) and answer.is_floating_point()
    return answer.long() if is_floating else answer


def rounding(library, dispatch):
    class Whole(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            answer = tuple(answer) if isinstance(answer, tuple) else answer
            return whole(library, answer)

    return Whole()


ROUNDED = {
    **dict.fromkeys(("mul", "view", "t", "max", "split"), RuntimeError),
    **dict.fromkeys(("double", "linear", "floor", "svd", "var_mean"), RuntimeError),
    **dict.fromkeys(("long", "argmax", "gt", "detach", "detached"), None),
}
PROGRAMS = {
    "mul": lambda library, x: x * x,
    "view": lambda library, x: x.view(-1),
    "t": lambda library, x: x.t(),
    "max": lambda library, x: x.max(0),
    "split": lambda library, x: x.split(1),
    "double": lambda library, x: x.double(),
    "linear": lambda library, x: library.nn.functional.linear(x, x),
    "floor": lambda library, x: x.floor(),
    "svd": lambda library, x: library.linalg.svd(x),
    "var_mean": lambda library, x: library.var_mean(x),
    "long": lambda library, x: x.long(),
    "argmax": lambda library, x: x.argmax(),
    "gt": lambda library, x: x > 0,
    "detach": lambda library, x: x.detach(),
    "detached": lambda library, x: x.data * 2,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_numbers_in_the_place_of_recorded_results_are_named(torch, name):
    """They would cut the gradient; where the operation gives whole numbers, they are what it is."""
    from torch.utils import _python_dispatch as theirs

    for library, dispatch in ((compat, compat.utils._python_dispatch), (torch, theirs)):
        x = library.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        raised = pytest.raises(ROUNDED[name]) if ROUNDED[name] else contextlib.nullcontext()
        with raised as caught, rounding(library, dispatch):
            assert not PROGRAMS[name](library, x).requires_grad
        if library is compat and ROUNDED[name]:
            assert "int64, which can't have the gradient" in str(caught.value)
        assert x.requires_grad and x.is_leaf and x._version == 0 and (x * 2).requires_grad


def test_a_class_that_answers_whole_numbers_is_named():
    class Whole(compat.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return compat.tensor([1, 2])

    x = compat.Tensor._make_subclass(Whole, compat.ones(2), True)
    with pytest.raises(RuntimeError, match="sin.*int64, which can't have the gradient"):
        x.sin()


@pytest.mark.parametrize("kind", ["long", "double", "bool"])
def test_gradients_of_another_type_are_named(torch, kind):
    """What a mode makes of a gradient must fit, or it would lie in `.grad` as it is."""
    from torch.utils import _python_dispatch as theirs

    for library, dispatch in ((compat, compat.utils._python_dispatch), (torch, theirs)):

        class Converting(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return getattr(func(*args, **(kwargs or {})), kind)()

        x = library.tensor([1.0, 2.0], requires_grad=True)
        loss = x.sin().sum()
        with pytest.raises(RuntimeError, match="invalid gradient"), Converting():
            loss.backward()
        assert x.grad is None


def test_what_is_answered_as_new_or_detached_needs_no_gradient(torch):
    from torch.utils import _python_dispatch as theirs

    for library, dispatch in ((compat, compat.utils._python_dispatch), (torch, theirs)):

        class Needing(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {})).clone().requires_grad_()

        x = library.ones(2, requires_grad=True)
        with Needing():
            made = [library.zeros(2), library.tensor([3.0, 4.0]), library.ones_like(x), x.detach()]
            told = library.zeros(2, requires_grad=True)
        assert not any(each.requires_grad for each in made)
        assert told.requires_grad and x.requires_grad


def test_a_view_answered_without_values_is_no_view(torch):
    from torch.utils import _python_dispatch as theirs

    for library, dispatch in ((compat, compat.utils._python_dispatch), (torch, theirs)):

        class Abstract(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {})).to("meta")

        with Abstract():
            view = library.ones(2, requires_grad=True).view(1, 2)
        assert view.device.type == "meta" and tuple(view.shape) == (1, 2)


def test_no_tensor_in_the_place_of_a_copy_is_named():
    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return None

    x = compat.ones(2, requires_grad=True)
    with Nothing():
        assert x.exp() is None
        for options in ({}, {"requires_grad": True}):
            with pytest.raises(RuntimeError, match="returned a NoneType for lift_fresh"):
                compat.tensor([1.0], **options)


def test_pieces_answered_as_one_tensor_have_gradients_of_their_own():
    class Same(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            return [answer[0]] * len(answer) if isinstance(answer, list) else answer

    x = compat.tensor([1.0, 2.0], requires_grad=True)
    with Same():
        first, second = x.split(1)
    (first + 3 * second).sum().backward()
    assert x.grad.tolist() == [1.0, 3.0]


def test_overloads_take_their_own_arguments_alone(torch):
    """What another overload takes, out= for example, is refused, as by PyTorch."""
    for library in (compat, torch):
        add, x, y = library.ops.aten.add, library.tensor(2), library.tensor(0)
        assert add.Tensor(self=x, other=x, alpha=2).item() == 6
        assert add.out(x, x, out=y).item() == y.item() == 4
        for args, options in (((x, x), {"out": y}), ((x, x), {"beta": 1}), ((x,), {})):
            with pytest.raises(RuntimeError):
                add.Tensor(*args, **options)
        with pytest.raises(RuntimeError):
            add.Tensor(x, x, 1, 1)


def test_too_few_results_are_named():
    class First(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return (func(*args, **(kwargs or {}))[0],)

    x = compat.ones(2)
    with First(), pytest.raises(RuntimeError, match=r"a tuple of 1 \(Tensor\), not 2 results"):
        x.sort()


def test_an_error_in_a_mode_leaves_it_as_it_was():
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise ZeroDivisionError

    x = compat.ones(2, requires_grad=True)
    y = x.clone()
    with Failing() as mode:
        with pytest.raises(ZeroDivisionError):
            x.exp()
        with pytest.raises(ZeroDivisionError):
            y.mul_(2)
        assert _get_current_dispatch_mode() is mode
    assert _get_current_dispatch_mode() is None
    assert compat.is_grad_enabled()
    assert y.tolist() == [1.0, 1.0]


def test_overloads_are_told_apart():
    assert aten.add.Tensor is aten.add.Tensor
    assert aten.add.Tensor != aten.add.Scalar
    assert aten.sum.overloads()[:1]
    assert {"default", "dim_IntList"} <= set(aten.sum.overloads())
    assert str(aten.sum.dim_IntList._schema).startswith("aten::sum.dim_IntList(Tensor self, int[]?")
    for unknown in (lambda: aten.add.nonsense, lambda: aten.sin.Scalar, lambda: aten.nonsense):
        with pytest.raises(AttributeError, match="not in adjoint|aten"):
            unknown()
    assert aten.sum.dim_IntList(compat.ones(2, 3), [1]).tolist() == [3.0, 3.0]


def test_a_custom_op_is_seen_below_autograd():
    calls = []

    @compat.library.custom_op("doors::double", mutates_args=())
    def double(x: compat.Tensor) -> compat.Tensor:
        return x * 2

    double.register_autograd(lambda ctx, grad: grad * 2)

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    x = compat.ones(2, requires_grad=True)
    with Look():
        y = double(x)
    assert calls[0] == "doors.double.default"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_transforms_lie_above_a_mode():
    x = compat.ones(4, 3)
    with Seen() as seen:
        found = compat.vmap(lambda row: row.sin().sum())(x)
    assert seen.calls[0] == "aten.sin.default"
    assert found.tolist() == pytest.approx(x.sin().sum(1).tolist())
    with Seen() as seen:
        slope = compat.func.grad(lambda t: t.sin().sum())(x)
    assert "aten.cos.default" in seen.calls
    assert slope.tolist() == x.cos().tolist()


def test_autocast_lies_above_a_mode():
    kinds = []

    class Look(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kinds.append((func.__name__, args[0].dtype))
            return func(*args, **(kwargs or {}))

    x = compat.ones(2, 2)
    with Look(), compat.autocast("cpu", compat.bfloat16):
        x @ x
    assert ("mm.default", compat.bfloat16) in kinds


def test_what_data_becomes_is_seen_by_modes():
    import numpy as np

    functions = []

    class Functions(compat.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            functions.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Functions(), Seen() as seen:  # which calls lift_fresh, and from_numpy is no function here
        compat.tensor([1.0])
        compat.as_tensor([1.0])
        compat.as_tensor(np.ones(2))
        compat.from_numpy(np.ones(2))
    assert functions == ["tensor", "as_tensor", "as_tensor", "lift_fresh.default"]
    assert seen.calls == ["aten.lift_fresh.default"] * 4


def test_a_function_mode_sees_a_backward_and_not_its_steps():
    functions = []

    class Functions(compat.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            functions.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = compat.ones(2, requires_grad=True)
    with Functions():
        (x * 2).sum().backward()
        compat.autograd.grad((x * 2).sum(), x)
    assert functions == ["mul", "sum", "backward", "mul", "sum", "grad"]
    assert x.grad.tolist() == [2.0, 2.0]


def test_a_mode_may_leave_calls_to_others():
    class Polite(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((func.__name__, len(types)))
            return NotImplemented if types else func(*args, **(kwargs or {}))

    class Inner(compat.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            order.append("class")
            return func(*[arg.held if isinstance(arg, Inner) else arg for arg in args])

    order = []
    x = compat.Tensor._make_wrapper_subclass(Inner, (2,))
    x.held = compat.tensor([-1.0, 2.0])
    with Polite():
        assert x.abs().tolist() == [1.0, 2.0]
    assert order == [("abs.default", 1), "class", ("abs.default", 0)]

    class Silent(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return NotImplemented

    with Silent(), pytest.raises(TypeError, match="Multiple dispatch failed for aten.abs.default"):
        x.held.abs()


def test_a_mode_that_is_a_classmethod_is_refused():
    class Wrong(TorchDispatchMode):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Wrong():
        pass
    assert _get_current_dispatch_mode() is None


def test_none_is_an_answer_and_modes_can_be_switched_off():
    class Nothing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return None

    x = compat.ones(2, requires_grad=True)
    with Nothing():
        assert x.sin() is None
        with compat._C._DisableTorchDispatch():
            assert x.sin().requires_grad
        assert is_in_torch_dispatch_mode()
    assert not is_in_torch_dispatch_mode()


def test_a_deep_copy_without_memory_is_of_the_same_class():
    class Held(compat.Tensor):
        @staticmethod
        def __new__(cls, held):
            made = compat.Tensor._make_wrapper_subclass(cls, held.shape)
            made.held = held
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return args[0].held.clone()

    with pytest.raises(RuntimeError, match="same subclass"):
        copy.deepcopy(Held(compat.ones(2)))
