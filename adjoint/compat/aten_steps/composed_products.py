"""Sums of products and attention, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.kept import TooLittleKeptError, beside
from adjoint.compat.aten_steps.products import in_rows
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.compat.torch_tree import ops
from adjoint.dtypes import bool_
from adjoint.nn.attention import ALLOWED, SDPBackend
from adjoint.ops.arranging.arrange import repeat_interleave
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.arranging.shape import movedim, permute, reshape, t, unsqueeze
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import add, mul
from adjoint.ops.matrices.added_products import addmm
from adjoint.ops.matrices.einsum import equation_of, label_sizes, labels_of
from adjoint.ops.matrices.matmul import matmul, mm, mT
from adjoint.ops.reducing.reduction import sum
from adjoint.tensors.tensor import Tensor

# ---- linear layers ----


def _linear(input: Any, weight: Any, bias: Any) -> Any:
    """Of rows, with the weight turned over in a node of its own; a shift is added to them."""
    if bias is None and (input.ndim, weight.ndim) == (1, 2):
        turned = t(weight)
        return mm(unsqueeze(input, 0), turned).squeeze_(0)
    if bias is None or weight.ndim != 2:
        product = matmul(input, t(weight))
        return product if bias is None else add(product, bias)
    if input.ndim == 2:
        return addmm(bias, input, t(weight))
    if not in_rows(input, bias):
        return add(matmul(input, t(weight)), bias)
    front = input.shape[:-1]
    rows = input.view(math.prod(front), input.shape[-1])
    return addmm(bias, rows, t(weight)).view(*front, weight.shape[0])


# Ops that are several in PyTorch, in whose nodes a recorded call is taken apart.
APART: Final[dict[str, Any]] = {"linear": _linear}

# ---- sums of products over labelled dimensions ----


def _einsum(*args: Any) -> Any:
    equation, operands = equation_of(args)
    if len({getattr(operand, "dtype", None) for operand in operands}) != 1:
        return NotImplemented
    labels, out = labels_of(equation, operands)
    label_sizes(labels, operands)  # which refuses those that do not agree
    summed = sorted(set("".join(labels)) - set(out))
    order = [*out, *summed]
    aligned = [_aligned(*pair, order) for pair in zip(operands, labels, strict=True)]
    if len(operands) == 1:
        dims = list(range(len(out), len(order)))
        return sum(aligned[0], dims) if dims else aligned[0]
    while len(aligned) > 1:
        first, second, *others = aligned
        kept = {d for each in others for d, size in enumerate(each.shape) if size != 1}
        dims = [d for d in range(len(out), len(order)) if d not in kept]
        aligned = [_pair(first, second, dims), *others]
    return reshape(aligned[0], tuple(aligned[0].shape[: len(out)])) if summed else aligned[0]


def _aligned(operand: Any, labels: str, order: list[str]) -> Any:
    """An operand with a dimension for each label, in their order."""
    for label in order:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = movedim(diagonal(operand, 0, first, second), -1, first)
            labels = labels[:second] + labels[second + 1 :]
    for label in order:
        if label not in labels:
            operand = unsqueeze(operand, operand.ndim)
            labels += label
    return permute(operand, [labels.index(label) for label in order])


def _pair(left: Any, right: Any, dims: list[int]) -> Any:
    """The product of two, summed over some dimensions, which stay."""
    alone = [
        [d for d in dims if each.shape[d] != 1 == other.shape[d]]
        for each, other in ((left, right), (right, left))
    ]
    left, right = (
        sum(each, own, True) if own else each
        for each, own in zip((left, right), alone, strict=True)
    )
    summed = [d for d in dims if left.shape[d] != 1]
    if not summed:
        return mul(left, right)
    rest = [d for d in range(left.ndim) if d not in summed]
    both = [d for d in rest if left.shape[d] != 1 != right.shape[d]]
    rows = [d for d in rest if left.shape[d] != 1 == right.shape[d]]
    columns = [d for d in rest if d not in both and d not in rows]
    count, height, depth = (math.prod(left.shape[d] for d in part) for part in (both, rows, summed))
    first = reshape(permute(left, [*both, *rows, *summed, *columns]), (count, height, depth))
    width = math.prod(right.shape[d] for d in columns)
    second = reshape(permute(right, [*both, *summed, *columns, *rows]), (count, depth, width))
    made = [*both, *rows, *summed, *columns]
    sizes = [*(left.shape[d] for d in (*both, *rows)), *[1] * len(summed)]
    sizes += [right.shape[d] for d in columns]
    product = reshape(_BMM(first, second), tuple(sizes))
    return permute(product, [made.index(d) for d in range(left.ndim)])


def _bmm_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    left, right = args
    by_right = ask("bmm", ask("transpose", left, 1, 2), grad) if wanted[1] else None
    by_left = ask("bmm", grad, ask("transpose", right, 1, 2)) if wanted[0] else None
    return by_left, by_right


_BMM: Final = Operation("bmm", (0, 1), _bmm_gradients)


def _bmm(input: Any, mat2: Any) -> Any:
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[0] != mat2.shape[0]:
        return NotImplemented
    if input.shape[2] != mat2.shape[1] or input.dtype is not mat2.dtype:
        return NotImplemented
    return _BMM(input, mat2)


def _tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            return NotImplemented
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    here, there = [normal_dim(d, a.ndim) for d in first], [normal_dim(d, b.ndim) for d in second]
    sizes = [a.shape[d] for d in here]
    if sizes != [b.shape[d] for d in there]:  # refused, or broadcast
        return NotImplemented
    rows = [d for d in range(a.ndim) if d not in here]
    columns = [d for d in range(b.ndim) if d not in there]
    depth = math.prod(sizes)
    height, width = (math.prod(t.shape[d] for d in own) for t, own in ((a, rows), (b, columns)))
    left = reshape(permute(a, [*rows, *first]), (height, depth))
    right = reshape(permute(b, [*second, *columns]), (depth, width))
    shape = (*(a.shape[d] for d in rows), *(b.shape[d] for d in columns))
    return reshape(matmul(left, right), shape)


# ---- three factors ----


def _by_factors(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    """The gradient in place of each factor, which lacks what was summed then."""
    *given, dims = args
    found: list[Any] = [None, None, None]
    for place in range(3):
        if wanted[place]:
            factors, missing = [*given[:3]], [*given[3:]]
            factors[place], missing[place] = grad, dims
            found[place] = ask("_trilinear", *factors, *missing, given[3 + place])
    return found


_TRILINEAR: Final = Operation("_trilinear", (0, 1, 2), _by_factors)


def _bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    sizes = (input1.shape[-1], input2.shape[-1]) if input1.ndim and input2.ndim else ()
    fits = weight.ndim == 3 and sizes == tuple(weight.shape[1:])
    if not fits or input1.shape[:-1] != input2.shape[:-1] or 0 in sizes:
        return NotImplemented
    rows = [reshape(each, (-1, each.shape[-1])) for each in (input1, input2)]
    found = _TRILINEAR(rows[0], weight, rows[1], [1, 3], [0], [1, 2], [2, 3])
    found = reshape(found, (*input1.shape[:-1], weight.shape[0]))
    return found if bias is None else add(found, bias)


# ---- attention ----


def _scaled_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return (ask("mul.Scalar", grad, args[1]),)


def _softmax_gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    return (ask("_softmax_backward_data", grad, results[0], args[1], args[0].dtype),)


def _flash_gradients(
    ask: Any,
    wanted: Any,
    args: Any,
    results: Any,
    grad: Any,
    attn_mask: Any = None,
    scale: Any = None,
) -> Any:
    query, key, value, rate, causal = args
    named = {"attn_mask": attn_mask} | ({} if scale is None else {"scale": scale})
    function = ops.named("_scaled_dot_product_flash_attention_for_cpu_backward")
    given = (grad, query, key, value, *results, rate, causal)
    return ask.answerer(function, given, named)


SCALED: Final = Operation("mul.Scalar", (0,), _scaled_gradients)
_SOFTMAX: Final = Operation("_safe_softmax", (0,), _softmax_gradients)
_FLASH: Final = Operation(
    "_scaled_dot_product_flash_attention_for_cpu", (0, 1, 2), _flash_gradients
)
_IMAGE_OF_HEADS: Final = 4


def _softmax_turn(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    if wanted[1]:
        raise TooLittleKeptError
    return ask("_softmax_backward_data", grad, *args[1:]), None


DERIVED: Final = {
    "_safe_softmax": _SOFTMAX,
    "_softmax_backward_data": Operation("_softmax_backward_data", (0, 1), _softmax_turn),
}


def _attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    fits = query.dtype is key.dtype is value.dtype and (attn_mask is None or not is_causal)
    if not fits or (enable_gqa and query.ndim < _IMAGE_OF_HEADS - 1):
        return NotImplemented  # refused
    if attn_mask is not None and attn_mask.dtype is bool_:
        attn_mask = _as_addend(attn_mask, query)
    if _is_flash(query, key, value, attn_mask, dropout_p):
        named = {"attn_mask": attn_mask, "scale": scale}
        given = {name: each for name, each in named.items() if each is not None}
        return _FLASH(query, key, value, 0.0, is_causal, **given)
    root = math.sqrt(1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    query = SCALED(query, root)
    if is_causal:
        attn_mask = _as_addend(_lower_triangle(query, key), query)
    if enable_gqa:
        repeats = query.shape[-3] // key.shape[-3]
        key, value = (repeat_interleave(heads, repeats, -3) for heads in (key, value))
    scores = matmul(query, SCALED(mT(key), root))
    weights = _SOFTMAX(scores if attn_mask is None else scores + attn_mask, -1)
    if dropout_p:
        weights = COMPOSITES["dropout"](weights, dropout_p, True)
    return matmul(weights, value)


def _is_flash(query: Any, key: Any, value: Any, mask: Any, rate: float) -> bool:
    """Whether PyTorch computes attention on a CPU in one step."""
    derived = mask is not None and mask.requires_grad and is_recording()
    ranks = {each.ndim for each in (query, key, value)}
    widths = {each.shape[-1] for each in (query, key, value)}
    heads = {tuple(each.shape[:2]) for each in (query, key, value)}
    full = 0 not in query.shape and 0 not in key.shape
    alike = ranks == {_IMAGE_OF_HEADS} and len(widths) == 1 == len(heads)
    alike = alike and ALLOWED[SDPBackend.FLASH_ATTENTION]
    return alike and full and rate == 0 and not derived and query.device.type == "cpu"


def _as_addend(mask: Any, like: Any) -> Any:
    """A mask of truths as what is added to scores."""
    with asking() as ask:
        shut = ask("scalar_tensor", -math.inf, dtype=like.dtype, device=like.device)
        return ask("where", mask, ask("scalar_tensor", 0.0, **beside(like)), shut)


def _lower_triangle(query: Any, key: Any) -> Any:
    sizes = [query.shape[-2], key.shape[-2]]
    with asking() as ask:
        full = ask("ones", sizes, dtype=bool_, layout=strided, device=query.device)
        return ask("tril", full)


FUNCTIONS: Final[dict[str, Any]] = {
    "einsum": _einsum,
    "bilinear": _bilinear,
    "tensordot": _tensordot,
    "bmm": _bmm,
    "scaled_dot_product_attention": _attention,
}
