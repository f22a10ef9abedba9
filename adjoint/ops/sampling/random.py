"""Random tensors from tensors: samples, in-place fillers, dropout.

A generator gives the same numbers on every device (see `adjoint.random`). What was drawn does not
depend smoothly on the parameters: their gradients are zero, as in PyTorch.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from adjoint.backends.chance import Even, Normal, cast
from adjoint.backends.numpy import host as np
from adjoint.call.out import write_out
from adjoint.call.rule import FRONT, LEAD
from adjoint.dtypes import BOOL, FLOAT, category_of, from_numpy_dtype, refuse_kinds
from adjoint.ops.annotations import Array, Operand, Value
from adjoint.ops.arranging.conversion import clone, finfo, zeros_of
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.composites import overridable
from adjoint.ops.elementwise.arithmetic import mul
from adjoint.ops.elementwise.comparison import eq, ne
from adjoint.ops.op import composite, general
from adjoint.ops.plain_numbers import plain_number
from adjoint.ops.shared_rules import refused_derivative
from adjoint.random import chosen
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.tensor import Tensor


def _require_float(kind: Any, what: str) -> None:
    if category_of(kind) < FLOAT:
        raise NotImplementedError(
            f"{what} is not implemented for {from_numpy_dtype(kind).name}: the numbers are "
            "no integers; use a floating-point tensor"
        )


def _require_real(kind: Any, what: str) -> None:
    if category_of(kind) != FLOAT:
        raise RuntimeError(
            f"{what}: the distribution is continuous and real: the tensor must be floating point, "
            f"not {from_numpy_dtype(kind).name}"
        )


def draw_integers(shape: Any, numpy_dtype: Any, low: int, high: int, generator: Any) -> Any:
    """Integers of [low, high) as any data type."""
    if low >= high:
        raise RuntimeError(
            f"random integers need a lower bound below the upper: got from={low} >= to={high}"
        )
    if category_of(numpy_dtype) > FLOAT:
        raise RuntimeError("random integers are real: complex numbers are not drawn")
    limits = _limits(numpy_dtype)
    if low < limits[0] or high - 1 > limits[1]:
        raise RuntimeError(
            f"the bounds [{low}, {high}) are out of range for {from_numpy_dtype(numpy_dtype).name}"
        )
    if category_of(numpy_dtype) == FLOAT:
        low, high = _between_rounded(numpy_dtype, low, high)
    wide = "uint64" if high - 1 > np.iinfo("int64").max else "int64"
    drawn = generator.draw(lambda stream: stream.integers(low, high, shape, wide))
    return cast(np.asarray(drawn), numpy_dtype)


def _limits(numpy_dtype: Any) -> tuple[int, int]:
    if category_of(numpy_dtype) == BOOL:
        return 0, 1
    real = category_of(numpy_dtype) == FLOAT
    limits: Any = finfo(from_numpy_dtype(numpy_dtype)) if real else np.iinfo(numpy_dtype)
    return int(limits.min), int(limits.max)


def _exact(numpy_dtype: Any) -> int:
    """The largest power of two below which a floating type has every integer."""
    digits = {2: 11 if numpy_dtype == "float16" else 8, 4: 24, 8: 53}
    return int(2 ** digits[from_numpy_dtype(numpy_dtype).to_real().itemsize])


def _between_rounded(numpy_dtype: Any, low: int, high: int) -> tuple[int, int]:
    """Bounds of integers that stay within [low, high) when a floating type rounds them."""
    if max(-low, low, high - 1) <= _exact(numpy_dtype):
        return low, high
    warnings.warn(
        f"{from_numpy_dtype(numpy_dtype).name} does not have all integers of [{low}, {high}): some "
        "are never drawn",
        stacklevel=2,
    )
    kind = numpy_dtype.type
    first, last = kind(low + 1), kind(high - 1)
    while int(first) < low:
        first = np.nextafter(first, kind(math.inf))
        low = max(low, int(first))
    while int(last) >= high:
        last = np.nextafter(last, kind(-math.inf))
        high = min(high, int(last) + 1)
    if low >= high:
        raise RuntimeError(
            f"{from_numpy_dtype(numpy_dtype).name} has no integer from {low} to {high}"
        )
    return low, high


# ---- samples ----


def _check_probability(p: Any) -> None:
    if not np.all((p >= 0) & (p <= 1)):
        raise RuntimeError("the probabilities of bernoulli must lie in [0, 1]")


def _coin_flips(shape: Any, p: Any, generator: Any) -> Any:
    _check_probability(np.asarray(p))
    stream = chosen(generator)
    return np.asarray(stream.draw(lambda numbers: numbers.random(shape))) < p


@general(
    input=lambda grad: zeros_of(grad),
    jvp=lambda result: zeros_of(result),
    name="bernoulli_input",
    batching=FRONT,
    draws="bernoulli",
    node_name="BernoulliBackward0",
    home=None,
    refuses="c",
)
def _bernoulli_input(xp: Any, input: Array, generator: Any = None) -> Array:
    """1 with the probability each element says, else 0."""
    _require_float(input.dtype, "bernoulli")
    return _flipped(xp, input, input, generator)


def _flipped(xp: Any, like: Any, p: Any, generator: Any) -> Any:
    """Coin flips in the shape and data type of an array."""
    refuse_kinds("bernoulli", p, "cbiu")
    if not (hasattr(p, "dtype") or isinstance(p, (int, float))):
        raise TypeError(f"bernoulli(): p must be a real number or a Tensor, not {p!r}")
    if isinstance(p, (int, float)):
        _check_probability(np.asarray(p))
        found = xp.flips(chosen(generator), like.shape, float(p))
        if found is not None:
            return found.astype(like.dtype)
    flips = xp.drawn(lambda shape, p: _coin_flips(shape, p, generator), like.shape, p)
    return flips.astype(like.dtype)


# The probability of the dropout whose mask is being drawn in several steps, for who looks on.
_of_mask: ContextVar[float | None] = ContextVar("adjoint_of_mask", default=None)


@contextmanager
def drawn_as_mask(p: float) -> Iterator[None]:
    """As a context: bernoulli_ draws what dropout_mask draws, so that a seed gives the same."""
    token = _of_mask.set(p)
    try:
        yield
    finally:
        _of_mask.reset(token)


def _kept(sizes: Any, p: float) -> Any:
    """Which elements dropout keeps."""
    return np.asarray(chosen(None).draw(lambda numbers: numbers.random(sizes, "float32"))) >= p


def _fill_bernoulli(xp: Any, array: Any, p: Any, generator: Any) -> None:
    dropped = _of_mask.get()
    if dropped is None:
        array[...] = _flipped(xp, array, p, generator)
    else:
        array[...] = xp.drawn(lambda sizes: _kept(sizes, dropped), array.shape)


@general(
    input=lambda grad: zeros_of(grad),
    p=lambda grad: zeros_of(grad),
    jvp=lambda result: zeros_of(result),
    mutate=_fill_bernoulli,
    inplace=True,
    name="bernoulli_p",
    batching=LEAD,
    draws="bernoulli",
    draws_by_form=True,
    node_name=lambda node: f"BernoulliBackward{2 if node.edges()[1][0] is None else 1}",
    home=None,
    refuses="c",
)
def _bernoulli_p(xp: Any, input: Array, p: Operand = 0.5, generator: Any = None) -> Array:
    """1 with probability p, else 0, in input's shape."""
    return _flipped(xp, input, p, generator)


