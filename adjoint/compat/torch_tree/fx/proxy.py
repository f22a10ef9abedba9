"""torch.fx.proxy: what stands for a value while a program is traced, and notes what is done to it.

A Proxy is no tensor. Functions find that its class has `__torch_function__` and hand it their calls
(`adjoint.call.overriding`); operators, attributes and methods are its own.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import dataclasses
import dis
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from adjoint.compat.torch_tree import assertion
from adjoint.compat.torch_tree.fx.codegen import magic_methods, reflectable_magic_methods
from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.node import Argument, Node, Target, base_types, map_aggregate
from adjoint.compat.torch_tree.overrides import is_tensor_method_or_property
from adjoint.tensors.tensor import Tensor


class TraceError(ValueError):
    """The program can't be traced: it wants to know a value that only stands for one."""


class Scope:
    """The module that is being called: its path and class."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path = module_path
        self.module_type = module_type


class ScopeContextManager:
    """As a context: the tracer is in another module."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._before = (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


class TracerBase:
    """Makes the nodes of what happens to proxies; `Tracer` knows modules too."""

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    def __init__(self) -> None:
        self.scope = Scope("", None)
        self.module_stack: dict[str, Any] = {}
        self.node_name_to_scope: dict[str, tuple[str, Any]] = {}

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A new node, with what is known of where it was made."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node: Node) -> "Proxy":
        """What stands for the result of a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], "Proxy"] | None = None,
    ) -> "Proxy":
        """A new node of arguments as the program has them, and what stands for its result."""
        args_ = self.create_arg(args)
        kwargs_ = self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, kwargs_, name, type_expr)
        made = self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = "".join(traceback.format_list(self._program_frames()))
        return made

    def _program_frames(self) -> traceback.StackSummary:
        """The frames of the program that is traced."""
        frames = traceback.extract_stack()
        here = __file__.rpartition("proxy.py")[0]
        return traceback.StackSummary.from_list([f for f in frames if here not in f.filename])

    def create_arg(self, a: Any) -> Argument:
        """A value of the program as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*[self.create_arg(each) for each in a])
        if isinstance(a, (tuple, list)):
            return type(a)([self.create_arg(each) for each in a])
        if isinstance(a, dict):
            return self._create_dict(a)
        if isinstance(a, slice):
            return slice(*[self.create_arg(each) for each in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            return range(a.start, a.stop, a.step)
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: self.create_arg(getattr(a, f.name)) for f in dataclasses.fields(a)}
            return self.create_node("call_function", type(a), (), fields)
        if a is None or a is ... or isinstance(a, (*base_types, Node)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _create_dict(self, a: dict[Any, Any]) -> dict[Any, Argument]:
        made = {}
        for key, value in a.items():
            plain = self.create_arg(key)

            def refuse(each: Any, key: Any = plain) -> Any:
                if isinstance(each, Node):
                    raise RuntimeError(
                        "Keys for dictionaries used as an argument cannot contain a Node. Got "
                        f"key: {key}"
                    )
                return each

            map_aggregate(plain, refuse)
            made[plain] = self.create_arg(value)
        return made

    def to_bool(self, obj: "Proxy") -> bool:
        """Asked which way a program goes; refused, since nobody knows."""
        raise TraceError(
            f"symbolically traced variables cannot be used as inputs to control flow: the program "
            f"asks whether {obj.node} is true, which is known only when it runs"
        )

    def iter(self, obj: "Proxy") -> Iterator[Any]:
        """Asked for the elements of a value; refused, but where it is taken apart into names."""
        count = _unpacked(sys._getframe(2))
        if count is not None:
            return (obj[i] for i in range(count))  # type: ignore[index]  # given below
        raise TraceError(
            f"Proxy object cannot be iterated: how many elements {obj.node} has is known only when "
            "the program runs. It stands in a loop, or as *args or **kwargs of a call"
        )

    def keys(self, obj: "Proxy") -> Any:
        """Asked for the keys of a value, as ** does."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Notes what is done to proxies in a graph that there is already."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


def _instructions(frame: Any) -> list[Any]:
    """The instruction that a frame is at, and those after it."""
    found = list(dis.get_instructions(frame.f_code))
    at = next(i for i, each in enumerate(found) if each.offset == frame.f_lasti)
    return found[at:]


def _unpacked(frame: Any) -> int | None:
    """Into how many names a frame takes a value apart just now; None if it does not."""
    now = _instructions(frame)[0]
    return now.argval if now.opname == "UNPACK_SEQUENCE" else None


class Proxy:
    """Stands for a value of a program that is traced."""

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> "Attribute":
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> "Proxy":
        # By hand: what copy would ask for, the proxy itself would answer with attributes.
        made = Proxy.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> "Proxy":
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __abs__(self) -> "Proxy":
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            now = _instructions(sys._getframe(1))
            jump = next(i for i, each in enumerate(now) if "JUMP" in each.opname)
            if "IF_TRUE" in now[jump].opname and now[jump + 1].opname == "LOAD_ASSERTION_ERROR":
                self.tracer.create_proxy("call_function", assertion, (self, ""), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """The keys, as ** asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> NoReturn:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default: what it returns is known only "
            "when the program runs. torch.fx.wrap('len') at the top of a module records the call"
        )

    def __contains__(self, element: Any) -> bool:
        raise TraceError(
            f"Proxy object cannot be iterated: whether {self.node} contains something is known "
            "only when the program runs"
        )

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> "Proxy":
        args, kwargs = args or (), kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise RuntimeError(f"a call of {orig_method} mixes proxies of several tracers")
        (tracer,) = tracers
        name = orig_method.__name__
        if is_tensor_method_or_property(orig_method):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=tracer.graph._target_to_str(name)
        )


class Attribute(Proxy):
    """An attribute of a value; it has a node only if it is more than a method that is called."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]  # made when it is asked for
        """The node that reads the attribute."""
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose sizes are known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Tensor) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes."""
        return self.param.shape

    @property
    def ndim(self) -> int:
        """How many sizes there are."""
        return self.param.ndim

    def size(self, *dim: int) -> Any:
        """The sizes, or one of them."""
        return self.param.size(*dim)  # type: ignore[attr-defined]  # given by the tables

    def dim(self) -> int:
        """How many sizes there are."""
        return self.param.ndim

    def numel(self) -> int:
        """How many elements there are."""
        return int(self.param.numel())  # type: ignore[attr-defined]  # given by the tables

    def nelement(self) -> int:
        """How many elements there are."""
        return self.numel()


def _operation(name: str, function: Any) -> Any:
    """The method of Proxy behind an operator."""

    def call(*args: Any, **kwargs: Any) -> Proxy:
        return args[0].tracer.create_proxy("call_function", function, args, kwargs)  # type: ignore[no-any-return]

    call.__name__ = name
    return call


def _reflected(name: str, function: Any) -> Any:
    """The method of Proxy behind an operator whose first operand is another's."""

    def call(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    call.__name__ = name
    return call


for _name in magic_methods:
    _slot = f"__{_name.strip('_')}__"
    setattr(Proxy, _slot, _operation(_slot, getattr(operator, _name)))
for _name in reflectable_magic_methods:
    _slot = f"__r{_name}__"
    _function = getattr(operator, _name if hasattr(operator, _name) else f"{_name}_")
    setattr(Proxy, _slot, _reflected(_slot, _function))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # lost with __eq__
