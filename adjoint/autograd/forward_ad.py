"""Forward mode, under PyTorch's names: tensors that carry a tangent through what is done with them.

One level at a time is open. When it ends, its tensors are plain again, and have no tangent.
"""

import math
from typing import Any, NamedTuple

from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.backends import backend_of
from adjoint.backends.namespace import ordered_strides
from adjoint.call.context import current
from adjoint.call.held import Held
from adjoint.call.layers import lies_in, newest, open_levels
from adjoint.call.record import record, settle
from adjoint.creation.factories import zeros
from adjoint.ops.arranging.conversion import alias
from adjoint.ops.arranging.strided import as_strided
from adjoint.tensors.concrete import lying, memory_of
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.duals import DualLevel, dual

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


def _open_level() -> DualLevel | None:
    """The level that is open in the calling context."""
    for level in open_levels.get():
        if isinstance(level, DualLevel) and level.fades:
            return level
    return None


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # programs that import torch look at it
        return -1 if _open_level() is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    """Open the level in which tensors may have tangents; its number, which is always 0."""
    open_levels.set((*open_levels.get(), _new_level()))
    return 0


def _new_level() -> DualLevel:
    if _open_level() is not None:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is open; use "
            "func.jvp, which can be nested"
        )
    return DualLevel("forward_ad.dual_level", fades=True)


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tensors lose their tangents."""
    ending = _open_level()
    if level not in (None, -1 if ending is None else 0):
        raise RuntimeError(
            f"Trying to exit a forward AD level that was not the last one, {level}; leave `level` "
            "out"
        )
    if ending is None:
        raise RuntimeError("exit_dual_level: no dual level is open; call enter_dual_level() first")
    open_levels.set(tuple(each for each in open_levels.get() if each is not ending))
    ending.ended = True


class dual_level(ContextDecorator, Held):
    """Inside, tensors may have tangents: make_dual gives them, unpack_dual shows them."""

    def clone(self) -> Any:
        """See ContextDecorator."""
        return type(self)()

    level: DualLevel | None = None

    def _variable(self) -> Any:
        """See Held."""
        return open_levels

    def _inside(self, before: Any) -> Any:
        """See Held."""
        return (*before, _new_level())

    def _given(self) -> int:
        """See Held: the number of the level, which is always 0."""
        return 0

    def _outside(self, now: Any) -> Any:
        """See Held."""
        self.level = _open_level()
        return tuple(each for each in now if each is not self.level)

    def _left(self) -> None:
        """See Held: its tensors lose their tangents."""
        if self.level is None:
            exit_dual_level()  # which says that none is open
        else:
            self.level.ended = True


class UnpackedDualTensor(NamedTuple):
    """A tensor without its tangent, and the tangent; None if it has none."""

    primal: Any
    tangent: Any


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """The same memory as a tensor with a tangent, which is how it changes along a direction."""
    own = _open_level()
    if own is None or level not in (None, 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    _check_pair(tensor, tangent, own)
    if own.is_idle():
        return alias(tensor)
    if tangent.dtype is not tensor.dtype:
        tangent = tangent.to(tensor.dtype)
    made = dual(own, alias(tensor), _laid_out_as(tensor, tangent))
    made.rare().counter = tensor.counter()
    made.inference = tensor.inference
    if tensor.needs_grad and current().recording:
        node = record(alias, [tensor], [made], False)
        if node is not None:
            settle(node, current())
    return made


def _check_pair(tensor: Any, tangent: Any, level: DualLevel) -> None:
    """Refuse a tangent that is none for a tensor."""
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual: {name} must be a Tensor, got {type(value).__name__}")
        if not (value.dtype.is_floating_point or value.dtype.is_complex):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value.dtype}"
            )
        newest([value])
        value.up_to_date()
        if lies_in(value, level) and value.layer.tangent is not None:
            raise RuntimeError(
                f"make_dual: the {name} has a forward gradient at the same level; use "
                f"unpack_dual({name}) to get at what it is made of"
            )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor: the tensor is of size {list(tensor.shape)}, its tangent of "
            f"{list(tangent.shape)}"
        )
    if tangent.dtype.is_complex and not tensor.dtype.is_complex:
        raise RuntimeError(
            f"make_dual: the tangent of a real tensor is real, got {tangent.dtype.name} for "
            f"{tensor.dtype.name}"
        )


def _laid_out_as(tensor: Tensor, tangent: Any) -> Any:
    """A tangent that lies in memory as its primal does: itself, or a copy.

    An element of a batch has no memory of its own, only its strides can be the same.
    """
    if tensor.layer is not None or not tensor.array.size:
        return tangent
    if not backend_of(tensor.array).mutable:
        return tangent
    whole = memory_of(tensor)
    if 0 in whole.strides:
        return tangent
    if tangent.layer is None:
        same = whole[1:] == memory_of(tangent)[1:]
    else:
        same = whole.strides == backend_of(tensor.array).xp.strides_of(lying(tangent))
    return tangent if same else _blank(tensor, tangent, ()).copy_(tangent)


def _blank(tensor: Tensor, tangent: Tensor, sizes: tuple[int, ...]) -> Any:
    """Zeros in which a tangent lies as a tensor does: a batch of them for a batch."""
    if tangent.layer is None:
        return zeros_laid_out_as(tensor, sizes)
    return tangent.layer.imitated(
        lambda below, count: _blank(tensor, below, (*count, *sizes)),
    )


def zeros_laid_out_as(tensor: Tensor, sizes: tuple[int, ...] = ()) -> Any:
    """Zeros that lie in memory as a tensor does, as often as `sizes` in front say."""
    whole = memory_of(tensor)
    blank: Any = zeros(whole.room * math.prod(sizes), dtype=tensor.dtype, device=tensor.device)
    steps = [step * whole.room for step in ordered_strides(sizes)]
    return as_strided(blank, (*sizes, *tensor.shape), (*steps, *whole.strides), whole.start)


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """(primal, tangent) of a tensor; the tangent is None if it has none."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual: expected a Tensor, got {type(tensor).__name__}")
    own = _open_level()
    newest([tensor])
    if own is None or level not in (None, 0):
        return UnpackedDualTensor(tensor, None)
    tensor.up_to_date()
    if not lies_in(tensor, own):
        return UnpackedDualTensor(alias(tensor), None)
    return UnpackedDualTensor(alias(tensor.layer.primal), tensor.layer.tangent)
