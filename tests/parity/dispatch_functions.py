"""Small programs of functions and layers, each of two matrices that need gradients."""

from typing import Any


def _images(x: Any) -> Any:
    """The numbers of x as two rows of pixels."""
    return x.view(1, 1, 2, 3)


def _changed(x: Any, index: Any, value: Any) -> Any:
    """x with a value written at an index."""
    x[index] = value
    return x


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
    "adaptive_max_pool1d": lambda torch, x, y: torch.nn.functional.adaptive_max_pool1d(
        x[None], 2
    ).sum(),
    "adaptive_max_pool2d": lambda torch, x, y: (
        torch.nn.functional.adaptive_max_pool2d(_images(x), (1, 2)) ** 2
    ).sum(),
    "adaptive_max_pool3d": lambda torch, x, y: torch.nn.functional.adaptive_max_pool3d(
        x.view(1, 1, 1, 2, 3), (1, 1, 2), return_indices=True
    )[0].sum(),
    "fractional_max_pool2d": lambda torch, x, y: torch.nn.functional.fractional_max_pool2d(
        _images(x), 1, (1, 2), _random_samples=torch.full((1, 1, 2), 0.3, dtype=x.dtype)
    ).sum(),
    "max_unpool1d": lambda torch, x, y: (
        torch.nn.functional.max_unpool1d(x[None], torch.tensor([[[0, 2, 5], [1, 3, 4]]]), 2) ** 2
    ).sum(),
    "max_unpool2d": lambda torch, x, y: (
        torch.nn.functional.max_unpool2d(
            _images(x), torch.tensor([[[[0, 2, 5], [13, 15, 16]]]]), 2, 2, 0, (4, 6)
        )
        ** 2
    ).sum(),
    "instance_norm with running statistics": lambda torch, x, y: (
        torch.nn.functional.instance_norm(x[None], torch.zeros(2), torch.ones(2), y[:, 0]) * y
    ).sum(),
    "instance_norm by known statistics": lambda torch, x, y: (
        torch.nn.functional.instance_norm(
            x[None], torch.zeros(2), torch.ones(2), y[:, 0], use_input_stats=False
        )
        * y
    ).sum(),
    "local_response_norm": lambda torch, x, y: (
        torch.nn.functional.local_response_norm(_images(x), 2, 0.5) * y
    ).sum(),
    "bags of rows": lambda torch, x, y: (
        torch.nn.functional.embedding_bag(torch.tensor([[0, 1], [1, 1]]), x) * y
    ).sum(),
    "the largest of bags": lambda torch, x, y: (
        torch.nn.functional.embedding_bag(
            torch.tensor([0, 1, 1]),
            x,
            torch.tensor([0, 2, 3]),
            mode="max",
            include_last_offset=True,
        )
        * y
    ).sum(),
    "bags with weights": lambda torch, x, y: (
        torch.nn.functional.embedding_bag(
            torch.tensor([[0, 1, 1], [1, 0, 0]]),
            x,
            mode="sum",
            per_sample_weights=y,
            padding_idx=1,
        )
        ** 2
    ).sum(),
    "ctc_loss": lambda torch, x, y: torch.nn.functional.ctc_loss(
        x.view(2, 1, 3).log_softmax(2), torch.tensor([[1]]), [2], [1], reduction="none"
    ).sum(),
    "ctc_loss by tensors": lambda torch, x, y: torch.nn.functional.ctc_loss(
        x.view(2, 1, 3).log_softmax(2),
        torch.tensor([[1, 2]]),
        torch.tensor([2]),
        torch.tensor([2]),
        reduction="sum",
        zero_infinity=True,
    ),
    "index_put": lambda torch, x, y: (
        x.index_put((torch.tensor([0, 1]), torch.tensor([2, 0])), y[0, :2]) ** 2
    ).sum(),
    "index_put that adds": lambda torch, x, y: (
        x.index_put((torch.tensor([1, 1]),), y[0], accumulate=True) ** 2
    ).sum(),
    "select_scatter": lambda torch, x, y: (torch.select_scatter(x, y[0], 0, 1) ** 2).sum(),
    "slice_scatter": lambda torch, x, y: (torch.slice_scatter(x, y[:, :2], 1, 0, 3, 2) ** 2).sum(),
    "as_strided": lambda torch, x, y: ((x * 2).as_strided((2, 2), (3, 1), 1) ** 2).sum(),
    "as_strided that overlaps": lambda torch, x, y: (
        (x * 2).as_strided((2, 3), (1, 2), 0) ** 2
    ).sum(),
    "as_strided of what is repeated": lambda torch, x, y: (
        x[0].expand(2, 3).as_strided((2, 2), (1, 1), 0) ** 2
    ).sum(),
    "as_strided_copy": lambda torch, x, y: (torch.as_strided_copy(x, (2, 2), (3, 1), 1) ** 2).sum(),
    "diagonal_copy": lambda torch, x, y: (torch.diagonal_copy(x, 1) ** 2).sum(),
    "masked_scatter": lambda torch, x, y: (x.masked_scatter(x > 0.4, y) ** 2).sum(),
    "block_diag": lambda torch, x, y: (torch.block_diag(x, y) ** 2).sum(),
    "unfold of a number": lambda torch, x, y: (x.sum().unfold(0, 1, 1) ** 2).sum(),
    "logcumsumexp": lambda torch, x, y: (x.logcumsumexp(1) * y).sum(),
    "segment_reduce": lambda torch, x, y: (
        torch.segment_reduce(x, "mean", lengths=torch.tensor([1, 1])) * y
    ).sum(),
    **{
        f"scatter_reduce of {kind}": lambda torch, x, y, kind=kind: (
            x.scatter_reduce(0, torch.tensor([[0, 0, 1], [0, 1, 1]]), y, kind) ** 2
        ).sum()
        for kind in ("sum", "prod", "mean", "amax", "amin")
    },
    **{
        f"index_reduce of {kind}": lambda torch, x, y, kind=kind: (
            x.index_reduce(1, torch.tensor([0, 2, 2]), y, kind, include_self=False) ** 2
        ).sum()
        for kind in ("prod", "mean", "amax", "amin")
    },
    **{
        name: lambda torch, x, y, name=name: (getattr(torch.fft, name)(x).abs() * 2).sum()
        for name in ("fft2", "ifft2", "fftn", "ifftn", "irfft")
    },
    "fft2 of other sizes": lambda torch, x, y: (torch.fft.fft2(x, (3, 2)).abs() * 2).sum(),
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
    "unique": lambda torch, x, y: torch.unique(
        (x * 3).floor(), return_inverse=True, return_counts=True
    ),
    "unique rows": lambda torch, x, y: torch.unique((x * 3).floor(), dim=0),
    "unique_consecutive": lambda torch, x, y: torch.unique_consecutive(
        (x * 3).floor(), return_counts=True
    ),
    "histogram": lambda torch, x, y: tuple(torch.histogram(x, 3, range=(0.0, 1.0), weight=y)),
    "histogram between edges": lambda torch, x, y: tuple(
        torch.histogram(x, torch.tensor([0.0, 0.4, 1.0]), density=True)
    ),
    "histogramdd": lambda torch, x, y: torch.histogramdd(x, [2, 1, 2])[0],
    "hash_tensor": lambda torch, x, y: torch.hash_tensor(x, 1).view(torch.int64),
    "ldl_factor": lambda torch, x, y: torch.linalg.ldl_factor(x[:, :2] + x[:, :2].mT)[0],
    "ldl_solve": lambda torch, x, y: torch.linalg.ldl_solve(
        *torch.linalg.ldl_factor_ex(y[:, :2] + y[:, :2].mT)[:2], x
    ),
    "Laguerre's polynomials": lambda torch, x, y: torch.special.laguerre_polynomial_l(x, 3),
    "writing what has ones in front": lambda torch, x, y: _changed(x.clone(), 0, y[None, :1]),
    "writing what is repeated": lambda torch, x, y: _changed(x.clone(), ..., y[1]),
    "bags of what is not derived": lambda torch, x, y: torch.nn.functional.embedding_bag(
        torch.tensor([[0, 1], [1, 1]]), x.detach()
    ),
}

