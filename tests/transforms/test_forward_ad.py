"""autograd.forward_ad, beside PyTorch's."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import forward_ad as fw

torch: Any = pytest.importorskip("torch")
import torch.autograd.forward_ad as torch_fw  # after the check that it is there

BOTH = [(adjoint, fw), (torch, torch_fw)]


def pair(result: Any, forward: Any) -> Any:
    """A tensor's primal and tangent as lists."""
    primal, tangent = forward.unpack_dual(result)
    return primal.tolist(), None if tangent is None else tangent.tolist()


def same(program: Any) -> None:
    """A program answers the same in both libraries."""
    ours, theirs = (program(lib, forward) for lib, forward in BOTH)
    np.testing.assert_equal(ours, theirs)


def base_and_views(lib: Any, forward: Any, change: Any) -> Any:
    """What a base and two views of it are after a change of one by a dual tensor."""
    base = lib.arange(4.0)
    first, second = base[:3], base[1:]
    dual = forward.make_dual(lib.ones(3), lib.tensor([1.0, 2.0, 3.0]))
    change(first, dual)
    second *= 2
    return [pair(tensor, forward) for tensor in (base, first, second)]


CHANGES = [
    lambda view, dual: view.add_(dual),
    lambda view, dual: view.mul_(dual),
    lambda view, dual: view.copy_(dual),
    lambda view, dual: view.__setitem__(0, dual[2]),
    lambda view, dual: view.zero_(),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_dual_changes_becomes_dual_with_its_base_and_views(change: Any) -> None:
    def program(lib: Any, forward: Any) -> Any:
        with forward.dual_level():
            return base_and_views(lib, forward, change)

    same(program)


@pytest.mark.parametrize("change", CHANGES)
def test_views_of_a_dual_show_its_tangent(change: Any) -> None:
    def program(lib: Any, forward: Any) -> Any:
        with forward.dual_level():
            base = forward.make_dual(lib.arange(4.0), lib.ones(4))
            first, second = base[:3], base.view(2, 2)
            change(first, forward.make_dual(lib.ones(3), lib.tensor([1.0, 2.0, 3.0])))
            second *= 2
            return [pair(tensor, forward) for tensor in (base, first, second)]

    same(program)


def test_dual_shares_memory_and_version_with_its_primal() -> None:
    x, t = adjoint.arange(2.0), adjoint.ones(2)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        x.add_(1)
        assert dual._version == x._version
        assert pair(dual, fw) == ([1.0, 2.0], [1.0, 1.0])
        assert fw.unpack_dual(dual).tangent is t
        dual *= 3
        assert x.tolist() == [3.0, 6.0]
        assert fw.unpack_dual(x).tangent is None


def test_plain_again_after_the_level() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    with fw.dual_level() as level:
        assert level == 0
        y = (fw.make_dual(x, adjoint.ones(2)) ** 2).exp().sum()
    assert fw.unpack_dual(y).tangent is None
    assert "tangent" not in repr(y)
    (found,) = adjoint.autograd.grad(y, x, create_graph=True)
    np.testing.assert_allclose(found.tolist(), [2 * np.e, 4 * np.exp(4)], rtol=1e-6)
    found.sum().backward()
    np.testing.assert_allclose(x.grad.tolist(), [6 * np.e, 18 * np.exp(4)], rtol=1e-5)


def second_order(lib: Any, forward: Any) -> tuple[Any, Any]:
    """Gradients of a dual output, and of its tangent; and what a hook has seen of the first."""
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    with forward.dual_level():
        dual = forward.make_dual(x, lib.tensor([3.0, 4.0]))
        inner = dual**3 * w
        handle = inner.register_hook(lambda grad: seen.append(pair(grad * 1, forward)))
        y = (inner * inner.sin()).sum()
        duals = lib.autograd.grad(y, (x, w, dual), retain_graph=True)
        handle.remove()
        cotangent = forward.make_dual(lib.tensor(2.0), lib.tensor(5.0))
        duals += lib.autograd.grad(y, x, cotangent, retain_graph=True)
        plain = lib.autograd.grad(forward.unpack_dual(y).tangent, (x, w), retain_graph=True)
        y.backward()
        parts = [each for tensor in duals for each in pair(tensor, forward)]
        parts += [tensor.tolist() for tensor in (*plain, x.grad, w.grad)]
        return parts, seen


def test_reverse_over_forward_in_any_order() -> None:
    (ours, seen), (theirs, expected) = (second_order(lib, forward) for lib, forward in BOTH)
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)
    np.testing.assert_allclose(seen, expected, rtol=2e-4)