@composite
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Value:
    """0 or 1, where each element (or p) is the probability of 1."""
    if out is not None:  # 0 and 1 are of any type
        return write_out("bernoulli", bernoulli(input, p, generator=generator).to(out.dtype), out)
    if p is None:
        return _bernoulli_input(input, generator=generator)
    p = plain_number("bernoulli", "p", p, "f")
    return _bernoulli_p(input, p, generator=generator)


@general(
    input=lambda grad: zeros_of(grad),
    jvp=lambda result: zeros_of(result),
    batching=FRONT,
    draws="poisson",
    refuses="c",
)
def poisson(xp: Any, input: Array, generator: Any = None) -> Array:
    """Counts of events, where each element is the expected count."""
    _require_float(input.dtype, "poisson")
    stream = chosen(generator)

    def draw(shape: Any, rate: Any) -> Any:
        if not np.all(rate >= 0):
            raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
        drawn = np.zeros(shape, rate.dtype)
        # Nothing is drawn where there is no chance, but NumPy takes as long for it.
        some = np.flatnonzero(rate > 0)
        rates = rate.reshape(-1)[some].astype("float64")
        drawn.reshape(-1)[some] = stream.draw(lambda numbers: numbers.poisson(rates))
        return drawn

    return xp.drawn(draw, input.shape, input)


