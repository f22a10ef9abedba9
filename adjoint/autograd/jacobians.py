"""Jacobians of a function: by finite differences, and as backward and forward mode compute them.

They are NumPy arrays of input size by output size; the one of a complex input holds the conjugate
Wirtinger derivative, as PyTorch's gradients do. Outputs are real: gradcheck sees to that.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.forward_ad import dual_level, make_dual, unpack_dual
from adjoint.backends import backend_of, quiet
from adjoint.backends.numpy import numpy_backend
from adjoint.call.held import Held
from adjoint.tensors.tensor import AS_IS, Tensor

np = numpy_backend.xp


class GradcheckError(RuntimeError):
    """A gradient is wrong, or not what gradcheck asks of one."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A function of real outputs and the place where it is checked."""

    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    part: str = ""  # which part of the complex outputs these are
    complex_outputs: frozenset[int] = frozenset()

    @property
    def sources(self) -> list[int]:
        """The positions of the inputs that need a gradient."""
        return [i for i, value in enumerate(self.inputs) if needs_grad(value)]

    @property
    def targets(self) -> list[int]:
        """The positions of the outputs that have one."""
        return [i for i, value in enumerate(self.outputs) if needs_grad(value)]


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One or many, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def needs_grad(value: Any) -> bool:
    """Whether this is a tensor that needs a gradient."""
    return isinstance(value, Tensor) and value.requires_grad


def values_of(tensor: Tensor) -> Any:
    """A tensor's elements on the host; those that only its class knows, one by one."""
    plain: Any = tensor.detach()
    if plain.layer is None or not plain.layer.wraps:
        return plain.numpy_array()
    numbers = [element.item() for element in plain.reshape(-1)]
    return np.asarray(numbers, dtype=plain.dtype.numpy_dtype).reshape(plain.shape)


def like(tensor: Tensor, values: Any) -> Tensor:
    """Values of the host with the data type and on the device of a tensor."""
    backend = backend_of(tensor.array)
    array = np.asarray(values).astype(tensor.array.dtype)
    return Tensor(backend.from_numpy(array, backend.device(tensor.array)), AS_IS)


class shifted(Held):
    """Inside, the tensor's values are moved: where its library can, in the same memory.

    For the function may close over the tensor, or over a view of it.
    """

    def __init__(self, tensor: Tensor, shift: Any) -> None:
        self.tensor = tensor
        self.wrapped: Any = None  # the same memory as its class knows it, if only that does
        self.array = array = tensor.array
        if tensor.layer is not None and tensor.layer.wraps:
            self.wrapped = tensor.data
            self.before = self.wrapped.clone()
            self.moved = self.before + like(tensor, shift)
            return
        backend = backend_of(array)
        self.mutable = backend.mutable
        self.before = backend.copy(array) if self.mutable else array
        self.moved = backend.from_numpy(
            (backend.to_numpy(self.before) + shift).astype(array.dtype), backend.device(array)
        )

    def _variable(self) -> Any:
        """See Held."""
        return self

    def _inside(self, before: Any) -> Any:
        """See Held."""
        return self.moved

    def _outside(self, now: Any) -> Any:
        """See Held."""
        return self.before

    def get(self) -> Any:
        """The values that there were."""
        return self.before

    def set(self, values: Any) -> None:
        """Let the tensor have these values."""
        if self.wrapped is not None:
            self.wrapped.copy_(values)
        elif self.mutable:
            self.array[...] = values
        else:
            self.tensor.replace_array(values)


def difference(problem: Problem, source: int, shift: Any, size: float) -> dict[int, Any]:
    """The central difference of each output, flat, along a shift of one input."""
    ends: list[tuple[Any, ...]] = []
    for sign in (-1, 1):
        with shifted(problem.inputs[source], sign * shift):
            outputs = as_tuple(problem.function(*problem.inputs))
            ends.append(tuple((o.shape, o.dtype, values_of(o).copy()) for o in outputs))
    for low, high in zip(*ends, strict=True):
        for what, had, has in zip(("shape", "dtype"), low, high):
            if had != has:
                raise AssertionError(
                    f"func must return outputs with the same {what} when inputs are perturbed by "
                    f"eps, but got {had} and {has} when input {source} was moved"
                )
    wanted = problem.targets or range(len(problem.outputs))
    answers = {}
    for i in wanted:
        low, high = (end[i][2].reshape(-1) for end in ends)
        if high.dtype.kind in "biu":
            low, high = low.astype("float64"), high.astype("float64")
        with quiet():
            answers[i] = (high - low) / (2 * size)
    return answers


