"""The view functions again, as copies: view_copy for view, and so on."""

import operator
from collections.abc import Callable
from typing import Any

from adjoint.call.out import write_out
from adjoint.call.rule import FRONT
from adjoint.dtypes import dtype
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.conversion import alias, clone, contiguous_format
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.questions import detach
from adjoint.ops.arranging.shape import (
    basic_index,
    cat,
    chunk,
    chunk_lengths,
    expand,
    narrow,
    permute,
    reshape,
    select,
    split,
    split_lengths,
    split_with_sizes,
    squeeze,
    t,
    transpose,
    unbind,
    unsqueeze,
    view,
)
from adjoint.ops.arranging.strided import as_strided, unfold
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from adjoint.ops.op import composite, linear
from adjoint.tensors.tensor import AS_IS, Tensor


def _slice(input: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    """Every step-th element of dim from start up to end."""
    if input.ndim == 0:
        raise IndexError("slice(): a 0-d tensor has no dimension to cut")
    if step < 1:
        raise RuntimeError(f"slice(): the step must be positive, got {step}")
    place = normal_dim(dim, input.ndim)
    return basic_index(input, (slice(None),) * place + (slice(start, end, step),))


def _narrow(input: Value, dim: int, start: Any, length: int) -> Value:
    """length elements of dim from start; a dimension beyond the last is no index here."""
    if dim >= input.ndim:
        raise RuntimeError(f"narrow_copy(): there is no dimension {dim} among {input.ndim}")
    if input.layer is None or not input.layer.sparse:
        return narrow(input, dim, start, length)
    first = start + input.shape[dim] if start < 0 else start
    if not 0 <= first <= first + length <= input.shape[dim]:
        raise RuntimeError(
            f"narrow_copy(): {length} elements from {start} are not in a dimension of "
            f"{input.shape[dim]}"
        )
    rows = Tensor(input.layer.xp.arange(first, first + length), AS_IS)
    picked: Any = index_select(input, dim, rows)
    return picked.coalesce() if input.is_coalesced() else picked


def _view(input: Any, size: Any) -> Any:
    """Another shape or data type; since it is copied, memory in any order will do for a shape."""
    return view(input, size) if isinstance(size, dtype) else reshape(input, size)


def _in_order(shown: Value) -> Value:
    """A copy in which the elements lie in the order of their indices."""
    return clone(shown, memory_format=contiguous_format)


def _copied(name: str, function: Callable[..., Any], method: bool = False) -> Any:
    """The public function called `name`: what a view function shows, in memory of its own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _in_order(function(*args, **kwargs))

    return _public(name, function, call, method)


@linear(
    input=lambda grads, dim: cat(list(grads), dim),
    batching=FRONT,
    node_name="SplitWithSizesBackward0",
    home=None,
)
def copied_pieces(xp: Any, input: Array, split_sizes: Any, dim: int = 0) -> tuple[Array, ...]:
    """What split_with_sizes shows, each piece in memory of its own."""
    pieces = split_with_sizes.forward(xp, input, split_sizes, dim)
    return tuple([xp.copied(piece, ordered=True) for piece in pieces])


def _lengths(input: Value, split_sizes: Any, dim: int = 0) -> tuple[Value, tuple[int, ...], int]:
    """See split_lengths."""
    return input, tuple(map(operator.index, split_sizes)), dim


def _copied_parts(
    name: str, function: Callable[..., Any], lengths: Any = None, method: bool = False
) -> Any:
    """The same of several views; nothing is answered when they are written to a list as out=.

    `lengths` says how long pieces are that lie one after the other.
    """

    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            write_out(name, function(*args, **kwargs), out, True)
            return None
        if lengths is not None:
            return copied_pieces(*lengths(*args, **kwargs))
        return tuple(map(_in_order, function(*args, **kwargs)))

    return _public(name, function, call, method)


def _public(name: str, function: Any, call: Any, method: bool) -> Any:
    """The call, declared under its name and shown as the view function is."""
    call.__wrapped__ = function  # whose signature it has, and whose kinds of arguments
    call.__annotations__ = dict(getattr(function, "__annotations__", {}))
    call.__name__ = call.__qualname__ = name
    shown_by = name.removesuffix("_copy").removeprefix("unsafe_")
    call.__doc__ = f"A copy of what {shown_by} shows."
    return composite(method=method, exact_out=True)(call)


alias_copy = _copied("alias_copy", alias)
as_strided_copy = _copied("as_strided_copy", as_strided)
detach_copy = _copied("detach_copy", detach)
expand_copy = _copied("expand_copy", expand)
narrow_copy = _copied("narrow_copy", _narrow, method=True)
permute_copy = _copied("permute_copy", permute)
select_copy = _copied("select_copy", select)
slice_copy = _copied("slice_copy", _slice)
split_copy = _copied_parts("split_copy", split, split_lengths)
split_with_sizes_copy = _copied_parts("split_with_sizes_copy", split_with_sizes, _lengths)
squeeze_copy = _copied("squeeze_copy", squeeze)
t_copy = _copied("t_copy", t)
transpose_copy = _copied("transpose_copy", transpose)
unbind_copy = _copied_parts("unbind_copy", unbind)
unfold_copy = _copied("unfold_copy", unfold)
unsqueeze_copy = _copied("unsqueeze_copy", unsqueeze)
view_as_complex_copy = _copied("view_as_complex_copy", view_as_complex)
view_as_real_copy = _copied("view_as_real_copy", view_as_real)
view_copy = _copied("view_copy", _view)

# PyTorch's are views that may be changed apart; as copies they can be, too.
unsafe_chunk = _copied_parts("unsafe_chunk", chunk, chunk_lengths, method=True)
unsafe_split = _copied_parts("unsafe_split", split, split_lengths, method=True)
unsafe_split_with_sizes = _copied_parts(
    "unsafe_split_with_sizes", split_with_sizes, _lengths, method=True
)
