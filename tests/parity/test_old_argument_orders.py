"""Factors before what they multiply, as programs once wrote them."""

import pytest

import adjoint
import adjoint.compat.torch as compat

CALLS = [
    "t.add(2, t)",
    "t.clone().add_(-2, t)",
    "torch.add(t, 2, t)",
    "torch.add(t, 2, 3)",
    "torch.add(t, 2, t, out=torch.empty(2, 2))",
    "t.add(torch.tensor(2.0), t)",
    "t.sub(2, t)",
    "t.clone().sub_(0.5, t)",
    "t.clone().addcmul_(2, t, t)",
    "torch.addcmul(t, 2, t, t)",
    "t.clone().addcdiv_(-0.5, t, t)",
    "torch.addmm(2, t, t, t)",
    "torch.addmm(2, t, 3, t, t)",
    "t.addmm(2, t, t)",
    "t.clone().addmm_(2, 3, t, t)",
    "torch.addmv(2, v, 3, t, v)",
    "v.clone().addmv_(2, 3, t, v)",
    "torch.addr(2, t, 3, v, v)",
    "t.clone().addr_(2, v, v)",
    "torch.baddbmm(2, b, 3, b, b)",
    "b.clone().baddbmm_(2, 3, b, b)",
    "torch.addbmm(2, t, 3, b, b)",
    "t.clone().addbmm_(2, b, b)",
]
REFUSED = ["torch.add(t, t, t)", "torch.add(t, 2, t, alpha=3)", "torch.addmm(1, t, 2, t, t, 4)"]


def evaluate(call, library):
    tensors = {
        "t": library.arange(1.0, 5.0).reshape(2, 2),
        "v": library.arange(2.0),
        "b": library.arange(8.0).reshape(2, 2, 2),
    }
    return eval(call, {"torch": library, **tensors})


@pytest.mark.parametrize("call", CALLS)
def test_the_same_sums(call, torch):
    with pytest.warns(UserWarning, match="deprecated"):
        found = evaluate(call, compat)
    assert found.tolist() == evaluate(call, torch).tolist()


@pytest.mark.parametrize("call", REFUSED)
def test_the_same_refusals(call, torch):
    for library in (compat, torch):
        with pytest.raises(TypeError):
            evaluate(call, library)


def test_gradients_of_such_a_sum(torch):
    grads = []
    for library in (compat, torch):
        x, y = (library.arange(3.0, requires_grad=True) for _ in range(2))
        x.add(3, y).sum().backward()
        grads.append((x.grad.tolist(), y.grad.tolist()))
    assert grads[0] == grads[1]


@pytest.mark.parametrize(
    "call",
    [
        "randint(0, 5, size=(2,))",
        "randint(0, high=5, size=(2,))",
        "randint(high=5, size=(2,))",
        "randint(low=1, high=5, size=(2,))",
        "randint_like(torch.ones(2), 1, high=5)",
        "randint_like(torch.ones(2), low=1, high=5)",
        "arange(2, end=5)",
        "arange(2, end=9, step=3)",
        "ones(6).view(size=(2, 3))",
    ],
)
def test_arguments_by_position_and_by_name(call, torch):
    found, wanted = (
        eval(call, {"torch": library, **vars(library)}) for library in (adjoint, torch)
    )
    assert (tuple(found.shape), str(found.dtype)[-5:]) == (
        tuple(wanted.shape),
        str(wanted.dtype)[-5:],
    )
    if not call.startswith("rand"):
        assert found.tolist() == wanted.tolist()


def test_a_weight_before_its_indices(torch):
    for library in (torch, compat):
        weight, indices = library.arange(6.0).reshape(3, 2), library.tensor([[0, 2]])
        with pytest.warns(UserWarning, match=r"order|first"):
            found = library.nn.functional.embedding_bag(weight, indices, mode="sum")
        assert found.tolist() == [[4.0, 6.0]]
