"""PyTorch's private or second spellings of what adjoint has under one name.

From a path below torch to a module of adjoint's and a name in it; looked up when used.
"""

_GRAPH = "adjoint.autograd.graph"
_ANOMALY = "adjoint.autograd.anomaly_mode"

_UNCOMPILED = "adjoint.compat.uncompiled"
_LINEAR = "NonDynamicallyQuantizableLinear"  # the last layer of attention
_CASTING = "adjoint.compat.autocasting"
_IMPLICIT = "adjoint.ops.implicit"

SPELLINGS: dict[str, str] = {
    "torch": "adjoint.compat:torch",
    "autograd.torch": "adjoint.compat:torch",
    "save": "adjoint.compat.serialising:save",
    "load": "adjoint.compat.serialising:load",
    "Future": "adjoint.compat.futures:Future",
    "_standard_gamma": f"{_IMPLICIT}:standard_gamma",
    "_standard_gamma_grad": f"{_IMPLICIT}:gamma_slope",
    "_sample_dirichlet": f"{_IMPLICIT}:standard_dirichlet",
    "_dirichlet_grad": f"{_IMPLICIT}:dirichlet_slope",
    "distributions.kl._kl_expfamily_expfamily": "adjoint.distributions.kl:_exponential_family",
    "distributions.transforms._InverseTransform": (
        "adjoint.distributions.transform:InverseTransform"
    ),
    "distributions.kl._KL_REGISTRY": "adjoint.distributions.kl:REGISTRY",
    "profiler.kineto_available": "adjoint.compat.absent:is_available",
    "autograd.profiler.emit_nvtx": "adjoint.compat.nvtx:emit_nvtx",
    "autograd.profiler.EventList": "adjoint.autograd.profiler_events:EventList",
    "vmap": "adjoint.func:vmap",
    "_vmap_internals._vmap": "adjoint.func:vmap",
    "autograd.grad_mode.is_inference_mode_enabled": "adjoint:is_inference_mode_enabled",
    "is_anomaly_enabled": f"{_ANOMALY}:is_anomaly_enabled",
    "is_anomaly_check_nan_enabled": f"{_ANOMALY}:is_anomaly_check_nan_enabled",
    # autocast for one kind of device.
    **{
        f"{device}.amp.{module}autocast": f"{_CASTING}:{device}_autocast"
        for device in ("cpu", "cuda")
        for module in ("", "autocast_mode.")
    },
    "cuda.amp.custom_fwd": f"{_CASTING}:cuda_custom_fwd",
    "cuda.amp.custom_bwd": f"{_CASTING}:cuda_custom_bwd",
    # The pass that is under way.
    "_C._current_autograd_node": f"{_GRAPH}:current_node",
    "_C._current_graph_task_id": f"{_GRAPH}:current_task_id",
    "_C._current_graph_task_execution_order": f"{_GRAPH}:execution_order",
    "_C._get_graph_task_execution_order": f"{_GRAPH}:execution_order",
    "_C._will_engine_execute_node": f"{_GRAPH}:will_run",
    # Modes.
    "_C.is_grad_enabled": "adjoint:is_grad_enabled",
    "_C._set_grad_enabled": "adjoint.ambient:change_grad_enabled",
    "_C.is_inference_mode_enabled": "adjoint:is_inference_mode_enabled",
    "_C.is_anomaly_enabled": f"{_ANOMALY}:is_anomaly_enabled",
    # What only compilers and tracers would answer otherwise.
    "_C._log_api_usage_once": f"{_UNCOMPILED}:nothing",
    "_C._get_tracing_state": f"{_UNCOMPILED}:nothing",
    "_C._jit_set_profiling_executor": f"{_UNCOMPILED}:refused",
    "_C._jit_set_profiling_mode": f"{_UNCOMPILED}:refused",
    "jit.Final": "typing:Final",
    "jit._overload_method": f"{_UNCOMPILED}:unchanged",
    "jit._script_if_tracing": f"{_UNCOMPILED}:unchanged",
    "_jit_internal._overload": f"{_UNCOMPILED}:unchanged",
    "_jit_internal._overload_method": f"{_UNCOMPILED}:unchanged",
    # Kinds of objects.
    "_C.Generator": "adjoint:Generator",
    "_C.Size": "adjoint:Size",
    "_C.device": "adjoint:device",
    "_C.dtype": "adjoint:dtype",
    "_library.utils.lookup_op": "adjoint.library:lookup",
    "_C.Tag": "adjoint.compat.libraries:Tag",
    "_C._AutoDispatchBelowAutograd": "adjoint:no_grad",
    "Tag": "adjoint.compat.libraries:Tag",
    "_C.default_generator": "adjoint:default_generator",
    "_C.TensorBase": "adjoint.tensor_core:TensorCore",
    "_C._TensorBase": "adjoint.tensor_core:TensorCore",
    "_C._functions.AccumulateGrad": "adjoint.autograd.node:AccumulateGrad",
    "nn.modules.utils.consume_prefix_in_state_dict_if_present": (
        "adjoint.nn.state_dict:consume_prefix_in_state_dict_if_present"
    ),
    "nn.functional.grad": "adjoint.nn:grad",
    "_nnpack_available": "adjoint.compat.absent:is_available",
    "optim.lr_scheduler.EPOCH_DEPRECATION_WARNING": "adjoint.optim.lr_scheduler.base:EPOCH_GIVEN",
    f"nn.modules.linear.{_LINEAR}": f"adjoint.nn.layers.linear:{_LINEAR}",
    "sparse_coo_tensor": "adjoint.compat.sparse_tensors:sparse_coo_tensor",
    "spmm": "adjoint.ops.matmul:mm",
    "OutOfMemoryError": "adjoint.compat.devices:OutOfMemoryError",
    "optim.lr_scheduler._LRScheduler": "adjoint.optim.lr_scheduler:LRScheduler",
    "nn.modules.module._IncompatibleKeys": "adjoint.nn.module:IncompatibleKeys",
}
