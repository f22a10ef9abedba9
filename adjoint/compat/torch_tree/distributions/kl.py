"""torch.distributions.kl: the table of divergences."""

from adjoint.distributions.kl import REGISTRY, exponential_family

_KL_REGISTRY = REGISTRY
_kl_expfamily_expfamily = exponential_family
