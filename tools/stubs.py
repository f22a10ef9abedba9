"""Writes the stubs, so that type checkers and editors know what ops bring: adjoint/**/*.pyi.

    python -m tools.stubs

An op is a function, and a method of Tensor, without a definition of either that could be read; so
the running package is asked. It must not be the compiled one, whose functions have no signatures.
"""

import ast
import builtins
import inspect
import json
import re
import sys
import typing
from collections import defaultdict
from collections.abc import Iterable, Iterator
from inspect import Parameter
from pathlib import Path
from typing import Any

import adjoint.nn  # gives Tensor a method, too
from adjoint.ops.composites import creating, overridable, overridable_by_modes
from adjoint.ops.declaration import DECLARED
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.method_order import MethodOrder, TensorFirst
from adjoint.ops.op import NamedOp, Op
from adjoint.ops.signatures import RESULTS, Described
from adjoint.tensors.tensor import Tensor

HOME = Path(adjoint.__file__).parent
MODULE = sys.modules["adjoint.tensors.tensor"]  # adjoint.tensor is a function
MODULES = ["adjoint", "adjoint.fft", "adjoint.linalg", "adjoint.nn.functional", "adjoint.special"]
WIDTH = 100
TITLE = '"""The types of {source} and of what ops add to it; written by python -m tools.stubs."""'
STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}

# Members of Tensor whose types follow from nothing that could be read.
MEMBER_RESULTS: dict[str, Any] = {
    **dict.fromkeys(["_base", "grad"], "Tensor | None"),
    **dict.fromkeys(["T", "H", "mT", "mH", "__reversed__"], "Tensor"),
    **dict.fromkeys(["is_cpu", "is_cuda", "is_meta", "is_xla"], "bool"),
    **dict.fromkeys(["is_quantized", "is_sparse", "is_sparse_csr"], "bool"),
    "shape": "Size",
    "layout": "adjoint.ops.arranging.conversion.layout",
    "nbytes": "int",
    "__iter__": "Iterator[Tensor]",
}
WITHOUT: dict[str, dict[str, Any]] = {
    "size": {"dim": "Size"},
    "stride": {"dim": "tuple[int, ...]"},
}


class Types:
    """How types are written in a stub, and what is imported for them."""

    def __init__(self, taken: Iterable[str], given: Iterable[str]) -> None:
        self.taken = set(taken)  # int, for one, is a method of Tensor
        self.given = set(given)  # these need no import
        self.imports: dict[str, set[str]] = defaultdict(set)

    def spell(self, annotation: Any) -> str:
        """An annotation as the stub writes it."""
        if annotation is Parameter.empty:
            annotation = Any
        text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        return re.sub(r"[A-Za-z_][\w.]*", self.import_word, text.strip("'\""))

    def import_word(self, match: re.Match[str]) -> str:
        """The name of a type in the stub."""
        module, _, name = match[0].rpartition(".")
        if name in {"None", *self.given}:
            return name
        module = module or home_of(name)
        if name in self.taken:
            self.imports[module].add(f"{name} as _{name}")
            return f"_{name}"
        if module != "builtins":
            self.imports[module].add(name)
        return name

    def import_lines(self) -> list[str]:
        """The import statements."""
        pairs = self.imports.items()
        return [f"from {module} import {word}" for module, words in pairs for word in words]


def home_of(name: str) -> str:
    """The module of a type that an annotation names without one."""
    for scope in (MODULE, builtins, typing):
        if hasattr(scope, name):
            return str(getattr(scope, name).__module__)
    raise LookupError(f"no type {name!r} in tensor.py, builtins or typing")


# ---- what Tensor has ----


class Derived(Tensor):
    """A class as programs have them, because of which Tensor has a __new__ of its own."""


Member = tuple[str, list[str], Any]  # its name, its decorators, and a function or a type


def members() -> Iterator[Member]:
    """What tensor.py declares and other modules add."""
    for name in sorted(vars(Tensor).keys() - {"__doc__", "__module__", "__annotations__"}):
        member = inspect.getattr_static(Tensor, name)
        member = member.op if isinstance(member, NamedOp) else member
        if isinstance(member, property):
            member = innermost(member)
            yield name, ["property"], member.fget
            if member.fset is not None:
                yield name, [f"{name}.setter"], member.fset
        elif isinstance(member, classmethod | staticmethod):
            yield name, [type(member).__name__], member.__func__
        else:
            yield name, [], member if callable(member) else type(member)


def innermost(member: property) -> property:
    """The property itself, or that which methods.py wrapped in it."""
    inside = getattr(member.fget, "__self__", None)
    return innermost(inside) if isinstance(inside, property) else member


# ---- how it is called, and what it answers ----

Call = tuple[list[Parameter], Any]  # its parameters, and the type of its result


