"""Print the loops over rows: each reduction one pass over a row, which stays in the cache."""

from dataclasses import dataclass, field
from typing import Any

from tools.loops import LOCAL, NUMBERS, SUFFIX, TYPES, Printer, literal

# What is kept for the passes that follow: the others compute it anew.
KEPT = frozenset(("erf", "erfc", "exp", "expm1", "log", "log1p", "tanh"))


@dataclass
class RowLoop:
    """One C function for each kind of element: one row of each operand and of each result."""

    name: str
    kinds: list[str]  # of the operands: "array", "column" or "number"
    results: list[str]  # "array" or "column"
    bodies: dict[str, str] = field(default_factory=dict)
    kept: int = 0  # rows of room that it needs

    def functions(self) -> list[str]:
        """The C functions."""
        found = []
        for kind, text in self.bodies.items():
            head = f"WHOLE static void {self.name}_{SUFFIX[kind]}(char **p, npy_intp n, char *room)"
            found.append(f"{head} {{\n{text}\n}}\n")
        return found

    def record(self) -> str:
        """What the C code has to know to call them."""
        letters = {"array": "a", "column": "c", "number": "n"}
        shape = "".join(letters[kind] for kind in (*self.kinds, *self.results))
        lines = [
            f"    {{{self.name}_{SUFFIX[kind]}, {len(self.kinds)}, {len(shape)}, "
            f'{size}, {self.kept}, "{shape}"}},'
            for kind, size in zip(self.bodies, (4, 8), strict=True)
        ]
        return "\n".join([f"static const RowKernel {self.name}[] = {{", *lines, "};"])

    def entry(self) -> str:
        """What the module has to know to make a ufunc of them."""
        core = {"array": "(n)", "column": "(1)", "number": "()"}
        given, made = (",".join(core[k] for k in ks) for ks in (self.kinds, self.results))
        types = []
        for kind in self.bodies:
            numbers = ["NPY_DOUBLE" if k == "number" else NUMBERS[kind] for k in self.kinds]
            types += [*numbers, *[NUMBERS[kind]] * len(self.results)]
        counts = f"{len(self.kinds)}, {len(self.results)}"
        listed = ", ".join(types)
        return f'    {{"{self.name}", {self.name}, {counts}, "{given}->{made}", {{{listed}}}}},'


def depth(part: Any) -> int:
    """How many passes over the row must come before this part is known."""
    below = max([depth(operand) for operand in part.operands], default=0)
    return below + 1 if part.function.startswith("row_") else below


def is_of_argument(part: Any) -> bool:
    """Whether a reduction is one of an argument as it is."""
    return bool(part.operands[0].function == "array")


class RowPrinter(Printer):
    """Prints expressions of rows; parts that vary have names within a pass, the others for good."""

    def __init__(self, places: dict[str, int], element: str) -> None:
        super().__init__(places, False)
        self.element = element
        self.rooms: dict[int, str] = {}  # of the parts that are kept, by their names
        self.kept: set[int] = set()  # those that were kept already
        self.held: list[Any] = []  # so that no other part gets the same id
        self.passes: list[str] = []  # text so far

    def value(self, part: Any) -> str:
        """See Printer."""
        if part.function == "constant":
            return literal(part.value, str(part.dtype))
        found = self.names.get(id(part))
        if found is not None:
            return found
        if id(part) in self.kept:
            text = f"{self.rooms[id(part)]}[i]"
        else:
            text = self.expression(part, str(part.dtype))
        name = f"v{len(self.held)}"
        self.held.append(part)
        self.names[id(part)] = name
        line = f"const {LOCAL[str(part.dtype)]} {name} = {text};"
        (self.inside if part.varies() else self.before).append(line)
        return name

    def expression(self, part: Any, kind: str) -> str:
        """See Printer."""
        if part.function == "column":
            return f"*(const {self.element} *)p[{self.places[part.value]}]"
        if part.function == "number" and part.value not in self.places:
            return "(double)n"
        return super().expression(part, kind)

    def finish(self, head: list[str], tail: list[str], after: list[str]) -> None:
        """End a pass: what does not vary comes before it, and names that vary are forgotten."""
        body = [*self.before, *head, *[f"    {line}" for line in self.inside], *tail, *after]
        self.passes += body
        varying = [id(part) for part in self.held if part.varies()]
        self.names = {k: v for k, v in self.names.items() if k not in varying}
        self.before, self.inside = [], []

    def read_in_place(self, part: Any, suffix: str) -> None:
        """A reduction of an argument, which is read where it lies."""
        row, name = f"a{self.places[part.operands[0].value]}", f"r{len(self.held)}"
        self.held.append(part)
        self.names[id(part)] = name
        function = "greatest" if part.function == "row_max" else "total_of_row"
        self.passes.append(f"const {self.element} {name} = {function}_{suffix}({row}, n);")

    def reduce(self, reductions: list[Any], kept: list[Any]) -> None:
        """One pass that takes some reductions, and keeps parts for later."""
        suffix = SUFFIX["float32" if self.element == "float" else "float64"]
        for part in [part for part in reductions if is_of_argument(part)]:
            self.read_in_place(part, suffix)
        reductions = [part for part in reductions if not is_of_argument(part)]
        if not reductions and not kept:
            return
        values = [self.value(part.operands[0]) for part in reductions]
        for part in kept:
            self.inside.append(f"{self.room_of(part)}[i] = {self.value(part)};")
        names, starts, blocks, after = [], [], [], []
        for part, value in zip(reductions, values, strict=True):
            name = f"r{len(self.held)}"
            self.held.append(part)
            names.append(name)
            greatest = part.function == "row_max"
            least = f"-({self.element})INFINITY" if greatest else "0"
            starts.append(f"{self.element} {name} = {least};")
            blocks.append(f"    {self.element} b{name}[STRIP + ROW_BLOCK];")
            self.inside.append(f"b{name}[STRIP + i - start] = {value};")
            block = f"{'greatest' if greatest else 'total'}_{suffix}(b{name} + STRIP, m)"
            joined = f"v_maximum_{suffix}({name}, {block})" if greatest else f"{name} + {block}"
            after.append(f"    {name} = {joined};")
        head = [
            *starts,
            "for (npy_intp start = 0; start < n; start += ROW_BLOCK) {",
            "    const npy_intp m = n - start < ROW_BLOCK ? n - start : ROW_BLOCK;",
            *blocks,
            "    for (npy_intp strip = start; strip < start + m; strip += STRIP) {",
            "        const npy_intp whole = n < STRIP ? n : STRIP;",
            "        const npy_intp from = strip + whole <= n ? strip : n - whole;",
            "        IN_ANY_ORDER",
            "        for (npy_intp k = 0; k < whole; k++) {",
            "            const npy_intp i = from + k;",
        ]
        self.inside = [f"        {line}" for line in self.inside]
        self.finish(head, ["        }", "    }"], [*after, "}"])
        for part, name in zip(reductions, names, strict=True):
            self.names[id(part)] = name
        self.kept.update([id(part) for part in kept])

    def room_of(self, part: Any) -> str:
        """The name of the room for a part."""
        if id(part) not in self.rooms:
            self.rooms[id(part)] = f"s{len(self.rooms)}"
        return self.rooms[id(part)]


