"""torch.backends.mha: whether attention may take a short way; here there is one way for all."""


class _Fastpath:
    enabled = True


def get_fastpath_enabled() -> bool:
    """What was set."""
    return _Fastpath.enabled


def set_fastpath_enabled(value: bool) -> None:
    """Remember it."""
    _Fastpath.enabled = value
