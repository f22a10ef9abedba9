"""torch.types: names for annotations."""

import builtins
from collections.abc import Sequence
from typing import Any, TypeAlias

from adjoint.device import device
from adjoint.dtypes import dtype
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import Tensor

Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = Any
Storage: TypeAlias = Any
_device = device
_dtype = dtype
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
