"""Who answers a call instead of adjoint: classes with `__torch_function__`, and function modes.

A subclass of Tensor is asked about an op in `dispatch.apply`. Other classes, which only take part
in calls like tensors do, are asked where a public function begins, with the arguments as the user
wrote them: an op in `dispatch.call`. Any other function asks all by `ops.composites.overridable`.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.call.context import Settings, below_innermost_mode, current, replaced, set_current
from adjoint.dtypes import dtype
from adjoint.tensors.core import NDARRAY
from adjoint.tensors.tensor import Tensor, wants_calls
from adjoint.tensors.upper import upper

if TYPE_CHECKING:
    from adjoint.ops.op import Op

# Of which nearly all arguments are, and which take part in no call.
ORDINARY: Final = frozenset({int, float, bool, complex, str, type(None), dtype, NDARRAY})


def answered_elsewhere(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a mode of the context, or a class among the arguments, answers a function's call."""
    if has_others(args, kwargs) or has_subclasses(args):
        return True
    if kwargs and has_subclasses(tuple(kwargs.values())):
        return True
    return seen_by_mode()


def seen_by_mode() -> bool:
    """Whether a mode of the context answers the calls of functions."""
    settings = current()
    return not settings.plain and bool(settings.functions)


def has_others(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a class among the arguments that is no tensor's answers calls."""
    for value in args:
        if not isinstance(value, Tensor) and type(value) not in ORDINARY and answers(value):
            return True
    if kwargs:
        for value in kwargs.values():
            if not isinstance(value, Tensor) and type(value) not in ORDINARY and answers(value):
                return True
    return False


def answers(value: Any) -> bool:
    """Whether a value that is no tensor takes part in calls like one, or an element of a list."""
    kind = type(value)
    if kind is not list and kind is not tuple and wants_calls(kind):  # a tuple with names may
        return current().overrides
    if isinstance(value, (list, tuple)):
        for element in value:
            if type(element) is int or type(element) in ORDINARY:
                continue
            if not isinstance(element, (list, Tensor)) and answers(element):
                return True
        return False
    if isinstance(value, slice):
        return has_others((value.start, value.stop, value.step), {})
    return False


def has_subclasses(values: tuple[Any, ...]) -> bool:
    """Whether a tensor among the arguments is of a class that answers calls; in lists too."""
    for value in values:
        if isinstance(value, Tensor):
            if value.special and is_overriding(value):
                return True
        elif isinstance(value, (list, tuple)):
            for element in value:
                if isinstance(element, Tensor) and element.special and is_overriding(element):
                    return True
    return False


def is_overriding(tensor: Tensor) -> bool:
    """Whether the class of a tensor answers calls of functions here."""
    if type(tensor) is Tensor or not current().overrides:
        return False
    if tensor.layer is not None:
        return bool(tensor.layer.overridden)
    return wants_calls(type(tensor))


def taking_part(values: Any) -> list[Any]:
    """One value of each class that answers calls; a subclass before its bases."""
    found: list[Any] = []
    for value in values:
        if type(value) is Tensor:
            continue
        if wants_calls(type(value)):
            inner = [value]
        elif isinstance(value, (list, tuple)):
            inner = taking_part([each for each in value if not isinstance(each, list)])
        elif isinstance(value, slice):
            inner = taking_part((value.start, value.stop, value.step))
        else:
            continue
        for each in inner:
            if type(each) in [type(old) for old in found]:
                continue
            place = len(found)
            for i, old in enumerate(found):
                if place == len(found) and isinstance(each, type(old)):
                    place = i
            found.insert(place, each)
    return found


def offered(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the innermost mode answers to a call, or else the classes among its arguments."""
    answer = first_answer(function, args, kwargs)
    if answer is NotImplemented:
        found = taking_part((*args, *kwargs.values()))
        raise refusal(function, tuple([type(value) for value in found]))
    return answer


def first_answer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The same; NotImplemented if nobody answers, so that an operator is left to the other side."""
    settings = current()
    found = taking_part((*args, *kwargs.values()))
    kinds = tuple([type(value) for value in found])
    if upper.shown is not None:
        args, kwargs = upper.shown(function, args, kwargs)
    if settings.functions:
        return by_mode(settings, function, kinds, args, kwargs)
    return by_classes(function, found, args, kwargs)


def by_classes(
    function: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the first class that answers a call says; NotImplemented if none does."""
    kinds = tuple([type(value) for value in found])
    for value in found:
        handler: Any = value.__torch_function__  # of a class that is no tensor's it may be a method
        answer = handler(function, kinds, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def by_mode(
    settings: Settings, function: Any, kinds: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The answer of the innermost function mode, inside which the others are left.

    What it leaves to others, the classes among the arguments answer.
    """
    if not settings.overrides:
        kinds = ()
    try:
        set_current(replaced(settings, {"functions": settings.functions[:-1]}))
        answer = settings.functions[-1].__torch_function__(function, kinds, args, kwargs)
    finally:
        set_current(settings)
    if answer is NotImplemented and settings.overrides:
        answer = by_classes(function, taking_part((*args, *kwargs.values())), args, kwargs)
    if answer is NotImplemented:
        raise refusal(function, kinds)
    return answer


def creating_mode() -> Any:
    """The innermost mode below autograd, which is asked for new tensors too; None if none is."""
    settings = current()
    return settings.modes[-1] if not settings.plain and settings.modes else None


def created_by(mode: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The new tensor that a mode answers, inside which the others are left."""
    settings = current()
    try:
        set_current(below_innermost_mode(settings))
        return mode.created(name, args, kwargs)
    finally:
        set_current(settings)


def refusal(function: Any, kinds: tuple[Any, ...]) -> TypeError:
    """The error about a call that nobody answers."""
    names = ", ".join([kind.__name__ for kind in kinds])
    shown = getattr(function, "__name__", str(function))
    return TypeError(f"no implementation of {shown} for the types {names}")


def override(op: "Op", function: Any, values: list[Any], tensors: list[Tensor]) -> Any:
    """Let a subclass handle the call of `function`, which is op or its in-place form."""
    if function is op and op.known_as is not None:
        function = op.known_as
    kinds = tuple(dict.fromkeys(type(t) for t in tensors if t.special))
    kwargs = dict(zip(op.parameters, values))
    count = min(op.required, op.positional)
    for i in range(count, op.positional):  # layers give optional tensors by position, as a bias
        if isinstance(values[i], Tensor):
            count = i + 1
    args = tuple(kwargs.pop(name) for name in op.parameters[:count])
    if op.star >= 0:
        args = args[: op.star] + (tuple(args[op.star]) or ((),))  # or it would be missing
    kwargs = {k: v for k, v in kwargs.items() if v is not op.defaults[op.index_of[k]]}
    if upper.shown is not None:
        args, kwargs = upper.shown(function, args, kwargs)
    for tensor in tensors:
        if tensor.special:
            handler: Any = type(tensor).__torch_function__  # type: ignore[attr-defined]  # subclass
            answer = handler(function, kinds, args, kwargs)
            if answer is not NotImplemented:
                return answer
    raise refusal(function, kinds)