@general(
    count=refused_derivative("binomial"),
    prob=refused_derivative("binomial"),
    batching=LEAD,
    draws="binomial",
    node_name="BinomialBackward0",
    home=None,
)
def successes(xp: Any, count: Array, prob: Array, generator: Any = None) -> Array:
    """See binomial."""
    if count.dtype != prob.dtype:
        raise RuntimeError(f"count and prob must have one data type: {count.dtype}, {prob.dtype}")
    stream = chosen(generator)

    def draw(shape: Any, trials: Any, chance: Any) -> Any:
        trials, chance = np.broadcast_arrays(trials, chance)
        drawn, possible = np.empty(shape, trials.dtype), (trials >= 1) & (chance > 0)
        uncertain, whole = possible & (chance < 1), np.trunc(np.maximum(trials, 0))
        if np.isfinite(np.vdot(trials, trials) + np.vdot(chance, chance)):  # and so is each
            np.multiply(whole, possible ^ uncertain, out=drawn)
        else:
            drawn[...] = np.where(possible ^ uncertain, whole, 0)
            np.copyto(drawn, np.nan, where=np.isnan(trials) | np.isnan(chance))
        some = uncertain.reshape(-1).nonzero()[0]  # see poisson
        counts = trials.reshape(-1).take(some).astype("int64")
        chances = chance.reshape(-1).take(some).astype("float64")
        found = stream.draw(lambda numbers: numbers.binomial(counts, chances))
        drawn.reshape(-1)[some] = found.astype(drawn.dtype)
        return drawn

    shape = xp.broadcast_shapes(count.shape, prob.shape)
    return xp.drawn(draw, shape, count, prob)


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Value:
    """How many of count trials succeed, each with probability prob."""
    for name, tensor in (("count", count), ("prob", prob)):
        if not tensor.dtype.is_floating_point:
            raise ValueError(f"binomial(): {name} must be floating point, not {tensor.dtype}")
    return successes(count, prob, generator)


def _multinomial_over_batch(
    input: Any, input_shape: Any, num_samples: int, replacement: bool, generator: Any
) -> Any:
    """Rows of weights, as many as all elements have together."""
    rows = reshape(input, (-1, input_shape[-1]))
    drawn = multinomial(rows, num_samples, replacement, generator=generator)
    return reshape(drawn, (input.shape[0], *input_shape[:-1], num_samples))


