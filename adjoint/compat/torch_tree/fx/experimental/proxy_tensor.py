"""torch.fx.experimental.proxy_tensor: a graph of PyTorch's operations, seen while a function runs.

A mode notes each operation below autograd, those of gradients and transforms too, so that the graph
has what is left of them.
"""

import functools
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from adjoint.autograd.profiler import record_function
from adjoint.call.arguments import tensors_in
from adjoint.call.context import current
from adjoint.call.layers import lies_in
from adjoint.compat.aten_steps.answering import GROUND
from adjoint.compat.private_functions import OF_TYPES
from adjoint.compat.torch_tree._subclasses.fake_tensor import FakeTensor
from adjoint.compat.torch_tree.fx.codegen import PyTreeCodeGen, PyTreeInfo
from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule
from adjoint.compat.torch_tree.fx.node import Node, map_aggregate
from adjoint.compat.torch_tree.ops import named
from adjoint.compat.torch_tree.utils._python_dispatch import TorchDispatchMode
from adjoint.nn.parameter import Parameter
from adjoint.ops.arranging.conversion import alias
from adjoint.pytree import tree_flatten, tree_map, tree_unflatten
from adjoint.tensors.tensor import Tensor

_VALUE: Final = "_local_scalar_dense"
_FRESH: Final = "lift_fresh"


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Notes the operations of its block in a graph; tensors from outside become attributes."""

    supports_higher_order_operators = None

    def __init__(self, graph: Graph, decompositions: Mapping[Any, Any] | None = None) -> None:
        self.graph = graph
        self.decompositions = decompositions or {}
        self.constants: dict[str, Tensor] = {}
        # By the memory: a tensor of a pass or below a transform may be another on the same.
        self.known: dict[int, tuple[Any, Node]] = {}

    def note(self, tensor: Tensor, node: Node) -> None:
        """Know what stands for a tensor in the graph, and keep its memory, so that no other is."""
        node.meta["val"] = tensor
        self.known[id(tensor.array)] = (tensor.array, node)
        self.known[id(tensor)] = (tensor, node)  # which detach() shares the memory of

    def stands_for(self, value: Any) -> Any:
        """What an argument is in the graph."""
        if isinstance(value, record_function):
            return self.known[id(value)][1]
        if not isinstance(value, Tensor):
            return value
        found = self.known.get(id(value)) or self.known.get(id(value.array))
        return self.constant(value) if found is None else found[1]

    def is_foreign(self, tensor: Tensor) -> bool:
        """Whether a tensor is of a class that answers calls, and is none of the graph's."""
        if isinstance(tensor, FakeTensor) or id(tensor.array) in self.known:
            return False
        return lies_in(tensor, GROUND)

    def constant(self, tensor: Tensor) -> Node:
        """An attribute of the module for a tensor that comes from elsewhere."""
        kind = "_param_constant" if isinstance(tensor, Parameter) else "_tensor_constant"
        for name, known in self.constants.items():
            if known.array is tensor.array:
                return self.graph.get_attr(name)
        count = sum(name.startswith(kind) for name in self.constants)
        name = f"{kind}{count}"
        self.constants[name] = tensor
        return self.graph.get_attr(name)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """See TorchDispatchMode."""
        options = dict(kwargs or {})
        if any(map(self.is_foreign, tensors_in([*args, *options.values()]))):
            return NotImplemented  # its class is asked first, and what that calls is seen
        decomposed = self.decompositions.get(func)
        if decomposed is not None:
            with self:
                answer = decomposed(*args, **options)
            if answer is not NotImplemented:
                return answer
        name = func.overloadpacket.__name__
        if name in OF_TYPES:
            return func(*args, **options)
        if name == _VALUE and id(args[0].array) in self.known:
            raise RuntimeError(
                f"{func}: the value of a tensor that is traced was asked for, by item() or a "
                "branch, which a graph can't hold; compute with the tensor instead"
            )
        given, named_too = tree_map(self.stands_for, (tuple(args), options))
        answer = func(*args, **options)
        shown = named("lift_fresh_copy") if name == _FRESH else func
        node = self.graph.call_function(shown, given, named_too, name=shown.overloadpacket.__name__)
        if isinstance(answer, Tensor):
            self.note(answer, node)
        elif isinstance(answer, record_function):
            self.known[id(answer)] = (answer, node)
        elif isinstance(answer, (tuple, list)):
            for place, each in enumerate(answer):
                if isinstance(each, Tensor):
                    part = self.graph.call_function(operator.getitem, (node, place))
                    self.note(each, part)
        return answer


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode that notes the operations of the calling context; None outside of make_fx."""
    for mode in reversed(current().modes):
        if isinstance(mode, ProxyTorchDispatchMode):
            return mode
    return None


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[Any, Any] | None = None,
    tracing_mode: str = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    record_module_stack: bool = False,
) -> Callable[..., GraphModule]:
    """A function that gives the graph of what f does with its arguments."""
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(
            f"make_fx: tracing_mode {tracing_mode!r} needs sizes that stand for others; here a "
            "graph is of the sizes it was made with, as 'real' and 'fake' say"
        )

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        graph = Graph()
        names = _names(f, len(args))
        leaves, spec = tree_flatten(list(args))
        nested = len(leaves) != len(args) or any(a is not b for a, b in zip(leaves, args))
        mode = ProxyTorchDispatchMode(graph, decomposition_table)
        places = [
            f"{name}_{number}"
            for name, arg in zip(names, args, strict=True)
            for number in range(1, 1 + len(tree_flatten(arg)[0]))
        ]
        for number, place in enumerate(places):
            node, leaf = graph.placeholder(place), leaves[number]
            if isinstance(leaf, Tensor):
                if id(leaf.array) in mode.known:  # given twice: told apart
                    leaf = leaves[number] = alias(leaf)
                mode.note(leaf, node)
        with mode:
            result = f(*tree_unflatten(leaves, spec))
        if nested:
            found, shape = tree_flatten(result)
            graph.set_codegen(PyTreeCodeGen(PyTreeInfo(["self", *names], spec, shape)))
            graph.output([mode.stands_for(each) for each in found])
        else:
            shown = tree_map(mode.stands_for, result)
            graph.output(map_aggregate(shown, lambda each: each))  # results as plain tuples
        return GraphModule(mode.constants, graph, getattr(f, "__name__", type(f).__name__))

    return traced


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """What the arguments of a function are called."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        parameters = []
    own = type(function).__module__, getattr(function, "__module__", None)
    unnamed = any(str(each).startswith("adjoint.") for each in own)  # as PyTorch's, in C++
    if unnamed or any(each.kind is each.VAR_POSITIONAL for each in parameters) or not parameters:
        return [f"arg{place}" for place in range(count)]
    if len(parameters) != count:
        raise RuntimeError(
            f"make_fx: {getattr(function, '__name__', function)} takes {len(parameters)} "
            f"arguments, but was given {count}; each must be given, since a graph has them all"
        )
    return [each.name for each in parameters]
