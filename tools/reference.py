"""The reference: a page for each public namespace, with an entry for every name in it.

`make docs` has it written by tools/site_pages.py. It asks the running package, as tools/stubs.py
does: an op is declared in a table and has no function that a reader of sources, such as
mkdocstrings, could find.
"""

import ast
import enum
import importlib
import inspect
import re
import types
import typing
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import adjoint

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100

# Import paths that no package imports by itself.
ALONE = ("adjoint.return_types", "adjoint.utils.module_tracker")

KINDS = ("Classes", "Functions", "In-place functions", "Data types and constants", "Modules")
TYPING = (typing.TypeVar, types.UnionType, types.GenericAlias)  # for signatures, not for users
IMPORTED = re.compile(r"^(?:>>> )?from (adjoint[\w.]+) import (\w+(?:, \w+)*)", re.MULTILINE)
EXAMPLE = re.compile(r"^>>> .*?(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
MARKUP = re.compile(r"([\\*_\[\]{}|#])")
PAGE = re.compile(r"docs/((?:\w|\\_|/)+\.md)")
PLAINER = (  # of a signature
    (r": Any = ", "="),
    (r": Any\b", ""),
    (r" -> (?:Any|None)$", ""),
    (r"<(?:class|function) '?(?:\w+\.)*(\w+)'?(?: at \w+)?>", r"\1"),
    (r"<[^<>]+>", "..."),
    (r"'(\w+)'$|ForwardRef\('(\w+)'\)", r"\1\2"),
    (r"\+(\w+_co)\b", r"\1"),
    (r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", ""),
)


# ---- what is public ----


def public_names(module: types.ModuleType) -> list[str]:
    """The names of a module that are meant for users."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        file = Path(str(module.__file__))  # its source is beside it where it is compiled
        source = ast.parse(file.with_name(file.name.partition(".")[0] + ".py").read_text("utf-8"))
        offered, all_bound = set[str](), set[str]()
        for name, is_offered in bound_names(source.body, module.__name__):
            all_bound.add(name)
            if is_offered:
                offered.add(name)
        listed = offered | {name for name in set(dir(module)) - all_bound if is_made(module, name)}
    named = sorted(name for name in listed if not name.startswith("_"))
    return [name for name in named if not isinstance(getattr(module, name), TYPING)]


def bound_names(body: Sequence[ast.stmt], module: str) -> Iterator[tuple[str, bool]]:
    """The names that statements bind, and whether they offer them to others: `x as x` does."""
    for node in body:
        if isinstance(node, ast.If):  # TYPE_CHECKING
            yield from bound_names([*node.body, *node.orelse], module)
        elif isinstance(node, ast.ImportFrom):
            yield from (
                (alias.asname or alias.name, alias.asname == alias.name) for alias in node.names
            )
        elif isinstance(node, ast.Import):
            for alias in node.names:
                below = alias.name.removeprefix(f"{module}.")
                is_own = below != alias.name and alias.asname is None  # import adjoint.nn.init
                yield (below if is_own else alias.asname or alias.name.partition(".")[0]), is_own
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, True
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = [part for target in targets for part in ast.walk(target)]
            yield from ((part.id, True) for part in named if isinstance(part, ast.Name))


def is_made(module: types.ModuleType, name: str) -> bool:
    """Whether a name was put there while the module ran, other than by importing a submodule."""
    return not isinstance(getattr(module, name), types.ModuleType)


def namespaces() -> dict[str, list[str]]:
    """Every public namespace with its names."""
    found = offered()
    return dict(sorted((found | shown_on_pages(found)).items()))


def offered() -> dict[str, list[str]]:
    """The namespaces that can be reached from adjoint by public names."""
    found: dict[str, list[str]] = {}
    waiting = ["adjoint", *ALONE]
    while waiting:
        module = importlib.import_module(waiting.pop(0))
        if module.__name__ not in found:
            found[module.__name__] = public_names(module)
            waiting += submodules(module, found[module.__name__])
    return {path: names for path, names in found.items() if names}


def submodules(module: types.ModuleType, names: list[str]) -> list[str]:
    """The public modules among the names of a module."""
    values = [getattr(module, name) for name in names]
    paths = [value.__name__ for value in values if isinstance(value, types.ModuleType)]
    return [path for path in paths if path.startswith("adjoint.")]


def shown_on_pages(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """What the README and the pages of docs/ import from modules that are no namespaces."""
    known = {id(value_of(path, name)) for path, names in found.items() for name in names}
    shown: dict[str, set[str]] = defaultdict(set)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for path, names in IMPORTED.findall(page.read_text(encoding="utf-8")):
            for name in names.split(", ") if path not in found else []:
                value = value_of(path, name)
                if id(value) not in known and not isinstance(value, types.ModuleType):
                    shown[path].add(name)
    return {path: sorted(names) for path, names in shown.items()}


def value_of(path: str, name: str) -> Any:
    """What a public name stands for."""
    return getattr(importlib.import_module(path), name)


# ---- what is said about it ----


def kind_of(name: str, value: Any) -> str:
    """The section of a page where a name stands."""
    if isinstance(value, types.ModuleType):
        return "Modules"
    if isinstance(value, type):
        return "Classes"
    if not callable(value):
        return "Data types and constants"
    return "In-place functions" if name.endswith("_") else "Functions"


def doc_of(value: Any) -> str:
    """What a name's documentation says, as Markdown."""
    doc = getattr(value, "__doc__", None)
    if not isinstance(value, type) and doc == type(value).__doc__:  # that of its class
        own = getattr(value, "doc", None)
        doc = own if isinstance(own, str) else doc if is_ours(type(value)) else None
    return as_markdown(inspect.cleandoc(doc or ""))


def is_ours(cls: type) -> bool:
    """Whether a class is adjoint's; what Python says about float is not about pi."""
    return cls.__module__.startswith("adjoint") or cls is types.FunctionType


def as_markdown(doc: str) -> str:
    """A docstring as Markdown: examples are fenced, and only backticks are markup."""
    parts = []
    end = 0
    for example in EXAMPLE.finditer(doc):
        parts += [escaped(doc[end : example.start()]), f"```pycon\n{example[0].strip()}\n```"]
        end = example.end()
    return "\n\n".join(part.strip() for part in [*parts, escaped(doc[end:])] if part.strip())


def escaped(text: str) -> str:
    """Text that Markdown leaves alone, but for code between backticks."""
    pieces = text.split("`")
    pieces[::2] = [MARKUP.sub(r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2]]
    return PAGE.sub(
        lambda page: f"[{page[1]}](../{page[1].replace(chr(92), '')})", "`".join(pieces)
    )


def signature_of(value: Any) -> str:
    """How something is called, "(input, other)"; nothing where nobody knows."""
    said = None
    if getattr(value, "__signature__", None) is None:
        for inner in ("op", "function") if not isinstance(value, type) else ():
            value = getattr(value, inner, value)  # of an in-place form, of a method's other order
        said = getattr(value, "signature", None)  # of an op, and of layers without parameters
        if callable(said):
            said = None if isinstance(value, type) else said()
    try:
        called = said or inspect.signature(value)
    except (TypeError, ValueError):  # compiled, or written in C
        return ""
    text = "(" + str(called).partition("(")[2]
    for pattern, simpler in PLAINER:
        text = re.sub(pattern, simpler, text)
    return text


def split(signature: str) -> tuple[list[str], str]:
    """The parameters of a signature, and what stands behind them."""
    depth, parts = 0, [""]
    for place, character in enumerate(signature[1:], 1):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return [part.strip() for part in parts if part], signature[place + 1 :]
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    raise ValueError(f"{signature} does not end")


def call_text(name: str, signature: str, first: int = 0) -> str:
    """A call with its parameters, but for the first ones; on several lines where it is long."""
    parameters, rest = split(signature)
    parameters = parameters[first:]
    text = f"{name}({', '.join(parameters)}){rest}"
    if len(text) <= WIDTH:
        return text
    return "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), f"){rest}"])


# ---- pages ----


class Reference:
    """All entries, which know one another: the same thing may have several names."""

    def __init__(self) -> None:
        self.names = namespaces()
        self.homes: dict[int, str] = {}  # where a thing is described first
        for path, names in self.names.items():
            for name in sorted(names, key=lambda name: name != own_name(value_of(path, name))):
                value = value_of(path, name)
                if isinstance(value, type) or callable(value):
                    self.homes.setdefault(id(value), f"{path}.{name}")

    def pages(self) -> dict[str, str]:
        """The text of each page by its name."""
        texts = {f"{path}.md": self.namespace_page(path) for path in self.names}
        texts["adjoint.Tensor.md"] = self.tensor_page()
        return {"index.md": self.index_page()} | texts

    def index_page(self) -> str:
        """The namespaces, each with the sentence that describes it."""
        rows = [f"| [`{path}`]({path}.md) | {summary_of(path)} |" for path in self.names]
        rows.insert(1, "| [`adjoint.Tensor`](adjoint.Tensor.md) | The class, with its methods. |")
        return "\n".join(["# Reference", "", "| namespace | |", "|---|---|", *rows, ""])

    def namespace_page(self, path: str) -> str:
        """The entries of a namespace, by kind, each kind with an index."""
        lines = [f"# {path}", "", doc_of(importlib.import_module(path)), ""]
        for kind in KINDS:
            names = [
                name for name in self.names[path] if kind_of(name, value_of(path, name)) == kind
            ]
            if names:
                lines += [f"## {kind}", ""]
                if len(names) > 12:
                    lines += [" · ".join(f"[{name}](#{path}.{name})" for name in names), ""]
                for name in names:
                    lines += [self.entry(path, name), ""]
        return "\n".join(lines)

    def entry(self, path: str, name: str) -> str:
        """What is said about one name."""
        full, value = f"{path}.{name}", value_of(path, name)
        head = heading(full, name)
        if isinstance(value, types.ModuleType):
            shown = value.__name__
            page = f"[{shown}]({shown}.md): {summary_of(shown)}" if shown in self.names else ""
            return f"{head}\n\n{page or doc_of(value)}"
        if full == "adjoint.Tensor":
            return (
                f"{head}\n\n{doc_of(value)} Its methods have [their own page](adjoint.Tensor.md)."
            )
        parts = [head, self.code(full, value), doc_of(value), self.elsewhere(full, value)]
        if isinstance(value, type):
            parts.append(members_text(value))
        return "\n\n".join(part for part in parts if part)

    def code(self, full: str, value: Any) -> str:
        """How it is called, or its value."""
        if not callable(value):
            return fenced(f"{full} = {value!r}") if "<" not in repr(value) else ""
        signature = signature_of(value)
        return fenced(call_text(full, signature)) if signature else ""

    def elsewhere(self, full: str, value: Any) -> str:
        """Where the same thing was described under another name."""
        home = self.homes.get(id(value), full)
        if home == full:
            return ""
        return f"The same as [`{home}`]({home.rpartition('.')[0]}.md#{home})."

    def tensor_page(self) -> str:
        """Properties and methods of Tensor, an entry each."""
        cls = adjoint.Tensor
        lines = ["# adjoint.Tensor", "", doc_of(cls), ""]
        lines += [fenced(call_text("adjoint.Tensor", signature_of(cls) or "()")), ""]
        members = dict(public_members(cls))
        for kind in ("Properties", "Methods", "In-place methods"):
            names = [name for name, member in members.items() if member_kind(name, member) == kind]
            lines += [f"## {kind}", ""]
            lines += [" · ".join(f"[{name}](#adjoint.Tensor.{name})" for name in names), ""]
            for name in names:
                lines += [heading(f"adjoint.Tensor.{name}", name), ""]
                if not isinstance(members[name], property):
                    lines += [fenced(method_call(f"Tensor.{name}", members[name])), ""]
                lines += [doc_of(members[name]), ""]
        return "\n".join(lines)


def heading(anchor: str, name: str) -> str:
    """A heading that links can name."""
    return f"### {escaped(name)} {{ #{anchor} }}"


def fenced(code: str) -> str:
    """A block of code."""
    return f"```python\n{code}\n```"


def own_name(value: Any) -> str:
    """What a thing calls itself."""
    return str(getattr(value, "__name__", ""))


def summary_of(path: str) -> str:
    """The first sentence of a module's documentation, on one line."""
    return doc_of(importlib.import_module(path)).partition("\n\n")[0].replace("\n", " ")


# ---- members of classes ----


def public_members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class itself defines for users: methods and properties."""
    for name in sorted(vars(cls)):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        is_method = inspect.isfunction(member) and "." in member.__qualname__
        is_called = is_method or (cls is adjoint.Tensor and callable(member))
        if not name.startswith("_") and (is_called or isinstance(member, property)):
            yield name, member


def member_kind(name: str, member: Any) -> str:
    """The section of the page of Tensor where a member stands."""
    if isinstance(member, property):
        return "Properties"
    return "In-place methods" if name.endswith("_") else "Methods"


def method_call(name: str, member: Any) -> str:
    """How a method is called: the first parameter is the object."""
    signature = signature_of(member)
    return call_text(name, signature, first=1) if signature else f"{name}(…)"


def members_text(cls: type) -> str:
    """The members of a class as a list of definitions; of an enumeration, its values."""
    if issubclass(cls, enum.Enum):
        return "Values: " + ", ".join(f"`{name}`" for name in cls.__members__) + "."
    lines = []
    for name, member in public_members(cls):
        doc = doc_of(member).replace("\n", "\n    ")
        if doc:
            called = name if isinstance(member, property) else method_call(name, member)
            lines += [f"`{' '.join(called.split())}`", f":   {doc}", ""]
    return "\n".join(lines)
