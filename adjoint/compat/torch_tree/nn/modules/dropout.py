"""torch.nn.modules.dropout: the bases of layers that drop."""

from adjoint.nn.layers.dropout import AnyDropout

_DropoutNd = AnyDropout
