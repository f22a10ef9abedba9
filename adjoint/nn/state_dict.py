"""What of a module is saved, and how it is loaded again.

A state dict is an ordered dictionary from the dotted path of each parameter and persistent buffer
to its tensor. Its attribute `_metadata` has, by the path of each module, the version of that
module's format, by which `_load_from_state_dict` of a later version can read an earlier one.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

import copy
import functools
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from adjoint._base import HookTable
from adjoint.autograd.grad_mode import no_grad
from adjoint.autograd.hooks import RemovableHandle, name_of
from adjoint.nn.conversion import get_swap_module_params_on_conversion, load_by_swap
from adjoint.nn.module_hooks import add_hook
from adjoint.nn.parameter import Parameter, is_lazy
from adjoint.tensors.tensor import Tensor, wants_calls

# The kinds of hook, in the words of lists and messages.
KIND_STATE_PRE = "state_dict pre-hook"
KIND_STATE_POST = "state_dict post-hook"
KIND_LOAD_PRE = "load_state_dict pre-hook"
KIND_LOAD_POST = "load_state_dict post-hook"

EXTRA_STATE = "_extra_state"  # the last part of the key of what get_extra_state answers


class _IncompatibleKeys(NamedTuple):
    """What load_state_dict answers: keys that were not found, and keys nobody asked for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    def __str__(self) -> str:
        return repr(self)


