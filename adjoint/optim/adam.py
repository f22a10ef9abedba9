"""Adam and its kin: steps scaled by running means of gradients and of their squares."""

from typing import Any

from adjoint.ops.arranging.shape import reshape
from adjoint.optim.elementwise import ElementwiseOptimizer, choose, penalty
from adjoint.optim.optimizer import (
    Group,
    Params,
    check_betas,
    check_fused,
    check_non_negative,
)
from adjoint.optim.plans import State
from adjoint.tensors.tensor import Tensor


def mixed(mean: Any, value: Any, keep: Any, rest: Any) -> Any:
    """A running mean that keeps so much of what it was; the rest is new."""
    mean *= keep
    mean += value * rest
    return mean


def decayed(param: Any, grad: Any, shrink: Any, weight_decay: Any) -> tuple[Any, Any]:
    """Weight decay: of the parameter itself where `shrink` is given, else through its gradient."""
    if shrink is not None:
        param *= shrink
    elif weight_decay != 0:
        grad = grad + penalty(param, weight_decay)
    return param, grad


class _Moments(ElementwiseOptimizer):
    """What the family shares: two running means, and how weights decay."""

    def arrays(self, group: Group) -> State:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def decay(self, group: Group, lr: Any) -> dict[str, Any]:
        """The arguments of `decayed` for this step."""
        rate = self.value(group, group["weight_decay"])
        apart = group["decoupled_weight_decay"] and rate != 0
        return {"shrink": 1 - lr * rate if apart else None, "weight_decay": rate}


class Adam(_Moments):
    """Adaptive moments; with decoupled_weight_decay it is AdamW."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_non_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        check_betas(betas)
        _check_tensors(lr, betas, foreach=bool(foreach and not capturable))
        scalars = (reshape(beta, ()) if isinstance(beta, Tensor) else beta for beta in betas)
        defaults = {
            "lr": lr,
            "betas": tuple(scalars),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def arrays(self, group: Group) -> State:
        names = super().arrays(group)
        return {**names, "max_exp_avg_sq": 0.0} if group["amsgrad"] else names

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        lr = self.value(group, group["lr"])
        beta1, beta2 = (self.value(group, beta) for beta in group["betas"])
        step = counters["step"] = counters["step"] + 1
        return {
            **self.decay(group, lr),
            "beta1": beta1,
            "rest1": 1 - beta1,
            "beta2": beta2,
            "rest2": 1 - beta2,
            "step_size": lr / (1 - beta1**step),
            "correction": (1 - beta2**step) ** 0.5,
            "eps": group["eps"],
            "amsgrad": group["amsgrad"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        shrink: Any,
        weight_decay: Any,
        beta1: Any,
        rest1: Any,
        beta2: Any,
        rest2: Any,
        step_size: Any,
        correction: Any,
        eps: float,
        amsgrad: bool,
    ) -> Any:
        """A step along the mean gradient, over the root of the mean square."""
        param, grad = decayed(param, grad, shrink, weight_decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], grad, beta1, rest1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], grad * grad, beta2, rest2)
        if amsgrad:
            square = state["max_exp_avg_sq"] = xp.maximum(state["max_exp_avg_sq"], square)
        param -= mean / (xp.sqrt(square) / correction + eps) * step_size
        return param


def _check_tensors(lr: Any, betas: Any, foreach: bool) -> None:
    """Refuse tensors as settings where PyTorch's foreach can't use them, and mixtures."""
    if isinstance(lr, Tensor) and foreach:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
    kinds = {isinstance(beta, Tensor) for beta in betas}
    if len(kinds) != 1 or not all(isinstance(beta, float | Tensor) for beta in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    for index, beta in enumerate(betas):
        if isinstance(beta, Tensor) and foreach:
            raise ValueError(
                f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if isinstance(beta, Tensor) and beta.array.size != 1:
            raise ValueError(f"Tensor betas[{index}] must be 1-element")


class AdamW(Adam):
    """Adam whose weights decay by themselves, apart from the gradient."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True  # whatever the loaded state says


