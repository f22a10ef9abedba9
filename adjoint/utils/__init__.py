"""Tools around training, under PyTorch's names: hooks, checkpoints, data."""
