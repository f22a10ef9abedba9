"""Bags of vectors and losses of paths of labels, composed as PyTorch does."""

from typing import Any, Final

from adjoint.autograd.grad_mode import no_grad
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps, unseen
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.creation.factories import arange, tensor
from adjoint.dtypes import FLOAT, INTEGER, category_of, int32, int64
from adjoint.ops.arranging.conversion import strided
from adjoint.ops.arranging.shape import reshape, squeeze, unsqueeze
from adjoint.ops.elementwise.arithmetic import div
from adjoint.ops.elementwise.selection import where
from adjoint.ops.reducing.reduction import mean, sum
from adjoint.tensors.concrete import has_values
from adjoint.tensors.tensor import Tensor

# ---- bags ----

_MODES: Final = ("sum", "mean", "max")


def _by_bags(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
    weight, indices, offsets, by_frequency, mode, sparse, factors, _, padding = args
    bags, sizes, largest = results[1:]
    by_weight = by_factors = None
    if wanted[1]:
        name = "_embedding_bag_per_sample_weights_backward"
        by_factors = ask(name, grad, weight, indices, offsets, bags, mode, padding)
    if wanted[0]:
        facts = (indices, offsets, bags, sizes, largest, weight.shape[0])
        rest = (by_frequency, mode, sparse, factors, padding)
        by_weight = ask("_embedding_bag_backward", grad, *facts, *rest)
    return by_weight, by_factors


_BAGS: Final = Operation("_embedding_bag", (0, 6), _by_bags)
_UNRECORDED: Final = Operation("_embedding_bag_forward_only", (0, 6), _by_bags)


def _embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """As the composite, which says what is wrong with arguments that do not fit."""
    factors = per_sample_weights
    fits = mode in _MODES and weight.ndim == 2 and input.dtype in (int64, int32)
    fits = fits and not (mode == "max" and (sparse or scale_grad_by_freq))
    fits = fits and input.ndim == (2 if offsets is None else 1)
    if factors is not None:
        same = factors.dtype is weight.dtype and factors.shape == input.shape
        fits = fits and mode == "sum" and same
    if not fits or (
        offsets is not None and (offsets.ndim != 1 or offsets.dtype is not input.dtype)
    ):
        return NotImplemented
    count = weight.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        return NotImplemented
    padding = -1 if padding_idx is None else padding_idx % count
    if offsets is None:
        if not input.shape[1]:
            return NotImplemented
        place = {"dtype": input.dtype, "device": input.device}
        offsets = arange(0, input.numel(), input.shape[1], **place)
        input, include_last_offset = reshape(input, (-1,)), False
        factors = None if factors is None else reshape(factors, (-1,))
    if max_norm is not None:
        with no_grad(), asking() as ask:
            ask("embedding_renorm_", weight.detach(), input, max_norm, norm_type)
    rest = (scale_grad_by_freq, _MODES.index(mode), sparse, factors, include_last_offset, padding)
    derived = weight.requires_grad or (factors is not None and factors.requires_grad)
    return (_BAGS if derived else _UNRECORDED)(weight, input, offsets, *rest)


# ---- paths of labels ----


def _by_paths(overload: str) -> Any:
    def steps(ask: Steps, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        *given, blank, zero_infinity = args
        found = (*results[:2], blank, zero_infinity)
        return (ask(f"_ctc_loss_backward{overload}", grad, *given, *found),)

    return steps


_PATHS: Final = {
    overload: Operation(f"_ctc_loss{overload}", (0,), _by_paths(overload))
    for overload in ("", ".Tensor")
}


def _numbers(lengths: Any) -> list[int] | None:
    """Lengths as numbers; None if they are none, or can't be read."""
    if isinstance(lengths, Tensor):
        if not has_values(lengths) or category_of(lengths.dtype) != INTEGER or lengths.ndim != 1:
            return None
        with unseen():
            numbers: list[int] = lengths.tolist()
            return numbers
    return list(lengths) if isinstance(lengths, (list, tuple)) else None


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """As the composite, which says what is wrong with arguments that do not fit."""
    inputs, outputs = _numbers(input_lengths), _numbers(target_lengths)
    fits = category_of(log_probs.dtype) == FLOAT and category_of(targets.dtype) == INTEGER
    listed = not isinstance(input_lengths, Tensor)
    if not fits or inputs is None or outputs is None or log_probs.ndim not in (2, 3):
        return NotImplemented
    if listed == isinstance(target_lengths, Tensor) or reduction not in ("none", "mean", "sum"):
        return NotImplemented
    single = log_probs.ndim == 2
    frames, batch, classes = log_probs.shape if not single else (log_probs.shape[0], 1, -1)
    fits = single or 0 <= blank < classes
    fits = fits and len(inputs) == len(outputs) == batch and targets.ndim in (1, 2)
    if not fits or not all(0 <= n <= frames for n in inputs):
        return NotImplemented
    if not all(0 <= n <= targets.shape[-1] for n in outputs):
        return NotImplemented
    total = 0
    for n in outputs:
        total += n
    if targets.ndim == 1 and total != targets.shape[0]:
        return NotImplemented
    lengths = (inputs, outputs) if listed else (input_lengths, target_lengths)
    each = unsqueeze(log_probs, 1) if single else log_probs
    losses = _PATHS["" if listed else ".Tensor"](each, targets, *lengths, blank, zero_infinity)
    place = {"dtype": losses.dtype, "layout": strided, "device": losses.device}
    if zero_infinity:
        with asking() as ask:
            zero = ask("zeros", [], **place)
            infinite = ask("eq.Scalar", losses, float("inf"))
        losses = where(infinite, zero, losses)
    if reduction == "mean":
        with asking() as ask:
            divisors = target_lengths
            if listed:  # PyTorch shows memory that it fills unseen, which a graph would not
                with unseen():
                    known = tensor(outputs, dtype=losses.dtype)
                divisors = ask("lift_fresh", known)
            divisors = ask("clamp_min", divisors, 1)
        return mean(div(losses, divisors))
    if reduction == "sum":
        return sum(losses)
    return squeeze(losses, 0) if single else losses


FUNCTIONS: Final[dict[str, Any]] = {"embedding_bag": _embedding_bag, "ctc_loss": _ctc_loss}
