"""Optimizer: parameter groups, state, hooks and state dicts, whatever the rule of the step."""

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from itertools import chain
from typing import Any

from adjoint.autograd.grad_mode import enable_grad
from adjoint.autograd.hooks import RemovableHandle, ask, name_of
from adjoint.autograd.profiler import record_function
from adjoint.call.context import current
from adjoint.dtypes import FLOAT, category_of, float32, float64, get_default_dtype
from adjoint.ops.arranging.conversion import clone, is_tensor
from adjoint.optim.wrapped import answers_calls
from adjoint.tensors.concrete import has_values
from adjoint.tensors.interop import from_dlpack
from adjoint.tensors.tensor import Tensor

Group = dict[str, Any]
Closure = Callable[[], Any]
Params = Iterable[Tensor] | Iterable[Group] | Iterable[tuple[str, Tensor]]
HookDict = OrderedDict[int, Any]

_step_pre_hooks: HookDict = OrderedDict()
_step_post_hooks: HookDict = OrderedDict()
_OWN_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)

# Settings that a state dict of an older version may lack, and what they mean then.
_LATER_SETTINGS = {
    "amsgrad": False,
    "capturable": False,
    "centered": False,
    "decoupled_weight_decay": False,
    "foreach": None,
    "fused": None,
    "maximize": False,
    "momentum": 0,
    "nesterov": False,
}


_LABELS = {"lr": "learning rate", "eps": "epsilon value"}  # programs look for these words


class _Required:
    """The mark of a setting without a default: each parameter group must give it."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _register(table: HookDict, hook: Any, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Any) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) before each step of every optimizer."""
    return _register(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Any) -> RemovableHandle:
    """Call hook(optimizer, args, kwargs) after each step of every optimizer."""
    return _register(_step_post_hooks, hook)


def hooks_of(optimizer: "Optimizer") -> tuple[tuple[int, ...], ...]:
    """The ids of the hooks that are called before and after its steps."""
    fields = vars(optimizer)
    before, after = fields["_optimizer_step_pre_hooks"], fields["_optimizer_step_post_hooks"]
    return tuple(before), tuple(after), tuple(_step_pre_hooks), tuple(_step_post_hooks)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """step() between its hooks; a step that calls its parent's runs them once."""

    @functools.wraps(step)
    def wrapper(self: "Optimizer", *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # it wraps another: no __init__
            return step(self, *args, **kwargs)
        if self._stepping or not (
            _step_pre_hooks
            or _step_post_hooks
            or self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or not current().plain
        ):
            return step(self, *args, **kwargs)
        self._stepping = True
        try:
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                return self._between_hooks(step, (self, *args), kwargs)
        finally:
            self._stepping = False

    return wrapper


def evaluated(closure: Closure | None) -> Any:
    """The loss that a closure computes anew, recorded whatever the mode; None without one."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


def scalar_dtype() -> Any:
    """The data type of counters: float32, unless all of the program computes in float64."""
    return float64 if get_default_dtype() is float64 else float32


def check_non_negative(**values: Any) -> None:
    """Refuse settings below zero, and tensors in their place that hold several numbers."""
    for name, value in values.items():
        if isinstance(value, Tensor) and value.array.size != 1:
            raise ValueError(f"Tensor {name} must be 1-element, got shape {tuple(value.shape)}")
        if not value >= 0.0:
            label = _LABELS.get(name, f"{name} value")
            raise ValueError(f"Invalid {label}: {value}; it must not be negative")


def check_betas(betas: Any) -> None:
    """Refuse decay rates outside of [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(
                f"Invalid beta parameter at index {index}: {beta}; it must be in [0, 1)"
            )


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Refuse fused=True beside what contradicts it."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`; leave one of them out")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together")


def check_fused_params(params: list[Any]) -> None:
    """Refuse a step with fused=True of other than real numbers that are there."""
    for param in params:
        if category_of(param.array.dtype) != FLOAT or param.is_meta:
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors with values, "
                f"but one is {param.dtype.name} on {param.device}"
            )


