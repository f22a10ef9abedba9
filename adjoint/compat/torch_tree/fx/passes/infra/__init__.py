"""torch.fx.passes.infra: passes over graphs, and those who run them."""
