"""What views and indexing answer or refuse, expression by expression, as PyTorch does.

Only the type of an exception is compared: the words are adjoint's own.
"""

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.ops import find_function
from adjoint.tensors.tensor import Tensor

torch = pytest.importorskip("torch")

READS = """
x[3]; x[-4]; x[0, 0, 0]; x[::-1]; x[::0]; x[5:]; x[2:1]; x[-2:]; x[0:3:2]; x[None]; x[..., None]
x[..., ...]; x[..., ..., None]; x[0, ..., 1, ...];
x[0, ..., 1]; x[True]; x[False]; x[True, 0]; x[m]; x[m[0]]; x[:, m[0]]; x[m[:, :2]]
x[m[None]]; x[i]; x[i, i]; x[i, np.array([0, 1, 2])]; x[[0, 1]]; x[[0, 1], [1, 2]]; x[z0:]; x[z0]
x[[[0, 1], [1, 2]]]; x[[0, slice(None)]]; x[(0, 1)]; x[[True, False, True]]; x[[m]]; x[[i, i]]
x[range(2)]; x[np.array([0, 2])]; x[np.array(1)]; x[np.int64(1)]; x[np.array([True, False, True])]
x[z]; x[1.5]; x['a']; x[:, 1.0]; x[i, None]; x[None, i]; x[0, :, None]; x[None][0, :, i]; x[{}]
x[None][:, i, 0]; x[None][0, i, 0]; x[None][i * 0, :, i]; x[i + 1]; x[i - 3]; x[i - 4]; x[[]]
x[np.zeros(0, int)]; x[x]; z[()]; z[...]; z[None]; z[0]; z[True]; z[False]; x[()]; x[:, None, i]
x[True, i]; x[i, True]; x[1, True]; x[[0, 1], :, None]; x[None, m]; x[slice(1.0, 2)]; x[m, 0]
x[[z0, 2]]; x[[[0], [1]], [0, 1]]; x[i[:, None], i]; x[None, None, 0]; x[m[:, 0], 0]
x[u8]; x[u8[0]]
"""

WRITES = """
x[0] = 1; x[0] = 1j; xi[0] = 1.5; x[0] = [1, 2, 3, 4]; x[0] = np.float64(3); x[0] = None; x[0] = 'a'
x[0] = x[1:2]; x[0] = x[None, 1:2]; x[0] = x[:2]; x[0] = x[0, :3]; x[0] = x[1, :1]; x[m] = 7
x[m] = x[m] * 2; x[m] = x[0]; x[m] = x[0, 1:2]; x[m] = z; x[i] = y[1]; x[i] = y[1:2]; x[i] = x
x[i] = y[None, 1:2]; x[i] = 1j; xi[i] = 1.5; x[[1, 2]] = x[[0, 1]]; x[i, i] = y[0, :2]; x[True] = 5
x[:, 0] = x[0, :3]; x[False] = 5; x[None] = 5; x[...] = 5; x[()] = 5; z[()] = 5; z[...] = 5
z[0] = 1; z[True] = 4; z[z > 0] = 9; x[x > 5] = 0; x[3] = 1; x[::-1] = 1; x[i + 5] = 1; m[0] = 2
x[0, 1] = x[:1, :1]; m[0] = 0.5; x[0] = True; x[i, 0] = x[:2, :1]; x[:, i] = y[0, :2]; x[z] = 1
x[0, i] = y[:1, :2]; x[m[:, 0]] = 1; x[g] = 1; x[0] = xi[1]; x[0:2] = x[:2, 1:2] * 1; x[[]] = x[:0]
x[2:1] = x[:0]; x[2:1] = x; x[2:1] = 1; x[0] = d[1]; xi[0] = x[1] + 0.5
"""