def slopes(problem: Problem, source: int, step: Any, eps: float) -> dict[int, Any]:
    """The derivative of each output along a step; of a complex input, by both its parts.

    `step` is one array, or one for the real and one for the imaginary part.
    """
    real, imaginary = step if isinstance(step, list) else (step, step)
    found = difference(problem, source, real * eps, eps)
    if problem.inputs[source].dtype.is_complex:
        turned = difference(problem, source, imaginary * (1j * eps), eps)
        found = {i: slope + 1j * turned[i] for i, slope in found.items()}
    return found


def unit_steps(shape: Any) -> Iterator[Any]:
    """Each element moved by one, in turn."""
    for place in np.ndindex(*shape):
        step = np.zeros(shape)
        step[place] = 1.0
        yield step


def numerical(problem: Problem, eps: float) -> dict[int, dict[int, Any]]:
    """The Jacobians by differences, by input and output."""
    found: dict[int, dict[int, Any]] = {}
    for source in problem.sources:
        tensor = problem.inputs[source]
        rows = [slopes(problem, source, step, eps) for step in unit_steps(tensor.shape)]
        wanted = problem.targets or range(len(problem.outputs))
        found[source] = {
            i: np.array([row[i] for row in rows]).reshape(len(rows), problem.outputs[i].numel())
            for i in wanted
        }
    return found


def pulled_back(output: Tensor, inputs: list[Any], starts: Any, dtypes: bool) -> list[Any]:
    """What backward makes of each gradient of an output, as the columns of a matrix."""
    rows = unit_steps(output.shape) if starts is None else starts
    count = output.array.size if starts is None else len(starts)
    found = [np.zeros((x.numel(), count), x.dtype.numpy_dtype) for x in inputs]
    for column, start in enumerate(rows):
        seed = like(output, start)
        for i, result in enumerate(
            grad(output, inputs, seed, retain_graph=True, allow_unused=True)
        ):
            if result is None:
                continue
            if result.shape != inputs[i].shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if dtypes and result.dtype is not inputs[i].dtype:
                raise GradcheckError("Gradient has dtype mismatch")
            found[i][:, column] = values_of(result).reshape(-1)
    return found


def pushed_forward(
    problem: Problem, tangents: dict[int, Any], dtypes: bool = False
) -> dict[int, Tensor | None]:
    """What forward mode makes of tangents of some of the inputs, for each output that has one."""
    with dual_level():
        given = [
            make_dual(value.detach(), tangents[i])
            if i in tangents
            else value.detach()
            if isinstance(value, Tensor)
            else value
            for i, value in enumerate(problem.inputs)
        ]
        outputs = as_tuple(problem.function(*given))
        found: dict[int, Tensor | None] = {}
        for i in problem.targets or range(len(outputs)):
            primal, tangent = unpack_dual(outputs[i])
            if dtypes and tangent is not None and primal.is_complex() != tangent.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            found[i] = tangent
    return found


def slopes_forward(problem: Problem, source: int, step: Any, dtypes: bool) -> dict[int, Any]:
    """`slopes` by forward mode."""
    real, imaginary = step if isinstance(step, list) else (step, step)
    still = {i: like(problem.inputs[i], np.zeros(problem.inputs[i].shape)) for i in problem.sources}

    def along(direction: Any) -> dict[int, Any]:
        moved = {**still, source: like(problem.inputs[source], direction)}
        pushed = pushed_forward(problem, moved, dtypes)
        return {
            i: np.zeros(problem.outputs[i].numel()) if t is None else values_of(t).reshape(-1)
            for i, t in pushed.items()
        }

    found = along(real)
    if problem.inputs[source].dtype.is_complex:
        turned = along(imaginary * 1j)
        found = {i: slope + 1j * turned[i] for i, slope in found.items()}
    return found
