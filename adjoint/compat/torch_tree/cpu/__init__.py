"""torch.cpu: mixed precision on the CPU."""
