"""torch.utils.data: what it has beside datasets, samplers and loaders."""

from adjoint.compat.torch_tree.utils.data.dataloader import DatasetKind
from adjoint.compat.torch_tree.utils.data.datapipes._decorator import (
    functional_datapipe as functional_datapipe,
)
from adjoint.compat.torch_tree.utils.data.datapipes.datapipe import (
    IterDataPipe as IterDataPipe,
    MapDataPipe as MapDataPipe,
)
from adjoint.compat.torch_tree.utils.data.distributed import (
    DistributedSampler as DistributedSampler,
)

_DatasetKind = DatasetKind
