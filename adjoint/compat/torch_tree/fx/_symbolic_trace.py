"""torch.fx._symbolic_trace: programs become graphs by being run on proxies."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import functools
import inspect
import math
import operator
from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType, ModuleType
from typing import Any

from adjoint.compat.torch_tree import assertion
from adjoint.compat.torch_tree.fx.codegen import PyTreeCodeGen, PyTreeInfo
from adjoint.compat.torch_tree.fx.graph import Graph
from adjoint.compat.torch_tree.fx.graph_module import GraphModule
from adjoint.compat.torch_tree.fx.node import Argument
from adjoint.compat.torch_tree.fx.patching import Patches
from adjoint.compat.torch_tree.fx.proxy import (
    ParameterProxy,
    Proxy,
    Scope,
    ScopeContextManager,
    TracerBase,
)
from adjoint.compat.torch_tree.fx.wrapping import (
    WRAPPED_FUNCTIONS,
    WRAPPED_METHODS,
    patch_wrapped,
    proxies_in,
    whole_function,
    whole_method,
    wrap as wrap,
)
from adjoint.nn.containers import Sequential
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import Tensor

_wrapped_fns_to_patch = WRAPPED_FUNCTIONS
_wrapped_methods_to_patch = WRAPPED_METHODS
_create_wrapped_func = whole_function
_create_wrapped_method = whole_method
_call_of_modules = Module.__call__
_attribute_of_modules = Module.__getattr__
_tracing: ContextVar[bool] = ContextVar("adjoint_fx_tracing", default=False)


def is_fx_tracing() -> bool:
    """Whether a program is being traced."""
    return _tracing.get()


is_fx_symbolic_tracing = is_fx_tracing


class PHBase:
    """Marks the values among concrete_args that stay parameters."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """The same, with something known about the value."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


