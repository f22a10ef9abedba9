"""The same work on one GPU: PyTorch, adjoint on CuPy, adjoint.compile, and JAX itself.

    PYTHONPATH=. python benchmarks/gpu.py [torch] [eager] [jax] [xla] [cudagraph]

Microseconds of one step: the median over at least 0.8 s, the device waited for once in a few steps.
The systems take turns, since what else a host does would otherwise count for one of them alone, and
in another order each time: a GPU at its limit of power is slower after a turn that took much of it.
Every work is a forward and a backward; `training` makes a step of SGD, too. `read` is `chain` where
a number is read once in five steps, which is what it takes to read one from XLA. A work's last line
is the pace of the processor meanwhile, which small steps follow: nanoseconds of a step of a loop.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import numpy as np

Step = Callable[[], Any]
TURNS = 8  # of each system
TURN = 0.1  # seconds, at least

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


class Measured(NamedTuple):
    """A step of a system, how its end is waited for, and after how many of them."""

    work: str
    system: str
    step: Step
    wait: Callable[[], Any]
    together: int = 5

    def warm_up(self) -> None:
        """Let it compile what it compiles."""
        for _ in range(3):
            self.step()
        self.wait()

    def turn(self) -> list[float]:
        """Microseconds of one step, again and again."""
        found: list[float] = []
        begun = time.perf_counter()
        while time.perf_counter() - begun < TURN:
            start = time.perf_counter()
            for _ in range(self.together):
                self.step()
            self.wait()
            found.append((time.perf_counter() - start) / self.together * 1e6)
        return found


def pace() -> float:
    """Nanoseconds of a step of a loop in Python."""
    total, start = 0, time.perf_counter()
    for number in range(20_000):
        total += number
    return (time.perf_counter() - start) / 20_000 * 1e9


def report(systems: list[Measured]) -> None:
    """Measure one work by all systems, in turns, and print it."""
    for each in systems:
        each.warm_up()
    found: list[list[float]] = [[] for _ in systems]
    paces: list[float] = []
    for _ in range(TURNS):
        for place in rng.permutation(len(systems)):
            paces.append(pace())
            found[place] += systems[place].turn()
    for samples, each in zip(found, systems):
        print(f"{each.work:12} {each.system:28} {statistics.median(samples):10,.0f}", flush=True)
    print(f"{systems[0].work:12} {'(pace)':28} {min(paces):10,.0f} to {max(paces):,.0f}")


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


def eagerly(library: Any, system: str, wait: Callable[[], Any]) -> Iterator[Measured]:
    """Every operation is called when its line is reached."""
    for name, (function, leaves) in works(library, "cuda").items():

        def step(function: Any = function, leaves: Any = leaves) -> None:
            for each in leaves:
                each.grad = None
            function(*leaves).backward()

        yield Measured(name, system, step, wait, 2 if name == "chain" else 5)
    yield Measured("training", system, trainer(library, "cuda"), wait, 20)


def compiled(backend: str, device: str) -> Iterator[Measured]:
    """adjoint.compile around the whole step."""
    import adjoint
    from adjoint.backends import backend_for

    system = f"adjoint.compile {backend}"
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

        step = run(adjoint.compile(gradients, backend=backend))
        yield Measured(name, system, step, wait)
        if name == "chain" and backend == "xla":
            yield Measured("read", system, step, lambda: answer[0][0].sum().item())
    training = run(adjoint.compile(trainer(adjoint, device), backend=backend))
    yield Measured("training", system, training, wait, 20)


def plain_jax() -> Iterator[Measured]:
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

    def wait() -> None:
        jax.block_until_ready(answer[0])

    for name, (function, arrays) in given.items():
        jitted = jax.jit(jax.grad(function, argnums=tuple(range(len(arrays)))))

        def step(jitted: Any = jitted, arrays: Any = arrays) -> None:
            answer[0] = jitted(*arrays)

        yield Measured(name, "jax.jit", step, wait)
        if name == "chain":
            yield Measured("read", "jax.jit", step, lambda: answer[0][0].sum().item())
    training = jax_trainer()

    def step_once() -> None:
        answer[0] = training()

    yield Measured("training", "jax.jit", step_once, wait, 20)


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


def measured(systems: list[str]) -> Iterator[Measured]:
    """All that is to be measured of the systems that were asked for."""
    if "torch" in systems:
        import torch

        yield from eagerly(torch, "PyTorch eager", torch.cuda.synchronize)
    if "eager" in systems:
        import adjoint
        from adjoint.backends import backend_for

        kind = "compiled" if adjoint.__compiled__ else "pure"
        wait = backend_for(adjoint.device("cuda")).synchronize
        yield from eagerly(adjoint, f"adjoint on CuPy, {kind}", wait)
    if "jax" in systems:
        yield from plain_jax()
    for backend, device in (("xla", "xla"), ("cudagraph", "cuda")):
        if backend in systems:
            yield from compiled(backend, device)


def main(systems: list[str]) -> None:
    """Measure the systems that were asked for."""
    found = list(measured(systems))
    for work in ("chain", "read", "elementwise", "dense", "training"):
        report([each for each in found if each.work == work])


if __name__ == "__main__":
    main(sys.argv[1:] or ["torch", "eager", "jax", "xla", "cudagraph"])
