"""torch.amp: mixed precision by its older and private names."""
