"""torch.fx.passes.utils: what passes over graphs are made of."""