VIEWS = """
x.reshape(-1, 0); x[:0].reshape(-1, 0); x.reshape(2, -1, -1); x.reshape(-3, 4); x.reshape(())
x.T.reshape(12); x.T.view(12); x.view(5); x.flatten(1, 0); z.flatten(); x.unflatten(1, (2, 3))
x.unflatten(1, (2, -1)); x.unflatten(1, (-1, -1)); x.unflatten(0, ()); x.squeeze((0, 0))
x.squeeze(5); x.unsqueeze(3); x.unsqueeze(-4); x.transpose(0, 2); z.transpose(0, -1); x[None].t()
x.permute(0, 0); x.permute(0); x.movedim(0, 5); x.movedim((0, 1), (1, 1)); x.movedim((0,), (1, 0))
x[0].adjoint(); x[0].mT; x[0].T; x[None].T; x[None].H; x[0].H; z.mT; z.H; x.expand(-1, 3, 4)
x.expand(3, 5); x.expand(4); x[:1].expand(-3, 4); x.narrow(0, 1, 3); x.narrow(0, -1, 1)
x.narrow(0, 4, 0); x.narrow(0, 3, 0); x.narrow(0, 0, -1); z.narrow(0, 0, 1); x.narrow(5, 0, 0)
x.select(0, 3); x.select(0, -3); x.select(0, -4); z.select(0, 0); x.diagonal(9); x.diagonal(0, 0, 0)
x.diagonal(0, 0, 2); x[0].diagonal(); x.unfold(1, 5, 1); x.unfold(1, 2, 0); x.unfold(1, -1, 1)
x.unfold(1, 0, 1); z.unfold(0, 1, 1); z.unfold(0, 0, 1); z.unfold(0, 2, 1); x.split(0); x.split(-1)
x[:0].split(0); x.split([1, 1]); x.split([-1, 4]); x.split(2, 5); z.split(1); x.chunk(0)
x[:0].chunk(3); x.chunk(5); x.tensor_split(0); x.tensor_split((5, 2)); z.tensor_split(2)
x.tensor_split(z0 + 1); x.tensor_split(i); x.hsplit(3); x.vsplit(2); x[0].vsplit(2); x.dsplit(2)
z.hsplit(1); x.unbind(5); z.unbind(); x[:0].unbind(); x.as_strided((2, 2), (1, 1), 11)
x.as_strided((2, 2), (1,)); x.as_strided((2, 2), (-1, 1)); x[1].as_strided((2,), (1,))
x[1].as_strided((2,), (1,), 0); x[1:, 1].as_strided((2, 2), (2, 1)); x.view_as(x[0])
x.reshape_as(x[0]); f.broadcast_tensors(x, x[0, :2]); x.broadcast_to((2, 3)); x.expand_as(x[0])
"""

COPIES = """
f.cat([x, z]); f.cat([z]); f.cat([x, xi]); f.cat([x, x[0]]); f.cat([x, x[:, :2]]); f.cat((x, x), 5)
f.cat([x, x], axis=1); f.cat(x); f.stack([x, x[:2]]); f.stack([x, x], 5); f.hstack([])
f.hstack([z, x[0]]); f.vstack([x[0], x]); f.column_stack([x, x[:, 0]]); x.repeat(2); x.repeat(-1, 1)
x.repeat(0, 1); z.repeat(2); x.tile(2); x.tile(()); x.repeat_interleave(i, 0); x.flip(0, 0)
x.flip(2)
x.repeat_interleave(-1); x.repeat_interleave(i - 1, 0); x.repeat_interleave(x[:, 0], 0)
x.repeat_interleave(2, 0, output_size=5); x.repeat_interleave(xi[0, :3], 0, output_size=4)
z.repeat_interleave(2); z.flip(0); x[0].fliplr(); z.flipud(); x.roll((1, 2), 0); x.roll((1, 2))
x.roll(1, (0, 1)); x.roll(5, 2); z.roll(1); z.roll(1, 0); x.rot90(1, (0, 0)); x[0].rot90()
x.rot90(1, (0, 1, 2)); x.rot90(1, (0, 5)); x[0].tril(); m.triu(); z.diag(); x[None].diag()
z.diag_embed(); x.diag_embed(0, 0, 0); f.block_diag(x[None]); f.cartesian_prod(x)
f.cartesian_prod(x[0], xi[0]); f.meshgrid(x, x); f.meshgrid(x[0], xi[0])
f.meshgrid(x[0], indexing='zz'); f.meshgrid(x[0], x[1, :2], indexing='xy'); f.vander(x)
f.vander(x[0], -1); n.pad(x, (1,)); n.pad(x, (-3, -2)); n.pad(x, (1, 1, 1, 1, 1, 1))
n.pad(x, (4, 0), 'reflect'); n.pad(x[0], (1, 2), 'reflect'); n.pad(x, (1, 2, 1, 1), 'reflect')
n.pad(x[None, None], (1, 2), 'reflect'); n.pad(x, (5, 0), 'circular'); n.pad(x, (1, 2), 'zz')
n.pad(x, (1, 2), 'reflect', 1.0); n.pad(x, (1, 2), 'reflect', 0.0); n.pad(xi, (1, 2), value=1.5)
n.pad(xi, (1, 2), 'reflect'); n.pad(m, (1, 2), value=1)
"""

