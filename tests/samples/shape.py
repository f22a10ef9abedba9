"""Samples of views and rearrangements."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import adjoint
from adjoint.testing import Sample, samples

Rng = np.random.Generator


def method(name: str) -> Callable[..., Any]:
    """PyTorch's function, for those that exist only as a method."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def added(x: Any, shape: Any, index: Any) -> Any:
    """Zeros with x added at an index, in PyTorch's words."""
    count = int(np.prod(shape))
    places = (x.new_ones(count).cumsum(0).long() - 1).reshape(shape)[index]
    whole = x.new_zeros(count).index_add(0, places.reshape(-1), x.reshape(-1))
    return whole.reshape(shape)


def complex_normal(rng: Rng, shape: tuple[int, ...]) -> Any:
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@samples("reshape")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, (4, 3)))
    yield Sample((x, (2, -1, 2)))
    yield Sample((x, [-1]))
    yield Sample((rng.normal(size=()), (1, 1)))
    yield Sample((np.zeros((0, 3)), (3, 0)))
    yield Sample((complex_normal(rng, (2, 3)), (6,)))
    yield Sample((np.arange(6), (2, 3)))


@samples("view")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 4, 3), torch=method("view"))
    yield Sample((x, (2, -1)), torch=method("view"))
    yield Sample((rng.normal(size=1), ()), torch=method("view"))


@samples("view_as", "reshape_as")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), np.zeros((2, 6), np.int64)), torch=method("reshape_as"))


@samples("flatten")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, 0, 1))
    yield Sample((x, 1, 1))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((0, 3)),))


@samples("ravel")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),))
    yield Sample((rng.normal(size=()),))
    yield Sample((np.zeros((0, 3)),))


@samples("unflatten")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), 1, (2, 2)))
    yield Sample((rng.normal(size=(3, 4)), -1, (-1, 2)))


@samples("squeeze")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(1, 3, 1, 2))
    yield Sample((x,))
    yield Sample((x, 0))
    yield Sample((x, 1))
    yield Sample((x, (0, -2)))
    yield Sample((rng.normal(size=()),))
    yield Sample((rng.normal(size=()), 0))


@samples("unsqueeze")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)), 1))
    yield Sample((rng.normal(size=(3, 2)), -1))
    yield Sample((rng.normal(size=()), 0))


@samples("transpose")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3, 4)), 0, -1))
    yield Sample((complex_normal(rng, (2, 3)), 0, 1))
    yield Sample((rng.normal(size=()), 0, -1))


@samples("t")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),))
    yield Sample((rng.normal(size=3),))
    yield Sample((rng.normal(size=()),))


@samples("permute")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3, 4)), (2, 0, 1)))
    yield Sample((rng.normal(size=(2, 3, 4)), [-1, 0, -2]))
    yield Sample((rng.normal(size=()), ()))


@samples("movedim")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3, 4))
    yield Sample((x, 0, 2))
    yield Sample((x, (0, 1), (-1, 0)))


@samples("adjoint")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),))
    yield Sample((complex_normal(rng, (2, 2, 3)),))


@samples("expand")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 1))
    yield Sample((x, 3, 4), torch=method("expand"))
    yield Sample((x, (2, -1, 4)), torch=method("expand"))
    yield Sample((x, 3, 1), torch=method("expand"))
    yield Sample((x, 0, 3, 0), torch=method("expand"))
    yield Sample((rng.normal(size=()), 2, 2), torch=method("expand"))
    yield Sample((complex_normal(rng, (1, 2)), 3, 2), torch=method("expand"))


@samples("expand_as")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 1)), np.zeros((2, 3, 4), int)), torch=method("expand_as"))


@samples("broadcast_to")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 1)), (2, 3, 4)))


@samples("broadcast_tensors")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 1)), rng.normal(size=4), rng.normal(size=())))


@samples("select")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), 0, 1))
    yield Sample((rng.normal(size=(3, 4)), -1, -2))
    yield Sample((complex_normal(rng, (3,)), 0, 0))


@samples("narrow")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, 1, 1, 2))
    yield Sample((x, 0, -2, 1))
    yield Sample((x, 0, 3, 0))


@samples("unbind")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 2)),))
    yield Sample((rng.normal(size=(3, 2)), -1))
    yield Sample((rng.normal(size=(1, 2)),))
    yield Sample((np.zeros((0, 2)),))


