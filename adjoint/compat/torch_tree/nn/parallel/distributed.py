"""torch.nn.parallel.DistributedDataParallel, in a group of one process."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from adjoint.compat.torch_tree.distributed.distributed_c10d import default_group
from adjoint.nn import Module


class DistributedDataParallel(Module):
    """Calls the module it wraps: there are no gradients of other processes to average with."""

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.process_group = default_group() if process_group is None else process_group
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel: no parameter of the module needs a gradient"
            )
        self.device = trained[0].device
        self.device_type = self.device.type
        if self.device_type == "cpu" and (device_ids or output_device is not None):
            raise ValueError(
                f"DistributedDataParallel: device_ids {device_ids} and output_device "
                f"{output_device} are for modules on a GPU, and this one is on the CPU"
            )
        self.module = module
        self.device_ids, self.output_device = device_ids, output_device
        self.dim = dim
        self.broadcast_buffers = True if broadcast_buffers is None else broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module answers."""
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Inside, gradients are not averaged; they are those of one process anyway."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextlib.contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, **options: Any
    ) -> Iterator[None]:
        """Inside, processes may have different numbers of batches."""
        yield

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Refused: nothing is sent, so that a hook would never be called."""
        raise NotImplementedError(
            "register_comm_hook: one process sends no gradients; hooks of the parameters, "
            "register_post_accumulate_grad_hook, see them"
        )

    def _set_static_graph(self) -> None:
        """The graph stays what it is; nothing depends on it here."""
        self.static_graph = True
