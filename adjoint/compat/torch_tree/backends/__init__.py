"""torch.backends: settings of PyTorch's own libraries."""
