"""torch.overrides: who answers calls of functions, by `__torch_function__`, and which those are.

`adjoint.call.overriding` is where functions ask.
"""

import functools
import importlib
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from adjoint.autograd.grad_mode import enable_grad
from adjoint.call.context import Changed, Scope, Settings, current, replaced
from adjoint.call.overriding import OperatorCall, by_mode, refusal, taking_part
from adjoint.compat.asking_methods import ATTRIBUTES
from adjoint.compat.torch_tree.ops import Overload, Packet
from adjoint.ops import PUBLIC
from adjoint.ops.declaration import METHOD
from adjoint.tensors import subclass
from adjoint.tensors.tensor import Tensor, wants_calls

# In a `__torch_dispatch__`, calls are recorded again inside.
enable_reentrant_dispatch = enable_grad

_ROOT = "adjoint.compat.torch"
# Where functions are public; the first that has one names it.
_HOMES = ("", "functional", "nn.functional", "nn.init", "linalg", "fft", "special", "_C._nn", "_VF")


# ---- for functions written in Python ----


def _wants(value: Any) -> bool:
    """Whether a value's class wants to see calls; that of plain tensors does not."""
    return type(value) is not Tensor and wants_calls(type(value))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments, or a mode, wants to see calls."""
    settings = current()
    if settings.functions:
        return True
    return settings.overrides and any(_wants(value) for value in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """Whether the argument, or a mode, wants to see calls."""
    return has_torch_function((value,))


def has_torch_function_variadic(*values: Any) -> bool:
    """Whether one of the arguments, or a mode, wants to see calls."""
    return has_torch_function(values)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Offer a call to the mode of the context, or to the arguments' types; the first answer."""
    found = taking_part(relevant_args)
    types = tuple(type(value) for value in found)
    settings = current()
    if settings.functions:
        return by_mode(settings, public_api, types, args, kwargs)
    for value in found:
        result = value.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise refusal(public_api, types)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """Decorates a function, given one that answers the arguments that may want its calls."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or takes part in calls like one."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


# ---- modes ----


class TorchFunctionMode(Scope):
    """Inside its block, `__torch_function__(func, types, args, kwargs)` answers every function."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer a call; a mode that only looks calls func itself."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_function__")

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("functions",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if isinstance(inspect.getattr_static(type(self), "__torch_function__"), classmethod):
            raise RuntimeError(
                f"{type(self).__name__}.__torch_function__: a classmethod is not supported, please "
                "make it a plain method"
            )
        return replaced(outer, {"functions": (*outer.functions, self)})

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> "TorchFunctionMode":
        """A new mode of this class, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that makes the calls as they are."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode_stack() -> list[Any]:
    """The modes of the calling context, the innermost last."""
    return list(current().functions)


def _get_current_function_mode() -> Any:
    """The innermost mode of the calling context."""
    modes = current().functions
    return modes[-1] if modes else None


def _len_torch_function_stack() -> int:
    """How many modes the calling context is in."""
    return len(current().functions)


def mode_at(level: int) -> Any:
    """One of the modes of the calling context, counted from the outermost."""
    return current().functions[level]


# The modes that a block without any has left out; None outside of such a block.
_left_out: ContextVar[tuple[Any, ...] | None] = ContextVar("adjoint_functions_off", default=None)


def is_all_disabled() -> bool:
    """Whether this is inside a block in which neither classes nor modes answer functions."""
    return _left_out.get() is not None


class disabled:
    """As a context: neither classes nor modes are asked about functions."""

    def __enter__(self) -> None:
        self.token = _left_out.set(_left_out.get() or current().functions)
        self.unseen = subclass.unseen()
        self.unseen.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.unseen.__exit__(*exc)
        _left_out.reset(self.token)


class _enable_torch_function:
    """As a context: classes and modes are asked about functions, also inside such a block."""

    def __enter__(self) -> None:
        kept = _left_out.get()
        self.token = _left_out.set(None)
        changes: dict[str, Any] = {"overrides": True}
        self.seen = Changed(changes if kept is None else changes | {"functions": kept})
        self.seen.__enter__()

    def __exit__(self, *exc: object) -> None:
        self.seen.__exit__(*exc)
        _left_out.reset(self.token)


class EnabledAgain:
    """The same from where it is made until it is deleted."""

    def __init__(self) -> None:
        self.block = _enable_torch_function()
        self.block.__enter__()

    def __del__(self) -> None:
        self.block.__exit__()


# ---- which functions there are ----


def resolve_name(f: Any) -> str | None:
    """Where a function or class of torch's is found, as torch.add; None for others."""
    if isinstance(f, OperatorCall):
        return f"torch.Tensor.{f.__name__}"
    if isinstance(f, (Overload, Packet)):
        return f"torch.ops.{f}"
    name = getattr(f, "__name__", None)
    if name in ("__get__", "__set__"):
        return _attribute_names().get(f)
    module = getattr(f, "__module__", None) or ""
    if not isinstance(name, str) or not _is_own(module):
        return None
    for home in _HOMES:
        mirror = importlib.import_module(f"{_ROOT}.{home}".rstrip("."))
        for shown in (name, name.removeprefix(f"{home}_")):
            if vars(mirror).get(shown, getattr(mirror, shown, None)) is f:
                return ".".join(filter(None, ("torch", home, shown)))
    if getattr(Tensor, name, None) is f:
        return f"torch.Tensor.{name}"
    tree = f"{__name__.rpartition('.')[0]}."
    if module.startswith(tree):
        return f"torch.{module.removeprefix(tree)}.{name}"
    return None


@functools.cache
def _attribute_names() -> dict[Any, str]:
    """Where the functions that read and set the attributes of a tensor are found."""
    return {
        getattr(getattr(Tensor, name), part): f"torch.Tensor.{name}.{part}"
        for name in ATTRIBUTES
        for part in ("__get__", "__set__")
    }


def _is_own(module: str) -> bool:
    return module.startswith(("adjoint.", "torch.")) or module in ("adjoint", "torch")


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions whose calls `__torch_function__` may answer, by the module or class."""
    found: dict[Any, list[Any]] = {}
    ignored = get_ignored_functions()
    for home, functions in PUBLIC.items():
        path = "" if home == "adjoint" else home
        owner: Any = (
            Tensor if home == METHOD else importlib.import_module(f"{_ROOT}.{path}".rstrip("."))
        )
        shown = [getattr(owner, name, function) for name, function in functions.items()]
        found[owner] = [f for f in dict.fromkeys(shown) if f not in ignored]
    found[Tensor] += [getattr(Tensor, name).__get__ for name in ATTRIBUTES]
    own = importlib.import_module(f"{_ROOT}.nn.functional")
    found[own] += [
        getattr(own, name)
        for name in dir(own)
        if callable(getattr(own, name))
        and getattr(own, name) not in found[own]
        and getattr(own, name) not in ignored
        and name[0] != "_"
        and not isinstance(getattr(own, name), (type, ModuleType))
        and _is_own(getattr(own, name).__module__)
    ]
    return found


@functools.cache
def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """For each of these functions one that takes the same arguments, and answers -1."""
    return {
        function: _dummy(function)
        for functions in get_overridable_functions().values()
        for function in functions
    }


def _dummy(function: Any) -> Callable[..., int]:
    """A function with the signature of another, whose calls must fit it."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # what is built in, and takes anything
        return lambda *args, **kwargs: -1

    def call(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    setattr(call, "__signature__", signature)  # noqa: B010  # mypy refuses the other form
    return call


# Without those that are methods, or other functions that are not ignored, at the same time.
_IGNORED = {
    "": (
        "arange are_deterministic_algorithms_enabled asarray  as_tensor bartlett_window "
        "blackman_window broadcast_shapes can_cast clear_autocast_cache compile cond device dtype "
        "empty empty_permuted empty_strided enable_grad eye fill finfo from_dlpack from_numpy "
        "frombuffer full get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
        "get_default_device get_default_dtype get_deterministic_debug_mode get_device_module "
        "get_float32_matmul_precision get_num_interop_threads get_num_threads get_rng_state "
        "hamming_window hann_window iinfo inference_mode initial_seed is_anomaly_check_nan_enabled "
        "is_anomaly_enabled is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled "
        "is_storage is_tensor is_warn_always_enabled kaiser_window layout linspace load logspace "
        "manual_seed memory_format no_grad normal ones promote_types rand rand_like randint "
        "randint_like randn randn_like randperm range result_type save scalar_tensor seed "
        "set_default_device set_default_dtype set_default_tensor_type "
        "set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal "
        "set_grad_enabled set_num_interop_threads set_num_threads set_printoptions set_rng_state "
        "set_warn_always sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
        "sparse_csr_tensor tensor tril_indices triu_indices typename use_deterministic_algorithms "
        "vander vmap zeros"
    ),
    "nn.functional": (
        "handle_torch_function hardsigmoid hardswish has_torch_function has_torch_function_unary "
        "has_torch_function_variadic   upsample upsample_bilinear upsample_nearest"
    ),
    "Tensor": (
        "__delitem__ __dir__ __getattribute__ __init__ __init_subclass__ __iter__ __new__ "
        "__setattr__ __torch_dispatch__ __torch_function__ _make_subclass _make_wrapper_subclass "
        " _view_func _view_func_unsafe as_subclass new new_empty new_empty_strided "
        "new_full new_ones new_tensor new_zeros stride to_sparse_bsc to_sparse_bsr to_sparse_coo "
        "to_sparse_csc to_sparse_csr "
    ),
}


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Public functions whose calls no class answers, most since they take no tensors; modes do."""
    found: set[Any] = set()
    for path, names in _IGNORED.items():
        top: Any = importlib.import_module(_ROOT)
        home = operator.attrgetter(path)(top) if path else top
        found.update(getattr(home, name) for name in names.split() if hasattr(home, name))
    return found


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results Tensor's own `__torch_function__` leaves as they are."""
    return set(subclass.unconverted())


@functools.cache
def _tensor_methods() -> frozenset[int]:
    """Methods of Tensor that are no functions of torch's as well, by their identity."""
    functions = {id(f) for home, names in PUBLIC.items() if home != METHOD for f in names.values()}
    return frozenset(
        id(value)
        for name in dir(Tensor)
        for value in (getattr(Tensor, name), getattr(getattr(Tensor, name), "__get__", None))
        if id(value) not in functions
    )


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, and no function of torch's."""
    if isinstance(func, OperatorCall):
        return True
    name = getattr(func, "__name__", "")
    return id(func) in _tensor_methods() or name in ("getitem", "setitem_", "__get__")
