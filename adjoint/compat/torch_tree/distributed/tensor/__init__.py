"""torch.distributed.tensor: how a tensor would lie on several devices; there is one."""