class _BoundHook:
    """A hook that gets its module first, without keeping it alive."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.module: Any = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        module = self.module()
        if module is None:
            raise RuntimeError(f"the module of hook '{name_of(self.hook)}' is gone")
        return self.hook(module, *args)

    def __reduce__(self) -> Any:
        return _BoundHook, (self.hook, self.module())

    def __deepcopy__(self, memo: dict[int, Any]) -> "_BoundHook":
        return _BoundHook(self.hook, copy.deepcopy(self.module(), memo))


class State:
    """The part of a Module that saves and loads its state."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: HookTable
    _state_dict_pre_hooks: HookTable
    _load_state_dict_pre_hooks: HookTable
    _load_state_dict_post_hooks: HookTable
    _version: int = 1

    # ---- hooks ----

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, prefix, keep_vars) before state_dict."""
        return add_hook(KIND_STATE_PRE, self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict.

        It may change state_dict in place, and must return None.
        """
        marked: Any = getattr(hook, "__func__", hook)  # a bound method takes no attributes
        marked._from_public_api = True
        return add_hook(KIND_STATE_POST, self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As register_state_dict_post_hook; for the outermost module hook may answer another."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                f"hook '{name_of(hook)}' was registered by register_state_dict_post_hook before, "
                "by which it must return None; register a function of its own here"
            )
        return add_hook(KIND_STATE_POST, self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook before the module loads its own part of a state dict.

        It is hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs), and may change any of them in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        """As register_load_state_dict_pre_hook; without `with_module`, hook gets no module."""
        bound = _BoundHook(hook, self) if with_module else hook
        return add_hook(KIND_LOAD_PRE, self._load_state_dict_pre_hooks, bound)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(module, incompatible_keys) when the module and those within it are loaded.

        It may change the lists of incompatible_keys in place, and must return None.
        """
        return add_hook(KIND_LOAD_POST, self._load_state_dict_post_hooks, hook)

    # ---- saving ----

    def get_extra_state(self) -> Any:
        """What else belongs to the state of a module; for subclasses to define."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state; define get_extra_state and set_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take what get_extra_state answered; for subclasses to define."""
        raise RuntimeError(
            f"{type(self).__name__} has no extra state; define get_extra_state and set_extra_state"
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The parameters and persistent buffers of the module and those within it, by path.

        They are detached, unless `keep_vars`, and share memory with the module.
        """
        if args:
            warnings.warn(
                "state_dict: positional arguments are deprecated; name destination, prefix and "
                "keep_vars",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given["destination"] if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in _functions(self._state_dict_pre_hooks):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in _functions(self._state_dict_hooks):
            answer = hook(self, destination, prefix, local_metadata)
            if answer is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError(
                    f"state_dict post-hook '{name_of(hook)}' must return None, returned "
                    f"{type(answer).__name__}; change the dictionary in place"
                )
            destination = answer
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state into destination."""
        for name, tensor in self._own_state().items():
            as_is = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if as_is else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, Any]:
        """The parameters and persistent buffers of this module alone."""
        passing = self._non_persistent_buffers_set
        buffers = {name: value for name, value in self._buffers.items() if name not in passing}
        both = {**self._parameters, **buffers}
        return {name: value for name, value in both.items() if value is not None}

    # ---- loading ----

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state dict into the parameters and buffers of the module and those within it.

        If `strict`, the keys must be just those of this module's own state_dict. With `assign` the
        tensors of the state dict themselves become the parameters and buffers.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"load_state_dict: expected a dict-like state_dict, got {type(state_dict).__name__}"
            )
        loading = _Loading(state_dict, assign)
        loading.load(self, loading.state_dict, "")
        loading.finish(type(self).__name__, strict)
        return loading.keys

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state; what is wrong goes to the three lists."""
        for hook in _functions(self._load_state_dict_pre_hooks):
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_tensor(name, tensor, key, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if _overrides(self, "set_extra_state"):
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if _begins(key, prefix) and key != extra:
                    first, dot, _ = key[len(prefix) :].partition(".")
                    if first not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_tensor(
        self, name: str, tensor: Any, key: str, value: Any, assign: bool
    ) -> str | None:
        """Load one parameter or buffer; what is wrong with it, if something is."""
        if not isinstance(value, Tensor) and not wants_calls(type(value)):
            return f'for "{key}" a Tensor is expected, the state dict has a {type(value).__name__}'
        lazy = is_lazy(tensor)
        if not lazy and tensor.ndim == 0 and value.shape == (1,):
            value = value[0]  # what is a single number now was a vector of one in old files
        if not lazy and value.shape != tensor.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {tensor.shape}."
            )
        if not assign and tensor.is_meta and not value.is_meta:
            warnings.warn(
                f"for {key}: copying from a tensor that has values to one on the device meta, "
                "which has none, is a no-op; assign=True lets the module have the tensors of the "
                "state dict",
                stacklevel=2,
            )
        try:
            with no_grad():
                if get_swap_module_params_on_conversion():
                    load_by_swap(tensor, value, assign)
                    return None
                if not assign:
                    tensor.copy_(value)
                    return None
                if isinstance(tensor, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(tensor.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=tensor.requires_grad)
                setattr(self, name, value)
        except Exception as error:  # all that is wrong is reported together
            return f'while copying the parameter named "{key}", an exception occurred: {error}'
        return None


def _overrides(module: State, name: str) -> bool:
    return getattr(type(module), name) is not getattr(State, name)


def _functions(table: HookTable) -> list[Any]:
    return list(table.values())


def _begins(key: Any, prefix: str) -> bool:
    """Whether a key of a state dict is within a module."""
    if not isinstance(key, str):
        raise TypeError(
            f"load_state_dict: the keys of a state dict must be names, but {key!r} is a "
            f"{type(key).__name__}"
        )
    return key.startswith(prefix)


class _Loading:
    """One load_state_dict: what is loaded, and what was wrong with it."""

    def __init__(self, state_dict: Mapping[str, Any], assign: bool) -> None:
        copied: Any = OrderedDict(state_dict)  # because modules may change it
        self.state_dict = copied
        self.metadata = getattr(state_dict, "_metadata", None)
        if self.metadata is not None:
            copied._metadata = self.metadata
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.problems: list[str] = []

    def about(self, path: str) -> dict[str, Any]:
        """What the state dict says of the module at a path: the version of its layout."""
        if self.metadata is None:
            return {}
        whole = isinstance(self.metadata, Mapping)
        said = self.metadata.get(path, {}) if whole else self.metadata
        if not isinstance(said, Mapping):
            raise TypeError(
                "load_state_dict: _metadata of the state dict must be a dict of dicts, one a "
                f"module; for '{path}' it has a {type(said).__name__}"
            )
        return dict(said)

    def load(self, module: Any, state_dict: Any, prefix: str) -> None:
        """Load a module and those within it, each from the part that is its own."""
        local = self.about(prefix[:-1])
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(
            state_dict,
            prefix,
            local,
            True,
            self.keys.missing_keys,
            self.keys.unexpected_keys,
            self.problems,
        )
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                part = {key: value for key, value in state_dict.items() if _begins(key, inner)}
                self.load(child, part, inner)
        for hook in _functions(module._load_state_dict_post_hooks):
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    f"load_state_dict post-hook '{name_of(hook)}' must return None; change the "
                    "lists of incompatible_keys in place"
                )

    def finish(self, name: str, strict: bool) -> None:
        """Raise if anything was wrong."""
        if strict:
            lists = (("Missing", self.keys.missing_keys), ("Unexpected", self.keys.unexpected_keys))
            found = [
                f"{kind} key(s) in state_dict: " + ", ".join(f'"{key}"' for key in keys) + "."
                for kind, keys in lists
                if keys
            ]
            self.problems[:0] = found
        if self.problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {name}:\n\t" + "\n\t".join(self.problems)
            )


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the keys of a state dict, and of its metadata, where they have it."""
    metadata = getattr(state_dict, "_metadata", {})
    bare = prefix.rstrip(".")  # the prefix as the path of a module
    for key in [key for key in metadata if key == bare or key.startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