@general(vmap=_multinomial_over_batch, draws="multinomial", exact_out=True)
def multinomial(
    xp: Any, input: Array, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Array:
    """Indices drawn with the weights in each row of input."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"the weights must have 1 or 2 dimensions, not {input.ndim}")
    if category_of(input.dtype) != FLOAT:
        raise RuntimeError(
            f"the weights must be floating point, not {from_numpy_dtype(input.dtype).name}"
        )
    if num_samples <= 0:
        raise RuntimeError(f"cannot draw {num_samples} samples")
    count = input.shape[-1]
    if not replacement and num_samples > count:
        raise RuntimeError(
            f"cannot draw {num_samples} samples of {count} categories without replacement"
        )
    stream = chosen(generator)

    def draw(shape: Any, weights: Any) -> Any:
        rows = weights.astype("float64").reshape(-1, count)
        return _picks(rows, num_samples, replacement, stream).reshape(shape)

    return xp.drawn(draw, (*input.shape[:-1], num_samples), input)


def _picks(weights: Any, num_samples: int, replacement: bool, stream: Any) -> Any:
    """For each row of weights the places that were drawn."""
    count = weights.shape[1]
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise RuntimeError("the weights contain inf, nan or an element < 0")
    total = weights.sum(axis=1, keepdims=True)
    if np.any(total <= 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement or num_samples == 1:
        points = stream.draw(lambda numbers: numbers.random((len(weights), num_samples)))
        edges = np.cumsum(weights / total, axis=1)
        last = count - 1 - np.argmax(weights[:, ::-1] > 0, axis=1, keepdims=True)
        if num_samples == 1:
            drawn = np.count_nonzero(edges <= points, axis=1, keepdims=True)
        else:
            rows = [np.searchsorted(e, p, side="right") for e, p in zip(edges, points)]
            drawn = np.asarray(rows).reshape(points.shape)
        drawn = np.minimum(drawn, last)  # rounding may leave the last edge below 1
    else:
        # The largest of Gumbel-shifted log weights are a sample without replacement.
        noise = stream.draw(lambda numbers: numbers.gumbel(size=weights.shape))
        with np.errstate(divide="ignore"):
            drawn = np.argsort(-(np.log(weights) + noise), axis=1, kind="stable")[:, :num_samples]
    return drawn.astype("int64")


def _normal_from(xp: Any, mean: Any, std: Any, generator: Any, kind: Any) -> Any:
    """A sample for tensors of means, of deviations, or both."""

    def draw(shape: Any, means: Any, deviations: Any) -> Any:
        if not np.all(np.asarray(deviations) >= 0):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        return Normal(kind, means, deviations, chosen(generator))(shape)

    numbers = (bool, int, float)
    shapes = [p.shape for p in (mean, std) if not isinstance(p, numbers)]
    return xp.drawn(draw, xp.broadcast_shapes(*shapes), mean, std)


@general(
    mean=lambda grad: zeros_of(grad),
    std=lambda grad: zeros_of(grad),
    jvp=lambda result: zeros_of(result),
    batching=LEAD,
    draws="normal",
    node_name="NormalBackward1",
    home=None,
    exact_out=NotImplementedError,
    aligned=True,
)
def normal_from(xp: Any, mean: Operand, std: Operand = 1.0, generator: Any = None) -> Array:
    """Normally distributed numbers, each with its own mean, deviation or both."""
    kind = std.dtype if isinstance(mean, (int, float)) else mean.dtype
    for parameter in (mean, std):
        if not isinstance(parameter, (int, float)):
            _require_float(parameter.dtype, "normal")
    if not isinstance(std, (int, float)) and category_of(std.dtype) > FLOAT:
        raise RuntimeError("normal(): std must be real, got complex numbers")
    return _normal_from(xp, mean, std, generator, kind)


# ---- in-place fillers ----


def _filler(
    name: str,
    node_name: str,
    draw: Callable[..., Any],
    first: Any,
    second: Any,
    refuses: str = "c",
) -> Any:
    """The op that fills a tensor with numbers of one distribution; draw answers how they are."""
    public = draw.__name__.strip("_") + "_"

    def forward(
        xp: Any,
        input: Any,
        a: float | None = first,
        b: float | None = second,
        generator: Any = None,
    ) -> Any:
        return xp.drawn(draw(input.dtype, a, b, chosen(generator)), input.shape)

    def fill(xp: Any, array: Any, a: Any, b: Any, generator: Any) -> None:
        array[...] = forward(xp, array, a, b, generator)

    forward.__doc__ = draw.__doc__
    return general(
        input=lambda grad: zeros_of(grad),
        jvp=lambda result: zeros_of(result),
        name=name,
        node_name=node_name,
        mutate=fill,
        inplace=True,
        batching=FRONT,
        draws=public,
        draws_by_form=True,
        home=None,
        refuses=refuses,
    )(forward)


def _uniform(kind: Any, low: float, high: float, generator: Any) -> Any:
    """Numbers spread evenly over [from, to)."""
    _require_float(kind, "uniform_")
    if low > high:
        raise RuntimeError(f"the range [from, to) needs from <= to, but got from={low} > to={high}")
    widest = np.finfo(kind if kind in ("float16", "float64") else "float32").max
    if not (-widest <= low and high <= widest and float(high) - float(low) <= widest):
        raise RuntimeError(f"the range from {low} to {high} is wider than {kind} can hold")
    return Even(kind, low, high, generator)


def _normal(kind: Any, mean: float, std: float, generator: Any) -> Any:
    """Normally distributed numbers."""
    _require_float(kind, "normal_")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return Normal(kind, mean, std, generator)


def _log_normal(kind: Any, mean: float, std: float, generator: Any) -> Any:
    """Numbers whose logarithms are normally distributed."""
    _require_float(kind, "log_normal_")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    logarithms = Normal(np.dtype("float64"), mean, std, generator)
    return lambda shape: cast(np.asarray(np.exp(logarithms(shape))), kind)


def _cauchy(kind: Any, median: float, sigma: float, generator: Any) -> Any:
    """Numbers of the Cauchy distribution."""
    _require_real(kind, "cauchy_")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")

    def draw(shape: Any) -> Any:
        drawn = generator.draw(lambda stream: stream.standard_cauchy(shape))
        return cast(np.asarray(drawn * sigma + median), kind)

    return draw


def _exponential(kind: Any, lambd: float, unused: None, generator: Any) -> Any:
    """Exponentially distributed numbers of rate lambd."""
    _require_real(kind, "exponential_")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")

    def draw(shape: Any) -> Any:
        drawn = generator.draw(lambda stream: stream.standard_exponential(shape))
        return cast(np.asarray(drawn / lambd), kind)

    return draw


def _geometric(kind: Any, p: float, unused: None, generator: Any) -> Any:
    """How many trials of success probability p there are up to the first success."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")

    def draw(shape: Any) -> Any:
        return cast(np.asarray(generator.draw(lambda stream: stream.geometric(p, shape))), kind)

    return draw


