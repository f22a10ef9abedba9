"""New tensors: from data, from sizes, from ranges, from random numbers."""

import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

from adjoint.backends import backend_of, is_array
from adjoint.backends.chance import Even, Normal
from adjoint.backends.numpy import numpy_backend
from adjoint.call.layers import Below, open_levels
from adjoint.call.out import write_out
from adjoint.call.overriding import created_by, creating_mode
from adjoint.creation.from_data import array_of, check_array, fitted, is_row, number
from adjoint.creation.options import Options, finished, shape_of, sizes_of
from adjoint.device import CPU, asked_device, get_default_device
from adjoint.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    INTEGER,
    as_dtype,
    as_real,
    default_complex,
    dtype,
    float64,
    get_default_dtype,
    int64,
    of_python_scalar,
)
from adjoint.ops.arranging.conversion import (
    CHANNELS_RANK,
    clone,
    contiguous_format,
    preserve_format,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    to,
)
from adjoint.ops.composites import creating, lifting, overridable_by_modes
from adjoint.ops.plain_numbers import plain_number
from adjoint.ops.sampling.random import draw_integers, normal_from
from adjoint.ops.spacing import spaced
from adjoint.ops.sparse.layers import blank, sparse_of
from adjoint.random import chosen
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import AS_IS, Tensor

SPARSE = (sparse_coo, sparse_csr, sparse_csc)

