"""torch.fx.graph: steps one after the other, and how they are added, moved and taken out."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from adjoint.compat.torch_tree.fx.codegen import (
    CodeGen as CodeGen,
    PythonCode as PythonCode,
    PyTreeCodeGen as PyTreeCodeGen,
    PyTreeInfo as PyTreeInfo,
    inplace_methods as inplace_methods,
    magic_methods as magic_methods,
    reflectable_magic_methods as reflectable_magic_methods,
)
from adjoint.compat.torch_tree.fx.naming import Namespace, snake_case
from adjoint.compat.torch_tree.fx.node import Argument, Node, Target, map_aggregate, map_arg
from adjoint.nn.module import Module
from adjoint.tensors.tensor import Tensor

_Namespace = Namespace
_PyTreeCodeGen = PyTreeCodeGen
_PyTreeInfo = PyTreeInfo
_snake_case = snake_case


class _node_list:
    """The nodes of a graph in their order; one may be taken out while one goes through them."""

    def __init__(self, graph: "Graph", direction: str = "_next") -> None:
        self.graph = graph
        self.direction = direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node: Node = getattr(self.graph._root, self.direction)
        while node is not self.graph._root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self) -> "_node_list":
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """As a context: new nodes come to another place."""

    def __init__(self, graph: "Graph", insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


def _is_reached(module: Any, path: str) -> bool:
    """Whether a module has another, or a tensor, at the end of a path."""
    for name in path.split("."):
        module = getattr(module, name, None)
    return isinstance(module, (Module, Tensor))


class Graph:
    """A program as a list of nodes; `python_code` writes it down."""

    def __init__(
        self,
        owning_module: Module | None = None,
        tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._numbered = False
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._origin = ""  # which function it was traced from, for tracebacks

    # ---- what is in it ----

    @property
    def owning_module(self) -> Module | None:
        """The GraphModule that it is the graph of."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module: Module | None) -> None:
        self._owning_module = module

    @property
    def nodes(self) -> _node_list:
        """The nodes in their order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that says what is returned."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError(f"the graph ends with {last.op or 'nothing'}, not with an output")
        return last

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of an op, and of a target if one is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def changed(self) -> None:
        """The order of nodes is another; comparing them counts anew."""
        self._numbered = False

    def numbered(self) -> None:
        """See to it that each node knows its place."""
        if not self._numbered:
            for place, node in enumerate(self.nodes):
                node._place = place
            self._numbered = True

    # ---- new nodes ----

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node at the place where nodes are inserted, by default the end."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"create_node: args must be a tuple, got {type(args).__name__}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"create_node: kwargs must be a dict, got {type(kwargs).__name__}")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(self, "", op, target, args, kwargs, type_expr)
        node.name = self._graph_namespace.create_name(candidate, node)
        self._insert(node)
        self._len += 1
        owner = self.owning_module
        for hook in getattr(owner, "_create_node_hooks", ()):
            hook(node)
        return node

    def _target_to_str(self, target: Target | None) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
        if name.startswith("__") and name.endswith("__") and len(name) > 4:
            name = name[2:-2]
        return snake_case(name)

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = inspect.Signature.empty
    ) -> Node:
        """A parameter of the function."""
        args = () if default_value is inspect.Signature.empty else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module."""
        owner = self.owning_module
        if owner is not None and not _is_reached(owner, qualified_name):
            warnings.warn(
                f"get_attr: {qualified_name} is no module, parameter or buffer of the GraphModule "
                "that owns this graph; add it, or the graph can't run",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, (), {}, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """The call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """The call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """The call of a module that lies in the one of the graph."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What the function returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    # ---- other places ----

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """As a context: new nodes come before n, or to the beginning."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("inserting_before: the node belongs to another graph")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """As a context: new nodes come after n, one after the other, or to the end."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("inserting_after: the node belongs to another graph")
        last = [n]

        def insert(node: Node) -> None:
            last[0].append(node)
            last[0] = node

        return _InsertPoint(self, insert)

    def erase_node(self, to_erase: Node) -> None:
        """Take out a node whose result nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"erase_node: {to_erase} belongs to another graph")
        if to_erase._erased:
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        to_erase._update_args_kwargs((), {})
        self._len -= 1
        self.changed()

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes whose results nobody uses; whether there were any."""
        self.lint()
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._len != before

    # ---- copies ----

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """A node like one of another graph; arg_transform says which nodes it takes here."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: "Graph", val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Copy the nodes of a graph to here, but for those in val_map; what it returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda each: val_map[each])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda each: val_map[each])
        return None

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> "Graph":
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        if memo is not None:
            memo[id(self)] = made
        made._codegen = copy.deepcopy(self._codegen, memo)
        made._origin = self._origin
        nodes: dict[Node, Node] = {}
        for node in self.nodes:
            nodes[node] = made.node_copy(node, lambda each: nodes[each])
            if memo is not None:
                memo[id(node)] = nodes[node]
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        # Nodes refer to one another both ways, so deep that pickle must not follow them.
        places = {node: _Place(i) for i, node in enumerate(self.nodes)}
        records = [
            (
                node.op,
                node.target,
                map_arg(node.args, lambda each: places[each]),
                map_arg(node.kwargs, lambda each: places[each]),
                node.name,
                node.type,
                bool(node.meta.get("is_wrapped")),
            )
            for node in self.nodes
        ]
        return _graph_of, (records, self._codegen)

    # ---- as text ----

    def python_code(self, root_module: str, **options: Any) -> PythonCode:
        """The graph as a function; root_module is the name of its module in there."""
        namespace = Namespace()
        for node in self.nodes:
            namespace._rename_object(node, node.name)
        return self._codegen._gen_python_code(self.nodes, root_module, namespace)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let other code be written."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> "_Restored":
        """Let the lines of the code be changed: given the change so far, answer the new one."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        return _Restored(self._codegen, before)

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the function as the placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the output node has as the function returns it."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        kind: list[str] = [""]
        lines = [node.format_node(None, kind) for node in self.nodes]
        return "".join([f"graph(){kind[-1]}:", *[f"\n    {line}" for line in lines]])

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * width for width in widths])
        for row in rows:
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            print("  ".join(cells).rstrip())  # noqa: T201  # it is asked for

    # ---- whether it is sound ----

    def lint(self) -> None:
        """Refuse a graph that can't be run: arguments from later on, names twice, no target."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' belongs to another graph")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' is of another graph")
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_target(node, self.owning_module)

    def _check_target(self, node: Node, owner: Any) -> None:
        """Refuse a node whose target the module has not, or has as something else."""
        found: Any = owner
        for part in str(node.target).split("."):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of "
                    f"{type(found).__name__}"
                )
            found = getattr(found, part)
        if node.op == "call_module" and not isinstance(found, Module):
            raise RuntimeError(f"Node {node} target {node.target} is no Module, but {type(found)}")


class _Place:
    """Stands for a node of a graph that is pickled."""

    def __init__(self, index: int) -> None:
        self.index = index


def _graph_of(records: list[Any], codegen: CodeGen) -> Graph:
    """The graph that was pickled."""
    made = Graph()
    made._codegen = codegen
    nodes: list[Node] = []

    def restored(value: Any) -> Any:
        return nodes[value.index] if isinstance(value, _Place) else value

    for op, target, args, kwargs, name, kind, wrapped in records:
        node = made.create_node(
            op, target, map_aggregate(args, restored), map_aggregate(kwargs, restored), name, kind
        )
        if wrapped:
            node.meta["is_wrapped"] = True
        nodes.append(node)
    return made


class _Restored:
    """As a context: afterwards the code is written as before."""

    def __init__(self, codegen: CodeGen, before: Any) -> None:
        self.codegen = codegen
        self.before = before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        self.codegen._body_transformer = self.before
