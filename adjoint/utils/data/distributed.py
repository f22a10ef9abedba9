"""The path under which PyTorch documents DistributedSampler too."""

from adjoint.utils.data.sampler import DistributedSampler as DistributedSampler
