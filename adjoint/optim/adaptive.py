"""Optimizers with a rate for each element: Adagrad, Adadelta, RMSprop, Rprop."""

from typing import Any

from adjoint.nn.parameter import is_lazy
from adjoint.ops.sparse.layers import Coordinates
from adjoint.optim.adam import decayed, mixed
from adjoint.optim.elementwise import ElementwiseOptimizer, refuse_lost
from adjoint.optim.optimizer import Group, Params, check_fused, check_non_negative
from adjoint.optim.plans import State
from adjoint.optim.writes import Writes
from adjoint.tensors.tensor import Tensor


class Adagrad(ElementwiseOptimizer):
    """Steps over the root of the sum of all squared gradients so far."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_non_negative(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        writes = Writes(self._spare)
        for group in self.param_groups:
            for param in group["params"]:
                if is_lazy(param):  # its sums are made here, and must have its shape
                    raise ValueError(
                        "Adagrad: a parameter is uninitialized, so that its shape is not known; "
                        "run the module's forward once before"
                    )
                self._prepared(param, group, writes)
        writes.run()

    def step_sparse(self, param: Any, grad: Coordinates, group: Group, writes: Writes) -> None:
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        self.step_rows(param, grad, group, writes)

    def arrays(self, group: Group) -> State:
        first = self.defaults["initial_accumulator_value"]
        refuse_lost("initial_accumulator_value", first)
        return {"sum": first}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        step = counters["step"] = counters["step"] + 1
        return {
            "weight_decay": group["weight_decay"],
            "step_size": self.value(group, group["lr"]) / (1 + (step - 1) * group["lr_decay"]),
            "eps": group["eps"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        weight_decay: float,
        step_size: Any,
        eps: float,
    ) -> Any:
        """A step over the root of the sum of squares."""
        param, grad = decayed(param, grad, None, weight_decay)
        total = state["sum"]
        total += grad * grad
        state["sum"] = total
        param -= grad / (xp.sqrt(total) + eps) * step_size
        return param


class Adadelta(ElementwiseOptimizer):
    """Steps as large as those before, in proportion to the gradients before."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}; it must be in [0, 1]")
        check_non_negative(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def arrays(self, group: Group) -> State:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        counters["step"] += 1
        return {
            "weight_decay": group["weight_decay"],
            "lr": self.value(group, group["lr"]),
            "rho": group["rho"],
            "rest": 1 - group["rho"],
            "eps": group["eps"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        weight_decay: float,
        lr: Any,
        rho: float,
        rest: float,
        eps: float,
    ) -> Any:
        """A step in units of the steps before."""
        param, grad = decayed(param, grad, None, weight_decay)
        square = state["square_avg"] = mixed(state["square_avg"], grad * grad, rho, rest)
        steps = state["acc_delta"]
        delta = xp.sqrt(steps + eps) / xp.sqrt(square + eps) * grad
        state["acc_delta"] = mixed(steps, delta * delta, rho, rest)
        param -= delta * lr
        return param


class RMSprop(ElementwiseOptimizer):
    """Steps over the root of the mean square, or of the variance if it is `centered`."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(
            lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha
        )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def arrays(self, group: Group) -> State:
        names: State = {"square_avg": 0.0}
        if group["momentum"] > 0:
            names["momentum_buffer"] = 0.0
        if group["centered"]:
            names["grad_avg"] = 0.0
        return names

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        counters["step"] += 1
        return {
            "weight_decay": group["weight_decay"],
            "lr": self.value(group, group["lr"]),
            "alpha": group["alpha"],
            "rest": 1 - group["alpha"],
            "momentum": group["momentum"],
            "centered": group["centered"],
            "eps": group["eps"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        weight_decay: float,
        lr: Any,
        alpha: float,
        rest: float,
        momentum: float,
        centered: bool,
        eps: float,
    ) -> Any:
        """A step along the gradient, or its momentum, over the root of the mean square."""
        param, grad = decayed(param, grad, None, weight_decay)
        square = state["square_avg"] = mixed(state["square_avg"], grad * grad, alpha, rest)
        if centered:
            mean = state["grad_avg"] = mixed(state["grad_avg"], grad, alpha, rest)
            square = square - mean * mean
        direction = grad / (xp.sqrt(square) + eps)
        if momentum > 0:
            buffer = state["momentum_buffer"]
            buffer *= momentum
            buffer += direction
            direction = state["momentum_buffer"] = buffer
        param -= direction * lr
        return param


class Rprop(ElementwiseOptimizer):
    """Steps whose size grows while the gradient keeps its sign, and shrinks when it turns."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}; wanted 0 < one < 1 < two")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def arrays(self, group: Group) -> State:
        refuse_lost("lr", group["lr"])
        return {"prev": 0.0, "step_size": float(group["lr"])}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        counters["step"] += 1
        shrink, grow = group["etas"]
        least, most = group["step_sizes"]
        return {"shrink": shrink, "grow": grow, "least": least, "most": most}

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        shrink: float,
        grow: float,
        least: float,
        most: float,
    ) -> Any:
        """A step against the gradient's sign; where it has just turned, none."""
        turned = xp.sign(grad * state["prev"])
        factor = xp.where(turned > 0, turned * grow, xp.where(turned < 0, -turned * shrink, 1.0))
        size = state["step_size"] = xp.clip(state["step_size"] * factor, least, most)
        grad = state["prev"] = xp.where(turned < 0, 0.0, grad)
        param -= xp.sign(grad) * size
        return param
