"""torch.cpu.amp.autocast_mode: autocast for the CPU."""

from typing import Any

from adjoint import amp, dtypes


class autocast(amp.autocast):
    """autocast for the CPU."""

    def __init__(
        self, enabled: bool = True, dtype: Any = dtypes.bfloat16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cpu", dtype, enabled)
