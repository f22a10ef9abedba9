"""Values of ops that XLA computes in its own way: they are those of eager code."""

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint.compiling import CompileError

linalg = adjoint.linalg


def assert_same(function, *arguments):
    """Compare what a function answers compiled and eagerly."""
    compiled = adjoint.compile(function, warm_up=0)
    found, expected = ([*each(*arguments)] for each in (compiled, function))
    assert compiled.count == 1
    for one, other in zip(found, expected, strict=True):
        assert one.dtype is other.dtype
        np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("kind", [adjoint.float32, adjoint.float64, adjoint.complex64])
@pytest.mark.parametrize("upper", [False, True])
def test_factorizations_look_at_one_triangle(kind, upper):
    adjoint.manual_seed(0)
    matrix = adjoint.randn(3, 3, dtype=kind) + 6 * adjoint.eye(3, dtype=kind)
    which = "U" if upper else "L"

    def factors(matrix):
        values, vectors = linalg.eigh(matrix, which)
        again = (vectors * values.to(kind)) @ vectors.mH
        return values, again, linalg.eigvalsh(matrix, which), linalg.cholesky(matrix, upper=upper)

    assert_same(factors, matrix)


def test_complex_numbers_of_infinite_parts():
    numbers = adjoint.tensor([float("inf"), 1.0, float("nan")])
    assert_same(lambda real, imag: [adjoint.complex(real, imag)], numbers, numbers.flip(0))


@pytest.mark.parametrize("kind", [adjoint.float32, adjoint.float64])
def test_functions_that_the_host_computes(kind):
    special, numbers = adjoint.special, adjoint.linspace(0.1, 3, 50, dtype=kind)
    assert_same(lambda x: [special.airy_ai(x), special.bessel_j0(x), special.bessel_y1(x)], numbers)


def test_positions_of_a_number_that_is_known():
    def positions(x):
        more = adjoint.nonzero_static(x, size=9, fill_value=5)
        return adjoint.nonzero_static(x, size=2), more, adjoint.nonzero_static(x[0, 0], size=1)

    for x in (adjoint.tensor([[1, 0, 2], [0, 3, 0]]), adjoint.zeros(2, 3), adjoint.ones(2, 3)):
        assert_same(positions, x)
    assert adjoint.nonzero_static(adjoint.zeros(2, 3, device="meta"), size=4).shape == (4, 2)


def test_repeats_of_which_the_sum_is_known():
    def repeated(x, repeats):
        flat = x.repeat_interleave(adjoint.tensor([1, 2, 0, 1, 0, 0]), output_size=4)
        return adjoint.repeat_interleave(x, repeats, dim=0, output_size=3), flat

    assert_same(repeated, adjoint.randn(2, 3), adjoint.tensor([1, 2]))
    with pytest.raises(CompileError, match="a shape that depends on one"):
        adjoint.compile(lambda r: r.repeat_interleave(r), warm_up=0)(adjoint.tensor([1, 2]))


MASKED = {
    "all": (lambda m: m, lambda v: 0.5),
    "one number": (lambda m: m, lambda v: v[0, 0, 0]),
    "one element": (lambda m: m, lambda v: v[0, 0, :1]),
    "rows": (lambda m: m[:, 0, 0], lambda v: v[0]),
    "rows, spread": (lambda m: m[:, 0, 0], lambda v: v[0, :, :1]),
    "pairs": (lambda m: m[:, :, 0], lambda v: v[0, :1]),
    "columns": (lambda m: (slice(None), m[0, :, 0]), lambda v: v[:, :1]),
    "last": (lambda m: (..., m[0, 0]), lambda v: v[:, :, :1]),
    "part": (lambda m: (slice(0, 2), m[0, :, 0]), lambda v: v[0, 0]),
    "number and mask": (lambda m: (1, m[0, :, 0]), lambda v: v[0, 0]),
    "new dimension": (lambda m: (None, m[:, 0, 0]), lambda v: 1.0),
    "of no dimension": (lambda m: m[0, 0, 0], lambda v: 1.0),
}


@pytest.mark.parametrize("name", MASKED)
def test_what_is_written_where_a_mask_is_true(name):
    index, value = MASKED[name]
    adjoint.manual_seed(0)
    mask, values = adjoint.randn(3, 4, 5) > 0, adjoint.randn(3, 4, 5)

    def written(x, mask, values):
        y = x * 2
        y[index(mask)] = value(values)
        return y.detach(), *adjoint.autograd.grad(y.square().sum(), x)

    for given in (mask, ~mask, adjoint.ones(3, 4, 5, dtype=adjoint.bool)):
        assert_same(written, adjoint.randn(3, 4, 5, requires_grad=True), given, values)


def test_what_is_written_where_a_mask_is_true_must_fit():
    def write(x, mask, value):
        x[mask] = value
        return x

    x = adjoint.zeros(3, 4)
    for mask, value, error in (
        (adjoint.ones(2, 4, dtype=adjoint.bool), adjoint.tensor(1.0), IndexError),
        (adjoint.ones(3, dtype=adjoint.bool), adjoint.ones(3), RuntimeError),
        (adjoint.ones(3, 4, dtype=adjoint.bool), adjoint.ones(5), CompileError),
    ):
        with pytest.raises(error):
            adjoint.compile(write, warm_up=0)(x, mask, value)
        assert x.tolist() == [[0.0] * 4] * 3


@pytest.mark.parametrize("kind", [adjoint.float32, adjoint.float64, adjoint.complex64])
def test_exponentials_of_matrices_of_any_norm(kind):
    adjoint.manual_seed(0)
    sizes = adjoint.tensor([1e-3, 1.0, 4.0, 9.0]).reshape(4, 1, 1)
    matrices = (adjoint.randn(4, 3, 3, dtype=adjoint.float64) * sizes).to(kind)

    def powers(matrices):
        leaf = matrices.detach().requires_grad_()
        found = linalg.matrix_exp(leaf)
        found = found / found.detach().abs().max()
        (grad,) = adjoint.autograd.grad(found.abs().sum(), leaf)
        return [found.detach(), grad]

    assert_same(powers, matrices)


@pytest.mark.parametrize("padding", [None, 1])
def test_largest_rows_of_bags_of_different_sizes(padding):
    table, indices = adjoint.randn(6, 3), adjoint.tensor([1, 2, 3, 4, 1, 5, 0])
    bag = adjoint.nn.functional.embedding_bag

    def maxima(table, indices, offsets):
        leaf = table.detach().requires_grad_()
        found = bag(indices, leaf, offsets, mode="max", padding_idx=padding)
        (grad,) = adjoint.autograd.grad((found * found).sum(), leaf)
        return [found.detach(), grad]

    for offsets in ([0, 2, 2, 6], [0, 0, 7], [0]):
        assert_same(maxima, table, indices, adjoint.tensor(offsets))