def test_a_dual_leaf_has_a_dual_gradient() -> None:
    with fw.dual_level():
        leaf = fw.make_dual(adjoint.ones(2), adjoint.tensor([3.0, 4.0])).requires_grad_()
        (leaf**3).sum().backward()
        assert pair(leaf.grad, fw) == ([3.0, 3.0], [18.0, 24.0])
        (leaf**3).sum().backward()
        assert pair(leaf.grad, fw) == ([6.0, 6.0], [36.0, 48.0])
    (leaf * 2).sum().backward()
    assert leaf.grad.tolist() == [8.0, 8.0]


def test_modes() -> None:
    def program(lib: Any, forward: Any) -> Any:
        with forward.dual_level():
            x = forward.make_dual(lib.ones(2), lib.tensor([3.0, 4.0]))
            with lib.no_grad():
                kept = x * 2
            with lib.inference_mode():
                dropped = pair(x * 2, forward)
            here = [kept, x.detach(), x.data, x.clone(), x.contiguous(), x.to(lib.float64)]
            here += [lib.zeros_like(x), x > 2, x.long(), x.clone().detach_()]
            return [pair(tensor, forward) for tensor in here], dropped

    same(program)


def test_copies_have_no_tangent() -> None:
    with fw.dual_level():
        x = fw.make_dual(adjoint.ones(2), adjoint.ones(2))
        for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), adjoint.tensor(x.numpy())):
            assert pair(other, fw) == ([1.0, 1.0], None)
        assert repr(x) == "tensor([1., 1.], tangent=tensor([1., 1.]))"
        assert x.tolist() == [1.0, 1.0]
        assert x.sum().item() == 2.0


WRONG = [
    (lambda lib, fw: fw.make_dual(lib.ones(2), lib.ones(3)), "different size"),
    (lambda lib, fw: fw.make_dual(lib.ones(2, dtype=lib.int64), lib.ones(2)), "Expected primal"),
    (lambda lib, fw: fw.make_dual(lib.ones(2), lib.ones(2).long()), "Expected tangent"),
    (lambda lib, fw: fw.enter_dual_level(), "Nested forward mode"),
    (lambda lib, fw: fw.exit_dual_level(level=3), "not the last one"),
    (
        lambda lib, fw: fw.make_dual(fw.make_dual(lib.ones(2), lib.ones(2)), lib.ones(2)),
        "forward gradient at the same level",
    ),
    (
        lambda lib, fw: fw.make_dual(lib.ones(2), fw.make_dual(lib.ones(2), lib.ones(2))),
        "forward gradient at the same level",
    ),
    (
        lambda lib, fw: lib.add(fw.make_dual(lib.ones(2), lib.ones(2)), 1, out=lib.ones(2)),
        "out= function",
    ),
]


@pytest.mark.parametrize(("program", "text"), WRONG)
def test_refusals(program: Any, text: str) -> None:
    for lib, forward in BOTH:
        with forward.dual_level(), pytest.raises((RuntimeError, ValueError), match=text):
            program(lib, forward)


def test_refusals_outside_a_level() -> None:
    for lib, forward in BOTH:
        with pytest.raises(RuntimeError, match="no level exists"):
            forward.make_dual(lib.ones(2), lib.ones(2))
        with pytest.raises(RuntimeError):
            forward.exit_dual_level()
    with pytest.raises(TypeError, match="primal must be a Tensor"), fw.dual_level():
        fw.make_dual(1.0, adjoint.ones(2))
    with pytest.raises(RuntimeError, match="tangent of a real tensor"), fw.dual_level():
        fw.make_dual(adjoint.ones(2), adjoint.ones(2, dtype=adjoint.complex64))


def test_decorates() -> None:
    @fw.dual_level()
    def derivative(x: Any) -> Any:
        return fw.unpack_dual(fw.make_dual(x, adjoint.ones(())).sin()).tangent

    x = adjoint.tensor(0.5, dtype=adjoint.float64)
    np.testing.assert_allclose(derivative(x).item(), np.cos(0.5))


