"""The steps of products of matrices."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.places import reshaped


def _matmul(ask: Steps, input: Any, other: Any) -> Any:
    ranks = (input.ndim, other.ndim)
    if ranks == (1, 1):
        return ask("dot", input, other)
    if ranks == (2, 1):
        return ask("mv", input, other)
    if ranks == (1, 2):
        row = ask("mm", ask("unsqueeze", input, 0), other)
        return ask("squeeze_", row, 0)
    if ranks == (2, 2):
        return ask("mm", input, other)
    if other.ndim <= 2 < input.ndim:
        flat = reshaped(ask, input, (math.prod(input.shape[:-1]), input.shape[-1]))
        product = ask("mm" if other.ndim == 2 else "mv", flat, other)
        return ask("_unsafe_view", product, [*input.shape[:-1], *other.shape[1:]])
    return _batched_product(ask, input, other)


def _batched_product(ask: Steps, input: Any, other: Any) -> Any:
    """Of tensors of which the second is a batch of matrices."""
    rows = () if input.ndim == 1 else (input.shape[-2],)
    left = ask("unsqueeze", input, 0) if input.ndim == 1 else input
    front = common(left.shape[:-2], other.shape[:-2])
    batches = math.prod(front)
    flat = [
        reshaped(ask, ask("expand", each, [*front, *each.shape[-2:]]), (batches, *each.shape[-2:]))
        for each in (left, other)
    ]
    product = ask("bmm", *flat)
    return ask("_unsafe_view", product, [*front, *rows, other.shape[-1]])


def common(first: Any, second: Any) -> tuple[int, ...]:
    """The sizes that two broadcast to."""
    count = max(len(first), len(second))
    pairs = zip(
        (1,) * (count - len(first)) + tuple(first), (1,) * (count - len(second)) + tuple(second)
    )
    return tuple(b if a == 1 else a for a, b in pairs)


def in_rows(input: Any, bias: Any) -> bool:
    """Whether PyTorch adds a linear layer's shift to rows, all of them in one matrix."""
    return bool(bias.ndim == 1 and bias.is_contiguous() and input.is_contiguous())


def _linear(ask: Steps, input: Any, weight: Any, bias: Any) -> Any:
    shifted = bias is not None and input.ndim != 2
    if weight.ndim != 2 or (shifted and not in_rows(input, bias)):
        product = _matmul(ask, input, ask("t", weight))
        return product if bias is None else ask("add", product, bias)
    if shifted:
        flat = reshaped(ask, input, (math.prod(input.shape[:-1]), input.shape[-1]))
        product = ask("addmm", bias, flat, ask("t", weight))
        return ask("view", product, [*input.shape[:-1], weight.shape[0]])
    turned = ask("t", weight)
    if bias is None:
        return _matmul(ask, input, turned)
    return ask("addmm", bias, input, turned)


def _rows_product(ask: Steps, input: Any, other: Any) -> Any:
    if input.ndim != 2 or other.ndim != 2:
        return ask("rows_product", input, other)
    return ask("mm", input, ask("t", other))


def _turned_product(ask: Steps, input: Any, other: Any) -> Any:
    if input.ndim != 2 or other.ndim != 2:
        return ask("turned_product", input, other)
    return ask("mm", ask("t", input), other)


def _outer_product(ask: Steps, input: Any, vec2: Any) -> Any:
    return ask("mul", ask("view", input, [input.shape[0], 1]), vec2)


STEPS: Final[dict[str, Any]] = {
    "matmul": _matmul,
    "linear": _linear,
    "rows_product": _rows_product,
    "turned_product": _turned_product,
    "outer_product": _outer_product,
}
