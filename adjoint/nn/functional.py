"""The functions of networks, under PyTorch's names."""
