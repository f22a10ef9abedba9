"""Signals, under PyTorch's name: `adjoint.signal.windows`."""

from adjoint.signal import windows as windows