@samples("split")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(5, 2))
    yield Sample((x, 2))
    yield Sample((x, [1, 4]))
    yield Sample((x, (1, 0, 1), 1))
    yield Sample((x, 5))
    yield Sample((np.zeros((0, 2)), 2))


@samples("split_with_sizes")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 5)), (2, 3), -1))


@samples("chunk")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(5, 2))
    yield Sample((x, 2))
    yield Sample((x, 4))
    yield Sample((x, 1, 1))
    yield Sample((np.zeros((0, 2)), 3))


@samples("tensor_split")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(5, 3))
    yield Sample((x, 3))
    yield Sample((x, (1, 3)))
    yield Sample((x, (4, 2)))
    yield Sample((x, (1, -1), 1))


@samples("hsplit")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), 2))
    yield Sample((rng.normal(size=4), 2))
    yield Sample((rng.normal(size=(3, 4)), (1, 3)))


@samples("vsplit")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(4, 3)), 2))
    yield Sample((rng.normal(size=(4, 3)), [1]))


@samples("dsplit")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 1, 4)), 2))


@samples("diagonal")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, -2))
    yield Sample((x, 9))
    yield Sample((rng.normal(size=(2, 3, 2)), 0, 2, 0))
    yield Sample((complex_normal(rng, (2, 2)),))


@samples("diagonal_copy")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), 1))


@samples("diag_embed")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, -1, 0, 2))
    yield Sample((x, 1, 2, 0))


@samples("diag")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=3),))
    yield Sample((rng.normal(size=3), -1))
    yield Sample((rng.normal(size=(3, 2)),))
    yield Sample((rng.normal(size=(3, 4)), 1))


@samples("diagflat")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 2)),))
    yield Sample((rng.normal(size=2), 1))
    yield Sample((rng.normal(size=()),))


@samples("as_strided_")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    for pattern in (((2, 2), (1, 2), 0), ((4, 3), (1, 4)), ((2,), (3,), 1), ((), ())):
        yield Sample((x, *pattern), differentiate=False, torch="Tensor.as_strided_")


@samples("as_strided")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x, (2, 2), (4, 1)))
    yield Sample((x, (3, 3), (1, 1), 2))
    yield Sample((x, [2, 3], [0, 2]))
    yield Sample((x, (), (), 5))
    yield Sample((x, (0, 2), (1, 1)))


@samples("unfold")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 5))
    yield Sample((x, 1, 3, 1), torch=method("unfold"))
    yield Sample((x, 1, 2, 2), torch=method("unfold"))
    yield Sample((x, 0, 1, 3), torch=method("unfold"))
    yield Sample((rng.normal(size=(5, 2)), 0, 3, 2), torch=method("unfold"))
    yield Sample((rng.normal(size=()), 0, 1, 1), torch=method("unfold"))
    yield Sample((x, -1, 0, 1), torch=method("unfold"))


@samples("cat")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(1, 3))
    yield Sample(([x, y],))
    yield Sample(([x, x * 2, x], 1))
    yield Sample(([x, y.astype(np.float32)], -2))
    yield Sample(([np.zeros(0), x, y],))
    yield Sample(([np.zeros(0), np.zeros(0)],))
    yield Sample(([x, complex_normal(rng, (1, 3))],))
    yield Sample(((x, np.arange(3).reshape(1, 3)),))


@samples("stack")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    yield Sample(([x, y],))
    yield Sample(([x, y], 1))
    yield Sample(([x, y, x], -1))
    yield Sample(([rng.normal(size=()), rng.normal(size=())],))
    yield Sample(([x],))
    yield Sample(([x, np.ones((2, 3), np.float32)],))


@samples("hstack", "vstack", "dstack", "column_stack")
def _(rng: Rng) -> Iterator[Sample]:
    x, v = rng.normal(size=(3, 3)), rng.normal(size=3)
    yield Sample(([x, x * 2],))
    yield Sample(([v, v * 2],))
    yield Sample(([rng.normal(size=()), rng.normal(size=())],))


@samples("atleast_1d", "atleast_2d", "atleast_3d")
def _(rng: Rng) -> Iterator[Sample]:
    for shape in ((), (2,), (2, 3), (2, 1, 2)):
        yield Sample((rng.normal(size=shape),))
    yield Sample((rng.normal(size=()), rng.normal(size=2)))


