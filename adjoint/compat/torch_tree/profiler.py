"""torch.profiler: whether PyTorch's own library for it is there."""

from adjoint.compat.torch_tree._C._autograd import kineto_available as kineto_available
