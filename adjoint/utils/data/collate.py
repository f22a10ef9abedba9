"""How samples become a batch."""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from adjoint.backends.numpy import numpy_backend
from adjoint.creation.factories import tensor
from adjoint.creation.from_memory import as_tensor
from adjoint.dtypes import float64
from adjoint.ops.arranging.shape import stack
from adjoint.tensors.tensor import Tensor

_np = numpy_backend.xp
_NO_NUMBERS = "SUO"  # kinds of NumPy arrays that no tensor can hold


def default_convert(data: Any) -> Any:
    """Arrays in nests of containers become tensors; everything else stays."""
    if isinstance(data, Tensor | str | bytes):
        return data
    if isinstance(data, _np.ndarray | _np.generic):
        return data if data.dtype.kind in _NO_NUMBERS else as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence):
        return _like_sequence(data, [default_convert(item) for item in data])
    return data


def _like_mapping(data: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """The items in a mapping of the same class, or in a dict if that can't be made."""
    try:
        if isinstance(data, MutableMapping):
            clone = copy.copy(data)  # it may carry more than its items
            clone.update(items)
            return clone
        return type(data)(items)  # type: ignore[call-arg]  # most mappings take one
    except TypeError:
        return items


def _like_sequence(data: Sequence[Any], items: list[Any]) -> Any:
    """The items in a sequence of the same class; a plain tuple becomes a list."""
    if isinstance(data, tuple):
        return type(data)(*items) if hasattr(data, "_fields") else items
    try:
        if isinstance(data, MutableSequence):
            clone = copy.copy(data)
            for place, item in enumerate(items):
                clone[place] = item
            return clone
        return type(data)(items)  # type: ignore[call-arg]  # most sequences take one
    except TypeError:
        return items


Collate = Callable[..., Any]


def collate(batch: Any, *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """A batch from samples of one structure; the map says what to do with which type."""
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, function in functions.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)

    def together(samples: Any) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        items = {key: together([sample[key] for sample in batch]) for key in first}
        return _like_mapping(first, items)
    if isinstance(first, Sequence):
        lengths = {len(sample) for sample in batch}
        if len(lengths) > 1 and not hasattr(first, "_fields"):
            raise RuntimeError(
                "each element in list of batch should be of equal size, but their lengths are "
                f"{sorted(lengths)}"
            )
        return _like_sequence(first, [together(samples) for samples in zip(*batch)])
    raise _refusal(type(first))


def _refusal(kind: Any) -> TypeError:
    return TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{kind}: give the DataLoader a collate_fn"
    )


def collate_tensor_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Tensors, stacked."""
    return stack(list(batch))


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Arrays, as tensors that the map's own function puts together."""
    if batch[0].dtype.kind in _NO_NUMBERS:
        raise _refusal(batch[0].dtype)
    return collate([as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """NumPy's numbers, as a tensor of their type."""
    return as_tensor(_np.asarray(batch))


def collate_float_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Floats, as a tensor that loses nothing of them."""
    return tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Whole numbers, as a tensor."""
    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Texts, as they are."""
    return batch


# What is done with the samples of a type; a copy with further types can be given to collate.
default_collate_fn_map: dict[Any, Collate] = {
    Tensor: collate_tensor_fn,
    _np.ndarray: collate_numpy_array_fn,
    (_np.bool_, _np.number, _np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Samples stacked: tensors and arrays along a new first dimension, numbers as a tensor."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
