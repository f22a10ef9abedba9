"""An op of adjoint's as modes and classes below autograd see it: the operations of torch.ops.aten.

Most ops are one of PyTorch's, and its name and arguments say which overload. What adjoint has under
another name, or PyTorch makes in several steps, is said here: each function is given the arguments
of the op, asks for the steps one by one, and returns what the op does.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from adjoint.call.context import Changed
from adjoint.compat.aten_forms import better, bound, by_names
from adjoint.compat.torch_tree import ops
from adjoint.creation.factories import tensor
from adjoint.creation.from_memory import as_tensor
from adjoint.library.custom_op import CustomOpDef
from adjoint.ops.arranging.conversion import contiguous_format, strided
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.neural.pooling import max_pool_places
from adjoint.ops.op import Op
from adjoint.ops.reducing.sorting import as_index
from adjoint.tensors.tensor import AS_IS, Tensor

# Who is asked: an overload, its arguments, and those by name.
Answerer = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class Steps:
    """Asks for PyTorch's operations by name; the arguments say which overload is meant."""

    def __init__(self, answerer: Answerer) -> None:
        self.answerer = answerer

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        found = bound(name, args, kwargs)
        if found is None:
            return self.answerer(ops.named(name), args, kwargs)
        form, given = found
        return self.answerer(ops.named(name, form.overload), *form.spelled(given))


def call_in_steps(op: Any, values: list[Any], answerer: Answerer) -> Any:
    """What is answered to a call of an op of adjoint's."""
    steps = _STEPS.get(op.name)
    if steps is not None:
        return steps(Steps(answerer), *values)
    return answerer(*_written(op.name, op, values, op))


def change_in_steps(op: Op, values: list[Any], answerer: Answerer) -> Any:
    """What is answered to a change of the first argument by an op's in-place form."""
    steps = _CHANGES.get(op.name)
    if steps is not None:
        return steps(Steps(answerer), *values)
    return answerer(*_written(f"{op.name}_", op, values, op.changer))


