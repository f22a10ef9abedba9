"""torch.multiprocessing.reductions: of what programs use of it, the mention of a storage."""

import weakref
from typing import Any

from adjoint.compat.torch_tree.storage import UntypedStorage


class StorageWeakRef:
    """Mentions the memory of a storage without keeping it; equal for the same memory."""

    def __init__(self, storage: UntypedStorage) -> None:
        self.cdata = storage._cdata  # noqa: SLF001  # PyTorch's name of it
        owner: Any = storage.memory.array
        base: Any = getattr(owner, "base", None)
        while type(base) is type(owner):
            owner, base = base, base.base
        self._owner = weakref.ref(owner)

    def expired(self) -> bool:
        """Whether the memory is gone."""
        return self._owner() is None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata

    def __hash__(self) -> int:
        return hash(self.cdata)
