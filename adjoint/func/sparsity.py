"""Jacobians of which most is known to be zero: columns that never meet are computed together."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.creation.from_memory import from_numpy
from adjoint.func.batching import vmap
from adjoint.func.forward import check_directions, jacfwd, jvp
from adjoint.func.reverse import chosen, jacrev
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import Tensor

np = numpy_backend.xp


def jacobian(
    func: Callable[..., Any], argnum: int = 0, *, sparsity: Any = None
) -> Callable[..., Any]:
    """A function that answers the Jacobian of func by one argument: output's dimensions first.

    `sparsity` says where it can differ from zero: a matrix of bools, or one of SciPy's sparse ones,
    with a row for each element of the output and a column for each of the input. Columns that share
    no row are then found by one forward derivative. Without it the Jacobian is computed by forward
    mode or by backward, whichever takes fewer passes.
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any) -> Any:
        (number,) = chosen(argnum, args, "jacobian")
        point: Any = args[number]
        check_directions([point], [point], "jacobian")

        def at(value: Any) -> Any:
            return func(*args[:number], value, *args[number + 1 :])

        if sparsity is not None:
            return _coloured(at, point, sparsity)
        output = at(point.detach())
        narrow = isinstance(output, Tensor) and output.array.size < point.array.size
        return (jacrev if narrow else jacfwd)(at)(point)

    return wrapper


def _coloured(func: Callable[..., Any], point: Tensor, sparsity: Any) -> Tensor:
    """A Jacobian by as many forward derivatives as there are colours."""
    rows, columns, shape = places(sparsity)
    if shape[1] != point.array.size:
        raise ValueError(
            f"jacobian: sparsity has {shape[1]} columns, but the input has {point.array.size} "
            "elements"
        )
    colours = coloured(rows, columns, shape[1])
    count = int(colours.max()) + 1 if colours.size else 0
    kind = point.array.dtype
    seeds = np.zeros((max(count, 1), shape[1]), kind)
    seeds[colours, np.arange(shape[1])] = 1
    made: Any = from_numpy(seeds)
    directions: Any = made.to(point.device)

    def along(direction: Any) -> Any:
        return jvp(func, (point,), (direction,))[1]

    products: Any = vmap(along)(directions.reshape((-1, *point.shape)))
    size = products.array.size // max(int(products.shape[0]), 1)
    if size != shape[0]:
        raise ValueError(
            f"jacobian: sparsity has {shape[0]} rows, but the output has {size} elements"
        )
    flat = products.reshape((products.shape[0], -1))
    found = flat[from_numpy(colours[columns]), from_numpy(rows)]
    dense: Any = flat.new_zeros(shape)
    filled = dense.index_put((from_numpy(rows), from_numpy(columns)), found)
    whole: Tensor = filled.reshape((*products.shape[1:], *point.shape))
    return whole


def places(sparsity: Any) -> tuple[Any, Any, tuple[int, int]]:
    """The rows and the columns where a matrix is not zero, and its shape."""
    if hasattr(sparsity, "tocoo"):
        entries = sparsity.tocoo()
        return entries.row.astype("int64"), entries.col.astype("int64"), entries.shape
    dense = np.asarray(concrete(sparsity) if isinstance(sparsity, Tensor) else sparsity)
    if dense.ndim != 2:
        raise ValueError(f"jacobian: sparsity must be a matrix, got {dense.ndim} dimensions")
    rows, columns = np.nonzero(dense)
    return rows, columns, dense.shape


def coloured(rows: Any, columns: Any, count: int) -> Any:
    """A colour for each column, greedily, such that columns of one colour share no row."""
    colours = np.zeros(count, "int64")
    order = np.argsort(columns, kind="stable")
    by_column = np.split(rows[order], np.searchsorted(columns[order], np.arange(1, count)))
    taken: list[set[int]] = []  # the rows of each colour
    for column in range(count):
        own = set(by_column[column].tolist())
        free = [colour for colour, others in enumerate(taken) if not own & others]
        colour = free[0] if free else len(taken)
        if not free:
            taken.append(set())
        taken[colour] |= own
        colours[column] = colour
    return colours