def overload_for(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The overload that a call is shown as; of several steps, that which does the work."""
    if isinstance(op, CustomOpDef):
        return ops.overload_of(op)
    changed = op.op if isinstance(op, InplaceOp) else None
    values = (changed or op).bind(args, kwargs)
    if changed is not None:
        return _written(op.name, changed, values, op)[0]
    if op.name == "linear":
        return ops.named("mm" if values[2] is None else "addmm")
    if op.name == "matmul":
        ranks = (values[0].ndim, values[1].ndim)
        known = {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (1, 2): "mm"}
        return ops.named(known.get(ranks, "bmm"))
    if op.name not in _SINGLE:
        return _written(op.name, op, values, op)[0]
    seen: list[Any] = []

    def note(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        seen.append(function)
        return given[0]

    _SINGLE[op.name](Steps(note), *values)
    return seen[0]


def _written(name: str, op: Any, values: list[Any], function: Any) -> Any:
    """An overload of torch.ops, and the arguments as PyTorch writes them."""
    args, kwargs = op.spelled(values)
    if isinstance(op, CustomOpDef):
        return ops.overload_of(op), args, kwargs
    kept = [i for i, value in enumerate(values) if value is not op.defaults[i]]
    named = by_names(name, [op.parameters[i] for i in kept], [values[i] for i in kept])
    found = better(named, bound(name, args, kwargs))
    if found is None:
        return ops.overload_of(function), args, kwargs
    form, given = found
    return ops.named(name, form.overload), *form.spelled(given)


def unseen() -> Changed:
    """As a context: nobody is told of calls, which PyTorch does not make."""
    return Changed({"modes": ()})


# ---- arithmetic ----


def _add(ask: Steps, input: Any, other: Any, alpha: Any = 1) -> Any:
    if not isinstance(input, Tensor) and alpha == 1:
        input, other = other, input
    return ask("add", input, other, alpha=alpha)


def _mul(ask: Steps, input: Any, other: Any) -> Any:
    return ask("mul", input, other) if isinstance(input, Tensor) else ask("mul", other, input)


def _sub(ask: Steps, input: Any, other: Any, alpha: Any = 1) -> Any:
    if isinstance(input, Tensor):
        return ask("sub", input, other, alpha=alpha)
    return ask("rsub", other, input, alpha)


def _true_divide(ask: Steps, input: Any, other: Any) -> Any:
    if isinstance(input, Tensor):
        return ask("div", input, other)
    return ask("mul", ask("reciprocal", other), input)


def _square(ask: Steps, input: Any) -> Any:
    return ask("pow", input, 2)


def _rounded_divide(ask: Steps, input: Any, other: Any, rounding_mode: str) -> Any:
    return ask("div", input, other, rounding_mode=rounding_mode)


def _choose(ask: Steps, condition: Any, input: Any, other: Any) -> Any:
    like = input if isinstance(input, Tensor) else other
    found = []
    for value in (input, other):
        if not isinstance(value, Tensor) and isinstance(like, Tensor):
            place = {"dtype": like.dtype, "layout": strided, "device": like.device}
            value = ask("scalar_tensor", value, **place)
        found.append(value)
    return ask("where", condition, *found)


# ---- reductions ----


def _spread_of(name: str) -> Any:
    """Steps of var and std, of which PyTorch has a single form."""

    def steps(
        ask: Steps, input: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any
    ) -> Any:
        if isinstance(dim, bool):  # as the second argument, it says whether to correct
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = int(unbiased)
        elif correction is None and dim is not None:
            correction = 1
        dims = [dim] if isinstance(dim, int) else dim
        return ask(name, input, dims, correction=correction, keepdim=keepdim)

    return steps


def _mean(ask: Steps, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim:
        return ask("mean", input, dtype=dtype)
    return ask("mean", input, [dim] if isinstance(dim, int) else dim, keepdim, dtype=dtype)


def _sum(ask: Steps, input: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dim is None and not keepdim:
        return ask("sum", input, dtype=dtype)
    return ask("sum", input, [dim] if isinstance(dim, int) else dim, keepdim, dtype=dtype)


def _along(name: str) -> Any:
    """Steps of a reduction of one dimension, or of all."""

    def steps(ask: Steps, input: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return ask(name, input) if dim is None else ask(name, input, dim, keepdim)

    return steps


def _p_norm(ask: Steps, input: Any, p: Any, dim: Any, keepdim: bool) -> Any:
    dims = [dim] if isinstance(dim, int) else dim
    return ask("linalg_vector_norm", input, p, dims, keepdim)


def _softmax(name: str) -> Any:
    def steps(ask: Steps, input: Any, dim: int, dtype: Any) -> Any:
        if dtype is not None and dtype is not input.dtype:
            input = ask("_to_copy", input, dtype=dtype)
        return ask(name, input, dim, False)

    return steps


# ---- shapes ----


def _reshape(ask: Steps, input: Any, shape: Any) -> Any:
    looks: Any = Tensor(input.array, AS_IS)
    with unseen():
        wanted = list(looks.reshape(shape).shape)
        try:
            looks.view(wanted)
        except RuntimeError:
            is_view = False
        else:
            is_view = True
    if is_view:
        return ask("view", input, list(shape))
    return ask("_unsafe_view", ask("clone", input, memory_format=contiguous_format), wanted)


def _basic_index(ask: Steps, input: Any, index: Any) -> Any:
    shown = input
    for name, _, rest in _parts(input.shape, index):
        shown = ask(name, shown, *rest)
    return ask("alias", shown) if shown is input else shown


def _parts(sizes: Any, index: Any) -> Iterator[tuple[str, list[int], tuple[int, ...]]]:
    """The views that a plain index is made of: of tensors of which sizes, by which arguments."""
    left = list(sizes)
    dim = 0
    for part in _without_ellipsis(index, len(left)):
        if part is None:
            yield "unsqueeze", list(left), (dim,)
            left.insert(dim, 1)
        elif isinstance(part, slice):
            start, stop, step = part.indices(left[dim])
            if (start, stop, step) != (0, left[dim], 1):
                end = stop if part.stop is not None else _LAST
                yield "slice", list(left), (dim, start, end, step)
                left[dim] = len(range(start, stop, step))
        else:
            yield "select", list(left), (dim, part)
            del left[dim]
            continue
        dim += 1


_LAST: Final = 2**63 - 1  # how PyTorch writes the end of a slice that has none


def _without_ellipsis(index: Any, ndim: int) -> list[Any]:
    """The parts of an index, with full slices where it has an ellipsis."""
    parts = list(index) if isinstance(index, tuple) else [index]
    count = sum(part is not None and part is not Ellipsis for part in parts)
    for place, part in enumerate(parts):
        if part is Ellipsis:
            return [*parts[:place], *[slice(None)] * (ndim - count), *parts[place + 1 :]]
    return parts


def _is_plain(index: Any) -> bool:
    """Whether an index has nothing but ints, slices, None and an ellipsis."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(
        part is None or part is Ellipsis or type(part) is int or isinstance(part, slice)
        for part in parts
    )


