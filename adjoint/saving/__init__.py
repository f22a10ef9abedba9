"""Tensors and nests of them in files."""
