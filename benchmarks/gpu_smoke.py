"""What works on a GPU, and how fast: adjoint on CuPy and on JAX, beside PyTorch.

    PYTHONPATH=. python benchmarks/gpu_smoke.py

Each section runs on its own: one that fails prints its traceback and the next goes on.
"""

import functools
import os
import platform
import statistics
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

# Before JAX is imported: it would take most of the memory for itself.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

from adjoint import Tensor
from adjoint.autograd import backward
from adjoint.tensors.tensor import AS_IS
from tests.backends import (
    PROGRAMS,
    assert_alike,
    mlp_arrays,
    mlp_step,
    run,
    sample_outcomes,
)

RATE = 0.001
SECTIONS: list[tuple[str, Callable[[], None]]] = []
failures: list[str] = []
timings: dict[tuple[str, str], float] = {}  # size and contender: microseconds a step
losses: dict[str, float] = {}  # size: the loss after the last step


class Network(NamedTuple):
    """A network that is timed, and how many steps make a round."""

    rows: int
    inputs: int
    hidden: int
    classes: int
    steps: int


NETWORKS = {"small": Network(512, 784, 1024, 10, 50), "large": Network(16384, 784, 8192, 10, 10)}


def section(title: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a part of the script."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        SECTIONS.append((title, function))
        return function

    return register


def timed_section(label: str) -> Callable[[Callable[[str, str], None]], None]:
    """Register a contender: a part of the script for each size of network."""

    def register(function: Callable[[str, str], None]) -> None:
        for size, network in NETWORKS.items():
            title = f"time of a step, {size} ({'-'.join(map(str, network[:4]))}), {label}"
            section(title)(functools.partial(function, label, size))

    return register


@section("what is here")
def versions() -> None:
    """Names and versions of all that takes part."""
    print(f"Python {platform.python_version()}, NumPy {np.__version__}")
    for name in ("cupy", "jax", "torch"):
        try:
            print(f"{name} {__import__(name).__version__}")
        except ImportError as error:
            print(f"{name}: {error}")
    import cupy

    for number in range(cupy.cuda.runtime.getDeviceCount()):
        print(f"GPU {number}: {cupy.cuda.runtime.getDeviceProperties(number)['name'].decode()}")


def check_each(names: list[str], check: Callable[[str], int]) -> None:
    """Check all names; tell how many passed, and of each that failed the reason.

    A check answers how many arrays it compared.
    """
    failed = 0
    idle = []
    for name in names:
        try:
            if not check(name):
                idle.append(name)
        except Exception as error:
            failed += 1
            reason = (str(error).strip().splitlines() or [""])[0]
            print(f"  FAILED {name}: {type(error).__name__}: {reason}")
            if failed == 1:
                traceback.print_exc(file=sys.stdout)
    print(f"{len(names) - failed - len(idle)} of {len(names)} agree with NumPy")
    if idle:
        print(f"{len(idle)} have nothing that can be compared: {', '.join(idle)}")
    if failed:
        failures.append(f"{failed} of {len(names)} differ")


@section("programs on CuPy against NumPy")
def programs() -> None:
    """The programs of the backend tests."""
    import cupy

    def check(name: str) -> int:
        got = run(name, cupy.asarray)
        assert_alike(got, run(name, np.array))
        return 1 + len(got.grads)

    check_each(list(PROGRAMS), check)


@section("every op of the tables on CuPy against NumPy")
def ops() -> None:
    """The samples of every op and composite: values, data types and gradients."""
    import cupy

    from adjoint.testing import all_functions, assert_close

    def check(name: str) -> int:
        count = 0
        for got, expected in sample_outcomes(name, "cupy", cupy.asarray):
            assert_close(got, expected)
            count += 1
        return count

    check_each(all_functions(), check)


@section("backward on the device's thread")
def workers() -> None:
    """A hook and an exception in a backward pass."""
    import cupy

    seen = []
    x = Tensor(cupy.ones(3), AS_IS).requires_grad_()
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
    """A few steps of gradient descent."""
    import cupy

    plain, batch, targets = mlp_arrays()
    there = [cupy.asarray(p) for p in plain]
    x, y = cupy.asarray(batch), cupy.asarray(targets)
    for step in range(5):
        plain, expected = mlp_step(plain, batch, targets)
        there, loss = mlp_step(there, x, y)
        print(f"  step {step}: loss {float(loss):.6f}, NumPy {float(expected):.6f}")
        np.testing.assert_allclose(float(loss), float(expected), rtol=1e-4)


@functools.cache
def arrays_of(size: str) -> tuple[list[Any], Any, Any]:
    """A network's parameters, a batch and its targets as NumPy arrays."""
    return mlp_arrays(*NETWORKS[size][:4])


def timed(label: str, size: str, step: Callable[[], Any], wait: Callable[[Any], Any]) -> None:
    """Time a step: the median over rounds, each of which ends with all work done.

    All contenders make the same steps from the same parameters, so their last losses must agree.
    """
    for _ in range(10):
        wait(step())
    measured = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(NETWORKS[size].steps):
            last = step()
        wait(last)
        measured.append((time.perf_counter() - start) / NETWORKS[size].steps)
    timings[size, label] = statistics.median(measured) * 1e6
    print(f"{size}, {label}: {timings[size, label]:.0f} µs a step, loss {float(last):.6f}")
    expected = losses.setdefault(size, float(last))
    np.testing.assert_allclose(float(last), expected, rtol=1e-4)


@timed_section("PyTorch eager")
def time_torch(label: str, size: str) -> None:
    """The network in PyTorch, op by op."""
    import torch

    arrays, batch, targets = arrays_of(size)
    parameters = [torch.tensor(p, device="cuda", requires_grad=True) for p in arrays]
    x = torch.tensor(batch, device="cuda")
    y = torch.tensor(targets, device="cuda")

    def step() -> Any:
        w1, b1, w2, b2 = parameters
        logits = (x @ w1 + b1).clamp(min=0.0) @ w2 + b2
        loss = (logits.exp().sum(1).log() - (logits * y).sum(1)).sum() / float(len(x))
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= RATE * p.grad
                p.grad = None
        return loss.detach()

    timed(label, size, step, lambda _: torch.cuda.synchronize())


@timed_section("adjoint on CuPy")
def time_cupy(label: str, size: str) -> None:
    """The network in adjoint, op by op."""
    import cupy

    arrays, batch, targets = arrays_of(size)
    state = [cupy.asarray(p) for p in arrays]
    x, y = cupy.asarray(batch), cupy.asarray(targets)

    def step() -> Any:
        state[:], loss = mlp_step(state, x, y, RATE)
        return loss

    timed(label, size, step, lambda _: cupy.cuda.Device().synchronize())


@timed_section("CuPy by hand")
def time_cupy_by_hand(label: str, size: str) -> None:
    """The same work without a graph, derivatives worked out on paper."""
    import cupy

    arrays, batch, targets = arrays_of(size)
    state = [cupy.asarray(p) for p in arrays]
    x, y = cupy.asarray(batch), cupy.asarray(targets)

    def step() -> Any:
        w1, b1, w2, b2 = state
        hidden = x @ w1 + b1
        active = cupy.maximum(hidden, 0)
        logits = active @ w2 + b2
        powers = cupy.exp(logits)
        totals = powers.sum(1)
        loss = (cupy.log(totals) - (logits * y).sum(1)).sum() / len(x)
        slope = (powers / totals[:, None] - y) / len(x)
        below = (slope @ w2.T) * (hidden > 0)
        grads = [x.T @ below, below.sum(0), active.T @ slope, slope.sum(0)]
        state[:] = [p - RATE * g for p, g in zip(state, grads, strict=True)]
        return loss

    timed(label, size, step, lambda _: cupy.cuda.Device().synchronize())


@timed_section("adjoint under jax.jit")
def time_jax(label: str, size: str) -> None:
    """adjoint's forward and backward, traced once and compiled."""

    def traced(parameters: list[Any], rows: Any, classes: Any) -> Any:
        traces.append(1)
        return mlp_step(parameters, rows, classes, RATE)

    traces: list[int] = []
    time_compiled(label, size, traced)
    print(f"traced {len(traces)} time(s)")


@timed_section("JAX itself under jax.jit")
def time_jax_by_hand(label: str, size: str) -> None:
    """JAX's own derivatives, compiled."""
    import jax

    def loss_of(parameters: list[Any], rows: Any, classes: Any) -> Any:
        w1, b1, w2, b2 = parameters
        logits = jax.numpy.maximum(rows @ w1 + b1, 0.0) @ w2 + b2
        normalizer = jax.numpy.log(jax.numpy.exp(logits).sum(1))
        return (normalizer - (logits * classes).sum(1)).sum() / len(rows)

    def step(parameters: list[Any], rows: Any, classes: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(parameters, rows, classes)
        return [p - RATE * g for p, g in zip(parameters, grads, strict=True)], loss

    time_compiled(label, size, step)


def time_compiled(label: str, size: str, function: Callable[..., Any]) -> None:
    """Time a step on raw arrays, compiled by JAX."""
    import jax

    arrays, batch, targets = arrays_of(size)
    state = [jax.numpy.asarray(p) for p in arrays]
    x, y = jax.numpy.asarray(batch), jax.numpy.asarray(targets)
    assert x.device.platform == "gpu", f"JAX runs on {x.device}"
    compiled = jax.jit(function)

    def step() -> Any:
        state[:], loss = compiled(state, x, y)
        return loss

    with jax.default_matmul_precision("float32"):  # as CuPy and PyTorch do by default
        timed(label, size, step, lambda loss: loss.block_until_ready())


@section("summary")
def summary() -> None:
    """All timings in one table."""
    print(f"{'':32}{'µs a step':>12}{'of PyTorch':>12}")
    for (size, label), value in timings.items():
        reference = timings.get((size, "PyTorch eager"))
        ratio = "" if reference is None else f"{value / reference:.2f}"
        print(f"{size + ', ' + label:32}{value:>12.0f}{ratio:>12}")
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
