"""torchkbnufft: Fourier transforms at any frequencies, by Functions, and their adjoints."""

import torch
import torchkbnufft
from beginnings import normal, report

image = torch.complex(normal(1, 1, 8, 8), normal(1, 1, 8, 8, seed=1)).requires_grad_()
places = normal(2, 30, seed=2)
forward = torchkbnufft.KbNufft(im_size=(8, 8))
backward = torchkbnufft.KbNufftAdjoint(im_size=(8, 8))
found = forward(image, places)
again = backward(found, places)
again.abs().pow(2).sum().backward()
kernel = torchkbnufft.calc_toeplitz_kernel(places, im_size=(8, 8))
weights = torchkbnufft.calc_density_compensation_function(places, im_size=(8, 8))
both = torchkbnufft.ToepNufft()(image.detach(), kernel)
report(
    **{
        name: [value.real, value.imag]
        for name, value in {
            "found": found,
            "again": again,
            "gradient": image.grad,
            "weights": weights,
            "both": both,
        }.items()
    }
)
