"""torch._C: the part of PyTorch that is written in C++."""

import importlib
import weakref
from typing import Any

from adjoint.autograd import graph
from adjoint.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from adjoint.autograd.grad_mode import no_grad
from adjoint.call.arguments import tensors_in
from adjoint.call.context import (
    change_grad_enabled,
    current,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
)
from adjoint.call.layers import change_tracking, open_levels
from adjoint.compat import pytorch_names
from adjoint.compat.aten_forms import bound
from adjoint.compat.dispatch_keys import (
    DispatchKey as DispatchKey,
    DispatchKeySet as DispatchKeySet,
    excluded,
    excluding,
    keys_of,
)
from adjoint.compat.no_compiler import never, nothing, refused
from adjoint.compat.torch_tree import cuda, ops, overrides
from adjoint.compat.torch_tree.autograd import forward_ad
from adjoint.compat.torch_tree.library import Tag as Tag
from adjoint.compat.torch_tree.utils._python_dispatch import (
    dispatch_disabled,
    undispatched,
)
from adjoint.compat.torch_tree.utils.weak import WeakTensorKeyDictionary
from adjoint.compat.torch_tree.version import (
    has_lapack as has_lapack,
    has_mkl as has_mkl,
    has_openmp as has_openmp,
    has_spectral as has_spectral,
)
from adjoint.device import device as device
from adjoint.dtypes import dtype as dtype
from adjoint.library.custom_op import shared
from adjoint.library.schema import Argument as Argument, Schema
from adjoint.library.schema_text import parse
from adjoint.ops import PUBLIC
from adjoint.ops.matrices.linalg import LinAlgError
from adjoint.pytree import tree_leaves
from adjoint.random import Generator as Generator, default_generator as default_generator
from adjoint.tensors.size import Size as Size
from adjoint.tensors.subclass import plain, unhandled
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import loops

parse_schema = parse
FunctionSchema = Schema
TensorBase = _TensorBase = Tensor
_LinAlgError = LinAlgError


class _VariableFunctionsClass:
    """The functions of torch that are aten's, under one more name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not pytorch_names.overloads(name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(importlib.import_module("adjoint.compat.torch"), name)

    def __dir__(self) -> list[str]:
        return [name for name in PUBLIC["adjoint"] if pytorch_names.overloads(name)]


_VariableFunctions = _VariableFunctionsClass()

# Libraries and devices that PyTorch may have been built for.
_has_cuda = _has_cudnn = _has_cusparselt = _has_kleidiai = _has_magma = False
_has_eigen_sparse = _has_mkldnn = _has_mkldnn_acl = _has_mps = _has_xpu = False

# The pass that is under way.
_current_autograd_node = graph.current_node
_current_graph_task_execution_order = _get_graph_task_execution_order = graph.execution_order
_current_graph_task_id = graph.current_task_id
_will_engine_execute_node = graph.will_run

# Modes.
_ExcludeDispatchKeyGuard = excluding
_dispatch_tls_local_exclude_set = excluded
_dispatch_keys = keys_of
_AutoDispatchBelowAutograd = no_grad
_set_grad_enabled = change_grad_enabled
_is_fwd_grad_enabled = forward_ad._is_fwd_grad_enabled  # noqa: SLF001  # PyTorch's name of it
_set_fwd_grad_enabled = change_tracking
DisableTorchFunctionSubclass = plain
DisableTorchFunction = overrides.disabled
_EnableTorchFunction = overrides.EnabledAgain
_is_torch_function_all_disabled = overrides.is_all_disabled
_get_function_stack_at = overrides.mode_at
_disabled_torch_function_impl = unhandled
_DisableTorchDispatch, _disabled_torch_dispatch_impl = dispatch_disabled, undispatched


def _dispatch_isTensorSubclassLike(tensor: Tensor) -> bool:  # noqa: N802  # PyTorch's name
    """Whether a tensor answers calls by itself, or lies inside a transform."""
    return tensor.layer is not None


class _EnablePythonDispatcher:
    """As an object or a context, it has calls answered in Python, as all are here."""

    def __enter__(self) -> None:
        """See the class."""

    def __exit__(self, *exc: object) -> None:
        """See the class."""


def _dispatch_find_schema_or_throw(name: str, overload_name: str) -> Any:
    """An operation by its name, as aten::sin, and overload."""
    namespace, _, own = name.partition("::")
    try:
        return getattr(getattr(ops.__getattr__(namespace), own), overload_name or "default")
    except AttributeError as error:
        raise RuntimeError(f"Could not find schema for {name}.{overload_name}") from error


def _get_schema(name: str, overload_name: str) -> Any:
    """What an operation of this name takes and gives."""
    return _dispatch_find_schema_or_throw(name, overload_name)._schema  # noqa: SLF001  # its name


def _jit_get_schemas_for_operator(name: str) -> list[Any]:
    """What each overload of an operation takes and gives, where that is known."""
    namespace, _, own = name.partition("::")
    packet = getattr(ops.__getattr__(namespace), own, None)
    found = [getattr(getattr(packet, each), "_schema", None) for each in packet or ()]
    return [schema for schema in found if schema is not None]


def _dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operation of this name, as space::name."""
    return ops.has_kernel(name)


