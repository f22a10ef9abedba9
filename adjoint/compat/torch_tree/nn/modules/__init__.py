"""torch.nn.modules: the private bases of layers, which programs derive from or ask for."""