def _divided(ask: Steps, input: Any, index: Any) -> tuple[Any, list[Any]]:
    """What an index with tensors reads from, after its plain parts, and the tensors."""
    parts = _without_ellipsis(index, input.ndim + _more_by_masks(index))
    plain: list[Any] = []
    picks: list[Any] = []
    for part in parts:
        if part is None or type(part) is int or isinstance(part, slice):
            plain.append(part)
            if type(part) is not int:
                picks.append(None)
            continue
        with unseen():
            picked = part if isinstance(part, Tensor) else as_tensor(part)
        picks.append(picked)
        plain += [slice(None)] * _consumed(picked)
    whole = all(isinstance(part, slice) and part == slice(None) for part in plain)
    shown = input if whole else _basic_index(ask, input, tuple(plain))
    while picks and picks[-1] is None:
        picks.pop()
    return shown, picks


def _consumed(part: Any) -> int:
    return part.ndim if isinstance(part, Tensor) and part.array.dtype.kind == "b" else 1


def _more_by_masks(index: Any) -> int:
    """How many dimensions fewer an index has parts, since masks stand for several."""
    parts = index if isinstance(index, tuple) else (index,)
    return sum(1 - _consumed(part) for part in parts if isinstance(part, Tensor))


def _pick(ask: Steps, input: Any, index: Any) -> Any:
    shown, picks = _divided(ask, input, index)
    return ask("index", shown, picks)


def _split(ask: Steps, input: Any, split_sizes: Any, dim: int) -> Any:
    sizes = list(split_sizes)
    if sizes and all(size == sizes[0] for size in sizes[:-1]) and 0 < sizes[-1] <= sizes[0]:
        return ask("split", input, sizes[0], dim)
    return ask("split_with_sizes", input, sizes, dim)


def _strided_view(ask: Steps, input: Any, size: Any, stride: Any, offset: int, source: Any) -> Any:
    return ask("as_strided", input, size, stride, offset or None)


# ---- products ----


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
        flat = _reshape(ask, input, (math.prod(input.shape[:-1]), input.shape[-1]))
        product = ask("mm" if other.ndim == 2 else "mv", flat, other)
        return ask("_unsafe_view", product, [*input.shape[:-1], *other.shape[1:]])
    return _batched_product(ask, input, other)


def _batched_product(ask: Steps, input: Any, other: Any) -> Any:
    """Of tensors of which the second is a batch of matrices."""
    rows = () if input.ndim == 1 else (input.shape[-2],)
    left = ask("unsqueeze", input, 0) if input.ndim == 1 else input
    with unseen():
        front = _common(left.shape[:-2], other.shape[:-2])
    batches = math.prod(front)
    flat = [
        _reshape(ask, ask("expand", each, [*front, *each.shape[-2:]]), (batches, *each.shape[-2:]))
        for each in (left, other)
    ]
    product = ask("bmm", *flat)
    return ask("_unsafe_view", product, [*front, *rows, other.shape[-1]])


def _common(first: Any, second: Any) -> tuple[int, ...]:
    """The sizes that two broadcast to."""
    count = max(len(first), len(second))
    pairs = zip(
        (1,) * (count - len(first)) + tuple(first), (1,) * (count - len(second)) + tuple(second)
    )
    return tuple(b if a == 1 else a for a, b in pairs)


