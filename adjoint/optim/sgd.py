"""Gradient descent, plain or with momentum, and its averaged form."""

from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.call.context import current
from adjoint.ops.elementwise.arithmetic import sub
from adjoint.ops.sparse.layers import Coordinates, coordinates, sparse_of, sparse_tensor
from adjoint.optim.descent import descend
from adjoint.optim.elementwise import ElementwiseOptimizer, penalty
from adjoint.optim.optimizer import Group, Params, check_fused, check_non_negative
from adjoint.optim.plans import State, check_writable
from adjoint.optim.writes import Writes
from adjoint.tensors.tensor import Tensor

MANY = 16  # from here on a step over joined parameters is quicker


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent; with momentum, each step keeps a part of the one before."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_non_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def counts(self, group: Group) -> dict[str, Any]:
        return {}

    def arrays(self, group: Group) -> State:
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        return {
            "lr": self.value(group, group["lr"]),
            "weight_decay": self.value(group, group["weight_decay"]),
            "momentum": group["momentum"],
            "part": 1 if fresh else 1 - group["dampening"],  # the first gradient counts in full
            "nesterov": group["nesterov"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        lr: Any,
        weight_decay: Any,
        momentum: float,
        part: float,
        nesterov: bool,
    ) -> Any:
        """param - lr * direction, the direction being grad or the buffer of all gradients."""
        if weight_decay != 0:
            grad = grad + penalty(param, weight_decay)
        if momentum != 0:
            buffer = state["momentum_buffer"]
            buffer *= momentum
            buffer += grad if part == 1 else grad * part
            state["momentum_buffer"] = buffer
            grad = grad + buffer * momentum if nesterov else buffer
        param -= grad * lr
        return param

    def step_sparse(self, param: Any, grad: Coordinates, group: Group, writes: Writes) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError(
                "weight_decay changes all elements, and a sparse gradient has some: use one or the "
                "other"
            )
        if group["momentum"] == 0:
            self.step_rows(param, grad, group, writes)
            return
        array = param.current_array()
        check_writable([array])
        direction = self._direction(param, grad, group, writes)
        if current().modes:
            with no_grad():
                moved = sub(param, direction, alpha=float(group["lr"]))
            writes.late.append((param, moved, False))
            return
        layer = sparse_of(direction)
        index: Any = ...
        rows = direction.array
        if layer is not None:
            whole = coordinates(layer).joined()
            index, rows = tuple(whole.indices()), whole.elements.array
        writes.put(array, index, array[index] - rows * float(group["lr"]))
        writes.changed.append(param)

    def _direction(self, param: Any, grad: Coordinates, group: Group, writes: Writes) -> Any:
        """Where a sparse gradient and the buffer lead; that is sparse if it starts so."""
        momentum, home = group["momentum"], self.state.get(param)
        before = None if home is None else home.get("momentum_buffer")
        with no_grad():
            given: Any = sparse_tensor(grad)
            given = -given if group["maximize"] else given
            if before is None:
                buffer = given.clone()
            else:
                buffer = before * momentum + given * (1 - group["dampening"])
            if sparse_of(buffer) is not None:
                buffer = buffer.coalesce()
            direction = buffer * momentum + given if group["nesterov"] else buffer
        if home is None:
            home = {}
            writes.calls.append((self.state.update, {param: home}))
        writes.put(home, "momentum_buffer", buffer)
        return direction

    def shortcut(self, params: list[Any], group: Group, writes: Writes) -> list[Any]:
        if group["momentum"] != 0 or group["weight_decay"] != 0 or len(params) > MANY:
            return params
        lr = group["lr"]
        factor = float(lr) if group["maximize"] else -float(lr)
        return descend(params, factor, writes)


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent: `ax` in the state is the mean of recent parameters."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_non_negative(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def counts(self, group: Group) -> dict[str, Any]:
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}

    def arrays(self, group: Group) -> State:
        return {"ax": 0.0}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        eta, mu = counters["eta"], counters["mu"]
        step = counters["step"] = counters["step"] + 1
        lr = self.value(group, group["lr"])
        next_eta = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        counters["eta"] = next_eta.detach().array if isinstance(next_eta, Tensor) else next_eta
        beyond = step - group["t0"]
        counters["mu"] = 1 / (max(1, beyond) if isinstance(step, float) else xp.maximum(beyond, 1))
        return {
            "eta": eta,
            "mu": mu,
            "keep": 1 - mu,
            "decay": 1 - group["lambd"] * eta,
            "weight_decay": group["weight_decay"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        eta: Any,
        mu: Any,
        keep: Any,
        decay: Any,
        weight_decay: float,
    ) -> Any:
        """A decaying step, and the mean of where it led."""
        if weight_decay != 0:
            grad = grad + penalty(param, weight_decay)
        param *= decay
        param -= grad * eta
        mean = state["ax"]
        mean *= keep
        mean += param * mu
        state["ax"] = mean
        return param
