"""Second derivatives and beyond without a whole Hessian: hvp, its diagonal, laplacian, taylor."""

import functools
import math
from collections.abc import Callable
from typing import Any

from adjoint.func.batching import name_of, vmap
from adjoint.func.forward import check_directions, jvp
from adjoint.func.reverse import basis_of, chosen, grad
from adjoint.pytree import tree_map
from adjoint.tensors.tensor import Tensor


def hvp(func: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The product of func's Hessian at primals with tangents: forward mode over backward.

    func answers one number. The product has the structure of primals, without the tuple if there is
    but one.
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise TypeError(
                f"hvp: expected {what} to be a tuple, got {type(given).__name__}; for a single "
                "argument write (x,)"
            )
    numbers = tuple(range(len(primals)))
    product = jvp(grad(func, numbers), primals, tangents)[1]
    return product[0] if len(primals) == 1 else product


def _along_basis(func: Callable[..., Any], args: tuple[Any, ...], argnum: Any, name: str) -> Tensor:
    """The second derivatives of func along each unit vector of an argument, as rows."""
    (number,) = chosen(argnum, args, name)
    point: Any = args[number]
    check_directions([point], [point], name)

    def at(value: Any) -> Any:
        output = func(*args[:number], value, *args[number + 1 :])
        if not isinstance(output, Tensor):
            raise RuntimeError(
                f"{name}: expected {name_of(func)} to return a Tensor, got {type(output).__name__}"
            )
        return output

    def along(direction: Any) -> Any:
        def slope(value: Any) -> Any:
            return jvp(at, (value,), (direction,))[1]

        return jvp(slope, (point,), (direction,))[1]

    basis: Any = basis_of([point])[0]
    rows: Tensor = vmap(along)(basis.reshape((-1, *point.shape)))
    return rows


def hessian_diagonal(func: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function that answers the diagonal of the Hessian of func by one argument, in its shape.

    By forward mode twice, for all elements at once; func may answer several numbers, whose
    dimensions then come first.
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any) -> Tensor:
        rows: Any = _along_basis(func, args, argnum, "hessian_diagonal")
        shape = args[argnum].shape
        found: Tensor = rows.movedim(0, -1).reshape((*rows.shape[1:], *shape))
        return found

    return wrapper


def laplacian(func: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]:
    """A function that answers the Laplacian of func by one argument.

    It is the sum of the second derivatives by each element, in one forward pass over all of them.
    """

    @functools.wraps(func, updated=())
    def wrapper(*args: Any) -> Tensor:
        rows: Any = _along_basis(func, args, argnum, "laplacian")
        total: Tensor = rows.sum(0)
        return total

    return wrapper


def taylor(func: Callable[..., Any], primal: Any, tangent: Any, order: int) -> tuple[Any, ...]:
    """The Taylor coefficients of t ↦ func(primal + t * tangent) at 0, up to an order.

    The k-th is the k-th derivative along the line, divided by k!. By nested forward mode, whose
    work doubles with each order.
    """
    if isinstance(order, bool) or not isinstance(order, int) or order < 0:
        raise ValueError(f"taylor: order must be an int that is not negative, got {order!r}")
    check_directions([primal], [tangent], "taylor")

    def derivatives(value: Any, count: int) -> tuple[Any, ...]:
        """func's value and its derivatives along the line, so many."""
        if count == 0:
            return (func(value),)
        lower, slopes = jvp(lambda x: derivatives(x, count - 1), (value,), (tangent,))
        return (*lower, slopes[-1])

    found = derivatives(primal, order)
    return tuple(
        tree_map(lambda leaf, k=k: leaf / math.factorial(k) if k > 1 else leaf, each)
        for k, each in enumerate(found)
    )
