"""Adam for sparse gradients: what they do not have stays as it is, the averages too."""

from typing import Any

from adjoint.autograd.grad_mode import no_grad
from adjoint.backends import quiet
from adjoint.call.context import current
from adjoint.creation.factories import zeros_like
from adjoint.dtypes import COMPLEX, category_of
from adjoint.ops.arranging.indexing import index_put
from adjoint.ops.sparse.layers import Coordinates, coordinates, layout_of, sparse_of
from adjoint.optim.elementwise import TensorFunctions
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
from adjoint.tensors.tensor import Tensor


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
        home = self.state.get(param) or {}
        state: dict[str, Any] = {"step": home.get("step", 0) + 1}
        for name in ("exp_avg", "exp_avg_sq"):
            state[name] = home[name] if name in home else zeros_like(param, requires_grad=False)
        held = [param, state["exp_avg"], state["exp_avg_sq"]]
        whole = coordinates(layer).joined()
        if current().modes:
            _step_by_calls(held, whole, group, state["step"], writes)
        else:
            step_in_memory(held, whole, group, state["step"], writes)
        writes.calls.append((self.state.update, {param: state}))


def step_in_memory(
    held: list[Any], grad: Coordinates, group: Group, step: int, writes: Writes
) -> None:
    """Have the rows of a parameter and its averages written where they are."""
    arrays = [each.current_array() for each in held]
    check_writable(arrays)
    index = tuple(grad.indices())
    with quiet():
        rows = [array[index] for array in arrays]
        moved = _moved(grad.xp, rows, grad.elements.array, group, step)
    for array, row in zip(arrays, moved):
        writes.put(array, index, row)
    writes.changed.append(held[0])


def _step_by_calls(
    held: list[Any], grad: Coordinates, group: Group, step: int, writes: Writes
) -> None:
    """The same, where modes see what is called."""
    index = grad.index()
    with no_grad():
        moved = _moved(TensorFunctions, [e[index] for e in held], grad.elements, group, step)
        writes.late += [(e, index_put(e, index, row), False) for e, row in zip(held, moved)]


def _moved(xp: Any, rows: list[Any], grad: Any, group: Group, step: int) -> list[Any]:
    """The elements of a parameter that a gradient has, and their averages, after this step."""
    first, second = group["betas"]
    grad = -grad if group["maximize"] else grad
    param, mean, square = rows
    mean = (grad - mean) * (1 - first) + mean
    square = (grad * grad - square) * (1 - second) + square
    size = float(group["lr"]) * (1 - second**step) ** 0.5 / (1 - first**step)
    return [param - mean / (xp.sqrt(square) + group["eps"]) * size, mean, square]
