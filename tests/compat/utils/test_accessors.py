"""A custom op that is a view of what an instance of a class holds."""

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._pytree import tree_map_only


class Pair(compat.Tensor):
    """Two tensors, on both of which every operation runs."""

    @staticmethod
    def __new__(cls, a, b, requires_grad=False):
        made = compat.Tensor._make_wrapper_subclass
        return made(cls, a.shape, dtype=a.dtype, requires_grad=requires_grad)

    def __init__(self, a, b, requires_grad=False):
        self.a, self.b = a, b

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is compat.ops.pairs.part.default:
            held = args[0].b if args[1] else args[0].a
            return held.view_as(held)
        sides = []
        for side in ("a", "b"):
            pick = lambda pair, side=side: getattr(pair, side)
            given = tree_map_only(Pair, pick, (args, kwargs or {}))
            sides.append(func(*given[0], **given[1]))
        return Pair(*sides) if isinstance(sides[0], compat.Tensor) else sides[0]


@pytest.fixture(scope="module")
def part():
    @compat.library.custom_op(
        "pairs::part", mutates_args=(), schema="(Tensor(a) x, int i) -> Tensor(a)"
    )
    def part(x, i):
        raise AssertionError("the class answers it")

    def backward(ctx, grad):
        zeros = compat.zeros_like(grad)
        return (Pair(zeros, grad) if ctx.i else Pair(grad, zeros)), None

    def setup(ctx, inputs, output):
        ctx._is_pure_view = True
        ctx.i = inputs[1]

    part.register_autograd(backward, setup_context=setup)
    return part


@pytest.mark.parametrize("i", [0, 1])
def test_it_is_a_view_with_a_gradient(part, i):
    pair = Pair(compat.tensor([1.0, 2.0]), compat.tensor([3.0, 4.0]), requires_grad=True)
    shown = part(pair, i)
    assert shown.tolist() == [[1.0, 2.0], [3.0, 4.0]][i]
    assert shown._is_view()
    assert shown._base is pair
    (shown * 5).sum().backward()
    assert [pair.grad.a.tolist(), pair.grad.b.tolist()][i] == [5.0, 5.0]
    assert [pair.grad.b.tolist(), pair.grad.a.tolist()][i] == [0.0, 0.0]


def test_a_change_of_it_is_one_of_the_whole(part):
    leaf = Pair(compat.tensor([1.0, 2.0]), compat.tensor([3.0, 4.0]), requires_grad=True)
    whole = leaf.clone()
    part(whole, 0).mul_(2)
    assert whole.a.tolist() == [2.0, 4.0]
    assert leaf.a.tolist() == [1.0, 2.0]
    whole.sum().backward()
    assert leaf.grad.a.tolist() == [2.0, 2.0]
    assert leaf.grad.b.tolist() == [1.0, 1.0]
