"""Time and memory of graphs of 10,000, 100,000 and 1,000,000 nodes: what each step costs.

Run `python benchmarks/scale.py`, with `--largest 100000` for less. Each line is a process of its
own; the factor is the time an item at the largest size over that at the smallest: 1 is linear.
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import adjoint
from adjoint import explain
from adjoint.autograd import Function
from adjoint.viz import draw_graph

SIZES = (10_000, 100_000, 1_000_000)


def leaf() -> Any:
    """One number that needs a gradient."""
    return adjoint.tensor([1.0], requires_grad=True)


def chain(size: int) -> Any:
    """As many nodes in a row."""
    y = leaf()
    for _ in range(size):
        y = y * 1.0
    return y


def fan(size: int) -> Any:
    """As many edges of one node, into one leaf."""
    return adjoint.stack([leaf()] * size).sum()


def sums(size: int) -> Any:
    """As many nodes, each with an edge into one leaf."""
    x = leaf()
    total = x * 0.0
    for _ in range(size):
        total = total + x
    return total


def nested(depth: int) -> Callable[[], Any]:
    """A pass within a pass, and so on."""
    x = leaf()

    class Inner(Function):
        @staticmethod
        def forward(ctx, value, left):
            ctx.left = left
            return value * 1.0

        @staticmethod
        def backward(ctx, gradient):
            if ctx.left:
                with adjoint.enable_grad():
                    Inner.apply(x, ctx.left - 1).backward()
            return gradient, None

    return lambda: Inner.apply(x, depth).backward()


def freed(size: int) -> Callable[[], Any]:
    """A graph that nothing refers to any more."""
    kept = [chain(size)]
    return kept.clear


def drawn(size: int) -> Callable[[], Any]:
    """A picture of what lies nearest to the root."""
    y = chain(size)
    return lambda: draw_graph(y)


def explained(size: int) -> Callable[[], Any]:
    """The report of a graph."""
    y = chain(size)
    return lambda: str(explain(y))


# What is timed, made by a function of the size; and how much smaller it is measured.
WORK: dict[str, tuple[Callable[[int], Callable[[], Any]], int]] = {
    "forward": (lambda size: lambda: chain(size), 1),
    "backward of a chain": (lambda size: chain(size).backward, 1),
    "free": (freed, 1),
    "edges of one node into a leaf": (lambda size: fan(size).backward, 1),
    "edges of many nodes into a leaf": (lambda size: sums(size).backward, 1),
    "draw": (drawn, 1),
    "explain": (explained, 1),
    "passes within passes": (nested, 100),
}


def measure(name: str, size: int) -> dict[str, float]:
    """The seconds of one run, and the most memory the process had."""
    make, smaller = WORK[name]
    work = make(size // smaller)
    gc.collect()
    gc.freeze()  # what was made before is not looked through in between
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"items": size // smaller, "seconds": seconds, "peak": peak}


def measured_apart(name: str, size: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", name, str(size)]
    found: dict[str, float] = json.loads(subprocess.check_output(command))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], int(options.one[1]))))
        return
    sizes = [size for size in SIZES if size <= options.largest]
    print(f"compiled: {adjoint.__compiled__}; microseconds an item, and megabytes at most")
    for name in WORK:
        rows = [measured_apart(name, size) for size in sizes]
        each = [row["seconds"] / row["items"] * 1e6 for row in rows]
        cells = [
            f"{int(row['items']):>9,}: {micro:7.2f} µs {row['peak']:6.0f} MB"
            for row, micro in zip(rows, each, strict=True)
        ]
        print(f"{name:32} {'  '.join(cells)}  factor {each[-1] / each[0]:.2f}")


if __name__ == "__main__":
    main()
