"""Which kernel attention should run on: remembered, since there is one for each array library."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from adjoint.ops.arranging.conversion import typename


class SDPBackend(Enum):
    """The kernels PyTorch has for scaled_dot_product_attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


# Which kinds may be chosen: modes are shown the steps of one that may.
ALLOWED: Final = {
    SDPBackend.CUDNN_ATTENTION: True,
    SDPBackend.FLASH_ATTENTION: True,
    SDPBackend.EFFICIENT_ATTENTION: True,
    SDPBackend.MATH: True,
    SDPBackend.OVERRIDEABLE: True,
}
_order: Final = list(ALLOWED)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kinds that may be chosen here, the first of them first."""
    return [backend for backend in (_order if with_priority else ALLOWED) if ALLOWED[backend]]


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, Any]]:
    """Choose kernels for scaled_dot_product_attention; ours stays the same whatever is chosen."""
    chosen = list(backends) if isinstance(backends, list) else [backends]
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(
                "sdpa_kernel(backends): expected an SDPBackend or a list of them, got "
                f"{typename(backend)}"
            )
    before, order = dict(ALLOWED), list(_order)
    try:
        ALLOWED.update({backend: backend in chosen for backend in ALLOWED})
        if set_priority:
            given = [backend for backend in dict.fromkeys(chosen) if backend in ALLOWED]
            _order[:] = [*given, *(backend for backend in order if backend not in given)]
        yield {}
    finally:
        ALLOWED.update(before)
        _order[:] = order
