"""Connectionist temporal classification: how likely a sequence of labels is, however it is timed.

A labelling of length S passes 2S + 1 states, a blank before, between and after the labels. Sums
over all paths run frame by frame, forwards and backwards, for the whole batch at once.
"""

import math
import operator
from typing import Any

from adjoint.call.rule import FOLD
from adjoint.dtypes import FLOAT, INTEGER, category_of
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import reshape, unsqueeze
from adjoint.ops.elementwise.arithmetic import div
from adjoint.ops.neural.losses import check_reduction, reduced
from adjoint.ops.op import composite, general
from adjoint.ops.reducing.reduction import mean, sum
from adjoint.ops.shared_rules import refused_derivative, zero_of
from adjoint.tensors.concrete import has_values
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import Tensor

_NEVER = -math.inf


def _states(xp: Any, targets: Any, blank: int) -> tuple[Any, Any]:
    """The label of each state, and whether a path may come to it over the blank before."""
    batch, length = targets.shape
    labels = xp.full((batch, 2 * length + 1), blank, dtype="int64")
    labels = xp.updated(labels, (slice(None), slice(1, None, 2)), targets)
    earlier = xp.concatenate([labels[:, :2] * 0 + blank, labels[:, :-2]], axis=1)
    return labels, (labels != blank) & (labels != earlier)


def _step(xp: Any, sums: Any, jumps: Any) -> Any:
    """Where paths may be one frame later: in the same state, the next, or the one after.

    The sums have two states before the first that are never reached; jumps are 0 where the one
    after may be come to, else -inf.
    """
    ways = (sums[:, 2:], sums[:, 1:-1], sums[:, :-2] + jumps)
    peak = xp.maximum(xp.maximum(ways[0], ways[1]), ways[2])
    peak = xp.where(peak == _NEVER, xp.zeros((), peak.dtype), peak)
    # One logarithm of a sum of powers: NumPy takes ten times as long for logaddexp.
    powers = [xp.exp(way - peak) for way in ways]
    return xp.log(powers[0] + powers[1] + powers[2]) + peak


def _paths(xp: Any, emitted: Any, skips: Any, lengths: Any) -> Any:
    """The log sum over all paths up to each state and frame: (frames, batch, states)."""
    frames, batch, count = emitted.shape
    start = xp.where(xp.arange(count) < 2, emitted[0], _NEVER)
    before = xp.full((batch, 2), _NEVER, dtype=start.dtype)
    jumps = xp.where(skips, 0.0, _NEVER).astype(start.dtype)
    under_way = (xp.arange(frames)[:, None] < lengths)[..., None]
    sums = [start]
    for frame in range(1, frames):
        seen = xp.concatenate([before, sums[-1]], axis=1)
        following = _step(xp, seen, jumps) + emitted[frame]
        sums.append(xp.where(under_way[frame], following, sums[-1]))
    return xp.stack(sums)


def _path_sums(xp: Any, log_probs: Any, labels: Any, skips: Any, lengths: Any, blank: int) -> Any:
    """_paths of the labels of states, by one loop where the library has it."""
    found = xp.paths(log_probs, labels, lengths, blank)
    return _paths(xp, _emitted(xp, log_probs, labels), skips, lengths) if found is None else found


def _ended(xp: Any, sums: Any, target_lengths: Any) -> Any:
    """The log sum over the paths that end in the last label or the blank after it."""
    last = 2 * target_lengths[:, None]
    final = xp.take_along_axis(sums, last, 1)
    label = xp.take_along_axis(sums, xp.maximum(last - 1, 0), 1)
    return xp.logaddexp(final, xp.where(last > 0, label, _NEVER))[:, 0]


def _emitted(xp: Any, log_probs: Any, labels: Any) -> Any:
    """The log probability of each state's label in each frame: (frames, batch, states)."""
    index = xp.broadcast_to(labels, (log_probs.shape[0], *labels.shape))
    return xp.take_along_axis(log_probs, index, 2)


def _path_rule(
    grad: Value,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
    hidden: Any,
) -> Value:
    lengths = (input_lengths, target_lengths)
    sums = None if isinstance(grad, TensorCore) else hidden
    return path_slopes(grad, log_probs, targets, *lengths, blank, zero_infinity, sums)