# Each gives a tensor; what a mode sees of it and of its gradients has names of PyTorch's, though
# PyTorch may show other ones: recorded passes, numbers of 16 bits, and adjoint's own rules.
KNOWN: dict[str, Any] = {
    "as_strided_scatter": lambda torch, x, y: torch.as_strided_scatter(
        x, y[:, :2], (2, 2), (3, 1), 1
    ),
    "as_strided of what is repeated": lambda torch, x, y: (
        x[0].expand(2, 3).as_strided((2, 2), (1, 1), 0)
    ),
    "the mean of ctc_loss": lambda torch, x, y: torch.nn.functional.ctc_loss(
        x.view(2, 1, 3).log_softmax(2), torch.tensor([[1]]), [2], [1]
    ),
    "instance_norm in training": lambda torch, x, y: torch.nn.functional.instance_norm(
        x[None], weight=y[:, 0]
    ),
    "block_diag of vectors": lambda torch, x, y: torch.block_diag(x[0], y),
    "ifft": lambda torch, x, y: torch.fft.ifft(x).abs(),
    "hfft": lambda torch, x, y: torch.fft.hfft(x),
    "fft2 of complex numbers": lambda torch, x, y: torch.fft.fft2(torch.complex(x, y)).abs(),
    "cumprod with a zero": lambda torch, x, y: (x * (x > 0.2)).cumprod(1),
    "masked cumprod": lambda torch, x, y: torch.masked.cumprod(x, 1, mask=x > 0.2),
    "logcumsumexp of complex numbers": lambda torch, x, y: (
        torch.complex(x, y).logcumsumexp(1).abs()
    ),
    "repeat_interleave": lambda torch, x, y: x.repeat_interleave(torch.tensor([2, 1]), 0),
    "avg_pool2d rounded up": lambda torch, x, y: torch.nn.functional.avg_pool2d(
        _images(x), 2, ceil_mode=True
    ),
    "gather of a number": lambda torch, x, y: x.sum().gather(0, torch.tensor(0)),
    "scatter_reduce with a zero": lambda torch, x, y: x.scatter_reduce(
        0, torch.tensor([[0, 0, 1]]), y * (y > 2), "prod"
    ),
    "written with ones in front": lambda torch, x, y: _changed(x.clone(), 0, y[None, :1]),
    "setting items": lambda torch, x, y: torch.clone(x).index_put_((torch.tensor([0]),), y[1]),
    "lstsq": lambda torch, x, y: torch.linalg.lstsq(x.mT, y.mT).solution,
    "pinv": lambda torch, x, y: torch.linalg.pinv(x),
}

# Without second derivatives.
ONCE = ("ctc_loss", "ctc_loss by tensors", "the mean of ctc_loss")
# Also in bfloat16.
NARROW = (
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "fractional_max_pool2d",
    "max_unpool2d",
    "max_pool1d",
    "max_pool3d",
    "avg_pool1d",
    "instance_norm in training",
    "bags of rows",
    "the largest of bags",
    "index_put",
    "select_scatter",
    "slice_scatter",
    "scatter_reduce of prod",
    "index_reduce of mean",
    "as_strided",
    "unfold along a dimension",
    "masked_scatter",
    "logcumsumexp",
)
