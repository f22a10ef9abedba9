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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

import adjoint.nn  # gives Tensor a method, too
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.method_order import MethodOrder
from adjoint.ops.op import COMPOSITES, TABLE, Op
from adjoint.tensors.tensor import Tensor

HOME = Path(adjoint.__file__).parent
MODULE = sys.modules["adjoint.tensors.tensor"]  # adjoint.tensor is a function
MODULES = ["adjoint", "adjoint.fft", "adjoint.linalg", "adjoint.nn.functional", "adjoint.special"]
WIDTH = 100
TITLE = '"""The types of {source} and of what ops add to it; written by python -m tools.stubs."""'
STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}

# Where the functions live that answer a tensor unless they are listed below.
OWN = (
    "adjoint.ops.",
    "adjoint.call.dispatch",
    "adjoint.nn.functional",
    "adjoint.ops.neural.native_functions",
)
SEVERAL = "tuple[Tensor, ...]"
PAIR = "tuple[Tensor, Tensor]"
RESULTS: dict[str, Any] = {
    **dict.fromkeys(["chunk", "dsplit", "hsplit", "split", "tensor_split", "vsplit"], SEVERAL),
    **dict.fromkeys(["split_copy", "split_with_sizes", "split_with_sizes_copy"], SEVERAL),
    **dict.fromkeys(["broadcast_tensors", "meshgrid", "gradient", "unravel_index"], SEVERAL),
    **dict.fromkeys(["unbind", "unbind_copy"], SEVERAL),
    **dict.fromkeys(["lobpcg", "std_mean", "var_mean"], PAIR),
    **dict.fromkeys(["pca_lowrank", "svd_lowrank"], "tuple[Tensor, Tensor, Tensor]"),
    **dict.fromkeys([f"max_pool{n}d_with_indices" for n in (1, 2, 3)], PAIR),
    **dict.fromkeys([f"adaptive_max_pool{n}d_with_indices" for n in (1, 2, 3)], PAIR),
    **dict.fromkeys([f"fractional_max_pool{n}d_with_indices" for n in (2, 3)], PAIR),
    # One thing or another, or named tuples of other ops.
    **dict.fromkeys(["atleast_1d", "atleast_2d", "atleast_3d", "lu", "qr", "slogdet", "svd"], Any),
    **dict.fromkeys(["linalg_cholesky_ex", "linalg_lstsq", "linalg_solve_ex"], Any),
}

# Members of Tensor alone.
MEMBER_RESULTS: dict[str, Any] = {
    **dict.fromkeys(["_base", "grad"], "Tensor | None"),
    **dict.fromkeys(["T", "H", "mT", "mH", "__reversed__", "where"], "Tensor"),
    **dict.fromkeys(["is_cpu", "is_cuda", "is_meta", "is_xla"], "bool"),
    **dict.fromkeys(["is_quantized", "is_sparse"], "bool"),
    "shape": "Size",
    "layout": "adjoint.ops.arranging.conversion.layout",
    "nbytes": "int",
    "__iter__": "Iterator[Tensor]",
}


@dataclass
class Switched:
    """Results that differ with some parameters: without any of them, and with them."""

    parameters: set[str]
    without: str
    given: Any


INDICES = Switched({"return_indices"}, "Tensor", Any)
MEDIAN = Switched({"dim", "keepdim"}, "Tensor", Any)
MAXIMUM = Switched({"dim", "keepdim", "other"}, "Tensor", Any)
UNIQUE = Switched({"return_inverse", "return_counts"}, "Tensor", Any)
RESULTS |= {
    **dict.fromkeys([f"max_pool{n}d" for n in (1, 2, 3)], INDICES),
    **dict.fromkeys([f"adaptive_max_pool{n}d" for n in (1, 2, 3)], INDICES),
    **dict.fromkeys([f"fractional_max_pool{n}d" for n in (2, 3)], INDICES),
    **dict.fromkeys(["max", "min"], MAXIMUM),
    **dict.fromkeys(["median", "nanmedian"], MEDIAN),
    **dict.fromkeys(["unique", "unique_consecutive"], UNIQUE),
    "nonzero": Switched({"as_tuple"}, "Tensor", Any),
    "where": Switched({"input", "other"}, SEVERAL, "Tensor"),
}
MEMBER_RESULTS |= {
    "size": Switched({"dim"}, "Size", "int"),
    "stride": Switched({"dim"}, "tuple[int, ...]", "int"),
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

Member = tuple[str, list[str], Any]  # its name, its decorators, and a function or a type


def members() -> Iterator[Member]:
    """What tensor.py declares and other modules add."""
    for name in sorted(vars(Tensor).keys() - {"__doc__", "__module__", "__annotations__"}):
        member = inspect.getattr_static(Tensor, name)
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


def signature_of(function: Any) -> tuple[list[Parameter], Any]:
    """The parameters, the tensor of a method first, and the annotation of the result."""
    if isinstance(function, InplaceOp):
        function = function.op
    if isinstance(function, Op):
        parameters = list(inspect.signature(function.forward).parameters.values())
        return parameters[1:], Any  # the first is the array library
    if isinstance(function, MethodOrder):
        (first, tensor, *rest), result = signature_of(function.function)
        return [tensor, first.replace(kind=Parameter.POSITIONAL_ONLY), *rest], result
    signature = inspect.signature(function)
    return list(signature.parameters.values()), signature.return_annotation


def result_of(name: str, function: Any, annotation: Any) -> Any:
    """The type of what a function of ours answers."""
    named = getattr(function, "__name__", name)
    if named in RESULTS:
        return RESULTS[named]
    if isinstance(function, Op):
        return "Tensor" if function.outputs is None else f"adjoint.return_types.{function.name}"
    is_own = isinstance(function, InplaceOp) or function.__module__.startswith(OWN)
    return "Tensor" if is_own and annotation is Any else annotation


def member_result(name: str, function: Any, annotation: Any) -> Any:
    """The type of what a method or property answers."""
    if name in MEMBER_RESULTS:
        return MEMBER_RESULTS[name]
    is_inplace = name.endswith("_") and not name.endswith("__")
    if is_inplace or (name.startswith("__i") and hasattr(Tensor, f"__{name[3:]}")):  # __iadd__
        return "Self"
    if name.startswith("__") and annotation is Any and function.__module__ == MODULE.__name__:
        return "Tensor"  # an operator
    return result_of(name, function, annotation)


def variants(function: Any, given: int, result: Any) -> list[tuple[list[Parameter], Any]]:
    """The ways to call a function whose first arguments are given: parameters and result."""
    parameters = signature_of(function)[0][given:]
    if not given and takes_out(function, parameters):
        parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    if isinstance(result, Switched):
        return list(switched(parameters, result))
    if not isinstance(function, Op) or function.star < 0:
        return [(parameters, result)]
    named = list(parameters)  # permute(1, 0), or permute(dims=(1, 0))
    star = function.star - given
    named[star] = named[star].replace(kind=Parameter.KEYWORD_ONLY)
    return [(parameters, result), (named, result)]


def switched(
    parameters: list[Parameter], result: Switched
) -> Iterator[tuple[list[Parameter], Any]]:
    """The calls without some parameters, and those with them."""
    places = [i for i, p in enumerate(parameters) if p.name in result.parameters]
    if places:
        behind = [p for p in parameters[places[0] :] if p.name not in result.parameters]
        named = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in behind]
        yield parameters[: places[0]] + named, result.without
    if result.given is not Any:  # which of the two it is must be clear
        for i in places:
            parameters[i] = parameters[i].replace(default=Parameter.empty)
    yield parameters, result.given


