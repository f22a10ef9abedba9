"""Subclasses of Tensor for hypervectors: what they answer, and of which class."""

import torch
import torchhd
from beginnings import normal, report

first = torchhd.MAPTensor(normal(3, 8).sign())
second = torchhd.MAPTensor(normal(3, 8, seed=1).sign())
reduced = torchhd.HRRTensor(normal(3, 8)).requires_grad_()
torchhd.bind(reduced, reduced.flip(0)).sum().backward()
spectra = torchhd.FHRRTensor(torch.exp(1j * normal(3, 8)).to(torch.complex64))
bits = torchhd.BSCTensor(normal(3, 8) > 0)
kinds = (first + second, first[0], first.sum(), torch.stack([first, second]))
report(
    bound=torchhd.bind(first, second),
    bundled=torchhd.bundle(first, second),
    similar=torchhd.cosine_similarity(first, second),
    products=torchhd.dot_similarity(first, second),
    moved=torchhd.permute(first),
    all=[torchhd.multiset(first), torchhd.multibind(first), torchhd.ngrams(first, 2)],
    gradient=reduced.grad,
    spectra=torch.view_as_real(torchhd.bind(spectra, spectra).as_subclass(torch.Tensor)),
    bits=torchhd.bind(bits, bits.flip(0)),
    kinds=[type(each).__name__ for each in kinds],
)
