"""torch.nn.modules.instancenorm: the bases of layers that normalise samples."""

from adjoint.nn.layers.normalization import InstanceNorm, RunningNorm

_InstanceNorm = InstanceNorm
_NormBase = RunningNorm
