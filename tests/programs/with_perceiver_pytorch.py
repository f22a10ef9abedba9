"""A perceiver of an image."""

import torch
from beginnings import filled, normal, report
from perceiver_pytorch import Perceiver

model = Perceiver(
    input_channels=1, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=2, num_latents=4, latent_dim=8,
    cross_dim_head=8, latent_dim_head=8, latent_heads=2, num_classes=3, self_per_cross_attn=1,
)
filled(model)
images = normal(2, 5, 5, 1).requires_grad_()
output = model(images)
output.pow(2).sum().backward()
report(output=output, gradient=images.grad)
