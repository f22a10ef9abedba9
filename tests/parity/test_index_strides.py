"""How what an index picks lies in memory: as in PyTorch, however the tensor itself does."""

import numpy as np
import pytest

import adjoint

TENSORS = {
    "in order": lambda t: t.arange(24.0).reshape(2, 4, 3),
    "last two turned": lambda t: t.arange(24.0).reshape(2, 4, 3).transpose(1, 2),
    "first two turned": lambda t: t.arange(24.0).reshape(2, 4, 3).transpose(0, 1),
    "in columns": lambda t: t.arange(24.0).reshape(2, 4, 3).transpose(0, 2),
    "moved": lambda t: t.arange(24.0).reshape(2, 4, 3).permute(1, 2, 0),
    "every second": lambda t: t.arange(96.0).reshape(4, 4, 6)[::2, :, ::2],
    "every second, turned": lambda t: t.arange(96.0).reshape(4, 4, 6)[::2, :, ::2].mT,
    "repeated": lambda t: t.arange(4.0).reshape(4, 1).expand(2, 4, 3),
}
INDICES = {
    "first": lambda t, x, i: x[i],
    "a list": lambda t, x, i: x[[0, 1]],
    "a matrix": lambda t, x, i: x[t.stack([i, i])],
    "a turned matrix": lambda t, x, i: x[t.stack([i, i, i]).t()],
    "second": lambda t, x, i: x[:, i],
    "last": lambda t, x, i: x[..., i],
    "a turned matrix at the end": lambda t, x, i: x[..., t.stack([i, i, i]).t()],
    "two": lambda t, x, i: x[i, i],
    "two at the end": lambda t, x, i: x[:, i, i],
    "two apart": lambda t, x, i: x[i, :, i],
    "three": lambda t, x, i: x[i, i, i],
    "two that are spread": lambda t, x, i: x[:, i[:, None], i],
    "a mask": lambda t, x, i: x[t.arange(x.shape[0]) > 0],
    "a mask of the second": lambda t, x, i: x[:, t.arange(x.shape[1]) > 0],
    "a mask of two": lambda t, x, i: x[t.ones(x.shape[:2], dtype=t.bool)],
    "a mask of all": lambda t, x, i: x[x > 3],
    "after a new dimension": lambda t, x, i: x[None, i],
    "before a new dimension": lambda t, x, i: x[i, None],
    "before a slice": lambda t, x, i: x[i, 1:],
    "after a slice": lambda t, x, i: x[1:, i],
    "after a number": lambda t, x, i: x[0, i],
    "one element": lambda t, x, i: x[i[:1]],
    "repeated": lambda t, x, i: x[i[:1].expand(3)],
    "index_select": lambda t, x, i: x.index_select(1, i),
    "gather": lambda t, x, i: x.gather(1, i.reshape(2, 1, 1)),
    "take": lambda t, x, i: t.take(x, t.stack([i, i, i]).t()),
    "take_along_dim": lambda t, x, i: t.take_along_dim(x, i.reshape(2, 1, 1)[: x.shape[0]], 1),
}


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("tensor", TENSORS)
def test_strides_of_what_an_index_picks(torch, tensor, index):
    found = []
    for library in (torch, adjoint):
        x, i = TENSORS[tensor](library), library.tensor([0, 1])
        try:
            found.append(INDICES[index](library, x, i))
        except RuntimeError:  # a shape that does not fit, in both
            found.append(None)
    theirs, ours = found
    assert (theirs is None) == (ours is None)
    if theirs is not None:
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
        assert tuple(ours.stride()) == tuple(theirs.stride())


def test_a_recorded_index_of_a_turned_tensor_has_its_gradient(torch):
    found = []
    for library in (torch, adjoint):
        x = library.arange(24.0).reshape(2, 4, 3).requires_grad_()
        picked = x.transpose(1, 2)[library.tensor([1, 1, 0])]
        (picked * library.arange(36.0).reshape(3, 3, 4)).sum().backward()
        found.append(x.grad.numpy())
    np.testing.assert_array_equal(*found)
