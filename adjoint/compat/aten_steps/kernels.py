"""Kernels that programs give to PyTorch's own operations: Library("aten", "IMPL").

A kernel computes what one overload answers on one kind of device, below autograd: the forward of
adjoint's operation asks it, and the derivative stays. Others than those are refused.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from adjoint.backends import backend_of
from adjoint.call.context import Changed
from adjoint.call.dispatch import GENERAL
from adjoint.compat import aten_forms
from adjoint.compat.aten_steps.shown import call_in_steps
from adjoint.compat.torch_tree import ops
from adjoint.compat.torch_tree.ops import operation_of
from adjoint.ops.declaration import DECLARED
from adjoint.ops.op import Op
from adjoint.tensors.tensor import AS_IS, Tensor

_DEVICES: Final = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta"}
# Whatever takes a short way past an operation's forward.
_SHORT_WAYS: Final = ("lane", "direct", "fused", "looped", "mutate", "forward")

_replaced: dict[str, "_Replaced"] = {}
# The operation whose steps are under way: a kernel that calls it again reaches its own forward.
_under_way: Final[ContextVar["_Replaced | None"]] = ContextVar("adjoint_kernel", default=None)


class _Replaced:
    """An operation of which some overloads have kernels of the program's."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.kernels: dict[tuple[str, str], Any] = {}  # by name with overload, and device
        self.before = {name: getattr(op, name) for name in _SHORT_WAYS}
        op.lane, op.direct, op.fused, op.looped, op.mutate = GENERAL, None, None, False, None
        op.forward = self.forward

    def restore(self) -> None:
        """Compute as before."""
        for name, value in self.before.items():
            setattr(self.op, name, value)

    def forward(self, xp: Any, *args: Any, **kwargs: Any) -> Any:
        """The operation in PyTorch's steps, of which the program's kernels answer theirs."""
        given = [*args, *kwargs.values()]
        where = next((_place(value) for value in given if _place(value)), "")
        if _under_way.get() is self or where not in {device for _, device in self.kernels}:
            return self.before["forward"](xp, *args, **kwargs)
        token = _under_way.set(self)
        try:
            with Changed({"grad_enabled": False}):
                answer = call_in_steps(self.op, _as_tensors(given), self.answering(where))
        finally:
            _under_way.reset(token)
        if not isinstance(answer, Tensor):
            raise RuntimeError(
                f"the kernel of aten::{self.op.name} returned a {type(answer).__name__}, not a "
                "Tensor"
            )
        return answer.concrete_array()

    def answering(self, where: str) -> Callable[[Any, Any, Any], Any]:
        """What answers the steps on a kind of device."""

        def answered(function: Any, args: Any, kwargs: Any) -> Any:
            kernel = self.kernels.get((function.name().removeprefix("aten::"), where), function)
            return kernel(*args, **kwargs)

        return answered


def _place(value: Any) -> str:
    """The kind of device that an array is on; empty for what is no array."""
    if isinstance(value, (list, tuple)):
        return next((_place(each) for each in value if _place(each)), "")
    return str(backend_of(value).device(value).type) if hasattr(value, "dtype") else ""


def _as_tensors(values: Any) -> list[Any]:
    """Arrays as tensors, in lists too."""
    return [
        _as_tensors(value)
        if isinstance(value, (list, tuple))
        else Tensor(value, AS_IS)
        if _place(value)
        else value
        for value in values
    ]


def registered(name: str, kernel: Any, key: str) -> Callable[[], None]:
    """Give an overload, as sum or sum.dim_IntList, a kernel; what takes it back is returned."""
    plain, _, overload = name.partition(".")
    op = operation_of(getattr(ops.__getattr__("aten"), plain))
    whole = isinstance(op, Op) and not op.hides and op.outputs is None and op.star < 0
    if not whole:
        raise NotImplementedError(
            f"impl('aten::{name}', ...): it is no operation of one result here that could have "
            "another kernel; define an op of your own with torch.library.custom_op"
        )
    if key not in _DEVICES:
        raise NotImplementedError(
            f"impl('aten::{name}', ..., {key!r}): aten's operations have kernels of devices, "
            f"{', '.join(_DEVICES)}; derivatives are their own"
        )
    if aten_forms.form(plain, overload or "default") is None:
        raise RuntimeError(f"impl('aten::{name}', ...): there is no such overload")
    place = (name.removesuffix(".default"), _DEVICES[key])
    if op.name not in _replaced:
        _replaced[op.name] = _Replaced(op)
    replaced = _replaced[op.name]
    earlier = replaced.kernels.get(place)
    replaced.kernels[place] = kernel

    def undo() -> None:
        if earlier is not None:
            replaced.kernels[place] = earlier
        else:
            replaced.kernels.pop(place, None)
        if not replaced.kernels and _replaced.get(op.name) is replaced:
            del _replaced[op.name]
            replaced.restore()

    return undo


def passed_over(name: str, key: str) -> Callable[[], None]:
    """Have autocast leave the arguments of an operation alone; what takes it back is returned."""
    plain = name.partition(".")[0]
    op = operation_of(getattr(ops.__getattr__("aten"), plain))
    own = getattr(op, "name", "")
    declared = DECLARED.get(own)
    if declared is None or own != plain:
        raise NotImplementedError(
            f"impl('aten::{name}', fallthrough_kernel, {key!r}): it is made by {own or 'others'} "
            "here, which others need as it is; call it under autocast(enabled=False)"
        )
    if not key.startswith("Autocast"):
        raise NotImplementedError(
            f"impl('aten::{name}', fallthrough_kernel, {key!r}): aten's operations do without "
            "autocast's keys alone (AutocastCPU, AutocastCUDA); their other kernels are their own"
        )
    before = declared.autocast
    declared.autocast = None

    def undo() -> None:
        declared.autocast = before

    return undo
