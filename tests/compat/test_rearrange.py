"""torch.func.rearrange, compared with PyTorch's."""

import pytest

import adjoint.compat.torch as compat

PATTERNS = """
a b c -> c b a|a (b) c -> c b a|a b c -> (a b) c|a b c -> a b|a b -> a b|a b c -> a b c d
a b c c-> a b c|a ... -> ... a|... -> (...)|a (...) -> a|(a ...) c-> a|a ... -> a (...)
a b c -> a 1 b c|a 2 c -> a c|a b c -> a () b c|a b c -> a b c 2|a b c a b c|(...) -> (...)
a b c -> c b a -> a|a b 2c -> a b c|a ((b) c) d -> a|a (b c d -> a|a b c -> ... a b c
a b _ -> a b _|a b _c -> a b _c|a b c -> (a  b)c|a b ... ... -> a b|a b . -> a b|a b c) -> a b c
a b c -> 1 a b 1 c 1|if b c -> b if c|a b c -> c 1 (a 1 b)|... c -> c (...)|a ... c -> (a ...) c
a b c ... -> ... a b c|a b c d ... -> a b c d ...|()a b c -> a b c|a b c->... a b c...
"""
WITH_LENGTHS = [
    ("a b (c d) -> a b c d", {"c": 2}),
    ("a b (c d) -> a b c d", {}),
    ("a b (c d) -> a b c d", {"c": 3}),
    ("a b (c d) -> c a b d", {"d": 2}),
    ("a b (c d e) -> a b c d e", {"c": 2}),
    ("a b c -> a b c", {"a": 2}),
    ("a b c -> a b c", {"a": 3}),
    ("a b c -> a b c", {"z": 3}),
    ("a b (c d)-> a b c d", {"c": 2.0}),
    ("a b (c d)-> a b c d", {"c": True}),
    ("(a a1) b c -> a a1 b c", {"a": 2, "a1": 3}),
    ("(a a1) b c -> a1 a b c", {"a": 2, "a1": 1}),
]
CASES = [(p, {}) for line in PATTERNS.split("\n") for p in line.split("|") if p] + WITH_LENGTHS


def answer(library, pattern, lengths):
    """Sizes and elements, or the class of the error; that of lengths that don't fit is its own."""
    try:
        found = library.func.rearrange(library.arange(24).reshape(2, 3, 4), pattern, **lengths)
    except Exception as error:
        name = type(error).__name__
        return "ValueError" if name == "DimensionBindError" else name
    return list(found.shape), found.flatten().tolist()


@pytest.mark.parametrize(("pattern", "lengths"), CASES)
def test_dimensions_are_rearranged_as_by_pytorch(pattern, lengths, torch):
    assert answer(compat, pattern, lengths) == answer(torch, pattern, lengths)


def test_lists_axes_of_length_1_and_gradients():
    from adjoint.compat.torch.functorch.einops import rearrange

    x = compat.arange(6.0).reshape(2, 1, 3).requires_grad_()
    together = rearrange([x, x], "l a 1 c -> (l a) c")
    assert together.shape == (4, 3)
    (together * 2).sum().backward()
    assert x.grad.tolist() == [[[4.0] * 3], [[4.0] * 3]]
    with pytest.raises(ValueError, match="length 3"):
        rearrange(x, "a b 1 -> a b")  # PyTorch takes the first of the three
    assert rearrange(compat.tensor(3.0), "->").item() == 3.0
    assert compat.func.vmap(lambda row: rearrange(row, "a b -> b a"))(x).shape == (2, 3, 1)
    assert compat.func.rearrange is rearrange
