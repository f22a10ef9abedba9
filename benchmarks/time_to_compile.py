"""How long compiling takes, beside plain JAX: `python benchmarks/time_to_compile.py`.

Each measurement is a process of its own with one thread and no cache of compiled programs: the
processor's seconds of the first call, which traces a program, compiles and runs it, after a small
one has loaded the libraries. The two take turns; the ratio is the median of those of the turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

WIDTH, STEPS = 50, 60


def numbers(*shape: int) -> Any:
    """Small numbers, the same in each process."""
    import numpy as np

    return (np.random.default_rng(0).standard_normal(shape) * 0.3).astype("float32")


# ---- the programs, on what both libraries have ----


def field(xp: Any, y: Any, w: Any, v: Any) -> Any:
    """The right side of a differential equation: a small network."""
    return xp.tanh(y @ w) @ v


def advanced(xp: Any, y: Any, w: Any, v: Any) -> Any:
    """One step by the rule of Runge and Kutta."""
    h = 0.05
    a = field(xp, y, w, v)
    b = field(xp, y + 0.5 * h * a, w, v)
    c = field(xp, y + 0.5 * h * b, w, v)
    d = field(xp, y + h * c, w, v)
    return y + (h / 6) * (a + 2 * b + 2 * c + d)


def unrolled(xp: Any, y: Any, w: Any, v: Any) -> Any:
    """60 steps of Python's."""
    total = 0.0
    for _ in range(STEPS):
        y = advanced(xp, y, w, v)
        total = total + (y * y).mean()
    return total


def dense(xp: Any, x: Any, *weights: Any) -> Any:
    """A network of three layers."""
    for weight in weights:
        x = xp.tanh(x @ weight)
    return (x * x).mean()


def attention(xp: Any, x: Any, *weights: Any) -> Any:
    """Four blocks of attention and a network each."""
    q, k, v, up, down = weights
    for _ in range(4):
        scores = (x @ q) @ xp.swapaxes(x @ k, -1, -2) * 0.25
        x = x + xp.softmax(scores, -1) @ (x @ v)
        x = x + xp.tanh(x @ up) @ down
    return (x * x).mean()


def chain(xp: Any, x: Any) -> Any:
    """1,000 operations on a number."""
    for _ in range(250):
        x = xp.sin(x) * 0.9 + xp.cos(x) * 0.1
    return x.sum()


SIZES = {
    "chain": [(8,)],
    "dense": [(32, 64), (64, 128), (128, 128), (128, 10)],
    "attention": [(4, 16, 32), (32, 32), (32, 32), (32, 32), (32, 64), (64, 32)],
    "ode": [(20, 2), (2, WIDTH), (WIDTH, 2)],
    "scan": [(20, 2), (2, WIDTH), (WIDTH, 2)],
    "while_loop": [(20, 2), (2, WIDTH), (WIDTH, 2)],
    "cond": [(20, 2), (2, WIDTH), (WIDTH, 2)],
}
PLAIN = {"chain": chain, "dense": dense, "attention": attention, "ode": unrolled}
WITHOUT_GRADIENT = ("while_loop",)


