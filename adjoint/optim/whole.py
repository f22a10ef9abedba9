"""Optimizers that look at a parameter as a whole: as a matrix, or by its rows and columns."""

import math
from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.call.context import current
from adjoint.creation.factories import tensor, zeros_like
from adjoint.dtypes import COMPLEX, bfloat16, category_of, float64
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import t
from adjoint.ops.elementwise.arithmetic import lerp
from adjoint.ops.elementwise.powers import rsqrt, square
from adjoint.ops.elementwise.selection import clamp, minimum
from adjoint.ops.matrices.added_products import addmm
from adjoint.ops.matrices.matmul import matmul
from adjoint.ops.reducing.reduction import mean
from adjoint.optim.optimizer import (
    Closure,
    Group,
    Optimizer,
    Params,
    check_non_negative,
    evaluated,
    scalar_dtype,
)
from adjoint.optim.programs import Spare
from adjoint.optim.wrapped import with_gradients
from adjoint.optim.writes import Writes
from adjoint.tensors.concrete import has_values
from adjoint.tensors.tensor import Tensor

State = dict[str, Any]


class WholeOptimizer(Optimizer):
    """An optimizer whose rule is a function of one parameter, its gradient and its state."""

    def changed(
        self, param: Any, grad: Any, state: State, group: Group, rate: Any
    ) -> tuple[Any, State]:
        """The parameter and its state after one step, both new; for subclasses to define.

        The learning rate is a number, or in what is compiled a tensor, as all that comes of it.
        """
        raise NotImplementedError

    def shapes(self, param: Any) -> dict[str, tuple[int, ...]]:
        """The parts of a parameter's state, and their shapes; for subclasses to define."""
        raise NotImplementedError

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters once; closure, if given, computes the loss and its gradients.

        It changes all of them and their state, or, if it fails or is interrupted, none.
        """
        loss = evaluated(closure)
        reached: dict[int, tuple[Any, Any, State]] = {}  # a parameter may be listed twice
        with no_grad():
            for number, group in enumerate(self.param_groups):
                params = with_gradients(group["params"])
                rate = self._rate(number, params)
                for param in params:
                    self._check(param)
                    known = reached.get(id(param), (param, param, self.state.get(param, {})))
                    new = self.changed(known[1], param.grad, known[2], group, rate)
                    reached[id(param)] = (param, *new)
            writes = Writes(Spare())
            for param, value, state in reached.values():
                self._write(param, value, state, writes)
        writes.run()
        return loss

    def _rate(self, number: int, params: list[Any]) -> Any:
        """The learning rate of a group."""
        tracing = current().tracing
        if tracing is not None:
            return tracing.rate(self, number, params)
        return float(self.param_groups[number]["lr"])

    def _check(self, param: Any) -> None:
        if category_of(param.array.dtype) == COMPLEX:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")

    def _write(self, param: Any, value: Any, state: State, writes: Writes) -> None:
        """Have a parameter and its state changed; tensors that are there stay the same ones."""
        writes.late.append((param, value, False))
        home = self.state.get(param)
        if home is None:
            writes.calls.append((self.state.update, {param: state}))
            return
        for name, part in state.items():
            if isinstance(home.get(name), Tensor):
                writes.late.append((home[name], part, False))
            else:
                writes.put(home, name, part)

    def check_state(self) -> None:
        """See Optimizer."""
        for group in self.param_groups:
            for param in group["params"]:
                own = self.state.get(param, {})
                for name, shape in self.shapes(param).items():
                    value = own.get(name)
                    if own and (not isinstance(value, Tensor) or tuple(value.shape) != shape):
                        raise ValueError(
                            f"load_state_dict: '{name}' of a parameter's state must be a Tensor of "
                            f"shape {list(shape)}"
                        )


# ---- orthogonal steps ----

_ADJUSTMENTS = (None, "original", "match_rms_adamw")
_TOO_MANY = 100


def _adjusted(lr: Any, adjustment: str | None, shape: Any) -> Any:
    """The learning rate of a matrix, so that large and small ones move alike."""
    rows, columns = shape
    if adjustment == "match_rms_adamw":
        return lr * 0.2 * math.sqrt(max(rows, columns))
    return lr * math.sqrt(max(1, rows / columns))


def _orthogonal(matrix: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """Nearly the orthogonal matrix nearest to a matrix, in bfloat16, by Newton and Schulz."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.to(bfloat16)
    found = t(found) if tall else found
    found = found / clamp(found.norm(), min=eps)
    for _ in range(steps):
        gram = matmul(found, t(found))
        found = addmm(found, addmm(gram, gram, gram, beta=b, alpha=c), found, beta=a)
    return t(found) if tall else found


