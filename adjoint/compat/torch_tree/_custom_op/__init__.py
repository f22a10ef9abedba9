"""torch._custom_op: PyTorch's first interface to custom operators."""
