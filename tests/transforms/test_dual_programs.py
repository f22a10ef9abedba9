"""Random programs on dual tensors beside PyTorch: calls, views, changes in place, and backward."""

import random
from typing import Any

import numpy as np
import pytest

import adjoint

ONE = ("sin", "tanh", "exp", "neg", "square", "sigmoid", "relu", "floor")
TWO = ("add", "sub", "mul", "div", "maximum", "minimum", "logaddexp", "fmax")
CHANGES = ("add_", "mul_", "sub_")


class Program:
    """One program, made from a number; each library runs the same."""

    def __init__(self, seed: int, library: Any) -> None:
        self.choices = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.library = library
        self.ad = library.autograd.forward_ad
        self.made: list[Any] = []

    def fresh(self) -> Any:
        """New numbers, none of them near 0."""
        values = self.numbers.uniform(0.3, 1.5, (3, 4))
        return self.library.tensor(values.tolist(), dtype=self.library.float64)

    def step(self) -> Any:
        """One more tensor, from those there are."""
        a, b = (self.choices.choice(self.made) for _ in range(2))
        kind = self.choices.randrange(9)
        if kind < 2:
            return getattr(self.library, self.choices.choice(ONE))(a)
        if kind < 4:
            return getattr(self.library, self.choices.choice(TWO))(a, b)
        if kind == 4:
            return 2.0 / (a * a + 1) - self.choices.choice([2, 0.5])
        if kind == 5:
            return a.detach() + b
        whole = a * 1 if kind == 6 else a.clone()
        view = whole[self.choices.randrange(3)]
        if kind == 8:
            getattr(whole, self.choices.choice(CHANGES))(b)
            return self.library.cat([whole, view[None]], 0)[1:]
        getattr(view, self.choices.choice(CHANGES))(b[0])
        return whole

    def run(self) -> list[Any]:
        """Values and tangents of all that was made, and of a gradient."""
        with self.ad.dual_level():
            leaf = self.fresh().requires_grad_(self.choices.random() < 0.4)
            self.made = [self.ad.make_dual(leaf, self.fresh()), self.fresh()]
            for _ in range(self.choices.randrange(3, 9)):
                self.made.append(self.step())
            shown = list(self.made)
            last = self.made[-1]
            if last.requires_grad:
                shown += self.library.autograd.grad(last.sum(), [leaf])
            return [value for tensor in shown for value in self.pair(tensor)]

    def pair(self, tensor: Any) -> list[Any]:
        """A tensor and its tangent, zeros if it has none."""
        primal, tangent = self.ad.unpack_dual(tensor)
        moved = primal * 0 if tangent is None else tangent
        return [np.array(primal.detach().tolist()), np.array(moved.detach().tolist())]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, torch: Any) -> None:
    with np.errstate(all="ignore"):
        found, expected = Program(seed, adjoint).run(), Program(seed, torch).run()
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
