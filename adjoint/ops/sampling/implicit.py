"""Samples of gamma and Dirichlet distributions that know how they move with their parameters.

A sample z is held where it is in its distribution: F(z; a) stays the same as the parameter a moves,
so dz/da = -(dF/da) / (dF/dz). Both derivatives of F are integrals of the density, whose quotient
needs no normalising constant; it is taken towards the nearer tail, where nothing cancels.
"""

import math
from collections.abc import Callable
from typing import Any

from adjoint.backends.numpy import host as np
from adjoint.call.rule import ALIGN, FRONT, LEAD
from adjoint.dtypes import FLOAT, category_of, from_numpy_dtype
from adjoint.ops.annotations import Array, Value
from adjoint.ops.elementwise.special import kernel
from adjoint.ops.op import general
from adjoint.ops.reducing.reduction import sum
from adjoint.ops.shared_rules import refused_derivative
from adjoint.random import chosen


def _rule(step: float, low: float, high: float) -> list[tuple[float, float]]:
    """Nodes and weights for integrals from 0 to infinity of what decays exponentially.

    The trapezoid rule after s = exp(u - exp(-u)), which reaches both ends double exponentially.
    """
    places = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    nodes = [(u, math.exp(u - math.exp(-u))) for u in places]
    return [(node, step * (1 + math.exp(-u)) * node) for u, node in nodes]


# For double precision 12 digits, for less 6.
_FINE, _COARSE = _rule(1 / 12, -4, 4.5), _rule(1 / 6, -3.2, 4)


def _integral(rate: Any, numpy_dtype: Any, integrand: Callable[[Any], Any]) -> Any:
    """The integral of a function that decays at about that rate."""
    total: Any = 0.0
    for node, weight in _FINE if numpy_dtype == "float64" else _COARSE:
        total = total + weight * integrand(node / rate)
    return total / rate


_FEW = 1.5


def _wide(xp: Any, array: Any) -> Any:
    return xp.asarray(array, dtype="float64")


def _check(input: Any, what: str) -> None:
    if category_of(input.dtype) != FLOAT:
        raise RuntimeError(
            f"{what} needs floating-point parameters, not {from_numpy_dtype(input.dtype).name}"
        )


def _drawn_gamma(parameter: Any, generator: Any) -> Any:
    """Samples of Gamma(parameter, 1) in double precision, none of them quite 0."""
    concentration = parameter.astype("float64")
    drawn = generator.draw(lambda stream: stream.standard_gamma(concentration))
    return np.maximum(np.asarray(drawn), np.finfo("float64").tiny)


# ---- the gamma distribution ----


@general(
    input=refused_derivative("gamma_slope"),
    output=refused_derivative("gamma_slope"),
    batching=ALIGN,
    home=None,
)
def gamma_slope(xp: Any, input: Array, output: Array) -> Array:
    """How a sample `output` of Gamma(input, 1) moves with input."""
    shape, sample = _wide(xp, input), _wide(xp, output)
    # Up to a few units, little cancels below, and above the end of the tail would be abrupt.
    upper = (sample >= shape) & (sample > _FEW)
    side = xp.where(upper, 1.0, -1.0)
    offset = side * (xp.log(sample) - kernel(xp, "digamma", shape))

    def integrand(distance: Any) -> Any:
        moved = side * distance
        # Beyond 700 the exponential of an exponential is 0 in any case.
        growth = xp.expm1(xp.minimum(moved, 700.0))
        return (distance + offset) * xp.exp(shape * moved - sample * growth)

    nearby = xp.abs(shape - sample) + xp.sqrt(sample)
    rate = xp.where(upper, nearby, xp.minimum(shape, nearby))
    return (sample * _integral(rate, input.dtype, integrand)).astype(input.dtype)


@general(
    input=lambda grad, input, result: grad * gamma_slope(input, result),
    jvp=lambda input_tangent, input, result: input_tangent * gamma_slope(input, result),
    batching=FRONT,
    draws="standard_gamma",
    home=None,
    node_name="StandardGammaBackward0",
)
def standard_gamma(xp: Any, input: Array, generator: Any = None) -> Array:
    """A sample of the gamma distribution of each element as concentration, with rate 1."""
    _check(input, "standard_gamma")
    stream = chosen(generator)

    def draw(shape: Any, concentration: Any) -> Any:
        kind = concentration.dtype
        return np.maximum(_drawn_gamma(concentration, stream).astype(kind), np.finfo(kind).tiny)

    return xp.drawn(draw, input.shape, input)


