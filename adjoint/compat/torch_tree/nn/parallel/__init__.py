"""torch.nn.parallel: modules for one device or none, and in one process."""

from typing import Any

from adjoint.compat.torch_tree.nn.parallel.distributed import (
    DistributedDataParallel as DistributedDataParallel,
)
from adjoint.compat.torch_tree.nn.parallel.scatter_gather import (
    gather as gather,
    parallel_apply as parallel_apply,
    replicate as replicate,
    scatter as scatter,
)
from adjoint.nn import Module


class DataParallel(Module):
    """Calls the module it wraps: there are no several devices to spread a batch over."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = list(device_ids or [])
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                f"DataParallel on several devices, {self.device_ids}: use one process for each"
            )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module answers."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """What the module answers to one input, or to a tuple of them."""
    positional = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*positional, **module_kwargs or {})