def _linear(ask: Steps, input: Any, weight: Any, bias: Any) -> Any:
    if input.ndim == 1 or weight.ndim != 2:
        product = _matmul(ask, input, ask("t", weight))
        return product if bias is None else ask("add", product, bias)
    if input.ndim > 2 and bias is not None:
        flat = _reshape(ask, input, (math.prod(input.shape[:-1]), input.shape[-1]))
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


# ---- networks ----


def _lengths(pairs: Any) -> list[int] | None:
    """The padding of each dimension; None if it is not the same on both sides."""
    if any(before != after for before, after in pairs):
        return None
    return [before for before, _ in pairs]


def _convolve(
    ask: Steps,
    images: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    lengths = _lengths(padding)
    if lengths is None:
        sides = [side for pair in reversed(padding) for side in pair]
        images = ask("constant_pad_nd", images, sides, 0.0)
        lengths = [0] * len(padding)
    rest = (stride, lengths, dilation, False, [0] * len(lengths), groups)
    return ask("convolution", images, weight, bias, *rest)


def _convolve_back(
    ask: Steps,
    images: Any,
    weight: Any,
    bias: Any,
    sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    before = _lengths(padding)
    if before is None:
        rest = (sizes, stride, padding, dilation, groups)
        return ask("convolve_back", images, weight, bias, *rest)
    kernel = weight.shape[2:]
    more = [
        size - ((n - 1) * step - 2 * pad + wide * (k - 1) + 1)
        for size, n, step, pad, wide, k in zip(
            sizes, images.shape[2:], stride, before, dilation, kernel
        )
    ]
    return ask("convolution", images, weight, bias, stride, before, dilation, True, more, groups)


def _layer_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, axes: Any, eps: float
) -> Any:
    last = tuple(range(input.ndim - len(axes), input.ndim))
    shape = list(input.shape[-len(axes) :])
    usual = tuple(sorted(axis % input.ndim for axis in axes)) == last
    if not usual or any(each is not None and list(each.shape) != shape for each in (weight, bias)):
        return ask("layer_standardized", input, weight, bias, axes, eps)
    out, mean, inverse = ask("native_layer_norm", input, shape, weight, bias, eps)
    return out, mean, _variance(inverse, eps, mean.shape)


def _batch_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, axes: Any, eps: float
) -> Any:
    if 0 not in [axis % input.ndim for axis in axes]:
        return ask("batch_standardized", input, weight, bias, axes, eps)
    with unseen():
        factor, shift = (None if each is None else each.reshape(-1) for each in (weight, bias))
    statistics = (None, None, True, 0.0, eps)
    out, mean, inverse = ask("native_batch_norm", input, factor, shift, *statistics)
    shape = (1, -1, *[1] * (input.ndim - 2))
    with unseen():
        centre = mean.reshape(shape)
    return out, centre, _variance(inverse, eps, centre.shape)


def _group_standardized(
    ask: Steps, input: Any, weight: Any, bias: Any, axes: Any, eps: float
) -> Any:
    if input.ndim != 4:
        return ask("group_standardized", input, weight, bias, axes, eps)
    samples, groups, width, size = input.shape
    with unseen():
        factor, shift = (None if each is None else each.reshape(-1) for each in (weight, bias))
        images = input.reshape(samples, groups * width, size)
    facts = (samples, groups * width, size, groups, eps)
    out, mean, inverse = ask("native_group_norm", images, factor, shift, *facts)
    shape = (samples, groups, 1, 1)
    with unseen():
        return out.reshape(input.shape), mean.reshape(shape), _variance(inverse, eps, shape)


def _variance(inverse: Any, eps: float, shape: Any) -> Any:
    """The variance, of which one over the deviation is known; in the shape that rules expect."""
    with unseen():
        return (inverse**-2 - eps).clamp(min=0).reshape(tuple(shape))


def _pool_name(rank: int) -> str:
    return f"max_pool{rank - 2}d_with_indices"


