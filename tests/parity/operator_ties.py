"""Several right answers: the places of equal elements, and the branches of a logarithm."""

import math
from typing import Any

import torch

# Where the records that answer places take their dimension.
_DIMS = {"argsort": 0, "kthvalue": 1, "mode": 0, "sort": 0, "topk": 1}


def settled(name: str, arguments: Any, theirs: Any, ours: Any) -> Any:
    """PyTorch's answer with our choice for its own, if both are right.

    `arguments` are the input, other positions and names; gradients follow the places then.
    """
    value, rest, named = arguments
    if name == "logcumsumexp" and theirs.is_complex():
        return _on_branch_of(theirs, torch.from_numpy(ours.detach().numpy()))
    if name == "msort":  # no places are answered: those that keep the order of equal elements
        return torch.sort(value, dim=0, stable=True).values
    if name not in _DIMS or named.get("stable"):
        return theirs
    several = isinstance(theirs, tuple)
    known, found = (theirs[1], ours[1]) if several else (theirs, ours)
    places = torch.from_numpy(found.detach().numpy())
    if places.shape != known.shape or not value.ndim:
        return theirs
    at = _DIMS[name]
    dim = rest[at] if len(rest) > at else named.get("dim", -1)
    wide = places if places.ndim == value.ndim else places.unsqueeze(dim)
    before = known if known.ndim == value.ndim else known.unsqueeze(dim)
    if not _same_elements(value, dim, before, wide):
        return theirs
    if not several:
        return places
    values = value.gather(dim, wide).reshape(theirs[0].shape)
    return type(theirs)((values, places))


def _on_branch_of(theirs: Any, ours: Any) -> Any:
    """A logarithm apart by multiples of 2 pi i, which are the same number to it."""
    turns = torch.nan_to_num((ours - theirs.detach()).imag / (2 * math.pi)).round()
    return theirs + 2j * math.pi * turns


def _same_elements(value: Any, dim: int, known: Any, places: Any) -> bool:
    """Whether places are there, each once, and hold what the known ones hold."""
    if places.numel() and not bool(((places >= 0) & (places < value.shape[dim])).all()):
        return False
    ordered = places.sort(dim).values
    if places.shape[dim] > 1 and bool((ordered.diff(dim=dim) == 0).any()):
        return False
    one, other = (value.detach().gather(dim, each) for each in (known, places))
    return torch.equal(one.isnan(), other.isnan()) and torch.equal(
        one.nan_to_num(), other.nan_to_num()
    )
