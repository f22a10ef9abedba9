"""What a tangent costs: each elementwise op with its tangent, beside the op alone.

Run `python benchmarks/jvp.py [name ...]`. The two are timed in turn, so that both see the same
machine; printed is the ratio of the quickest turns, for 8, 1,000 and 100,000 elements, with a
tangent of the first input and, where there are two, of both.
"""

import sys
import time
from typing import Any

import adjoint
from adjoint.autograd import forward_ad as fw
from adjoint.ops.op import TABLE, Op
from adjoint.testing import takes_only_tensors

SIZES = (8, 1_000, 100_000)
TURNS = 25


def timed(op: Op, arguments: list[Any], count: int) -> float:
    """Seconds of one call, from one turn of several."""
    start = time.perf_counter()
    for _ in range(count):
        op(*arguments)
    return (time.perf_counter() - start) / count


def ratio(op: Op, plain: list[Any], moved: list[Any], size: int) -> float:
    """How much longer a call with tangents takes."""
    count = max(1, 20_000 // (size + 200))
    alone = pushed = float("inf")
    for _ in range(TURNS):
        alone = min(alone, timed(op, plain, count))
        pushed = min(pushed, timed(op, moved, count))
    return pushed / alone


def ops() -> list[Op]:
    """The elementwise ops of one or two tensors that have a derivative."""
    return [
        op
        for op in TABLE.values()
        if takes_only_tensors(op) and op.outputs is None and op.required in (1, 2)
    ]


def row(op: Op, size: int) -> list[float]:
    """The ratios of an op: the first tangent, and both."""
    low, high = op.domain or (0.1, 0.9)
    plain = [adjoint.linspace(low, high, size) for _ in range(op.required)]
    duals = [fw.make_dual(x, adjoint.ones(size)) for x in plain]
    cases = [[duals[0], *plain[1:]]]
    if op.required == 2:
        cases.append(duals)
    return [ratio(op, plain, case, size) for case in cases]


def main() -> None:
    """Print a line for each op, and the share that stays within 2.5."""
    wanted = sys.argv[1:]
    ratios: list[float] = []
    print(f"{'':24}" + "".join(f"{size:>18,}" for size in SIZES))
    with fw.dual_level(), adjoint.no_grad():
        for op in ops():
            if wanted and op.name not in wanted:
                continue
            rows = [row(op, size) for size in SIZES]
            ratios += [value for values in rows for value in values]
            shown = [" / ".join(f"{value:.2f}" for value in values) for values in rows]
            print(f"{op.name:24}" + "".join(f"{text:>18}" for text in shown))
    within = sum(value <= 2.5 for value in ratios)
    print(f"{within} of {len(ratios)} at most 2.5; compiled: {adjoint.__compiled__}")


if __name__ == "__main__":
    main()
