"""PyTorch's private or second spellings of what adjoint has under one name.

From a path below torch to a module of adjoint's and a name in it; looked up when used.
"""

_ANOMALY = "adjoint.autograd.anomaly_mode"
_CASTING = "adjoint.amp.autocast_mode"
_GRAPH = "adjoint.autograd.graph"
_IMPLICIT = "adjoint.ops.sampling.implicit"
_UNCOMPILED = "adjoint.compat.uncompiled"
_LINEAR = "NonDynamicallyQuantizableLinear"  # the last layer of attention

SPELLINGS: dict[str, str] = {
    # torch itself.
    "torch": "adjoint.compat:torch",
    "save": "adjoint.compat.serialising:save",
    "load": "adjoint.compat.serialising:load",
    "Future": "adjoint.compat.futures:Future",
    "OutOfMemoryError": "adjoint.compat.cuda:OutOfMemoryError",
    "Tag": "adjoint.compat.libraries:Tag",
    "_nnpack_available": "adjoint.compat.absent_devices:is_available",
    "is_anomaly_check_nan_enabled": f"{_ANOMALY}:is_anomaly_check_nan_enabled",
    "is_anomaly_enabled": f"{_ANOMALY}:is_anomaly_enabled",
    "sparse_coo_tensor": "adjoint.compat.sparse_tensors:sparse_coo_tensor",
    "spmm": "adjoint.ops.matrices.matmul:mm",
    "vmap": "adjoint.func:vmap",
    # Differentiation.
    "_vmap_internals._vmap": "adjoint.func:vmap",
    "autograd.torch": "adjoint.compat:torch",
    "autograd.grad_mode.is_inference_mode_enabled": "adjoint:is_inference_mode_enabled",
    "autograd.profiler.EventList": "adjoint.autograd.profiler_events:EventList",
    "autograd.profiler.emit_nvtx": "adjoint.compat.nvtx:emit_nvtx",
    "profiler.kineto_available": "adjoint.compat.absent_devices:is_available",
    # Networks, optimizers and operators of one's own.
    "nn.functional.grad": "adjoint.nn:grad",
    f"nn.modules.linear.{_LINEAR}": f"adjoint.nn.layers.linear:{_LINEAR}",
    "nn.modules.module._IncompatibleKeys": "adjoint.nn.module:IncompatibleKeys",
    "nn.modules.utils.consume_prefix_in_state_dict_if_present": (
        "adjoint.nn.state_dict:consume_prefix_in_state_dict_if_present"
    ),
    "optim.lr_scheduler.EPOCH_DEPRECATION_WARNING": "adjoint.optim.lr_scheduler.base:EPOCH_GIVEN",
    "optim.lr_scheduler._LRScheduler": "adjoint.optim.lr_scheduler:LRScheduler",
    "_library.utils.lookup_op": "adjoint.library:lookup",
    # Distributions, and the samples that they are made of.
    "_dirichlet_grad": f"{_IMPLICIT}:dirichlet_slope",
    "_sample_dirichlet": f"{_IMPLICIT}:standard_dirichlet",
    "_standard_gamma": f"{_IMPLICIT}:standard_gamma",
    "_standard_gamma_grad": f"{_IMPLICIT}:gamma_slope",
    "distributions.kl._KL_REGISTRY": "adjoint.distributions.kl:REGISTRY",
    "distributions.kl._kl_expfamily_expfamily": "adjoint.distributions.kl:exponential_family",
    "distributions.transforms._InverseTransform": (
        "adjoint.distributions.transform:InverseTransform"
    ),
    # autocast for one kind of device.
    **{
        f"{device}.amp.{module}autocast": f"{_CASTING}:{device}_autocast"
        for device in ("cpu", "cuda")
        for module in ("", "autocast_mode.")
    },
    "cuda.amp.custom_bwd": f"{_CASTING}:cuda_custom_bwd",
    "cuda.amp.custom_fwd": f"{_CASTING}:cuda_custom_fwd",
    # The pass that is under way.
    "_C._current_autograd_node": f"{_GRAPH}:current_node",
    "_C._current_graph_task_execution_order": f"{_GRAPH}:execution_order",
    "_C._current_graph_task_id": f"{_GRAPH}:current_task_id",
    "_C._get_graph_task_execution_order": f"{_GRAPH}:execution_order",
    "_C._will_engine_execute_node": f"{_GRAPH}:will_run",
    # Modes.
    "_C._AutoDispatchBelowAutograd": "adjoint:no_grad",
    "_C._set_grad_enabled": "adjoint.call.context:change_grad_enabled",
    "_C.is_anomaly_enabled": f"{_ANOMALY}:is_anomaly_enabled",
    "_C.is_grad_enabled": "adjoint:is_grad_enabled",
    "_C.is_inference_mode_enabled": "adjoint:is_inference_mode_enabled",
    # Kinds of objects, and facts.
    "_C.Generator": "adjoint:Generator",
    "_C.Size": "adjoint:Size",
    "_C.Tag": "adjoint.compat.libraries:Tag",
    "_C.TensorBase": "adjoint.tensors.core:TensorCore",
    "_C._TensorBase": "adjoint.tensors.core:TensorCore",
    "_C._functions.AccumulateGrad": "adjoint.autograd.node:AccumulateGrad",
    "_C.default_generator": "adjoint:default_generator",
    "_C.device": "adjoint:device",
    "_C.dtype": "adjoint:dtype",
    "_C.has_lapack": "adjoint.compat.versions:has_lapack",
    # What only compilers and tracers would answer otherwise.
    "_C._get_tracing_state": f"{_UNCOMPILED}:nothing",
    "_C._jit_set_profiling_executor": f"{_UNCOMPILED}:refused",
    "_C._jit_set_profiling_mode": f"{_UNCOMPILED}:refused",
    "_C._log_api_usage_once": f"{_UNCOMPILED}:nothing",
    "_jit_internal._overload": f"{_UNCOMPILED}:unchanged",
    "_jit_internal._overload_method": f"{_UNCOMPILED}:unchanged",
    "jit.Final": "typing:Final",
    "jit._overload_method": f"{_UNCOMPILED}:unchanged",
    "jit._script_if_tracing": f"{_UNCOMPILED}:unchanged",
}
