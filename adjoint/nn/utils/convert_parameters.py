"""Parameters as one vector, and back."""

from collections.abc import Iterable
from typing import Any

from adjoint.ops.arranging.conversion import typename
from adjoint.ops.arranging.shape import cat
from adjoint.tensors.tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another."""
    parts: list[Any] = _on_one_device("parameters_to_vector", parameters)
    if not parts:
        raise ValueError("parameters_to_vector: expected at least one parameter, got none")
    vector: Tensor = cat([part.view(-1) for part in parts])
    return vector


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters show consecutive parts of a vector, each in its own shape."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"vector_to_parameters: expected a Tensor as vec, got {typename(vec)}")
    targets: list[Any] = _on_one_device("vector_to_parameters", parameters)
    parts, start = [], 0
    for target in targets:
        stop = start + target.numel()
        parts.append(vec[start:stop].view_as(target))
        start = stop
    for target, part in zip(targets, parts):  # all fit: only now is one changed
        target.data = part.data


def _on_one_device(name: str, parameters: Iterable[Tensor]) -> list[Tensor]:
    """The parameters, if they are all on one device."""
    found = list(parameters)
    for parameter in found[1:]:
        if parameter.device != found[0].device:
            raise TypeError(
                f"{name}: found parameters on different devices, {found[0].device} and "
                f"{parameter.device}; move them to one first"
            )
    return found