class ProxyableClassMeta(type):
    """Instances of classes of this kind may be made of proxies: the call becomes a node."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        _proxyable_classes[cls] = None
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls.__new__(cls)  # type: ignore[call-overload]  # the class that is called
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)  # type: ignore[misc]  # its own
            return made
        proxies = proxies_in((args, kwargs))
        if proxies:
            return proxies[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(made, *args, **kwargs)  # type: ignore[misc]  # its own
        return made


_proxyable_classes: dict[type, None] = {}


def _assert_is_none(value: Any, msg: str) -> None:
    """Fail with the message unless value is None."""
    if value is not None:
        raise AssertionError(msg)


# ---- tracing ----


class Tracer(TracerBase):
    """Makes the graph of a module or function; derive from it to choose what stays whole."""

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.root: Module = Module()
        self.tensor_attrs: dict[Any, str] = {}
        self.parameter_proxy_cache: dict[str, Proxy] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tracer":
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in vars(self).items():
            # Modules of Python's are no part of it.
            own = list(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
            setattr(made, name, own)
        return made

    # ---- what may be overridden ----

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is called as a whole: those of torch.nn but Sequential are."""
        home = type(m).__module__
        own = home.startswith(("adjoint.nn", "torch.nn", "adjoint.compat.torch_tree.nn"))
        return own and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Where a module lies in the one that is traced."""
        if self.submodule_paths is not None:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, each in self.root.named_modules():
            if each is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of a module: a node if it stays whole, else what its forward does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            self.module_stack[scope.module_path] = (scope.module_path, scope.module_type)
            try:
                if not self.is_leaf_module(m, path):
                    return forward(*args, **kwargs)
                return self.create_proxy("call_module", path, args, kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """An attribute of a module, read while it is traced: of a parameter what stands for it."""
        if isinstance(attr_val, Parameter):
            kind: Any = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            kind = self.root.named_buffers()
        else:
            return attr_val
        for name, value in kind:
            if value is attr_val:
                if name not in parameter_proxy_cache:
                    parameter_proxy_cache[name] = self._attribute_proxy(name, attr_val)
                return parameter_proxy_cache[name]
        return attr_val

    def _attribute_proxy(self, name: str, value: Any) -> Proxy:
        if not self.param_shapes_constant:
            return self.create_proxy("get_attr", name, (), {})
        return self.create_proxy(
            "get_attr",
            name,
            (),
            {},
            proxy_factory_fn=lambda node: ParameterProxy(self, node, name, value),
        )

    def create_arg(self, a: Any) -> Argument:
        """See TracerBase; tensors and modules become attributes of the module that is traced."""
        if isinstance(a, Tensor) and not isinstance(a, Parameter):
            return self.create_node("get_attr", self._attribute_of(a), (), {})
        if isinstance(a, Parameter):
            for name, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            name = self._constant(a, f"_{type(a).__name__}_constant_")
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _attribute_of(self, tensor: Tensor) -> str:
        """The path of a tensor in the module that is traced, which it is put into if need be."""
        for name, buffer in self.root.named_buffers():
            if buffer is tensor:
                return name
        if id(tensor) in self.tensor_attrs:
            return self.tensor_attrs[id(tensor)]
        path = self._constant(tensor, "_tensor_constant")
        self.tensor_attrs[id(tensor)] = path
        return path

    def _constant(self, value: Any, stem: str) -> str:
        """Put a value into the module that is traced; the name it has there."""
        number = 0
        while hasattr(self.root, f"{stem}{number}"):
            number += 1
        setattr(self.root, f"{stem}{number}", value)
        return f"{stem}{number}"

    # ---- the arguments ----

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A placeholder for each parameter; the function, which takes leaves, and its arguments."""
        function: Any = inspect.unwrap(root_fn)
        code = function.__code__
        place = f"{code.co_filename}:{code.co_firstlineno}"
        self.graph._origin = f" from {place} in {code.co_name}"
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:count])
        shown = _shown_parameters(function)
        names = shown or names
        if is_module and not names:
            raise RuntimeError("a forward without parameters has no module")
        given: list[Any] = [self.root] if is_module else []
        own = names[1:] if is_module else names
        if isinstance(concrete_args, tuple):
            if concrete_args and is_module and not own and code.co_flags & inspect.CO_VARARGS:
                for i, value in enumerate(concrete_args):  # of a forward of `*args`
                    held = value if isinstance(value, PHBase) else PH
                    given.append(self._leaf(f"input_{i}", f"input_{i}", held, ()))
                return root_fn, given
            if len(concrete_args) != len(own):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete "
                    "arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        concrete = concrete_args or {}
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        given += [self._parameter(function, name, defaults, concrete) for name in own]
        stars: list[Any] = []
        for flag, star in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
            if code.co_flags & flag and not shown:
                stars.append(self._star(function, code.co_varnames[count + len(stars)], star))
        given += stars
        named = stars or (code.co_kwonlyargcount and not shown)
        whole = _by_position(function) if named else root_fn
        nested = any(not _is_leaf(value) for value in concrete.values())
        if not nested:
            return whole, given
        return self._flattened(whole, given, own, is_module)

    def _parameter(
        self, function: Any, name: str, defaults: dict[str, Any], concrete: dict[str, Any]
    ) -> Any:
        """What stands for a parameter: a proxy, or the value it is specialised to."""
        default = (defaults[name],) if name in defaults else ()
        if name not in concrete:
            kind = _annotations(function).get(name)
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)
        leaves, spec = tree_flatten(concrete[name])
        found = [
            self._leaf(f"{name}_{i + 1}", name, leaf, default) for i, leaf in enumerate(leaves)
        ]
        return tree_unflatten(found, spec)

    def _leaf(self, target: str, name: str, value: Any, default: tuple[Any, ...]) -> Any:
        """The placeholder of one value; what is known of it is checked when the graph runs."""
        made = self.create_proxy("placeholder", target, default, {})
        if isinstance(value, PHBase):
            for key, each in vars(value).items():
                if not hasattr(made.node, key):
                    setattr(made.node, key, each)
            return made
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (made, message), {})
        elif isinstance(value, (bool, int, float, str)):
            self.create_proxy("call_function", assertion, (operator.eq(made, value), message), {})
        return value

    def _star(self, function: Any, name: str, star: str) -> Any:
        kind = _annotations(function).get(name)
        return self.create_proxy("placeholder", f"{star}{name}", (), {}, type_expr=kind)

    def _flattened(
        self, function: Callable[..., Any], given: list[Any], names: list[str], is_module: bool
    ) -> tuple[Callable[..., Any], list[Any]]:
        """A function of the leaves of nested arguments, which gives the leaves of its result."""
        own = given[1:] if is_module else given
        leaves, spec = tree_flatten(own)
        seen = PyTreeInfo(names[:], spec, None)
        codegen = PyTreeCodeGen(seen)
        self.graph.set_codegen(codegen)

        def flat(*args: Any) -> Any:
            if is_module:
                self_, *args = args  # type: ignore[assignment]  # the rest
                result = function(self_, *tree_unflatten(args, spec))
            else:
                result = function(*tree_unflatten(args, spec))
            answer, answer_spec = tree_flatten(result)
            codegen.pytree_info = seen._replace(out_spec=answer_spec)
            return answer

        return flat, [self.root, *leaves] if is_module else leaves

    # ---- the trace ----

    def trace(
        self,
        root: Module | Callable[..., Any],
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """The graph of a module's forward, or of a function."""
        token = _tracing.set(True)
        try:
            return self._traced(root, concrete_args)
        finally:
            _tracing.reset(token)

    def _traced(self, root: Any, concrete_args: Any) -> Graph:
        is_module = isinstance(root, Module)
        if is_module:
            self.root = root
            function = getattr(type(root), self.traced_func_name, None)
            if function is None:
                raise AssertionError(
                    f"{type(root).__name__} has no {self.traced_func_name} to be traced"
                )
            own = root.__dict__.get(self.traced_func_name)  # one that was set on the instance
            if own is not None:
                function = getattr(own, "__func__", None) or _unbound(own)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            if not isinstance(root, FunctionType):
                raise AssertionError(
                    f"{root!r} can't be traced, which takes a module or a function in Python; make "
                    "it one, as lambda x: ..."
                )
            self.root = Module()
            function = root
        self.tensor_attrs = _tensor_attributes(self.root)
        self.module_stack = {}
        self.parameter_proxy_cache = {}
        self.graph = Graph(tracer_cls=type(self))
        kind = _annotations(inspect.unwrap(function)).get("return")
        function, args = self.create_args_for_root(function, is_module, concrete_args)
        if isinstance(self.graph._codegen, PyTreeCodeGen):  # which returns the leaves of that
            kind = None
        with Patches() as patches:
            self._patch(patches, function)
            result = function(*args)
            self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        self.submodule_paths = None
        return self.graph

    def _patch(self, patches: Patches, function: Any) -> None:
        """See to it that calls of modules, their attributes and whole functions are noticed."""
        searched: set[int] = set()

        def call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            self._autowrap(patches, _names_of(mod.forward), searched)
            return self.call_module(mod, functools.partial(_call_of_modules, mod), args, kwargs)

        def attribute(mod: Module, name: str) -> Any:
            found = _attribute_of_modules(mod, name)
            return self.getattr(name, found, self.parameter_proxy_cache)

        patches.attribute(Module, "__call__", call)
        patches.attribute(Module, "__getattr__", attribute)
        patch_wrapped(patches)
        self._autowrap(patches, _names_of(function), searched)
        for module in self._autowrap_search:
            self._autowrap(patches, vars(module), searched)

    def _autowrap(self, patches: Patches, names: dict[str, Any], searched: set[int]) -> None:
        """Leave functions of some modules whole wherever a module of the program has them."""
        if id(names) in searched:
            return
        searched.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and id(value) in self._autowrap_function_ids:
                patches.item(names, name, whole_function(value))


def _unbound(function: Any) -> Any:
    """A function set on a module as one that takes the module first."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def _names_of(function: Any) -> dict[str, Any]:
    """The names of the module that a function was defined in."""
    found = inspect.unwrap(getattr(function, "__func__", function))
    return found.__globals__ if isinstance(found, FunctionType) else {}


def _shown_parameters(function: Any) -> list[str]:
    """The parameters that a method of adjoint's is said to have, where its code has stars."""
    own = str(getattr(function, "__module__", None)).startswith("adjoint.")
    shown = getattr(function, "__signature__", None) if own else None
    return [] if shown is None else list(shown.parameters)


def _annotations(function: Any) -> dict[str, Any]:
    """What a function says of its arguments; what adjoint's own say is no part of a graph."""
    own = str(getattr(function, "__module__", None)).startswith("adjoint.")
    return {} if own else getattr(function, "__annotations__", {})


def _tensor_attributes(root: Module) -> dict[Any, str]:
    """The paths of tensors that are neither parameters nor buffers, by their identity."""
    found: dict[Any, str] = {}
    for path, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                found[id(value)] = f"{path}.{name}".lstrip(".")
    return found


def _is_leaf(value: Any) -> bool:
    leaves, _ = tree_flatten(value)
    return len(leaves) == 1 and leaves[0] is value


def _by_position(function: Any) -> Any:
    """A function with all its parameters given by position, those with stars as one value each."""
    code = function.__code__
    stars = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    changed = code.replace(
        co_argcount=count,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~stars,
    )
    made = FunctionType(
        changed, function.__globals__, function.__name__, None, function.__closure__
    )
    made.__annotations__ = function.__annotations__
    return made


def symbolic_trace(
    root: Module | Callable[..., Any],
    concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
) -> GraphModule:
    """A module like root, whose forward is the graph of what root does."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
