"""torch.nn.attention.bias: causal masks by name give what PyTorch's do."""

import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat

MAKERS = ["causal_upper_left", "causal_lower_right"]


def numbers(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def answers(library, name, maker):
    """Attention under a mask, its gradient, and what the mask says of itself."""
    bias = importlib.import_module(f"{name}.nn.attention.bias")
    mask = getattr(bias, maker)(3, 5)
    query, key = (library.from_numpy(numbers(n, 2, 2, n, 4)) for n in (3, 5))
    query.requires_grad_()
    attention = library.nn.functional.scaled_dot_product_attention
    found = attention(query, key, key, mask)
    (found + attention(query, key, key, attn_mask=mask, scale=0.3)).pow(2).sum().backward()
    told = [repr(mask), mask.variant, mask.seq_len_q, mask.seq_len_kv, mask._materialize().tolist()]
    return found.detach().numpy(), query.grad.numpy(), told


@pytest.mark.parametrize("maker", MAKERS)
def test_masks_are_those_of_pytorch(maker, torch):
    ours = answers(compat, "adjoint.compat.torch", maker)
    theirs = answers(torch, "torch", maker)
    assert np.allclose(ours[0], theirs[0], atol=1e-6)
    assert np.allclose(ours[1], theirs[1], atol=1e-5)
    assert ours[2] == theirs[2]


def test_wrong_masks_are_refused():
    bias = compat.nn.attention.bias
    x = compat.ones(1, 1, 2, 2)
    attention = compat.nn.functional.scaled_dot_product_attention
    with pytest.raises(ValueError, match="is_causal"):
        attention(x, x, x, bias.causal_upper_left(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="two sizes"):
        bias.causal_lower_right(2)
    with pytest.warns(UserWarning, match="NaN"):
        bias.causal_lower_right(3, 2)
    with pytest.raises(TypeError, match="CausalVariant"):
        bias.CausalBias(1, 2, 2)
