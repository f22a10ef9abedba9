"""What a tangent costs: each elementwise op with its tangent, beside the op alone.

Run `python benchmarks/jvp.py [name ...] [--save FILE]`. The two are timed in turn, so that both see
the same machine; shown is the ratio of the quickest turns, for 1,000 and 100,000 elements, with a
tangent of the first input and, after a stroke, of both. `--save` writes the table as Markdown.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import adjoint
from adjoint.autograd import forward_ad as fw
from adjoint.ops.op import TABLE, Op
from adjoint.testing import takes_only_tensors

SIZES = (1_000, 100_000)
TURNS = 150
BAR = 2.5

ABOUT = """# What a tangent costs

Each elementwise op of the table on a dual tensor, over the same call on a plain one: float32, one
thread, no_grad, the {build} package. After the stroke both inputs have tangents.
`python benchmarks/jvp.py --save FILE` wrote this. Where the tangent is a loop of the wheel
([kernels.md](kernels.md)) it is one pass, however many steps its rule has, and for short ops the
same pass as the op's. A pass over 1,000 elements takes hardly longer than the call itself, so that
there calls count, not steps.

"""


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


def has_tangent(op: Op) -> bool:
    """Whether an op of one or two tensors has a derivative by each; some refuse it."""
    if not takes_only_tensors(op) or op.outputs is not None or op.required not in (1, 2):
        return False
    try:
        for case in cases(op, 8)[1:]:
            op(*case)
    except RuntimeError as error:
        if "is not implemented" in str(error) or "must be given" in str(error):
            return False
        raise
    return True


def cases(op: Op, size: int) -> list[list[Any]]:
    """The arguments of a call: plain, with a tangent of the first, and with both."""
    low, high = op.domain or (0.1, 0.9)
    plain = [adjoint.linspace(low, high, size) for _ in range(op.required)]
    duals = [fw.make_dual(x, adjoint.ones(size)) for x in plain]
    found = [plain, [duals[0], *plain[1:]]]
    return [*found, duals] if op.required == 2 else found


def row(op: Op, size: int) -> list[float]:
    """The ratios of an op: the first tangent, and both."""
    plain, *moved = cases(op, size)
    return [ratio(op, plain, case, size) for case in moved]


def shown(values: list[float]) -> str:
    """Ratios as text."""
    return " / ".join(f"{value:.2f}" for value in values)


def summary(table: dict[str, list[list[float]]]) -> list[str]:
    """How many ops stay within the bar, for each size."""
    lines = []
    for i, size in enumerate(SIZES):
        first = [rows[i][0] for rows in table.values()]
        within = sum(value <= BAR for value in first)
        lines.append(
            f"{size:,} elements: {within} of {len(first)} ops with one tangent take at most {BAR} "
            f"times the op alone; the median takes {sorted(first)[len(first) // 2]:.2f}"
        )
    return lines


def as_markdown(table: dict[str, list[list[float]]]) -> str:
    """The page of the documentation."""
    build = "compiled" if adjoint.__compiled__ else "pure"
    heads = " | ".join(f"{size:,}" for size in SIZES)
    lines = [
        *ABOUT.format(build=build).splitlines(),
        *[f"- {line}." for line in summary(table)],
        "",
        f"| op | {heads} |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for name, rows in table.items():
        cells = " | ".join(shown(values) for values in rows)
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print a line for each op, and how many stay within the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    table: dict[str, list[list[float]]] = {}
    print(f"{'':24}" + "".join(f"{size:>18,}" for size in SIZES))
    with fw.dual_level(), adjoint.no_grad():
        for op in TABLE.values():
            if (given.names and op.name not in given.names) or not has_tangent(op):
                continue
            table[op.name] = [row(op, size) for size in SIZES]
            print(f"{op.name:24}" + "".join(f"{shown(values):>18}" for values in table[op.name]))
    print(*summary(table), f"compiled: {adjoint.__compiled__}", sep="\n")
    if given.save is not None:
        given.save.write_text(as_markdown(table), encoding="utf-8")


if __name__ == "__main__":
    main()
