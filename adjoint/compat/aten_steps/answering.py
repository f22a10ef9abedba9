"""Who answers an operation of PyTorch's below autograd: the innermost mode, or classes of tensors.

A mode is a setting of the context; a class with `__torch_dispatch__` is a layer of its instances,
all of which lie on one ground (`torch_tree/utils/_python_dispatch.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from adjoint.call.arguments import tensors_in
from adjoint.call.context import Changed, below_innermost_mode, current, set_current
from adjoint.call.layers import Below, Ground, lies_in, newest
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.torch_tree.ops import operation_of
from adjoint.library.custom_op import CustomOpDef
from adjoint.tensors.tensor import Tensor

GROUND: Final = Ground("a class with __torch_dispatch__", 0)
# Whether instances of classes are plain tensors here, which nobody is asked about.
DISABLED: Final[ContextVar[bool]] = ContextVar("adjoint_dispatch_disabled", default=False)


@contextmanager
def asking() -> Iterator[Steps]:
    """As a context: what asks the innermost mode, outside of which others are left, or classes."""
    settings = current()
    if not settings.modes:
        yield Steps(answered)
        return
    try:
        set_current(below_innermost_mode(settings))
        yield Steps(settings.modes[-1].answered)
    finally:
        set_current(settings)


def below_autograd() -> Changed:
    """As a context: nothing is recorded."""
    return Changed({"beneath": True})


def beneath(tensors: list[Tensor]) -> Below:
    """As a context: of transforms, only those are under way in which what instances hold is."""
    top = newest([part for t in tensors if lies_in(t, GROUND) for part in t.layer.parts(t)])
    return Below(1 if top is None else top.level.number + 1)


def rule_of(function: Any, kind: Any) -> Any:
    """What was registered for a custom op on instances of a class, or in a mode of it."""
    operation = operation_of(function)
    return operation.registered.dispatch.get(kind) if isinstance(operation, CustomOpDef) else None


def answered(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the classes of the arguments answer to a call, the most derived first."""
    tensors = tensors_in([*args, *kwargs.values()])
    instances = {type(tensor): tensor for tensor in tensors[::-1] if lies_in(tensor, GROUND)}
    kinds = list(dict.fromkeys(type(tensor) for tensor in tensors if lies_in(tensor, GROUND)))
    if not kinds:  # a step between those that have to do with instances
        with below_autograd():
            return function(*args, **kwargs)
    with below_autograd(), beneath(tensors):
        for kind in sorted(kinds, key=lambda each: -len(each.__mro__)):
            rule = rule_of(function, kind)
            if rule is None:
                handler: Any = instances[kind].__torch_dispatch__  # type: ignore[attr-defined]
                answer = handler(function, tuple(kinds), args, kwargs)
            else:
                answer = rule(kind, function, tuple(kinds), args, kwargs)
            if answer is not NotImplemented:
                return conforming(function, answer)
    raise refused(function, [kind.__name__ for kind in kinds])


def conforming(function: Any, answer: Any) -> Any:
    """An answer, if it is what the operation gives; None stands for a tensor that is not there."""
    form = getattr(function, "form", None)
    returns = () if form is None else form.returns
    if not returns:
        return answer
    if len(returns) == 1 and returns[0].base == "bool" and isinstance(answer, (int, float)):
        return bool(answer)
    given = [answer] if len(returns) == 1 else answer
    if isinstance(given, (tuple, list)) and len(given) == len(returns):
        if all(map(_is_of, returns, given)):
            return answer
    shown = type(answer).__name__
    if isinstance(answer, (tuple, list)):
        shown += f" of {len(answer)} ({', '.join(type(each).__name__ for each in answer)})"
    wanted = "a list of Tensors" if returns[0].is_list else f"a {returns[0].base}"
    wanted = f"{len(returns)} results" if len(returns) > 1 else wanted
    raise RuntimeError(f"{function}: __torch_dispatch__ returned a {shown}, not {wanted}")


def _is_of(kind: Any, value: Any) -> bool:
    """Whether a result may be of a kind: tensors are looked at, numbers where they are used."""
    if not kind.is_tensor:
        return bool(kind.base != "bool" or kind.is_list)
    if not kind.is_list:
        return value is None or isinstance(value, Tensor)
    return isinstance(value, (tuple, list)) and all(isinstance(each, Tensor) for each in value)


def refused(function: Any, names: list[str]) -> TypeError:
    """The error about a call that nobody answers."""
    return TypeError(
        f"Multiple dispatch failed for {function}: __torch_dispatch__ of {', '.join(names)} "
        "returned NotImplemented"
    )
