"""torch.nn.modules.batchnorm: the bases of layers that normalise batches."""

from adjoint.nn.layers.normalization import BatchNorm, RunningNorm

_BatchNorm = BatchNorm
_NormBase = RunningNorm
