"""torch.fx.passes: what is done with whole graphs."""
