"""torch.fx.graph_module: a module whose forward is the code of a graph."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import itertools
import linecache
import weakref
from collections.abc import Mapping
from typing import Any, Self

from adjoint.compat.torch_tree.fx.codegen import PyTreeCodeGen
from adjoint.compat.torch_tree.fx.folders import to_folder
from adjoint.compat.torch_tree.fx.graph import Graph, PythonCode
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensors.tensor import Tensor

_numbers = itertools.count()


def _forward_from_src(src: str, names: dict[str, Any], origin: str) -> Any:
    """The function that a text defines; tracebacks show its lines as long as it lives."""
    file = f"<eval_with_key>.{next(_numbers)}{origin}"
    scope = dict(names)
    linecache.cache[file] = (len(src), None, src.splitlines(keepends=True), file)
    exec(compile(src, file, "exec"), scope)  # noqa: S102  # the code of a graph is to be run
    made = scope.pop("forward")
    weakref.finalize(made, linecache.cache.pop, file, None).atexit = False
    return made


def assign(owner: Module, path: str, value: Any) -> None:
    """Set an attribute by its path; modules on the way are made where there are none."""
    *way, name = path.split(".")
    for part in way:
        if getattr(owner, part, None) is None:
            setattr(owner, part, Module())
        owner = getattr(owner, part)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)


def _found(owner: Any, path: str) -> Any:
    """An attribute by its path."""
    for part in path.split("."):
        owner = getattr(owner, part)
    return owner


def copy_attribute(from_module: Module, to_module: Module, target: str) -> None:
    """Let a module have at a path what another has there, unless it has something there."""
    *way, name = target.split(".")
    owner: Any = to_module
    for part in way:
        owner = getattr(owner, part, None)
    if owner is None or not hasattr(owner, name):
        assign(to_module, target, _found(from_module, target))


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Set an attribute by its path, as PyTorch's programs do it."""
    assign(to_module, target, from_obj)


_copy_attr = copy_attribute
_get_attr = _found


class GraphModule(Module):
    """A module made of a graph and of what the graph uses of another module, or a dictionary.

    Each instance has a class of its own, whose forward is the code of its graph.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        base = next(kind for kind in cls.__mro__ if kind.__name__ != "GraphModuleImpl")
        return super().__new__(type("GraphModuleImpl", (base,), {}))

    def __init__(
        self, root: Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [
            str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")
        ]
        if isinstance(root, Module):
            self.training = root.training
            for target in targets:
                copy_attribute(root, self, target)
        elif isinstance(root, Mapping):
            for target in targets:
                if target not in root:
                    raise RuntimeError(
                        f"the graph refers to {target!r}, which the root that was given has not"
                    )
            for target in sorted(targets, key=lambda path: path.count(".")):
                assign(self, target, root[target])
        else:
            raise RuntimeError(f"the root of a GraphModule is a Module or a dict, not {root!r}")
        self.meta: dict[str, Any] = dict(getattr(root, "meta", {}))
        self._erase_node_hooks: list[Any] = []
        self._create_node_hooks: list[Any] = []
        self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.graph = graph

    # ---- its graph and code ----

    @property
    def graph(self) -> Graph:
        """The graph; assigning one writes the code anew."""
        return self._graph  # type: ignore[no-any-return]  # set below

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"expected a Graph, got {type(g).__name__}")
        # Of a graph that has a module already, a copy: two would change it for each other.
        if g.owning_module is not None and g.owning_module is not self:
            g = copy.deepcopy(g)
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("there is no code yet: recompile() writes it")
        return str(self._code)

    def recompile(self) -> PythonCode:
        """Write the code of the graph, which was changed."""
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        written: PythonCode = self._graph.python_code(root_module="self")
        self._code = written.src
        own: Any = type(self)
        own.forward = _forward_from_src(written.src, written.globals, self._graph._origin)
        return written

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """The code of this module and of the graph modules in it; printed, and returned."""
        body = self.code.lstrip("\n").rstrip().replace("\n", "\n    ")
        text = f"class {type(self).__name__}(torch.nn.Module):\n    {body}\n"
        inner = [m for m in self.children() if isinstance(m, GraphModule)]
        for module in inner:
            shown = module.print_readable(print_output=False).rstrip()
            text += "\n    " + shown.replace("\n", "\n    ") + "\n"
        text = "\n".join(line.rstrip() for line in text.split("\n"))
        if print_output:
            print(text)  # noqa: T201  # it is asked for
        return text

    def to_folder(self, folder: Any, module_name: str = "FxModule") -> None:
        """Write a package with a class that is this module, to be imported without its graph."""
        to_folder(self, folder, module_name)

    def __str__(self) -> str:
        shown = super().__repr__()
        return f"{shown}\n{self.code}\n# see graph_module.print_readable() for more"

    # ---- its modules ----

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; False if something else is in the way."""
        owner: Any = self
        *way, name = target.split(".")
        for part in way:
            if not hasattr(owner, part):
                setattr(owner, part, Module())
            owner = getattr(owner, part)
            if not isinstance(owner, Module):
                return False
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take out the module at a path; False if there is none."""
        *way, name = target.split(".")
        owner: Any = self
        for part in way:
            owner = getattr(owner, part, None)
            if not isinstance(owner, Module):
                return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out the modules that the graph neither calls nor reads from."""
        used: set[str] = set()
        known = dict(self.named_modules(remove_duplicate=False))
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = str(node.target).split(".")
                used.update(".".join(parts[: i + 1]) for i in range(len(parts)))
                if node.op == "call_module" and node.target in known:  # not taken out before
                    inner = known[node.target].named_modules()
                    used.update(f"{node.target}.{name}" for name, _ in inner)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # ---- copies ----

    def _state(self) -> dict[str, Any]:
        left_out = ("_graph", "_code")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __reduce__(self) -> tuple[Any, ...]:
        base = type(self).__mro__[1]
        return _restored, (base, type(self).__name__, self._state(), self._graph)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> "GraphModule":
        made = _empty(type(self).__mro__[1], type(self).__name__)
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self._state(), memo))
        made.graph = copy.deepcopy(self._graph, memo)
        return made

    def __copy__(self) -> "GraphModule":
        base = type(self).__mro__[1]
        graph = copy.deepcopy(self._graph)
        return _restored(base, type(self).__name__, dict(self._state()), graph)

    # ---- hooks ----

    def _register_create_node_hook(self, f: Any) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Any) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Any) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Any) -> None:
        self._erase_node_hooks.remove(f)


def _restored(base: Any, name: str, state: dict[str, Any], graph: Graph) -> GraphModule:
    """A GraphModule of what it holds and its graph."""
    made = _empty(base, name)
    made.__dict__.update(state)
    made.graph = graph
    return made


def _empty(base: Any, name: str) -> GraphModule:
    """A GraphModule that nothing is in yet."""
    made: GraphModule = base.__new__(base)
    type(made).__name__ = name
    return made
