"""What the generated tests draw from: samples of every op and composite, and checks of derivatives.

A sample's array arguments are NumPy arrays, also inside lists: the tests make tensors of adjoint,
tensors of PyTorch, or arrays of another library from them. Floating arrays of a sample are
differentiated unless `differentiate` says otherwise.
"""

import inspect
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.autograd.entry_points import grad
from adjoint.dtypes import COMPLEX, as_dtype, category_of
from adjoint.ops.annotations import Operand
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.op import MISSING, TABLE, Op
from adjoint.tensors.tensor import AS_IS, Tensor, plain


@dataclass
class Sample:
    """One call of an op."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiate: bool = True  # False: only values are compared (indices, comparisons, ties)
    second_order: bool = True
    torch: str | Callable[..., Any] | None = None  # PyTorch's path, if not torch.<name>
    beyond_torch: bool = False  # True: PyTorch has the values, but no derivative
    compare_values: bool = True  # False: values are not unique (eigenvectors), gradients are
    without: dict[str, str] = field(default_factory=dict)  # backend → why it can't run there


SamplesFunction = Callable[[np.random.Generator], Iterator[Sample]]
SAMPLES: dict[str, SamplesFunction] = {}
_BY_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD


def samples(*names: str) -> Callable[[SamplesFunction], SamplesFunction]:
    """Register a generator of samples for one or several ops that take the same arguments."""

    def register(function: SamplesFunction) -> SamplesFunction:
        for name in names:
            if name in SAMPLES:
                raise ValueError(f"samples of {name} are registered twice")
            SAMPLES[name] = function
        return function

    return register


# ---- what there is to test ----


def all_functions() -> list[str]:
    """The names of every op and composite."""
    return sorted({*TABLE, *COMPOSITES})


def function_of(name: str) -> Any:
    """The op or composite called `name`."""
    return TABLE[name] if name in TABLE else COMPOSITES[name]


def generator(name: str) -> np.random.Generator:
    """A source of random numbers that is the same in every run, another for every name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def samples_of(name: str) -> list[Sample]:
    """The automatic samples of an elementwise op, then those registered; for others, either."""
    registered = list(SAMPLES[name](generator(name))) if name in SAMPLES else []
    if registered and (name not in TABLE or TABLE[name].family != "elementwise"):
        return registered
    return automatic_samples(name) + registered


def takes_only_tensors(op: Op) -> bool:
    """Whether an elementwise op can be called with floating tensors for all required parameters."""
    required = [i for i, default in enumerate(op.defaults) if default is MISSING]
    return (
        op.family == "elementwise"
        and op.star < 0
        and 0 < len(required) <= op.positional
        and all(i in op.inputs for i in required)
    )


def count_of_tensors(name: str) -> int:
    """How many tensors a function can be called with, and nothing else; 0 if it wants more."""
    if name in TABLE and TABLE[name].family == "elementwise":
        return TABLE[name].required if takes_only_tensors(TABLE[name]) else 0
    given = inspect.signature(function_of(name)).parameters.values()
    required = [p for p in given if p.default is inspect.Parameter.empty]
    plain = all(p.annotation in {Tensor, Operand} and p.kind is _BY_PLACE for p in required)
    return len(required) if plain else 0


def automatic_samples(name: str) -> list[Sample]:
    """Samples that follow from the declaration alone; none if a function wants more than tensors.

    Those of an elementwise op have all kinds of shapes, those of others one.
    """
    op = TABLE.get(name)
    domain = None if op is None else op.domain
    rng = generator(name)
    count = count_of_tensors(name)
    if not count:
        return []
    probe = [Tensor(draw(rng, (1,), domain), AS_IS).requires_grad_() for _ in range(count)]
    try:
        result = function_of(name)(*probe)
    except RuntimeError:  # clamp, for one, needs one of its optional arguments
        return []
    layouts: list[list[tuple[int, ...]]] = [[(2, 3)] * count]
    if op is not None and op.family == "elementwise":
        layouts += [[()] * count, [(0, 3)] * count]
        if count > 1:
            layouts.append([(3, 1), (4,), (1,), (2, 1, 1)][:count])
    calls = [tuple(draw(rng, shape, domain) for shape in shapes) for shapes in layouts]
    calls.append(tuple(draw(rng, (3, 2), domain).T for _ in range(count)))
    derivable = not refuses_derivative(result, probe)
    return [Sample(args, differentiate=derivable) for args in calls]


