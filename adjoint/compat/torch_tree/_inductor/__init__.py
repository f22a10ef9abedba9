"""torch._inductor: PyTorch's compiler, which is not there."""
