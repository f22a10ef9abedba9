"""torch.distributed.tensor.placement_types: ways to lay a tensor over devices, as values."""

import dataclasses


class Placement:
    """How a tensor lies on the devices along a dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each device has a part of it, along this dimension if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is what the tensors of all devices come to."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """Each device has a part of it, along a dimension."""

    dim: int


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """Each device has all of it."""


@dataclasses.dataclass(frozen=True, repr=False)
class Partial(Placement):
    """It is the sum, or the like, of the tensors of all devices."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"
