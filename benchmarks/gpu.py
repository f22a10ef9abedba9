"""The same work on one GPU: PyTorch, adjoint on CuPy, adjoint.compile, and JAX itself.

    PYTHONPATH=. python benchmarks/gpu.py [torch] [eager] [jax] [xla] [cudagraph]

Microseconds of one step: the median over at least 0.6 s after three steps to warm up, the device
waited for once in a few steps. Every work is a forward and a backward; `training` makes a step of
SGD, too.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import numpy as np

Step = Callable[[], Any]
LEAST = 0.6  # seconds that are measured

rng = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    """Normally distributed numbers, in float32."""
    return rng.standard_normal(shape, dtype="float32")


VECTOR = normal(1024)
LARGE = normal(100_000_000)
MATRICES = [normal(4096, 4096) / 64 for _ in range(4)]
ROWS = normal(4096, 4096)
IMAGES, CLASSES = normal(512, 784), rng.integers(0, 10, 512)


def chain(library: Any) -> Any:
    """1,000 operations on 1,024 numbers."""

    def run(x: Any) -> Any:
        for _ in range(333):
            x = library.tanh(x * 1.001 + 0.001)
        return x.sum()

    return run


def elementwise(library: Any) -> Any:
    """A formula of 100 million numbers."""
    return lambda x: (library.sin(x) * library.exp(-x * x) + x * 0.5).sum()


def dense(relu: Any, rows: Any) -> Any:
    """Four products of 4,096² matrices in bfloat16, with ReLU."""

    def run(*matrices: Any) -> Any:
        x = rows
        for matrix in matrices:
            x = relu(x @ matrix)
        return (x * x).mean()

    return run


def report(work: str, system: str, step: Step, wait: Callable[[], Any], together: int = 5) -> None:
    """Measure a step and print it."""
    for _ in range(3):
        step()
    wait()
    found: list[float] = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < LEAST or len(found) < 5:
        start = time.perf_counter()
        for _ in range(together):
            step()
        wait()
        found.append((time.perf_counter() - start) / together * 1e6)
    print(f"{work:12} {system:28} {statistics.median(found):10,.0f}", flush=True)


def trainer(library: Any, device: str) -> Step:
    """A training step of a network of two layers, with the library's modules and optimizer."""
    nn = library.nn
    layers = nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 10)
    model = nn.Sequential(*layers).to(device)
    optimizer = library.optim.SGD(model.parameters(), lr=1e-3)
    x, y = (library.tensor(values).to(device) for values in (IMAGES, CLASSES))

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def leaf(library: Any, values: Any, device: str, half: bool = False) -> Any:
    """A tensor that needs a gradient."""
    made = library.tensor(values).to(device)
    return (made.to(library.bfloat16) if half else made).requires_grad_()


def works(library: Any, device: str) -> dict[str, tuple[Any, list[Any]]]:
    """What is differentiated, and by which tensors."""
    rows = library.tensor(ROWS).to(device).to(library.bfloat16)
    return {
        "chain": (chain(library), [leaf(library, VECTOR, device)]),
        "elementwise": (elementwise(library), [leaf(library, LARGE, device)]),
        "dense": (dense(library.relu, rows), [leaf(library, m, device, True) for m in MATRICES]),
    }


def measure_eagerly(library: Any, system: str, wait: Callable[[], Any]) -> None:
    """Every operation is called when its line is reached."""
    for name, (function, leaves) in works(library, "cuda").items():

        def step(function: Any = function, leaves: Any = leaves) -> None:
            for each in leaves:
                each.grad = None
            function(*leaves).backward()

        report(name, system, step, wait, 2 if name == "chain" else 5)
    report("training", system, trainer(library, "cuda"), wait, 20)


def measure_compiled(backend: str, device: str) -> None:
    """adjoint.compile around the whole step."""
    import adjoint
    from adjoint.backends import backend_for

    answer: list[Any] = [None]

    def run(step: Any) -> Step:
        def call() -> None:
            answer[0] = step()

        return call

    def wait() -> None:
        last = answer[0][0] if isinstance(answer[0], tuple) else answer[0]
        if backend == "xla":
            last.array.block_until_ready()  # as JAX's own steps are waited for
        else:
            backend_for(adjoint.device(device)).synchronize()

    for name, (function, leaves) in works(adjoint, device).items():

        def gradients(function: Any = function, leaves: Any = leaves) -> Any:
            return adjoint.autograd.grad(function(*leaves), leaves)

        step = adjoint.compile(gradients, backend=backend)
        report(name, f"adjoint.compile {backend}", run(step), wait)
    step = adjoint.compile(trainer(adjoint, device), backend=backend)
    report("training", f"adjoint.compile {backend}", run(step), wait, 20)


def measure_jax() -> None:
    """JAX's own gradients under jax.jit."""
    import jax
    import jax.numpy as jnp

    rows = jnp.asarray(ROWS, jnp.bfloat16)
    given = {
        "chain": (chain(jnp), [jnp.asarray(VECTOR)]),
        "elementwise": (elementwise(jnp), [jnp.asarray(LARGE)]),
        "dense": (dense(jax.nn.relu, rows), [jnp.asarray(m, jnp.bfloat16) for m in MATRICES]),
    }
    answer: list[Any] = [None]
    for name, (function, arrays) in given.items():
        compiled = jax.jit(jax.grad(function, argnums=tuple(range(len(arrays)))))

        def step(compiled: Any = compiled, arrays: Any = arrays) -> None:
            answer[0] = compiled(*arrays)

        report(name, "jax.jit", step, lambda: jax.block_until_ready(answer[0]))
    training = jax_trainer()

    def step_once() -> None:
        answer[0] = training()

    report("training", "jax.jit", step_once, lambda: jax.block_until_ready(answer[0]), 20)


def jax_trainer() -> Step:
    """The training step of `trainer` in plain JAX, which answers the gradients too."""
    import jax
    import jax.numpy as jnp

    def loss_of(parameters: list[Any]) -> Any:
        first, bias, second, other_bias = parameters
        rows = jax.nn.relu(x @ first.T + bias) @ second.T + other_bias
        return -jnp.take_along_axis(jax.nn.log_softmax(rows), y[:, None], 1).mean()

    @jax.jit
    def train(parameters: list[Any], rate: float) -> Any:
        loss, slopes = jax.value_and_grad(loss_of)(parameters)
        return [p - rate * s for p, s in zip(parameters, slopes)], slopes, loss

    x, y = jnp.asarray(IMAGES), jnp.asarray(CLASSES)
    shapes = ((1024, 784), (1024,), (10, 1024), (10,))
    state = [[jnp.asarray(normal(*shape) / 30) for shape in shapes]]

    def step() -> Any:
        state[0], _, loss = train(state[0], 1e-3)
        return loss

    return step


def main(systems: list[str]) -> None:
    """Measure the systems that were asked for."""
    if "torch" in systems:
        import torch

        measure_eagerly(torch, "PyTorch eager", torch.cuda.synchronize)
    if "eager" in systems:
        import adjoint
        from adjoint.backends import backend_for

        kind = "compiled" if adjoint.__compiled__ else "pure"
        wait = backend_for(adjoint.device("cuda")).synchronize
        measure_eagerly(adjoint, f"adjoint on CuPy, {kind}", wait)
    if "jax" in systems:
        measure_jax()
    for backend, device in (("xla", "xla"), ("cudagraph", "cuda")):
        if backend in systems:
            measure_compiled(backend, device)


if __name__ == "__main__":
    main(sys.argv[1:] or ["torch", "eager", "jax", "xla", "cudagraph"])
