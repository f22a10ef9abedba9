"""What works on a GPU, and how fast: adjoint on CuPy and on JAX, beside PyTorch.

    PYTHONPATH=. python benchmarks/gpu_smoke.py

Each section runs on its own: one that fails prints its traceback and the next goes on.
"""

import os
import platform
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

# Before JAX is imported: it would take most of the memory for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

from adjoint import Tensor
from adjoint.autograd import backward
from tests.backends import (
    PROGRAMS,
    assert_alike,
    mlp_arrays,
    mlp_step,
    run,
    sample_outcomes,
)

ROWS, INPUTS, HIDDEN, CLASSES = 512, 784, 1024, 10
RATE = 0.1
SECTIONS: list[tuple[str, Callable[[], None]]] = []
failures: list[str] = []
timings: dict[str, float] = {}  # microseconds a step


def section(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a part of the script."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        SECTIONS.append((title, function))
        return function

    return register


@section("what is here")
def versions() -> None:
    print(f"Python {platform.python_version()}, NumPy {np.__version__}")
    for name in ("cupy", "jax", "torch"):
        try:
            print(f"{name} {__import__(name).__version__}")
        except ImportError as error:
            print(f"{name}: {error}")
    import cupy

    for number in range(cupy.cuda.runtime.getDeviceCount()):
        print(f"GPU {number}: {cupy.cuda.runtime.getDeviceProperties(number)['name'].decode()}")


def check_each(names: list[str], check: Callable[[str], None]) -> None:
    """Check all names; tell how many passed, and of each that failed the reason."""
    failed = 0
    for name in names:
        try:
            check(name)
        except Exception as error:
            failed += 1
            reason = (str(error).strip().splitlines() or [""])[0]
            print(f"  FAILED {name}: {type(error).__name__}: {reason}")
            if failed == 1:
                traceback.print_exc(file=sys.stdout)
    print(f"{len(names) - failed} of {len(names)} agree with NumPy")
    if failed:
        failures.append(f"{failed} of {len(names)} differ")


@section("programs on CuPy against NumPy")
def programs() -> None:
    import cupy

    check_each(
        list(PROGRAMS), lambda name: assert_alike(run(name, cupy.asarray), run(name, np.array))
    )


@section("every op of the tables on CuPy against NumPy")
def ops() -> None:
    import cupy

    from adjoint.testing import all_functions

    def check(name: str) -> None:
        for got, expected in sample_outcomes(name, "cupy", cupy.asarray):
            assert got.dtype == expected.dtype, f"{got.dtype}, NumPy {expected.dtype}"
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)

    check_each(all_functions(), check)


@section("backward on the device's thread")
def workers() -> None:
    import cupy

    seen = []
    x = Tensor(cupy.ones(3)).requires_grad_()
    y = x * 2.0
    y.register_hook(lambda _: seen.append(threading.current_thread().name))
    backward(y.sum())
    print(f"hook ran on {seen[0]}; gradient {x.grad.numpy_array()}")
    error = ValueError("on purpose")

    def hook(_: Any) -> None:
        raise error

    y = x * 2.0
    y.register_hook(hook)
    try:
        backward(y.sum())
    except ValueError as caught:
        print(f"exception arrived as it was raised: {caught is error}; {caught.__notes__}")


@section("training a small network on CuPy")
def training() -> None:
    import cupy

    plain, batch, targets = mlp_arrays()
    there = [cupy.asarray(p) for p in plain]
    x, y = cupy.asarray(batch), cupy.asarray(targets)
    for step in range(5):
        plain, expected = mlp_step(plain, batch, targets)
        there, loss = mlp_step(there, x, y)
        print(f"  step {step}: loss {float(loss):.6f}, NumPy {float(expected):.6f}")
        np.testing.assert_allclose(float(loss), float(expected), rtol=1e-4)


def timed(label: str, step: Callable[[], Any], wait: Callable[[Any], Any]) -> None:
    """Time a step: the median over rounds, each of which ends with all work done."""
    for _ in range(10):
        wait(step())
    rounds, steps = 7, 50
    measured = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(steps):
            last = step()
        wait(last)
        measured.append((time.perf_counter() - start) / steps)
    timings[label] = statistics.median(measured) * 1e6
    print(f"{label}: {timings[label]:.0f} µs a step")


def big_arrays() -> tuple[list[Any], Any, Any]:
    """The network that is timed, as NumPy arrays."""
    return mlp_arrays(ROWS, INPUTS, HIDDEN, CLASSES)


@section(f"time of a step, {ROWS}x{INPUTS}-{HIDDEN}-{CLASSES}, adjoint on CuPy")
def time_cupy() -> None:
    import cupy

    arrays, batch, targets = big_arrays()
    state = [cupy.asarray(p) for p in arrays]
    x, y = cupy.asarray(batch), cupy.asarray(targets)

    def step() -> Any:
        state[:], loss = mlp_step(state, x, y, RATE)
        return loss

    timed("adjoint on CuPy", step, lambda _: cupy.cuda.Device().synchronize())


@section("the same, adjoint under jax.jit")
def time_jax() -> None:
    import jax

    print(f"JAX runs on {jax.devices()[0]}")
    arrays, batch, targets = big_arrays()
    state = [jax.numpy.asarray(p) for p in arrays]
    x, y = jax.numpy.asarray(batch), jax.numpy.asarray(targets)
    traces = []

    def traced(parameters: list[Any], rows: Any, classes: Any) -> Any:
        traces.append(1)
        return mlp_step(parameters, rows, classes, RATE)

    compiled = jax.jit(traced)

    def step() -> Any:
        state[:], loss = compiled(state, x, y)
        return loss

    with jax.default_matmul_precision("float32"):  # as CuPy and PyTorch do by default
        timed("adjoint under jax.jit", step, lambda loss: loss.block_until_ready())
    print(f"traced {len(traces)} time(s)")


@section("the same, PyTorch eager")
def time_torch() -> None:
    import torch

    arrays, batch, targets = big_arrays()
    parameters = [torch.tensor(p, device="cuda", requires_grad=True) for p in arrays]
    x = torch.tensor(batch, device="cuda")
    y = torch.tensor(targets, device="cuda")

    def step() -> Any:
        w1, b1, w2, b2 = parameters
        logits = (x @ w1 + b1).clamp(min=0.0) @ w2 + b2
        loss = (logits.exp().sum(1).log() - (logits * y).sum(1)).sum() / float(ROWS)
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= RATE * p.grad
                p.grad = None
        return loss

    timed("PyTorch eager", step, lambda _: torch.cuda.synchronize())


@section("summary")
def summary() -> None:
    reference = timings.get("PyTorch eager")
    print(f"{'':24}{'µs a step':>12}{'of PyTorch':>12}")
    for label, value in timings.items():
        ratio = "" if reference is None else f"{value / reference:.2f}"
        print(f"{label:24}{value:>12.0f}{ratio:>12}")
    print(f"failures: {failures or 'none'}")


def main() -> int:
    """Run all sections."""
    for title, function in SECTIONS:
        print(f"\n== {title}", flush=True)
        try:
            function()
        except Exception:
            failures.append(title)
            traceback.print_exc(file=sys.stdout)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