def in_jax(name: str) -> Callable[[], Any]:
    """The first call of a program in JAX."""
    import jax
    import jax.numpy as jnp

    xp = SimpleNamespace(
        tanh=jnp.tanh, sin=jnp.sin, cos=jnp.cos, swapaxes=jnp.swapaxes, softmax=jax.nn.softmax
    )

    def scan(y: Any, w: Any, v: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            y = advanced(xp, y, w, v)
            return y, (y * y).mean()

        return jax.lax.scan(step, y, jnp.arange(STEPS))[1].sum()

    def while_loop(y: Any, w: Any, v: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] + 1, advanced(xp, state[1], w, v)

        return jax.lax.while_loop(lambda s: s[0] < STEPS, body, (0, y))[1].sum()

    def cond(y: Any, w: Any, v: Any) -> Any:
        for _ in range(8):
            y = jax.lax.cond(
                y.sum() > 0, lambda y: advanced(xp, y, w, v), lambda y: field(xp, y, w, v), y
            )
        return (y * y).mean()

    own = {"scan": scan, "while_loop": while_loop, "cond": cond}
    plain = PLAIN.get(name)
    function = own[name] if plain is None else lambda *arrays: plain(xp, *arrays)
    inputs = [jnp.asarray(numbers(*shape)) for shape in SIZES[name]]
    if name in WITHOUT_GRADIENT:
        compiled = jax.jit(function)
    else:
        compiled = jax.jit(jax.value_and_grad(function, argnums=tuple(range(len(inputs)))))
    jax.jit(jax.value_and_grad(lambda x: (x * x).sum()))(inputs[0])
    return lambda: jax.block_until_ready(compiled(*inputs))


def in_adjoint(name: str) -> Callable[[], Any]:
    """The same in adjoint."""
    import adjoint

    xp: Any = adjoint

    def scan(y: Any, w: Any, v: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            y = advanced(xp, y, w, v)
            return y, (y * y).mean()

        return adjoint.scan(step, y, adjoint.arange(STEPS))[1].sum()

    def while_loop(y: Any, w: Any, v: Any) -> Any:
        def body(count: Any, y: Any) -> Any:
            return count + 1, advanced(xp, y, w, v)

        start = adjoint.tensor(0)
        return adjoint.while_loop(lambda count, y: count < STEPS, body, (start, y))[1].sum()

    def cond(y: Any, w: Any, v: Any) -> Any:
        for _ in range(8):
            y = adjoint.cond(
                y.sum() > 0, lambda y: advanced(xp, y, w, v), lambda y: field(xp, y, w, v), (y,)
            )
        return (y * y).mean()

    own = {"scan": scan, "while_loop": while_loop, "cond": cond}
    plain = PLAIN.get(name)
    function = own[name] if plain is None else lambda *tensors: plain(xp, *tensors)
    needed = name not in WITHOUT_GRADIENT
    inputs = [adjoint.tensor(numbers(*shape), requires_grad=needed) for shape in SIZES[name]]

    def answer(*tensors: Any) -> Any:
        value = function(*tensors)
        return (value.detach(), *adjoint.autograd.grad(value, tensors)) if needed else value

    def small(x: Any) -> Any:
        value = (x * x).sum()
        return (value.detach(), *adjoint.autograd.grad(value, x)) if needed else value

    compiled = adjoint.compile(answer, warm_up=0)
    adjoint.compile(small, warm_up=0)(inputs[0])
    return lambda: compiled(*inputs)


def measured(system: str, name: str) -> None:
    """Print the seconds, and what the program answers."""
    make = in_jax if system == "jax" else in_adjoint
    run = make(name)
    start = time.process_time()
    answer = run()
    seconds = time.process_time() - start
    first = answer[0] if isinstance(answer, tuple) else answer
    print(seconds, float(first))


def in_a_process(system: str, name: str) -> tuple[float, float]:
    """The same in a process of its own, without a cache on disk."""
    settings = {
        "OMP_NUM_THREADS": "1",
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_COMPILATION_CACHE": "false",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    }
    printed = subprocess.run(
        [sys.executable, __file__, "--only", system, name],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return float(printed[-2]), float(printed[-1])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(SIZES)}; all, if none is given")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        measured(given.only, given.names[0])
        return
    print("| program | adjoint, s | JAX, s | ratio |\n|---|---|---|---|")
    for name in given.names or SIZES:
        pairs = []
        for turn in range(given.turns):
            order = ("adjoint", "jax") if turn % 2 else ("jax", "adjoint")
            found = {system: in_a_process(system, name) for system in order}
            (mine, value), (theirs, other) = found["adjoint"], found["jax"]
            if abs(value - other) > 1e-4 * max(abs(other), 1):
                raise SystemExit(f"{name}: {value} and {other} are not the same")
            pairs.append((mine, theirs))
        mine, theirs = (statistics.median(column) for column in zip(*pairs))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"| {name} | {mine:.2f} | {theirs:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
