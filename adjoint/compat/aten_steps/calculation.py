"""The steps of arithmetic and reductions."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, renamed
from adjoint.compat.aten_steps.gradients_of_functions import SELU, finite
from adjoint.dtypes import FLOAT, bool_, complex128, float64
from adjoint.ops.arranging.conversion import contiguous_format, preserve_format, strided
from adjoint.tensors.tensor import Tensor


def _add(ask: Steps, input: Any, other: Any, alpha: Any = 1) -> Any:
    if not isinstance(input, Tensor) and alpha == 1:
        input, other = other, input
    return ask("add", input, other, alpha=alpha)


def _mul(ask: Steps, input: Any, other: Any) -> Any:
    return ask("mul", input, other) if isinstance(input, Tensor) else ask("mul", other, input)


def _sub(ask: Steps, input: Any, other: Any, alpha: Any = 1) -> Any:
    if isinstance(input, Tensor):
        return ask("sub", input, other, alpha=alpha)
    return ask("rsub", other, input, alpha)


def _true_divide(ask: Steps, input: Any, other: Any) -> Any:
    if isinstance(input, Tensor):
        return ask("div", input, other)
    return ask("mul", ask("reciprocal", other), input)


def _square(ask: Steps, input: Any) -> Any:
    return ask("pow", input, 2)


def _rounded_divide(ask: Steps, input: Any, other: Any, rounding_mode: str) -> Any:
    return ask("div", input, other, rounding_mode=rounding_mode)


def _choose(ask: Steps, condition: Any, input: Any, other: Any) -> Any:
    like = input if isinstance(input, Tensor) else other
    found = []
    for value in (input, other):
        if not isinstance(value, Tensor) and isinstance(like, Tensor):
            place = {"dtype": like.dtype, "layout": strided, "device": like.device}
            value = ask("scalar_tensor", value, **place)
        found.append(value)
    return ask("where", condition, *found)


# ---- reductions ----


def _spread_of(name: str) -> Any:
    """Steps of var and std, of which PyTorch has a single form."""

    def steps(
        ask: Steps, input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
    ) -> Any:
        if isinstance(dim, bool):  # as the second argument, it says whether to correct
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None and dim is not None:
            correction = 1
        dims = [dim] if isinstance(dim, int) else dim
        return ask(name, input, dims, correction=correction, keepdim=keepdim)

    return steps


def _mean(ask: Steps, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim:
        return ask("mean", input, dtype=dtype)
    return ask("mean", input, [dim] if isinstance(dim, int) else dim, keepdim, dtype=dtype)


def _sum(ask: Steps, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim:
        return ask("sum", input, dtype=dtype)
    return ask("sum", input, [dim] if isinstance(dim, int) else dim, keepdim, dtype=dtype)


def _along(name: str) -> Any:
    """Steps of a reduction of one dimension, or of all."""

    def steps(ask: Steps, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return ask(name, input) if dim is None else ask(name, input, dim, keepdim)

    return steps


def _p_norm(ask: Steps, input: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    dims = [dim] if isinstance(dim, int) else dim
    return ask("linalg_vector_norm", input, p, dims, keepdim)


def _softmax(name: str) -> Any:
    def steps(ask: Steps, input: Any, dim: int, dtype: Any) -> Any:
        if dtype is not None and dtype is not input.dtype:
            input = ask("_to_copy", input, dtype=dtype)
        return ask(name, input, dim, False)

    return steps


def _spread_sum(ask: Steps, input: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if dim is not None and not keepdim and len(shape):
        dims = [dim] if isinstance(dim, int) else list(dim)
        for each in sorted(d % len(shape) for d in dims):
            input = ask("unsqueeze", input, each)
    return ask("expand", input, shape)


def _relu_back(ask: Steps, slope: Any, output: Any) -> Any:
    return ask("threshold_backward", slope, output, 0)


def _column_sums(ask: Steps, input: Any) -> Any:
    return ask("sum", input, [0])


def _polygamma(ask: Steps, input: Any, n: int) -> Any:
    return ask("polygamma", n, input)


def _argsort(ask: Steps, input: Any, dim: int, descending: bool, stable: Any) -> Any:
    if stable:
        return ask("sort", input, stable=True, dim=dim, descending=descending)[1]
    return ask("sort", input, dim, descending)[1]


def _isfinite(ask: Steps, input: Any) -> Any:
    if input.dtype.category < FLOAT:
        return ask("ones_like", input, dtype=bool_)
    return finite(ask, input)


def _isreal(ask: Steps, input: Any) -> Any:
    if input.dtype.category > FLOAT:
        return ask("eq", ask("select", ask("view_as_real", input), input.ndim, 1), 0)
    return ask("ones_like", input, dtype=bool_, memory_format=preserve_format)


def _float_power(ask: Steps, input: Any, exponent: Any) -> Any:
    kinds = [each.array.dtype.kind for each in (input, exponent) if isinstance(each, Tensor)]
    number = isinstance(input, complex) or isinstance(exponent, complex)
    double = complex128 if number or "c" in kinds else float64
    wide = [
        ask("_to_copy", each, dtype=double)
        if isinstance(each, Tensor) and each.dtype is not double
        else each
        for each in (input, exponent)
    ]
    return ask("pow", *wide)


def _ndtr(ask: Steps, input: Any) -> Any:
    error = ask("erf", ask("mul.Scalar", input, math.sqrt(0.5)))
    return ask("mul.Scalar", ask("add.Scalar", error, 1), 0.5)


def _isclose(ask: Steps, input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    if input.dtype.category < FLOAT:
        return ask("isclose", input, other, rtol, atol, equal_nan)
    close = ask("eq", input, other)
    if equal_nan:
        undefined = ask("ne", input, input)
        undefined = ask("__iand__", undefined, ask("ne", other, other))
        close = ask("__ior__", close, undefined)
    if rtol == 0 == atol:
        return close
    allowed = ask("abs", ask("mul.Scalar", other, rtol))
    allowed = ask("add.Scalar", allowed, atol)
    apart = ask("abs", ask("sub", input, other))
    known = finite(ask, apart)
    within = ask("le", apart, allowed)
    return ask("bitwise_or_", close, ask("bitwise_and_", known, within))


def _fill_diagonal(ask: Steps, input: Any, fill_value: Any, wrap: bool = False) -> Any:
    rows, least = input.shape[0], min(input.shape)
    if wrap and input.ndim == 2 and rows > input.shape[1] + 1:
        return ask("fill_diagonal_", input, fill_value, wrap)
    step = sum(input.stride())
    return ask(
        "fill_", ask("as_strided", input, [least], [step], input.storage_offset()), fill_value
    )


def _drawn(name: str) -> Any:
    """The step of what is drawn: a generator is given by name."""

    def steps(ask: Steps, *values: Any) -> Any:
        return ask(name, *values[:-1], generator=values[-1])

    return steps


def _random(ask: Steps, input: Any, low: Any, high: Any, generator: Any) -> Any:
    bounds = () if high is None else (high,) if low == 0 else (low, high)
    return ask("random_", input, *bounds, generator=generator)


SINGLE: Final[dict[str, Any]] = {
    "bernoulli_p": _drawn("bernoulli"),
    "normal_from": _drawn("normal"),
    "successes": renamed("binomial"),
    "standard_gamma": renamed("_standard_gamma"),
    "gamma_slope": renamed("_standard_gamma_grad"),
    "standard_dirichlet": renamed("_sample_dirichlet"),
    "dirichlet_slope": renamed("_dirichlet_grad"),
    "polygamma_of_order": _polygamma,
    "zero_of": lambda ask, input: ask("zeros_like", input),
    "max_all": renamed("max"),
    "min_all": renamed("min"),
    "median_all": renamed("median"),
    "nanmedian_all": renamed("nanmedian"),
    "max_dim": renamed("max"),
    "min_dim": renamed("min"),
    "median_dim": renamed("median"),
    "nanmedian_dim": renamed("nanmedian"),
    "bernoulli_input": _drawn("bernoulli"),
    "tanh_back": renamed("tanh_backward"),
    "silu_back": renamed("silu_backward"),
    "any": _along("any"),
    "all": _along("all"),
    "sum": _sum,
    "mean": _mean,
    "var": _spread_of("var"),
    "std": _spread_of("std"),
    "var_mean": _spread_of("var_mean"),
    "std_mean": _spread_of("std_mean"),
    "p_norm": _p_norm,
    "rounded_divide": _rounded_divide,
    "square": _square,
    "nonzero_positions": renamed("nonzero"),
    "relu6": lambda ask, input: ask("hardtanh", input, 0, 6),
    "selu": lambda ask, input: ask("elu", input, *SELU),
}
STEPS: Final[dict[str, Any]] = {
    "argsort": _argsort,
    "isfinite": _isfinite,
    "isreal": _isreal,
    "ndtr": _ndtr,
    "float_power": _float_power,
    "isclose": _isclose,
    "zeros_of": lambda ask, input: ask("zeros_like", input, memory_format=contiguous_format),
    "logsigmoid": lambda ask, input: ask("log_sigmoid_forward", input)[0],
    "gated_halves": renamed("glu"),
    "leaky_by": renamed("_prelu_kernel"),
    "add": _add,
    "mul": _mul,
    "sub": _sub,
    "true_divide": _true_divide,
    "choose": _choose,
    "softmax": _softmax("_softmax"),
    "log_softmax": _softmax("_log_softmax"),
    "spread_sum": _spread_sum,
    "relu_back": _relu_back,
    "column_sums": _column_sums,
}
CHANGES: Final[dict[str, Any]] = {
    "relu6": lambda ask, input: ask("hardtanh_", input, 0, 6),
    "polygamma_of_order": renamed("polygamma_"),
    "conjugate_of": renamed("conj_physical_"),
    "true_divide": renamed("div_"),
    "square": lambda ask, input: ask("pow_", input, 2),
    "rounded_divide": lambda ask, input, other, mode: ask("div_", input, other, rounding_mode=mode),
    "normal_fill": _drawn("normal_"),
    "bernoulli_p": _drawn("bernoulli_"),
    "random": _random,
    "fill_diagonal": _fill_diagonal,
}
