"""torch.distributed.algorithms: ways for processes to work together."""
