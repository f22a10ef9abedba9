"""Losses as layers."""

from typing import Any

from adjoint.nn import functional
from adjoint.nn.layers.base import Stateless, taking
from adjoint.nn.layers.distance import PairwiseDistance
from adjoint.ops.neural.losses import chosen_reduction

# The two arguments that reduction has replaced, which all older losses still take.
_OLD: dict[str, Any] = {"size_average": None, "reduce": None}


class Loss(Stateless):
    """A function of inputs and targets, reduced to one number."""

    fields = taking(**_OLD, reduction="mean")

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The reduction that is meant; weights of classes are buffers."""
        old = [given.pop(name, None) for name in _OLD]
        given["reduction"] = chosen_reduction(given["reduction"], *old)
        for name in ("weight", "pos_weight"):
            if name in given:
                self.register_buffer(name, given.pop(name))
        return given

    @classmethod
    def passed_on(cls) -> tuple[str, ...]:
        """See Stateless."""
        return tuple(name for name in cls.fields if name not in _OLD)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class WeightedLoss(Loss):
    """A loss with a weight for each class."""

    fields = taking(weight=None, **Loss.fields)


class L1Loss(Loss):
    """The absolute difference."""

    function = functional.l1_loss


class MSELoss(Loss):
    """The squared difference."""

    function = functional.mse_loss


class SmoothL1Loss(Loss):
    """The absolute difference, rounded off to a parabola below beta."""

    function = functional.smooth_l1_loss
    fields = taking(**Loss.fields, beta=1.0)


class HuberLoss(Loss):
    """Half the squared difference up to delta, from there on linear."""

    function = functional.huber_loss
    fields = taking(reduction="mean", delta=1.0)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """See Loss; delta is a number."""
        if not isinstance(given["delta"], int | float):
            raise TypeError(
                f"HuberLoss: delta must be a float or int, got {type(given['delta']).__name__}"
            )
        return super().adjusted(given)


class SoftMarginLoss(Loss):
    """log(1 + exp(-target * input)) for targets 1 and -1."""

    function = functional.soft_margin_loss


class MultiLabelMarginLoss(Loss):
    """What the scores of the target classes lack to exceed all others by 1."""

    function = functional.multilabel_margin_loss


class NLLLoss(WeightedLoss):
    """The negative log likelihood of the target classes, given log-probabilities."""

    function = functional.nll_loss
    fields = taking(
        weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
    )


class NLLLoss2d(NLLLoss):
    """NLLLoss, under an older name."""


class CrossEntropyLoss(WeightedLoss):
    """The cross entropy of softmax(input) against class numbers or class probabilities."""

    function = functional.cross_entropy
    fields = taking(**NLLLoss.fields, label_smoothing=0.0)


class PoissonNLLLoss(Loss):
    """The negative log likelihood of counts."""

    function = functional.poisson_nll_loss
    fields = taking(
        log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
    )

    def forward(self, log_input: Any, target: Any) -> Any:
        """The function of the tensors, of which PyTorch calls the first as a field."""
        return super().forward(log_input, target)


class GaussianNLLLoss(Loss):
    """The negative log likelihood of targets, given expectations and variances."""

    function = functional.gaussian_nll_loss
    fields = taking(full=False, eps=1e-6, reduction="mean")


class KLDivLoss(Loss):
    """The divergence of a distribution from a target distribution."""

    function = functional.kl_div
    fields = taking(**Loss.fields, log_target=False)


class BCELoss(WeightedLoss):
    """The cross entropy of probabilities against targets between 0 and 1."""

    function = functional.binary_cross_entropy


class BCEWithLogitsLoss(Loss):
    """The cross entropy of sigmoid(input) against targets between 0 and 1."""

    function = functional.binary_cross_entropy_with_logits
    fields = taking(weight=None, **Loss.fields, pos_weight=None)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """The mean over classes of the cross entropy of sigmoid(input)."""

    function = functional.multilabel_soft_margin_loss


class HingeEmbeddingLoss(Loss):
    """input where target is 1; where it is -1, what input lacks to the margin."""

    function = functional.hinge_embedding_loss
    fields = taking(margin=1.0, **Loss.fields)


class MarginRankingLoss(Loss):
    """What one input lacks to be above the other, by a margin."""

    function = functional.margin_ranking_loss
    fields = taking(margin=0.0, **Loss.fields)


class CosineEmbeddingLoss(Loss):
    """1 - cos for pairs that belong together; for others, cos above the margin."""

    function = functional.cosine_embedding_loss
    fields = taking(margin=0.0, **Loss.fields)


class MultiMarginLoss(WeightedLoss):
    """What the score of the target class lacks to exceed each other by a margin."""

    function = functional.multi_margin_loss
    fields = taking(p=1, margin=1.0, weight=None, **Loss.fields)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """An exponent that is supported."""
        if given["p"] not in (1, 2):
            raise ValueError(f"only p == 1 and p == 2 supported, got {given['p']}")
        return super().adjusted(given)


class TripletMarginLoss(Loss):
    """What a negative lacks to be further from an anchor than a positive, by a margin."""

    function = functional.triplet_margin_loss
    fields = taking(margin=1.0, p=2.0, eps=1e-6, swap=False, **Loss.fields)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """A margin above 0."""
        if given["margin"] <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {given['margin']}"
            )
        return super().adjusted(given)


class TripletMarginWithDistanceLoss(Loss):
    """TripletMarginLoss with a distance of one's own."""

    function = functional.triplet_margin_with_distance_loss
    fields = taking(distance_function=None, margin=1.0, swap=False, reduction="mean")

    def __init__(
        self,
        *,
        distance_function: Any = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin}"
            )
        distance = PairwiseDistance() if distance_function is None else distance_function
        super().__init__(distance, margin, swap, reduction)


class CTCLoss(Loss):
    """-log of the probability of label sequences."""

    function = functional.ctc_loss
    fields = taking(blank=0, reduction="mean", zero_infinity=False)
