"""torch.utils._triton: whether there is a compiler of kernels for GPUs; there is none."""

from adjoint.compat.no_compiler import never

has_triton = has_triton_package = has_triton_experimental_host_tma = never
has_triton_stable_tma_api = has_triton_tma = has_triton_tma_device = never