def test_func_inside_a_level() -> None:
    x, t = adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0])
    w = adjoint.tensor([1.0, 1.0], requires_grad=True)
    with fw.dual_level():
        dual = fw.make_dual(x, t)
        found = adjoint.func.grad(lambda z: (z**3 * w).sum())(dual)
        assert pair(found, fw) == ([3.0, 12.0], [18.0, 48.0])
        assert pair(adjoint.func.vmap(lambda z: z * z)(dual), fw) == ([1.0, 4.0], [6.0, 16.0])
        value, pushed = adjoint.func.jvp(lambda z: z**3, (dual,), (adjoint.ones(2),))
        assert pair(value, fw) == ([1.0, 8.0], [9.0, 48.0])
        assert pair(pushed, fw) == ([3.0, 12.0], [18.0, 48.0])


def test_a_level_inside_vmap() -> None:
    def derivative(x: Any, t: Any) -> Any:
        with fw.dual_level():
            base = adjoint.zeros(2)
            base.copy_(fw.make_dual(x, t).sin())
            return fw.unpack_dual(base).tangent

    x, t = adjoint.tensor([0.1, 0.2]), adjoint.arange(6.0).reshape(3, 2)
    found = adjoint.func.vmap(derivative, in_dims=(None, 0))(x, t)
    np.testing.assert_allclose(found.tolist(), (t * x.cos()).tolist(), rtol=1e-6)


def test_layouts_inside_vmap() -> None:
    """A batch of tangents lies as its primal does; an element has no memory around it."""
    for library, vmap in ((adjoint, adjoint.func.vmap), (torch, torch._vmap_internals._vmap)):
        ad = library.autograd.forward_ad
        for turned in (False, True):
            primal = library.ones(2, 3).t() if turned else library.ones(3, 2)
            tangents = library.ones(4, 3, 2)

            def given(tangent: Any, primal: Any = primal, ad: Any = ad) -> Any:
                with ad.dual_level():
                    return ad.unpack_dual(ad.make_dual(primal, tangent)).tangent

            assert (vmap(given)(tangents) is tangents) is not turned
        rows = library.arange(24.0).reshape(2, 3, 4)
        shown = vmap(lambda row: row[1:].as_strided((3,), (1,), 4))(rows)
        assert shown.tolist() == [[4.0, 5.0, 6.0], [16.0, 17.0, 18.0]]
        for size, offset in ((3, 0), (9, 4)):
            with pytest.raises(RuntimeError, match="can access memory outside of `tensor`"):
                vmap(lambda row, n=size, o=offset: row[1:].as_strided((n,), (1,), o))(rows)


def test_a_view_of_all_shares_the_tangent_of_its_base() -> None:
    with fw.dual_level():
        base = adjoint.zeros(2, 2)
        view, turned = base.view_as(base), base.t()
        view.copy_(fw.make_dual(adjoint.ones(2, 2), adjoint.ones(2, 2)))
        assert fw.unpack_dual(view).tangent is fw.unpack_dual(base).tangent
        assert fw.unpack_dual(turned).tangent is not fw.unpack_dual(base).tangent
        view.mul_(3)
        assert fw.unpack_dual(base).tangent.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_infinite_tangents_do_not_warn() -> None:
    with warnings.catch_warnings(), fw.dual_level():
        warnings.simplefilter("error")
        zero = fw.make_dual(adjoint.zeros(2), adjoint.ones(2))
        for result in (zero.sqrt(), zero.log(), 1 / zero, zero**-1.5):
            assert not fw.unpack_dual(result).tangent.isfinite().any()


def test_a_table_keeps_its_tangent_where_rows_are_shortened() -> None:
    def program(lib: Any, forward: Any) -> Any:
        table, index = lib.tensor([[3.0, 4.0], [1.0, 0.0]]), lib.tensor([0, 1, 0])
        tangent = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
        with forward.dual_level():
            dual = forward.make_dual(table, tangent)
            rows = lib.nn.functional.embedding(index, dual, max_norm=1.0)
            return pair(rows, forward), pair(dual, forward), table.tolist()

    same(program)
