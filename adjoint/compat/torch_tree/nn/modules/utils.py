"""torch.nn.modules.utils: sizes of layers as tuples."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from adjoint.nn.state_dict import (
    consume_prefix_in_state_dict_if_present as consume_prefix_in_state_dict_if_present,
)


def ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a single size n times, and makes a tuple of several."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_ntuple = ntuple
single = _single = ntuple(1, "_single")
pair = _pair = ntuple(2, "_pair")
triple = _triple = ntuple(3, "_triple")
_quadruple = ntuple(4, "_quadruple")


def reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Each of the sizes n times, the last one first, as `pad` wants them."""
    return tuple(size for size in reversed(t) for _ in range(n))


def list_with_default(out_size: Any, defaults: Sequence[int]) -> Any:
    """Sizes with those that are None replaced by the last of the defaults."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(
            f"an input of {len(defaults)} dimensions is too small for {len(out_size)} output sizes"
        )
    last = defaults[len(defaults) - len(out_size) :]
    return [usual if size is None else size for size, usual in zip(out_size, last, strict=True)]


_reverse_repeat_tuple, _list_with_default = reverse_repeat_tuple, list_with_default
