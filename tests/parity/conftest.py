"""Every test of this folder asks PyTorch, and is skipped where it is not installed."""

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def ask_the_oracle(torch: Any) -> None:
    """Skip, saying so, without PyTorch."""
    # PyTorch's compiler, which its control flow starts, turns this off for the whole process.
    torch.distributions.Distribution.set_default_validate_args(True)
