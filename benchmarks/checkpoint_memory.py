"""Peak memory and time of one training step of a residual MLP, with and without checkpointing.

Run `python benchmarks/checkpoint_memory.py`; `--blocks`, `--width` and `--batch` change the size.
Bytes are those of NumPy's arrays, as tracemalloc sees them, above what there was before the step.
"""

import argparse
import contextlib
import functools
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import adjoint
from adjoint.nn import functional
from adjoint.utils.checkpoint import (
    checkpoint,
    checkpoint_scope,
    create_selective_checkpoint_contexts,
)

BLOCKS, WIDTH, BATCH = 24, 64, 512


def block(x: Any, up: Any, down: Any) -> Any:
    """One residual block: normalise, widen four times, narrow, add."""
    mean = x.mean(-1, keepdim=True)
    scale = ((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5
    hidden = functional.gelu(((x - mean) / scale.sqrt()) @ up)
    return x + hidden @ down


def plain(x: Any, up: Any, down: Any) -> Any:
    """Everything is kept."""
    return block(x, up, down)


def checkpointed(x: Any, up: Any, down: Any) -> Any:
    """Only the inputs of each block are kept."""
    return checkpoint(block, x, up, down, use_reentrant=False)


def reentrant(x: Any, up: Any, down: Any) -> Any:
    """The same by a pass within the pass."""
    return checkpoint(block, x, up, down, use_reentrant=True)


def selective(x: Any, up: Any, down: Any) -> Any:
    """The matrix products are kept, all else is recomputed."""
    contexts = functools.partial(create_selective_checkpoint_contexts, [adjoint.matmul])
    return checkpoint(block, x, up, down, use_reentrant=False, context_fn=contexts)


def scoped(x: Any, up: Any, down: Any) -> Any:
    """A `with` block in place of a function."""
    with checkpoint_scope():
        return block(x, up, down)


def on_disk(x: Any, up: Any, down: Any) -> Any:
    """Nothing is recomputed: it waits in temporary files."""
    with checkpoint_scope(beyond="disk"):
        return block(x, up, down)


FORMS = [plain, checkpointed, reentrant, selective, scoped, on_disk]
PARTS = (0.1, 0.3, 0.5)  # of what everything takes, as a budget for one scope around all blocks


@contextlib.contextmanager
def traced() -> Iterator[None]:
    """Inside, allocations are counted."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def step(form: Callable[..., Any], weights: list[Any], x: Any, budget: int | None) -> None:
    """Forward through all blocks, in one scope if there is a budget, and backward."""
    with contextlib.nullcontext() if budget is None else checkpoint_scope(budget):
        for up, down in weights:
            x = form(x, up, down)
    (x * x).mean().backward()


def measure(
    form: Callable[..., Any],
    blocks: int = BLOCKS,
    width: int = WIDTH,
    batch: int = BATCH,
    budget: int | None = None,
) -> tuple[int, float, list[Any]]:
    """Peak bytes and seconds of a step, and the gradients."""
    adjoint.manual_seed(0)
    weights = [
        (
            (adjoint.randn(width, 4 * width) / width**0.5).requires_grad_(),
            (adjoint.randn(4 * width, width) / (4 * width) ** 0.5).requires_grad_(),
        )
        for _ in range(blocks)
    ]
    x = adjoint.randn(batch, width).requires_grad_()
    for up, down in weights:  # so that the peak is that of activations
        up.grad, down.grad = adjoint.zeros_like(up), adjoint.zeros_like(down)
    with traced():
        before, _ = tracemalloc.get_traced_memory()
        step(form, weights, x, budget)
        _, peak = tracemalloc.get_traced_memory()
    gradients = [w.grad.clone() for pair in weights for w in pair]
    start = time.perf_counter()
    step(form, weights, x, budget)
    return peak - before, time.perf_counter() - start, gradients


def show(name: str, peak: int, base: int, seconds: float) -> None:
    """Print one line."""
    print(f"{name:14} {peak / 1e6:8.1f} MB {peak / base:6.1%} {seconds * 1e3:8.1f} ms")


def main() -> None:
    """Print one line for each form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, size in (("blocks", BLOCKS), ("width", WIDTH), ("batch", BATCH)):
        parser.add_argument(f"--{name}", type=int, default=size)
    sizes = parser.parse_args()
    measure(plain, 1)  # what is allocated once for all is not the first form's
    base = 0
    for form in FORMS:
        peak, seconds, _ = measure(form, sizes.blocks, sizes.width, sizes.batch)
        base = base or peak
        show(form.__name__, peak, base, seconds)
    for part in PARTS:
        budget = int(part * base)
        peak, seconds, _ = measure(plain, sizes.blocks, sizes.width, sizes.batch, budget)
        show(f"budget {part:.0%}", peak, base, seconds)


if __name__ == "__main__":
    main()
