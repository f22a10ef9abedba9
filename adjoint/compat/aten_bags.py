"""Operations of PyTorch's on bags of vectors and on paths of labels, and their gradients.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

import math
from typing import Any, Final

from adjoint.compat.aten_networks import slopes
from adjoint.creation.factories import tensor
from adjoint.dtypes import int64
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.indexing import gather, masked_fill, scatter_add
from adjoint.ops.arranging.shape import cat, expand, stack, unsqueeze
from adjoint.ops.elementwise.powers import logaddexp
from adjoint.ops.elementwise.selection import where
from adjoint.ops.neural.ctc import padded_targets, path_losses, path_slopes
from adjoint.ops.neural.native_functions import native_embedding_bag
from adjoint.tensors.tensor import Tensor

# ---- bags ----

_LARGEST: Final = 2  # the mode of embedding_bag


def _bags(name: str) -> Any:
    def forward(
        weight: Any,
        indices: Any,
        offsets: Any,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Any = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> Any:
        padding = None if padding_idx < 0 else padding_idx
        options = (scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset)
        return native_embedding_bag(weight, indices, offsets, *options, padding)

    forward.__name__ = forward.__qualname__ = name
    forward.__doc__ = "Sums, means or maxima of rows, the bags, their sizes, and the largest rows."
    return forward


_embedding_bag = _bags("_embedding_bag")
_embedding_bag_forward_only = _bags("_embedding_bag_forward_only")


def _embedding_bag_backward(
    grad: Any,
    indices: Any,
    offsets: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:
    """The gradient of bags by the table of vectors."""
    nothing = grad.new_zeros((num_weights, grad.shape[1]))
    if mode == _LARGEST:
        chosen = masked_fill(grad, unsqueeze(bag_size == 0, 1), 0)
        return scatter_add(nothing, 0, maximum_indices, chosen)
    last = offsets.shape[0] > grad.shape[0]
    options = (scale_grad_by_freq, mode, sparse, per_sample_weights, last, padding_idx)
    return slopes(
        lambda weight: _embedding_bag(weight, indices, offsets, *options)[0], [nothing], [0], grad
    )[0]


def _embedding_bag_per_sample_weights_backward(
    grad: Any,
    weight: Any,
    indices: Any,
    offsets: Any,
    offset2bag: Any,
    mode: int,
    padding_idx: int = -1,
) -> Any:
    """The gradient of bags by what each of their rows was multiplied with."""
    last = offsets.shape[0] > grad.shape[0]
    ones = grad.new_ones(tuple(indices.shape))
    return slopes(
        lambda each: _embedding_bag(
            weight, indices, offsets, False, mode, False, each, last, padding_idx
        )[0],
        [ones],
        [0],
        grad,
    )[0]


# ---- paths of labels ----


def _as_numbers(lengths: Any) -> Any:
    if isinstance(lengths, Tensor):
        return to(lengths, int64)
    return tensor(list(lengths), dtype=int64)


def _path_arguments(targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """The labels of each sample in a row, and both lengths, as tensors."""
    inputs, outputs = _as_numbers(input_lengths), _as_numbers(target_lengths)
    return padded_targets(targets, outputs, blank), inputs, outputs


def _sums_of_paths(log_probs: Any, labels: Any, blank: int) -> Any:
    """For each sample, frame and state the logarithm of what paths come there with."""
    batch, count = labels.shape
    blanks = labels.new_full((batch, count), blank)
    states = cat(
        [stack([blanks, labels], 2).reshape(batch, -1), labels.new_full((batch, 1), blank)], 1
    )
    emitted = gather(log_probs, 2, expand(states, (log_probs.shape[0], *states.shape)))
    never = log_probs.new_full((batch, 2 * count + 1), -math.inf)
    skips = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    sums = [cat([emitted[0, :, :2], never[:, 2:]], 1)]
    for frame in emitted[1:]:
        before = sums[-1]
        reached = logaddexp(before, cat([never[:, :1], before[:, :-1]], 1))
        jumps = where(skips, before[:, :-2], -math.inf)
        sums.append(logaddexp(reached, cat([never[:, :2], jumps], 1)) + frame)
    return stack(sums, 1)


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Any, Any]:
    """-log of the probability of each sample's labels, and the sums over paths to each state."""
    given = _path_arguments(targets, input_lengths, target_lengths, blank)
    losses = path_losses(log_probs, *given, blank, zero_infinity)
    if zero_infinity:  # what is impossible has no gradient, but is infinite here still
        known = path_losses(log_probs.detach(), *given, blank, False)
        losses = where(known == math.inf, math.inf, losses)
    return losses, _sums_of_paths(log_probs.detach(), given[0], blank)


def _ctc_loss_backward(
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    neg_log_likelihood: Any,
    log_alpha: Any,
    blank: int,
    zero_infinity: bool = False,
) -> Any:
    """The gradient of _ctc_loss by the logarithms of probabilities."""
    given = _path_arguments(targets, input_lengths, target_lengths, blank)
    return path_slopes(grad, log_probs, *given, blank, zero_infinity)


BAGS: Final = (
    _embedding_bag,
    _embedding_bag_forward_only,
    _embedding_bag_backward,
    _embedding_bag_per_sample_weights_backward,
    _ctc_loss,
    _ctc_loss_backward,
)
