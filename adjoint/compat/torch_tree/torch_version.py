"""torch.torch_version: the PyTorch that adjoint answers for, compared as a version."""

import re
from typing import Any

from adjoint.compat.torch_tree import version

# 2.13.0rc1.post2.dev3+cpu: the numbers, what comes before and after it, and whose it is.
_PARTS = re.compile(
    r"v?(\d+(?:\.\d+)*)[-_.]?(?:(a|b|rc)[-_.]?(\d*))?(?:[-_.]?post[-_.]?(\d*))?"
    r"(?:[-_.]?dev[-_.]?(\d*))?(?:\+([\w.]+))?"
)


def _key(text: str) -> Any:
    """What versions are ordered by; None if the text is none."""
    parts = _PARTS.fullmatch(text.strip().lower())
    if parts is None:
        return None
    numbers, before, count, after, early, whose = parts.groups()
    release = [int(number) for number in numbers.split(".")]
    while release and release[-1] == 0:
        release.pop()
    first = "dev" if early is not None and before is None and after is None else before or "z"
    stage = (first != "dev", first, int(count or 0))
    words = whose.split(".") if whose else []
    own = [(word.isdigit(), int(word) if word.isdigit() else 0, word) for word in words]
    later = -1 if after is None else int(after or 0)
    return release, stage, later, early is None, int(early or 0), own


class TorchVersion(str):
    """A version as text that is compared by its numbers, with text or with numbers: (2, 5)."""

    __slots__ = ()

    __hash__ = str.__hash__

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # which PyTorch reads, too


def _comparison(name: str) -> Any:
    def compare(self: TorchVersion, other: Any) -> Any:
        if isinstance(other, tuple | list):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            return NotImplemented
        its = _key(other)
        if its is None:  # text that is no version is compared as text
            return getattr(str, name)(self, other)
        return getattr(tuple, name)(_key(self), its)

    return compare


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__"):
    setattr(TorchVersion, _name, _comparison(_name))
__version__ = TorchVersion(version.__version__)
