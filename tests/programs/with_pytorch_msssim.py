"""Structural similarity of images and its gradient."""

import torch
from beginnings import normal, report
from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

x = normal(2, 3, 176, 176).sigmoid().requires_grad_()
y = normal(2, 3, 176, 176, seed=1).sigmoid()
small = x[..., :32, :32]
one = ssim(small, y[..., :32, :32], data_range=1.0, size_average=False)
several = ms_ssim(x, (x.detach() + 0.3 * y) / 1.3, data_range=1.0)
(gradient,) = torch.autograd.grad(one.sum() + several, x)
layers = [SSIM(data_range=1.0, channel=3)(small, y[..., :32, :32]), MS_SSIM(data_range=1.0)(x, y)]
report(one=one, several=several, gradient=gradient[..., ::40, ::40], layers=layers)
