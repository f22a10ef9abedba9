"""torch.cuda.amp.common: whether there is a GPU for mixed precision."""

from adjoint.compat.torch_tree.cuda import is_available


def amp_definitely_not_available() -> bool:
    """Whether there is none."""
    return not is_available()
