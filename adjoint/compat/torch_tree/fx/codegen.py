"""The Python code of a graph: a function that makes its calls one after the other."""

import builtins
import enum
import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adjoint.compat.torch_tree.fx.naming import MODULES, WORDS, Namespace
from adjoint.compat.torch_tree.fx.node import Node, map_arg, qualified_name, type_text
from adjoint.compat.torch_tree.overrides import resolve_name
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.ops.arranging.conversion import layout, memory_format
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor

# How the functions of `operator` are written.
magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "matmul": "{} @ {}",
}
reflectable_magic_methods = {
    name.rstrip("_"): text
    for name, text in list(magic_methods.items())[list(magic_methods).index("add") :]
}
inplace_methods = {
    f"i{name}": f"{text.removesuffix(' {}')}= {{}}"
    for name, text in reflectable_magic_methods.items()
}


@dataclass
class PythonCode:
    """The text of a graph's function, and the objects that names in it mean."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] = field(default_factory=dict)
    _prologue_start: int = 0


def path_text(owner: str, target: str) -> str:
    """How code reaches an attribute; parts that are no names of Python's by getattr."""
    for part in target.split("."):
        owner = f"{owner}.{part}" if part.isidentifier() else f'getattr({owner}, "{part}")'
    return owner


class Writer:
    """Writes the code of one graph: statements, and the objects that it needs."""

    def __init__(self, nodes: Iterable[Node], root: str, namespace: Namespace) -> None:
        self.nodes = list(nodes)
        self.root = root
        self.namespace = namespace
        self.globals: dict[str, Any] = dict(WORDS)
        paths = ("", ".fx._pytree", ".utils._pytree")
        for name, path in zip(MODULES, paths, strict=True):
            self.globals[name] = importlib.import_module(f"adjoint.compat.torch{path}")
        self.wrapped: dict[str, None] = {}  # functions that tracing this code anew must leave whole
        self.parameters: list[str] = []
        self.returns = ""
        self.last_uses = _last_uses(self.nodes)

    def reference(self, hint: str, value: Any) -> str:
        """The name by which code finds an object."""
        found = None if value is device else resolve_name(value)
        if found is not None and found.startswith("torch."):
            return hint if hint.startswith("torch._C.") else found
        name = self.namespace.create_name(hint, value)
        self.globals[name] = value
        return name

    def annotation(self, kind: Any) -> str:
        """A type as it is written in the code."""
        if kind is None or kind is type(None):
            return "None"
        text = type_text(kind)
        known = kind is Tensor or getattr(builtins, text, None) is kind
        return text if known or isinstance(kind, str) else self.reference(text, kind)

    def argument(self, value: Any) -> str:
        """An argument as it is written in the code."""
        if isinstance(value, Node):
            return repr(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self.reference(type_text(type(value)), type(value))
            return f"{name}({', '.join(map(self.argument, value))})"
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(self.argument, value))
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{k!r}: {self.argument(v)}' for k, v in value.items())}}}"
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"slice({', '.join(map(self.argument, parts))})"
        if isinstance(value, dtype):
            return f"torch.{value.name}"
        if isinstance(value, (memory_format, layout)):
            return f"torch.{str(value).rpartition('.')[2]}"
        if isinstance(value, enum.Enum):
            return f"{self.reference(type_text(type(value)), type(value))}.{value.name}"
        if callable(value) and not isinstance(value, Tensor):
            return self.reference(qualified_name(value), value)
        return repr(value)

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The arguments of a call as they are written between its brackets."""
        named = [f"{name} = {self.argument(value)}" for name, value in kwargs.items()]
        return ", ".join([*map(self.argument, args), *named])

    def statement(self, node: Node) -> str:
        """The code of one node, without what it lets go of; none for a placeholder."""
        name = repr(node)
        if node.type is not None:
            name = f"{name} : {self.annotation(node.type)}"
        if node.op == "get_attr":
            return f"{name} = {path_text(self.root, str(node.target))}"
        if node.op == "call_module":
            called = path_text(self.root, str(node.target))
            return f"{name} = {called}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            owner = self.argument(node.args[0])
            given = self.arguments(node.args[1:], node.kwargs)
            return f"{name} = {_enclosed(owner)}.{node.target}({given})"
        if node.op == "call_function":
            return self.function_call(node, name)
        raise NotImplementedError(f"a node of op {node.op} and target {node.target} has no code")

    def function_call(self, node: Node, name: str) -> str:
        """The code of a call_function node; operators as such."""
        target: Any = node.target
        if getattr(target, "__module__", "") == "_operator" and not node.kwargs:
            spelled = target.__name__
            if spelled in magic_methods:
                parts = map(self.argument, node.args)
                return f"{name} = {magic_methods[spelled].format(*parts)}"
            if spelled in inplace_methods:
                first = repr(node.args[0])
                change = inplace_methods[spelled].format(*map(self.argument, node.args))
                return f"{change};  {name} = {first}"
        if target is getattr and isinstance(node.args[0], Node) and len(node.args) == 2:
            attribute = node.args[1]
            if isinstance(attribute, str) and attribute.isidentifier():
                return f"{name} = {self.argument(node.args[0])}.{attribute}"
        called = self.reference(qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped[called] = None
        return f"{name} = {called}({self.arguments(node.args, node.kwargs)})"

    def released(self, node: Node) -> str:
        """What follows a statement: names that are not used later are let go of."""
        if node.op in ("placeholder", "output"):
            return ""
        gone = [*map(repr, self.last_uses.get(node, [])), *([] if node.users else [repr(node)])]
        return f";  {' = '.join(gone)} = None" if gone else ""

    def placeholder(self, node: Node) -> str:
        """The parameter of a placeholder; a line of code where it has another name there."""
        kind = "" if node.type is None else f" : {self.annotation(node.type)}"
        default = f" = {self.argument(node.args[0])}" if node.args else ""
        self.parameters.append(f"{node.target}{kind}{default}")
        given = str(node.target).lstrip("*")
        return "" if given == repr(node) else f"{node!r} = {given}\n"


def _enclosed(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node, those whose results nobody needs after it."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(nodes):
        for used in node.all_input_nodes:
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


class CodeGen:
    """How a graph becomes a function; derive from it to write another head or end."""

    def __init__(self) -> None:
        self._body_transformer: Any = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function; `free_vars` are its parameters."""
        own = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(own)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """The last statement."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the function as the graph takes them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the graph answers as the function returns it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names and objects that the function needs besides."""
        return []

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: Namespace
    ) -> PythonCode:
        writer = Writer(nodes, root_module, namespace)
        for name, value in self.additional_globals():
            writer.globals[namespace.create_name(name, value)] = value
        body: list[str] = []
        for node in writer.nodes:
            if node.op == "placeholder":
                body.append(writer.placeholder(node))
            elif node.op == "output":
                if node.type is not None:
                    writer.returns = f" -> {writer.annotation(node.type)}"
                body.append(self._output_text(writer, node))
            else:
                body.append(f"{writer.statement(node)}{writer.released(node)}\n")
        lines = [line for line in body if line] or ["pass\n"]
        if self._body_transformer is not None:
            lines = self._body_transformer(lines)
        first = self.gen_fn_def(writer.parameters, writer.returns)
        text = "".join(lines).replace("\n", "\n    ")
        wraps = [f'torch.fx._symbolic_trace.wrap("{name}")' for name in writer.wrapped]
        return PythonCode(
            "\n".join(["", *(wraps or [""]), "", f"{first}\n    {text}"]), writer.globals
        )

    def _output_text(self, writer: Writer, node: Node) -> str:
        shown = map_arg(node.args[0], lambda each: each)
        return f"{self.generate_output(_Written(writer.argument(shown), shown))}\n"


class _Written:
    """A value that is shown as it is written in the code."""

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value

    def __repr__(self) -> str:
        return self.text


class PyTreeInfo(NamedTuple):
    """The nests that a function takes and returns, of which a graph knows the leaves."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class PyTreeCodeGen(CodeGen):
    """The code of a function whose arguments are nests: a graph takes and gives their leaves."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        """See CodeGen."""
        return tree_flatten(args)[0]

    def process_outputs(self, outputs: Any) -> Any:
        """See CodeGen."""
        spec = self.pytree_info.out_spec
        if spec is None:
            return outputs
        return tree_unflatten(outputs if isinstance(outputs, (list, tuple)) else [outputs], spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """See CodeGen."""
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        own = self.pytree_info.orig_args
        head = super().gen_fn_def(own, maybe_return_annotation)
        given = [name for name in own if name != "self"]
        if not free_vars:
            return head
        leaves = ", ".join(re.split(r"[ :=]", name)[0].lstrip("*") for name in free_vars)
        nest = f"[{', '.join(given)}]"
        return f"{head}\n    {leaves}, = fx_pytree.tree_flatten_spec({nest}, self._in_spec)"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """See CodeGen."""
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"
        return super().generate_output(output_args)
