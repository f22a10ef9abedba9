"""torch._subclasses: classes of tensors that PyTorch's own tools are made of; see below."""

from adjoint.compat.torch_tree._subclasses.fake_tensor import (
    DynamicOutputShapeException as DynamicOutputShapeException,
    FakeTensor as FakeTensor,
    FakeTensorMode as FakeTensorMode,
    UnsupportedFakeTensorException as UnsupportedFakeTensorException,
)
