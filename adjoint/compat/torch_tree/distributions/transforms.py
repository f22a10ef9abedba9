"""torch.distributions.transforms: the class of what `inv` answers."""

from adjoint.distributions.transform import InverseTransform

_InverseTransform = InverseTransform
