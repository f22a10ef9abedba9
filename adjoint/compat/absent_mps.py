"""torch.mps: Apple's GPUs, which are not there; a seed is taken, and what needs one refused."""

from adjoint.compat.absent_accelerators import manual_seed as manual_seed, refusing
from adjoint.compat.absent_devices import (
    device_count as device_count,
    is_available as is_available,
    is_built as is_built,
)

_NEEDING_A_DEVICE = """
    compile_shader current_allocated_memory driver_allocated_memory empty_cache get_rng_state
    load_metallib recommended_max_memory seed set_per_process_memory_fraction set_rng_state
    synchronize
"""
for _name in _NEEDING_A_DEVICE.split():
    globals()[_name] = refusing(_name)
