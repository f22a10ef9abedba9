"""Module: parameters, buffers and modules under names, and a forward that is called with hooks.

Where members live: `_parameters`, `_buffers` and `_modules` are plain dictionaries, and the only
place of what is in them. Programs write to them directly, replace them, copy them with `__dict__`,
and put properties of the same name on the class; all of that works because there is no second
place to keep in step. The price is that `self.weight` goes through `__getattr__`, half a
microsecond on CPython 3.11: 2 % of a training step of a small network (docs/benchmarks.md,
mlp_module). A forward that reads a member many times may take it into a local name once.

Which modules are being called is kept in a context variable, from which each node takes where it
was made (`Node.module_path`); a call costs 0.2 µs more for it.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Self, TypeVar
from weakref import ref

from adjoint._base import HookTable
from adjoint.autograd.provenance import calls, module_path, modules_of, trail
from adjoint.creation import factories
from adjoint.dtypes import COMPLEX, FLOAT, dtype
from adjoint.nn.conversion import convert_parameter
from adjoint.nn.module_call import call_with_hooks
from adjoint.nn.module_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    BUFFER_REGISTRATION,
    FORWARD,
    FORWARD_PRE,
    KIND_BACKWARD,
    KIND_BACKWARD_PRE,
    KIND_FORWARD,
    KIND_FORWARD_PRE,
    MODULE_REGISTRATION,
    PARAMETER_REGISTRATION,
    CallHooks,
    registered,
)
from adjoint.nn.parameter import Buffer, Parameter, is_lazy
from adjoint.nn.state_dict import (
    KIND_LOAD_POST,
    KIND_LOAD_PRE,
    KIND_STATE_POST,
    KIND_STATE_PRE,
    State,
)
from adjoint.ops.arranging.conversion import requested, typename
from adjoint.tensors.tensor import Tensor

T_destination = TypeVar("T_destination", bound=dict[str, Any])

_TABLES = {
    KIND_FORWARD_PRE: "_forward_pre_hooks",
    KIND_FORWARD: "_forward_hooks",
    KIND_BACKWARD_PRE: "_backward_pre_hooks",
    KIND_BACKWARD: "_backward_hooks",
    KIND_STATE_PRE: "_state_dict_pre_hooks",
    KIND_STATE_POST: "_state_dict_hooks",
    KIND_LOAD_PRE: "_load_state_dict_pre_hooks",
    KIND_LOAD_POST: "_load_state_dict_post_hooks",
}


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """What a module computes; every subclass defines it."""
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
    )


class Module(CallHooks, State):
    """Base class of all networks and their parts.

    Assign parameters, buffers and modules as attributes after `super().__init__()`, define
    `forward`, and call the module itself.
    """

    training: bool
    dump_patches: bool = False
    call_super_init: bool = False
    forward: Callable[..., Any] = _forward_unimplemented
    T_destination = T_destination

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            given = f"'{next(iter(kwargs))}'" if kwargs else f"{len(args)} positional"
            raise TypeError(f"{type(self).__name__}.__init__() got unexpected arguments: {given}")
        trail.modules = True  # nodes ask from now on in which module's call they are made
        fields = self.__dict__  # at once: __setattr__ has nothing to say about these
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_modules"] = {}
        for table in _TABLES.values():
            fields[table] = HookTable()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # ---- calling ----

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "_call_impl" in own and "__call__" not in own:  # which is to be every call of it
            cls.__call__ = Module._always_call_impl  # type: ignore[method-assign]

    def _always_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or FORWARD
            or FORWARD_PRE
            or BACKWARD
            or BACKWARD_PRE
        ):
            return self._call_impl(*args, **kwargs)
        around = calls.get()
        try:  # from here on: a signal may be heard after each call
            calls.set((ref(self), around))
            return self.forward(*args, **kwargs)
        finally:
            calls.set(around)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call with everything around forward; `__call__` comes here if there are hooks."""
        return call_with_hooks(self, args, kwargs)

    def compile(self, **options: Any) -> None:
        """Compile the forward of this module in place, with the options of `adjoint.compile`."""
        public = import_module("adjoint.compiling.public")  # it lies above, and needs JAX
        self.__dict__["forward"] = public.compile(self.forward, **options)

    def hook_tables(self) -> list[tuple[str, HookTable]]:
        """The kinds and tables of this module's hooks, which `autograd.graph.hooks` lists."""
        return [(kind, self.__dict__[table]) for kind, table in _TABLES.items()]

    # ---- members by name ----

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        if "_modules" in fields:  # not before Module.__init__
            if name in (members := fields["_parameters"]):
                return members[name]
            if name in (members := fields["_modules"]):
                return members[name]
            if name in (members := fields["_buffers"]):
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        parameters = fields.get("_parameters")
        if isinstance(value, Parameter):
            self._refuse_early("_parameters", "parameters")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (nn.Parameter or "
                    "None expected); wrap it in nn.Parameter, or delete the parameter first"
                )
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            self._refuse_early("_modules", "module")
            self._forget(name, "_parameters", "_buffers")
            fields["_modules"][name] = registered(MODULE_REGISTRATION, self, name, value)
        elif name in fields.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (nn.Module or "
                    "None expected); delete the child first"
                )
            fields["_modules"][name] = registered(MODULE_REGISTRATION, self, name, value)
        elif isinstance(value, Buffer) or name in fields.get("_buffers", ()):
            self._assign_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _assign_buffer(self, name: str, value: Any) -> None:
        if value is not None and not _like_tensor(value):
            raise TypeError(
                f"cannot assign '{typename(value)}' as buffer '{name}' (nn.Buffer, Tensor or None "
                "expected); delete the buffer first"
            )
        if isinstance(value, Buffer):
            persistent: bool = value.persistent  # type: ignore[attr-defined]  # set by Buffer
        else:
            persistent = name not in self._non_persistent_buffers_set
        if persistent:
            self.register_buffer(name, value)  # overridden by some without the third parameter
        else:
            self.register_buffer(name, value, persistent=False)

    def __delattr__(self, name: str) -> None:
        for place in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(place, ()):
                del self.__dict__[place][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        fields = self.__dict__
        names = {*dir(type(self)), *fields}
        for place in ("_parameters", "_modules", "_buffers"):
            names.update(fields.get(place, ()))
        return sorted(name for name in names if not name[:1].isdigit())

    def _forget(self, name: str, *places: str) -> None:
        """What else there was under a name gives way to a new member."""
        fields = self.__dict__
        fields.pop(name, None)
        for place in places:
            fields[place].pop(name, None)
        fields["_non_persistent_buffers_set"].discard(name)

    def _refuse_early(self, place: str, what: str) -> None:
        if place not in self.__dict__:
            raise AttributeError(
                f"cannot assign {what} before Module.__init__() call; begin "
                f"{type(self).__name__}.__init__ with super().__init__()"
            )

    def _check_name(self, place: str, what: str, name: Any) -> None:
        """Refuse a name that a member can't have."""
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain ".", got: {name}')
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if name not in self.__dict__[place] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name; None keeps the name free for one."""
        self._refuse_early("_parameters", "parameter")
        self._check_name("_parameters", "parameter", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(nn.Parameter or None required); wrap it in nn.Parameter"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"cannot assign a tensor made by {param.grad_fn.name()} to parameter "
                    f"'{name}': it must be a leaf. Compute it from other parameters in forward()."
                )
            param = registered(PARAMETER_REGISTRATION, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is no parameter under a name; in state_dict only if `persistent`."""
        self._refuse_early("_buffers", "buffer")
        self._check_name("_buffers", "buffer", name)
        if tensor is not None and not _like_tensor(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (Tensor or None "
                "required)"
            )
        self._buffers[name] = registered(BUFFER_REGISTRATION, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Add a module under a name; None keeps the name free for one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._refuse_early("_modules", "module")
        self._check_name("_modules", "module", name)
        self._modules[name] = registered(MODULE_REGISTRATION, self, name, module)

    def register_module(self, name: str, module: "Module | None") -> None:
        """Another name of add_module."""
        self.add_module(name, module)

    # ---- members by path ----

    def get_submodule(self, target: str) -> "Module":
        """The module at a dotted path; the module itself at the empty one."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = module._existing(name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` of the path '{target}' is not an nn.Module")
        return module  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Put a module at a dotted path; if `strict`, in the place of one."""
        if target == "":
            raise ValueError("set_submodule: the path of the module to set is empty")
        if not isinstance(module, Module):
            raise ValueError(f"set_submodule: {typename(module)} is not an nn.Module")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if (strict or hasattr(parent, name)) and not isinstance(parent._existing(name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._existing(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found: Tensor = module._existing(name)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _existing(self, name: str) -> Any:
        if not hasattr(self, name):
            raise AttributeError(f"{self._get_name()} has no attribute `{name}`")
        return getattr(self, name)

    # ---- all members ----

    def named_modules(
        self,
        memo: "set[Module] | None" = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> "Iterator[tuple[str, Module]]":
        """The module itself and all within it with their paths, each once unless told otherwise."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(seen, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> "Iterator[Module]":
        """The module itself and all within it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> "Iterator[tuple[str, Module]]":
        """The modules directly within this one, each once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> "Iterator[Module]":
        """The modules directly within this one."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[["Module"], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """What get_members_fn answers for each module, with paths, each once."""
        seen: set[int] = set()
        modules: Any = [(prefix, self)]
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters of this module, and of those within it if `recurse`, with paths."""
        yield from self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module, and of those within it if `recurse`."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers of this module, and of those within it if `recurse`, with paths."""
        yield from self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module, and of those within it if `recurse`."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- changing all of it ----

    def apply(self, fn: Callable[["Module"], None]) -> Self:
        """Call fn with every module within this one, and with this one last."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode here and in all modules within."""
        if not isinstance(mode, bool):
            raise ValueError(f"train(mode): training mode is a bool, got {typename(mode)}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Leave training mode here and in all modules within."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Start or stop computing gradients for all parameters."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zero."""
        for parameter in self.parameters():
            grad = parameter.grad
            if grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif grad.grad_fn is not None:
                grad.detach_().zero_()
            else:
                grad.requires_grad_(False).zero_()

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace the values of all parameters, their gradients and buffers by what fn makes."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                convert_parameter(self, name, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers to a device; those of floating type to another dtype.

        Takes what Tensor.to takes: a device, a dtype, both, or a tensor to be like.
        """
        asked = requested(args, kwargs)
        if asked.get("copy"):
            raise RuntimeError("Module.to changes the module itself: there is no copy=True")
        kind: dtype | None = asked.get("dtype")
        if kind is not None and kind.category < FLOAT:
            raise TypeError(
                f"Module.to only accepts floating point or complex dtypes, got {kind!r}; convert "
                "single buffers instead"
            )
        order = asked.get("memory_format")

        def convert(tensor: Any) -> Any:
            options = {"device": asked.get("device")}
            if tensor.is_floating_point() or tensor.is_complex():
                options["dtype"] = kind
            if order is not None and tensor.ndim in (4, 5):  # images and volumes alone
                options["memory_format"] = order
            return tensor.to(**options)

        if kind is not None and kind.category == COMPLEX:
            warnings.warn(
                "complex modules: layers that compare, clip or normalise may not be meant for "
                "complex parameters",
                stacklevel=2,
            )
        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values."""
        return self._apply(
            lambda tensor: factories.empty_like(tensor, device=device), recurse=recurse
        )

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move parameters and buffers to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Convert all parameters and buffers, integers too."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._converted("float")

    def double(self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._converted("double")

    def half(self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._converted("half")

    def bfloat16(self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._converted("bfloat16")

    def _converted(self, method: str) -> Self:
        return self._apply(lambda t: getattr(t, method)() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """Nothing: a forked process sees the memory of its parent until one of them writes."""
        for tensor in (*self.parameters(), *self.buffers()):
            if is_lazy(tensor):
                raise RuntimeError(
                    "can't share memory on an uninitialized parameter or buffer; run the module's "
                    "forward once before"
                )
        return self

    # ---- copies ----

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _TABLES.values():
            self.__dict__.setdefault(table, HookTable())  # pickled before there was such a kind
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    def _replicate_for_data_parallel(self) -> Self:
        """A copy with members of its own and no parameters, which a replica is given later."""
        replica = copy.copy(self)
        fields = replica.__dict__
        fields["_parameters"] = {}
        fields["_buffers"] = self._buffers.copy()
        fields["_modules"] = self._modules.copy()
        fields["_is_replica"] = True
        return replica

    # ---- in print ----

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What is printed of a module besides its children; for subclasses to define."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): {indented(repr(module))}")
        return enclosed(self._get_name(), lines)


def _like_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def indented(text: str) -> str:
    """A text of several lines, all but the first moved to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line.strip() else "" for line in rest)])


def enclosed(name: str, lines: list[str]) -> str:
    """A name and what is in it, one line each."""
    if not lines:
        return f"{name}()"
    return f"{name}(\n  " + "\n  ".join(lines) + "\n)"


def current_modules() -> tuple[Module, ...]:
    """The modules whose calls are under way in this context, the outermost first."""
    return tuple(modules_of(calls.get()))


def current_module_path() -> str:
    """Where in the outermost module being called the innermost is, such as 'encoder.0.linear'."""
    return module_path(modules_of(calls.get()))
