"""Small programs that every backend must run alike, and a way to run one on any of them."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from adjoint import Tensor
from adjoint.autograd import backward, grad, no_grad
from adjoint.tensors.tensor import AS_IS
from tests import samples

Make = Callable[[Any], Any]  # a NumPy array as an array of the backend under test
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a program: leaves of shapes (3, 4), (3, 4) and (4,) in, one tensor out."""
    PROGRAMS[function.__name__] = function
    return function


@program
def arithmetic(x: Any, y: Any, w: Any) -> Any:
    return (x * 2.0 - y + 1.5) * w / (y * y + 1.0) + (-x) ** 3.0 + 2.0**w


@program
def functions(x: Any, y: Any, w: Any) -> Any:
    return x.exp() + (y * y + 0.5).log() + (w * w + 0.1).sqrt() + abs(x) + x.clamp(min=0.1)


@program
def comparison_and_choice(x: Any, y: Any, w: Any) -> Any:
    return (x * w).where(x > y, y * 2.0) + x.maximum(y)


@program
def broadcasting(x: Any, y: Any, w: Any) -> Any:
    return x.unsqueeze(0) * y.unsqueeze(1) + w.reshape(1, 1, 4).expand(3, 3, 4)


@program
def views(x: Any, y: Any, w: Any) -> Any:
    turned = x.transpose(0, 1) * y.reshape(4, 3)
    return turned.permute(1, 0).reshape(2, 6)[1, 1:5:2] * w[:2]


@program
def a_leaf_used_often(x: Any, y: Any, w: Any) -> Any:
    return x * x + x * w + x


@program
def reductions(x: Any, y: Any, w: Any) -> Any:
    return x.sum() * y.sum(1, keepdim=True) + (x * y).sum((0, 1), keepdim=True) * w


@program
def basic_indexing(x: Any, y: Any, w: Any) -> Any:
    return x[1] * y[:, 2].sum() + x[::2, 1:3].sum() * w[-1] + x[..., None, :3].sum()


@program
def joining(x: Any, y: Any, w: Any) -> Any:
    rows = x.unbind(0)
    return rows[0] * rows[2] + y.unbind(1)[1].sum() * w


@program
def in_place_on_a_base(x: Any, y: Any, w: Any) -> Any:
    base = x * 1.0
    row, corner = base[1], base[:2, :2]
    base.mul_(y)
    base.add_(w)
    return base * row + corner.sum()


@program
def in_place_on_a_view(x: Any, y: Any, w: Any) -> Any:
    base = x * 1.0
    row = base[1]
    row.mul_(w)
    base.transpose(0, 1)[2].add_(y[:, 0])
    return base * base + row


@program
def in_place_through_two_views(x: Any, y: Any, w: Any) -> Any:
    base = x * 1.0
    columns = base.transpose(0, 1)
    part = columns[1:3]
    part.mul_(3.0)
    columns.reshape(4, 3).add_(1.0)
    return base.exp() * y + w


@program
def writing_by_index(x: Any, y: Any, w: Any) -> Any:
    base = x * 1.0
    base[1] = w
    base[:, 2] = y[:, 1] * 2.0
    base[0, 0] = 5.0
    return base * y


@program
def under_no_grad(x: Any, y: Any, w: Any) -> Any:
    with no_grad():
        mask = (x * y).exp()
        mask.add_(1.0)
    return mask * x + y * w


class Outcome(NamedTuple):
    """What a program computed, as NumPy arrays."""

    output: Any
    grads: list[Any]


def run(name: str, make: Make, dtype: Any = np.float64) -> Outcome:
    """A program's output, and the gradients of a weighted sum of it."""
    rng = np.random.default_rng(7)
    arrays = [rng.normal(size=shape).astype(dtype) for shape in ((3, 4), (3, 4), (4,))]
    leaves = [Tensor(make(array), AS_IS).requires_grad_() for array in arrays]
    output = PROGRAMS[name](*leaves)
    weights = rng.normal(size=output.array.shape).astype(dtype)
    backward((output * Tensor(make(weights), AS_IS)).sum())
    for leaf in leaves:
        if leaf.grad is not None:
            assert type(leaf.grad.array) is type(leaf.array)
    return Outcome(
        output.numpy_array(),
        [None if leaf.grad is None else leaf.grad.numpy_array() for leaf in leaves],
    )


