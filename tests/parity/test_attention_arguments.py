"""Attention and transformers agree with PyTorch for all their arguments and masks."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

import adjoint
from tests.parity.layer_trials import (
    Draw,
    Part,
    Trial,
    array,
    check,
    dtypes,
    flags,
    mostly,
    parametrized,
    some,
)

MASKS = st.sampled_from(["none", "none", "boolean", "added", "causal"])


def mask(kind: str, *shape: int) -> Any:
    """What hides sources from targets: as booleans, as numbers to be added, or None."""
    if kind == "none":
        return None
    if kind == "added":
        return array(shape, "halves")
    causal = np.triu(np.ones(shape[-2:], bool), 1)
    hidden = array(shape, seed=3) > 0.4
    hidden[..., 0] = False  # somewhere to look at
    return np.broadcast_to(causal, shape).copy() if kind == "causal" else hidden


def padding(kind: str, *shape: int) -> Any:
    """Which sources are no part of a sequence."""
    return mask("boolean" if kind == "causal" else kind, *shape)


def given_masks(**masks: Any) -> dict[str, Any]:
    """The masks that are not None."""
    return {name: value for name, value in masks.items() if value is not None}


def hinted(draw: Draw, name: str, hint: str, *shape: int) -> dict[str, Any]:
    """A mask, and whether it is causal: what is said of it is believed, also where it is wrong."""
    kind = draw(MASKS)
    hints = draw(some(**{hint: flags}))
    return hints | given_masks(**{name: mask(kind, *shape)})


def sequence(length: int, batch: int | None, width: int, first: bool, seed: int) -> Any:
    """A sequence, with the batch where a layer expects it."""
    lead = (length,) if batch is None else (batch, length) if first else (length, batch)
    return array((*lead, width), seed=seed)


@st.composite
def attention(draw: Draw) -> Trial:
    """Attention to itself or to others, of any widths, with masks of both kinds."""
    options: dict[str, Any] = draw(
        some(bias=flags, add_bias_kv=flags, add_zero_attn=flags, batch_first=flags)
    )
    options |= {"embed_dim": 6, "num_heads": draw(mostly([2, 3, 1], 4, 0))}
    heads, first = options["num_heads"], options.get("batch_first", False)
    batch = draw(st.sampled_from([2, 1, None]))
    target, source = draw(st.sampled_from([(3, 4), (1, 2), (3, 3)]))
    query = sequence(target, batch, 6, first, 1)
    if draw(flags):
        key = value = query
        source = target
    else:
        options |= draw(some(kdim=st.sampled_from([6, 4]), vdim=st.sampled_from([6, 5])))
        key = sequence(source, batch, options.get("kdim", 6), first, 2)
        value = sequence(source, batch, options.get("vdim", 6), first, 3)
    call = draw(some(need_weights=flags, average_attn_weights=flags))
    shape = draw(mostly([(), ((batch or 1) * heads,)], (7,)))
    rows = () if batch is None else (batch,)
    call |= hinted(draw, "attn_mask", "is_causal", *shape, target, source)
    call |= given_masks(key_padding_mask=padding(draw(MASKS), *rows, source))
    return Trial(options, (query, key, value), call, draw(dtypes), draw(flags))


ATTENTION = {"MultiheadAttention": attention()}


@parametrized(ATTENTION)
def test_attention(name: str, trial: Trial) -> None:
    check(name, trial)


# ---- transformers ----

layer_options = {
    "activation": mostly(["relu", "gelu"], "tanh"),
    "layer_norm_eps": st.sampled_from([1e-5, 1e-2]),
    "norm_first": flags,
    "batch_first": flags,
    "bias": flags,
}


@st.composite
def options_of_layers(draw: Draw) -> dict[str, Any]:
    """Sizes that go together, mostly, and no dropout, which each library draws for itself."""
    heads = draw(mostly([2, 1, 3], 4))
    sizes = {"d_model": 6, "nhead": heads, "dim_feedforward": draw(st.sampled_from([5, 8]))}
    return draw(some(**layer_options)) | sizes | {"dropout": 0.0}


@st.composite
def encoder_layer(draw: Draw) -> Trial:
    """A sequence with masks."""
    options = draw(options_of_layers())
    batch, length = draw(st.sampled_from([2, 1, None])), draw(st.sampled_from([3, 1]))
    rows = () if batch is None else (batch,)
    call = hinted(draw, "src_mask", "is_causal", length, length)
    call |= given_masks(src_key_padding_mask=padding(draw(MASKS), *rows, length))
    source = sequence(length, batch, 6, options.get("batch_first", False), 1)
    return Trial(options, (source,), call, draw(dtypes), draw(flags))


def masks_of_both(draw: Draw, batch: int | None, target: int, source: int) -> dict[str, Any]:
    """Masks of a target, of a memory, and of a target's view of the memory."""
    rows = () if batch is None else (batch,)
    call = hinted(draw, "tgt_mask", "tgt_is_causal", target, target)
    call |= hinted(draw, "memory_mask", "memory_is_causal", target, source)
    return call | given_masks(
        tgt_key_padding_mask=padding(draw(MASKS), *rows, target),
        memory_key_padding_mask=padding(draw(MASKS), *rows, source),
    )


