"""Samples of recurrent steps."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("lstm_gates")
def _(rng: Generator) -> Iterator[Sample]:
    def gates(gates: Any, cell: Any) -> Any:
        first, forget, new, out = gates.chunk(4, -1)
        following = forget.sigmoid() * cell + first.sigmoid() * new.tanh()
        return out.sigmoid() * following.tanh(), following

    yield Sample((rng.normal(size=(2, 8)), rng.normal(size=(2, 2))), torch=gates)
    yield Sample((rng.normal(size=4), rng.normal(size=1)), torch=gates)


@samples("gru_gates")
def _(rng: Generator) -> Iterator[Sample]:
    def gates(x: Any, h: Any, state: Any) -> Any:
        (a, b, c), (d, e, f) = x.chunk(3, -1), h.chunk(3, -1)
        reset, update = (a + d).sigmoid(), (b + e).sigmoid()
        return (1 - update) * (c + reset * f).tanh() + update * state

    x, h, state = (rng.normal(size=(2, n)) for n in (6, 6, 2))
    yield Sample((x, h, state), torch=gates)


def _weights(rng: Generator, gates: int) -> list[Any]:
    return [
        rng.normal(size=s) for s in ((2 * gates, 3), (2 * gates, 2), (2 * gates,), (2 * gates,))
    ]


@samples("lstm_cell")
def _(rng: Generator) -> Iterator[Sample]:
    x, states, weights = rng.normal(size=(2, 3)), rng.normal(size=(2, 2, 2)), _weights(rng, 4)
    yield Sample((x, tuple(states), *weights))
    yield Sample((x, tuple(states), *weights[:2]))


@samples("gru_cell")
def _(rng: Generator) -> Iterator[Sample]:
    x, state, weights = rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), _weights(rng, 3)
    yield Sample((x, state, *weights))
    yield Sample((x, state, *weights[:2]))


@samples("rnn_tanh_cell", "rnn_relu_cell")
def _(rng: Generator) -> Iterator[Sample]:
    x, state, weights = rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), _weights(rng, 1)
    yield Sample((x, state, *weights))
    yield Sample((x, state, *weights[:2]))
