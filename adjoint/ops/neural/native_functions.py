"""Functions of networks as the top level has them, beside those of nn.functional.

The same functions with other arguments: in another order, with reductions and modes as numbers,
and with switches for libraries that play no part here.
"""

from collections.abc import Callable
from typing import Any

from adjoint.ops.elementwise.activation import rrelu
from adjoint.ops.neural.adaptive_pooling import adaptive_max_pool1d as _adaptive_max_pool1d
from adjoint.ops.neural.ctc import ctc_loss as _ctc_loss
from adjoint.ops.neural.dropout import dropped
from adjoint.ops.neural.embedding import embedding as _embedding, shorten_rows
from adjoint.ops.neural.losses import (
    binary_cross_entropy_with_logits as _binary_cross_entropy_with_logits,
    cosine_embedding_loss as _cosine_embedding_loss,
    hinge_embedding_loss as _hinge_embedding_loss,
    kl_div as _kl_div,
    margin_ranking_loss as _margin_ranking_loss,
    poisson_nll_loss as _poisson_nll_loss,
    reduced,
    triplet_margin_loss as _triplet_margin_loss,
)
from adjoint.ops.neural.normalization import (
    batch_norm as _batch_norm,
    instance_norm as _instance_norm,
)
from adjoint.ops.neural.pooling import max_pool1d as _max_pool1d
from adjoint.ops.reducing.sorting import as_index

__all__ = [
    "adaptive_max_pool1d",
    "alpha_dropout_",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "ctc_loss",
    "embedding",
    "embedding_renorm_",
    "feature_alpha_dropout_",
    "feature_dropout_",
    "hinge_embedding_loss",
    "instance_norm",
    "kl_div",
    "margin_ranking_loss",
    "max_pool1d_with_indices",
    "poisson_nll_loss",
    "rrelu_",
    "triplet_margin_loss",
]

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(name: str, number: Any) -> str:
    """The word for the number of a reduction."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(
            f"{name}(): reduction must be 0 (none), 1 (mean) or 2 (sum), not {number!r}; "
            f"nn.functional.{name} takes words"
        )
    if not 0 <= number < len(_REDUCTIONS):
        raise RuntimeError(f"{name}(): there is no reduction {number}: 0 none, 1 mean, 2 sum")
    return _REDUCTIONS[number]


def _reordered(function: Any, names: str, required: int, ignored: str = "") -> Callable[..., Any]:
    """A function of nn.functional with its arguments in the order of `names`.

    A reduction is given as a number, 0 if not at all; `ignored` is taken and has no effect.
    """
    order = names.split()
    name: str = function.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(order):
            raise TypeError(f"{name}() takes {len(order)} arguments, got {len(args)}")
        given = dict(zip(order, args))
        for key, value in kwargs.items():
            if key not in order or key in given:
                raise TypeError(f"{name}({', '.join(order)}): '{key}' is unknown or given twice")
            given[key] = value
        absent = [key for key in order[:required] if key not in given]
        if absent:
            raise TypeError(f"{name}() misses {', '.join(absent)}")
        given.pop(ignored, None)
        if "reduction" in order:
            given["reduction"] = _reduction(name, given.get("reduction", 0))
        return function(**given)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nn.functional.{name} of ({', '.join(order)})."
    return call


# ---- normalisation ----

_STATISTICS = "input weight bias running_mean running_var {} momentum eps cudnn_enabled"
batch_norm = _reordered(_batch_norm, _STATISTICS.format("training"), 9, "cudnn_enabled")
instance_norm = _reordered(
    _instance_norm, _STATISTICS.format("use_input_stats"), 9, "cudnn_enabled"
)

# ---- losses ----

binary_cross_entropy_with_logits = _reordered(
    _binary_cross_entropy_with_logits, "input target weight pos_weight reduction", 2
)
cosine_embedding_loss = _reordered(
    _cosine_embedding_loss, "input1 input2 target margin reduction", 3
)
ctc_loss = _reordered(
    _ctc_loss, "log_probs targets input_lengths target_lengths blank reduction zero_infinity", 4
)
hinge_embedding_loss = _reordered(_hinge_embedding_loss, "input target margin reduction", 2)
margin_ranking_loss = _reordered(_margin_ranking_loss, "input1 input2 target margin reduction", 3)
poisson_nll_loss = _reordered(_poisson_nll_loss, "input target log_input full eps reduction", 6)
triplet_margin_loss = _reordered(
    _triplet_margin_loss, "anchor positive negative margin p eps swap reduction", 3
)


def kl_div(input: Any, target: Any, reduction: int = 0, *, log_target: bool = False) -> Any:
    """The divergence of a distribution, given by logarithms, from a target distribution."""
    losses = _kl_div(input, target, reduction="none", log_target=log_target)
    return reduced(losses, _reduction("kl_div", reduction))


# ---- tables of vectors ----


def embedding(
    weight: Any,
    indices: Any,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The row of weight for each index; a padding_idx below 0 is none."""
    padding = None if padding_idx < 0 else padding_idx
    return _embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


def embedding_renorm_(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Scale down, in place, the rows of weight that indices name and that exceed max_norm."""
    shorten_rows(weight, as_index(indices), max_norm, norm_type)
    return weight


# ---- functions that answer places too ----


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """The largest elements of output_size windows that cover all, and where they are."""
    return _adaptive_max_pool1d(input, output_size, return_indices=True)


def max_pool1d_with_indices(
    input: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each window, and where it is."""
    step = kernel_size if stride == () else stride
    return _max_pool1d(input, kernel_size, step, padding, dilation, ceil_mode, return_indices=True)


# ---- what draws random numbers ----


def rrelu_(
    input: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    """In-place form of rrelu."""
    return input.copy_(rrelu(input, lower, upper, training, generator))


def alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of alpha_dropout."""
    return dropped(input, p, train, True, False, True)


def feature_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of feature_dropout."""
    return dropped(input, p, train, True, True, False)


def feature_alpha_dropout_(input: Any, p: float, train: bool) -> Any:
    """In-place form of feature_alpha_dropout."""
    return dropped(input, p, train, True, True, True)
