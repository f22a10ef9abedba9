"""The steps of conversions between layouts, and of what sparse tensors are made of."""

from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps, renamed, unseen
from adjoint.creation.factories import zeros
from adjoint.ops.arranging.conversion import sparse_coo, sparse_csc, sparse_csr, strided
from adjoint.ops.sparse.layers import Coordinates, sparse_of, sparse_tensor
from adjoint.ops.sparse.parts import picked

_TO: Final = {sparse_csr: "_to_sparse_csr", sparse_csc: "_to_sparse_csc"}


def _dense(ask: Steps, input: Any, masked: bool) -> Any:
    return ask("_to_dense", input) if masked else ask("_to_dense", input, masked_grad=False)


def _relaid(ask: Steps, input: Any, kind: Any, origin: Any, depth: int | None) -> Any:
    return ask(_TO.get(kind, "_to_sparse"), input, *() if depth is None else (depth,))


def _looks(elements: Any, layout: Any) -> dict[str, Any]:
    return {"dtype": elements.dtype, "layout": layout, "device": elements.device}


def _from_coordinates(ask: Steps, elements: Any, places: Any, size: Any, coalesced: bool) -> Any:
    depth = places.shape[0]
    sizes = (depth, len(size) - depth, list(size))
    more = {"is_coalesced": True} if coalesced else {}
    name = "_sparse_coo_tensor_with_dims_and_tensors"
    return ask(name, *sizes, places, elements, **_looks(elements, sparse_coo), **more)


def _from_compressed(
    ask: Steps, elements: Any, starts: Any, numbers: Any, size: Any, by_rows: bool
) -> Any:
    looks = _looks(elements, sparse_csr if by_rows else sparse_csc)
    return ask("sparse_compressed_tensor", starts, numbers, elements, list(size), **looks)


def _with_elements(ask: Steps, elements: Any, pattern: Any) -> Any:
    layer: Any = sparse_of(pattern)
    if isinstance(layer, Coordinates):
        return _from_coordinates(ask, elements, layer.places, layer.shape, layer.coalesced)
    whole = (layer.starts, layer.numbers, layer.shape, layer.by_rows)
    return _from_compressed(ask, elements, *whole)


def _elements_of(ask: Steps, input: Any) -> Any:
    layer: Any = sparse_of(input)
    has_twice = isinstance(layer, Coordinates) and not layer.coalesced
    return ask("_values" if has_twice else "values", input)


def _picked_from(ask: Steps, input: Any, places: Any, origin: Any) -> Any:
    with unseen():
        if origin is strided:
            rows = list(places.unbind(0))
        elif origin is sparse_coo:
            shape = (places.shape[1], *input.shape[places.shape[0] :])
            blank = zeros(shape, dtype=input.dtype, device=input.device)
            pattern = sparse_tensor(Coordinates(places, blank, tuple(input.shape)))
        else:  # PyTorch has no operation that keeps an order of places there
            return picked(input, places)
    if origin is strided:
        return ask("index", input, rows)
    return ask("_values", ask("sparse_mask", input, pattern))


STEPS: Final[dict[str, Any]] = {
    "dense": _dense,
    "relaid": _relaid,
    "coalesced": renamed("_coalesce"),
    "from_coordinates": _from_coordinates,
    "from_compressed": _from_compressed,
    "with_elements": _with_elements,
    "elements_of": _elements_of,
    "picked_from": _picked_from,
}