@st.composite
def decoder_layer(draw: Draw) -> Trial:
    """A target and a memory with masks."""
    options = draw(options_of_layers())
    batch = draw(st.sampled_from([2, 1, None]))
    target, source = draw(st.sampled_from([(3, 4), (1, 2)]))
    first = options.get("batch_first", False)
    inputs = (sequence(target, batch, 6, first, 1), sequence(source, batch, 6, first, 2))
    call = masks_of_both(draw, batch, target, source)
    return Trial(options, inputs, call, draw(dtypes), draw(flags))


@st.composite
def whole_transformer(draw: Draw) -> Trial:
    """A source and a target with masks."""
    options = draw(options_of_layers())
    options |= draw(
        some(
            {
                "num_encoder_layers": st.sampled_from([1, 2]),
                "num_decoder_layers": st.sampled_from([1, 2]),
            }
        )
    )
    batch = draw(st.sampled_from([2, 1, None]))
    source, target = draw(st.sampled_from([(4, 3), (2, 1)]))
    first = options.get("batch_first", False)
    inputs = (sequence(source, batch, 6, first, 1), sequence(target, batch, 6, first, 2))
    rows = () if batch is None else (batch,)
    call = masks_of_both(draw, batch, target, source)
    call |= hinted(draw, "src_mask", "src_is_causal", source, source)
    call |= given_masks(
        src_key_padding_mask=padding(draw(MASKS), *rows, source),
    )
    return Trial(options, inputs, call, draw(dtypes), draw(flags))


def stacked(trial: Trial, kind: str, rest: dict[str, Any]) -> Trial:
    """The same for several layers; what is said of masks is said under other names."""
    names = {"src_mask": "mask"} if kind == "encoder" else {}
    call = {names.get(name, name): value for name, value in trial.call.items()}
    part = Part(f"Transformer{kind.capitalize()}Layer", trial.options)
    options = {**rest, f"{kind}_layer": part}
    return Trial(options, trial.inputs, call, trial.dtype, trial.training)


norms = st.none() | st.just(Part("LayerNorm", {"normalized_shape": 6}))
stacks = {"num_layers": st.sampled_from([1, 2, 3])}
TRANSFORMERS = {
    "TransformerEncoder": st.builds(
        stacked,
        encoder_layer(),
        st.just("encoder"),
        some(stacks, norm=norms, enable_nested_tensor=flags, mask_check=flags),
    ),
    "TransformerDecoder": st.builds(
        stacked, decoder_layer(), st.just("decoder"), some(stacks, norm=norms)
    ),
    "TransformerEncoderLayer": encoder_layer(),
    "TransformerDecoderLayer": decoder_layer(),
    "Transformer": whole_transformer(),
}


@parametrized(TRANSFORMERS)
def test_transformers(name: str, trial: Trial) -> None:
    check(name, trial)


def test_vectors_of_no_elements_match_all_alike(torch):
    found = []
    for library in (torch, adjoint):
        queries = library.zeros(2, 4, 3, 0, requires_grad=True)
        values = library.arange(72.0).reshape(2, 4, 3, 3).requires_grad_()
        out = library.nn.functional.scaled_dot_product_attention(queries, queries, values)
        out.sum().backward()
        found.append((out.tolist(), values.grad.tolist(), tuple(queries.grad.shape)))
    assert found[0] == found[1]