def _random(kind: Any, low: Any, high: Any, generator: Any) -> Any:
    """Integers of [from, to), or over all the data type can count to."""
    if high is None:
        category = category_of(kind)
        if category == BOOL:
            high = 2
        elif category < FLOAT:
            high = _limits(kind)[1] + 1
        else:  # the largest power of two below which every integer is exact
            high = _exact(kind)
    return lambda shape: draw_integers(shape, kind, int(low), int(high), generator)


uniform = _filler("uniform", "UniformBackward0", _uniform, 0.0, 1.0, "")
normal_fill = _filler("normal_fill", "NormalBackward0", _normal, 0.0, 1.0, "")
log_normal = _filler("log_normal", "LogNormalBackward0", _log_normal, 1.0, 2.0)
cauchy = _filler("cauchy", "CauchyBackward0", _cauchy, 0.0, 1.0, "")
exponential = _filler("exponential", "ExponentialBackward0", _exponential, 1.0, None, "")
geometric = _filler("geometric", "GeometricBackward0", _geometric, 0.5, None, "bc")
random = _filler("random", "RandomBackward2", _random, 0, None, "")


def _filled(op: Any, self: Tensor, first: Any, second: Any, generator: Any) -> Any:
    """A tensor filled by a filler with two numbers, which may not be tensors with a gradient."""
    return apply_inplace(op, op.settle_numbers([self, first, second, generator]))


def uniform_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Any:
    """Fill with numbers spread evenly over [from, to)."""
    low, high = _bounds("uniform_", args, bounds, (0.0, 1.0))
    return _filled(uniform, self, low, high, generator)


def random_(self: Tensor, *args: Any, generator: Any = None, **bounds: Any) -> Any:
    """Fill with integers of [from, to), of [0, to), or over all the data type can count to."""
    if len(args) == 1 and not bounds:
        args = (0, *args)
    low, high = _bounds("random_", args, bounds, (0, None))
    return _filled(random, self, low, high, generator)


