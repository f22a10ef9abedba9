"""torch._logging: which parts of the library tell what they do."""

import logging

_PARTS = {"autograd": "adjoint.autograd.graph"}


class _Forward(logging.Handler):
    """Hands the records of adjoint's logger to those who listen to PyTorch's."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.listener = logging.getLogger(f"torch.{name}")

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a record on."""
        self.listener.handle(record)


_forwards = {name: _Forward(name) for name in _PARTS}


def set_logs(*, all: int | None = None, **levels: int) -> None:
    """Set the level of each part that is named, or of all; those that are not named fall silent."""
    for name, logger_name in _PARTS.items():
        logger = logging.getLogger(logger_name)
        level = levels.get(name, all)
        logger.setLevel(logging.NOTSET if level is None else level)
        if level is None:
            logger.removeHandler(_forwards[name])
        else:
            logger.addHandler(_forwards[name])
