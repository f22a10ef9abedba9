"""Writes what the overloads of torch.ops.aten take, and their tags: adjoint/compat/aten_*.txt.

    python -m tools.aten_forms

It needs PyTorch of the version that adjoint follows. A line is an overload of an operation that
adjoint has too: its name, its arguments with their types and defaults, and what it gives. After a
star arguments are given by name. A line of the tags is one, and the overloads that have it.
"""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjoint.compat.pytorch_names import overloads
from adjoint.compat.torch_tree import ops

FILE = Path(__file__).parents[1] / "adjoint" / "compat" / "aten_forms.txt"
TAGS = FILE.with_name("aten_tags.txt")
COMMON = "pt2_compliant_tag"  # which all have
KNOWN = {"Tensor", "Scalar", "int", "float", "bool", "str", "complex", "Generator"}
KNOWN |= {"ScalarType", "Layout", "Device", "MemoryFormat", "Stream"}
TYPE = re.compile(r"([A-Za-z]+)(\(.*?\))?(\[\d*\])?(\?)?(\[\d*\])?(\?)?")


def typed(text: str) -> str:
    """A type without the lengths of lists, and without spaces."""
    text = text.replace(" ", "").replace("SymInt", "int")
    return re.sub(r"\[\d+\]", "[]", text)


def is_known(text: str) -> bool:
    """Whether adjoint has values of a type."""
    found = TYPE.match(text)
    return found is not None and found[1] in KNOWN


def form(schema: Any) -> str | None:
    """The line of an overload; None if adjoint has no values for an argument of its."""
    whole = str(schema).removeprefix("aten::")
    name, _, rest = whole.partition("(")
    inside, _, given = rest.rpartition(") -> ")
    parts = [name if "." in name else f"{name}.default"]
    for argument in re.split(r", (?![^(\[]*[\])])", inside) if inside else []:
        if argument == "*":
            parts.append("*")
            continue
        declared, _, default = argument.partition("=")
        kind, _, own = declared.rpartition(" ")
        if not is_known(typed(kind)):
            return None
        shown = f"{own}:{typed(kind)}"
        parts.append(shown if "=" not in argument else f"{shown}={default.replace(' ', '')}")
    results = given.strip("()") if given.startswith("(") else given
    kinds = [typed(re.sub(r" \w+$", "", each)) for each in results.split(", ") if each]
    if not all(map(is_known, kinds)):
        return None
    return " ".join([*parts, "->", *kinds])


def lines() -> Iterator[str]:
    """The file's lines."""
    importlib.import_module("adjoint.compat.torch")  # it gives Tensor more methods
    for schema in importlib.import_module("torch._C")._jit_get_all_schemas():  # noqa: SLF001
        name = schema.name.removeprefix("aten::")
        if name == schema.name or any(argument.is_out for argument in schema.arguments):
            continue
        if "Tensor" not in str(schema) or name.startswith("__") or not ops.is_there(name):
            continue
        found = form(schema)
        if found is not None and (schema.overload_name or "default") in overloads(name):
            yield found


def text() -> str:
    """What the file should hold."""
    return "\n".join(sorted(set(lines()))) + "\n"


def tags() -> str:
    """What the file of tags should hold: those of all overloads of operations that are there."""
    aten = importlib.import_module("torch").ops.aten
    found: dict[str, list[str]] = {}
    for name in sorted({line.partition(".")[0] for line in lines()}):
        packet = getattr(aten, name)
        for overload in packet.overloads():
            for tag in getattr(packet, overload).tags:
                found.setdefault(tag.name, []).append(f"{name}.{overload}")
    return "".join(f"{tag} {' '.join(found[tag])}\n" for tag in sorted(found.keys() - {COMMON}))


if __name__ == "__main__":
    FILE.write_text(text())
    TAGS.write_text(tags())
