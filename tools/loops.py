"""Write the C code of the loops that a wheel has: `python -m tools.loops FOLDER`.

Each expression that `adjoint.ops.tracing` finds becomes one function over elements that lie in
order, and a ufunc of NumPy's around it (`adjoint/backends/loops/ufuncs.h`).
"""

import marshal
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "adjoint" / "backends" / "loops"
TYPES = {"float32": "float", "float64": "double", "bool": "npy_bool"}
LOCAL = {"float32": "float", "float64": "double", "bool": "int"}
NUMBERS = {"float32": "NPY_FLOAT", "float64": "NPY_DOUBLE", "bool": "NPY_BOOL"}
SUFFIX = {"float32": "f32", "float64": "f64"}

# The headers of loops that no declaration says, and the table of them.
WRITTEN = (
    "along",
    "folds",
    "windows",
    "ranks",
    "across",
    "norms",
    "sampling",
    "paths",
    "classes",
    "gates",
    "pairs",
    "planes",
    "products",
    "fourier",
    "triangles",
    "symmetric",
    "degrees",
    "sums_of_powers",
    "pieces",
    "incomplete_gamma",
    "shifts",
    "casts",
    "halves",
    "written",
)
# What is quick but for some arguments, and the C function that tells these, by the first and the
# last of them; a block in which they are takes the long way.
DIVISIONS = {"floor_divide": "far", "fmod": "far", "remainder": "far", "power_before": "far_power"}


@dataclass
class Loop:
    """One C function for each kind of element: how it is called, and what it computes."""

    name: str
    arrays: int
    numbers: int
    bodies: dict[str, str] = field(default_factory=dict)
    result: str = ""  # the data type, if it is none of the elements'


def literal(value: Any, kind: str) -> str:
    """A constant in C, exact to the bit."""
    import numpy as np

    if kind == "bool":
        return str(int(value))
    with np.errstate(over="ignore"):
        number = float(np.dtype(kind).type(value))
    if number != number:  # noqa: PLR0124  no NaN equals itself
        return f"({TYPES[kind]})NAN"
    if number in (float("inf"), float("-inf")):
        return f"({TYPES[kind]}){'-' if number < 0 else ''}INFINITY"
    return number.hex() + ("f" if kind == "float32" else "")


class Printer:
    """Prints one expression as the body of a function; arguments by their places."""

    def __init__(self, places: dict[str, int], spread: bool) -> None:
        self.places = places
        self.spread = spread  # numbers come as arrays, which have them everywhere
        self.near = False  # no quotient is large
        self.names: dict[int, str] = {}
        self.before: list[str] = []  # what is the same for all elements
        self.inside: list[str] = []

    def value(self, part: Any) -> str:
        """The name of a part, which is computed first if it was not yet."""
        found = self.names.get(id(part))
        if found is not None:
            return found
        kind = str(part.dtype)
        if part.function == "constant":
            return literal(part.value, kind)
        text = self.expression(part, kind)
        lines = self.inside if self.varies(part) else self.before
        name = f"v{len(self.names)}"
        self.names[id(part)] = name
        lines.append(f"const {LOCAL[kind]} {name} = {text};")
        return name

    def expression(self, part: Any, kind: str) -> str:
        """A part in C, of operands that have names."""
        if part.function == "cast" and part.operands[0].function == "number" and self.spread:
            return f"a{self.places[part.operands[0].value]}[i]"
        if part.function == "array":
            return f"a{self.places[part.value]}[i]"
        if part.function == "number":
            if self.spread:
                raise LookupError(part.value)
            return f"*(const double *)p[{self.places[part.value]}]"
        values = [self.value(operand) for operand in part.operands]
        return self.formula(part, kind, values)

    def formula(self, part: Any, kind: str, values: list[str]) -> str:
        """A function in C, of operands by their names."""
        from adjoint.backends.loops.symbols import IN_C, NAMES_IN_C

        own = str(part.operands[0].dtype)
        written = f"({TYPES[kind]}){{0}}" if part.function == "cast" else IN_C.get(part.function)
        if part.operands[-1].function == "constant":  # no NaN: one comparison tells
            written = {
                "maximum": "{0} < {1} ? {1} : {0}",
                "minimum": "{0} > {1} ? {1} : {0}",
            }.get(part.function, written)
        if written is not None:
            return written.format(*values)
        name = NAMES_IN_C.get(part.function, part.function)
        if part.function in DIVISIONS and self.near:
            name = f"near_{name}"
        return f"v_{name}_{SUFFIX[own]}({', '.join(values)})"

    def varies(self, part: Any) -> bool:
        """Whether a part is read or computed for each element."""
        own = part.function == "array" or (self.spread and part.function == "number")
        return own or any(self.varies(operand) for operand in part.operands)


