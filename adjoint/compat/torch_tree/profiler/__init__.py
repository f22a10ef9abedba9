"""torch.profiler: whether PyTorch's own library for it is there, and what can be watched."""

from adjoint.compat.torch_tree import cuda
from adjoint.compat.torch_tree._C._autograd import kineto_available as kineto_available
from adjoint.profiler import ProfilerActivity


def supported_activities() -> set[ProfilerActivity]:
    """What can be watched: the CPU, and a GPU if there is one."""
    watched = {ProfilerActivity.CPU}
    return {*watched, ProfilerActivity.CUDA} if cuda.is_available() else watched
