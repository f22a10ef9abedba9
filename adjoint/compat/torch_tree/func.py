"""torch.func: dimensions rearranged by a pattern."""

from adjoint.compat.torch_tree.functorch.einops import rearrange as rearrange
