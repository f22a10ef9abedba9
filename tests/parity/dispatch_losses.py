"""Small programs of losses, pools and layers, each of two matrices that need gradients."""

from typing import Any


def _images(x: Any) -> Any:
    """The numbers of x as two rows of pixels."""
    return x.view(1, 1, 2, 3)


def _signs(torch: Any) -> Any:
    return torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]])


def _native(found: Any) -> Any:
    """The first result of several, as a loss."""
    return (found[0] ** 2).sum()


# Losses by name, and what they are given after two matrices.
_OF_BOTH: dict[str, tuple[str, dict[str, Any]]] = {
    "binary_cross_entropy by both": ("binary_cross_entropy", {}),
    "the sum of binary_cross_entropy by both": ("binary_cross_entropy", {"reduction": "sum"}),
    "binary_cross_entropy_with_logits by both": ("binary_cross_entropy_with_logits", {}),
    "poisson_nll_loss": ("poisson_nll_loss", {}),
    "poisson_nll_loss in full": ("poisson_nll_loss", {"full": True}),
    "poisson_nll_loss of a mean": ("poisson_nll_loss", {"log_input": False, "reduction": "sum"}),
}

# Each gives a loss; a mode sees PyTorch's steps with their arguments, and the gradients are its.
DERIVED: dict[str, Any] = {
    **{
        name: lambda torch, x, y, function=function, named=named: getattr(
            torch.nn.functional, function
        )(x, y / 10, **named)
        for name, (function, named) in _OF_BOTH.items()
    },
    "binary_cross_entropy_with_logits and weights": lambda torch, x, y: (
        torch.nn.functional.binary_cross_entropy_with_logits(
            x, y, y[0, :1].detach(), pos_weight=y[1].detach()
        )
    ),
    "soft_margin_loss": lambda torch, x, y: torch.nn.functional.soft_margin_loss(
        x * y, _signs(torch)
    ),
    "multi_margin_loss": lambda torch, x, y: torch.nn.functional.multi_margin_loss(
        x, torch.tensor([2, 0]), 2, 0.5
    ),
    "multi_margin_loss with weights": lambda torch, x, y: torch.nn.functional.multi_margin_loss(
        x, torch.tensor([2, 0]), weight=y[0].detach(), reduction="sum"
    ),
    "multilabel_margin_loss": lambda torch, x, y: torch.nn.functional.multilabel_margin_loss(
        x, torch.tensor([[2, -1, 0], [0, 1, -1]])
    ),
    "margin_ranking_loss": lambda torch, x, y: torch.nn.functional.margin_ranking_loss(
        x, y, _signs(torch), 0.5
    ),
    "hinge_embedding_loss": lambda torch, x, y: torch.nn.functional.hinge_embedding_loss(
        x * y, _signs(torch), 2.0
    ),
    "cosine_embedding_loss": lambda torch, x, y: torch.nn.functional.cosine_embedding_loss(
        x, y, torch.tensor([1, -1]), 0.1
    ),
    "triplet_margin_loss": lambda torch, x, y: torch.nn.functional.triplet_margin_loss(
        x, y, x * 2, 2.0, swap=True
    ),
    "gaussian_nll_loss": lambda torch, x, y: torch.nn.functional.gaussian_nll_loss(
        x, _signs(torch), y, full=True
    ),
    "bilinear": lambda torch, x, y: (
        torch.nn.functional.bilinear(x, y, torch.ones(4, 3, 3), torch.ones(4)) ** 2
    ).sum(),
    "a vector in a linear layer": lambda torch, x, y: (
        torch.nn.functional.linear(x[0], y, x.sum(1)) ** 2
    ).sum(),
    "a vector in a linear layer without shift": lambda torch, x, y: (
        torch.nn.functional.linear(x[0], y) ** 2
    ).sum(),
    "max_pool2d rounded up": lambda torch, x, y: torch.nn.functional.max_pool2d(
        x.view(1, 2, 3) * 2, 2, ceil_mode=True
    ).sum(),
    "a border that cuts": lambda torch, x, y: (
        torch.nn.functional.pad(_images(x), (-1, 2, 0, 0), "replicate") ** 2
    ).sum(),
    **{
        f"smooth {mode} images": lambda torch, x, y, mode=mode: (
            torch.nn.functional.interpolate(_images(x), (1, 2), mode=mode, antialias=True) ** 2
        ).sum()
        for mode in ("bilinear", "bicubic")
    },
    "native_layer_norm": lambda torch, x, y: _native(
        torch.native_layer_norm(x, [3], y[0], y[1], 1e-5)
    ),
    "native_batch_norm": lambda torch, x, y: _native(
        torch.native_batch_norm(x, y[0], y[1], None, None, True, 0.1, 1e-5)
    ),
    "native_group_norm": lambda torch, x, y: _native(
        torch.native_group_norm(x[None], y[0, :2], y[1, :2], 1, 2, 3, 1, 1e-5)
    ),
    "_softmax_backward_data": lambda torch, x, y: (
        torch._softmax_backward_data(x, y.detach(), 1, torch.float32) * y
    ).sum(),
    "normal": lambda torch, x, y: torch.normal(x.detach(), y.detach()).sum() + x.sum(),
    "gamma": lambda torch, x, y: torch._standard_gamma(x.detach()).sum() + x.sum(),
}

