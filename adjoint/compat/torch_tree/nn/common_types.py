"""torch.nn.common_types: names for annotations of sizes and ratios."""

from typing import Any, TypeAlias

from adjoint.tensors.tensor import Tensor

_scalar_or_tuple_any_t: TypeAlias = Any
_scalar_or_tuple_1_t: TypeAlias = Any
_scalar_or_tuple_2_t: TypeAlias = Any
_scalar_or_tuple_3_t: TypeAlias = Any
_scalar_or_tuple_4_t: TypeAlias = Any
_scalar_or_tuple_5_t: TypeAlias = Any
_scalar_or_tuple_6_t: TypeAlias = Any

_size_any_t: TypeAlias = int | tuple[int, ...]
_size_1_t: TypeAlias = int | tuple[int]
_size_2_t: TypeAlias = int | tuple[int, int]
_size_3_t: TypeAlias = int | tuple[int, int, int]
_size_4_t: TypeAlias = int | tuple[int, int, int, int]
_size_5_t: TypeAlias = int | tuple[int, int, int, int, int]
_size_6_t: TypeAlias = int | tuple[int, int, int, int, int, int]

_size_any_opt_t: TypeAlias = int | tuple[int | None, ...] | None
_size_2_opt_t: TypeAlias = int | tuple[int | None, int | None] | None
_size_3_opt_t: TypeAlias = int | tuple[int | None, int | None, int | None] | None

_ratio_any_t: TypeAlias = float | tuple[float, ...]
_ratio_2_t: TypeAlias = float | tuple[float, float]
_ratio_3_t: TypeAlias = float | tuple[float, float, float]
_tensor_list_t: TypeAlias = Tensor | list[Tensor]
_maybe_indices_t: TypeAlias = Tensor | tuple[Tensor, Tensor]
