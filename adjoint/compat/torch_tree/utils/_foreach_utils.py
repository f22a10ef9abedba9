"""torch.utils._foreach_utils: lists of tensors, sorted."""

from typing import Any


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists of tensors as shorter ones, by the device and data type of those in the first."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for index, row in enumerate(zip(*tensorlistlist, strict=True)):
        if row[0] is None:
            raise RuntimeError(f"the first list must have a tensor at {index}, not None")
        key = (row[0].device, row[0].dtype)
        lists, indices = groups.setdefault(key, ([[] for _ in row], []))
        for gathered, tensor in zip(lists, row, strict=True):
            gathered.append(tensor)
        if with_indices:
            indices.append(index)
    return groups
