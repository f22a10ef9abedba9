"""torch.autograd.profiler: events, and marks for NVIDIA's profiler, which nobody reads."""

import contextlib
from collections.abc import Iterator

from adjoint.autograd.profiler_events import EventList as EventList
from adjoint.compat.torch_tree.autograd.profiler_util import FunctionEvent as FunctionEvent


@contextlib.contextmanager
def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> Iterator[None]:
    """Inside, each operation would be marked."""
    yield
