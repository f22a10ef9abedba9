"""torch.nn.utils: private functions of what prunes layers."""
