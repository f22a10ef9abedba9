"""torch.nn.attention: kinds of attention beside adjoint's own."""