def body(result: Any, arrays: list[str], numbers: list[str], spread: bool = False) -> str:
    """The C function of one expression, without its head."""
    places = {name: i for i, name in enumerate([*arrays, *numbers])}
    element = TYPES[str(result.graph.kind)]
    kind = TYPES[str(result.dtype)]
    given = [f"const {element} *a{i} = (const {element} *)p[{i}];" for i in range(len(arrays))]
    given.append(f"{kind} *out = ({kind} *)p[{len(places)}];")
    divisions = [part for part in all_parts(result).values() if part.function in DIVISIONS]
    if not divisions:
        lines = [*given, *passed(result, Printer(places, spread), "n")]
        return "\n".join(f"    {line}" for line in lines)
    near = Printer(places, spread)
    near.near = True
    check = Printer(places, spread)
    suffix = SUFFIX[str(result.graph.kind)]
    asked = []
    for part in divisions:
        x, y = check.value(part.operands[0]), check.value(part.operands[-1])
        asked.append(f"far |= v_{DIVISIONS[part.function]}_{suffix}({x}, {y});")
    lines = [
        *given,
        *check.before,
        "for (npy_intp start = 0; start < n; start += BLOCK) {",
        "    const npy_intp end = n - start < BLOCK ? n : start + BLOCK;",
        "    int far = 0;",
        "    for (npy_intp i = start; i < end; i++) {",
        *[f"        {line}" for line in (*check.inside, *asked)],
        "    }",
        "    if (!far) {",
        *[f"        {line}" for line in passed(result, near, "end", "start")],
        "    } else {",
        *[f"        {line}" for line in passed(result, Printer(places, spread), "end", "start")],
        "    }",
        "}",
    ]
    return "\n".join(f"    {line}" for line in lines)


def passed(result: Any, printer: Printer, end: str, start: str = "0") -> list[str]:
    """One pass that computes an expression."""
    out = printer.value(result)
    value = f"(npy_bool)({out})" if str(result.dtype) == "bool" else out
    return [
        *printer.before,
        "IN_ANY_ORDER",
        f"for (npy_intp i = {start}; i < {end}; i++) {{",
        *[f"    {line}" for line in printer.inside],
        f"    out[i] = {value};",
        "}",
    ]


def all_parts(part: Any, found: dict[int, Any] | None = None) -> dict[int, Any]:
    """All parts of an expression, each once."""
    found = {} if found is None else found
    if id(part) not in found:
        found[id(part)] = part
        for operand in part.operands:
            all_parts(operand, found)
    return found


def gathered() -> tuple[list[Loop], list[Any]]:
    """All loops, each once, and the table of who uses them; see `adjoint.ops.attaching`."""
    sys.path.insert(0, str(ROOT))
    os.environ["ADJOINT_LOOPS"] = "0"  # what an earlier build has left is not asked
    from adjoint.backends.loops.symbols import has_limit
    from adjoint.ops.tracing import Traced, is_worth_a_loop, traced_ops

    known: dict[Any, Loop] = {}
    table: list[Any] = []
    found = [each for each in traced_ops() if isinstance(each, Traced)]
    found = [each for each in found if is_worth_a_loop(each.results[0])]
    for each in sorted(found, key=lambda traced: len(traced.numbers)):  # loops of arrays first
        arrays = [each.names[i] for i in each.arrays]
        numbers = [each.names[i] for i in each.numbers]
        order = (*each.arrays, *each.numbers)
        bodies = {str(r.graph.kind): body(r, arrays, numbers) for r in each.results}
        key = (len(arrays), len(numbers), *bodies.values())
        loop = known.get(key)
        if loop is None and numbers:
            mixed = tuple(sorted(order))
            loop = known.get(spread(each, [each.names[i] for i in mixed]))
            order = order if loop is None else mixed
        if loop is None:
            part = {-1: "forward", -2: "tangent"}.get(each.place, str(each.place))
            name = f"{each.op.name}_{part}_{len(known)}"
            result = str(each.results[0].dtype)
            loop = Loop(name, len(arrays), len(numbers), bodies, "bool" if result == "bool" else "")
            known[key] = loop
        limited = any(has_limit(r) for r in each.results if str(r.graph.kind) == "float32")
        user = (each.op.name, each.place, each.key, order, each.conditions, limited)
        table.append((*user, loop.name))
    return list(known.values()), table


