"""What the short form of a call gives: a small op by each way a call can go.

Run `python benchmarks/short_path.py`. Nanoseconds an op of 8 elements, the best of many turns:
recorded, under no_grad, under inference_mode, and the same op through the general path.
"""

import time
from collections.abc import Callable
from typing import Any

import adjoint
from adjoint.call import dispatch
from adjoint.ops.op import TABLE

OPS, ROUNDS = 300, 300


def short(op: Any, x: Any, y: Any) -> None:
    """Calls as users make them."""
    for _ in range(OPS):
        op(x, y)


def general(op: Any, x: Any, y: Any) -> None:
    """The same calls by `apply`."""
    rest = op.defaults[2:]
    for _ in range(OPS):
        dispatch.apply(op, [x, y, *rest])


def best(way: Callable[..., None], mode: Any, op: Any, x: Any, y: Any) -> float:
    """Seconds of the quickest turn, spent in a mode."""
    found = float("inf")
    with mode():
        for _ in range(ROUNDS):
            start = time.perf_counter()
            way(op, x, y)
            found = min(found, time.perf_counter() - start)
    return found


def main() -> None:
    """Take each way in turn, and print what an op costs."""
    op = TABLE["mul"]
    x = adjoint.linspace(0.1, 0.3, 8).requires_grad_()
    y = adjoint.full((8,), 1.01)
    ways = {
        "recorded": (short, adjoint.enable_grad),
        "under no_grad": (short, adjoint.no_grad),
        "under inference_mode": (short, adjoint.inference_mode),
        "recorded, by the general path": (general, adjoint.enable_grad),
        "under no_grad, by the general path": (general, adjoint.no_grad),
    }
    times = {name: best(way, mode, op, x, y) / OPS * 1e9 for name, (way, mode) in ways.items()}
    for name, nanoseconds in times.items():
        print(f"{name:36} {nanoseconds:6.0f} ns  {nanoseconds / times['recorded']:.2f} of recorded")
    print(f"compiled: {adjoint.__compiled__}")


if __name__ == "__main__":
    main()