__all__ = [
    "arange",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scalar_tensor",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]

np = numpy_backend.xp


# ---- from data ----


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of data: a number, nested sequences, or an array."""
    if isinstance(data, Tensor):
        warnings.warn(
            "tensor(t) copies a tensor and its history is lost; t.detach().clone() says so",
            stacklevel=3,
        )
    kind = None if dtype is None else as_dtype(dtype)
    if isinstance(data, Tensor) and sparse_of(data) is not None:
        copied = to(clone(data.detach()), device=asked_device(device), dtype=kind)
        return copied.requires_grad_() if requires_grad else copied
    array, where = array_of(data, kind, get_default_device())
    return finished(array, asked_device(device) or where, requires_grad)


def is_size(value: Any) -> bool:
    """Whether PyTorch's constructor takes a value for a size: an integer, NumPy's too."""
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool)
    return isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"


def from_data(value: Any, sizes: tuple[Any, ...]) -> Any:
    """The array of `Tensor(...)`: nothing, sizes, or data as the default floating type."""
    mode, array = creating_mode(), _array_from(value, sizes)
    if mode is None:
        return array
    if value is None or isinstance(value, Size) or is_size(value):
        shown = created_by(mode, "empty", (array.shape,), {})
    else:
        shown = created_by(mode, "lift_fresh", (Tensor(array, AS_IS),), {})
    return shown.array if type(shown) is Tensor else array  # a constructor answers no other class


def _array_from(value: Any, sizes: tuple[Any, ...]) -> Any:
    numpy_dtype = get_default_dtype().numpy_dtype
    if value is None and not sizes:
        return np.empty(0, numpy_dtype)
    if isinstance(value, Size) and not sizes:
        return np.empty(tuple(value), numpy_dtype)
    if is_size(value):
        return np.empty(shape_of("Tensor", (int(value), *sizes)), numpy_dtype)
    if is_array(value) and not isinstance(value, np.generic) and not sizes:
        backend = backend_of(value)
        if backend is not numpy_backend:
            return backend.asarray(value)  # PyTorch knows none: it is what it is
        check_array(value)
        return np.array(numpy_backend.xp.real(value), numpy_dtype, order="C")
    if sizes or not (is_row(value) or hasattr(value, "as_elements")):
        raise TypeError(
            f"Tensor(): data must be a sequence of numbers, or sizes, not {type(value).__name__}"
        )
    return array_of(value, get_default_dtype(), CPU)[0]


# ---- from sizes ----


def zeros(*size: Any, **options: Any) -> Tensor:
    """Zeros."""
    shape = sizes_of("zeros", size, options)
    if options.get("layout") in SPARSE:
        return _without_values("zeros", shape, options)
    asked = Options("zeros", options)
    return asked.made(asked.xp.zeros(shape, asked.kind().numpy_dtype))


def _without_values(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> Tensor:
    """A sparse tensor of zeros."""
    if options.get("out") is not None and options["out"].layout != options["layout"]:
        raise RuntimeError(f"{name}(): the layout does not match that of out, a strided tensor")
    asked = Options(name, {key: value for key, value in options.items() if key != "layout"})
    made: Tensor = blank(shape, asked.kind(), asked.device, options["layout"])
    return made.requires_grad_() if asked.requires_grad else made


def ones(*size: Any, **options: Any) -> Tensor:
    """Ones."""
    shape = sizes_of("ones", size, options)
    asked = Options("ones", options)
    return asked.made(asked.xp.ones(shape, asked.kind().numpy_dtype))


def empty(*size: Any, **options: Any) -> Tensor:
    """Memory as it was found; write before you read."""
    shape = sizes_of("empty", size, options)
    if options.get("layout") in SPARSE:
        return _without_values("empty", shape, options)
    asked = Options("empty", options)
    return asked.made(_room(asked, shape, asked.kind().numpy_dtype))


def _room(asked: Options, shape: tuple[int, ...], numpy_dtype: Any) -> Any:
    """Uninitialised memory for a shape, in the order that memory_format asks for."""
    order: Any = asked.memory_format
    rank = CHANNELS_RANK.get(order)
    if rank is None:
        return asked.xp.empty(shape, numpy_dtype)
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {order.name} format")
    memory = asked.xp.empty((shape[0], *shape[2:], shape[1]), numpy_dtype)
    return asked.xp.moveaxis(memory, -1, 1)


def full(size: Any, fill_value: Any, **options: Any) -> Tensor:
    """fill_value everywhere; the data type follows from it."""
    shape = shape_of("full", size)
    value = number(fill_value)
    asked = Options("full", options)
    kind = asked.kind(of_python_scalar(value))
    return asked.made(asked.xp.full(shape, _element(value, kind)))


def _element(value: Any, kind: dtype) -> Any:
    """A number as a 0-d array, if it fits the data type."""
    if BOOL < kind.category < COMPLEX:
        value = as_real(value)
        if isinstance(value, complex):
            raise RuntimeError(f"value {value} cannot be converted to type {kind.name}")
    return fitted(np.asarray(value), kind)


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Tensor:
    """Uninitialised memory that holds the dimensions in another order, the last one closest."""
    shape, order = shape_of("empty_permuted", size), list(map(operator.index, physical_layout))
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted(): physical_layout must name each of {len(shape)} dimensions once, "
            f"got {order}"
        )
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return empty_strided(shape, strides, **options)


def empty_strided(size: Any, stride: Any, **options: Any) -> Tensor:
    """Uninitialised memory seen with the given strides."""
    shape, steps = shape_of("empty_strided", size), shape_of("empty_strided", stride)
    if len(shape) != len(steps):
        raise RuntimeError(f"empty_strided(): {len(shape)} sizes but {len(steps)} strides")
    asked = Options("empty_strided", options)
    count = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps))
    memory = asked.xp.empty(count, asked.kind().numpy_dtype)
    return asked.made(asked.xp.strided(memory, shape, steps, 0))


def zeros_like(input: Tensor, **options: Any) -> Tensor:
    """Zeros in input's shape, data type and device."""
    return _like("zeros_like", input, options, 0)


def ones_like(input: Tensor, **options: Any) -> Tensor:
    """Ones in input's shape, data type and device."""
    return _like("ones_like", input, options, 1)


def full_like(input: Tensor, fill_value: Any, **options: Any) -> Tensor:
    """fill_value in input's shape, data type and device."""
    return _like("full_like", input, options, number(fill_value))


def empty_like(input: Tensor, **options: Any) -> Tensor:
    """Uninitialised memory in input's shape, data type and device."""
    return _like("empty_like", input, options, None)


def _imitating(name: str, input: Any, options: dict[str, Any]) -> Options:
    """The keywords of a factory that imitates a tensor."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): input must be a Tensor, not {type(input).__name__}")
    if input.special and hasattr(input, "refuse"):  # a parameter that has no shape yet
        input.refuse(name)
    asked = Options(name, _own(input, options))
    asked.like = input.array
    return asked


def _in_layer(
    name: str,
    args: tuple[Any, ...],
    options: dict[str, Any],
    make: Callable[..., Tensor] | None = None,
) -> Tensor:
    """What a factory makes in the likeness of its first argument, which has a layer.

    A batch of tensors if that is a batch; or what its class answers to the call.
    """
    needs = options.pop("requires_grad", False)
    layer = args[0].layer
    made: Tensor = layer.imitated(make) if make is not None else layer.made(name, args, options)
    return made.requires_grad_() if needs else made


def _is_wrapped(input: Any) -> bool:
    """Whether the class of a tensor answers the calls on it."""
    return isinstance(input, Tensor) and input.layer is not None and bool(input.layer.wraps)


def _like(name: str, input: Tensor, options: dict[str, Any], value: Any) -> Tensor:
    """A number, or nothing, everywhere, in the order in memory of another tensor."""
    form, known = options.get("layout"), isinstance(input, Tensor) and input.layer is None
    if form in SPARSE and known and name == "zeros_like":
        return _without_values(name, tuple(input.shape), _own(input, options))
    if _is_wrapped(input):
        given = (input, value) if name == "full_like" else (input,)
        return _in_layer(name, given, options)
    if isinstance(input, Tensor) and input.layer is not None:
        return _in_layer(
            name, (input,), options, lambda below, _: _like(name, below, dict(options), value)
        )
    asked = _imitating(name, input, options)
    kind = asked.kind()
    array = input.array
    strides = getattr(array, "strides", (0,))
    if asked.memory_format not in (None, preserve_format) or 0 in strides:
        blank = _room(asked, array.shape, kind.numpy_dtype)
    else:
        blank = _blank(asked.xp, array, kind.numpy_dtype)
    if value is None:
        return asked.made(blank)
    element = _element(value, kind)
    if type(blank) is np.ndarray or not asked.xp.valued():
        blank[...] = element
    else:
        blank = asked.xp.full_like(blank, element)
    return asked.made(blank)


def _blank(xp: Any, array: Any, numpy_dtype: Any) -> Any:
    """Uninitialised memory for the shape of an array, with its dimensions in the same order."""
    own: Any = backend_of(array).xp
    if own.valued() or not xp.valued():
        return xp.empty_like(array, numpy_dtype, shape=array.shape)
    strides = own.strides_of(array)
    order = sorted(range(array.ndim), key=lambda dim: -strides[dim])
    blank = xp.empty([array.shape[dim] for dim in order], numpy_dtype)
    return blank.transpose([order.index(dim) for dim in range(array.ndim)])


def scalar_tensor(s: Any, **options: Any) -> Tensor:
    """A 0-d tensor of a number, as the default floating type."""
    asked = Options("scalar_tensor", options)
    return asked.made(_element(number(s), asked.kind()))


# ---- ranges and patterns ----


def _collected(name: str, names: Any, args: tuple[Any, ...], options: Any) -> dict[str, Any]:
    """Leading arguments by name, whether they came by position or by keyword."""
    given = dict(zip(names, args))
    for key in ("start", "end", "step", "low", "high", "size"):
        if key in options:
            if key in given:
                raise TypeError(f"{name}() got several values for '{key}'")
            given[key] = options.pop(key)
    return given


def arange(*bounds: Any, **options: Any) -> Tensor:
    """Numbers from start (0) up to but without end, step (1) apart."""
    only_end = len(bounds) == 1 and "end" not in options
    names = ("end",) if only_end else ("start", "end", "step")
    given = _collected("arange", names, bounds, options)
    if len(bounds) > 3 or "end" not in given:
        raise TypeError("arange() takes end, or start and end, and a step: arange(0, 10, 2)")
    bounds = given.get("start", 0), given["end"], given.get("step", 1)
    start, end, step = (as_real(number(bound)) for bound in bounds)
    if isinstance(start, complex) or isinstance(end, complex) or isinstance(step, complex):
        raise RuntimeError("arange(): complex numbers have no order; give real ones")
    asked = Options("arange", options)
    whole = all(isinstance(value, int) for value in (start, end, step))
    kind = asked.kind(int64 if whole else None)
    if kind.category in (BOOL, COMPLEX):
        raise NotImplementedError(f"arange is not implemented for {kind.name}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"arange(): unsupported range: {start} -> {end}")
    if step == 0:
        raise RuntimeError("arange(): step must be nonzero")
    span, stride = end - start, step
    if kind.category == INTEGER:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise ValueError(f"arange(): step must be nonzero in {kind.name}")
    if kind is int64:  # the other integers are counted before they are cut
        span, stride = end - start, step
    if (end - start) * step < 0:
        raise RuntimeError(
            "arange(): upper bound and lower bound inconsistent with step sign: from "
            f"{start} to {end} by {step}"
        )
    (count,) = shape_of("arange", (max(math.ceil(span / stride), 0),))
    values = start + step * asked.xp.arange(count)
    return asked.listed(values.astype(kind.numpy_dtype))


def _ends(start: Any, end: Any, steps: int, asked: Options) -> tuple[Any, Any, int, dtype]:
    """The first and the last of equally spaced numbers, how many they are, and their data type."""
    steps = operator.index(steps)
    if steps < 0:
        raise RuntimeError(f"{asked.name}(): number of steps must be non-negative, got {steps}")
    for name, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.ndim:
            raise RuntimeError(
                f"{asked.name}(): {name} must be a number or a 0-d tensor, got shape "
                f"{list(value.shape)}; index one element of it"
            )
    if _is_batched(start) or _is_batched(end):
        return start, end, steps, asked.kind()
    start, end = (number(e.detach() if isinstance(e, Tensor) else e) for e in (start, end))
    mixed = isinstance(start, complex) or isinstance(end, complex)
    kind = asked.kind(default_complex() if mixed else None)
    if mixed and kind.category != COMPLEX:
        raise RuntimeError(
            f"{asked.name}(): inferred dtype is complex, which {kind.name} can't hold"
        )
    if kind.category == INTEGER:
        start, end = int(start), int(end)
    return start, end, steps, kind


def _spaced(start: Any, end: Any, steps: int, xp: Any) -> Any:
    """Equally spaced numbers."""
    if steps == 1:
        return xp.full(1, start)
    step = (end - start) / (steps - 1) if steps else 0.0
    places = xp.arange(steps)
    # Counted from both ends, so that the last number is exactly `end`.
    rising, falling = start + step * places, end - step * (steps - 1 - places)
    return xp.where(places < steps // 2, rising, falling)


def _is_batched(value: Any) -> bool:
    """Whether a number is a tensor of whose values there are many."""
    layered = isinstance(value, Tensor) and value.layer is not None
    return layered and value.layer.value_refused() is not None


def _spaced_each(start: Any, end: Any, steps: int, kind: dtype) -> Any:
    """The same for ends in a batch, by operations that take it."""

    def widened(value: Any) -> Any:
        return value.detach().to(kind).to(float64)

    first, last = (widened(value) if isinstance(value, Tensor) else value for value in (start, end))
    places: Any = arange(steps, dtype=float64)
    step = (last - first) / max(steps - 1, 1)
    return (first + step * places).where(places * 2 < steps, last - step * (steps - 1 - places))


def linspace(start: Any, end: Any, steps: int, **options: Any) -> Tensor:
    """`steps` numbers from start to end, both included, equally far apart."""
    asked = Options("linspace", options)
    start, end, steps, kind = _ends(start, end, steps, asked)
    if _is_batched(start) or _is_batched(end):
        each: Tensor = _spaced_each(start, end, steps, kind).to(kind)
        return each
    exact = spaced(start, end, steps, kind.numpy_dtype) if asked.xp.valued() else None
    if exact is not None:
        return asked.listed(exact)
    return asked.listed(_spaced(start, end, steps, asked.xp).astype(kind.numpy_dtype))


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, **options: Any) -> Tensor:
    """base to the power of `steps` equally spaced exponents from start to end."""
    asked = Options("logspace", options)
    start, end, steps, kind = _ends(start, end, steps, asked)
    if _is_batched(start) or _is_batched(end):
        each: Tensor = (float(base) ** _spaced_each(start, end, steps, kind)).to(kind)
        return each
    exponents = _spaced(start, end, steps, asked.xp)
    return asked.listed(asked.xp.power(float(base), exponents).astype(kind.numpy_dtype))


def eye(n: int, m: int | None = None, **options: Any) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    rows, columns = shape_of("eye", (n, n if m is None else m))
    asked = Options("eye", options)
    return asked.made(asked.xp.eye(rows, columns, dtype=asked.kind().numpy_dtype))


def tril_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The indices of the lower triangle of a matrix: a row of rows and a row of columns."""
    shape = shape_of("tril_indices", (row, col))
    asked = Options("tril_indices", options)
    kind = asked.kind(int64).numpy_dtype
    if not asked.xp.valued():
        return asked.made(asked.xp.empty((2, _below(shape, offset)), kind))
    return asked.made(np.stack(np.nonzero(np.tri(*shape, offset, dtype=bool))).astype(kind))


def _below(shape: tuple[int, ...], offset: int) -> int:
    """How many elements of a matrix lie on a diagonal or below it."""
    rows, columns = shape
    first, last = max(offset + 1, 1), min(offset + rows, columns)  # of rows that are partly below
    partly = (first + last) * (last - first + 1) // 2 if first <= last else 0
    return partly + columns * max(min(offset + rows - columns, rows), 0)


def triu_indices(row: int, col: int, offset: int = 0, **options: Any) -> Tensor:
    """The indices of the upper triangle of a matrix: a row of rows and a row of columns."""
    shape = shape_of("triu_indices", (row, col))
    asked = Options("triu_indices", options)
    kind = asked.kind(int64).numpy_dtype
    if not asked.xp.valued():
        count = math.prod(shape) - _below(shape, offset - 1)
        return asked.made(asked.xp.empty((2, count), kind))
    return asked.made(np.stack(np.nonzero(~np.tri(*shape, offset - 1, dtype=bool))).astype(kind))


# ---- random numbers ----


def _continuous(asked: Options) -> Any:
    """The data type of numbers that are no integers."""
    kind = asked.kind()
    if kind.category < FLOAT:
        raise NotImplementedError(f"{asked.name} is not implemented for {kind.name}; use randint")
    return kind.numpy_dtype


def _drawn(asked: Options, shape: tuple[int, ...], draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """The answer of a random factory: inside vmap a sample for each element, if that is asked."""
    levels = [level for level in open_levels.get() if level.samples_apart]
    apart = [level for level in levels if level.samples(asked.name)]
    if levels and asked.out is not None:
        raise RuntimeError(
            f"{asked.name}(): calling out variants of random functions is refused inside vmap; use "
            "what the function returns"
        )
    if not apart:
        return asked.made(_in_likeness(asked, asked.xp.drawn(draw, shape)))
    needs, asked.requires_grad = asked.requires_grad, False
    with Below(1):
        sizes = (*[level.samples(asked.name) for level in apart], *shape)
        made = asked.made(asked.xp.drawn(draw, sizes))
    for level in apart:
        made = level.holding(made)
    return made.requires_grad_() if needs else made


def _in_likeness(asked: Options, array: Any) -> Any:
    """Numbers in the order in memory of the tensor that is imitated, or of memory_format."""
    like, order = asked.like, asked.memory_format
    if like is None or type(array) is not np.ndarray or order is contiguous_format:
        return array
    if order in (None, preserve_format):
        if type(like) is not np.ndarray or like.flags.c_contiguous or 0 in like.strides:
            return array
        blank = _blank(asked.xp, like, array.dtype)
    else:
        blank = _room(asked, array.shape, array.dtype)
    blank[...] = array
    return blank


def rand(*size: Any, generator: Any = None, **options: Any) -> Tensor:
    """Numbers spread evenly over [0, 1)."""
    shape = sizes_of("rand", size, options)
    return _evenly(Options("rand", options), shape, generator)


def _evenly(asked: Options, shape: Any, generator: Any) -> Tensor:
    made: Tensor = _drawn(asked, shape, Even(_continuous(asked), 0.0, 1.0, chosen(generator)))
    return made


def _normally(asked: Options, shape: Any, mean: Any, std: Any, generator: Any) -> Tensor:
    if 0 in shape and asked.kind().category < FLOAT:  # of none any type is one, as in PyTorch
        return asked.made(asked.xp.empty(tuple(shape), asked.kind().numpy_dtype))
    made: Tensor = _drawn(asked, shape, Normal(_continuous(asked), mean, std, chosen(generator)))
    return made


def randn(*size: Any, generator: Any = None, **options: Any) -> Tensor:
    """Normally distributed numbers of mean 0 and variance 1."""
    shape = sizes_of("randn", size, options)
    return _normally(Options("randn", options), shape, 0.0, 1.0, generator)


def rand_like(input: Tensor, *, generator: Any = None, **options: Any) -> Tensor:
    """Numbers of [0, 1) in input's shape, data type and device."""
    if _is_wrapped(input):
        return _in_layer("rand_like", (input,), options | {"generator": generator})
    return _evenly(_imitating("rand_like", input, options), input.array.shape, generator)


def randn_like(input: Tensor, *, generator: Any = None, **options: Any) -> Tensor:
    """Normally distributed numbers in input's shape, data type and device."""
    if _is_wrapped(input):
        return _in_layer("randn_like", (input,), options | {"generator": generator})
    asked = _imitating("randn_like", input, options)
    return _normally(asked, input.array.shape, 0.0, 1.0, generator)


def randint(*args: Any, generator: Any = None, **options: Any) -> Tensor:
    """Random integers, at least low (0 if it is left out) and less than high."""
    given = _bounded("randint", ("low", "high", "size"), args, options)
    if len(args) > 3 or "high" not in given or "size" not in given:
        raise TypeError("randint() takes low (0), high and size: randint(0, 10, (2, 3))")
    asked = Options("randint", options)
    return _integers(shape_of("randint", given["size"]), given, asked.kind(int64), asked, generator)


def randint_like(input: Tensor, *bounds: Any, generator: Any = None, **options: Any) -> Tensor:
    """Integers of [low, high) in input's shape, data type and device."""
    if _is_wrapped(input):
        return _in_layer("randint_like", (input, *bounds), options | {"generator": generator})
    given = _bounded("randint_like", ("low", "high"), bounds, options)
    if len(bounds) > 2 or "high" not in given:
        raise TypeError("randint_like() takes a tensor, low (0) and high")
    asked = _imitating("randint_like", input, options)
    return _integers(input.array.shape, given, asked.kind(), asked, generator)


def _bounded(name: str, names: tuple[str, ...], args: Any, options: Any) -> dict[str, Any]:
    """Arguments by name; the first, low, is left out unless all are given in one way or other."""
    count = len(args) + sum(key in options for key in names)
    return _collected(name, names if count == len(names) else names[1:], args, options)


def _whole(name: str, key: str, value: Any) -> int:
    """A bound as an int; numbers that were not whole to begin with are refused."""
    if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}(): {key} must be an int, not {type(value).__name__}")
    return operator.index(value)


def _integers(shape: Any, given: Any, kind: dtype, asked: Options, generator: Any) -> Tensor:
    low, high = (_whole(asked.name, key, given.get(key, 0)) for key in ("low", "high"))
    stream = chosen(generator)
    made: Tensor = _drawn(
        asked, shape, lambda sizes: draw_integers(sizes, kind.numpy_dtype, low, high, stream)
    )
    return made


_EXACT = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}  # integers up to these


