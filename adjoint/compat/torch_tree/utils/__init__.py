"""torch.utils: tools."""
