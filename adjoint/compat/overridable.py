"""Which functions of PyTorch's a class or a mode may answer, what they are called, and which not.

They are what the modules and Tensor have, less what PyTorch leaves out: what takes no tensor, what
Python asks of every object, and in-place functions that are methods first of all.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from adjoint.call.operators import OPERATORS, REFLECTED
from adjoint.compat.asking_methods import ATTRIBUTES, ask_modes
from adjoint.compat.pytorch_names import is_known
from adjoint.compat.torch_tree.ops import OpOverload, OpOverloadPacket
from adjoint.ops import find_function
from adjoint.ops.as_method import AsMethod
from adjoint.tensors import subclass
from adjoint.tensors.tensor import Tensor

_ROOT = "adjoint.compat.torch"
# Where functions are public; the first that has one names it.
_HOMES = ("functional", "nn.functional", "", "linalg", "fft", "special", "nn.init", "_C._nn", "_VF")
_OTHERS_IN_PYTORCH = (
    "nn.functional.sigmoid",
    "nn.functional.tanh",
)  # of these names torch has its own
_OVERRIDABLE = ("", "functional", "nn.functional", "linalg", "fft", "special")

# Of torch: settings and questions about them, new tensors, types, files.
_IGNORED = """
    arange are_deterministic_algorithms_enabled as_strided as_tensor asarray
    autocast_decrement_nesting autocast_increment_nesting bartlett_window blackman_window can_cast
    clear_autocast_cache compile cond default_generator device dtype empty empty_permuted
    empty_strided enable_grad eye fill finfo fork from_file from_numpy frombuffer full
    get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype get_autocast_ipu_dtype
    get_autocast_xla_dtype get_default_device get_default_dtype get_deterministic_debug_mode
    get_device_module get_float32_matmul_precision get_num_interop_threads get_num_threads
    get_rng_state hamming_window hann_window iinfo inference_mode init_num_threads initial_seed
    is_anomaly_check_nan_enabled is_anomaly_enabled is_autocast_cache_enabled
    is_autocast_cpu_enabled is_autocast_enabled is_autocast_ipu_enabled is_autocast_xla_enabled
    is_deterministic_algorithms_warn_only_enabled is_grad_enabled is_inference_mode_enabled
    is_storage is_tensor is_vulkan_available is_warn_always_enabled kaiser_window layout linspace
    load logspace manual_seed memory_format no_grad normal ones parse_schema promote_types rand
    rand_like randint randint_like randn randn_like randperm range result_type save scalar_tensor
    seed set_anomaly_enabled set_autocast_cache_enabled set_autocast_cpu_dtype
    set_autocast_cpu_enabled set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype
    set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype set_autocast_xla_enabled
    set_default_device set_default_tensor_type set_deterministic_debug_mode
    set_float32_matmul_precision set_flush_denormal set_grad_enabled set_num_interop_threads
    set_num_threads set_printoptions set_rng_state set_warn_always sparse_compressed_tensor
    sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor tensor tril_indices triu_indices typename
    use_deterministic_algorithms vander vmap wait zeros
"""
_IGNORED_IN = {
    "": _IGNORED,
    "functional": "broadcast_shapes",
    "fft": "fftfreq rfftfreq",
    "nn.init": "calculate_gain",
    "nn.functional": """
        _canonical_mask _none_or_dtype assert_int_or_pair boolean_dispatch grouped_mm
        handle_torch_function hardsigmoid hardswish has_torch_function has_torch_function_unary
        has_torch_function_variadic scaled_grouped_mm scaled_mm sigmoid tanh upsample
        upsample_bilinear upsample_nearest
    """,
}
_IGNORED_METHODS = """
    __delitem__ __iter__ __torch_dispatch__ __torch_function__ _make_subclass
    _make_wrapper_subclass _typed_storage _view_func _view_func_unsafe as_subclass new new_empty
    new_empty_strided new_full new_ones new_tensor new_zeros stride to_sparse_bsc to_sparse_bsr
    to_sparse_coo to_sparse_csc to_sparse_csr unflatten
"""
# What every object has, and PyTorch's tensors answer as any does.
_OF_OBJECTS = """
    __class__ __delattr__ __dir__ __getattribute__ __hash__ __init__ __init_subclass__ __new__
    __setattr__ __subclasshook__
"""
# Operators that are asked about by the name of a method alone.
_UNNAMED = ["__abs__", "__getstate__", "__neg__", "__pos__", "__reduce__", "__sizeof__", "__str__"]
# Functions that PyTorch lists neither here nor there.
_NEITHER = [
    "from_dlpack",
    "segment_reduce",
    "set_default_dtype",
    "symeig",
    "to_dlpack",
    "while_loop",
]
# Methods that PyTorch's tensors do not have: for adjoint's other parts, and some of ops.
_OWN = """
    __array_function__ __array_ufunc__ concrete_array constant_pad_nd conv_tbc counter current_array
    fill fill_diagonal keep_grad leaf_hooks mark_inference number numpy_array one_number overwrite
    pixel_shuffle pixel_unshuffle poisson rare real_number refresh replace_array rrelu shared spec
    take_over up_to_date version whole_array zero