def varying_parts(part: Any, found: dict[int, Any]) -> dict[int, Any]:
    """The parts that a pass computes for each element, to know this one."""
    if part.varies() and id(part) not in found:
        found[id(part)] = part
        for operand in part.operands:
            varying_parts(operand, found)
    return found


def reductions_of(part: Any, found: dict[int, Any]) -> dict[int, Any]:
    """All reductions in an expression."""
    for operand in part.operands:
        reductions_of(operand, found)
    if part.function.startswith("row_"):
        found[id(part)] = part
    return found


def body(results: Any, names: list[str], kinds: list[str]) -> tuple[str, int]:
    """The C function of some expressions, without its head; how many rows it keeps."""
    places = {name: i for i, name in enumerate(names)}
    element = TYPES[str(results[0].graph.kind)]
    reductions: dict[int, Any] = {}
    for result in results:
        reductions_of(result, reductions)
    passes: list[list[Any]] = [
        [part for part in reductions.values() if depth(part) == number]
        for number in range(1, 1 + max(depth(part) for part in reductions.values()))
    ]
    computed = [varying_in([part.operands[0] for part in each]) for each in passes]
    computed.append(varying_in(results))
    printer = RowPrinter(places, element)
    for number, each in enumerate(passes):
        later = {key for other in computed[number + 1 :] for key in other}
        kept = [
            part
            for key, part in computed[number].items()
            if part.function in KEPT and key in later and key not in printer.kept
        ]
        printer.reduce(each, kept)
    for i, result in enumerate(results):
        value = printer.value(result)
        if result.varies():
            printer.inside.append(f"o{i}[i] = {value};")
        else:
            printer.before.append(f"*o{i} = {value};")
    last = ["IN_ANY_ORDER", "for (npy_intp i = 0; i < n; i++) {"]
    printer.finish(last, ["}"], [])
    given = [
        f"const {element} *a{i} = (const {element} *)p[{i}];"
        for i, kind in enumerate(kinds)
        if kind == "array"
    ]
    made = [f"{element} *o{i} = ({element} *)p[{len(kinds) + i}];" for i in range(len(results))]
    rooms = [
        f"{element} *{name} = ({element} *)room + {i} * n;"
        for i, name in enumerate(printer.rooms.values())
    ]
    text = "\n".join(f"    {line}" for line in (*given, *made, *rooms, *printer.passes))
    return text, len(printer.rooms)


def varying_in(parts: Any) -> dict[int, Any]:
    """The parts that a pass computes for each element, to know all of these."""
    found: dict[int, Any] = {}
    for part in parts:
        varying_parts(part, found)
    return found


def gathered_rows() -> tuple[list[RowLoop], list[Any]]:
    """All loops over rows, each once, and the table of who uses them."""
    from adjoint.ops.tracing_rows import traced_rows

    known: dict[Any, RowLoop] = {}
    users: list[Any] = []
    for each in traced_rows():
        kinds = [each.key[i] for i in each.order]
        names = [each.names[i] for i in each.order]
        texts = {str(made[0].graph.kind): body(made, names, kinds) for made in each.results}
        results = ["array" if result.varies() else "column" for result in each.results[0]]
        key = (*kinds, *results, *[text for text, _ in texts.values()])
        loop = known.get(key)
        if loop is None:
            name = f"{each.op.name}_rows_{len(known)}"
            kept = max(count for _, count in texts.values())
            bodies = {kind: text for kind, (text, _) in texts.items()}
            loop = known[key] = RowLoop(name, kinds, results, bodies, kept)
        users.append((each.op.name, each.place, each.key, each.order, each.answers, loop.name))
    return list(known.values()), users
