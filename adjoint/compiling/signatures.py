"""What two calls must have in common to run the same program."""

from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Settings
from adjoint.device import device
from adjoint.dtypes import get_default_dtype
from adjoint.pytree import tree_flatten
from adjoint.tensors.core import NDARRAY
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

_np: Any = numpy_backend.xp
_PLAIN = (bool, int, float, complex, str, bytes, type(None), _np.number, _np.bool_)
_WRITTEN = (*_PLAIN, range, device)  # that are what they look like
_OF_PARTS = (slice, Size, frozenset)


class Call:
    """The arguments of a call, taken apart: the tensors among them, and the signature."""

    __slots__ = ("key", "tensors")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: Settings) -> None:
        self.tensors: list[Any] = []
        if not args and not kwargs:
            self.key: Any = (settings.recording, settings.inference, get_default_dtype())
            return
        leaves, tree = tree_flatten((args, kwargs))
        parts: list[Any] = [settings.recording, settings.inference, get_default_dtype(), tree]
        seen: dict[int, int] = {}
        for leaf in leaves:
            if isinstance(leaf, Tensor):
                first = seen.setdefault(id(leaf), len(self.tensors))
                self.tensors.append(leaf)
                parts.append((first, *_looks(leaf)))
            else:
                parts.append(_constant(leaf))
        for tensor in self.tensors:
            if tensor.extras is not None:
                parts += _relations(tensor, seen)
        self.key = tuple(parts)


def _relations(tensor: Any, seen: dict[int, int]) -> list[Any]:
    """Which argument a tensor is a view of, and by which steps; the hooks of a leaf."""
    extras = tensor.extras
    found: list[Any] = []
    if id(extras.base) in seen:
        steps = tuple((op, repr(rest), which) for op, rest, which in extras.steps)
        found.append((seen[id(tensor)], seen[id(extras.base)], steps))
    if tensor.node is None:
        for kind, table in (("hooks", extras.hooks), ("after", extras.post_accumulate)):
            if table:
                found.append((seen[id(tensor)], kind, *map(_Same, table.values())))
    return found


def _looks(tensor: Any) -> tuple[Any, ...]:
    array = tensor.array
    return (
        type(tensor),
        type(array),
        array.shape,
        array.dtype,
        tensor.needs_grad,
        tensor.node is None,
        tensor.gradient is None,
        tensor.layer is None,
    )


def _constant(value: Any) -> Any:
    """What stands for a value that is no tensor: programs are made for its very value."""
    if isinstance(value, _WRITTEN):
        return (type(value), repr(value))  # -0.0 is not 0.0, and nan is itself
    if type(value) is NDARRAY and not value.dtype.hasobject:
        return (NDARRAY, value.shape, value.dtype, value.tobytes())
    parts = (value.start, value.stop, value.step) if type(value) is slice else value
    if type(value) in _OF_PARTS and all(isinstance(each, _PLAIN) for each in parts):
        looks = [(type(each), repr(each)) for each in parts]
        return (type(value), (frozenset if type(value) is frozenset else tuple)(looks))
    return _Same(value)


def objects_among(leaves: list[Any]) -> dict[int, Any]:
    """Arguments that stand for themselves alone, and may hold other things at the next call."""
    others = [leaf for leaf in leaves if not isinstance(leaf, Tensor)]
    return dict(enumerate(leaf for leaf in others if isinstance(_constant(leaf), _Same)))


class _Same:
    """Stands for an object that is equal to itself alone, and keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def difference(key: Any, others: list[Any]) -> str:
    """Why a signature is new, for the log."""
    if not others:
        return "it is the first call"
    last = others[-1]
    for mine, theirs in zip(key, last):
        if mine != theirs:
            return f"{theirs!r} has become {mine!r}"
    return "the arguments differ"
