"""Writes adjoint/tensor.pyi, so that type checkers and editors know the methods that ops bring.

    python -m tools.tensor_stub

What tensor.py declares is read from its source, because compiled functions have no signatures; the
rest is asked of the class.
"""

import __future__

import ast
import builtins
import inspect
import json
import re
import sys
import textwrap
import typing
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Any

import adjoint.nn  # gives Tensor a method, too
from adjoint.ops import ALIASES
from adjoint.ops.elementwise import MethodOrder
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import METHOD_COMPOSITES, Op
from adjoint.tensor import Tensor

HOME = Path(adjoint.__file__).parent
WIDTH = 100
STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
TITLE = '"""What tensor.py declares and ops attach; written by python -m tools.tensor_stub."""'

# Results that result_of would not find; of a pair, the first is that of a call without arguments.
RESULTS: dict[str, str | tuple[str, str]] = {
    "_base": "Tensor | None",
    "grad": "Tensor | None",
    "shape": "Size",
    "size": ("Size", "int"),
    "stride": ("tuple[int, ...]", "int"),
    "layout": "adjoint.ops.conversion.layout",
    "nbytes": "int",
    "vsplit": "tuple[Tensor, ...]",
    "__iter__": "Iterator[Tensor]",
    "__reversed__": "Tensor",
    **dict.fromkeys(["T", "H", "mT", "mH"], "Tensor"),
    **dict.fromkeys(["is_cpu", "is_cuda", "is_meta", "is_xla"], "bool"),
    **dict.fromkeys(["is_quantized", "is_sparse"], "bool"),
    **dict.fromkeys(
        ["chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind"],
        "tuple[Tensor, ...]",
    ),
    # One thing or another, as the arguments want it.
    **dict.fromkeys(["lu", "max", "median", "min", "nanmedian", "nonzero", "slogdet"], "Any"),
    **dict.fromkeys(["qr", "svd", "unique", "unique_consecutive"], "Any"),
}


class Types:
    """How types are written inside class Tensor, and what is imported for them."""

    def __init__(self, taken: Iterable[str]) -> None:
        self.taken = set(taken)  # int, for one, is a method there
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
        if name in {"None", "Tensor"} or name.endswith("Result"):
            return name
        module = module or home_of(name)
        if name in self.taken:
            self.imports[module].add(f"{name} as _{name}")
            return f"_{name}"
        if module != "builtins":
            self.imports[module].add(name)
        return name

    def import_lines(self) -> list[str]:
        """The import statements, as the linter sorts them."""
        own = sorted(name for name in self.imports if name.startswith("adjoint"))
        others = sorted(self.imports.keys() - set(own))
        texts = {name: ", ".join(sorted(words)) for name, words in self.imports.items()}
        lines = [f"from {name} import {texts[name]}" for name in others]
        return [*lines, "", *[f"from {name} import {texts[name]}" for name in own]]


def home_of(name: str) -> str:
    """The module of a type that an annotation names without one."""
    for scope in (sys.modules["adjoint.tensor"], builtins, typing):  # adjoint.tensor is a function
        if hasattr(scope, name):
            return str(getattr(scope, name).__module__)
    raise LookupError(f"no type {name!r} in tensor.py, builtins or typing")


# ---- what there is ----

Member = tuple[str, list[str], Any]  # its name, its decorators, and a function or a type