_OPTIONS = [
    (reduction, weighted, smoothing)
    for reduction in ("mean", "sum", "none")
    for weighted in (False, True)
    for smoothing in (0.0, 0.1)
]


def _entropy(torch: Any, x: Any, target: Any, options: Any) -> Any:
    """Cross entropy, summed up."""
    reduction, weighted, smoothing = options
    weight = torch.tensor([1.0, 0.5, 2.0]) if weighted else None
    loss = torch.nn.functional.cross_entropy(
        x, target, weight, reduction=reduction, label_smoothing=smoothing
    )
    return loss.sum()


DERIVED |= {
    f"cross entropy of chances, {options}": lambda torch, x, y, options=options: _entropy(
        torch, x, y, options
    )
    for options in _OPTIONS
}
DERIVED |= {
    f"cross entropy of classes, {options}": lambda torch, x, y, options=options: (
        _entropy(torch, x, torch.tensor([2, 0]), options)
        + _entropy(torch, x[0], torch.tensor(1), options)
        + _entropy(torch, y.T.reshape(1, 3, 2), torch.tensor([[1, -100]]), options)
    )
    for options in _OPTIONS
}
DERIVED |= {
    "linear cross entropy": lambda torch, x, y: torch.nn.functional.linear_cross_entropy(
        x, y, torch.tensor([1, 0])
    ),
    "linear cross entropy in places": lambda torch, x, y: torch.nn.functional.linear_cross_entropy(
        x, y[:, None], torch.tensor([[1], [0]])
    ),
    "prelu of a row": lambda torch, x, y: torch.nn.functional.prelu(-x[0], y[0, :1]).sum(),
    "logsigmoid": lambda torch, x, y: torch.nn.functional.logsigmoid(x * y).sum(),
}

# The same, but for the signs of dimensions.
NAMED: dict[str, Any] = {
    "adaptive_avg_pool1d to one": lambda torch, x, y: (
        torch.nn.functional.adaptive_avg_pool1d(x, 1) ** 2
    ).sum(),
    "adaptive_avg_pool1d of nothing": lambda torch, x, y: torch.nn.functional.adaptive_avg_pool1d(
        x[None][:0], 2
    ).sum(),
    "a line by areas": lambda torch, x, y: torch.nn.functional.interpolate(
        x[None], 2, mode="area"
    ).sum(),
}

# Linear in the first matrix, or nearly: a recorded backward is one operation, and so is the next.
RECORDED: dict[str, Any] = {
    "interpolate": lambda torch, x: torch.nn.functional.interpolate(
        _images(x), (3, 2), mode="bilinear"
    ),
    "smooth images": lambda torch, x: torch.nn.functional.interpolate(
        _images(x), (1, 2), mode="bilinear", antialias=True
    ),
    "a mirrored border": lambda torch, x: torch.nn.functional.pad(
        _images(x), (1, 1, 1, 0), "reflect"
    ),
    "adaptive_avg_pool2d": lambda torch, x: torch.nn.functional.adaptive_avg_pool2d(
        _images(x), (2, 2)
    ),
    "adaptive_max_pool2d": lambda torch, x: torch.nn.functional.adaptive_max_pool2d(
        _images(x), (1, 2)
    ),
    "fractional_max_pool2d": lambda torch, x: torch.nn.functional.fractional_max_pool2d(
        _images(x), (2, 1), (1, 2), _random_samples=torch.full((1, 1, 2), 0.3, dtype=x.dtype)
    ),
    "max_pool2d": lambda torch, x: torch.nn.functional.max_pool2d(_images(x), 2, 1),
    "max_pool3d rounded up": lambda torch, x: torch.nn.functional.max_pool3d(
        x.view(1, 1, 1, 2, 3), (1, 2, 2), ceil_mode=True
    ),
}
