"""torch.fx.interpreter: graphs run node by node, and graphs made of graphs."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import inspect
from typing import Any

from adjoint.compat.torch_tree.fx._symbolic_trace import Tracer
from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule
from adjoint.compat.torch_tree.fx.immutable_collections import immutable_dict
from adjoint.compat.torch_tree.fx.node import Argument, Node, Target, map_aggregate, map_arg
from adjoint.compat.torch_tree.fx.proxy import Proxy
from adjoint.nn.module import Module


class Interpreter:
    """Runs the graph of a module node by node; derive from it to do something else at each."""

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.args_iter: Any = iter(())
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes) if garbage_collect_values else ():
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.user_to_last_uses.setdefault(node, []).append(used)

    def run(
        self,
        *args: Any,
        initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:
        """Run the graph; values in initial_env are not computed."""
        self.env = {} if initial_env is None else initial_env
        given = self.graph.process_inputs(*args) if enable_io_processing else args
        self.args_iter = iter(given)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    error.add_note(f"While executing {node.format_node()}")
                raise
            for last in self.user_to_last_uses.get(node, ()):
                del self.env[last]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph on a list of arguments, which is emptied, so that they may be freed."""
        wanted = [node for node in self.graph.nodes if node.op == "placeholder"]
        if not any(str(node.target).startswith("*") for node in wanted):
            if len(args_list) > len(wanted):
                raise RuntimeError(
                    f"Interpreter.boxed_run got extra arguments: {len(args_list)} for "
                    f"{len(wanted)} parameters"
                )
            if len(args_list) < len([node for node in wanted if not node.args]):
                raise RuntimeError(
                    f"Interpreter.boxed_run is missing arguments: {len(args_list)} for "
                    f"{len(wanted)} parameters"
                )
        args = list(args_list)
        args_list.clear()
        return self.run(*args)

    def run_node(self, n: Node) -> Any:
        """The result of a node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    # ---- what each kind of node does ----

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The next argument, all further ones, or the default."""
        if str(target).startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a module."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """What is returned."""
        return args[0]

    # ---- where arguments come from ----

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module by its path."""
        found: Any = self.module
        for i, part in enumerate(target.split(".")):
            if not hasattr(found, part):
                way = ".".join(target.split(".")[: i + 1])
                raise RuntimeError(f"Node referenced nonexistent target {way}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with the values of nodes."""
        args = self.map_nodes_to_values(n.args, n)
        kwargs = self.map_nodes_to_values(n.kwargs, n)
        return args, kwargs

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """The same nest of arguments, with the values of nodes."""

        def value(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return _plain(map_arg(args, value))


def _plain(args: Any) -> Any:
    """Arguments in lists and dictionaries that a function may change."""
    if isinstance(args, tuple):
        found = [_plain(each) for each in args]
        return type(args)(*found) if hasattr(args, "_fields") else tuple(found)
    if isinstance(args, list):
        return [_plain(each) for each in args]
    if isinstance(args, immutable_dict):
        return {key: _plain(each) for key, each in args.items()}
    return args


class TransformerTracer(Tracer):
    """Notes what a Transformer does, in the graph that it makes."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """See Tracer: all modules stay whole."""
        return True


class Transformer(Interpreter):
    """Makes a graph of a graph: methods are called with proxies, and may do something else."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph(tracer_cls=module.graph._tracer_cls)
        self.new_graph.set_codegen(module.graph._codegen)
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(
        self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]
    ) -> Proxy:
        """A parameter like that of the old graph."""
        default = args[0] if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(str(target), default_value=default), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """The same attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same call of a module."""
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Any, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """The same call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The new module."""
        result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value

            made = self.new_graph.output(map_aggregate(result, node_of))
            old = self.graph.output_node()
            made.type = old.type
            made.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)

    def run_node(self, n: Node) -> Any:
        """See Interpreter; what was known of the old node is known of the new."""
        result = super().run_node(n)
        if isinstance(result, Proxy) and n.op != "output":
            result.node.type = result.node.type or n.type
            for key, value in n.meta.items():
                result.node.meta.setdefault(key, value)
        return result
