"""torch.nn.modules.padding: the bases of layers that pad."""

from adjoint.nn.layers.padding import CircularPad, ConstantPad, ReflectionPad, ReplicationPad

_CircularPadNd = CircularPad
_ConstantPadNd = ConstantPad
_ReflectionPadNd = ReflectionPad
_ReplicationPadNd = ReplicationPad
