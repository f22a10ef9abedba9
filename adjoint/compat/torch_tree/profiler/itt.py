"""torch.profiler.itt: marks for Intel's profiler, which nobody reads; see adjoint.profiler."""

from adjoint.compat.absent_devices import is_available as is_available
from adjoint.compat.torch_tree.cuda.nvtx import (
    mark as mark,
    range as range,
    range_pop as range_pop,
    range_push as range_push,
)
