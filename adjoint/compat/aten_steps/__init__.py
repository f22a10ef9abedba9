"""An op of adjoint's in the operations that PyTorch makes of it; see shown.py."""
