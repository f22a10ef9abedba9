"""torch.nn: layers for several devices, on one."""

from adjoint.compat.torch_tree.nn.parallel import DataParallel as DataParallel