def member_result(name: str, function: Any) -> Any:
    """The type of what a method or property answers."""
    if name in MEMBER_RESULTS:
        return MEMBER_RESULTS[name]
    is_inplace = name.endswith("_") and not name.endswith("__")
    if is_inplace or (name.startswith("__i") and hasattr(Tensor, f"__{name[3:]}")):  # __iadd__
        return "Self"
    annotation = inspect.signature(function).return_annotation
    if name.startswith("__") and annotation is Any and function.__module__ == MODULE.__name__:
        return "Tensor"  # an operator
    return annotation


def calls_of(name: str, function: Any, given: int, result: Any) -> list[Call]:
    """The ways to call a function whose first arguments are given."""
    parameters = list(inspect.signature(function).parameters.values())[given:]
    if given:
        parameters = [p for p in parameters if p.name != "out"]
    named = getattr(function, "__name__", name)
    without = DECLARED[named].without if named in DECLARED else WITHOUT.get(name, {})
    if without and not isinstance(function, TensorFirst):
        return list(switched(parameters, result, without))
    if not isinstance(function, Op) or function.star < 0:
        return [(parameters, result)]
    by_name = list(parameters)  # permute(1, 0), or permute(dims=(1, 0))
    star = function.star - given
    by_name[star] = by_name[star].replace(kind=Parameter.KEYWORD_ONLY)
    return [(parameters, result), (by_name, result)]


def switched(parameters: list[Parameter], result: Any, without: dict[str, Any]) -> Iterator[Call]:
    """The calls without some parameters, and those with them."""
    for names, answer in without.items():
        places = [i for i, p in enumerate(parameters) if p.name in names.split()]
        if places:
            behind = [p for p in parameters[places[0] :] if p.name not in names.split()]
            named = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in behind]
            yield parameters[: places[0]] + named, answer
        if result is not Any:  # which of the two it is must be clear
            for i in places:
                parameters[i] = parameters[i].replace(default=Parameter.empty)
    yield parameters, result


# ---- how it is written ----


def default_text(value: Any) -> str:
    """A default as the stub writes it; what is no literal is left open."""
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value) if isinstance(value, int | float | tuple | None) else "..."


def parameter_texts(parameters: list[Parameter], types: Types) -> list[str]:
    """The parameters of a definition, with the marks between their kinds."""
    texts: list[str] = []
    before: Any = None
    for parameter in parameters:
        kind = parameter.kind
        if before is Parameter.POSITIONAL_ONLY and kind is not before:
            texts.append("/")
        if kind is Parameter.KEYWORD_ONLY and before not in {kind, Parameter.VAR_POSITIONAL}:
            texts.append("*")
        text = f"{STARS.get(kind, '')}{parameter.name}: {types.spell(parameter.annotation)}"
        if parameter.default is not Parameter.empty:
            text += f" = {default_text(parameter.default)}"
        texts.append(text)
        before = kind
    return [*texts, "/"] if before is Parameter.POSITIONAL_ONLY else texts


def definition_lines(name: str, parameters: list[str], result: str, doc: str) -> list[str]:
    """A definition, broken where the formatter would."""
    body = [f'    """{doc}"""'] if doc else []
    ending = f") -> {result}:" if doc else f") -> {result}: ..."
    together = ", ".join(parameters)
    if 4 + len(f"def {name}({together}{ending}") <= WIDTH:
        remark = "  # type: ignore[override]" if name in {"__eq__", "__ne__"} else ""
        return [f"def {name}({together}{ending}{remark}", *body]
    inner = [f"    {together}"]
    if 4 + len(inner[0]) > WIDTH:
        inner = [f"    {parameter}," for parameter in parameters]
    return [f"def {name}(", *inner, ending, *body]