def _bounds(name: str, args: Any, bounds: Any, defaults: tuple[Any, Any]) -> tuple[Any, Any]:
    """The arguments from and to; the first is a keyword of Python, so it comes in a dict."""
    given = dict(zip(("from", "to"), defaults))
    if len(args) > 2 or bounds.keys() - given.keys():
        raise TypeError(f"{name}() takes from, to and generator, got {args} and {bounds}")
    given.update(zip(given, args))
    given.update(bounds)
    return given["from"], given["to"]


def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with normally distributed numbers."""
    return _filled(normal_fill, self, mean, std, generator)


def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
    """Fill with numbers whose logarithms are normally distributed."""
    return _filled(log_normal, self, mean, std, generator)


def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with numbers of the Cauchy distribution."""
    return _filled(cauchy, self, median, sigma, generator)


def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Fill with exponentially distributed numbers."""
    return _filled(exponential, self, lambd, None, generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Any:
    """Fill with the number of trials up to the first success."""
    return _filled(geometric, self, p, None, generator)


def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Fill with 1, with probability p, or 0."""
    return apply_inplace(_bernoulli_p, [self, p, generator])


# ---- dropout ----


def _mask_over_batch(input: Any, p: float, scale: float, channels: bool) -> Any:
    """Channels of all samples of all elements, which lie along the first dimensions."""
    if not channels:
        return dropout_mask(input, p, scale)
    size, count, *rest = input.shape
    mask = dropout_mask(reshape(input, (size * count, *rest)), p, scale, channels)
    return reshape(mask, (size, count, *mask.shape[1:]))


@general(
    vmap=_mask_over_batch,
    draws="dropout",
    draws_by_form=True,
    home=None,
    ordered="argument",
    refuses="c",
)
def dropout_mask(xp: Any, input: Any, p: float, scale: float = 1.0, channels: bool = False) -> Any:
    """0 with probability p, else `scale`, for each element of input, or each of its channels."""
    shape = (*input.shape[:2], *[1] * (input.ndim - 2)) if channels else input.shape
    kind = input.dtype

    def draw(sizes: Any) -> Any:
        kept = _kept(sizes, p).astype(kind)
        return kept if scale == 1 else kept * kind.type(scale)

    return xp.drawn(draw, shape)


def _mask(input: Tensor, p: float) -> Any:
    """1 / (1 - p) where an element is kept, else 0."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return dropout_mask(input, p, 0.0 if p == 1.0 else 1.0 / (1.0 - p))


def _keeps_all(input: Tensor, p: float, train: bool) -> bool:
    return not train or p == 0 or math.prod(input.shape) == 0


@composite(method=False)
def dropout(input: Tensor, p: float = 0.5, train: bool = True) -> Value:
    """Zero each element with probability p and scale the others so that the mean stays."""
    if category_of(input.dtype) < FLOAT and train:
        raise RuntimeError(
            "dropout: the result can't be cast to an integer type; use a float tensor"
        )
    return input if _keeps_all(input, p, train) else mul(input, _mask(input, p))


@composite(method=False)
def dropout_(input: Tensor, p: float = 0.5, train: bool = True) -> Value:
    """In-place form of dropout."""
    if _keeps_all(input, p, train):
        return input
    return apply_inplace(mul, [input, _mask(input, p)])


@composite(method=False)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Value, Value]:
    """What dropout makes of input, and where it has kept it."""
    if train is False:
        return clone(input), eq(zeros_of(input), 0)
    if category_of(input.dtype) < FLOAT:
        raise RuntimeError("native_dropout: expected a float tensor, since the others are scaled")
    factor = _mask(input, p)
    return mul(input, factor), ne(factor, 0)


_FILLERS = (bernoulli_, cauchy_, exponential_, geometric_, log_normal_, normal_, random_, uniform_)
METHODS: dict[str, Any] = {each.__name__: overridable(each) for each in _FILLERS}
