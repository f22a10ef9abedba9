"""torch.distributed.device_mesh: processes laid out in a grid, of one."""

import math
from collections.abc import Sequence
from typing import Any

from adjoint.compat.torch_tree.distributed.distributed_c10d import ProcessGroup, default_group
from adjoint.creation.factories import zeros
from adjoint.dtypes import int32
from adjoint.tensors.tensor import Tensor


class DeviceMesh:
    """A grid of one process, whose dimensions may have names."""

    def __init__(
        self,
        device_type: str,
        mesh: Any = (0,),
        *,
        mesh_dim_names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        sizes = mesh.shape if isinstance(mesh, Tensor) else (len(mesh),)
        if math.prod(sizes) != 1:
            raise RuntimeError(f"adjoint runs in one process: a mesh of {tuple(sizes)} has more")
        self.device_type = device_type
        self.mesh = zeros(sizes, dtype=int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the grid."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions the grid has."""
        return self.mesh.ndim

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dimension."""
        return 1

    def __getitem__(self, names: str | tuple[str, ...]) -> "DeviceMesh":
        chosen = (names,) if isinstance(names, str) else tuple(names)
        known = self.mesh_dim_names or ()
        for name in chosen:
            if name not in known:
                raise KeyError(f"no dimension of the mesh is called {name!r}: there are {known}")
        sizes = (1,) * len(chosen)
        return DeviceMesh(self.device_type, zeros(sizes, dtype=int32), mesh_dim_names=chosen)

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of the processes along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"mesh_dim must say which of {self.ndim} dimensions is meant")
        return default_group()

    def get_rank(self) -> int:
        """The number of this process."""
        return 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process along a dimension."""
        return 0

    def get_coordinate(self) -> tuple[int, ...]:
        """The place of this process in the grid."""
        return (0,) * self.ndim

    def __repr__(self) -> str:
        inner = "1," if self.ndim == 1 else ", ".join("1" * self.ndim)
        if self.mesh_dim_names is not None:
            inner = ", ".join(f"{name}=1" for name in self.mesh_dim_names)
        return f"DeviceMesh(({inner}), {self.device_type!r}, stride={((),) * self.ndim})"


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    **options: Any,
) -> DeviceMesh:
    """A grid of these sizes, which must hold one process."""
    if mesh_dim_names is not None and len(mesh_dim_names) != len(mesh_shape):
        raise RuntimeError(f"{len(mesh_dim_names)} names for {len(mesh_shape)} dimensions")
    default_group()
    if math.prod(mesh_shape) != 1:
        raise RuntimeError(f"adjoint runs in one process: a mesh of {tuple(mesh_shape)} has more")
    sizes = zeros(tuple(mesh_shape), dtype=int32)
    return DeviceMesh(device_type, sizes, mesh_dim_names=mesh_dim_names)