class Muon(WholeOptimizer):
    """Momentum made orthogonal: each step of a matrix moves all directions about as far."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_non_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported: it must be one of "
                f"{_ADJUSTMENTS}"
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{list(param.shape)}; give others to another optimizer"
                    )

    def shapes(self, param: Any) -> dict[str, tuple[int, ...]]:
        """See WholeOptimizer."""
        return {"momentum_buffer": tuple(param.shape)}

    def changed(
        self, param: Any, grad: Any, state: State, group: Group, rate: Any
    ) -> tuple[Any, State]:
        """See WholeOptimizer."""
        if group["ns_steps"] >= _TOO_MANY:
            raise ValueError(
                f"Muon: the number of steps must be less than {_TOO_MANY}, got {group['ns_steps']}"
            )
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Muon: ns_coefficients must be exactly 3 values")
        momentum = group["momentum"]
        buffer = state.get("momentum_buffer")
        buffer = lerp(zeros_like(grad) if buffer is None else buffer, grad, 1 - momentum)
        along = lerp(grad, buffer, momentum) if group["nesterov"] else buffer
        rest = (group["ns_coefficients"], group["ns_steps"], group["eps"])
        turned = _orthogonal(along, *rest).to(param.dtype)
        factor = _adjusted(rate, group["adjust_lr_fn"], param.shape)
        value = param * (1 - rate * group["weight_decay"]) - turned * factor
        return value, {"momentum_buffer": buffer}


# ---- variances by rows and columns ----


# Numbers that are known are Python's, and those of what is compiled are tensors.


def _root_mean_square(value: Any) -> Any:
    norm = value.norm()
    return (float(norm) if has_values(norm) else norm) / math.sqrt(max(value.numel(), 1))


def _at_least(least: float, value: Any) -> Any:
    return clamp(value, min=least) if isinstance(value, Tensor) else max(least, value)


def _smaller(one: Any, other: Any) -> Any:
    return minimum(one, other) if isinstance(other, Tensor) else min(one, other)


def _moved(before: Any, like: Any, dim: int | None, share: Any) -> Any:
    """A mean of squares, over a dimension if there is one, moved towards that of a gradient."""
    squares = square(like) if dim is None else mean(square(like), dim, True)
    share = share if isinstance(share, float) else share.to(squares.dtype)
    return lerp(zeros_like(squares) if before is None else before, squares, share)


class Adafactor(WholeOptimizer):
    """Steps by the variances of gradients, of matrices kept by rows and columns alone."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_non_negative(lr=lr, epsilon1=eps[0] or 0.0, epsilon2=eps[1])
        check_non_negative(weight_decay=weight_decay)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for own in self.state.values():
            if isinstance(own.get("step"), int | float):  # as old versions kept it
                own["step"] = tensor(float(own["step"]), dtype=scalar_dtype())

    def shapes(self, param: Any) -> dict[str, tuple[int, ...]]:
        """See WholeOptimizer."""
        shape = tuple(param.shape)
        if len(shape) < 2:
            return {"step": (), "variance": shape}
        return {"step": (), "row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}

    def changed(
        self, param: Any, grad: Any, state: State, group: Group, rate: Any
    ) -> tuple[Any, State]:
        """See WholeOptimizer."""
        grad = -grad if group["maximize"] else grad
        least, smallest_scale = group["eps"]
        least = finfo(param.dtype).eps if least is None else least
        if not state:
            step: Any = 1.0
        elif has_values(state["step"]):
            step = float(state["step"]) + 1
        else:
            step = state["step"].to(float64) + 1
        share = step ** group["beta2_decay"]
        scale = _at_least(smallest_scale, _root_mean_square(param)) * _smaller(rate, 1 / step**0.5)
        count = step if isinstance(step, Tensor) else tensor(step, dtype=scalar_dtype())
        new: State = {"step": count}
        if param.ndim < 2:
            estimate = new["variance"] = _moved(state.get("variance"), grad, None, share)
        else:
            rows = new["row_var"] = _moved(state.get("row_var"), grad, -1, share)
            columns = new["col_var"] = _moved(state.get("col_var"), grad, -2, share)
            estimate = matmul(rows, columns) / clamp(mean(rows, -2, True), min=least)
        update = rsqrt(clamp(estimate, min=least * least)) * grad
        factor = scale / _at_least(1.0, _root_mean_square(update) / group["d"])
        kept = 1 - rate * group["weight_decay"]
        return param * kept - update * factor, new
