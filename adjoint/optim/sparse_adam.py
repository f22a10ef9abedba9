"""Adam for sparse gradients: what they do not have stays as it is, the averages too."""

from typing import Any

from adjoint.backends import quiet
from adjoint.dtypes import COMPLEX, category_of
from adjoint.ops.sparse.layers import coordinates, layout_of, sparse_of
from adjoint.optim.optimizer import (
    Closure,
    Group,
    Optimizer,
    Params,
    check_betas,
    check_non_negative,
    evaluated,
)
from adjoint.optim.plans import check_writable
from adjoint.optim.programs import Spare
from adjoint.optim.wrapped import with_gradients
from adjoint.optim.writes import Writes
from adjoint.tensors.core import backend_of
from adjoint.tensors.tensor import AS_IS, Tensor


class SparseAdam(Optimizer):
    """Adam whose step changes those elements alone that a sparse gradient has."""

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_non_negative(lr=lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}; it must be positive")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}; it must be positive")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _check_param(self, param: Any) -> None:
        """See Optimizer."""
        if sparse_of(param) is not None:
            raise ValueError(
                f"SparseAdam requires dense parameter tensors, and one is of layout "
                f"{layout_of(param).name}; its gradients are what is sparse"
            )
        if isinstance(param, Tensor) and category_of(param.array.dtype) == COMPLEX:
            raise ValueError("SparseAdam does not support complex parameters")
        super()._check_param(param)

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters once; closure, if given, computes the loss and its gradients.

        It changes all of them and their state, or, if it fails or is interrupted, none.
        """
        loss = evaluated(closure)
        writes = Writes(Spare())
        for group in self.param_groups:
            for param in with_gradients(group["params"]):
                self._step_one(param, group, writes)
        writes.run()
        return loss

    def _step_one(self, param: Any, group: Group, writes: Writes) -> None:
        layer = sparse_of(param.gradient)
        if layer is None:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        array = param.current_array()
        home = self.state.get(param) or {}
        xp = backend_of(array).xp
        step = home.get("step", 0) + 1
        averages = [
            home[name].array if name in home else xp.zeros_like(array)
            for name in ("exp_avg", "exp_avg_sq")
        ]
        check_writable([array, *averages])
        whole = coordinates(layer).joined()
        index, grad = tuple(whole.indices()), whole.elements.array
        with quiet():
            rows = _moved(xp, -grad if group["maximize"] else grad, group, step, index, averages)
            writes.put(array, index, array[index] - rows[0])
        for average, row in zip(averages, rows[1:]):
            writes.put(average, index, row)
        new = dict(zip(("exp_avg", "exp_avg_sq"), [Tensor(each, AS_IS) for each in averages]))
        state = {"step": step, **{name: home.get(name, made) for name, made in new.items()}}
        writes.calls.append((self.state.update, {param: state}))
        writes.changed.append(param)


def _moved(
    xp: Any, grad: Any, group: Group, step: int, index: Any, averages: list[Any]
) -> tuple[Any, Any, Any]:
    """What is subtracted from the elements of a gradient, and their averages after this step."""
    first, second = group["betas"]
    mean, square = [average[index] for average in averages]
    mean = (grad - mean) * (1 - first) + mean
    square = (grad * grad - square) * (1 - second) + square
    size = float(group["lr"]) * (1 - second**step) ** 0.5 / (1 - first**step)
    return mean / (xp.sqrt(square) + group["eps"]) * size, mean, square
