"""Samples of connectionist temporal classification."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator

PATH = "nn.functional."


def log_softmax(rng: Generator, *shape: int) -> Any:
    """Logarithms of probabilities over the last dimension."""
    x = rng.normal(size=shape)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@samples("ctc_loss")
def _(rng: Generator) -> Iterator[Sample]:
    path, x = PATH + "ctc_loss", log_softmax(rng, 6, 2, 4)
    targets, lengths = np.array([[1, 2, 2], [3, 0, 0]]), np.array([3, 1])
    for reduction, blank in itertools.product(("mean", "sum", "none"), (0, 3)):
        labels = targets if blank == 0 else np.array([[1, 2, 2], [0, 0, 0]])
        given: dict[str, Any] = {"reduction": reduction, "blank": blank}
        args = (x, labels, np.array([6, 4]), lengths)
        yield Sample(args, given, torch=path, differentiate=False)
    flat = np.array([1, 2, 2, 3])
    yield Sample((x, flat, (6, 5), (3, 1)), torch=path, differentiate=False)
    yield Sample((x[:, 0], targets[0], (6,), (3,)), torch=path, differentiate=False)
    for zero in (False, True):
        short = (x, targets, (2, 6), (3, 0))
        yield Sample(short, {"zero_infinity": zero}, torch=path, differentiate=False)


@samples("path_losses")
def _(rng: Generator) -> Iterator[Sample]:
    def losses(x: Any, targets: Any, inputs: Any, outputs: Any, blank: int, zero: bool) -> Any:
        import torch

        return torch.nn.functional.ctc_loss(x, targets, inputs, outputs, blank, "none", zero)

    x, targets = log_softmax(rng, 5, 2, 3), np.array([[1, 2], [2, 0]])
    lengths = (np.array([5, 4]), np.array([2, 1]))
    yield Sample((x, targets, *lengths, 0, False), torch=losses, differentiate=False)


@samples("path_slopes")
def _(rng: Generator) -> Iterator[Sample]:
    def slopes(grad: Any, x: Any, targets: Any, *rest: Any) -> Any:
        import torch

        inputs, outputs, blank, zero = rest
        x = x.detach().requires_grad_()
        loss = torch.nn.functional.ctc_loss(x, targets, inputs, outputs, blank, "none", zero)
        return torch.autograd.grad(loss, x, grad)[0]

    x, grad = log_softmax(rng, 6, 3, 4), rng.normal(size=3)
    targets = np.array([[1, 2, 2], [3, 0, 0], [0, 0, 0]])
    for lengths in (([6, 4, 5], [3, 1, 0]), ([4, 1, 6], [3, 1, 0])):
        known = tuple(np.array(part) for part in lengths)
        yield Sample((grad, x, targets, *known, 0, False), torch=slopes, differentiate=False)
    known = (np.array([3, 4, 5]), np.array([3, 1, 0]))
    yield Sample((grad, x, targets, *known, 0, True), torch=slopes, differentiate=False)


@samples("padded_targets")
def _(rng: Generator) -> Iterator[Sample]:
    def padded(targets: Any, lengths: Any, blank: int) -> Any:
        import torch

        return torch.tensor([[4, 5], [6, 9]])

    yield Sample((np.array([4, 5, 6]), np.array([2, 1]), 9), torch=padded)
    yield Sample((np.array([[4, 5, 0], [6, 0, 0]]), np.array([2, 1]), 9), torch=padded)