CHOICES = """
x.gather(0, x[:2, :2]); x.gather(0, g - 1); x.gather(0, g + 2); x.gather(0, i); z.gather(0, z0 * 0)
x.gather(0, xi[:2, [0, 1, 2, 3, 0]] * 0); x.gather(2, g); x.scatter(0, g, d); x.scatter(0, g, x[:1])
x.scatter(0, g, z); x.scatter(0, g, x, reduce='zz'); x.scatter(0, g, 1j); x.scatter(0, g + 2, x)
x.scatter(0, g - 1, x); x.scatter_add(0, g, d); x.scatter_add(0, g, x[:1])
x.scatter_add(0, i, x[0])
x.scatter_add(0, g, 1.0); x.scatter_reduce(0, g, x, 'zz'); x.scatter_reduce(0, g, xi, 'sum')
x.index_select(0, g); x.index_select(0, i - 1); x.index_select(0, i + 2); x.index_select(2, i)
x.index_select(0, z0); z.index_select(0, i); z.index_select(0, z0 * 0); x.index_add(0, i, x)
x.index_add(0, i, d[:2]); x.index_add(0, i, x[:2, :1]); x.index_add(0, i - 1, x[:2])
x.index_add(0, i + 2, x[:2]); x.index_add(0, g, x[:2]); x.index_add(0, z0, x[0])
z.index_add(0, i[:1] * 0, x[0, :1]); x[0, :1].index_add(0, i[:1] * 0, z)
z.index_reduce(0, i[:1] * 0, x[0, :1], 'prod'); x[0, :1].index_reduce(0, i[:1] * 0, z, 'prod')
x.index_copy(0, i, x); x.index_copy(0, i, d[:2]); x.index_copy(0, i + 2, x[:2])
x.index_copy(0, i - 1, x[:2]); x.index_copy(0, i, x[:2, :1]); x.index_fill(0, i, x[0])
x.index_fill(0, i - 1, 5); x.index_fill(0, i - 4, 5); x.index_fill(0, i + 2, 5)
x.index_fill(0, i, 1j); x.index_put((i,), d[:2]); x.index_put((i,), x); x.index_put((i + 2,), z)
x.index_put((i,), 5.0); x.masked_fill(m, x[0]); x.masked_fill(u8, 1); x.masked_fill(m, 1j)
xi.masked_fill(m, z + 0.5); x.masked_fill(m[:, :2], 1); x.masked_fill(m, x[0, :1])
x[0].clone().masked_fill_(m, 1); x.masked_select(xi); x.masked_scatter(m, x[0])
x.masked_scatter(m, d); x.masked_scatter(xi, x); x.take(g + 20); x.take(g - 20); x.take(x)
x.take_along_dim(g, 0); x.take_along_dim(i, 0); x.put(g, x); x.put(g, d[:2, :2])
x.put(g + 20, x[:2, :2]); z.nonzero(); z.nonzero(as_tuple=True); n.one_hot(i, 2); n.one_hot(i - 1)
n.one_hot(i.int()); n.one_hot(i[:0]); x.clone().fill_(x[0]); xi.clone().fill_(2.5)
x.clone().fill_(1j)
x[0].clone().fill_diagonal_(1); x[None].clone().fill_diagonal_(1); x.select_scatter(x, 0, 1)
x.clone().fill_diagonal_(z); x.select_scatter(x[0], 0, 5); x.select_scatter(z, 0, 1)
x.slice_scatter(x, 0, 1); x.slice_scatter(x[:1], 0, -1); x.diagonal_scatter(x[0])
"""