def _dispatch_has_kernel_for_dispatch_key(name: str, dispatch: Any) -> bool:
    """Whether an operation has a kernel of its own for a key, or the name of one."""
    key = str(getattr(dispatch, "name", dispatch))
    if key not in DispatchKey.__members__:
        raise RuntimeError(f"could not parse dispatch key: {key}")
    if not ops.has_kernel(name):
        raise RuntimeError(f"operator {name} does not exist")
    return ops.has_kernel(name, key)


def _dispatch_has_kernel_for_any_dispatch_key(name: str, dispatches: Any) -> bool:
    """Whether it has one for any key of a set."""
    return any(_dispatch_has_kernel_for_dispatch_key(name, key) for key in dispatches.keys)


def _dispatch_call_boxed(handle: Any, *args: Any, **kwargs: Any) -> Any:
    """The call of an operation that was found so."""
    return handle(*args, **kwargs)


def _jit_resolve_packet(name: str, *args: Any, **kwargs: Any) -> str:
    """Which overload of an operation of aten's a call with these arguments is."""
    found = bound(name.removeprefix("aten::"), args, kwargs)
    if found is None:
        raise RuntimeError(f"failed to match any schema of {name} with these arguments")
    return found[0].overload


def _any_requires_grad(*args: Any, **kwargs: Any) -> bool:
    """Whether one of the arguments, or of the lists among them, requires grad."""
    return any(tensor.requires_grad for tensor in tensors_in([*args, *kwargs.values()]))


def _any_output_is_alias_to_input_or_output(args: Any, kwargs: Any, outputs: Any) -> bool:
    """Whether a result shares memory with an argument, or with another result."""
    others = [t for t in tree_leaves((args, kwargs or {})) if isinstance(t, Tensor)]
    for tensor in [t for t in tree_leaves(outputs) if isinstance(t, Tensor)]:
        if any(shared(tensor, other) for other in others if other.array.size):
            return True
        others.append(tensor)
    return False


def _debug_only_are_vmap_fallback_warnings_enabled() -> bool:
    """Whether vmap says each time that it calls an op for each element, and not only once."""
    return loops.always_said


def _debug_only_display_vmap_fallback_warnings(enabled: bool) -> None:
    """Let vmap say each time that it calls an op for each element, or only once."""
    loops.always_said = enabled


def _are_functorch_transforms_active() -> bool:
    """Whether this is inside vmap, or inside a transform that differentiates."""
    return bool(open_levels.get())


def _is_torch_function_mode_enabled() -> bool:
    """Whether this is inside a mode that answers functions."""
    return bool(current().functions)


def _len_torch_function_stack() -> int:
    """Inside how many modes that answer functions this is."""
    return len(current().functions)


# What only compilers and tracers would answer otherwise.
_get_tracing_state = _log_api_usage_once = nothing
_is_tracing = never
_jit_set_profiling_executor = _jit_set_profiling_mode = refused
_jit_set_nvfuser_enabled = _jit_set_texpr_fuser_enabled = refused
_jit_can_fuse_on_cpu = _jit_can_fuse_on_gpu = never
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = nothing


def _get_accelerator() -> device:
    """The device beside the CPU; the CPU itself if there is none."""
    return device("cuda" if cuda.is_available() else "cpu")


def _get_privateuse1_backend_name() -> str:
    """What a device of others is called: none was named."""
    return "privateuseone"


def _get_cudnn_enabled() -> bool:
    """A setting of a library, which changes nothing."""
    return True


def _is_alias_of(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors share memory."""
    return shared(first, second)


class _WeakTensorRef:
    """A weak reference to a tensor that can be asked whether it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


# ---- tensors whose memory a captured graph owns; nothing here puts any on the list ----

_cached = WeakTensorKeyDictionary()


def _set_cached_tensors_enabled(enabled: bool) -> None:
    """Start or stop to keep the list; it costs nothing, so that it is always kept."""


def _add_cached_tensor(tensor: Tensor) -> None:
    """Put a tensor on the list."""
    _cached[tensor] = True


def _remove_cached_tensor(tensor: Tensor) -> None:
    """Take a tensor off the list, if it is there."""
    _cached.pop(tensor, None)


def _is_cached_tensor(tensor: Tensor) -> bool:
    """Whether a tensor is on the list."""
    return tensor in _cached
