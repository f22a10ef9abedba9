"""Vectors replaced by the nearest of a few."""

import torch
from beginnings import filled, normal, report
from vector_quantize_pytorch import FSQ, VectorQuantize

x = normal(2, 6, 8).requires_grad_()
finite = filled(FSQ(levels=[5, 4, 3], dim=8))
quantized, indices = finite(x)
quantized.pow(2).sum().backward()
learned = VectorQuantize(dim=8, codebook_size=4, learnable_codebook=True, ema_update=False)
with torch.no_grad():
    learned._codebook.embed.copy_(normal(*learned._codebook.embed.shape, seed=3))
found, places, loss = learned(normal(2, 6, 8, seed=1))
report(quantized=quantized, indices=indices, gradient=x.grad, found=found, places=places, loss=loss)
