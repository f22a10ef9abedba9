"""The cross entropy of a linear map, with the map as part of the loss."""

import math
from dataclasses import dataclass
from typing import Any

from adjoint.dtypes import bfloat16, float16, float32, float64
from adjoint.nn import functional
from adjoint.nn.layers.linear import Linear
from adjoint.nn.module import Module


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes linear_cross_entropy in pieces, to save memory.

    Values are checked as there, and change nothing here: the result does not depend on them.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(
                f"acc_policy must be auto, accurate, balanced or compact, got {self.acc_policy!r}"
            )
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = self.chunking_method.partition(":")
            given = factor.isdigit() and int(factor) > 0 if colon else True
            if name != "aspect_ratio" or not given:
                raise ValueError(
                    "chunking_method must be None, auto, aspect_ratio or aspect_ratio:<number>, "
                    f"got {self.chunking_method!r}"
                )
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be a positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(f"acc_dtype must be None or a real float, got {self.acc_dtype!r}")


class LinearCrossEntropyLoss(Module):
    """The cross entropy of softmax(linear(input)); out_features are sizes of losses a sample."""

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Any = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"weight must hold a number for each of {num_classes} classes, got shape "
                f"{list(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"label_smoothing must be between 0 and 1, got {label_smoothing}")
        self.register_buffer("weight", weight)
        self.reduction = reduction
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Any, target: Any) -> Any:
        """linear_cross_entropy with the weights of `linear`."""
        shape = (self.num_classes, *self.out_features)
        rows: Any = self.linear.weight
        bias = self.linear.bias
        return functional.linear_cross_entropy(
            input,
            rows.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """All that the constructor was given, but for weights and where they are."""
        names = ("reduction", "ignore_index", "label_smoothing", "options")
        further = [f"{name}={getattr(self, name)}" for name in names]
        return ", ".join(
            [
                f"in_features={self.linear.in_features}",
                f"num_classes={self.num_classes}",
                f"out_features={self.out_features}",
                f"bias={self.linear.bias is not None}",
                *further,
            ]
        )
