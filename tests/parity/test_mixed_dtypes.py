"""What PyTorch does not mix is refused, with its type of error; the rest has its data type."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import adjoint

Make = Callable[..., Any]
KINDS = ["float16", "bfloat16", "float32", "float64"]
PAIRS = list(itertools.permutations(KINDS, 2))

# Each is called with a library and two functions that make ones, of one type and of the other.
CALLS: dict[str, Callable[[Any, Make, Make], Any]] = {
    "batch_norm": lambda f, x, y: f.batch_norm(x(4, 3), None, None, y(3), y(3), True),
    "batch_norm weight": lambda f, x, y: f.batch_norm(x(4, 3), None, None, y(3), None, True),
    "batch_norm bias": lambda f, x, y: f.batch_norm(x(4, 3), None, None, x(3), y(3), True),
    "batch_norm in training": lambda f, x, y: f.batch_norm(x(4, 3), y(3), y(3), x(3), x(3), True),
    "batch_norm statistics": lambda f, x, y: f.batch_norm(x(4, 3), y(3), y(3), x(3), x(3)),
    "batch_norm plain": lambda f, x, y: f.batch_norm(x(4, 3), y(3), y(3)),
    "batch_norm all": lambda f, x, y: f.batch_norm(x(4, 3), y(3), y(3), y(3), y(3)),
    "instance_norm": lambda f, x, y: f.instance_norm(x(4, 3, 2), None, None, y(3), y(3)),
    "layer_norm": lambda f, x, y: f.layer_norm(x(4, 3), (3,), y(3), y(3)),
    "layer_norm weight": lambda f, x, y: f.layer_norm(x(4, 3), (3,), y(3)),
    "layer_norm bias": lambda f, x, y: f.layer_norm(x(4, 3), (3,), x(3), y(3)),
    "group_norm": lambda f, x, y: f.group_norm(x(4, 4), 2, y(4), y(4)),
    "group_norm bias": lambda f, x, y: f.group_norm(x(4, 4), 2, x(4), y(4)),
    "rms_norm": lambda f, x, y: f.rms_norm(x(4, 4), (4,), y(4)),
    "attention key": lambda f, x, y: f.scaled_dot_product_attention(
        x(1, 4, 4), y(1, 4, 4), x(1, 4, 4)
    ),
    "attention value": lambda f, x, y: f.scaled_dot_product_attention(
        x(1, 4, 4), x(1, 4, 4), y(1, 4, 4)
    ),
    "attention mask": lambda f, x, y: f.scaled_dot_product_attention(
        x(1, 4, 4), x(1, 4, 4), x(1, 4, 4), y(4, 4)
    ),
    "binary_cross_entropy": lambda f, x, y: f.binary_cross_entropy(x(4), y(4)),
    "binary_cross_entropy weight": lambda f, x, y: f.binary_cross_entropy(x(4), x(4), y(4)),
    "cross_entropy weight": lambda f, x, y: f.cross_entropy(x(4, 2), x(4).long() * 0, y(2)),
    "nll_loss weight": lambda f, x, y: f.nll_loss(x(4, 2), x(4).long() * 0, y(2)),
    "huber_loss": lambda f, x, y: f.huber_loss(x(4), y(4)),
    "mse_loss": lambda f, x, y: f.mse_loss(x(4), y(4)),
    "grid_sample": lambda f, x, y: f.grid_sample(x(1, 1, 4, 4), y(1, 2, 2, 2), align_corners=False),
    "conv2d weight": lambda f, x, y: f.conv2d(x(1, 1, 4, 4), y(1, 1, 2, 2)),
    "conv2d bias": lambda f, x, y: f.conv2d(x(1, 1, 4, 4), x(1, 1, 2, 2), y(1)),
    "linear weight": lambda f, x, y: f.linear(x(4, 2), y(3, 2)),
    "linear bias": lambda f, x, y: f.linear(x(4, 2), x(3, 2), y(3)),
    "prelu": lambda f, x, y: f.prelu(x(4, 2), y(1)),
    "embedding_bag": lambda f, x, y: f.embedding_bag(
        x(2, 2).long(), x(3, 2), per_sample_weights=y(2, 2), mode="sum"
    ),
    "lerp end": lambda f, x, y: x(4).lerp(y(4), 0.5),
    "lerp weight": lambda f, x, y: x(4).lerp(x(4), y(4)),
    "lerp number": lambda f, x, y: x(4).lerp(x(4), y()),
    "lerp_": lambda f, x, y: x(4).lerp_(y(4), 0.5),
    "heaviside": lambda f, x, y: x(4).heaviside(y(4)),
}


def outcome(library: Any, call: Any, first: str, second: str) -> Any:
    """The data type of a result, or the type of the error."""

    def maker(kind: str) -> Make:
        return lambda *shape: library.ones(*shape, dtype=getattr(library, kind))

    try:
        result = call(library.nn.functional, maker(first), maker(second))
    except Exception as error:
        return type(error)
    return str(result.dtype).split(".")[-1]


@pytest.mark.parametrize("name", CALLS)
def test_mixed_types(torch: Any, name: str) -> None:
    """The same pairs are refused, and the others give the same data type."""
    for first, second in PAIRS:
        ours = outcome(adjoint, CALLS[name], first, second)
        assert ours == outcome(torch, CALLS[name], first, second), (first, second)


@pytest.mark.parametrize(("first", "second"), [p for p in PAIRS if "16" not in p[0]])
def test_cdist(torch: Any, first: str, second: str) -> None:
    """PyTorch has no cdist of 16-bit floats at all, so there is nothing to compare."""

    def call(library: Any) -> Any:
        return outcome(library, lambda f, x, y: library.cdist(x(4, 2), y(4, 2)), first, second)

    assert call(adjoint) is call(torch) is RuntimeError


@pytest.mark.parametrize("name", ["layer_norm", "attention key", "grid_sample", "lerp end"])
def test_the_error_names_both(name: str) -> None:
    """One reads what came and what it was to agree with."""

    def maker(kind: Any) -> Make:
        return lambda *shape: adjoint.ones(*shape, dtype=kind)

    with pytest.raises(RuntimeError, match=r"float32.*float64"):
        CALLS[name](adjoint.nn.functional, maker(adjoint.float32), maker(adjoint.float64))


BOOLEAN: dict[str, Callable[[Any], Any]] = {
    "less a number": lambda t: t.ones(2, dtype=t.bool) - 1,
    "less a fraction": lambda t: t.ones(2, dtype=t.bool) - 1.5,
    "less True": lambda t: t.ones(2, dtype=t.bool) - True,
    "from a number": lambda t: 1 - t.ones(2, dtype=t.bool),
    "from floats": lambda t: t.ones(2) - t.ones(2, dtype=t.bool),
    "from integers": lambda t: t.ones(2, dtype=t.int64) - t.ones(2, dtype=t.bool),
    "True from floats": lambda t: t.ones(2) - True,
    "in place": lambda t: t.ones(2).sub_(t.ones(2, dtype=t.bool)),
    "one element": lambda t: t.tensor(True) - 1,
    "turned": lambda t: t.rsub(t.ones(2, dtype=t.bool), 1),
    "negated": lambda t: -t.ones(2, dtype=t.bool),
}


@pytest.mark.parametrize("name", BOOLEAN)
def test_truth_values_are_not_subtracted(torch: Any, name: str) -> None:
    """Not from anything, nor anything from them; the error names bool."""
    for library in (torch, adjoint):
        with pytest.raises(RuntimeError, match="bool tensor"):
            BOOLEAN[name](library)


@pytest.mark.parametrize("name", ["cdist", "pdist"])
def test_unknown_differences_are_not_counted(torch: Any, name: str) -> None:
    """The distance of exponent 0 counts what differs; inf - inf is not known to."""
    inf, nan = float("inf"), float("nan")
    for rows in ([[inf, 0], [inf, 1]], [[inf, 0], [0, 1]], [[nan, 0], [0, 1]], [[2.5, 0], [0, 0]]):
        ours, theirs = (
            library.pdist(library.tensor(rows), 0)
            if name == "pdist"
            else library.cdist(library.tensor(rows), library.tensor(rows), 0)
            for library in (adjoint, torch)
        )
        assert str(ours.tolist()) == str(theirs.tolist())


FACTORS = {
    "add": lambda lib, x, factor: lib.add(x, x, alpha=factor),
    "add_": lambda lib, x, factor: x.add_(x.clone(), alpha=factor),
    "add a number": lambda lib, x, factor: lib.add(x, 1, alpha=factor),
    "sub": lambda lib, x, factor: lib.sub(x, x, alpha=factor),
    "sub_": lambda lib, x, factor: x.sub_(x.clone(), alpha=factor),
    "addmm": lambda lib, x, factor: lib.addmm(x, x, x, alpha=factor, beta=factor),
    "addr": lambda lib, x, factor: lib.addr(x, x[0], x[1], beta=factor),
    "addcmul": lambda lib, x, factor: lib.addcmul(x, x, x, value=factor),
    "index_add": lambda lib, x, factor: x.index_add(0, lib.tensor([0, 1]), x, alpha=factor),
}
FACTORS_OF_KINDS = [
    (name, kind)
    for name, kind in itertools.product(FACTORS, ["bool", "int64", "float32", "complex64"])
    if kind != "bool" or name not in ("addmm", "addcmul")  # PyTorch has none of bools
]


@pytest.mark.parametrize("factor", [True, False, 2, 1.5, 1j], ids=str)
@pytest.mark.parametrize(("name", "kind"), FACTORS_OF_KINDS)
def test_factors_that_do_not_fit(torch: Any, name: str, kind: str, factor: Any) -> None:
    found: list[Any] = []
    for lib in (adjoint, torch):
        x = lib.tensor([[1, 2], [3, 4]], dtype=getattr(lib, kind))
        try:
            result = FACTORS[name](lib, x, factor)
            found.append((str(result.dtype).partition(".")[2], result.tolist()))
        except RuntimeError:
            found.append("refused")
    assert found[0] == found[1]
