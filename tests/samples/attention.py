"""Samples of attention."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.testing import Sample, samples

Generator = np.random.Generator


@samples("scaled_dot_product_attention")
def _(rng: Generator) -> Iterator[Sample]:
    query, key, value = (rng.normal(size=(1, 2, n, 2)) for n in (3, 4, 4))
    yield Sample((query, key, value))
    yield Sample((query, key, value), {"scale": 0.3})
    yield Sample((query, key, value), {"is_causal": True})
    mask = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [1, 1, 1, 1]], dtype=bool)
    yield Sample((query, key, value, mask))
    yield Sample((query, key, value, rng.normal(size=(3, 4))))
    yield Sample((query, key, value), {"attn_mask": rng.normal(size=(1, 2, 1, 4))})
    yield Sample((query, key, value, mask & (np.arange(3) != 1).reshape(3, 1)))
    yield Sample((query[0, 0], key[0, 0], value[0, 0]))
    yield Sample((query, key[:, :1], value[:, :1]), {"enable_gqa": True})
    yield Sample(
        (query, key, value),
        {"dropout_p": 0.5},
        differentiate=False,
        compare_values=False,
    )


@samples("lower_mask")
def _(rng: Generator) -> Iterator[Sample]:
    def mask(like: Any, rows: int, columns: int) -> Any:
        return like.new_ones(rows, columns).bool().tril()

    yield Sample((rng.normal(size=(1,)), 3, 4), torch=mask, differentiate=False)
    yield Sample((rng.normal(size=(1,)), 3, 2), torch=mask, differentiate=False)


@samples("score_slope")
def _(rng: Generator) -> Iterator[Sample]:
    def by_scores(slope: Any, value: Any, mean: Any, weights: Any) -> Any:
        return (slope @ value.mT - (slope * mean).sum(-1, keepdim=True)) * weights

    slope, mean = rng.normal(size=(2, 3, 2)), rng.normal(size=(2, 3, 2))
    value, weights = rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 3, 4))
    yield Sample((slope, value, mean, weights), torch=by_scores)


@samples("attend")
def _(rng: Generator) -> Iterator[Sample]:
    def attention(query: Any, key: Any, value: Any, mask: Any, scale: float, causal: bool) -> Any:
        import torch

        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, mask, is_causal=causal, scale=scale
        )

    query, key, value = (rng.normal(size=(2, n, 2)) for n in (3, 4, 4))
    yield Sample((query, key, value, None, 0.5, False), torch=attention)
    yield Sample((query, key, value, None, 0.5, True), torch=attention)
    yield Sample((query, key, value, rng.normal(size=(3, 4)), 2.0, False), torch=attention)
