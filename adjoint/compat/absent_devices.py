"""What a library or device of PyTorch's answers where it is not there.

Shown as torch.backends.cudnn, torch.mps and their like. Settings may be set, and change nothing.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

enabled = False
benchmark = False
deterministic = False
allow_tf32 = False
allow_fp16_reduced_precision_reduction = False
allow_bf16_reduced_precision_reduction = False
fp32_precision = "none"
benchmark_limit = None


def is_available() -> bool:
    """There is none."""
    return False


def is_built() -> bool:
    """There is none."""
    return False


def version() -> None:
    """There is none."""


def device_count() -> int:
    """There are none."""
    return 0


@contextlib.contextmanager
def flags(*settings: Any, **named: Any) -> Iterator[None]:
    """Settings of a library that is not there: nothing changes."""
    yield