def doc_of(function: Any) -> str:
    """The first paragraph of what is said about a function."""
    if isinstance(function, InplaceOp):
        return f"In-place form of {function.op.name}."
    return inspect.cleandoc(function.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def member_lines(member: Member, types: Types) -> list[str]:
    """The lines of a member of Tensor."""
    name, decorators, function = member
    if isinstance(function, type):
        return [f"{name}: {types.spell(function)}"]
    kind = decorators[0] if decorators else ""
    first = {"staticmethod": [], "classmethod": ["cls"]}.get(kind, ["self"])
    if isinstance(function, MethodOrder):
        function = function.method
    if kind != f"{name}.setter":
        result = member_result(name, function)
        return function_lines((name, decorators, function), first, result, types)
    read = innermost(inspect.getattr_static(Tensor, name)).fget
    if member_result(name, read) is bool:  # it refuses all else by itself
        flag = [*first, f"value: {types.spell(bool)}"]
        return [f"@{kind}", *definition_lines(name, flag, "None", doc_of(function))]
    return function_lines((name, decorators, function), first, "None", types)


def function_lines(member: Member, first: list[str], result: Any, types: Types) -> list[str]:
    """The definitions of a function, one for each way to call it."""
    name, decorators, function = member
    calls = calls_of(name, function, len(first), result)
    if len(calls) > 1:
        decorators = [types.spell("overload")]
    lines: list[str] = []
    for parameters, answer in calls:
        texts = first + parameter_texts(parameters, types)
        lines += [f"@{decorator}" for decorator in decorators]
        lines += definition_lines(name, texts, types.spell(answer), doc_of(function))
    return lines


# ---- the stubs ----


def tensor_stub() -> str:
    """The text of adjoint/tensors/tensor.pyi."""
    types = Types(dir(Tensor), ["Tensor"])
    bases = ", ".join(types.spell(base) for base in Tensor.__bases__)
    lines = [f"class Tensor({bases}):", f'    """{Tensor.__doc__}"""', ""]
    for member in members():
        lines += [f"    {line}" for line in member_lines(member, types)]
    for name, function in inspect.getmembers(MODULE, inspect.isfunction):
        if function.__module__ == MODULE.__name__:
            result = inspect.signature(function).return_annotation
            lines += ["", *function_lines((name, [], function), [], result, types)]
    return joined("tensor.py", types.import_lines(), lines)


def return_types_stub() -> str:
    """The text of adjoint/return_types.pyi."""
    lines: list[str] = []
    for name, kind in RESULTS.items():
        # The edges of a histogram of several variables are several tensors.
        words = {"bin_edges": "tuple[Tensor, ...]"} if name == "histogramdd" else {}
        fields = [f"    {field}: {words.get(field, 'Tensor')}" for field in kind._fields]
        lines += ["", f"class {name}(NamedTuple):", *fields]
    imports = ["from typing import NamedTuple", "from adjoint.tensors.tensor import Tensor"]
    return joined("return_types.py", imports, lines[1:])


def module_stub(name: str) -> str:
    """The text of the stub of a module that gathers public names."""
    module = sys.modules[name]
    source = Path(str(module.__file__))
    public = public_names(module, ast.parse(source.read_text(encoding="utf-8")))
    types = Types([local for local, _ in public], ["Tensor"] if name == "adjoint" else [])
    imports: list[str] = []
    lines: list[str] = []
    for local, home in public:
        value = getattr(module, local)
        if is_declared(value) or (inspect.isfunction(value) and not home):
            result = inspect.signature(value).return_annotation
            lines += function_lines((local, [], value), [], result, types)
        elif home:
            imports.append(f"{home} as {local}")
        else:
            lines.append(f"{local}: {types.spell(None if value is None else type(value))}")
    return joined(str(source.relative_to(HOME)), types.import_lines() + imports, lines)


def public_names(module: Any, tree: ast.Module) -> list[tuple[str, str]]:
    """The names that a module shows, and where those come from that it imports."""
    listed = getattr(module, "__all__", [])
    found: dict[str, str] = {}
    used: set[str] = set()  # imported, but for the module itself
    for node in [
        *tree.body,
        *[n for part in tree.body if isinstance(part, ast.If) for n in part.body],
    ]:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                local = alias.asname or alias.name
                if isinstance(node, ast.Import) or not (alias.asname or local in listed):
                    used.add(local)
                else:
                    found[local] = f"from {node.module} import {alias.name}"
    for local, value in vars(module).items():
        if local not in found.keys() | used and not inspect.ismodule(value):
            found[local] = ""
    return sorted(pair for pair in found.items() if not pair[0].startswith("_"))


ASKING = {ask(home_of).__code__ for ask in (creating, overridable, overridable_by_modes)}


def is_declared(value: Any) -> bool:
    """Whether this is an op, or a function that the tables declare or that was made from one."""
    if isinstance(value, Described) or hasattr(value, "__signature__"):
        return True
    if getattr(value, "__code__", None) in ASKING:  # it only asks others before it is called
        return any(declared.function is value for declared in DECLARED.values())
    return hasattr(value, "__wrapped__")


def joined(source: str, imports: list[str], lines: list[str]) -> str:
    """The text of a stub from its parts."""
    return "\n".join([TITLE.format(source=source), "", *sorted(imports), "", *lines, ""])


def stubs() -> dict[str, str]:
    """The text of each stub by its path below the package."""
    texts = {"tensors/tensor.pyi": tensor_stub(), "return_types.pyi": return_types_stub()}
    for name in MODULES:
        source = Path(str(sys.modules[name].__file__)).relative_to(HOME)
        texts[str(source.with_suffix(".pyi"))] = module_stub(name)
    return texts


def main() -> None:
    """Write every stub beside its module; with --check, only say which are out of date."""
    if adjoint.__compiled__:
        sys.exit("this adjoint is compiled; stubs are written from the sources")
    texts = {HOME / path: text for path, text in stubs().items()}
    if sys.argv[1:] != ["--check"]:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return
    stale = {path for path in HOME.rglob("*.pyi") if path not in texts}
    stale |= {path for path in texts if not path.exists() or path.read_text("utf-8") != texts[path]}
    if stale:
        names = ", ".join(sorted(str(path.relative_to(HOME.parent)) for path in stale))
        sys.exit(f"out of date: {names}; write them again with python -m tools.stubs")


if __name__ == "__main__":
    main()
