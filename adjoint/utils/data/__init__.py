"""Datasets, samplers and loaders under PyTorch's names."""

from adjoint.utils.data.collate import (
    default_collate as default_collate,
    default_convert as default_convert,
)
from adjoint.utils.data.dataloader import DataLoader as DataLoader
from adjoint.utils.data.dataset import (
    ChainDataset as ChainDataset,
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    StackDataset as StackDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from adjoint.utils.data.sampler import (
    BatchSampler as BatchSampler,
    DistributedSampler as DistributedSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
from adjoint.utils.data.worker import WorkerInfo as WorkerInfo, get_worker_info as get_worker_info
