"""torch.distributed, in a process that is not one of several, or a group of its own."""

from adjoint.compat.torch_tree.distributed.device_mesh import (
    DeviceMesh as DeviceMesh,
    init_device_mesh as init_device_mesh,
)


def is_available() -> bool:
    """Whether groups can be begun: of one process."""
    return True


def is_torchelastic_launched() -> bool:
    """Whether a launcher of PyTorch's started this process: no."""
    return False
