"""torch.fx.node: one step of a graph, and where its arguments come from."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import builtins
import copy
import types
import warnings
from collections.abc import Callable, Mapping
from enum import Enum
from operator import setitem
from typing import TYPE_CHECKING, Any

from adjoint.compat.torch_tree import assertion
from adjoint.compat.torch_tree.fx.immutable_collections import immutable_dict, immutable_list
from adjoint.compat.torch_tree.fx.operator_schemas import normalize_function, normalize_module
from adjoint.compat.torch_tree.ops import OpOverload
from adjoint.compat.torch_tree.overrides import resolve_name
from adjoint.creation import factories
from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.ops import PUBLIC
from adjoint.ops.arranging.conversion import layout, memory_format
from adjoint.ops.signatures import RESULTS
from adjoint.tensors.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.compat.torch_tree.fx.graph import Graph

# What may stand in a graph as it is; tensors and modules stand there by the name of an attribute.
BaseArgumentTypes = (
    str | int | float | bool | complex | dtype | Tensor | device | memory_format | layout | Enum
)
base_types = BaseArgumentTypes.__args__
Target = Callable[..., Any] | str
Argument = Any
ArgumentT = Any

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")

_RANDOM = (
    "bernoulli multinomial normal poisson rand rand_like randint randint_like randn randn_like "
    "randperm"
)
# Calls of these stay, though nobody uses what they return.
_side_effectful_functions: set[Callable[..., Any]] = {
    assertion,
    setitem,
    *({**vars(factories), **PUBLIC["adjoint"]}[name] for name in _RANDOM.split()),
}


def _has_effects(target: Any, impure_random: bool) -> bool:
    """Whether a call changes something: an argument, or the state from which chance comes."""
    if not isinstance(target, OpOverload):
        return target in _side_effectful_functions
    named = [each for each in _side_effectful_functions if isinstance(each, OpOverload)]
    if target in named or target.overload.endswith("out"):
        return True
    if impure_random and any(tag.name == "nondeterministic_seeded" for tag in target.tags):
        return True
    try:
        given = target._schema.arguments
    except AttributeError:  # adjoint's own, which changes nothing
        return False
    return any(each.kind.mutated or each.kind.alias.endswith("!") for each in given)


def has_side_effect(fn: Any) -> Any:
    """Let calls of a function stay in graphs whose results nobody uses; a decorator."""
    _side_effectful_functions.add(fn)
    return fn


def _has_names(a: tuple[Any, ...]) -> bool:
    """Whether a tuple is of a class of the program's; results of functions are plain in graphs."""
    return hasattr(a, "_fields") and RESULTS.get(type(a).__name__) is not type(a)


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """The same nest of tuples, lists, dictionaries and slices, with fn of what is in it."""
    if isinstance(a, tuple):
        mapped = [map_aggregate(each, fn) for each in a]
        return type(a)(*mapped) if _has_names(a) else tuple(mapped)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict([(key, map_aggregate(value, fn)) for key, value in a.items()])
    if isinstance(a, slice):
        return slice(*[map_aggregate(each, fn) for each in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Any, fn: Callable[["Node"], Any]) -> Any:
    """The same nest of arguments, with fn of the nodes in it."""
    if not callable(fn):
        raise AssertionError(f"map_arg: fn must be callable, got {fn!r}")
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


def type_text(obj: Any) -> str:
    """A type as an annotation shows it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj is Tensor:
            return "torch.Tensor"
        home = obj.__module__
        return obj.__qualname__ if home == "builtins" else f"{home}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


# Functions that PyTorch's nn.functional has from a module in C++, as its graphs show.
_FUNCTIONAL = "torch.nn.functional"
_IN_C = ["avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear"]
_IN_C += ["one_hot", "scaled_dot_product_attention", "softplus", "softshrink"]
# Of those that torch has under the same name, what is another function there.
_OF_LAYERS = ["layer_norm", "max_pool1d", "max_pool2d", "max_pool3d", "rms_norm"]


def _of_torch(name: str) -> Any:
    """The function of a name that torch itself has."""
    return PUBLIC["adjoint"].get(name)


def qualified_name(func: Callable[..., Any]) -> str:
    """Where a function is found: its module and name, torch's for adjoint's own."""
    name: str = func.__name__
    if getattr(builtins, name, None) is func:
        return name
    found = resolve_name(func)
    if found is not None:
        path, _, last = found.rpartition(".")
        if path == _FUNCTIONAL and last in _IN_C:
            return f"torch._C._nn.{last}"
        shared = path == _FUNCTIONAL and last not in _OF_LAYERS
        return f"torch.{last}" if shared and _of_torch(last) is func else found
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__name__}.{name}"
    if name == "<lambda>":
        raise RuntimeError(f"a lambda can't be called by name, as a graph has to: {func}")
    return f"{func.__module__}.{name}"


def format_arg(arg: Any) -> str:
    """An argument as text, nodes as %name."""
    if isinstance(arg, Node):
        return f"%{arg}"
    if isinstance(arg, list):
        return f"[{', '.join(map(format_arg, arg))}]"
    if isinstance(arg, tuple) and hasattr(arg, "_fields"):
        named = zip(arg._fields, arg, strict=True)
        inner = ", ".join(f"{name}={format_arg(value)}" for name, value in named)
        return f"{type(arg).__name__}({inner})"
    if isinstance(arg, tuple):
        return f"({', '.join(map(format_arg, arg))}{',' if len(arg) == 1 else ''})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {format_arg(value)}' for key, value in arg.items())}}}"
    return str(arg)


_format_arg = format_arg
_get_qualified_name = qualified_name
_type_repr = type_text


class Node:
    """A step of a graph: what is called (`op`, `target`), with which arguments, and who uses it.

    Graphs keep their nodes in a ring: `next` and `prev` lead through it, the root stands for both
    ends. What one node takes from others is in `args` and `kwargs`; `users` is the way back.
    """

    def __init__(
        self,
        graph: "Graph",
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"a node's op is one of {', '.join(OPS)}, not {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = {name!r}] target {target!r} is a "
                f"{type(target).__name__}; call_function wants what can be called"
            )
        if op not in ("call_function", "root") and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = {name!r}] target {target!r} is a "
                f"{type(target).__name__}; {op} wants a str"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._prev = self._next = self
        self._erased = False
        self._place = 0  # among the nodes of its graph, where Graph.numbered last put it
        self._update_args_kwargs(args, kwargs)

    def __repr__(self) -> str:
        return self.name

    def __deepcopy__(self, memo: dict[int, Any]) -> "Node":
        copy.deepcopy(self.graph, memo)  # which notes the copies of its nodes
        found: Node = memo[id(self)]
        return found

    def __lt__(self, other: "Node") -> bool:
        self.graph.numbered()
        return self._place < other._place

    def __le__(self, other: "Node") -> bool:
        return self is other or self < other

    def __gt__(self, other: "Node") -> bool:
        return other < self

    def __ge__(self, other: "Node") -> bool:
        return self is other or other < self

    # ---- its place ----

    @property
    def next(self) -> "Node":
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> "Node":
        """The node before this one."""
        return self._prev

    def prepend(self, x: "Node") -> None:
        """Move another node of the graph before this one."""
        if self.graph is not x.graph:
            raise AssertionError("prepend: the nodes belong to different graphs")
        if self is x:
            warnings.warn("prepend: a node can't be moved before itself", stacklevel=2)
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        self.graph.changed()

    def append(self, x: "Node") -> None:
        """Move another node of the graph after this one."""
        if self is x:
            warnings.warn("append: a node can't be moved after itself", stacklevel=2)
            return
        self._next.prepend(x) if self._next is not x else None

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # ---- its arguments ----

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by position; assigned to, not changed."""
        return self._args

    @args.setter
    def args(self, given: tuple[Argument, ...]) -> None:
        self._update_args_kwargs(given, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assigned to, not changed."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, given: Mapping[str, Argument]) -> None:
        self._update_args_kwargs(self._args, given)

    @property
    def all_input_nodes(self) -> list["Node"]:
        """The nodes whose results this one takes, each once."""
        return list(self._input_nodes)

    def _update_args_kwargs(
        self, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]
    ) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def noted(node: Node) -> Node:
            self._input_nodes[node] = None
            node.users[self] = None
            return node

        self._args = map_arg(tuple(args), noted)
        self._kwargs = map_arg(dict(kwargs), noted)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Replace the argument at a position."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Put an argument before the one at a position."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError(f"insert_arg: index {idx} is not in 0 to {len(self.args)}")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Replace, or give, the argument of a name."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: "Node", new_input: "Node") -> None:
        """Take the result of another node wherever this one took old_input's."""

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._update_args_kwargs(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def replace_all_uses_with(
        self,
        replace_with: "Node",
        delete_user_cb: Callable[["Node"], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list["Node"]:
        """Let all that use this node's result use another's; who they were is returned."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "replace_all_uses_with: propagate_meta=True, but the new node has meta already"
                )
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    # ---- what is said of it ----

    @property
    def stack_trace(self) -> str | None:
        """Where the program made this step, if the tracer noted it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it must stay though nobody uses its result."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return _has_effects(self.target, impure_random)
        if self.op == "call_method":
            return str(self.target).endswith("_") and not str(self.target).endswith("__")
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("whether a module has side effects is asked of its graph's")
            module = owner.get_submodule(str(self.target))
            return bool(getattr(module, "_is_impure", False))
        return False

    def _rename(self, candidate: str) -> None:
        """Give it another name, if it is free; else one near it."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def normalized_arguments(
        self,
        root: Any,
        arg_types: Any = None,
        kwarg_types: Any = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments of a call with the defaults that were left out; None if it is none."""
        by_name = normalize_to_only_use_kwargs
        if self.op == "call_function":
            function: Any = self.target
            return normalize_function(
                function, self.args, dict(self.kwargs), arg_types, kwarg_types, by_name
            )
        if self.op == "call_module":
            return normalize_module(root, str(self.target), self.args, dict(self.kwargs), by_name)
        return None

    def _pretty_print_target(self, target: object) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"  # type: ignore[attr-defined]  # a function
        if getattr(target, "__module__", None) == "builtins":
            return f"builtins.{target.__name__}"  # type: ignore[attr-defined]  # a function
        return qualified_name(target)  # type: ignore[arg-type]  # a function

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """A line about it; those of placeholders and the output also come into the lists."""
        kind = "" if self.type is None else f"{type_text(self.type)} "
        if self.op == "placeholder":
            if placeholder_names is not None:
                shown = f" : {kind.strip()}" if kind else ""
                default = f"(default={self.args[0]})" if self.args else ""
                placeholder_names.append(f"{self.target}{shown}{default}")
            default = f"(default={self.args[0]})" if self.args else ""
        if self.op == "output":
            if self.type is not None and maybe_return_typename is not None:
                maybe_return_typename.append(f" -> {type_text(self.type)}")
            return f"return {self.args[0]}"
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            return f"{head}[target={target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={target}]"
        args, kwargs = format_arg(self.args), format_arg(self.kwargs)
        return f"{head}[target={target}](args = {args}, kwargs = {kwargs})"