@samples("block_diag")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)), rng.normal(size=2), rng.normal(size=())))
    yield Sample((rng.normal(size=(2, 1)), np.ones((1, 2), np.int64)))


@samples("joined_blocks")
def _(rng: Rng) -> Iterator[Sample]:
    def joined(tensors: Any) -> Any:
        import torch

        return torch.block_diag(*tensors)

    yield Sample(([rng.normal(size=(2, 3)), rng.normal(size=(0, 1))],), torch=joined)
    yield Sample(([rng.normal(size=(3, 1)), rng.normal(size=(1, 2))],), torch=joined)


@samples("repeat")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 2, 2), torch=method("repeat"))
    yield Sample((x, (2, 1, 2)), torch=method("repeat"))
    yield Sample((x, 1, 1), torch=method("repeat"))
    yield Sample((x, 0, 2), torch=method("repeat"))
    yield Sample((rng.normal(size=()), 3), torch=method("repeat"))


@samples("tile")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, (2,)))
    yield Sample((x, (2, 1, 2)))
    yield Sample((x, ()))


@samples("repeat_interleave")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 2))
    yield Sample((x, 2))
    yield Sample((x, 2, 1))
    yield Sample((x, np.array([1, 0, 2]), 0))
    yield Sample((x, np.array([2]), 0))
    yield Sample((x, np.array(2), 1))
    yield Sample((x, 3, 0), {"output_size": 9})
    yield Sample((np.array([1, 0, 2]),))


@samples("flip")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, (0,)))
    yield Sample((x, [0, -1]))
    yield Sample((x, ()))
    yield Sample((rng.normal(size=()), (0,)))


@samples("fliplr", "flipud")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),))


@samples("roll")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x, 1))
    yield Sample((x, -1, 1))
    yield Sample((x, (1, 2), (0, -1)))
    yield Sample((x, (1, 1), (1, 1)))
    yield Sample((x, 0, 0))


@samples("rot90")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample((x,))
    yield Sample((x, 2))
    yield Sample((x, -1, (1, 0)))
    yield Sample((x, 4))
    yield Sample((rng.normal(size=(2, 1, 3)), 3, [0, 2]))


@samples("tril", "triu")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4))
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, -1))
    yield Sample((complex_normal(rng, (2, 3, 3)),))
    yield Sample((np.ones((3, 3), bool),))
    yield Sample((np.zeros((0, 3)),))


@samples("constant_pad_nd")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)), (1, 2)))
    yield Sample((rng.normal(size=(2, 3)), [1, -1], 2.5))


@samples("pad")
def _(rng: Rng) -> Iterator[Sample]:
    path = "nn.functional.pad"
    x, y = rng.normal(size=(2, 4)), rng.normal(size=(1, 3, 4))
    yield Sample((x, (1, 2)), torch=path)
    yield Sample((x, (1, 2, 0, 1)), {"value": 3.0}, torch=path)
    yield Sample((x, (-1, 1)), torch=path)
    yield Sample((x, (-1, -2)), torch=path)
    yield Sample((x, ()), torch=path)
    yield Sample((np.arange(6).reshape(2, 3), (1, 1)), {"value": 7}, torch=path)
    # Of these, PyTorch's gradient has a graph although it does not depend on x.
    once: dict[str, Any] = {"torch": path, "second_order": False}
    for mode in ("reflect", "replicate", "circular"):
        yield Sample((x, (1, 2), mode), **once)
        yield Sample((x, (3, 0)), {"mode": mode}, **once)
        yield Sample((x, (-1, 2)), {"mode": mode}, **once)
        yield Sample((y, (1, 2, 2, 1), mode), **once)
        yield Sample((rng.normal(size=(1, 1, 2, 2, 2)), (1,) * 6, mode), **once)


@samples("meshgrid")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=3), rng.normal(size=2)
    yield Sample((x, y), {"indexing": "ij"})
    yield Sample((x, y), {"indexing": "xy"})
    yield Sample((x, y, rng.normal(size=())), {"indexing": "xy"})
    yield Sample(([x],), {"indexing": "ij"})


@samples("cartesian_prod")
def _(rng: Rng) -> Iterator[Sample]:
    x, y = rng.normal(size=3), rng.normal(size=2)
    yield Sample((x, y))
    yield Sample((x,))
    yield Sample((x, y, y))