def _max_pool_values(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    return _pooled(ask, images, kernel, stride, padding, dilation, 0)


def _max_pool_places(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    return _pooled(ask, images, kernel, stride, padding, dilation, 1)


def _pooled(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, which: int
) -> Any:
    own = ("max_pool_values", "max_pool_places")[which]
    lengths = _lengths(padding)
    if lengths is None or images.ndim not in (4, 5):
        return ask(own, images, kernel, stride, padding, dilation)
    rest = (kernel, stride, lengths, dilation)
    return ask(_pool_name(images.ndim), images, *rest)[which]


def _embedded(
    ask: Steps, weight: Any, indices: Any, padding_idx: Any, by_frequency: bool, sparse: bool
) -> Any:
    number = padding_idx if isinstance(padding_idx, int) else -1
    return ask("embedding", weight, indices, number, by_frequency, sparse)


def _mean_cross_entropy(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    logarithms = ask("_log_softmax", input, 1 if input.ndim > 1 else 0, False)
    return ask("nll_loss_forward", logarithms, target, None, 1, ignore_index)[0]


def _picked_losses(ask: Steps, input: Any, target: Any, ignore_index: int) -> Any:
    return ask("nll_loss_forward", input, target, None, 0, ignore_index)[0]


def _average_windows(
    ask: Steps, images: Any, kernel: Any, stride: Any, padding: Any, counting: Any
) -> Any:
    lengths = _lengths(padding)
    if lengths is None or images.ndim not in (4, 5):
        return ask("average_windows", images, kernel, stride, padding, counting)
    rest = (kernel, stride, lengths, False, *counting)
    return ask(f"avg_pool{images.ndim - 2}d", images, *rest)


def _reduced_loss(name: str) -> Any:
    """Steps of a loss of each element, of which adjoint takes the mean or sum in another op."""

    def steps(ask: Steps, input: Any, target: Any, *rest: Any) -> Any:
        return ask(name, input, target, *_BEFORE_REDUCTION[name], 0, *rest)

    return steps


_BEFORE_REDUCTION: Final[dict[str, tuple[Any, ...]]] = {
    "binary_cross_entropy": (None,),
    "binary_cross_entropy_with_logits": (None, None),
    "huber_loss": (),
}


def _max_pool_back(
    ask: Steps, pooled: Any, images: Any, kernel: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    lengths = _lengths(padding)
    if lengths is None or images.ndim != 4:
        return ask("max_pool_back", pooled, images, kernel, stride, padding, dilation)
    with unseen():
        places = max_pool_places(images, kernel, stride, padding, dilation)
    rest = (kernel, stride, lengths, dilation, False, places)
    return ask("max_pool2d_with_indices_backward", pooled, images, *rest)


def _as_index(ask: Steps, input: Any) -> Any:
    if input.layer is not None:  # a class has to answer it itself
        return ask("as_index", input)
    with unseen():
        return as_index(input)


def _mean_squared_error(ask: Steps, input: Any, target: Any) -> Any:
    return ask("mse_loss", input, target)


def _squared_error(ask: Steps, input: Any, target: Any) -> Any:
    return ask("mse_loss", input, target, 0)


# ---- what rules call ----


def _spread_sum(ask: Steps, input: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if dim is not None and not keepdim and input.ndim:
        dims = [dim] if isinstance(dim, int) else list(dim)
        for each in sorted(d % len(shape) for d in dims):
            input = ask("unsqueeze", input, each)
    return ask("expand", input, shape)


def _relu_back(ask: Steps, slope: Any, output: Any) -> Any:
    return ask("threshold_backward", slope, output, 0)


def _column_sums(ask: Steps, input: Any) -> Any:
    return ask("sum", input, [0])


def _basic_place(ask: Steps, input: Any, shape: Any, index: Any) -> Any:
    grad = input
    for name, sizes, rest in reversed(list(_parts(shape, index))):
        if name == "unsqueeze":
            grad = ask("squeeze", grad, rest[0])
        else:
            grad = ask(f"{name}_backward", grad, sizes, *rest)
    return grad


def _place(ask: Steps, input: Any, shape: Any, index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    if not all(isinstance(part, Tensor) for part in parts):
        return ask("place", input, shape, index)
    kind = {"dtype": input.dtype, "layout": strided, "device": input.device}
    whole = ask("new_zeros", input, list(shape), **kind)
    return ask("index_put", whole, list(parts), input, True)


def _renamed(name: str) -> Any:
    """The one step of an op whose arguments are PyTorch's in the same order."""

    def steps(ask: Steps, *values: Any) -> Any:
        return ask(name, *values)

    return steps


_SINGLE: Final = {
    "max_all": _renamed("max"),
    "min_all": _renamed("min"),
    "median_all": _renamed("median"),
    "nanmedian_all": _renamed("nanmedian"),
    "max_dim": _renamed("max"),
    "min_dim": _renamed("min"),
    "median_dim": _renamed("median"),
    "nanmedian_dim": _renamed("nanmedian"),
    "view_shape": _renamed("view"),
    "view_dtype": _renamed("view"),
    "bernoulli_input": lambda ask, input, generator: ask("bernoulli", input, generator=generator),
    "tanh_back": _renamed("tanh_backward"),
    "silu_back": _renamed("silu_backward"),
    "any": _along("any"),
    "all": _along("all"),
    "sum": _sum,
    "mean": _mean,
    "var": _spread_of("var"),
    "std": _spread_of("std"),
    "p_norm": _p_norm,
    "rounded_divide": _rounded_divide,
    "square": _square,
    "embedded": _embedded,
    "mean_squared_error": _mean_squared_error,
    "squared_error": _squared_error,
}
_STEPS: Final[dict[str, Any]] = {
    **_SINGLE,
    "add": _add,
    "mul": _mul,
    "sub": _sub,
    "true_divide": _true_divide,
    "choose": _choose,
    "softmax": _softmax("_softmax"),
    "log_softmax": _softmax("_log_softmax"),
    "reshape": _reshape,
    "basic_index": _basic_index,
    "pick": _pick,
    "split_with_sizes": _split,
    "strided_view": _strided_view,
    "matmul": _matmul,
    "linear": _linear,
    "rows_product": _rows_product,
    "turned_product": _turned_product,
    "convolve": _convolve,
    "convolve_back": _convolve_back,
    "layer_standardized": _layer_standardized,
    "batch_standardized": _batch_standardized,
    "group_standardized": _group_standardized,
    "max_pool_values": _max_pool_values,
    "max_pool_places": _max_pool_places,
    "mean_cross_entropy": _mean_cross_entropy,
    "picked_losses": _picked_losses,
    "average_windows": _average_windows,
    "chance_error": _reduced_loss("binary_cross_entropy"),
    "logit_error": _reduced_loss("binary_cross_entropy_with_logits"),
    "huber_error": _reduced_loss("huber_loss"),
    "max_pool_back": _max_pool_back,
    "as_index": _as_index,
    "spread_sum": _spread_sum,
    "relu_back": _relu_back,
    "column_sums": _column_sums,
    "basic_place": _basic_place,
    "place": _place,
}


# ---- changes in place ----


def _setitem(ask: Steps, input: Any, index: Any, value: Any) -> Any:
    if not isinstance(value, Tensor):
        with unseen():
            made = tensor(value, dtype=input.dtype, device=input.device)
        value = ask("lift_fresh", made)
    if not _is_plain(index):
        shown, picks = _divided(ask, input, index)
        return ask("index_put_", shown, picks, value)
    parts = _without_ellipsis(index, input.ndim)
    whole = all(part == slice(None) for part in parts)
    shown = input if whole else _basic_index(ask, input, tuple(parts))
    return ask("copy_" if value.ndim else "fill_", shown, value)


def _copy(ask: Steps, input: Any, src: Any, non_blocking: bool) -> Any:
    return ask("copy_", input, src, non_blocking)


_CHANGES: Final[dict[str, Any]] = {
    "setitem": _setitem,
    "copy": _copy,
    "true_divide": _renamed("div_"),
    "square": lambda ask, input: ask("pow_", input, 2),
    "rounded_divide": lambda ask, input, other, mode: ask("div_", input, other, rounding_mode=mode),
    "normal_fill": lambda ask, input, a, b, generator: ask(
        "normal_", input, a, b, generator=generator
    ),
}
