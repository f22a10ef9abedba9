"""Kernels that programs give to PyTorch's own operations: Library("aten", "IMPL").

A kernel of a device computes what one overload answers there, below autograd: the forward of
adjoint's operation asks it, and the derivative stays. One of autograd's keys takes the place of the
call and of its record. Others than those are refused.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from adjoint.backends import backend_of
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Changed, current
from adjoint.call.dispatch import GENERAL, OWN, answered_below, apply_raw, beside, computed, wrap
from adjoint.call.promotion import common_backend
from adjoint.compat import aten_forms
from adjoint.compat.aten_steps.composed import WITHOUT_AUTOCAST, composed
from adjoint.compat.aten_steps.shown import call_in_steps
from adjoint.compat.torch_tree import ops
from adjoint.compat.torch_tree.ops import operation_of
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.declaration import DECLARED
from adjoint.ops.op import Op
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

_DEVICES: Final = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta"}
_ABOVE: Final = {"Autograd": "", "AutogradCPU": "cpu", "AutogradCUDA": "cuda"}  # "": on all
_AUTOCAST: Final = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda"}
# Whatever takes a short way past an operation's forward.
_SHORT_WAYS: Final = ("lane", "direct", "fused", "looped", "mutate", "forward", "above")

_replaced: dict[str, "_Replaced"] = {}
# The operation whose steps are under way: a kernel that calls it again reaches its own forward.
_under_way: Final[ContextVar["_Replaced | None"]] = ContextVar("adjoint_kernel", default=None)
_recording: Final[ContextVar["_Replaced | None"]] = ContextVar("adjoint_recording", default=None)


class _Replaced:
    """An operation of which some overloads have kernels of the program's."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.kernels: dict[tuple[str, str], Any] = {}  # by name with overload, and device
        self.recording: dict[tuple[str, str], Any] = {}  # those above autograd
        self.before = {name: getattr(op, name) for name in _SHORT_WAYS}
        op.direct, op.fused, op.looped, op.mutate = None, None, False, None
        op.forward, op.above = self.forward, self.above
        self.choose()

    def choose(self) -> None:
        """Let calls be made here if a kernel is to record them."""
        self.op.lane = OWN if self.recording else GENERAL

    def restore(self) -> None:
        """Compute as before."""
        for name, value in self.before.items():
            setattr(self.op, name, value)

    def above(self, values: list[Any]) -> Any:
        """A call, by the kernel that records its overload, or as if there were none."""
        tensors = tensors_in(values)
        if not tensors:
            return apply_raw(self.op, values)
        if _recording.get() is self:
            return self.plainly(values, tensors)
        token = _recording.set(self)
        try:
            where = tensors[0].device.type
            return call_in_steps(self.op, values, self.answering(where, self.recording))
        finally:
            _recording.reset(token)

    def plainly(self, values: list[Any], tensors: list[Tensor]) -> Any:
        """A call of the operation itself, recorded by its rules."""
        settings = current()
        if settings.modes:
            return answered_below(self.op, values, settings)
        backend, given = common_backend(self.op, tensors), values
        if self.op.dims:
            values = self.op.counted_from_end(values)
        values = beside(values, tensors, backend)
        out = computed(self.op, values, given, backend)
        return wrap(self.op, values, backend, out, settings)

    def forward(self, xp: Any, *args: Any, **kwargs: Any) -> Any:
        """The operation in PyTorch's steps, of which the program's kernels answer theirs."""
        given = [*args, *kwargs.values()]
        where = next((_place(value) for value in given if _place(value)), "")
        if _under_way.get() is self or where not in {device for _, device in self.kernels}:
            return self.before["forward"](xp, *args, **kwargs)
        token = _under_way.set(self)
        try:
            with Changed({"grad_enabled": False}):
                steps = self.answering(where, self.kernels)
                answer = call_in_steps(self.op, _as_tensors(given), steps)
        finally:
            _under_way.reset(token)
        if not isinstance(answer, Tensor):
            raise RuntimeError(
                f"the kernel of aten::{self.op.name} returned a {type(answer).__name__}, not a "
                "Tensor"
            )
        return answer.concrete_array()

    def answering(
        self, where: str, kernels: dict[tuple[str, str], Any]
    ) -> Callable[[Any, Any, Any], Any]:
        """What answers the steps on a kind of device."""

        def answered(function: Any, args: Any, kwargs: Any) -> Any:
            name = function.name().removeprefix("aten::")
            kernel = kernels.get((name, where)) or kernels.get((name, ""), function)
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
    if key not in _DEVICES and key not in _ABOVE:
        raise NotImplementedError(
            f"impl('aten::{name}', ..., {key!r}): aten's operations have kernels of devices, "
            f"{', '.join(_DEVICES)}, and in place of their record, {', '.join(_ABOVE)}"
        )
    if aten_forms.form(plain, overload or "default") is None:
        raise RuntimeError(f"impl('aten::{name}', ...): there is no such overload")
    above = key in _ABOVE
    place = (name.removesuffix(".default"), _ABOVE[key] if above else _DEVICES[key])
    if op.name not in _replaced:
        _replaced[op.name] = _Replaced(op)
    replaced = _replaced[op.name]
    known = replaced.recording if above else replaced.kernels
    earlier = known.get(place)
    known[place] = kernel
    replaced.choose()

    def undo() -> None:
        if earlier is not None:
            known[place] = earlier
        else:
            known.pop(place, None)
        if _replaced.get(op.name) is not replaced:
            return
        replaced.choose()
        if not replaced.kernels and not replaced.recording:
            del _replaced[op.name]
            replaced.restore()

    return undo


def found(name: str, key: str) -> Any:
    """What answers an overload for a key below autograd: a program's kernel, or the operation."""
    plain, _, overload = name.partition(".")
    try:
        operation = getattr(getattr(ops.__getattr__("aten"), plain), overload or "default")
    except AttributeError:
        raise RuntimeError(
            f"get_kernel('aten::{name}', ...): the operator does not exist"
        ) from None
    op = operation_of(operation)
    replaced = _replaced.get(getattr(op, "name", ""))
    if replaced is None or key not in _DEVICES:
        return operation
    return replaced.kernels.get((name.removesuffix(".default"), _DEVICES[key]), operation)


def passed_over(name: str, key: str) -> Callable[[], None]:
    """Have autocast leave the arguments of an operation alone; what takes it back is returned."""
    plain = name.partition(".")[0]
    op = operation_of(getattr(ops.__getattr__("aten"), plain))
    own = getattr(op, "name", "")
    declared = DECLARED.get(own)
    device = _AUTOCAST.get(key)
    if device is None:
        raise NotImplementedError(
            f"impl('aten::{name}', fallthrough_kernel, {key!r}): aten's operations do without "
            f"autocast's keys alone ({', '.join(_AUTOCAST)}); their other kernels are their own"
        )
    if plain in COMPOSITES:
        return _left_alone(COMPOSITES[plain], device)
    if declared is None or own != plain:
        raise NotImplementedError(
            f"impl('aten::{name}', fallthrough_kernel, {key!r}): it is made by {own or 'others'} "
            "here, which others need as it is; call it under autocast(enabled=False)"
        )
    before = declared.autocast
    declared.autocast = None

    def undo() -> None:
        declared.autocast = before

    return undo


def _left_alone(function: Any, device: str) -> Callable[[], None]:
    """The same of a function of several operations, which autocast would see one by one."""
    upper.composed = composed
    WITHOUT_AUTOCAST.setdefault(function, set()).add(device)

    def undo() -> None:
        WITHOUT_AUTOCAST.get(function, set()).discard(device)

    return undo
