"""torch.cuda.amp.autocast_mode: autocast for GPUs."""

import functools
from typing import Any

from adjoint import amp, dtypes

custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")


class autocast(amp.autocast):
    """autocast for GPUs."""

    def __init__(
        self, enabled: bool = True, dtype: Any = dtypes.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("cuda", dtype, enabled)
