"""torch.utils.data.distributed: a sampler that asks the process group who it is for."""

from typing import Any

from adjoint.compat.torch_tree.distributed.distributed_c10d import get_rank, get_world_size
from adjoint.utils.data import sampler


class DistributedSampler(sampler.DistributedSampler):
    """The part of the indices that belongs to one process of the group."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        super().__init__(dataset, num_replicas, rank, shuffle, seed, drop_last)
