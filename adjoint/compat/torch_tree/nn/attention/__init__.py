"""torch.nn.attention: kinds of attention beside adjoint's own."""

from adjoint.compat.torch_tree.nn.attention._registry import (
    WARN_FOR_UNFUSED_KERNELS as WARN_FOR_UNFUSED_KERNELS,
    activate_flash_attention_impl as activate_flash_attention_impl,
    current_flash_attention_impl as current_flash_attention_impl,
    list_flash_attention_impls as list_flash_attention_impls,
    register_flash_attention_impl as register_flash_attention_impl,
    restore_flash_attention_impl as restore_flash_attention_impl,
)