def randperm(n: int, *, generator: Any = None, **options: Any) -> Tensor:
    """The integers below n in random order."""
    (count,) = shape_of("randperm", (n,))
    asked = Options("randperm", options)
    source, kind = chosen(generator), asked.kind(int64).numpy_dtype
    if kind.kind in "bcW":
        raise NotImplementedError(f"randperm is not implemented for {kind}; use int64")
    narrow = kind.name in _EXACT or kind.kind in "iu"
    if narrow and count - 1 > (_EXACT.get(kind.name) or np.iinfo(kind).max):
        raise RuntimeError(f"randperm(): not all integers below {count} fit {kind}; use int64")

    def orders(sizes: tuple[int, ...]) -> Any:
        rows = [
            source.draw(lambda stream: stream.permutation(sizes[-1])).astype(kind)
            for _ in range(math.prod(sizes[:-1]))
        ]
        return np.stack(rows).reshape(sizes)

    made: Tensor = _drawn(asked, (count,), orders)
    return made


def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, **options: Any
) -> Tensor:
    """Normally distributed numbers: with means and deviations of tensors, or of a size."""
    if size is not None or not isinstance(mean, Tensor):
        mean = plain_number("normal", "mean", mean, "f")
    if size is not None or not isinstance(std, Tensor):
        std = plain_number("normal", "std", std, "f")
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        out = options.pop("out", None)
        if out is None or isinstance(std, Tensor):
            result: Tensor = normal_from(mean, std, generator, out=out)
        else:  # numbers in the shape of out, to which means are added
            start = zeros(out.shape, dtype=mean.dtype, device=mean.device)
            moved = normal_from(start, std, generator) + mean
            result = write_out("normal", moved, out, NotImplementedError)
        if size is not None or options:
            raise TypeError("normal() takes no size, dtype or device where mean or std is a tensor")
        return result
    if size is None:
        raise TypeError("normal() of two numbers needs a size: normal(0.0, 1.0, (2, 3))")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _normally(Options("normal", options), shape_of("normal", size), mean, std, generator)