def lines(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", ";").split(";") if part.strip()]


class Functions:
    """adjoint's functions under their public names."""

    def __getattr__(self, name: str) -> Any:
        return find_function(name)


def names(make: Any, functions: Any, neural: Any) -> dict[str, Any]:
    """What an expression can refer to, made anew for each."""
    count = np.arange(12)
    arrays = {
        "x": count.astype(np.float32).reshape(3, 4),
        "y": count[::-1].astype(np.float32).reshape(3, 4),
        "xi": count.reshape(3, 4),
        "d": count.astype(np.float64).reshape(3, 4),
        "z": np.array(1, np.float32),
        "z0": np.array(1),
        "m": count.reshape(3, 4) % 2 == 0,
        "u8": (count.reshape(3, 4) % 2 == 0).astype(np.uint8),
        "i": np.array([0, 2]),
        "g": np.array([[0, 1], [2, 0]]),
    }
    made = {name: make(array.copy()) for name, array in arrays.items()}
    return {**made, "np": np, "f": functions, "n": neural, "slice": slice, "range": range}


def plain(result: Any) -> Any:
    """A result that can be compared: values with shape and data type."""
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    if isinstance(result, torch.Tensor):
        result = result.numpy()
    if isinstance(result, Tensor):
        result = result.array
    return (result.shape, str(result.dtype), result.tolist())


def outcome(expression: str, scope: dict[str, Any]) -> Any:
    """The plain result, or the type of the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if " = " in expression:
                exec(expression, scope)
                return plain(scope[expression.partition("[")[0]])
            return plain(eval(expression, scope))
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


@pytest.mark.parametrize("expression", lines(READS + WRITES + VIEWS + COPIES + CHOICES))
def test_as_pytorch(expression: str) -> None:
    ours = outcome(expression, names(adjoint.from_numpy, Functions(), Functions()))
    theirs = outcome(expression, names(torch.tensor, torch, torch.nn.functional))
    assert ours == theirs


def test_node_names() -> None:
    """The last step of an index has PyTorch's name."""
    for expression in lines("x[0]; x[1:]; x[:]; x[i]; x[i, 0]; x[m]; x[[0, 1]]; x[z0]; x[True]"):
        found = []
        for make in (adjoint.from_numpy, torch.tensor):
            scope = names(make, None, None)
            scope["x"].requires_grad_()
            found.append(eval(expression, scope).grad_fn.name())
        assert found[0] == found[1], expression


VALUES = {
    "one double": lambda torch: torch.tensor([1.5], dtype=torch.float64),
    "a double": lambda torch: torch.tensor(1.5, dtype=torch.float64),
    "whole": lambda torch: torch.tensor([[2]]),
    "a truth": lambda torch: torch.tensor(True),
    "complex": lambda torch: torch.tensor(1 + 2j),
    "two doubles": lambda torch: torch.tensor([1.0, 2.0], dtype=torch.float64),
}
PLACES = {
    "mask": lambda z, mask, value: z.__setitem__(mask, value),
    "mask of rows": lambda z, mask, value: z.__setitem__(mask[0], value),
    "mask of columns": lambda z, mask, value: z.__setitem__((slice(None), mask[0]), value),
    "index_put_": lambda z, mask, value: z.index_put_((mask,), value),
    "added": lambda z, mask, value: z.index_put_((mask,), value, accumulate=True),
    "places": lambda z, mask, value: z.__setitem__(mask[0].nonzero()[:, 0], value),
}


@pytest.mark.parametrize("kind", ["float32", "int64", "bool", "complex64", "float16"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", VALUES)
def test_one_number_of_another_type_at_a_mask(torch, value, place, kind):
    """A mask is filled with one number of any type, which must not lose an imaginary part."""
    found = []
    for library in (adjoint, torch):
        z = library.zeros((2, 2), dtype=getattr(library, kind))
        mask = library.tensor([[True, False], [False, True]])
        try:
            PLACES[place](z, mask, VALUES[value](library))
        except RuntimeError:
            found.append("refused")
        else:
            found.append(z.tolist())
    assert found[0] == found[1]
