"""Small programs of functions and layers, each of two matrices that need gradients."""

from typing import Any


def _images(x: Any) -> Any:
    """The numbers of x as two rows of pixels."""
    return x.view(1, 1, 2, 3)


# Each gives a loss; a mode sees PyTorch's steps by name, and the gradients are its.
NAMED: dict[str, Any] = {
    "acosh": lambda torch, x, y: (y + 1).acosh().sum(),
    "atanh": lambda torch, x, y: x.atanh().sum(),
    "erfinv": lambda torch, x, y: x.erfinv().sum(),
    "deg2rad": lambda torch, x, y: x.deg2rad().sum(),
    "rad2deg": lambda torch, x, y: x.rad2deg().sum(),
    "atan2": lambda torch, x, y: torch.atan2(x, y).sum(),
    "fmod": lambda torch, x, y: torch.fmod(y, x).sum(),
    "remainder": lambda torch, x, y: torch.remainder(y, x).sum(),
    "logaddexp2": lambda torch, x, y: torch.logaddexp2(x, y).sum(),
    "i0": lambda torch, x, y: torch.special.i0(x).sum(),
    "round": lambda torch, x, y: x.round().sum(),
    "floor division": lambda torch, x, y: torch.div(x, y, rounding_mode="floor").sum(),
    "zeros of a copy": lambda torch, x, y: (x.clone().zero_() + x).sum(),
    "nan_to_num": lambda torch, x, y: x.nan_to_num().sum(),
    "logsigmoid": lambda torch, x, y: torch.nn.functional.logsigmoid(x).sum(),
    "glu": lambda torch, x, y: torch.nn.functional.glu(x, 0).sum(),
    "prelu": lambda torch, x, y: torch.nn.functional.prelu(x - 0.4, y[0, :1]).sum(),
    "prelu of channels": lambda torch, x, y: torch.nn.functional.prelu(x - 0.4, y[0]).sum(),
    "clamp between tensors": lambda torch, x, y: torch.clamp(x, y - 3, y).sum(),
    "clamp_min of a tensor": lambda torch, x, y: torch.clamp_min(x, y - 1).sum(),
    "clamp_max of a tensor": lambda torch, x, y: torch.clamp_max(x, y - 1).sum(),
    "var by its second argument": lambda torch, x, y: x.var(False),
    "std by its second argument": lambda torch, x, y: x.std(False),
    "var_mean": lambda torch, x, y: sum(torch.var_mean(x)),
    "var_mean of rows": lambda torch, x, y: sum(part.sum() for part in torch.var_mean(x, 1)),
    "std_mean": lambda torch, x, y: sum(torch.std_mean(x, correction=0)),
    "mean of a number": lambda torch, x, y: x.sum().mean(),
    "softmax in float64": lambda torch, x, y: (x.softmax(1, dtype=torch.float64) * y).sum(),
    "log_softmax in float64": lambda torch, x, y: (x.log_softmax(1, dtype=torch.float64) * y).sum(),
    "median": lambda torch, x, y: x.median(),
    "median of rows": lambda torch, x, y: x.median(1).values.sum(),
    "kthvalue": lambda torch, x, y: x.kthvalue(2, 1).values.sum(),
    "mode": lambda torch, x, y: x.mode(1).values.sum(),
    "nansum": lambda torch, x, y: x.nansum(),
    "addcdiv": lambda torch, x, y: torch.addcdiv(x, x, y, value=2).sum(),
    "fmax": lambda torch, x, y: torch.fmax(x, y - 4).sum(),
    "fmin": lambda torch, x, y: torch.fmin(x, y - 4).sum(),
    "prod": lambda torch, x, y: x.prod(),
    "prod with a zero": lambda torch, x, y: (x - x[0, 0].detach()).prod(1).sum(),
    "prod of rows, kept": lambda torch, x, y: x.prod(1, keepdim=True).sum(),
    "index_add": lambda torch, x, y: x.index_add(0, torch.tensor([0, 1]), y, alpha=2).sum(),
    "index_copy": lambda torch, x, y: (x.index_copy(1, torch.tensor([2]), y[:, :1]) * 2).sum(),
    "one_hot": lambda torch, x, y: (
        torch.nn.functional.one_hot(torch.tensor([0, 1])).float() @ x
    ).sum(),
    "one_hot of so many": lambda torch, x, y: (
        torch.nn.functional.one_hot(torch.tensor([2, 1]), 3).float() * x
    ).sum(),
    "kl_div": lambda torch, x, y: torch.nn.functional.kl_div(x.log(), y, reduction="batchmean"),
    "kl_div of logarithms": lambda torch, x, y: torch.nn.functional.kl_div(
        x, y, reduction="sum", log_target=True
    ),
    "unfold along a dimension": lambda torch, x, y: (x.unfold(1, 2, 1) ** 2).sum(),
    "take": lambda torch, x, y: (torch.take(x, torch.tensor([0, 4, 4])) * 2).sum(),
    "take_along_dim": lambda torch, x, y: (
        torch.take_along_dim(x, torch.tensor([[0], [2]]), 1) * 2
    ).sum(),
    "masked_select": lambda torch, x, y: (torch.masked_select(x, x > 0.3) * 2).sum(),
    "diag_embed": lambda torch, x, y: (torch.diag_embed(x) * 2).sum(),
    "diag": lambda torch, x, y: (torch.diag(x[0], 1) * 2).sum(),
    "diagflat": lambda torch, x, y: (torch.diagflat(x) * 2).sum(),
    "places of the greatest": lambda torch, x, y: torch.nn.functional.max_pool2d(
        _images(x), 2, 1, return_indices=True
    )[0].sum(),
    "max_pool1d": lambda torch, x, y: torch.nn.functional.max_pool1d(x[None], 2, 1).sum(),
    "max_pool3d": lambda torch, x, y: torch.nn.functional.max_pool3d(
        x.view(1, 1, 1, 2, 3), (1, 2, 2)
    ).sum(),
    "avg_pool1d": lambda torch, x, y: torch.nn.functional.avg_pool1d(x[None], 2, 1).sum(),
    "avg_pool3d": lambda torch, x, y: torch.nn.functional.avg_pool3d(
        x.view(1, 1, 1, 2, 3), (1, 2, 2)
    ).sum(),
    "adaptive_avg_pool1d": lambda torch, x, y: torch.nn.functional.adaptive_avg_pool1d(
        x[None], 2
    ).sum(),
    "rms_norm": lambda torch, x, y: (torch.nn.functional.rms_norm(x, (3,), y[0]) * y).sum(),
    "a layer of rms_norm": lambda torch, x, y: (torch.nn.RMSNorm(3, 1e-3)(x) * y).sum(),
    "spherical Bessel function": lambda torch, x, y: (
        torch.special.spherical_bessel_j0(x.detach()).sum() + x.sum()
    ),
}

# Of which there is no gradient.
MADE: dict[str, Any] = {
    "argsort": lambda torch, x, y: torch.argsort(x, 1),
    "stable argsort": lambda torch, x, y: torch.argsort(x, dim=1, stable=True),
    "isfinite": lambda torch, x, y: torch.isfinite(x),
    "isclose": lambda torch, x, y: torch.isclose(x, y),
    "equal": lambda torch, x, y: torch.tensor(torch.equal(x, y)),
    "allclose": lambda torch, x, y: torch.tensor(torch.allclose(x, x + 1e-9)),
    "polygamma": lambda torch, x, y: torch.polygamma(1, x),
    "zeta": lambda torch, x, y: torch.special.zeta(x + 2, y),
    "Bessel function": lambda torch, x, y: torch.special.bessel_j1(x),
}