def refuses_derivative(result: Any, inputs: list[Tensor]) -> bool:
    """Whether an op takes inputs that require grad, but says that it has no derivative."""
    live = [output for output in flatten(result) if output.requires_grad]
    try:
        grad(live, inputs, live, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        return "not implemented" in str(error)
    return False


def draw(rng: np.random.Generator, shape: tuple[int, ...], domain: Any = None) -> Any:
    """Numbers inside a domain, away from its ends and from integers, where functions have kinks."""
    low, high = (-2.0, 2.0) if domain is None else domain
    low = max(low, high - 4.0) if np.isfinite(high) else max(low, -2.0)
    high = min(high, low + 4.0)
    margin = min(0.05, (high - low) / 20)
    values = rng.uniform(low + margin, high - margin, size=shape)
    if high - low >= 0.5:
        nearest = np.round(values)
        side = np.where(values >= nearest, margin, -margin)
        side = np.where((nearest + side <= low) | (nearest + side >= high), -side, side)
        values = np.where(np.abs(values - nearest) < margin, nearest + side, values)
    return np.asarray(values)


def make_tensor(
    *shape: Any,
    dtype: Any = np.float32,
    low: float = -2.0,
    high: float = 2.0,
    requires_grad: bool = False,
    seed: int = 0,
) -> Tensor:
    """A tensor of random numbers between low and high, the same for the same seed."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    kind = as_dtype(dtype).numpy_dtype
    rng = np.random.default_rng(seed)
    values: Any = rng.uniform(low, high, size=sizes)
    if category_of(kind) == COMPLEX:
        values = values + 1j * rng.uniform(low, high, size=sizes)
    elif kind.kind == "b":
        values = rng.integers(0, 2, size=sizes)
    tensor = Tensor(np.asarray(values).astype(kind), AS_IS)
    return tensor.requires_grad_() if requires_grad else tensor


# ---- running a sample ----


def map_arrays(function: Callable[[Any], Any], value: Any) -> Any:
    """value with function applied to every array in it, through tuples, lists and dicts."""
    if isinstance(value, np.ndarray):
        return function(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[map_arrays(function, v) for v in value])
    if isinstance(value, (tuple, list)):
        return type(value)([map_arrays(function, v) for v in value])
    if isinstance(value, dict):
        return {k: map_arrays(function, v) for k, v in value.items()}
    return value


def flatten(value: Any) -> list[Any]:
    """The results of a call as a flat list."""
    if isinstance(value, (tuple, list)):
        return [element for part in value for element in flatten(part)]
    return [value]


def is_differentiable(array: Any) -> bool:
    """Whether an array's elements are floating or complex numbers."""
    return array.dtype.kind in "fc"


def open_call(
    function: Callable[..., Any], sample: Sample, make: Callable[[Any], Any] = plain
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """A sample as a function of its differentiable arrays alone, and those arrays.

    `make` turns the other arrays into tensors; the function answers a flat list of results.
    """
    arrays: list[Any] = []

    def collect(array: Any) -> Any:
        if is_differentiable(array):
            arrays.append(array)
        return array

    arguments = (sample.args, sample.kwargs)
    map_arrays(collect, arguments)

    def call(*inputs: Any) -> list[Any]:
        left = iter(inputs)
        args, kwargs = map_arrays(
            lambda array: next(left) if is_differentiable(array) else make(array.copy("K")),
            arguments,
        )
        return flatten(function(*args, **kwargs))

    return call, arrays


# ---- comparing ----


def as_array(value: Any) -> Any:
    """A tensor or array of any library as a NumPy array."""
    return value.numpy_array() if isinstance(value, Tensor) else np.asarray(value)


_TOLERANCE = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "complex64": 1.3e-6}


def assert_close(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    msg: str = "",
    check_dtype: bool = True,
) -> None:
    """Fail unless both have one shape, one data type and nearly equal elements; NaN equals NaN."""
    a, b = as_array(actual), as_array(expected)
    if a.shape != b.shape:
        raise AssertionError(f"{msg}: shape {a.shape}, expected {b.shape}")
    if check_dtype and a.dtype != b.dtype:
        raise AssertionError(f"{msg}: data type {a.dtype}, expected {b.dtype}")
    loosest = max(_TOLERANCE.get(str(array.dtype), 1e-7) for array in (a, b))
    relative = loosest if rtol is None else rtol
    absolute = loosest * 0.1 if atol is None else atol
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        np.testing.assert_array_equal(a, b, err_msg=msg)
    else:
        np.testing.assert_allclose(a, b, relative, absolute, err_msg=msg)


# ---- derivatives against finite differences ----

STEP = 1e-6
KINK = 1e-2  # slopes to both sides that differ by more are no rounding error and no curvature
JUMP = 1e4  # a slope beyond this is no slope
TensorFunction = Callable[..., Sequence[Any]]


def direction_like(rng: np.random.Generator, array: Any) -> Any:
    """A random array of the same shape and type; Hermitian where the array is.

    A function of Hermitian matrices may read one triangle only; moving inside the Hermitian
    matrices, what it makes of the other can't matter.
    """
    values = rng.normal(size=array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * rng.normal(size=array.shape)
    values = np.asarray(values).astype(array.dtype)
    square = array.ndim > 1 and array.shape[-1] == array.shape[-2] > 1
    if square and np.allclose(array, np.conj(np.swapaxes(array, -1, -2)), 1e-12, 1e-12):
        values = (values + np.conj(np.swapaxes(values, -1, -2))) / 2
    return values


def numeric_jvp(
    function: TensorFunction, arrays: Sequence[Any], directions: Sequence[Any], step: float = STEP
) -> list[Any] | None:
    """How the results change along the directions, by central differences.

    A complex array moves in a complex direction, so its real and imaginary parts both take part.
    None at a kink, a pole or the edge of the domain: a gradient there is a convention.
    """

    def at(distance: float) -> list[Any]:
        moved = [Tensor(a + distance * d, AS_IS) for a, d in zip(arrays, directions)]
        return [as_array(r) if is_floating(r) else None for r in function(*moved)]

    here = at(0.0)
    try:
        behind, ahead = at(-step), at(step)
    except RuntimeError:
        return None
    changes: list[Any] = []
    for left, middle, right in zip(behind, here, ahead):
        if middle is None:
            changes.append(None)
            continue
        with np.errstate(all="ignore"):
            scale = step * (1 + np.abs(middle))
            before, after = (middle - left) / scale, (right - middle) / scale
            steep = np.maximum(np.abs(before), np.abs(after))
            smooth = (steep < JUMP) & (np.abs(after - before) < KINK * (1 + steep))
        if not np.all(smooth):
            return None
        changes.append((right - left) / (2 * step))
    return changes


def is_floating(result: Any) -> bool:
    """Whether a result is a tensor that could have a derivative."""
    return isinstance(result, Tensor) and is_differentiable(result.array)


def is_measurable(array: Any) -> bool:
    """Whether finite differences of a result mean anything: finite, and in double precision."""
    return array.dtype in (np.float64, np.complex128) and bool(np.isfinite(array).all())


def inner(a: Any, b: Any) -> float:
    """The real inner product, under which a gradient is the adjoint of a derivative."""
    return float(np.real(np.sum(np.conj(as_array(a)) * as_array(b))))


def check_vjp(
    function: TensorFunction,
    arrays: Sequence[Any],
    seed: int = 0,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    msg: str = "",
) -> None:
    """The gradient of a random projection of the results, against finite differences."""
    rng = np.random.default_rng(seed)
    leaves = [Tensor(a.copy("K"), AS_IS).requires_grad_() for a in arrays]
    outputs = function(*leaves)
    live = [i for i, o in enumerate(outputs) if is_floating(o) and o.requires_grad]
    if not live or not all(is_measurable(outputs[i].array) for i in live):
        return
    weights = [direction_like(rng, outputs[i].array) for i in live]
    directions = [direction_like(rng, a) for a in arrays]
    gradients = grad(
        [outputs[i] for i in live], leaves, [Tensor(w, AS_IS) for w in weights], allow_unused=True
    )
    changes = numeric_jvp(function, arrays, directions)
    if changes is None:
        return
    analytic = sum(inner(g, d) for g, d in zip(gradients, directions) if g is not None)
    numeric = sum(inner(w, changes[i]) for i, w in zip(live, weights))
    size = max([1.0, *[float(np.abs(outputs[i].array).max(initial=0)) for i in live]])
    if not abs(analytic - numeric) <= rtol * abs(numeric) + atol * size:
        raise AssertionError(
            f"{msg}: the gradient gives {analytic!r}, finite differences {numeric!r}"
        )


def gradient_function(function: TensorFunction, count: int) -> TensorFunction:
    """The vjp of a function of `count` tensors, as a function of them and of the cotangents."""

    def pull(*values: Any) -> list[Any]:
        inputs = [v if v.requires_grad else v.requires_grad_() for v in values[:count]]
        outputs = [o for o in function(*inputs) if is_floating(o) and o.requires_grad]
        found = grad(outputs, inputs, values[count:], create_graph=True, allow_unused=True)
        return [
            Tensor(np.zeros_like(v.array), AS_IS) if g is None else g for g, v in zip(found, inputs)
        ]

    return pull


def check_second_order(
    function: TensorFunction, arrays: Sequence[Any], seed: int = 0, msg: str = ""
) -> None:
    """The gradient of the gradient, against finite differences of the gradient."""
    rng = np.random.default_rng(seed + 1)
    outputs = function(*[Tensor(a.copy("K"), AS_IS).requires_grad_() for a in arrays])
    live = [o for o in outputs if is_floating(o) and o.requires_grad]
    weights = [direction_like(rng, o.array) for o in live]
    if live and all(is_measurable(o.array) for o in live):
        pull = gradient_function(function, len(arrays))
        check_vjp(pull, [*arrays, *weights], seed, 1e-4, 1e-5, f"{msg}, second order")
