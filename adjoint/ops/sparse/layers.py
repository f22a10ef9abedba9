"""A sparse tensor is a Tensor in a layer that keeps some elements and says where they lie.

Its array has the shape and the data type, and no memory: it repeats one zero. Calls reach the
layer by the way that instances of classes with `__torch_dispatch__` go, so that plain tensors pay
nothing; those that it does not know by name it refuses (docs/notes/sparse.md).
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.backends import backend_for, backend_of, lookup
from adjoint.backends.numpy import host
from adjoint.call.context import Changed
from adjoint.call.layers import Ground, Layer, with_layer
from adjoint.call.out import refuse_gradient
from adjoint.device import device
from adjoint.dtypes import can_cast, dtype
from adjoint.ops.arranging.conversion import (
    copy_,
    layout,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    to,
)
from adjoint.ops.sparse.patterns import (
    indices_of,
    joined,
    numbers_of,
    paired,
    places_of,
    starts_of,
)
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import AS_IS, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from adjoint.ops.op import Op

GROUND: Final = Ground("a sparse tensor", -1)

# By the name of an op: what it answers where one of its arguments is sparse (see answers).
ANSWERS: "Final[dict[str, Callable[..., Any]]]" = {}


def as_tensor(value: Any) -> Any:
    """An argument as a Tensor, if it is an array: rules on raw gradients give such ones."""
    if isinstance(value, Tensor) or lookup(type(value)) is None:
        return value
    return Tensor(value, AS_IS)


def refused(name: str, kind: layout) -> NotImplementedError:
    """The error about an op that sparse tensors do not have."""
    return NotImplementedError(
        f"{name}(): not defined for tensors of layout {kind.name}; convert with to_dense() first"
    )


class Sparse(Layer):
    """The kept elements of a tensor; it is never changed, a tensor that is gets another."""

    layout: layout

    def __init__(self, elements: Tensor, shape: tuple[int, ...]) -> None:
        super().__init__(GROUND)
        self.wraps = True
        self.sparse = True
        self.elements = elements
        self.shape = tuple(shape)

    @property
    def xp(self) -> Any:
        """The library of its arrays."""
        return backend_of(concrete(self.elements)).xp

    def indices(self) -> Any:
        """An array with a column for each kept element."""
        raise NotImplementedError

    def sparse_sizes(self) -> tuple[int, ...]:
        """The sizes of the dimensions that indices count."""
        raise NotImplementedError

    def joined(self) -> "Sparse":
        """The same with each place once, and in order; itself if it is so."""
        raise NotImplementedError

    def holding(self, elements: Tensor) -> "Sparse":
        """Other elements in the same places."""
        raise NotImplementedError

    def like(self, other: "Coordinates") -> "Sparse":
        """Elements of another tensor in the layout of this one."""
        raise NotImplementedError

    # ---- see Layer ----

    def call(self, op: "Op", values: list[Any]) -> Any:
        answer = ANSWERS.get(op.name)
        if answer is None:
            raise refused(op.name, self.layout)
        with Changed({"grad_enabled": False}):
            return answer(*[as_tensor(value) for value in values])

    def change(self, op: "Op", values: list[Any]) -> None:
        target: Tensor = values[0]
        result: Tensor = self.call(op, values)
        own, new = sparse_of(target), sparse_of(result)
        if own is None and new is not None:  # it has room for all elements
            whole: Any = result
            result, new = whole.to_dense(), None
        fits = op.view or target.shape == result.shape
        if layout_of(target) is not layout_of(result) or not fits:
            raise RuntimeError(
                f"{op.name}_(): the result is of layout {layout_of(result).name} and shape "
                f"{list(result.shape)}, which a tensor of layout {layout_of(target).name} and "
                f"shape {list(target.shape)} can't become; use {op.name}()"
            )
        if not can_cast(result.dtype, target.dtype):
            raise RuntimeError(
                f"{op.name}_(): result type {result.dtype.name} can't be cast to the type of the "
                f"tensor, {target.dtype.name}"
            )
        with Changed({"grad_enabled": False}):
            if own is None or new is None:
                copy_(Tensor(concrete(target), AS_IS), result)
            else:
                target.layer = new.holding(to(new.elements, target.dtype))

    def made(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        answer = ANSWERS.get("ones_like" if name == "start" else name)
        if answer is None:
            raise refused(name, self.layout)
        made: Tensor = answer(*args, **{k: v for k, v in options.items() if v is not None})
        return made

    def own(self, op: "Op", values: list[Any]) -> Any:
        return op.evaluated(values)

    def renewed(self, tensor: Tensor) -> Tensor:
        return sparse_tensor(self)

    def detached(self) -> Layer:
        return self

    def copied(self) -> Layer:
        return self.holding(Tensor(self.xp.copied(concrete(self.elements)), AS_IS))

    def below(self) -> list[Tensor]:
        return []

    def parts(self, tensor: Tensor) -> list[Tensor]:
        return []

    def values(self, tensor: Tensor) -> Any:
        raise RuntimeError(self.value_refused())

    def notes(self) -> list[str]:
        return [f"size={self.shape}", f"nnz={self.elements.shape[0]}"]

    def value_refused(self) -> str | None:
        return (
            f"a tensor of layout {self.layout.name} has no array of all its elements; convert with "
            "to_dense() first"
        )


class Coordinates(Sparse):
    """Kept elements with the indices of each; `coalesced`: in order, and each place once."""

    layout = sparse_coo

    def __init__(
        self, places: Tensor, elements: Tensor, shape: tuple[int, ...], coalesced: bool = False
    ) -> None:
        super().__init__(elements, shape)
        self.places = places
        self.coalesced = coalesced or elements.shape[0] < 2

    def indices(self) -> Any:
        return concrete(self.places)

    def index(self) -> tuple[Any, ...]:
        """The kept places as an index of a dense tensor."""
        places: Any = self.places
        return tuple(places.unbind(0))

    def sparse_sizes(self) -> tuple[int, ...]:
        return self.shape[: self.places.shape[0]]

    def joined(self) -> "Coordinates":
        if self.coalesced:
            return self
        xp, sizes = self.xp, self.sparse_sizes()
        flat = places_of(xp, self.indices(), sizes)
        found, sums = joined(xp, flat, concrete(self.elements))
        return Coordinates(
            Tensor(indices_of(xp, found, sizes), AS_IS), Tensor(sums, AS_IS), self.shape, True
        )

    def holding(self, elements: Tensor) -> "Coordinates":
        return Coordinates(self.places, elements, self.shape, self.coalesced)

    def like(self, other: "Coordinates") -> Sparse:
        return other

    def becomes(self, tensor: Tensor, result: Tensor, name: str) -> bool:
        if not isinstance(result.layer, Coordinates):
            return False
        refuse_gradient(name, result, tensor)
        if not can_cast(result.dtype, tensor.dtype):
            raise RuntimeError(
                f"{name}(): result type {result.dtype.name} can't be cast to the desired output "
                f"type {tensor.dtype.name}"
            )
        with Changed({"grad_enabled": False}):
            take_over(tensor, to(result, tensor.dtype))
        return True

    def single(self, tensor: Tensor) -> Any:
        found = concrete(self.joined().elements)
        return found.reshape(-1)[0] if found.size else self.xp.zeros((), found.dtype)

    def shown_parts(self) -> dict[str, Tensor]:
        return {"indices": self.places, "values": self.elements}

    def copied(self) -> Layer:
        places = Tensor(self.xp.copied(concrete(self.places)), AS_IS)
        elements = Tensor(self.xp.copied(concrete(self.elements)), AS_IS)
        return Coordinates(places, elements, self.shape, self.coalesced)


class Compressed(Sparse):
    """Kept elements of a matrix row after row, or column after column if not `by_rows`."""

    def __init__(
        self,
        starts: Tensor,
        numbers: Tensor,
        elements: Tensor,
        shape: tuple[int, ...],
        by_rows: bool = True,
    ) -> None:
        super().__init__(elements, shape)
        self.starts = starts  # of each row, and the end of the last
        self.numbers = numbers  # the column of each element
        self.by_rows = by_rows
        self.layout = sparse_csr if by_rows else sparse_csc

    def indices(self) -> Any:
        numbers = concrete(self.numbers).astype("int64")
        pair = [numbers_of(self.xp, concrete(self.starts)), numbers]
        return self.xp.stack(pair if self.by_rows else pair[::-1])

    def sparse_sizes(self) -> tuple[int, ...]:
        return self.shape

    def joined(self) -> "Sparse":
        return self

    def holding(self, elements: Tensor) -> "Compressed":
        return Compressed(self.starts, self.numbers, elements, self.shape, self.by_rows)

    def like(self, other: Coordinates) -> Sparse:
        return compressed(other, self.by_rows)

    def shown_parts(self) -> dict[str, Tensor]:
        first, second = ("crow", "col") if self.by_rows else ("ccol", "row")
        parts = {f"{first}_indices": self.starts, f"{second}_indices": self.numbers}
        return {**parts, "values": self.elements}

    def turned(self) -> "Compressed":
        """The transpose, on the same memory."""
        turned = (self.shape[1], self.shape[0])
        return Compressed(self.starts, self.numbers, self.elements, turned, not self.by_rows)


def sparse_tensor(layer: Sparse) -> Tensor:
    """A tensor of these elements, without history."""
    array = concrete(layer.elements)
    backend = backend_of(array)
    if not backend.mutable:
        raise NotImplementedError(
            f"sparse tensors are made of arrays of NumPy or CuPy, not of {backend.name}; "
            "jax.experimental.sparse has its own"
        )
    xp = backend.xp
    return with_layer(xp.broadcast_to(xp.zeros((), array.dtype), layer.shape), layer)


def take_over(target: Tensor, result: Tensor) -> Tensor:
    """Let a sparse tensor be another: what it holds, and how it looks."""
    target.layer = result.layer
    target.replace_array(result.array)
    target.counter().bump()
    return target


def sparse_of(value: Any) -> Sparse | None:
    """The layer of a sparse tensor; None of anything else."""
    layer = value.layer if isinstance(value, Tensor) else None
    return layer if isinstance(layer, Sparse) else None


def layout_of(tensor: Tensor) -> layout:
    """How a tensor is stored."""
    layer = sparse_of(tensor)
    return strided if layer is None else layer.layout


def coordinates(layer: Sparse) -> Coordinates:
    """The same elements with all indices of each."""
    if isinstance(layer, Coordinates):
        return layer
    xp, indices, elements = layer.xp, layer.indices(), layer.elements
    if isinstance(layer, Compressed) and not layer.by_rows:
        order = xp.argsort(places_of(xp, indices, layer.shape), kind="stable")
        indices, elements = indices[:, order], Tensor(concrete(elements)[order], AS_IS)
    return Coordinates(Tensor(indices, AS_IS), elements, layer.shape, True)


def compressed(layer: Sparse, by_rows: bool = True) -> Compressed:
    """The same elements row after row, or column after column."""
    if isinstance(layer, Compressed) and layer.by_rows == by_rows:
        return layer
    whole = coordinates(layer).joined()
    if len(whole.sparse_sizes()) != 2 or len(whole.shape) != 2:
        raise RuntimeError(
            f"only a matrix without dense dimensions is compressed by rows or columns; this tensor "
            f"has {len(whole.sparse_sizes())} sparse and {len(whole.shape)} "
            "dimensions in all"
        )
    xp, indices, elements = whole.xp, whole.indices(), whole.elements
    if not by_rows:
        order = xp.argsort(indices[1], kind="stable")
        indices, elements = indices[:, order], Tensor(concrete(elements)[order], AS_IS)
    rows, columns = indices if by_rows else indices[::-1]
    starts = starts_of(xp, rows, whole.shape[0 if by_rows else 1])
    return Compressed(Tensor(starts, AS_IS), Tensor(columns, AS_IS), elements, whole.shape, by_rows)


def meeting(left: Sparse, right: Sparse) -> tuple[Any, Any, Any]:
    """Which elements of two matrices meet in their product, pair by pair, and where that lies."""
    xp = left.xp
    (rows, columns), (lower, over) = left.indices(), right.indices()
    order = xp.argsort(lower, kind="stable")
    one, two = paired(xp, columns, starts_of(xp, lower[order], right.shape[0]))
    two = order[two]
    return one, two, xp.stack([rows[one], over[two]])


def blank(shape: tuple[int, ...], kind: dtype, where: device, form: layout = sparse_coo) -> Tensor:
    """A sparse tensor without elements."""
    backend = backend_for(where)
    elements = Tensor(backend.from_numpy(host.zeros(0, kind.numpy_dtype), where), AS_IS)
    places = Tensor(backend.from_numpy(host.zeros((len(shape), 0), "int64"), where), AS_IS)
    layer: Sparse = Coordinates(places, elements, shape, True)
    return sparse_tensor(layer if form is sparse_coo else compressed(layer, form is sparse_csr))