def assert_alike(got: Outcome, expected: Outcome, rtol: float = 1e-10) -> None:
    """Two outcomes are the same but for rounding."""
    np.testing.assert_allclose(got.output, expected.output, rtol=rtol, atol=rtol)
    for ours, theirs in zip(got.grads, expected.grads, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


# ---- a small network ----


def mlp_arrays(
    rows: int = 16, inputs: int = 8, hidden: int = 12, classes: int = 3, dtype: Any = np.float32
) -> tuple[list[Any], Any, Any]:
    """NumPy arrays of a two-layer network: parameters, a batch, and its classes as one-hot rows."""
    rng = np.random.default_rng(3)
    parameters = [
        rng.normal(size=(inputs, hidden)) / np.sqrt(inputs),
        np.zeros(hidden),
        rng.normal(size=(hidden, classes)) / np.sqrt(hidden),
        np.zeros(classes),
    ]
    batch = rng.normal(size=(rows, inputs))
    targets = np.eye(classes)[rng.integers(classes, size=rows)]
    return [p.astype(dtype) for p in parameters], batch.astype(dtype), targets.astype(dtype)


def mlp_loss(parameters: list[Any], batch: Any, targets: Any) -> Any:
    """Cross entropy of a two-layer network, from ops alone."""
    w1, b1, w2, b2 = parameters
    logits = (batch @ w1 + b1).clamp(min=0.0) @ w2 + b2
    log_normalizer = logits.exp().sum(1).log()
    return (log_normalizer - (logits * targets).sum(1)).sum() / float(targets.array.shape[0])


def mlp_step(arrays: list[Any], batch: Any, targets: Any, rate: float = 0.5) -> tuple[Any, Any]:
    """One step of gradient descent on raw arrays of any backend: new parameters, and the loss."""
    parameters = [Tensor(array, AS_IS).requires_grad_() for array in arrays]
    loss = mlp_loss(parameters, Tensor(batch, AS_IS), Tensor(targets, AS_IS))
    backward(loss)
    return [p.array - rate * p.grad.array for p in parameters], loss.array


# ---- every op of the tables ----


def import_samples() -> None:
    """Import the samples of all tables, which pytest's own set-up does too."""
    for module in pkgutil.iter_modules(samples.__path__):
        importlib.import_module(f"{samples.__name__}.{module.name}")


def sample_outcomes(name: str, backend: str, make: Make) -> Iterator[tuple[Any, Any]]:
    """Pairs of arrays, another backend's and NumPy's: results and gradients on an op's samples."""
    from adjoint.testing import (
        as_array,
        direction_like,
        function_of,
        generator,
        open_call,
        samples_of,
    )

    import_samples()
    for sample in samples_of(name):
        if backend in sample.without or not sample.compare_values:
            continue
        both = []
        for convert in (make, np.array):
            call, arrays = open_call(
                function_of(name),
                sample,
                lambda array, convert=convert: Tensor(convert(array), AS_IS),
            )
            leaves = [
                Tensor(convert(a.copy()), AS_IS).requires_grad_(sample.differentiate)
                for a in arrays
            ]
            results = [r for r in call(*leaves) if isinstance(r, Tensor)]
            live = [r for r in results if r.requires_grad]
            rng = generator(name)
            weights = [Tensor(convert(direction_like(rng, as_array(r))), AS_IS) for r in live]
            found = grad(live, leaves, weights, materialize_grads=True) if live else ()
            both.append([as_array(value) for value in (*results, *found)])
        yield from zip(*both, strict=True)
