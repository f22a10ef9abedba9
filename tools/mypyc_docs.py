"""Puts docstrings back into the C code that mypyc writes: it keeps signatures, and drops these.

So `help` says the same of a compiled class, method or function as of an interpreted one. Only texts
are added, each behind the signature that it belongs to; one that finds no place fails the build.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# A function or a class, by its name in C, up to where its text would begin.
PLACE = re.compile(
    r"(?:\(PyCFunction\)CPyPy_(?P<function>\w+),\s+[A-Z_ |]+,\s+"
    r"|CPyType_(?P<kind>\w+)_template_ = \{[^}]*?\.tp_doc = )"
    r'PyDoc_STR\("(?:[^"\\]|\\.)*?\\n--\\n\\n'
)
NOT_IN_TABLES = {"property", "setter", "overload"}  # which have a place without a text


def restore_docs(source: Path, modules: Iterable[Path]) -> int:
    """Add the docstrings of these modules to the C code they were compiled to; how many."""
    waiting = {name: doc for module in modules for name, doc in documented(module)}
    count = len(waiting)

    def with_text(place: re.Match[str]) -> str:
        doc = waiting.pop(place["function"] or place["kind"], "")
        return place[0] + c_text(doc)

    text = PLACE.sub(with_text, source.read_text(encoding="utf-8"))
    if waiting:
        raise RuntimeError(f"{source}: no place for the docstrings of {', '.join(waiting)}")
    source.write_text(text, encoding="utf-8")
    return count


def documented(module: Path) -> Iterator[tuple[str, str]]:
    """The names in C of what has a docstring in a module, and these."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and is_tuple(node):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield from with_doc(f"{module.stem}___{node.name}", node)
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and is_in_table(member):
                    yield from with_doc(f"{module.stem}___{node.name}___{member.name}", member)


def with_doc(name: str, node: ast.FunctionDef | ast.ClassDef) -> Iterator[tuple[str, str]]:
    """A name and its docstring, if there is one."""
    doc = ast.get_docstring(node, clean=False)
    if doc:
        yield name, doc


def is_tuple(node: ast.ClassDef) -> bool:
    """Whether a class is a named tuple, which Python makes itself and which keeps its docstring."""
    return any(ast.unparse(base) == "NamedTuple" for base in node.bases)


def is_in_table(member: ast.FunctionDef) -> bool:
    """Whether a method has a place for a text: properties have none, nor what Python calls."""
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in member.decorator_list}
    return not marks & NOT_IN_TABLES and not member.name.startswith("__")


def c_text(doc: str) -> str:
    """A text as it stands between quotes in C."""
    plain = [chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in doc.encode()]
    return "".join(
        f"\\{char}" if char in {'"', "\\"} and len(char) == 1 else char for char in plain
    )
