"""Loops of the wheel beside NumPy in blocks, and beside Numba where it is installed.

Run `python benchmarks/loops.py` with a compiled adjoint: microseconds of one call on 100,000
float32 elements, or on 390 rows of 256, one thread. Numba's functions are the same formulas,
compiled before the clock runs, with and without its fastmath.
"""

import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint
from adjoint.backends.loops import compiled
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import TABLE
from adjoint.optim import programs

COUNT = 100_000
ROWS = (390, 256)
BLOCK = 16_384
source = np.random.default_rng(0)
X = source.uniform(-3, 3, COUNT).astype("float32")
Y = source.uniform(0.5, 3, COUNT).astype("float32")
M = source.uniform(-3, 3, ROWS).astype("float32")
W, B = (source.uniform(0.5, 2, ROWS[1:]).astype("float32") for _ in range(2))


def best(function: Callable[[], Any]) -> float:
    """Microseconds of the quickest of several calls."""
    function()
    found = math.inf
    for _ in range(60):
        start = time.perf_counter()
        function()
        found = min(found, time.perf_counter() - start)
    return found * 1e6


def in_blocks(function: Callable[..., Any], *arrays: Any) -> Any:
    """A function of elements by parts that fit the cache."""
    out = np.empty_like(arrays[0])
    for start in range(0, len(out), BLOCK):
        part = slice(start, start + BLOCK)
        out[part] = function(*[array[part] for array in arrays])
    return out


def of_forward(name: str, *arrays: Any) -> tuple[Any, Any, Any]:
    """An op's loop, and its declaration on NumPy in blocks."""
    op = TABLE[name]
    options = op.defaults[len(arrays) :]
    if name == "huber_error":
        options = [1.0]
    named = dict(zip(op.parameters[op.positional :], options[op.positional - len(arrays) :]))
    rest = options[: op.positional - len(arrays)]
    by_numpy = lambda *parts: op.forward(numpy_backend.xp, *parts, *rest, **named)
    assert op.fused is not None, "the package has no loops: install a wheel"
    args = [*arrays, *options]
    return lambda: op.fused.answer(args), lambda: in_blocks(by_numpy, *arrays), arrays


def of_rows(name: str, *args: Any) -> tuple[Any, Any, Any]:
    """The same of an op of rows, which NumPy takes as they are."""
    op = TABLE[name]
    return lambda: op.fused.answer(list(args)), lambda: op.forward(numpy_backend.xp, *args), args


def of_adam() -> tuple[Any, Any, Any]:
    """A step of Adam by its loop, and by NumPy's calls in blocks."""

    def steps() -> Any:
        param = adjoint.from_numpy(X.copy()).requires_grad_()
        param.grad = adjoint.from_numpy(Y)
        optimizer = adjoint.optim.Adam([param])
        optimizer.step()
        return optimizer.step

    by_loop = steps()
    known, programs.loops = programs.loops, dict
    by_numpy = steps()
    programs.loops = known
    return by_loop, by_numpy, (X.copy(), Y, np.zeros_like(X), np.zeros_like(X))


def numba_functions(fast: bool) -> dict[str, Any]:
    """The same formulas for Numba; {} where it isn't installed."""
    if importlib.util.find_spec("numba") is None:
        return {}
    import numba

    f = np.float32

    def gelu(x, out):
        for i in range(x.size):
            out[i] = x[i] * (f(0.5) * (f(1) + math.erf(x[i] * f(0.70710678))))

    def elu(x, out):
        for i in range(x.size):
            out[i] = x[i] if x[i] > 0 else math.expm1(x[i])

    def erf(x, out):
        for i in range(x.size):
            out[i] = math.erf(x[i])

    def remainder(x, y, out):
        for i in range(x.size):
            out[i] = x[i] % y[i]

    def softplus(x, out):
        for i in range(x.size):
            smooth = max(x[i], f(0)) + math.log1p(math.exp(-abs(x[i])))
            out[i] = x[i] if x[i] > f(20) else smooth

    def huber(x, y, out):
        for i in range(x.size):
            size = abs(x[i] - y[i])
            out[i] = f(0.5) * size * size if size < f(1) else size - f(0.5)

    def tanh_back(x, y, out):
        for i in range(x.size):
            out[i] = x[i] - x[i] * (y[i] * y[i])

    def layer_norm(x, weight, bias, axes, eps, out):
        for row in range(x.shape[0]):
            mean = f(0)
            for i in range(x.shape[1]):
                mean += x[row, i]
            mean /= f(x.shape[1])
            square = f(0)
            for i in range(x.shape[1]):
                square += (x[row, i] - mean) * (x[row, i] - mean)
            scale = f(1) / math.sqrt(square / f(x.shape[1]) + f(eps))
            for i in range(x.shape[1]):
                out[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]

    def log_softmax(x, dim, dtype, out):
        for row in range(x.shape[0]):
            peak = x[row, 0]
            for i in range(x.shape[1]):
                peak = max(peak, x[row, i])
            total = f(0)
            for i in range(x.shape[1]):
                total += math.exp(x[row, i] - peak)
            shift = math.log(total) + peak
            for i in range(x.shape[1]):
                out[row, i] = x[row, i] - shift

    def adam(param, grad, mean, square, out):
        for i in range(param.size):
            mean[i] = mean[i] * f(0.9) + grad[i] * f(0.1)
            square[i] = square[i] * f(0.999) + grad[i] * grad[i] * f(0.001)
            param[i] -= mean[i] / (math.sqrt(square[i]) / f(0.5) + f(1e-8)) * f(1e-3)

    made = (gelu, elu, erf, remainder, softplus, huber, tanh_back, layer_norm, log_softmax, adam)
    compile = numba.njit(fastmath=fast, error_model="numpy")
    return {function.__name__: compile(function) for function in made}


def with_room(function: Any, arrays: Any) -> Callable[[], Any]:
    """A call that makes room for its result, as NumPy's do."""
    return lambda: function(*arrays, np.empty_like(arrays[0]))


def main() -> None:
    """Print the table."""
    cases = {
        "gelu": of_forward("gelu", X),
        "elu": of_forward("elu", X),
        "erf": of_forward("erf", X),
        "remainder": of_forward("remainder", X, Y),
        "softplus": of_forward("softplus", X),
        "huber": of_forward("huber_error", X, Y),
        "tanh_back": of_forward("tanh_back", X, Y),
        "layer_norm": of_rows("layer_standardized", M, W, B, (-1,), 1e-5),
        "log_softmax": of_rows("log_softmax", M, -1, None),
        "adam": of_adam(),
    }
    exact, fast = numba_functions(False), numba_functions(True)
    print(f"{compiled().__name__}\n")
    print("| | loop | NumPy in blocks | Numba | Numba, fastmath |\n|---|---|---|---|---|")
    for name, (loop, by_numpy, arrays) in cases.items():
        times = [best(loop), best(by_numpy)]
        for functions in (exact, fast):
            if name in functions:
                times.append(best(with_room(functions[name], arrays)))
        print(f"| {name} | {' | '.join(f'{t:.0f}' for t in times)} |")


if __name__ == "__main__":
    main()
