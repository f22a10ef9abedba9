"""autocast: inside, matrix products run in a narrower type, and delicate ops in float32.

A watcher of the calling context (`call.context`) casts the arguments of the ops whose declaration
says `autocast=`; casts are recorded, so that gradients arrive in the type of the tensor they belong
to. A function made of several ops casts its arguments first, if its declaration says so, as losses
do; mv is a product like any other.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from adjoint import dtypes
from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.backends import is_available
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Scope, Settings, change, current, replaced
from adjoint.device import device
from adjoint.dtypes import dtype as Dtype  # noqa: N812  # autocast's own parameter is called dtype
from adjoint.ops.declaration import DECLARED
from adjoint.tensors.tensor import Tensor

# The narrow type of each kind of device.
_DEFAULTS = {
    "cpu": dtypes.bfloat16 or dtypes.float16,
    "cuda": dtypes.float16,
    "xla": dtypes.bfloat16 or dtypes.float16,
}
_ALLOWED = {dtypes.bfloat16, dtypes.float16}
# PyTorch's kinds of which there is none here: programs ask about each whether autocast is on.
_ABSENT = {"hpu", "ipu", "maia", "mps", "mtia", "privateuseone", "xpu"}


class _Caster:
    """The watcher: casts arguments of tensors on one kind of device, then makes the call."""

    of_region = True  # what is computed again under a checkpoint must be cast again

    def __init__(self, device_type: str, narrow: Dtype, enabled: bool = True) -> None:
        self.device_type = device_type
        self.narrow = narrow
        self.enabled = enabled  # if not, it only remembers the type, until autocast is on

    def __call__(self, op: Any, values: list[Any]) -> Any:
        """See call.context.Settings.watchers."""
        if not self.enabled:
            return op.run(values)
        asked = getattr(op, "autocast_types", {}).get(self.device_type)  # of a custom op
        if isinstance(asked, Dtype):
            return op.run([self.cast(value, asked) for value in values])
        if asked is not None:
            return op.called(asked, values)
        declared = DECLARED.get(op.name)
        kind = None if declared is None else declared.autocast
        target = None if kind is None else self.target(kind, values)
        if target is None:
            return op.run(values)
        cast = [self.cast(value, target) for value in values]
        result = op.run(cast)
        if kind == "narrow" and all(tensor.dtype is target for tensor in tensors_in(cast)):
            return result.to(target)  # NumPy widens products of types that it does not know
        return result

    def target(self, kind: str, values: list[Any]) -> Dtype | None:
        """The type that the arguments of a kind of op are cast to; None if they stay."""
        if kind == "narrow":  # products
            return self.narrow
        if kind == "float32":  # sums of many terms, losses and decompositions
            return dtypes.float32
        kinds = [tensor.dtype for tensor in tensors_in(values) if self.casts(tensor)]
        return functools.reduce(dtypes.promote_types, kinds) if kinds else None

    def cast_all(self, kind: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of a function of several ops as its declaration says they are cast."""
        target = self.target(kind, [*args, *kwargs.values()]) if self.enabled else None
        if target is None:
            return args, kwargs
        named = {name: self.cast(value, target) for name, value in kwargs.items()}
        return self.cast(args, target), named

    def casts(self, tensor: Tensor) -> bool:
        """Whether a tensor takes part: float64 and integers never do."""
        kind = tensor.dtype
        return (
            kind.is_floating_point
            and kind is not dtypes.float64
            and tensor.device.type == self.device_type
        )

    def cast(self, value: Any, target: Dtype) -> Any:
        """An argument in the type, through lists."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.cast(element, target) for element in value)
        if isinstance(value, Tensor) and self.casts(value):
            tensor: Any = value
            return tensor.to(target)
        return value


def _caster(device_type: str) -> _Caster | None:
    """Who casts in the calling context."""
    for watcher in current().watchers:
        if isinstance(watcher, _Caster) and watcher.device_type == device_type:
            return watcher
    return None


def _others(device_type: str) -> tuple[Any, ...]:
    """The watchers of the calling context without that one."""
    caster = _caster(device_type)
    return tuple(watcher for watcher in current().watchers if watcher is not caster)


def _kind_of(device_type: str) -> str:
    """The kind that a device, as "cuda:0", is of."""
    kind = device_type if device_type in _DEFAULTS else device(device_type).type
    if kind not in _DEFAULTS:
        known = ", ".join(_DEFAULTS)
        raise RuntimeError(f"autocast: unsupported device type {device_type!r}; use {known}")
    return kind


class autocast(ContextDecorator, Scope):
    """Inside, products of tensors on a kind of device run in a narrower type."""

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            name = type(device_type).__name__
            raise ValueError(f"autocast: device_type must be a str, as 'cpu', got a {name}")
        self.device = device_type = _kind_of(device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if enabled and self.fast_dtype not in _ALLOWED:
            what = f"{self.fast_dtype.name} is no narrow type; it is disabled"
            warnings.warn(f"autocast: {what}, use bfloat16 or float16", stacklevel=2)
            enabled = False
        if enabled and not is_available(device(device_type)):
            what = f"there is no {device_type} device; autocast for it is disabled"
            warnings.warn(f"autocast: {what}", stacklevel=2)
            enabled = False
        self._enabled = enabled

    def __call__(self, func: Any) -> Any:
        """See ContextDecorator."""
        if not callable(func):
            raise TypeError(
                f"autocast decorates functions, got a {type(func).__name__}; write "
                "`with autocast(...):` around what shall run inside"
            )
        return super().__call__(func)

    def clone(self) -> Any:
        """See ContextDecorator."""
        return autocast(self.device, self.fast_dtype, self._enabled)

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("watchers",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        casters = (_Caster(self.device, self.fast_dtype),) if self._enabled else ()
        return replaced(outer, {"watchers": (*_others(self.device), *casters)})


# ---- asking and setting ----


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether products on a kind of device run in a narrower type here."""
    caster = None if device_type in _ABSENT else _caster(_kind_of(device_type))
    return caster is not None and caster.enabled


