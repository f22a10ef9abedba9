"""A softmax over many classes, most of them rare."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from adjoint.call.context import current
from adjoint.nn import functional
from adjoint.nn.containers import ModuleList, Sequential
from adjoint.nn.layers.linear import Linear
from adjoint.nn.module import Module
from adjoint.ops.arranging.shape import cat
from adjoint.ops.elementwise.selection import where
from adjoint.tensors.concrete import has_values


class _ASMoutput(NamedTuple):
    """The log probability of each target, and the mean of their negatives."""

    output: Any
    loss: Any


def _is_traced(tensor: Any) -> bool:
    """Whether a tensor gets its values when a compiled program runs."""
    return current().tracing is not None and not has_values(tensor)


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes sorted by frequency, the rare ones in clusters.

    The head tells the frequent classes, below the first of `cutoffs`, and the clusters apart; the
    tail has a smaller map for each cluster, which is computed only for the samples that need it, or
    for all in compiled code, where no values can be read.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        bounds = [0, *cutoffs, n_classes]
        rising = all(low < high for low, high in pairwise(bounds))
        if len(bounds) == 2 or not rising or any(int(bound) != bound for bound in bounds):
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs should be a sequence of unique, positive "
                f"integers in increasing order, at least one and all below n_classes, {n_classes}; "
                f"got {list(cutoffs)}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = bounds[1:]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for power, (low, high) in enumerate(pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**power)
            narrow = Linear(in_features, width, bias=False, **options)
            self.tail.append(Sequential(narrow, Linear(width, high - low, bias=False, **options)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """The log probability of each sample's target, and the loss."""
        self._check(input_, target_)
        single = target_.ndim == 0
        input, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        pick = self._masked if _is_traced(target) else self._picked
        inner, column = pick(input, target)
        outer = functional.log_softmax(self.head(input), dim=1)
        output = inner + outer.gather(1, column.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _picked(self, input: Any, target: Any) -> tuple[Any, Any]:
        """Of each sample the log probability within its cluster, and its column of the head."""
        column, inner = target, input.new_zeros(target.shape[0])
        for cluster, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                chances = self._within(cluster, input.index_select(0, rows))
                wanted = (target.index_select(0, rows) - low).unsqueeze(1)
                inner = inner.index_copy(0, rows, chances.gather(1, wanted).squeeze(1))
                column = column.index_fill(0, rows, self.shortlist_size + cluster)
        return inner, column

    def _masked(self, input: Any, target: Any) -> tuple[Any, Any]:
        """The same, with every cluster computed for all samples."""
        column, inner = target, input.new_zeros(target.shape[0])
        for cluster, (low, high) in enumerate(pairwise(self.cutoffs)):
            inside = (target >= low) & (target < high)
            wanted = where(inside, target - low, 0).unsqueeze(1)
            chances = self._within(cluster, input).gather(1, wanted).squeeze(1)
            inner = where(inside, chances, inner)
            column = where(inside, self.shortlist_size + cluster, column)
        return inner, column

    def _check(self, input: Any, target: Any) -> None:
        """Refuse what does not belong together, and targets that are no classes."""
        if target.ndim > 1 or input.ndim != target.ndim + 1:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: expected 2D input with 1D target, or 1D input with "
                f"0D target, got {input.ndim}D and {target.ndim}D; multi-target is not supported"
            )
        if input.shape[:-1] != target.shape:
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: input and target should have the same size in the "
                f"batch dimension, got {input.shape[0]} and {target.shape[0]}"
            )
        if not _is_traced(target) and ((target < 0) | (target >= self.n_classes)).any():
            raise RuntimeError(
                "AdaptiveLogSoftmaxWithLoss: target values should be in "
                f"[0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found"
            )

    def _within(self, cluster: int, input: Any) -> Any:
        """The log probabilities of a cluster's classes, given the cluster."""
        return functional.log_softmax(self.tail[cluster](input), dim=1)

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        """The log probabilities of all classes, given what the head says."""
        outer = functional.log_softmax(head_output, dim=1)
        parts = [outer[:, : self.shortlist_size]]
        for cluster in range(self.n_clusters):
            place = self.shortlist_size + cluster
            parts.append(self._within(cluster, input) + outer[:, place : place + 1])
        return cat(parts, dim=1)

    def log_prob(self, input: Any) -> Any:
        """The log probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The likeliest class of each sample; the tail is computed only where it may matter."""
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        rare = output >= self.shortlist_size
        if _is_traced(rare):
            return where(rare, self._get_full_log_prob(input, head_output).argmax(dim=1), output)
        if rare.any():
            output[rare] = self._get_full_log_prob(input[rare], head_output[rare]).argmax(dim=1)
        return output