def takes_out(function: Any, parameters: list[Parameter]) -> bool:
    """Whether a function of the tables takes out=, though its signature does not say so."""
    if isinstance(function, Op):
        return True
    is_open = any(p.name == "out" or p.kind is Parameter.VAR_KEYWORD for p in parameters)
    return hasattr(function, "__wrapped__") and function in COMPOSITES.values() and not is_open


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
    doc = function.doc if isinstance(function, Op) else function.__doc__
    return inspect.cleandoc(doc or "").partition("\n\n")[0].replace("\n", " ")


def member_lines(member: Member, types: Types) -> list[str]:
    """The lines of a member of Tensor."""
    name, decorators, function = member
    if isinstance(function, type):
        return [f"{name}: {types.spell(function)}"]
    kind = decorators[0] if decorators else ""
    first = {"staticmethod": [], "classmethod": ["cls"]}.get(kind, ["self"])
    result = member_result(name, function, signature_of(function)[1])
    return function_lines(member, first, "None" if kind == f"{name}.setter" else result, types)


def function_lines(member: Member, first: list[str], result: Any, types: Types) -> list[str]:
    """The definitions of a function, one for each way to call it."""
    name, decorators, function = member
    calls = variants(function, len(first), result)
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
            result = signature_of(function)[1]
            lines += ["", *function_lines((name, [], function), [], result, types)]
    return joined("tensor.py", types.import_lines(), lines)


def return_types_stub() -> str:
    """The text of adjoint/return_types.pyi."""
    lines: list[str] = []
    for op in TABLE.values():
        if op.outputs is not None:
            fields = [f"    {field}: Tensor" for field in op.outputs._fields]
            lines += ["", f"class {op.name}(NamedTuple):", *fields]
    imports = ["from typing import NamedTuple", "from adjoint.tensors.tensor import Tensor"]
    return joined("return_types.py", imports, lines[1:])


def module_stub(name: str) -> str:
    """The text of the stub of a module that gathers public names."""
    module = sys.modules[name]
    source = Path(str(module.__file__))
    listed = getattr(module, "__all__", [])
    names = gathered(ast.parse(source.read_text(encoding="utf-8")).body, listed)
    public = [(local, home) for local, home in names if not local.startswith("_")]
    types = Types([local for local, _ in public], ["Tensor"] if name == "adjoint" else [])
    imports: list[str] = []
    lines: list[str] = []
    for local, home in public:
        value = getattr(module, local)
        if isinstance(value, MethodOrder):
            value = value.function
        if is_function(value, name):
            result = result_of(local, value, signature_of(value)[1])
            lines += function_lines((local, [], value), [], result, types)
        elif home:
            imports.append(f"{home} as {local}")
        else:
            lines.append(f"{local}: {types.spell(None if value is None else type(value))}")
    return joined(str(source.relative_to(HOME)), types.import_lines() + imports, lines)


def gathered(body: Sequence[ast.stmt], listed: list[str]) -> Iterator[tuple[str, str]]:
    """The names that a module makes, or imports for others, and from where."""
    for node in body:
        if isinstance(node, ast.If):  # TYPE_CHECKING
            yield from gathered(node.body, listed)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname is not None or alias.name in listed:
                    yield alias.asname or alias.name, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.FunctionDef):
            yield node.name, ""
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), ""


def is_function(value: Any, module: str) -> bool:
    """Whether a stub must spell out what this is: it is an op, or would answer Any, or local."""
    if isinstance(value, Op | InplaceOp):
        return True
    if not inspect.isfunction(value):
        return False
    home = value.__module__
    return home == module or (home.startswith(OWN) and signature_of(value)[1] is Any)


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
