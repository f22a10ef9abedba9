"""GradScaler: losses scaled up so that gradients in half precision do not vanish."""

import warnings
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.backends import is_available
from adjoint.call.context import current
from adjoint.creation.factories import tensor
from adjoint.device import device as as_device
from adjoint.ops.sparse.layers import sparse_of
from adjoint.optim.programs import Spare
from adjoint.optim.writes import Writes
from adjoint.pytree import tree_map
from adjoint.tensors.core import F32, F64, backend_of
from adjoint.tensors.tensor import Tensor


def _grads(optimizer: Any) -> list[Any]:
    """The gradients that an optimizer's next step would use."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


class GradScaler:
    """Scales losses, divides gradients by the scale, and skips steps in which they overflowed."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and growth_factor <= 1.0:
            raise ValueError(f"GradScaler: growth_factor must be above 1, not {growth_factor}")
        if enabled and backoff_factor >= 1.0:
            raise ValueError(f"GradScaler: backoff_factor must be below 1, not {backoff_factor}")
        if enabled and device == "cuda" and not is_available(as_device("cuda")):
            warnings.warn("GradScaler: there is no GPU; it is disabled", stacklevel=2)
            enabled = False
        self._device = device
        self._enabled = enabled
        self._scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        self._overflowed: dict[Any, bool] = {}  # by optimizer; whose gradients are unscaled

    def scale(self, outputs: Any) -> Any:
        """Losses times the scale; through tuples, lists and dicts."""
        if not self._enabled:
            return outputs
        return tree_map(
            lambda value: self._scaled(value) if isinstance(value, Tensor) else value, outputs
        )

    def _scaled(self, value: Tensor) -> Any:
        tracing = current().tracing
        if tracing is None:
            return value * self._scale
        return value * tracing.read(self.get_scale).to(value.dtype)  # of each call, not of this one

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale."""
        if not self._enabled:
            return
        if optimizer in self._overflowed:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()"
            )
        tracing = current().tracing
        if tracing is not None:
            tracing.unscale(self, optimizer, _grads(optimizer))
            return
        factor = 1.0 / self._scale
        writes = Writes(Spare())
        overflowed = False
        with no_grad():
            for grad in _grads(optimizer):
                scaled = grad * factor
                known = scaled if sparse_of(scaled) is None else scaled.coalesce().values()
                overflowed = overflowed or not bool(known.isfinite().all())
                if grad.special or not backend_of(grad.array).mutable:
                    writes.late.append((grad, scaled, False))
                    continue
                writes.changed.append(grad)
                if scaled.array.dtype in (F32, F64):  # so that not all of them are kept at a time
                    multiply = backend_of(grad.array).xp.multiply
                    writes.calls.append((multiply, grad.array, factor, grad.array))
                else:
                    writes.put(grad.array, ..., scaled.array)
        # From a dict: the optimizer is then not asked for its hash between other writes.
        writes.calls.append((self._overflowed.update, {optimizer: overflowed}))
        writes.run()

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Take an optimizer's step, unless a gradient overflowed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if not _grads(optimizer):
            raise AssertionError("GradScaler.step: none of the optimizer's parameters has a .grad")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_of(optimizer, args, kwargs)
        if optimizer not in self._overflowed:
            self.unscale_(optimizer)
        tracing = current().tracing
        if tracing is not None:
            tracing.step_scaled(self, optimizer, args, kwargs)
            return None
        return None if self._overflowed[optimizer] else optimizer.step(*args, **kwargs)

    def _step_of(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """The step of an optimizer that divides by the scale, and looks for overflows, itself."""
        scale = None if optimizer in self._overflowed else tensor(self._scale)
        if scale is not None:
            finite = [bool(grad.isfinite().all()) for grad in _grads(optimizer)]
            self._overflowed[optimizer] = not all(finite)
        optimizer.grad_scale = scale
        optimizer.found_inf = tensor(float(self._overflowed[optimizer]))
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: Any = None) -> None:
        """Lower the scale if a gradient overflowed, raise it if none has for a while."""
        if not self._enabled:
            return
        if not self._overflowed and new_scale is None:
            raise AssertionError("update(): no gradients were unscaled since the last update()")
        tracing = current().tracing
        if tracing is not None:
            tracing.update_scale(self, new_scale)
            return
        scale, tracker = self._scale, self._growth_tracker
        if new_scale is not None:
            scale = float(new_scale)
        elif any(self._overflowed.values()):
            scale *= self._backoff_factor
            tracker = 0
        else:
            tracker += 1
            if tracker == self._growth_interval:
                scale *= self._growth_factor
                tracker = 0
        vars(self).update(_scale=scale, _growth_tracker=tracker, _overflowed={})  # all at once

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """What losses are multiplied by."""
        return float(self._scale) if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when no gradient has overflowed for a while."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Let the scale grow by another factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by when a gradient has overflowed."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Let the scale shrink by another factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps without an overflow let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Let the scale grow after another number of steps."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it changes."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue with the scale of another."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("GradScaler: the state is empty, of a scaler that was disabled")
        for name, value in state_dict.items():
            setattr(self, name if name.startswith("_") else f"_{name}", value)
