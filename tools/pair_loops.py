"""Print calls with tangents as loops: a result and its tangent in one pass over memory."""

from dataclasses import dataclass
from typing import Any

from tools.loops import DIVISIONS, NUMBERS, SUFFIX, TYPES, Printer, all_parts


@dataclass
class PairLoop:
    """The loop of a call: its arguments, their tangents after them, and what it makes of them."""

    name: str
    arguments: tuple[str, ...]
    bodies: dict[str, str]

    def functions(self) -> list[str]:
        """The C functions."""
        return [
            f"WHOLE static void {self.name}_{SUFFIX[kind]}(char **p, npy_intp n) {{\n{text}\n}}\n"
            for kind, text in self.bodies.items()
        ]

    def record(self) -> str:
        """What the C code has to know to call them."""
        lines = [
            f"    {{{self.name}_{end}, {len(self.arguments)}, 0, 2, {size}, {size}}},"
            for end, size in (("f32", 4), ("f64", 8))
        ]
        return "\n".join([f"static const Kernel {self.name}[] = {{", *lines, "};"])

    def entry(self) -> str:
        """What the module has to know to make a ufunc of them."""
        count = len(self.arguments)
        types = [NUMBERS[kind] for kind in self.bodies for _ in range(count + 2)]
        return f'    {{"{self.name}", {self.name}, {count}, 2, {{{", ".join(types)}}}}},'


def body(results: tuple[Any, Any], arguments: tuple[str, ...]) -> str:
    """The C function of a result and its tangent, without its head."""
    element = TYPES[str(results[0].graph.kind)]
    count = len(arguments)
    printer = Printer({name: i for i, name in enumerate(arguments)}, spread=False)
    out, tangent = (printer.value(result) for result in results)
    lines = [
        *[f"const {element} *a{i} = (const {element} *)p[{i}];" for i in range(count)],
        f"{element} *out = ({element} *)p[{count}], *moved = ({element} *)p[{count + 1}];",
        *printer.before,
        "IN_ANY_ORDER",
        "for (npy_intp i = 0; i < n; i++) {",
        *[f"    {line}" for line in printer.inside],
        f"    out[i] = {out};",
        f"    moved[i] = {tangent};",
        "}",
    ]
    return "\n".join(f"    {line}" for line in lines)


def gathered_pairs() -> tuple[list[PairLoop], list[Any]]:
    """The loops, each once, and which calls of which ops they are for."""
    from adjoint.ops.tracing import paired_ops

    known: dict[Any, PairLoop] = {}
    table: list[Any] = []
    for pair in paired_ops():
        steps = [part for each in pair.results[0] for part in all_parts(each).values()]
        if any(part.function in DIVISIONS for part in steps):
            continue
        bodies = {str(r[0].graph.kind): body(r, pair.names) for r in pair.results}
        name = f"{pair.op.name}_pair_{len(known)}"
        loop = known.setdefault(tuple(bodies.values()), PairLoop(name, pair.names, bodies))
        table.append((pair.op.name, pair.moved, loop.name))
    return list(known.values()), table
