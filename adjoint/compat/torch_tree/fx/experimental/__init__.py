"""torch.fx.experimental: graphs of the operations below autograd."""
