"""What it costs that every node notes the line of the program that made it.

Run `python benchmarks/provenance.py`. The forward of 999 small ops, with notes and without in turn;
the best time of each, and what the notes add to it.
"""

import time
from typing import Any

import adjoint
from adjoint.autograd.graph import set_provenance_enabled

OPS, SIZE, ROUNDS = 999, 8, 1500


def forward(h: Any, weight: Any, bias: Any) -> Any:
    """A chain of products, sums and hyperbolic tangents."""
    tanh = adjoint.tanh
    for _ in range(OPS // 3):
        h = tanh(h * weight + bias)
    return h


def main() -> None:
    """Take turns, and print nanoseconds an op."""
    x = adjoint.linspace(0.1, 0.3, SIZE).requires_grad_()
    weight, bias = adjoint.full((SIZE,), 1.01), adjoint.full((SIZE,), 0.001)
    best = {False: float("inf"), True: float("inf")}
    for _ in range(ROUNDS):
        for noted in (False, True):
            before = set_provenance_enabled(noted)
            start = time.perf_counter()
            result = forward(x, weight, bias)
            best[noted] = min(best[noted], time.perf_counter() - start)
            del result  # its graph is freed outside of what is timed
            set_provenance_enabled(before)
    without, with_notes = (best[noted] / OPS * 1e9 for noted in (False, True))
    print(f"without {without:.0f} ns an op, with lines noted {with_notes:.0f} ns, ", end="")
    print(f"{with_notes / without - 1:.1%} more; compiled: {adjoint.__compiled__}")


if __name__ == "__main__":
    main()