class Optimizer:
    """The base of all optimizers: a subclass gives `step`, and keeps what it needs in `state`.

    `params` are tensors, (name, tensor) pairs or dicts with settings for some of them;
    `defaults` are the settings of those that say nothing else.
    """

    _optimizer_step_pre_hooks: HookDict
    _optimizer_step_post_hooks: HookDict
    _optimizer_state_dict_pre_hooks: HookDict
    _optimizer_state_dict_post_hooks: HookDict
    _optimizer_load_state_dict_pre_hooks: HookDict
    _optimizer_load_state_dict_post_hooks: HookDict
    _stepping = False
    _opt_called = False  # schedules of learning rates warn if they come first

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = hooked(cls.__dict__["step"])  # type: ignore[method-assign]  # with hooks

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got a single Tensor: put it into a list"
            )
        self.defaults = defaults
        self._add_hook_tables()
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        entries: list[Any] = list(params)
        if not entries:
            raise ValueError("optimizer got an empty parameter list")
        groups = entries if isinstance(entries[0], dict) else [{"params": entries}]
        for group in groups:
            self.add_param_group(group)

    def _add_hook_tables(self) -> None:
        for name in _OWN_HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    # ---- copies and what is shown ----

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._add_hook_tables()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name in self.defaults.keys() & _LATER_SETTINGS.keys():
                group.setdefault(name, _LATER_SETTINGS[name])

    def __repr__(self) -> str:
        parts = []
        for number, group in enumerate(self.param_groups):
            settings = [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            parts.append("\n".join([f"Parameter Group {number}", *settings, ""]))
        return "\n".join([f"{type(self).__name__} (", *parts]) + ")"

    # ---- hooks ----

    def register_step_pre_hook(self, hook: Any) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may answer new ones."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Any) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer) before state_dict() collects the state."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Call hook(optimizer, state_dict) on the result; it may answer another one."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before loading; it may answer another one."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Any, prepend: bool = False
    ) -> RemovableHandle:
        """Call hook(optimizer) when a state dict has been loaded."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def _between_hooks(
        self, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Global hooks are the outer ones; a pre-hook may answer other arguments."""
        for hook in [*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
            answer = ask(hook, (self, args, kwargs))
            if answer is not None:
                if not isinstance(answer, tuple) or len(answer) != 2:
                    raise RuntimeError(
                        f"step pre-hook '{name_of(hook)}' must return None or a tuple of "
                        f"(new_args, new_kwargs), but got {answer!r}"
                    )
                args, kwargs = answer
        out = step(*args, **kwargs)
        for hook in [*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()]:
            ask(hook, (self, args, kwargs))
        return out

    # ---- the state as plain data ----

    def state_dict(self) -> dict[str, Any]:
        """The state by the number of its parameter, and the settings of each group."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        start = 0
        for group in self.param_groups:  # what an earlier group has keeps its number
            numbers = {id(param): n for n, param in enumerate(group["params"], start)} | numbers
            start += len(group["params"])
        packed: dict[str, Any] = {
            "state": {
                numbers[id(key)] if isinstance(key, Tensor) else key: value
                for key, value in self.state.items()
            },
            "param_groups": [
                {key: value for key, value in group.items() if key != "params"}
                | {"params": [numbers[id(param)] for param in group["params"]]}
                for group in self.param_groups
            ],
        }
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            answer = hook(self, packed)
            packed = packed if answer is None else answer
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that state_dict() returned, here or in PyTorch; tensors are copied."""
        state_dict = _dict_of("state dict", state_dict).copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            answer = hook(self, state_dict)
            state_dict = state_dict if answer is None else answer
        _check_structure(state_dict)
        groups = [_own(group) for group in state_dict["param_groups"]]
        self._check_sizes(groups)
        own_params = chain(*(group["params"] for group in self.param_groups))
        saved_numbers = chain(*(group["params"] for group in groups))
        saved_groups = chain(*([group] * len(group["params"]) for group in groups))
        places = {
            number: (param, group)
            for number, param, group in zip(saved_numbers, own_params, saved_groups)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in places:
                param, group = places[key]
                state[param] = loaded(_dict_of(f"state of {key!r}", value), param, group)
            else:
                state[key] = value
        for group, own in zip(groups, self.param_groups):
            group["params"] = own["params"]
            if "param_names" in own:
                group.setdefault("param_names", own["param_names"])
        self._take_over({"state": state, "param_groups": groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _take_over(self, loaded: dict[str, Any]) -> None:
        """Use a loaded state, unless there is something wrong with it."""
        before = {"state": self.state, "param_groups": self.param_groups}
        try:
            self.__setstate__(loaded)
            self.check_state()
        except BaseException as error:
            self.__dict__.update(before)
            if not isinstance(error, KeyError):
                raise
            raise ValueError(f"load_state_dict: a param group has no setting {error}") from error

    def check_state(self) -> None:
        """Refuse a loaded state that no step could go on with; for subclasses to define."""

    def _check_sizes(self, groups: list[Group]) -> None:
        """Refuse groups that don't match the optimizer's."""
        if len(groups) != len(self.param_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(groups)}, where the optimizer has {len(self.param_groups)}"
            )
        for number, (group, own) in enumerate(zip(groups, self.param_groups)):
            if len(group["params"]) != len(own["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    f"optimizer's group {number}: {len(group['params'])} parameters, where it has "
                    f"{len(own['params'])}"
                )

    # ---- what users call in a training loop ----

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, or fill them with zeros."""
        if current().plain:
            self._clear_gradients(set_to_none)
            return
        with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
            self._clear_gradients(set_to_none)

    def _clear_gradients(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                    continue
                if grad.grad_fn is not None:
                    grad.detach_()
                else:
                    grad.requires_grad_(False)
                grad.zero_()

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters once; closure, if given, computes the loss and its gradients."""
        raise NotImplementedError

    def add_param_group(self, param_group: Group) -> None:
        """Optimize further parameters, with settings of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        params, names = _separated(param_group["params"])
        for param in params:
            self._check_param(param)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        own = {id(param) for param in params}
        if len(own) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; each is changed "
                "as often as it is listed",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names; this one comes "
                    f"{'with' if names else 'without'} them, and the others don't agree"
                )
            if not own.isdisjoint(id(param) for param in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type(param).__name__}"
            )
        if param.layer is not None and param.layer.sparse:
            kind: Any = param.layer
            raise RuntimeError(
                f"an optimizer changes memory, and one of the params is of layout "
                f"{kind.layout.name} and has none of its own: optimize its values, and make the "
                "sparse tensor of them in each step"
            )
        if param.layer is not None and not has_values(param) and not answers_calls(param):
            raise RuntimeError(
                "an optimizer changes memory, and one of the params has none of its own: it is a "
                "batch inside vmap. Write the step as a function, param - lr * grad, or optimize "
                "outside"
            )
        leaf = param.is_leaf or param.retains_grad
        if not leaf and not self.defaults.get("differentiable", None):
            raise ValueError(
                "can't optimize a non-leaf Tensor: it comes from "
                f"{param.grad_fn!r}; optimize what it was computed from"
            )


def _separated(params: Any) -> tuple[list[Any], list[str]]:
    """The tensors of a group, and their names if they come as pairs."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of "
            "tensors in sets changes between runs; use a list instead"
        )
    entries = list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise ValueError(
            "all optimizer params should be with/without names: "
            f"{len(names)} of {len(entries)} have one"
        )
    return [entry[1] if isinstance(entry, tuple) else entry for entry in entries], names


def _dict_of(what: str, value: Any) -> dict[Any, Any]:
    """A part of a state dict that must be a dict."""
    if not isinstance(value, dict):
        raise TypeError(f"load_state_dict: the {what} must be a dict, got {type(value).__name__}")
    return value


def _check_structure(state_dict: Any) -> None:
    """Refuse what is no state dict of an optimizer, before anything is changed."""
    known = _dict_of("state dict", state_dict)
    for key in ("state", "param_groups"):
        if key not in known:
            raise ValueError(f"load_state_dict: the state dict has no '{key}', only {list(known)}")
    _dict_of("entry 'state'", known["state"])
    if not isinstance(known["param_groups"], list | tuple):
        kind = type(known["param_groups"]).__name__
        raise TypeError(f"load_state_dict: the entry 'param_groups' must be a list, got {kind}")
    for number, group in enumerate(known["param_groups"]):
        params = _dict_of(f"param group {number}", group).get("params")
        if not isinstance(params, list | tuple):
            raise TypeError(
                f"load_state_dict: 'params' of param group {number} must be a list of the numbers "
                f"of its parameters, got {type(params).__name__}"
            )
        for param in params:
            if not isinstance(param, Hashable):
                raise TypeError(
                    f"load_state_dict: 'params' of param group {number} holds {param!r}, which "
                    "can't be the number of a parameter"
                )


def _own(value: Any) -> Any:
    """A deep copy in which other libraries' tensors have become ours."""
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        return clone(from_dlpack(value))
    if isinstance(value, Tensor) and not value.is_leaf:
        return clone(value.detach())  # how it was computed is no part of a state
    return copy.deepcopy(value)


def loaded(value: Any, param: Tensor, group: Group, key: Any = None) -> Any:
    """A copy of a parameter's state with tensors of the parameter's kind, on its device."""
    if isinstance(value, dict):
        return {name: loaded(item, param, group, name) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(loaded(item, param, group) for item in value)
    value = _own(value)
    if not is_tensor(value):
        return value
    if key == "step":  # a count: 16 bits would be too few for it
        on_device = group.get("capturable") or group.get("fused")
        return value.to(device=param.device, dtype=float32) if on_device else value
    if category_of(param.array.dtype) == FLOAT:
        return value.to(device=param.device, dtype=param.dtype)
    return value.to(device=param.device)
