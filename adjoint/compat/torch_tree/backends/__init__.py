"""torch.backends: settings of PyTorch's own libraries."""


class _Frozen:
    flags = False


def disable_global_flags() -> None:
    """Say that settings are changed in `with` alone from now on; here they change nothing."""
    _Frozen.flags = True


def flags_frozen() -> bool:
    """Whether that has been said."""
    return _Frozen.flags