"""


@functools.cache
def _module(home: str) -> Any:
    return importlib.import_module(f"{_ROOT}.{home}".rstrip("."))


def is_own(module: str) -> bool:
    """Whether a module is adjoint's, or torch's by its name."""
    return module.startswith(("adjoint.", "torch.")) or module in ("adjoint", "torch")


# ---- names ----


def resolve_name(f: Any) -> str | None:
    """Where a function or class of torch's is found, as torch.add; None for others."""
    if isinstance(f, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{f}"
    name = getattr(f, "__name__", None)
    if name in ("__get__", "__set__"):
        return _attribute_names().get(f)
    if not isinstance(name, str):
        return None
    if isinstance(f, AsMethod) or hasattr(f, "double_of"):
        return f"torch.Tensor.{name}"
    if _methods().get(name) is f:
        return f"torch.Tensor.{name}"
    module = getattr(f, "__module__", None) or ""
    if not is_own(module):
        return None
    for home in _HOMES:
        mirror = _module(home)
        path = f"{home}.{name}"
        if path in _OTHERS_IN_PYTORCH or ("functional" in home and not is_known(path)):
            continue
        for shown in (name, name.removeprefix(f"{home}_")):
            if vars(mirror).get(shown, getattr(mirror, shown, None)) is f:
                return ".".join(filter(None, ("torch", home, shown)))
    tree = f"{_ROOT.rpartition('.')[0]}.torch_tree."
    if module.startswith(tree):
        return f"torch.{module.removeprefix(tree)}.{name}"
    return None


def _methods() -> dict[str, Any]:
    """The methods of Tensor, by the names they have there."""
    return {name: getattr(Tensor, name) for name in dir(Tensor)}


@functools.cache
def _attribute_names() -> dict[Any, str]:
    """Where the functions that read and set the attributes of a tensor are found."""
    return {
        getattr(getattr(Tensor, name), part): f"torch.Tensor.{name}.{part}"
        for name in ATTRIBUTES
        for part in ("__get__", "__set__")
    }


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, and no function of torch's."""
    return func in _overridable_methods() or getattr(func, "__name__", "") == "__get__"


@functools.cache
def _overridable_methods() -> frozenset[Any]:
    return frozenset(get_overridable_functions()[Tensor])


def behind(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The function, and its arguments, of which a method or operator of Tensor's is a name."""
    if isinstance(function, AsMethod):
        return function.op, args
    if hasattr(function, "double_of"):
        return function.double_of, args
    name = getattr(function, "__name__", "")
    if getattr(Tensor, name, None) is function:
        for names, turned in ((REFLECTED, True), (OPERATORS, False)):
            found = next((op for op, shown in names.items() if shown == name), None)
            if found is not None:
                return find_function(found), args[::-1] if turned else args
    return function, args


# ---- which there are ----


@functools.cache
def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions whose calls `__torch_function__` may answer, by the module or class."""
    ask_modes()  # which makes some methods others, once
    found: dict[Any, list[Any]] = {}
    ignored = get_ignored_functions()
    for home in _OVERRIDABLE:
        functions = [f for f in dict.fromkeys(_functions(home)) if f not in ignored]
        if functions:
            found[_module(home)] = functions
    named = [name for name in dir(Tensor) if _is_method(name)]
    found[Tensor] = [f for f in (getattr(Tensor, name) for name in named) if f not in ignored]
    for name in ATTRIBUTES:
        attribute = getattr(Tensor, name)
        found[attribute] = [attribute.__get__]
    return found


def _functions(home: str) -> Iterator[Any]:
    """The public functions of a module, less in-place ones and those of another module."""
    owner = _module(home)
    listed = set(dir(owner))
    for name in sorted(listed):
        if name[0] == "_" or name[-1] == "_" or name in _NEITHER:
            continue
        function = getattr(owner, name)
        if isinstance(function, (type, ModuleType)) or not callable(function):
            continue
        module = getattr(function, "__module__", None) or ""
        if not is_own(module) or not is_known(f"{home}.{name}".lstrip(".")):
            continue
        elsewhere = home and getattr(_module(""), name, None) is function
        yield from () if elsewhere and home != "functional" else (function,)


def _is_method(name: str) -> bool:
    """Whether Tensor's attribute is a method that PyTorch's has, too, and asks about."""
    if name in _UNNAMED or name in f"{_OF_OBJECTS} {_OWN}".split() or "mypyc" in name:
        return False
    return callable(getattr(Tensor, name))


def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """For each of these functions one that takes the same arguments, and answers -1."""
    return dict(_testing_overrides())


@functools.cache
def _testing_overrides() -> dict[Any, Callable[..., int]]:
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


@functools.cache
def get_ignored_functions() -> set[Any]:
    """Public functions that no class answers: they take no tensors, or answer for any object."""
    ask_modes()
    found: set[Any] = set()
    for home, names in _IGNORED_IN.items():
        owner = _module(home)
        there = {name: getattr(owner, name) for name in names.split() if name in dir(owner)}
        if home == "nn.functional":  # of which some are torch's own, and asked about
            there = {k: v for k, v in there.items() if getattr(_module(""), k, None) is not v}
        found.update(there.values())
    init = _module("nn.init")  # of which the old names, without a dash at the end, are left
    old = [name.removesuffix("_") for name in dir(init) if name.endswith("_")]
    found.update(getattr(init, name) for name in old if name in dir(init))
    methods = f"{_OF_OBJECTS} {_IGNORED_METHODS}".split()
    return found | {getattr(Tensor, name) for name in methods if name in dir(Tensor)}


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results Tensor's own `__torch_function__` leaves as they are."""
    return set(subclass.unconverted())