class NAdam(_Moments):
    """Adam with Nesterov's momentum."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(lr=lr, eps=eps)
        check_betas(betas)
        check_non_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def counts(self, group: Group) -> dict[str, Any]:
        return {"step": 0.0, "mu_product": 1.0}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        lr = self.value(group, group["lr"])
        beta1, beta2 = group["betas"]
        step = counters["step"] = counters["step"] + 1

        def momentum(at: Any) -> Any:
            return beta1 * (1.0 - 0.5 * 0.96 ** (at * group["momentum_decay"]))

        mu, mu_next = momentum(step), momentum(step + 1)
        counters.scale("mu_product", mu)
        product = counters["mu_product"]
        return {
            **self.decay(group, lr),
            "beta1": beta1,
            "rest1": 1 - beta1,
            "beta2": beta2,
            "rest2": 1 - beta2,
            "grad_size": lr * (1.0 - mu) / (1.0 - product),
            "mean_size": lr * mu_next / (1.0 - product * mu_next),
            "correction": 1 - beta2**step,
            "eps": group["eps"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        shrink: Any,
        weight_decay: Any,
        beta1: Any,
        rest1: Any,
        beta2: Any,
        rest2: Any,
        grad_size: Any,
        mean_size: Any,
        correction: Any,
        eps: float,
    ) -> Any:
        """A step along the gradient and the mean that it leads to."""
        param, grad = decayed(param, grad, shrink, weight_decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], grad, beta1, rest1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], grad * grad, beta2, rest2)
        param -= (grad * grad_size + mean * mean_size) / (xp.sqrt(square / correction) + eps)
        return param


class RAdam(_Moments):
    """Adam that waits with scaling until the mean of squares can be relied on."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_non_negative(lr=lr, eps=eps)
        check_betas(betas)
        check_non_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        lr = self.value(group, group["lr"])
        beta1, beta2 = group["betas"]
        step = counters["step"] = counters["step"] + 1
        correction = 1 - beta2**step
        longest = 2 / (1 - beta2) - 1
        reliable, scale = False, 1.0
        if longest > 5.0:
            length = longest - 2 * step * beta2**step / correction
            reliable = length > 5.0
            used = choose(xp, reliable, length, 5.0)  # shorter ones give no real root
            rectified = (used - 4) * (used - 2) * longest / ((longest - 4) * (longest - 2) * used)
            scale = (rectified * correction) ** 0.5
        return {
            **self.decay(group, lr),
            "beta1": beta1,
            "rest1": 1 - beta1,
            "beta2": beta2,
            "rest2": 1 - beta2,
            "step_size": lr / (1 - beta1**step),
            "reliable": reliable,
            "scale": scale,
            "eps": group["eps"],
        }

    @staticmethod
    def update(
        xp: Any,
        param: Any,
        grad: Any,
        state: State,
        *,
        shrink: Any,
        weight_decay: Any,
        beta1: Any,
        rest1: Any,
        beta2: Any,
        rest2: Any,
        step_size: Any,
        reliable: Any,
        scale: Any,
        eps: float,
    ) -> Any:
        """A step along the mean gradient, scaled once the mean square is reliable."""
        param, grad = decayed(param, grad, shrink, weight_decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], grad, beta1, rest1)
        square = state["exp_avg_sq"] = mixed(state["exp_avg_sq"], grad * grad, beta2, rest2)
        param -= mean * step_size * choose(xp, reliable, scale / (xp.sqrt(square) + eps), 1.0)
        return param


class Adamax(ElementwiseOptimizer):
    """Adam with the greatest gradient in place of the mean square."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_non_negative(lr=lr, eps=eps)
        check_betas(betas)
        check_non_negative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def arrays(self, group: Group) -> State:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        beta1, beta2 = group["betas"]
        step = counters["step"] = counters["step"] + 1
        return {
            "weight_decay": group["weight_decay"],
            "beta1": beta1,
            "rest1": 1 - beta1,
            "beta2": beta2,
            "step_size": self.value(group, group["lr"]) / (1 - beta1**step),
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
        beta1: float,
        rest1: float,
        beta2: float,
        step_size: Any,
        eps: float,
    ) -> Any:
        """A step along the mean gradient, over the greatest one in memory."""
        param, grad = decayed(param, grad, None, weight_decay)
        mean = state["exp_avg"] = mixed(state["exp_avg"], grad, beta1, rest1)
        peak = state["exp_inf"] = xp.maximum(state["exp_inf"] * beta2, xp.abs(grad) + eps)
        param -= mean / peak * step_size
        return param
