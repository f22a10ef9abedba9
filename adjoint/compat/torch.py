"""PyTorch's import paths: `adjoint.compat.torch.nn.functional` and all others, see `paths.py`."""

from adjoint.compat import (
    layer_bases,
    module_hooks,
    node_methods,
    old_calls,
    recurrent_weights,
    saved_tensors,
    sparse_tensors,
    subclasses,
    tensor_methods,
)
from adjoint.compat.attaching import attach
from adjoint.compat.mirror import reflect

attach("adjoint.tensors.tensor:Tensor", tensor_methods.METHODS, replace=("type", "__dir__"))
attach("adjoint.tensors.tensor:Tensor", sparse_tensors.METHODS)
attach("adjoint.tensors.tensor:Tensor", subclasses.METHODS, replace=("__init_subclass__",))
attach("adjoint.autograd.node:Node", node_methods.METHODS)
attach("adjoint.autograd.function_node:FunctionCtx", saved_tensors.FUNCTION_METHODS)
attach("adjoint.autograd.graph:MutationContext", saved_tensors.MUTATION_METHODS)
attach("adjoint.nn.module:Module", module_hooks.METHODS)
attach("adjoint.nn.layers.normalization:InstanceNorm", layer_bases.INSTANCE_NORM_METHODS)
attach("adjoint.nn.layers.recurrent:RNNBase", recurrent_weights.METHODS)
old_calls.accept()
reflect(__name__)
