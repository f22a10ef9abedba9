"""Which kernel attention should run on: accepted, since there is one for each array library."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from adjoint.ops.arranging.conversion import typename


class SDPBackend(Enum):
    """The kernels PyTorch has for scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, Any]]:
    """Choose kernels for scaled_dot_product_attention; ours stays the same whatever is chosen."""
    for backend in backends if isinstance(backends, list) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(
                "sdpa_kernel(backends): expected an SDPBackend or a list of them, got "
                f"{typename(backend)}"
            )
    yield {}