@samples("linalg_vander")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 3)),), torch="linalg.vander")
    yield Sample((rng.normal(size=3),), {"N": 5}, torch="linalg.vander")
    yield Sample((np.arange(3),), torch="linalg.vander")


@samples("vander")
def _(rng: Rng) -> Iterator[Sample]:
    # PyTorch's vander changes what it saved, and has no gradient.
    x = rng.normal(size=3)
    yield Sample((x,), differentiate=False)
    yield Sample((x, 4, True), differentiate=False)
    yield Sample((x, 1), {"increasing": True}, differentiate=False)
    yield Sample((x, 0), differentiate=False)
    yield Sample((np.arange(4),))


# ---- helpers, which PyTorch has no name for ----


@samples("view_shape")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), (2, 6)), torch="Tensor.view")


@samples("view_dtype")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=(3, 4)).astype(np.float32)
    yield Sample((x, adjoint.int32), torch="Tensor.view", differentiate=False)
    yield Sample((x, adjoint.int64), torch="Tensor.view", differentiate=False)


@samples("basic_index")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(3, 4)), (1,)), torch=method("__getitem__"))
    yield Sample((rng.normal(size=(3, 4)), (slice(1, None), None, 2)), torch=method("__getitem__"))


@samples("basic_place")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((rng.normal(size=(2, 1)), (3, 4), (slice(1, None), None, 2)), torch=added)


@samples("diagonal_place")
def _(rng: Rng) -> Iterator[Sample]:
    def placed(x: Any, shape: Any, offset: int, dim1: int, dim2: int) -> Any:
        return x.new_zeros(shape).diagonal_scatter(x, offset, dim1, dim2)

    yield Sample((rng.normal(size=(2, 3)), (4, 2, 3), -1, 0, 2), torch=placed)


@samples("strided_view")
def _(rng: Rng) -> Iterator[Sample]:
    def viewed(x: Any, size: Any, stride: Any, offset: int, source: Any) -> Any:
        return x.as_strided(size, stride, offset)

    x = rng.normal(size=(3, 4))
    yield Sample((x, (3, 3), (1, 1), 2, ((3, 4), (4, 1), 0)), torch=viewed)


@samples("through_memory")
def _(rng: Rng) -> Iterator[Sample]:
    def read(x: Any, source: Any, target: Any, mean: str) -> Any:
        return x.as_strided(*target)

    whole = ((3, 4), (4, 1), 0)
    yield Sample((rng.normal(size=(3, 4)), whole, ((3, 3), (1, 1), 2), "source"), torch=read)


@samples("folded")
def _(rng: Rng) -> Iterator[Sample]:
    def folded(x: Any, shape: Any, dimension: int, size: int, step: int) -> Any:
        whole = x.new_zeros(shape)
        for i in range(x.shape[dimension]):
            part = whole.narrow(dimension, i * step, size)
            whole = whole.slice_scatter(
                part + x.select(dimension, i).movedim(-1, dimension),
                dimension,
                i * step,
                i * step + size,
            )
        return whole

    yield Sample((rng.normal(size=(2, 3, 3)), (2, 5), 1, 3, 1), torch=folded)
    yield Sample((rng.normal(size=(2, 2, 2)), (2, 4), 1, 2, 2), torch=folded)


@samples("repeated_index")
def _(rng: Rng) -> Iterator[Sample]:
    yield Sample((np.array([1, 0, 2]),), torch="repeat_interleave")


@samples("combinations")
def _(rng: Rng) -> Iterator[Sample]:
    x = rng.normal(size=4)
    yield Sample((x,))
    yield Sample((x, 3))
    yield Sample((x, 1))
    yield Sample((x, 5))
    yield Sample((x, 2, True))
    yield Sample((np.zeros(0), 2))
    yield Sample((x, 0), differentiate=False)


@samples("as_strided_scatter")
def _(rng: Rng) -> Iterator[Sample]:
    def written(x: Any, src: Any, *pattern: Any) -> Any:
        """PyTorch's own answers the gradient of src as that of x, and zeros elsewhere."""
        x = x.clone()
        x.as_strided(*pattern).copy_(src)
        return x

    x = rng.normal(size=(3, 4))
    yield Sample((x, rng.normal(size=(2, 2)), (2, 2), (4, 1)), torch=written)
    yield Sample((x, rng.normal(size=3), (3,), (2,), 3), torch=written)
