"""Tensor: its state, its methods, and how tensors share memory."""