def get_autocast_dtype(device_type: str) -> Dtype:
    """The narrow type that is, or would be, in use on a kind of device."""
    kind = _kind_of(device_type)
    caster = _caster(kind)
    return _DEFAULTS[kind] if caster is None else caster.narrow


def set_autocast(device_type: str, narrow: Dtype, enabled: bool) -> None:
    """Set what holds for a kind of device in the calling context, until the block around ends."""
    kind = _kind_of(device_type)
    told = enabled or narrow is not _DEFAULTS[kind]
    casters = (_Caster(kind, narrow, enabled),) if told else ()
    change(watchers=(*_others(kind), *casters))


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows a kind of device."""
    return device(device_type).type in _DEFAULTS


def is_autocast_cache_enabled() -> bool:
    """Whether casts are kept for the next op: no, each op casts anew."""
    return False


def clear_autocast_cache() -> None:
    """Nothing to clear."""


# ---- functions with forward and backward of their own ----


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None
) -> Any:
    """Decorates a Function's forward: it runs under the autocast of its call, or in a given type.

    With `cast_inputs`, tensors are cast to that type first and autocast is off inside.
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        caster = _caster(device_type)
        ctx.autocast_dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx.autocast_used = on and cast_inputs is None
        if caster is None or not on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            cast = [caster.cast(value, cast_inputs) for value in args]
            named = {name: caster.cast(value, cast_inputs) for name, value in kwargs.items()}
            return fwd(*cast, **named)

    return forward


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Any:
    """Decorates a Function's backward: it runs under the autocast its forward ran under."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type, ctx.autocast_dtype, enabled=ctx.autocast_used):
            return bwd(*args, **kwargs)

    return backward
