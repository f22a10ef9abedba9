"""torch.nn.attention.flex_attention: the numbers, blocks and refusals of PyTorch's."""

import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat

CAUSAL = lambda b, h, i, j: i >= j  # as programs write it
NUMBERS = np.random.default_rng(0).standard_normal((3, 2, 4, 8, 6)).astype("float32")


def flex(library):
    return importlib.import_module(f"{library.__name__}.nn.attention.flex_attention")


def given(library, heads=4):
    query, *rest = (library.tensor(each) for each in NUMBERS)
    return [query, *[each[:, :heads] for each in rest]]


def masked(library, mask, **options):
    made = flex(library).create_block_mask(mask, None, None, 8, 8, device="cpu", BLOCK_SIZE=4)
    return flex(library).flex_attention(*given(library), block_mask=made, **options)


def documents(library):
    numbers = library.tensor([0, 0, 0, 1, 1, 1, 2, 2])
    return lambda b, h, i, j: numbers[i] == numbers[j]


def slopes(library):
    by_head = library.tensor([0.1, 0.2, 0.3, 0.4])
    return lambda score, b, h, i, j: score + by_head[h] * (i - j)


CASES = {
    "plain": lambda t: flex(t).flex_attention(*given(t)),
    "scaled": lambda t: flex(t).flex_attention(*given(t), scale=0.3),
    "scores by place": lambda t: flex(t).flex_attention(*given(t), score_mod=slopes(t)),
    "to what was": lambda t: masked(t, CAUSAL),
    "within documents": lambda t: masked(t, documents(t)),
    "a row without keys": lambda t: masked(t, lambda b, h, i, j: (i > 0) & (i >= j)),
    "both": lambda t: masked(t, CAUSAL, score_mod=slopes(t)),
    "several heads for one": lambda t: flex(t).flex_attention(*given(t, 2), enable_gqa=True),
    "logarithms of sums": lambda t: flex(t).flex_attention(*given(t), return_lse=True)[1],
    "two masks": lambda t: flex(t).create_mask(
        flex(t).and_masks(CAUSAL, flex(t).or_masks(lambda b, h, i, j: i - j < 2)),
        *(1, 1, 5, 5),
        device="cpu",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_pytorchs(torch, name):
    ours, theirs = (CASES[name](library).numpy() for library in (compat, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", [(8, 8, 4), (7, 10, 4), (8, 8, (2, 4)), (5, 5, 128)], ids=str)
def test_blocks_are_pytorchs(torch, sizes):
    queries, keys, block = sizes
    names = "kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices q_num_blocks q_indices"
    found = []
    for library in (compat, torch):
        create = flex(library).create_block_mask
        mask = create(CAUSAL, 2, 1, queries, keys, device="cpu", BLOCK_SIZE=block)
        parts = [getattr(mask, name).tolist() for name in names.split()]
        found.append([*parts, mask.shape, mask.BLOCK_SIZE, mask.to_dense().tolist()])
        found[-1] += [round(mask.sparsity(), 6), mask[:1].kv_num_blocks.tolist()]
    assert found[0] == found[1]


def test_gradients_are_those_of_attention():
    inputs = [each.requires_grad_() for each in given(compat)]
    attend = compat.nn.functional.scaled_dot_product_attention
    found = [
        compat.autograd.grad((out**2).sum(), inputs)
        for out in (
            flex(compat).flex_attention(
                *inputs,
                block_mask=flex(compat).create_block_mask(CAUSAL, None, None, 8, 8, BLOCK_SIZE=4),
            ),
            attend(*inputs, is_causal=True),
        )
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_refused(torch):
    for library in (compat, torch):
        attend = flex(library).flex_attention
        with pytest.raises(ValueError, match="heads"):
            attend(*given(library, 2))
        with pytest.raises(NotImplementedError):
            attend(*[each[0] for each in given(library)])
        longer = flex(library).create_block_mask(
            CAUSAL, None, None, 16, 16, device="cpu", BLOCK_SIZE=4
        )
        with pytest.raises(ValueError, match="16"):
            attend(*given(library), block_mask=longer)
