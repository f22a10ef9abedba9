"""Tensors in temporary files."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from adjoint.backends import backend_of
from adjoint.backends.numpy import numpy_backend
from adjoint.tensors.tensor import AS_IS, Tensor


class Folder:
    """A directory of our own, which no other user can read; it goes with its last file."""

    def __init__(self, parent: Any) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="adjoint-", dir=parent))
        self.count = 0
        weakref.finalize(self, _remove, self.path, os.getpid())

    def next_file(self) -> Path:
        """A name that is not in use."""
        self.count += 1
        return self.path / f"{self.count}.tensor"


class Spilled:
    """The values of one tensor on disk, for as long as this object is there."""

    def __init__(self, tensor: Tensor, folder: Folder) -> None:
        array = tensor.array
        backend = backend_of(array)
        values = backend.to_numpy(array)
        self.backend, self.device = backend, backend.device(array)
        self.shape, self.dtype = values.shape, values.dtype
        self.folder = folder
        self.path = folder.next_file()
        values.tofile(self.path)
        weakref.finalize(self, _remove, self.path, os.getpid())

    def tensor(self) -> Tensor:
        """The values again."""
        values = numpy_backend.xp.fromfile(self.path, dtype="uint8")
        array = values.view(self.dtype).reshape(self.shape)
        return Tensor(self.backend.from_numpy(array, self.device), AS_IS)


def _remove(path: Path, owner: int) -> None:
    """Delete a file or directory that this process has made; a forked child leaves it alone."""
    if os.getpid() != owner:
        return
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)  # at exit nobody can act on an error
    else:
        path.unlink(missing_ok=True)
