"""functorch.einops: dimensions rearranged by a pattern, `b (h w) c -> b c h w`."""

import functools
import math
import re
from typing import Any

from adjoint.ops.arranging.shape import permute, reshape, stack
from adjoint.tensors.tensor import Tensor

_ELLIPSIS = "…"
_WORD = re.compile(r"\(|\)|[^\s()]+")

# A part of a side: the names of the axes in it, none for an axis of length 1; or an ellipsis that
# is in no parentheses, and so as many parts as it stands for.
_Side = list[tuple[str, ...] | str]


def _parts(side: str) -> _Side:
    """The parts of one side of a pattern: axes, and axes in parentheses."""
    if side.count(".") not in (0, 3) or ("." in side and "..." not in side):
        raise ValueError(f"rearrange: dots are for one ellipsis, ..., not {side.strip()!r}")
    parts: _Side = []
    inner: list[str] | None = None
    for word in _WORD.findall(side.replace("...", f" {_ELLIPSIS} ")):
        if word == "(":
            if inner is not None:
                raise ValueError("rearrange: parentheses inside parentheses are not allowed")
            inner = []
        elif word == ")":
            if inner is None:
                raise ValueError(f"rearrange: imbalanced parentheses in {side.strip()!r}")
            parts.append(tuple(inner))
            inner = None
        else:
            names = _axis(word)
            if inner is not None:
                inner += names
            else:
                parts.append(word if word == _ELLIPSIS else names)
    if inner is not None:
        raise ValueError(f"rearrange: imbalanced parentheses in {side.strip()!r}")
    named = [name for part in parts for name in part]
    for name in named:
        if named.count(name) > 1:
            raise ValueError(f"rearrange: {name!r} occurs twice in {side.strip()!r}")
    return parts


def _axis(word: str) -> tuple[str, ...]:
    """The name of an axis; none for one of length 1."""
    if word.isdecimal():
        if int(word) != 1:
            raise ValueError(f"rearrange: an axis without a name has length 1, not {word}")
        return ()
    fits = word.isidentifier() and "_" not in (word[0], word[-1])
    if word != _ELLIPSIS and not fits:
        raise ValueError(f"rearrange: {word!r} is no name of an axis")
    return (word,)


@functools.lru_cache(256)
def _read(pattern: str) -> tuple[_Side, _Side]:
    """The two sides of a pattern, which have the same names."""
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: a pattern has one '->', unlike {pattern!r}")
    left, right = map(_parts, pattern.split("->"))
    if any(_ELLIPSIS in part and part != _ELLIPSIS for part in left):
        raise ValueError(f"rearrange: an ellipsis on the left is in no parentheses: {pattern!r}")
    one, other = ({name for part in side for name in part} for side in (left, right))
    if one != other:
        raise ValueError(f"rearrange: on one side of {pattern!r} alone: {sorted(one ^ other)}")
    return left, right


def _lengths(pattern: str, left: _Side, shape: Any, given: dict[str, int]) -> dict[str, Any]:
    """The length of each axis; of the ellipsis those of all that it stands for."""
    rest = len(shape) - len(left) + 1
    if _ELLIPSIS not in left:
        rest = 1 if len(shape) == len(left) else -1
    if rest < 0:
        raise ValueError(f"rearrange: a tensor of {len(shape)} dimensions does not fit {pattern!r}")
    found: dict[str, Any] = {}
    place = 0
    for part in left:
        if part == _ELLIPSIS:
            found[_ELLIPSIS] = tuple(shape[place : place + rest])
            place += rest
            continue
        whole = shape[place]
        place += 1
        found.update({name: given[name] for name in part if name in given})
        unknown = [name for name in part if name not in given]
        known = math.prod(given[name] for name in part if name in given)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: say how long all but one of {', '.join(unknown)} are")
        if unknown:
            found[unknown[0]] = whole // known if known else 0
            known *= found[unknown[0]]
        if known != whole:
            raise ValueError(
                f"rearrange: a dimension of length {whole} is not ({' '.join(part) or '1'}) of "
                f"{pattern!r} with {given}"
            )
    return found


def rearrange(tensor: Any, pattern: str, **axes_lengths: int) -> Any:
    """A tensor, or several as one, with axes in another order, joined, parted, or of length 1."""
    left, right = _read(pattern)
    if not isinstance(tensor, Tensor):
        tensor = stack(tensor)
    for name, length in axes_lengths.items():
        if type(length) is not int:
            raise TypeError(f"rearrange: the length of {name} must be an int, got {length!r}")
    order = [name for part in left for name in part]
    unknown = axes_lengths.keys() - set(order)
    if unknown:
        raise ValueError(f"rearrange: {sorted(unknown)} are not in {pattern!r}")
    lengths = _lengths(pattern, left, tensor.shape, axes_lengths)
    several = lengths.get(_ELLIPSIS, ())

    def parted(names: Any) -> list[int]:
        return [n for name in names for n in (several if name == _ELLIPSIS else (lengths[name],))]

    # Where each axis begins once all are apart; the ellipsis is as many as it stands for.
    counts = [len(several) if name == _ELLIPSIS else 1 for name in order]
    starts = dict(zip(order, [sum(counts[:n]) for n in range(len(order))]))
    final = [name for part in right for name in part]
    moved = [starts[n] + i for n in final for i in range(len(several) if n == _ELLIPSIS else 1)]
    joined: list[int] = []
    for part in right:
        joined += several if part == _ELLIPSIS else (math.prod(parted(part)),)
    return reshape(permute(reshape(tensor, parted(order)), moved), joined)
