"""Products of transposed matrices in programs of XLA, which reads them as they lie."""

import itertools

import pytest

import adjoint
from adjoint import nn

pytest.importorskip("jax")


def text_of(function, *args):
    """The only program of a compiled function, as XLA is given it."""
    compiled = adjoint.compile(function, warm_up=0)
    compiled(*args)
    (signature,) = compiled.signatures.values()
    (program,) = signature.programs
    return program.xla.only.lower(*program.inputs.arrays).as_text()


def test_a_network_and_its_gradients_transpose_nothing():
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2))
    x = adjoint.randn(6, 3)

    def gradients():
        loss = model(x).square().mean()
        return adjoint.autograd.grad(loss, list(model.parameters()))

    text = text_of(gradients)
    assert "dot_general" in text
    assert "transpose" not in text


def test_what_must_be_transposed_still_is():
    x, y = adjoint.randn(2, 3, 4), adjoint.randn(5, 4)

    def product():  # the dimensions that stay change their order
        return adjoint.tensordot(x.permute(1, 0, 2), y, ([2], [1])), x.permute(2, 0, 1) * 2

    assert "transpose" in text_of(product)
    for found, wanted in zip(adjoint.compile(product, warm_up=0)(), product()):
        assert adjoint.allclose(found, wanted)


@pytest.mark.parametrize("equation", ["abc,dc->abd", "abc,dbc->ad", "abc,acd->abd", "abc,bda->dc"])
def test_products_in_any_order(equation):
    adjoint.manual_seed(0)
    taken, other = equation.split("->")[0].split(",")
    sizes = dict(zip("abcd", (2, 3, 4, 5)))
    y = adjoint.randn(*(sizes[name] for name in reversed(other)), requires_grad=True)
    turned = {}
    for order in itertools.permutations(range(3)):
        back = sorted(range(3), key=order.__getitem__)
        turned[order] = adjoint.randn(*(sizes[taken[at]] for at in back), requires_grad=True)

    def products():
        factor = y.permute(*reversed(range(y.ndim)))
        found = [adjoint.einsum(equation, x.permute(*p), factor) for p, x in turned.items()]
        total = sum(each.sin().sum() for each in found)
        return (*found, *adjoint.autograd.grad(total, (y, *turned.values())))

    for found, wanted in zip(adjoint.compile(products, warm_up=0)(), products(), strict=True):
        assert found.shape == wanted.shape
        assert adjoint.allclose(found, wanted, atol=1e-6)