# ---- methods that make a tensor like this one, of other data or size ----


def _own(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Options that fall back on a tensor's own data type and device."""
    if options.get("dtype") is None:
        options["dtype"] = self.dtype
    if options.get("device") is None:
        options["device"] = self.device
    return options


def new_tensor(self: Tensor, data: Any, **options: Any) -> Tensor:
    """A new tensor of data, with this one's data type and device."""
    return tensor(data, **_own(self, options))


def _new(name: str, make: Any, self: Tensor, shape: tuple[int, ...], options: Any) -> Tensor:
    """What a factory makes of a shape, with a tensor's data type and device."""
    if self.layer is None:
        return make(shape, **_own(self, options))  # type: ignore[no-any-return]  # a factory
    if _is_wrapped(self):
        return _in_layer(name, (self, shape), options)

    def again(below: Tensor, front: tuple[int, ...]) -> Tensor:
        return _new(name, make, below, (*front, *shape), dict(options))

    return _in_layer(name, (self,), options, again)


def new_zeros(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Zeros with this tensor's data type and device."""
    return _new("new_zeros", zeros, self, sizes_of("new_zeros", size, options), options)


def new_ones(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Ones with this tensor's data type and device."""
    return _new("new_ones", ones, self, sizes_of("new_ones", size, options), options)


def new_empty(self: Tensor, *size: Any, **options: Any) -> Tensor:
    """Uninitialised memory with this tensor's data type and device."""
    return _new("new_empty", empty, self, sizes_of("new_empty", size, options), options)


def new_full(self: Tensor, size: Any, fill_value: Any, **options: Any) -> Tensor:
    """fill_value with this tensor's data type and device."""

    def filled(shape: Any, **rest: Any) -> Tensor:
        return full(shape, fill_value, **rest)

    if _is_wrapped(self):
        return _in_layer("new_full", (self, shape_of("new_full", size), fill_value), options)
    return _new("new_full", filled, self, shape_of("new_full", size), options)


def new_empty_strided(self: Tensor, size: Any, stride: Any, **options: Any) -> Tensor:
    """Uninitialised memory seen with the given strides, with this tensor's data type and device."""
    shape, steps = shape_of("new_empty_strided", size), shape_of("new_empty_strided", stride)
    if self.layer is None:
        return empty_strided(shape, steps, **_own(self, options))
    if _is_wrapped(self):
        return _in_layer("new_empty_strided", (self, shape, steps), options)

    def again(below: Tensor, front: tuple[int, ...]) -> Tensor:
        room = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, steps))
        ahead = (room,) if front else ()
        return new_empty_strided(below, (*front, *shape), (*ahead, *steps), **dict(options))

    return _in_layer("new_empty_strided", (self,), options, again)


METHODS: dict[str, Any] = {
    function.__name__: creating(function)
    for function in (new_empty, new_empty_strided, new_full, new_ones, new_zeros)
}
METHODS["new_tensor"] = overridable_by_modes(new_tensor)

globals().update({name: creating(globals()[name]) for name in __all__ if name != "tensor"})
globals()["tensor"] = overridable_by_modes(lifting(tensor))
