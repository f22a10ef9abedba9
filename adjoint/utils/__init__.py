"""What PyTorch keeps under `torch.utils`."""