# ---- the Dirichlet distribution ----


@general(
    x=refused_derivative("dirichlet_slope"),
    alpha=refused_derivative("dirichlet_slope"),
    total=refused_derivative("dirichlet_slope"),
    batching=ALIGN,
    home=None,
)
def dirichlet_slope(xp: Any, x: Array, alpha: Array, total: Array) -> Array:
    """How a part of a sample moves with its own concentration, over the rest, 1 - x.

    A part is distributed as Beta(alpha, total - alpha); the integrals run over its log odds.
    """
    first, both = _wide(xp, alpha), _wide(xp, total)
    limits = xp.finfo(x.dtype)
    part = xp.clip(_wide(xp, x), float(limits.tiny), 1 - float(limits.eps))
    logarithm, rest = xp.log(part), xp.log1p(-part)
    odds = logarithm - rest
    below, above = -both * rest < _FEW, -both * logarithm < _FEW  # where little would cancel
    upper = xp.where(below == above, part * both >= first, above)
    side = xp.where(upper, 1.0, -1.0)
    expected = kernel(xp, "digamma", first) - kernel(xp, "digamma", both)

    def integrand(distance: Any) -> Any:
        moved = side * distance
        softplus = xp.logaddexp(0.0, odds + moved)
        density = xp.exp(first * moved - both * (softplus + rest))
        return side * (odds + moved - softplus - expected) * density

    nearby = xp.abs(first - both * part) + xp.sqrt(both * part * (1 - part))
    rate = xp.minimum(xp.where(upper, both - first, first), nearby)
    return (part * _integral(rate, x.dtype, integrand)).astype(x.dtype)


def dirichlet_rule(grad: Value, input: Value, result: Value) -> Value:
    """The gradient of parts by their concentrations, from that of what was made of them."""
    return _parts_slope(input, result) * (grad - sum(result * grad, -1, True))


def _parts_slope(input: Value, result: Value) -> Value:
    """How parts move with their own concentrations, over the rest."""
    return dirichlet_slope(result, input, sum(input, -1, True) + input * 0)


def _dirichlet_tangent(input_tangent: Value, input: Value, result: Value) -> Value:
    """What one part gains, all give in proportion."""
    gained = input_tangent * _parts_slope(input, result)
    return gained - result * sum(gained, -1, True)


@general(
    input=dirichlet_rule,
    jvp=_dirichlet_tangent,
    batching=FRONT,
    draws="standard_dirichlet",
    home=None,
    node_name="SampleDirichletBackward0",
)
def standard_dirichlet(xp: Any, input: Array, generator: Any = None) -> Array:
    """Parts of 1, with the last dimension of input as concentrations."""
    _check(input, "standard_dirichlet")
    stream = chosen(generator)

    def draw(shape: Any, concentration: Any) -> Any:
        drawn = _drawn_gamma(concentration, stream)
        parts = drawn / drawn.sum(-1, keepdims=True)
        limits = np.finfo(concentration.dtype)
        return np.clip(parts, limits.tiny, 1 - limits.eps / 2).astype(concentration.dtype)

    return xp.drawn(draw, input.shape, input)


# ---- the von Mises distribution ----


@general(batching=LEAD, draws="von_mises", home=None)
def angles(xp: Any, loc: Array, concentration: Array, generator: Any = None) -> Array:
    """Samples of the von Mises distribution, in [-π, π)."""
    stream = chosen(generator)

    def draw(shape: Any, *parameters: Any) -> Any:
        centre, width = (parameter.astype("float64") for parameter in parameters)
        drawn = stream.draw(lambda numbers: numbers.vonmises(centre, width))
        return np.remainder(np.asarray(drawn) + math.pi, 2 * math.pi) - math.pi

    shape = xp.broadcast_shapes(loc.shape, concentration.shape)
    return xp.drawn(draw, shape, loc, concentration).astype(loc.dtype)