def declared(body: Sequence[ast.stmt]) -> Iterator[Member]:
    """What a part of tensor.py declares."""
    for node in body:
        if isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), [], ast.unparse(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            yield node.name, decorators, evaluated(node)


def evaluated(node: ast.FunctionDef) -> Any:
    """The function of a definition, with its annotations as text."""
    node.decorator_list = []
    flags = __future__.annotations.compiler_flag
    scope: dict[str, Any] = {"__name__": "adjoint.tensor"}
    exec(compile(ast.Module([node], []), "tensor.py", "exec", flags), scope)  # noqa: S102  # ours
    return scope[node.name]


def attached(known: set[str]) -> Iterator[Member]:
    """What other modules give to Tensor."""
    for name in sorted(vars(Tensor).keys() - known):
        member = inspect.getattr_static(Tensor, name)
        if isinstance(member, property):
            yield name, ["property"], member.fget
            if member.fset is not None:
                yield name, [f"{name}.setter"], member.fset
        elif isinstance(member, classmethod | staticmethod):
            yield name, [type(member).__name__], member.__func__
        else:
            yield name, [], member if callable(member) else type(member)


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
    """The type of what a method or property answers."""
    if name in RESULTS:
        return RESULTS[name]
    if name.endswith("_") and not name.endswith("__"):
        return "Self"
    if isinstance(function, Op):
        return "Tensor" if function.outputs is None else tuple_name(function)
    is_operator = name.startswith("__") and function.__module__ == "adjoint.tensor"
    if is_operator or ALIASES.get(name, name) in METHOD_COMPOSITES:
        return "Tensor" if annotation in {Any, "Any"} else annotation
    return annotation


def tuple_name(op: Op) -> str:
    """The stub's name for the class of the named tuple that an op answers."""
    return f"_{op.name.capitalize()}Result"


def variants(name: str, function: Any, given: int) -> list[tuple[list[Parameter], Any]]:
    """The ways to call a function of which some arguments are given: parameters and result."""
    parameters, annotation = signature_of(function)
    parameters = parameters[given:]
    result = result_of(name, function, annotation)
    if isinstance(result, tuple):
        required = [parameter.replace(default=Parameter.empty) for parameter in parameters]
        return [([], result[0]), (required, result[1])]
    if isinstance(function, Op) and function.star >= 0:  # permute(1, 0), or permute(dims=(1, 0))
        named = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
        return [(parameters, result), (named, result)]
    return [(parameters, result)]


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
    """The lines of a member of the class."""
    name, decorators, function = member
    if isinstance(function, str | type):
        return [f"{name}: {types.spell(function)}"]
    kind = decorators[0] if decorators else ""
    first = {"staticmethod": [], "classmethod": ["cls"]}.get(kind, ["self"])
    return function_lines(member, first, types)


def function_lines(member: Member, first: list[str], types: Types) -> list[str]:
    """The definitions of a function, one for each way to call it."""
    name, decorators, function = member
    calls = variants(name, function, len(first))
    if len(calls) > 1:
        decorators = [types.spell("overload")]
    lines: list[str] = []
    for parameters, result in calls:
        texts = first + parameter_texts(parameters, types)
        answer = "None" if f"{name}.setter" in decorators else types.spell(result)
        lines += [f"@{decorator}" for decorator in decorators]
        lines += definition_lines(name, texts, answer, doc_of(function))
    return lines


def tuple_lines(op: Op) -> list[str]:
    """The class of the named tuple that an op answers."""
    fields = [f"    {field}: Tensor" for field in op.outputs._fields]
    return ["", f"class {tuple_name(op)}(NamedTuple):", *fields]


def stub() -> str:
    """The text of adjoint/tensor.pyi."""
    module = ast.parse((HOME / "tensor.py").read_text(encoding="utf-8")).body
    (tensor,) = [node for node in module if isinstance(node, ast.ClassDef)]
    functions = [node for node in module if isinstance(node, ast.FunctionDef)]
    types = Types(dir(Tensor))
    bases = ", ".join(types.spell(ast.unparse(base)) for base in tensor.bases)
    own = list(declared(tensor.body))
    own_names = {name for name, _, _ in own}
    members = [*own, *attached(own_names | {"__doc__", "__module__", "__annotations__"})]
    body = [line for member in members for line in member_lines(member, types)]
    lines = [f"class Tensor({bases}):", f'    """{ast.get_docstring(tensor)}"""', ""]
    lines += textwrap.indent("\n".join(body), "    ").split("\n")
    for member in declared(functions):
        lines += ["", *function_lines(member, [], types)]
    answers = {f.name: f for _, _, f in members if isinstance(f, Op) and f.outputs is not None}
    for op in answers.values():
        types.spell("NamedTuple")
        lines += tuple_lines(op)
    return "\n".join([TITLE, "", *types.import_lines(), "", *lines, ""])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HOME / "tensor.pyi"
    target.write_text(stub(), encoding="utf-8")
