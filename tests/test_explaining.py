"""explain: each of its reasons, and what it counts."""

import pytest

import adjoint
from adjoint import explain


def leaf():
    return adjoint.ones(3, 4, requires_grad=True)


def under_no_grad():
    x = leaf()
    with adjoint.no_grad():
        return x * 2


def in_inference_mode():
    with adjoint.inference_mode():
        return adjoint.ones(2)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: adjoint.ones(2), "made from data"),
        (lambda: adjoint.ones(2) * 2, "tensors of which none does"),
        (lambda: leaf().argmax(), "int64 have no gradients"),
        (under_no_grad, "under no_grad()"),
        (lambda: leaf().detach(), "it was detached"),
        (lambda: (leaf().detach() * 2).sum(), "it was detached"),
        (lambda: under_no_grad().exp() + 1, "under no_grad()"),
        (lambda: (leaf() * 2).detach_(), "it was detached"),
        (in_inference_mode, "inference_mode()"),
        (lambda: adjoint.special.bessel_j0(leaf()), "no derivative"),
    ],
)
def test_why_it_does_not_require_grad(make, reason):
    found = explain(make())
    assert found.requires_grad.startswith("no, ")
    assert reason in found.requires_grad
    assert "does not require grad" in found.grad
    assert found.steps == []


def test_why_there_is_no_gradient():
    x = leaf()
    assert "nothing that is still alive" in explain(x).grad
    y = x * 2
    assert "no backward has come through" in explain(x).grad
    assert "no leaf" in explain(y).grad
    y.retain_grad()
    assert "it will be kept" in explain(y).grad
    y.sum().backward()
    assert "there is one, of shape [3, 4]" in explain(x).grad
    assert "there is one" in explain(y).grad


def test_what_backward_would_run_in_its_order():
    x = leaf()
    w = adjoint.ones(4, requires_grad=True)
    loss = (x * w).tanh().sum()
    found = explain(loss)
    order = []
    for step in found.steps:
        step.node.register_prehook(lambda grads, name=step.name: order.append(name))
    loss.backward()
    assert order == [step.name for step in found.steps]
    assert order == ["SumBackward0", "TanhBackward0", "MulBackward0"]
    assert found.leaves == 2
    assert "loss = (x * w).tanh().sum()" in str(found)


def test_what_the_graph_keeps():
    x = leaf()
    y = x.tanh()
    z = y * y
    found = explain(z)
    assert found.saved_bytes == 4 * 12  # tanh's result and both factors are one piece of memory
    assert sorted(name for _, name, _ in found.saved) == ["input", "other", "result"]
    assert "48 bytes" in str(found)


def test_what_was_freed():
    x = leaf()
    loss = x.exp().sum()
    assert explain(loss).freed == []
    loss.backward()
    assert [step.name for step in explain(loss).freed] == ["ExpBackward0"]


def test_who_changed_a_saved_tensor():
    x = leaf()
    y = x.exp()
    z = y * 2
    y.mul_(3)
    (change,) = explain(z + y).changed
    assert change.name == "result"
    assert change.step.name == "ExpBackward0"
    assert change.source.text == "y.mul_(3)"
    assert "y.mul_(3)" in str(explain(z + y))


def test_long_lists_are_cut():
    x = leaf()
    for _ in range(30):
        x = x.sin()
    text = str(explain(x))
    assert "… and 22 more" in text
    assert len(text.splitlines()) < 30


def test_only_tensors():
    with pytest.raises(TypeError, match="wants a Tensor, got int"):
        explain(3)