def _path_tangent(
    log_probs: Any,
    log_probs_tangent: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
    result: Any,
) -> Any:
    """Each sample's own slope, along its tangent."""
    lengths = (input_lengths, target_lengths)
    ones = zero_of(result) + 1
    slopes = path_slopes(ones, log_probs, targets, *lengths, blank, zero_infinity)
    return sum(slopes * log_probs_tangent, (0, 2))


@general(
    log_probs=_path_rule,
    jvp=_path_tangent,
    batching=FOLD,
    folds={"log_probs": 1},
    node_name="CtcLossBackward0",
    hides=True,
    home=None,
    autocast="float32",
)
def path_losses(
    xp: Any,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """For each sample -log of the probability of its labels; the sums of all states are kept."""
    labels, skips = _states(xp, targets, blank)
    with xp.errstate(all="ignore"):
        sums = _path_sums(xp, log_probs, labels, skips, input_lengths, blank)
        ends = xp.take_along_axis(sums, xp.maximum(input_lengths - 1, 0)[None, :, None], 0)[0]
    empty = xp.where(target_lengths == 0, 0.0, _NEVER)
    losses = -xp.where(input_lengths > 0, _ended(xp, ends, target_lengths), empty)
    if zero_infinity:
        losses = xp.where(losses == math.inf, 0.0, losses)
    return losses.astype(log_probs.dtype), sums


@general(
    grad=refused_derivative("the gradient of ctc_loss"),
    log_probs=refused_derivative("the gradient of ctc_loss"),
    batching=FOLD,
    folds={"log_probs": 1, "result": 1},
    home=None,
)
def path_slopes(
    xp: Any,
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int,
    zero_infinity: bool,
    sums: Array | None = None,
) -> Array:
    """The gradient of path_losses, for log_probs that are a log_softmax.

    What the probability of a class in a frame is, less how often paths of the labels pass it: this
    differs from the plain derivative by what log_softmax takes away again.
    """
    labels, skips = _states(xp, targets, blank)
    with xp.errstate(all="ignore"):
        if sums is None:
            sums = _path_sums(xp, log_probs, labels, skips, input_lengths, blank)
        lengths = (input_lengths, target_lengths)
        given = (grad, log_probs, sums, labels, *lengths, blank)
        found = xp.path_slopes(*given, 0.0 if zero_infinity else math.nan)
    return _path_slopes(xp, *given, zero_infinity) if found is None else found


def _path_slopes(
    xp: Any,
    grad: Any,
    log_probs: Any,
    sums: Any,
    labels: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    """path_slopes, step by step."""
    frames, batch, classes = log_probs.shape
    emitted = _emitted(xp, log_probs, labels)
    count = labels.shape[1]
    inside = xp.arange(frames)[:, None] < input_lengths
    with xp.errstate(all="ignore"):
        ends = xp.take_along_axis(sums, xp.maximum(input_lengths - 1, 0)[None, :, None], 0)[0]
        total = _ended(xp, ends, target_lengths)
        # Backwards is forwards on reversed states: each sample's last state becomes its first.
        places = xp.arange(count)
        turned = xp.maximum(2 * target_lengths[:, None] - places, 0)
        known = places <= 2 * target_lengths[:, None]
        order = xp.clip(input_lengths - 1 - xp.arange(frames)[:, None], 0, None)
        back = xp.take_along_axis(emitted, order[:, :, None], 0)
        back = xp.take_along_axis(back, xp.broadcast_to(turned, back.shape), 2)
        back = xp.where(known, back, _NEVER)
        jumps = xp.take_along_axis(labels, turned, 1)
        before = xp.concatenate([jumps[:, :2] * 0 + blank, jumps[:, :-2]], axis=1)
        later = _paths(xp, back, (jumps != blank) & (jumps != before), input_lengths)
        later = xp.take_along_axis(later, order[:, :, None], 0)
        later = xp.take_along_axis(later, xp.broadcast_to(turned, later.shape), 2)
        passed = xp.where(known, sums + later - emitted - total[:, None], _NEVER)
        shares = xp.where(xp.isnan(passed), 0.0, xp.exp(passed))
    rows = xp.arange(frames * batch).reshape(frames, batch, 1) * classes
    used = xp.zeros(frames * batch * classes, shares.dtype)
    used = xp.added_at(used, (rows + labels).reshape(-1), shares.reshape(-1))  # fast if flat
    used = used.reshape(log_probs.shape)
    slopes = xp.where(inside[:, :, None], xp.exp(log_probs) - used, 0.0)
    possible = total > _NEVER
    if zero_infinity:
        slopes = xp.where(possible[:, None], slopes, 0.0)
    else:
        slopes = xp.where(possible[:, None] | ~inside[:, :, None], slopes, math.nan)
    return (slopes * grad[:, None]).astype(log_probs.dtype)


@general(batching=FOLD, home=None)
def padded_targets(xp: Any, targets: Array, lengths: Array, blank: int) -> Array:
    """Targets as a matrix with a row a sample, `blank` where there is none."""
    longest = int(xp.max(lengths, initial=0)) if xp.readable(waiting=True) else targets.shape[-1]
    columns = xp.arange(longest)
    if targets.ndim == 2:
        rows = targets[:, :longest]
    else:
        starts = xp.cumsum(lengths) - lengths
        places = xp.minimum(starts[:, None] + columns, max(targets.shape[0] - 1, 0))
        rows = targets[places] if targets.shape[0] else xp.zeros((lengths.shape[0], 0), "int64")
    return xp.where(columns < lengths[:, None], rows, blank).astype("int64")


def _lengths(name: str, value: Any, batch: int, most: int, like: Any) -> Any:
    """Lengths, given as a tensor or a sequence, as a tensor; checked, if they can be read."""
    if isinstance(value, Tensor) and not has_values(value):
        return reshape(value, (batch,)).long()
    if not isinstance(value, Tensor):
        numbers = [operator.index(n) for n in ([value] if isinstance(value, int) else value)]
    elif category_of(value.dtype) != INTEGER:
        raise RuntimeError(f"ctc_loss(): {name} must be integral, not {value.dtype}")
    else:
        numbers = reshape(value, (-1,)).tolist()
    if len(numbers) != batch:
        raise RuntimeError(f"ctc_loss(): {name} must have {batch} numbers, got {len(numbers)}")
    for n in numbers:
        if not 0 <= n <= most:
            raise RuntimeError(f"ctc_loss(): {name} must lie between 0 and {most}, got {n}")
    return like.new_tensor(numbers).long()


@composite(
    home="nn.functional",
    native="log_probs targets input_lengths target_lengths [blank reduction zero_infinity]",
)
def ctc_loss(
    log_probs: Value,
    targets: Value,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Value:
    """-log of the probability of label sequences; log_probs is (frames, batch, classes)."""
    check_reduction(reduction)
    if category_of(log_probs.dtype) < FLOAT:
        raise NotImplementedError(f"ctc_loss() is not implemented for {log_probs.dtype}")
    if category_of(targets.dtype) != INTEGER:
        targets = targets.long()
    if isinstance(input_lengths, Tensor) != isinstance(target_lengths, Tensor):
        raise TypeError(
            "ctc_loss(): input_lengths and target_lengths must both be Tensors, or neither"
        )
    single = log_probs.ndim == 2
    if single:
        log_probs = unsqueeze(log_probs, 1)
    frames, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss(): blank must be one of {classes} classes, got {blank}")
    inputs = _lengths("input_lengths", input_lengths, batch, frames, targets)
    most = targets.shape[1] if targets.ndim == 2 else targets.shape[0]
    outputs = _lengths("target_lengths", target_lengths, batch, most, targets)
    if targets.ndim == 1 and has_values(outputs) and int(outputs.sum()) != targets.shape[0]:
        raise RuntimeError(
            f"ctc_loss(): target_lengths add up to {int(outputs.sum())}, but there are "
            f"{targets.shape[0]} targets"
        )
    labels = padded_targets(targets, outputs, blank)
    losses = path_losses(log_probs, labels, inputs, outputs, blank, zero_infinity)
    if reduction == "mean":
        divisors = outputs.clamp_min(1).to(losses.dtype)
        return mean(div(losses, divisors))
    return reduced(reshape(losses, ()) if single and reduction == "none" else losses, reduction)
