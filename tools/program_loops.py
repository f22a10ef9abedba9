"""Print the steps of optimizers as loops: the notes of a rule, one by one, for each element."""

import inspect
import itertools
from dataclasses import dataclass
from typing import Any

from tools.loops import NUMBERS, SUFFIX, TYPES

# The settings that change which calls a rule makes, with another value than the default's.
SETTINGS: dict[str, Any] = {
    "amsgrad": True,
    "centered": True,
    "decoupled_weight_decay": True,
    "maximize": True,
    "momentum": 0.9,
    "nesterov": True,
    "weight_decay": 0.1,
}
STEPS = 8  # after which all have begun as they go on


@dataclass
class Step:
    """The loop of one rule: its operands, and the notes that a tape has taken of it."""

    name: str
    operands: int
    notes: Any

    @property
    def numbers(self) -> int:
        """How many numbers it takes."""
        return max([-place for note in self.notes for place in note[1:]], default=0)

    @property
    def written(self) -> list[int]:
        """The operands that it writes."""
        return sorted({note[1] for note in self.notes if note[1] < self.operands})

    def functions(self) -> list[str]:
        """The C functions."""
        return [self._function(kind) for kind in SUFFIX]

    def _function(self, kind: str) -> str:
        element = TYPES[kind]
        given = [
            f"const {element} *a{i} = (const {element} *)p[{i}];" for i in range(self.operands)
        ]
        numbers = [
            f"const {element} n{i} = *(const {element} *)p[{self.operands - 1 + i}];"
            for i in range(1, self.numbers + 1)
        ]
        first = self.operands + self.numbers
        made = [
            f"{element} *o{place} = ({element} *)p[{first + i}];"
            for i, place in enumerate(self.written)
        ]
        inside = [f"{element} x{i} = a{i}[i];" for i in range(self.operands)]
        known = set(range(self.operands))
        for note in self.notes:
            inside.append(self._line(note, kind, known))
        inside += [f"o{place}[i] = x{place};" for place in self.written]
        lines = [*given, *numbers, *made, "IN_ANY_ORDER", "for (npy_intp i = 0; i < n; i++) {"]
        lines += [*[f"    {line}" for line in inside], "}"]
        text = "\n".join(f"    {line}" for line in lines)
        head = f"WHOLE static void {self.name}_{SUFFIX[kind]}(char **p, npy_intp n)"
        return f"{head} {{\n{text}\n}}\n"

    def _line(self, note: Any, kind: str, known: set[int]) -> str:
        """One note in C; a place that is new gets its variable."""
        from adjoint.backends.loops.symbols import COMPARISONS, IN_C

        name, out, *places = note
        values = [f"n{-place}" if place < 0 else f"x{place}" for place in places]
        if name == "masked":
            text = f"{values[1]} ? {values[0]} : x{out}"
        elif name == "positive":
            text = values[0]
        elif name in IN_C:
            text = IN_C[name].format(*values)
        else:
            text = f"v_{name}_{SUFFIX[kind]}({', '.join(values)})"
        new = "" if out in known else f"{'int' if name in COMPARISONS else TYPES[kind]} "
        known.add(out)
        return f"{new}x{out} = {text};"

    def record(self) -> str:
        """What the C code has to know to call them."""
        lines = [
            f"    {{{self.name}_{end}, {self.operands}, {self.numbers}, {len(self.written)}, "
            f"{size}, {size}}},"
            for end, size in (("f32", 4), ("f64", 8))
        ]
        return "\n".join([f"static const Kernel {self.name}[] = {{", *lines, "};"])

    def entry(self) -> str:
        """What the module has to know to make a ufunc of them."""
        count = self.operands + self.numbers
        types = [NUMBERS[kind] for kind in SUFFIX for _ in range(count + len(self.written))]
        return (
            f'    {{"{self.name}", {self.name}, {count}, {len(self.written)}, '
            f"{{{', '.join(types)}}}}},"
        )


def gathered_steps() -> tuple[list[Step], list[Any]]:
    """The steps of all optimizers, each once, and the table in which a tape looks for them."""
    from adjoint import optim
    from adjoint.optim.elementwise import ElementwiseOptimizer

    kinds = [each for each in vars(optim).values() if inspect.isclass(each)]
    known: dict[Any, Step] = {}
    for kind in kinds:
        if issubclass(kind, ElementwiseOptimizer) and kind is not ElementwiseOptimizer:
            for operands, notes in noted(kind):
                name = f"{kind.__name__.lower()}_step_{len(known)}"
                known.setdefault((operands, notes), Step(name, operands, notes))
    table = [(key, step.name, step.written) for key, step in known.items()]
    return list(known.values()), table


def noted(kind: Any) -> Any:
    """The notes of an optimizer's rule, with all combinations of its settings."""
    import adjoint

    names = [name for name in SETTINGS if name in inspect.signature(kind).parameters]
    taken: dict[Any, None] = {}
    for size in range(len(names) + 1):
        for chosen in itertools.combinations(names, size):
            param = adjoint.ones(3, requires_grad=True)
            try:
                optimizer = kind([param], **{name: SETTINGS[name] for name in chosen})
            except ValueError:  # settings that exclude one another
                continue
            for _ in range(STEPS):
                param.grad = adjoint.ones(3)
                optimizer.step()
            taken.update({each.noted: None for each in optimizer.programs()})
    return list(taken)