def spread(traced: Any, names: list[str]) -> Any:
    """By what a loop is known that does the same with arrays in the place of numbers."""
    try:
        return (len(names), 0, *[body(r, names, [], spread=True) for r in traced.results])
    except LookupError:  # it computes with numbers, and more exactly than arrays would
        return None


def printed(
    loops: list[Loop], rows: list[Any], steps: list[Any], pairs: list[Any], tables: Any
) -> str:
    """The one C file, which is compiled once for each set of instructions."""
    functions, records, entries = [], [], []
    for each in (*rows, *steps, *pairs):
        functions += each.functions()
        records.append(each.record())
    entries += [each.entry() for each in (*steps, *pairs)]
    for loop in loops:
        for kind, text in loop.bodies.items():
            head = f"WHOLE static void {loop.name}_{SUFFIX[kind]}(char **p, npy_intp n)"
            functions.append(f"{head} {{\n{text}\n}}\n")
        types = []
        for kind in loop.bodies:
            types += [NUMBERS[kind]] * loop.arrays + ["NPY_DOUBLE"] * loop.numbers
            types.append(NUMBERS[loop.result or kind])
        names = [f"{loop.name}_{SUFFIX[kind]}" for kind in loop.bodies]
        records.append(f"static const Kernel {loop.name}[] = {{")
        for name, size in zip(names, (4, 8), strict=True):
            sizes = f"{size}, {1 if loop.result else size}"
            records.append(f"    {{{name}, {loop.arrays}, {loop.numbers}, 1, {sizes}}},")
        records.append("};")
        entries.append(
            f'    {{"{loop.name}", {loop.name}, {loop.arrays + loop.numbers}, 1, '
            f"{{{', '.join(types)}}}}},"
        )
    data = marshal.dumps(tables)
    numbers = ",".join(map(str, data))
    wrapped = re.sub(r"(.{1,95},)", r"\1\n", numbers)
    return "\n".join(
        [
            '#include "vector_math.h"',
            '#include "standard_math.h"',
            '#include "ufuncs.h"',
            '#include "rows.h"',
            *[f'#include "{name}.h"' for name in WRITTEN],
            *functions,
            *records,
            f"static const Entry entries[] = {{\n{chr(10).join(entries)}\n}};",
            "static const RowEntry row_entries[] = {",
            *[row.entry() for row in rows],
            "};",
            f"static const unsigned char table[] = {{\n{wrapped}\n}};",
            '#include "module.h"\n',
        ]
    )


def write(folder: Path) -> str:
    """Write loops.c into a folder; what it holds, in words."""
    from tools.pair_loops import gathered_pairs
    from tools.program_loops import gathered_steps
    from tools.row_loops import gathered_rows

    loops, table = gathered()
    rows, of_rows = gathered_rows()
    steps, of_steps = gathered_steps()
    pairs, of_pairs = gathered_pairs()
    folder.mkdir(parents=True, exist_ok=True)
    text = printed(loops, rows, steps, pairs, (table, of_rows, of_steps, of_pairs))
    folder.joinpath("loops.c").write_text(text, encoding="utf-8")
    counts = f"{len(rows)} over rows, {len(steps)} of optimizers, {len(pairs)} with tangents"
    return f"{len(loops)} loops over elements, {counts}"


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))  # noqa: T201  a tool
