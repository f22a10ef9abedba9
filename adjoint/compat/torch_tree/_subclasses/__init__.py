"""torch._subclasses: classes of tensors that PyTorch's own tools are made of; see below."""
