"""Small programs, each of two matrices that need gradients: what is summed and derived, or made."""

from typing import Any


def _weights(torch: Any, count: int) -> list[Any]:
    """The matrices and shifts of a cell with so many gates, three to a state."""
    numbers = torch.arange(count * 3.0).reshape(count, 3) / (count * 3)
    return [numbers, 1 - numbers, numbers[:, 0].clone(), numbers[:, 1].clone()]


def _square(x: Any, y: Any) -> Any:
    """A matrix that has an inverse."""
    return x @ y.t()


def _definite(x: Any) -> Any:
    """A positive-definite matrix."""
    return x @ x.t()


# Each gives a loss, of which the gradients by x and y are asked for.
DERIVED: dict[str, Any] = {
    "add": lambda torch, x, y: (x + y).sum(),
    "add with alpha": lambda torch, x, y: torch.add(x, y, alpha=2).sum(),
    "sub from a number": lambda torch, x, y: (3 - x).sum(),
    "sub": lambda torch, x, y: (x - y).sum(),
    "mul": lambda torch, x, y: (x * y).sum(),
    "mul by a number": lambda torch, x, y: (x * 2.5).sum(),
    "div": lambda torch, x, y: (x / y).sum(),
    "div by a number": lambda torch, x, y: (x / 4).sum(),
    "one over": lambda torch, x, y: (1 / x).sum(),
    "pow": lambda torch, x, y: (x**3).sum(),
    "pow of both": lambda torch, x, y: (x**y).sum(),
    "square": lambda torch, x, y: x.square().sum(),
    "neg": lambda torch, x, y: (-x).sum(),
    "exp": lambda torch, x, y: x.exp().sum(),
    "log": lambda torch, x, y: x.log().sum(),
    "log1p": lambda torch, x, y: x.log1p().sum(),
    "sqrt": lambda torch, x, y: x.sqrt().sum(),
    "rsqrt": lambda torch, x, y: x.rsqrt().sum(),
    "reciprocal": lambda torch, x, y: x.reciprocal().sum(),
    "sin": lambda torch, x, y: x.sin().sum(),
    "cos": lambda torch, x, y: x.cos().sum(),
    "tan": lambda torch, x, y: x.tan().sum(),
    "acos": lambda torch, x, y: x.acos().sum(),
    "asin": lambda torch, x, y: x.asin().sum(),
    "atan": lambda torch, x, y: x.atan().sum(),
    "erf": lambda torch, x, y: x.erf().sum(),
    "abs": lambda torch, x, y: x.abs().sum(),
    "sigmoid": lambda torch, x, y: x.sigmoid().sum(),
    "tanh": lambda torch, x, y: x.tanh().sum(),
    "relu": lambda torch, x, y: x.relu().sum(),
    "gelu": lambda torch, x, y: torch.nn.functional.gelu(x).sum(),
    "gelu by tanh": lambda torch, x, y: torch.nn.functional.gelu(x, approximate="tanh").sum(),
    "silu": lambda torch, x, y: torch.nn.functional.silu(x).sum(),
    "softplus": lambda torch, x, y: torch.nn.functional.softplus(x).sum(),
    "leaky_relu": lambda torch, x, y: torch.nn.functional.leaky_relu(x).sum(),
    "hardtanh": lambda torch, x, y: torch.nn.functional.hardtanh(x).sum(),
    "clamp": lambda torch, x, y: x.clamp(0.2, 0.6).sum(),
    "clamp from below": lambda torch, x, y: x.clamp(min=0.2).sum(),
    "clamp_min": lambda torch, x, y: x.clamp_min(0.2).sum(),
    "clamp_max": lambda torch, x, y: x.clamp_max(0.2).sum(),
    "normalize": lambda torch, x, y: torch.nn.functional.normalize(x).sum(),
    "norm of rows": lambda torch, x, y: x.norm(dim=1).sum(),
    "norm of rows, kept": lambda torch, x, y: torch.linalg.vector_norm(x, 2, 1, True).sum(),
    "norm of exponent 1": lambda torch, x, y: x.norm(1),
    "norm of exponent 3": lambda torch, x, y: x.norm(3),
    "largest norm": lambda torch, x, y: torch.linalg.vector_norm(x, float("inf")),
    "solve": lambda torch, x, y: torch.linalg.solve(_square(x, y), x).sum(),
    "solve a vector": lambda torch, x, y: torch.linalg.solve(_square(x, y), x[:, 0]).sum(),
    "solve from the right": lambda torch, x, y: torch.linalg.solve(
        _square(x, y), y.t(), left=False
    ).sum(),
    "solve a batch": lambda torch, x, y: torch.linalg.solve(
        torch.stack([_square(x, y), _definite(x)]), torch.stack([x, y])
    ).sum(),
    "inv": lambda torch, x, y: torch.linalg.inv(_square(x, y)).sum(),
    "inverse": lambda torch, x, y: torch.inverse(_square(x, y)).sum(),
    "det": lambda torch, x, y: torch.linalg.det(_square(x, y)),
    "det of a transposed matrix": lambda torch, x, y: torch.det(_square(x, y).mT),
    "slogdet": lambda torch, x, y: torch.linalg.slogdet(_square(x, y))[1],
    "logdet": lambda torch, x, y: torch.logdet(_definite(x)),
    "cholesky": lambda torch, x, y: torch.linalg.cholesky(_definite(x)).sum(),
    "cholesky, upper": lambda torch, x, y: torch.linalg.cholesky(_definite(x), upper=True).sum(),
    "the old cholesky": lambda torch, x, y: torch.cholesky(_definite(x)).sum(),
    "cholesky_solve": lambda torch, x, y: torch.cholesky_solve(
        y, torch.linalg.cholesky(_definite(x))
    ).sum(),
    "cholesky_inverse": lambda torch, x, y: torch.cholesky_inverse(
        torch.linalg.cholesky(_definite(x))
    ).sum(),
    "solve_triangular": lambda torch, x, y: torch.linalg.solve_triangular(
        _square(x, y), x, upper=False
    ).sum(),
    "solve_triangular with ones": lambda torch, x, y: torch.linalg.solve_triangular(
        _square(x, y), y.t(), upper=True, left=False, unitriangular=True
    ).sum(),
    "qr": lambda torch, x, y: sum(part.sum() for part in torch.linalg.qr(y.t())),
    "r of qr": lambda torch, x, y: torch.linalg.qr(y.t()).R.sum(),
    "svd": lambda torch, x, y: sum(
        part.abs().sum() for part in torch.linalg.svd(y.t(), full_matrices=False)
    ),
    "singular values": lambda torch, x, y: torch.linalg.svd(x, full_matrices=False).S.sum(),
    "svdvals": lambda torch, x, y: torch.linalg.svdvals(y.t()).sum(),
    "the old svd": lambda torch, x, y: torch.svd(y.t()).S.sum(),
    "eigh": lambda torch, x, y: sum(part.abs().sum() for part in torch.linalg.eigh(_definite(x))),
    "eigenvalues": lambda torch, x, y: torch.linalg.eigh(_definite(x))[0].sum(),
    "eigvalsh": lambda torch, x, y: torch.linalg.eigvalsh(_definite(x)).sum(),
    "lu_factor": lambda torch, x, y: torch.linalg.lu_factor(_square(x, y))[0].sum(),
    "lu_solve": lambda torch, x, y: torch.linalg.lu_solve(
        *torch.linalg.lu_factor(_square(x, y)), x
    ).sum(),
    "matrix_exp": lambda torch, x, y: torch.matrix_exp(_definite(x)).sum(),
    "pinv": lambda torch, x, y: torch.linalg.pinv(x).sum(),
    "pinv of a tall matrix": lambda torch, x, y: torch.linalg.pinv(y.t()).sum(),
    "maximum": lambda torch, x, y: torch.maximum(x, y).sum(),
    "minimum": lambda torch, x, y: torch.minimum(x, y).sum(),
    "where": lambda torch, x, y: torch.where(x > 0.3, x, y).sum(),
    "mean": lambda torch, x, y: x.mean(),
    "mean of rows": lambda torch, x, y: x.mean(0).sum(),
    "sum of columns": lambda torch, x, y: x.sum(1).sum(),
    "share of a sum": lambda torch, x, y: (x / x.sum(1, keepdim=True)).sum(),
    "max": lambda torch, x, y: x.max(),
    "max of rows": lambda torch, x, y: x.max(1).values.sum(),
    "amax": lambda torch, x, y: x.amax(1).sum(),
    "var": lambda torch, x, y: x.var(),
    "var of rows": lambda torch, x, y: x.var(1).sum(),
    "std": lambda torch, x, y: x.std(1).sum(),
    "norm": lambda torch, x, y: x.norm(),
    "logsumexp": lambda torch, x, y: x.logsumexp(1).sum(),
    "softmax": lambda torch, x, y: (x.softmax(1) * y).sum(),
    "log_softmax": lambda torch, x, y: (x.log_softmax(1) * y).sum(),
    "cumsum": lambda torch, x, y: (x.cumsum(1) * y).sum(),
    "mm": lambda torch, x, y: (x @ y.t()).sum(),
    "mv": lambda torch, x, y: (x @ y[0]).sum(),
    "dot": lambda torch, x, y: x[0] @ y[0],
    "batches": lambda torch, x, y: (x[None] @ y.t()[None]).sum(),
    "a batch by a matrix": lambda torch, x, y: (x.view(1, 2, 3) @ y.view(3, 2)).sum(),
    "a batch by columns": lambda torch, x, y: (x.view(1, 2, 3) @ y.t()).sum(),
    "batches of batches": lambda torch, x, y: (x.view(1, 1, 2, 3) @ y.view(1, 1, 3, 2)).sum(),
    "scores": lambda torch, x, y: (x.view(1, 1, 2, 3) @ y.view(1, 1, 2, 3).mT).sum(),
    "linear of a batch": lambda torch, x, y: torch.nn.functional.linear(x.view(1, 2, 3), y).sum(),
    "a layer of a batch": lambda torch, x, y: torch.nn.Linear(3, 2)(x.view(1, 2, 3)).sum(),
    "addmm": lambda torch, x, y: torch.addmm(y[:, 0], x, y.t()).sum(),
    "linear": lambda torch, x, y: torch.nn.functional.linear(x, y).sum(),
    "linear with bias of a row": lambda torch, x, y: torch.nn.functional.linear(
        x[0], y, y[0, :2]
    ).sum(),
    "linear with bias of a batch": lambda torch, x, y: torch.nn.functional.linear(
        x.view(1, 2, 3), y, y[0, :2]
    ).sum(),
    "linear with a bias that has gaps": lambda torch, x, y: torch.nn.functional.linear(
        x.view(1, 2, 3), y, y[:, 0]
    ).sum(),
    "linear with bias of transposed rows": lambda torch, x, y: torch.nn.functional.linear(
        x.view(2, 1, 3).expand(2, 4, 3).transpose(0, 1), y, y[0, :2]
    ).sum(),
    "linear with bias": lambda torch, x, y: torch.nn.functional.linear(x, y, y[:, 0]).sum(),
    "transpose": lambda torch, x, y: (x.t() * y.t()).sum(),
    "permute": lambda torch, x, y: (x.permute(1, 0) * 2).sum(),
    "view": lambda torch, x, y: (x.view(6) * y.reshape(6)).sum(),
    "reshape by copy": lambda torch, x, y: (x.t().reshape(6) * 2).sum(),
    "select": lambda torch, x, y: (x[0] * y[1]).sum(),
    "slice": lambda torch, x, y: (x[:, 1:] * 2).sum(),
    "index": lambda torch, x, y: (x[torch.tensor([0, 1, 0])] * 2).sum(),
    "index by a list": lambda torch, x, y: (x[[0, 1]] * 2).sum(),
    "index of a slice": lambda torch, x, y: (x[:1, [0, 2]] * 2).sum(),
    "index of a row": lambda torch, x, y: (x[1, torch.tensor([0, 2, 2])] * 2).sum(),
    "index of columns": lambda torch, x, y: (x[:, torch.tensor([[0, 2]])] * 2).sum(),
    "index and a new dimension": lambda torch, x, y: (x[None, [0, 1]] * 2).sum(),
    "mask of a slice": lambda torch, x, y: (x[:, 1:][x[:, 1:] > 0.3] * 2).sum(),
    "index by nothing": lambda torch, x, y: (x[:, []] * 2).sum() + x.sum(),
    "mask": lambda torch, x, y: (x[x > 0.3] * 2).sum(),
    "gather": lambda torch, x, y: x.gather(1, torch.tensor([[0], [1]])).sum(),
    "index_select": lambda torch, x, y: x.index_select(1, torch.tensor([0, 2])).sum(),
    "masked_fill": lambda torch, x, y: x.masked_fill(x > 0.3, 0.0).sum(),
    "cat": lambda torch, x, y: (torch.cat([x, y]) * 2).sum(),
    "stack": lambda torch, x, y: (torch.stack([x, y], 1) * 2).sum(),
    "expand": lambda torch, x, y: (x[0].expand(2, 3) * y).sum(),
    "a row to all": lambda torch, x, y: (x * y[0]).sum(),
    "a column to all": lambda torch, x, y: (x * y[:, :1]).sum(),
    "unsqueeze": lambda torch, x, y: (x.unsqueeze(1) * 2).sum(),
    "squeeze": lambda torch, x, y: (x[:, :1].squeeze(1) * 2).sum(),
    "flip": lambda torch, x, y: (x.flip(0) * y).sum(),
    "roll": lambda torch, x, y: (x.roll(1, 0) * y).sum(),
    "diagonal": lambda torch, x, y: (x[:, :2].diagonal() * 2).sum(),
    "tril": lambda torch, x, y: (x.tril() * 2).sum(),
    "sort": lambda torch, x, y: (x.sort(1).values * y).sum(),
    "topk": lambda torch, x, y: (x.topk(2, 1).values * 2).sum(),
    "split": lambda torch, x, y: (x.split(1)[0] * 2).sum(),
    "unbind": lambda torch, x, y: (x.unbind(0)[0] * 2).sum(),
    "contiguous": lambda torch, x, y: (x.t().contiguous() * 2).sum(),
    "layer_norm": lambda torch, x, y: (torch.nn.functional.layer_norm(x, (3,)) * y).sum(),
    "conv1d": lambda torch, x, y: torch.nn.functional.conv1d(
        x.view(1, 2, 3), y.view(1, 2, 3), padding=1
    ).sum(),
    "conv2d": lambda torch, x, y: torch.nn.functional.conv2d(
        x.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y[0, :1], padding=1, stride=2
    ).sum(),
    "max_pool2d": lambda torch, x, y: torch.nn.functional.max_pool2d(
        x.view(1, 1, 2, 3), 2, 1
    ).sum(),
    "avg_pool2d": lambda torch, x, y: torch.nn.functional.avg_pool2d(
        x.view(1, 1, 2, 3), 2, 1
    ).sum(),
    "embedding": lambda torch, x, y: torch.nn.functional.embedding(
        torch.tensor([0, 1, 1]), x
    ).sum(),
    "cross_entropy": lambda torch, x, y: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2])),
    "mse_loss": lambda torch, x, y: torch.nn.functional.mse_loss(x, y),
    "l1_loss": lambda torch, x, y: torch.nn.functional.l1_loss(x, y),
    "batch_norm": lambda torch, x, y: (
        torch.nn.functional.batch_norm(x, None, None, y[0], y[1], training=True) * y
    ).sum(),
    "batch_norm of known statistics": lambda torch, x, y: (
        torch.nn.functional.batch_norm(x, torch.zeros(3), torch.ones(3), y[0]) * y
    ).sum(),
    "a layer of batch_norm": lambda torch, x, y: (
        torch.nn.BatchNorm2d(1)(x.view(1, 1, 2, 3)) * y
    ).sum(),
    "instance_norm": lambda torch, x, y: (
        torch.nn.functional.instance_norm(x.view(1, 2, 3)) * y
    ).sum(),
    "group_norm": lambda torch, x, y: (
        torch.nn.functional.group_norm(x.view(1, 2, 3), 2, y[:, 0], y[:, 1]) * y
    ).sum(),
    "a layer of group_norm": lambda torch, x, y: torch.nn.GroupNorm(1, 2)(x.view(1, 2, 3, 1)).sum(),
    "einsum of matrices": lambda torch, x, y: torch.einsum("ij,kj->ik", x, y).sum(),
    "einsum of rows": lambda torch, x, y: torch.einsum("ij,ij->i", x, y).sum(),
    "einsum of one": lambda torch, x, y: torch.einsum("ij->", x),
    "einsum of batches": lambda torch, x, y: torch.einsum(
        "bij,bkj->bik", x.view(2, 1, 3), y.view(2, 1, 3)
    ).sum(),
    "einsum of all pairs": lambda torch, x, y: torch.einsum("i,j->ij", x[0], y[0]).sum(),
    "einsum that sums first": lambda torch, x, y: torch.einsum("ij,ik->i", x, y).sum(),
    "einsum of a diagonal": lambda torch, x, y: torch.einsum("ii,ij->j", x[:, :2], y).sum(),
    "einsum with dots": lambda torch, x, y: torch.einsum("...j,kj->...k", x[None], y).sum(),
    "tensordot": lambda torch, x, y: torch.tensordot(x, y, dims=([1], [1])).sum(),
    "inner": lambda torch, x, y: torch.inner(x, y).sum(),
    "attention": lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
        x.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y.view(1, 1, 2, 3)
    ).sum(),
    "attention to what was": lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
        x.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y.view(1, 1, 2, 3), is_causal=True, scale=0.3
    ).sum(),
    "attention by a mask": lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
        x.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y.view(1, 1, 2, 3), torch.tensor([[True, False]])
    ).sum(),
    "attention without heads": lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
        x.view(1, 2, 3), y.view(1, 2, 3), y.view(1, 2, 3), is_causal=True
    ).sum(),
    "attention by what is derived": (
        lambda torch, x, y: torch.nn.functional.scaled_dot_product_attention(
            x.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y.view(1, 1, 2, 3), y[:, :2]
        ).sum()
    ),
    "mse_loss, summed": lambda torch, x, y: torch.nn.functional.mse_loss(x, y, reduction="sum"),
    "mse_loss of each": lambda torch, x, y: torch.nn.functional.mse_loss(
        x, y, reduction="none"
    ).sum(),
    "huber_loss": lambda torch, x, y: torch.nn.functional.huber_loss(x, y, delta=0.5),
    "smooth_l1_loss": lambda torch, x, y: torch.nn.functional.smooth_l1_loss(x, y),
    "binary_cross_entropy": lambda torch, x, y: torch.nn.functional.binary_cross_entropy(
        x, (y > 3).float(), reduction="sum"
    ),
    "binary_cross_entropy by weight": lambda torch, x, y: torch.nn.functional.binary_cross_entropy(
        x, (y > 3).float(), torch.ones(3)
    ),
    "logits": lambda torch, x, y: torch.nn.functional.binary_cross_entropy_with_logits(
        x, (y > 3).float()
    ),
    "logits by weight": lambda torch, x, y: torch.nn.functional.binary_cross_entropy_with_logits(
        x, (y > 3).float(), torch.ones(3), pos_weight=torch.ones(3), reduction="sum"
    ),
    "nll_loss": lambda torch, x, y: torch.nn.functional.nll_loss(
        x.log_softmax(1), torch.tensor([0, 2]), torch.ones(3)
    ),
    "nll_loss of images": lambda torch, x, y: torch.nn.functional.nll_loss(
        x.view(1, 2, 3, 1), torch.tensor([[[0], [1], [1]]]), reduction="none"
    ).sum(),
    "cross_entropy, summed": lambda torch, x, y: torch.nn.functional.cross_entropy(
        x, torch.tensor([0, -100]), torch.ones(3), reduction="sum"
    ),
    "cross_entropy of a row": lambda torch, x, y: torch.nn.functional.cross_entropy(
        x[0], torch.tensor(1)
    ),
    "cross_entropy of places": lambda torch, x, y: torch.nn.functional.cross_entropy(
        x.view(1, 2, 3), torch.tensor([[0, 1, 1]])
    ),
    "log2": lambda torch, x, y: x.log2().sum(),
    "log10": lambda torch, x, y: x.log10().sum(),
    "exp2": lambda torch, x, y: x.exp2().sum(),
    "expm1": lambda torch, x, y: x.expm1().sum(),
    "asinh": lambda torch, x, y: x.asinh().sum(),
    "erfc": lambda torch, x, y: x.erfc().sum(),
    "digamma": lambda torch, x, y: x.digamma().sum(),
    "sign": lambda torch, x, y: x.sign().sum(),
    "floor": lambda torch, x, y: x.floor().sum(),
    "logit": lambda torch, x, y: x.logit().sum(),
    "hardswish": lambda torch, x, y: torch.nn.functional.hardswish(x).sum(),
    "hardsigmoid": lambda torch, x, y: torch.nn.functional.hardsigmoid(x).sum(),
    "mish": lambda torch, x, y: torch.nn.functional.mish(x).sum(),
    "softshrink": lambda torch, x, y: torch.nn.functional.softshrink(x).sum(),
    "hardshrink": lambda torch, x, y: torch.nn.functional.hardshrink(x).sum(),
    "selu": lambda torch, x, y: torch.nn.functional.selu(x).sum(),
    "celu": lambda torch, x, y: torch.nn.functional.celu(x).sum(),
    "relu6": lambda torch, x, y: torch.nn.functional.relu6(x).sum(),
    "threshold": lambda torch, x, y: torch.nn.functional.threshold(x, 0.2, 0.0).sum(),
    "lerp": lambda torch, x, y: torch.lerp(x, y, 0.5).sum(),
    "addcmul": lambda torch, x, y: torch.addcmul(x, x, y, value=2).sum(),
    "hypot": lambda torch, x, y: torch.hypot(x, y).sum(),
    "logaddexp": lambda torch, x, y: torch.logaddexp(x, y).sum(),
    "xlogy": lambda torch, x, y: torch.xlogy(x, y).sum(),
    "scatter": lambda torch, x, y: x.scatter(1, torch.tensor([[0], [1]]), y[:, :1]).sum(),
    "scatter_add": lambda torch, x, y: x.scatter_add(1, torch.tensor([[0], [1]]), y[:, :1]).sum(),
    "cummax": lambda torch, x, y: x.cummax(1)[0].sum(),
    "rot90": lambda torch, x, y: x.rot90().sum(),
    "a border of numbers": lambda torch, x, y: torch.nn.functional.pad(x, (1, 1), value=2.0).sum(),
    "larger transposed convolution": lambda torch, x, y: torch.nn.functional.conv_transpose1d(
        x.view(1, 2, 3), y.view(2, 1, 3), stride=2, padding=1, output_padding=3, dilation=4
    ).sum(),
    "transposed convolution": lambda torch, x, y: torch.nn.functional.conv_transpose1d(
        x.view(1, 2, 3), y.view(2, 1, 3), y[0, :1], stride=2, output_padding=1
    ).sum(),
    "interpolate": lambda torch, x, y: (
        torch.nn.functional.interpolate(x.view(1, 1, 2, 3), scale_factor=2) ** 2
    ).sum(),
    "interpolate by lines": lambda torch, x, y: (
        torch.nn.functional.interpolate(x.view(1, 1, 2, 3), (4, 4), mode="bilinear") ** 2
    ).sum(),
    "interpolate in a row": lambda torch, x, y: torch.nn.functional.interpolate(
        x.view(1, 2, 3), 4, mode="linear", align_corners=True
    ).sum(),
    "interpolate by areas": lambda torch, x, y: torch.nn.functional.interpolate(
        x.view(1, 1, 2, 3), 2, mode="area"
    ).sum(),
    "grid_sample": lambda torch, x, y: torch.nn.functional.grid_sample(
        x.view(1, 1, 2, 3), y.view(1, 3, 1, 2) / 10, align_corners=False
    ).sum(),
    "pixel_shuffle": lambda torch, x, y: (
        torch.nn.functional.pixel_shuffle(torch.cat([x, y]).view(1, 4, 1, 3), 2) ** 2
    ).sum(),
    "adaptive_avg_pool2d": lambda torch, x, y: torch.nn.functional.adaptive_avg_pool2d(
        x.view(1, 1, 2, 3), (1, 2)
    ).sum(),
    "adaptive_avg_pool2d to one": lambda torch, x, y: torch.nn.functional.adaptive_avg_pool2d(
        x.view(1, 1, 2, 3), 1
    ).sum(),
    "a border that reflects": lambda torch, x, y: (
        torch.nn.functional.pad(x[None], (1, 1), mode="reflect") ** 2
    ).sum(),
    "a border that repeats": lambda torch, x, y: (
        torch.nn.functional.pad(x[None], (2, 1), mode="replicate") ** 2
    ).sum(),
    "unfold": lambda torch, x, y: torch.nn.functional.unfold(x.view(1, 1, 2, 3), 2).sum(),
    "fold": lambda torch, x, y: torch.nn.functional.fold(
        torch.cat([x, y]).view(1, 4, 3)[:, :, :2], (2, 3), 2
    ).sum(),
    "used twice": lambda torch, x, y: (x * x + x).sum(),
    "changed by add_": lambda torch, x, y: x.clone().add_(y).sum(),
    "changed by mul_": lambda torch, x, y: x.clone().mul_(2).sum(),
    "a layer": lambda torch, x, y: torch.nn.Linear(3, 2)(x).sum(),
    "a norm": lambda torch, x, y: (torch.nn.LayerNorm(3)(x) * y).sum(),
    "layers": lambda torch, x, y: torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1), torch.nn.Sigmoid()
    )(x).sum(),
    "rfft": lambda torch, x, y: torch.fft.rfft(x).real.sum(),
    "rfft of more points": lambda torch, x, y: torch.fft.rfft(x, n=6, norm="ortho").imag.sum(),
    "rfft of fewer points": lambda torch, x, y: torch.fft.rfft(x, n=2, norm="forward").real.sum(),
    "rfft2": lambda torch, x, y: torch.fft.rfft2(x).real.sum(),
    "fft of real numbers": lambda torch, x, y: torch.fft.fft(x, dim=0).imag.sum(),
    "fft and back": lambda torch, x, y: torch.fft.ifft(torch.fft.fft(x)).real.sum(),
    "rfft and back": lambda torch, x, y: torch.fft.irfft(torch.fft.rfft(x), n=3).sum(),
    "irfft of fewer points": lambda torch, x, y: torch.fft.irfft(torch.fft.rfft(x), n=2).sum(),
    "both rffts and back": lambda torch, x, y: torch.fft.irfft2(torch.fft.rfft2(x)).sum(),
    "fft2 and back": lambda torch, x, y: torch.fft.ifft2(torch.fft.fft(x)).real.sum(),
    "lstm_cell": lambda torch, x, y: sum(
        each.sum() for each in torch.lstm_cell(x, (y, x), *_weights(torch, 12))
    ),
    "gru_cell": lambda torch, x, y: torch.gru_cell(x, y, *_weights(torch, 9)).sum(),
    "rnn_tanh_cell": lambda torch, x, y: torch.rnn_tanh_cell(x, y, *_weights(torch, 3)).sum(),
    "rnn_relu_cell": lambda torch, x, y: torch.rnn_relu_cell(x, y, *_weights(torch, 3)).sum(),
    "rnn_tanh_cell without a bias": lambda torch, x, y: torch.rnn_tanh_cell(
        x, y, *_weights(torch, 3)[:2]
    ).sum(),
}

# Each gives a loss whose gradient by x is PyTorch's under a mode, whatever the steps are.
VALUED: dict[str, Any] = {
    "mean of one number": lambda torch, x: x.sum().mean(0),
    "var of all, kept": lambda torch, x: x.var(dim=(0, 1), keepdim=True).sum(),
    "var of rows, kept": lambda torch, x: x.var(1, keepdim=True).sum(),
    "std of all": lambda torch, x: x.std(),
    "std by its second argument": lambda torch, x: x.std(False),
    "amax, kept": lambda torch, x: x.amax(1, keepdim=True).sum(),
    "amax of all": lambda torch, x: x.amax(),
    "max, kept": lambda torch, x: x.max(1, keepdim=True)[0].sum(),
    "logsumexp of all": lambda torch, x: x.logsumexp((0, 1)),
    "norm of rows": lambda torch, x: x.norm(dim=1).sum(),
    "norm of another power": lambda torch, x: x.norm(3),
    "linear of a row": lambda torch, x: torch.nn.functional.linear(x[0], torch.ones(2, 3)).sum(),
    "linear of a batch": lambda torch, x: torch.nn.functional.linear(
        x[None], torch.ones(4, 3), torch.ones(4)
    ).sum(),
    "linear by a row": lambda torch, x: torch.nn.functional.linear(x[None], torch.ones(3)).sum(),
    "batch by a matrix": lambda torch, x: (x.expand(2, 2, 3) @ torch.ones(3, 2)).sum(),
    "batch by a batch": lambda torch, x: (x[None].expand(2, 2, 3) @ torch.ones(2, 3, 2)).sum(),
    "matrix by a batch": lambda torch, x: (x[None] @ torch.ones(2, 3, 2)).sum(),
    "row by a matrix": lambda torch, x: (x[0] @ torch.ones(3, 2)).sum(),
    "embedding without a row": lambda torch, x: (
        torch.nn.functional.embedding(torch.tensor([[0, 1], [1, 1]]), x, padding_idx=-1) ** 2
    ).sum(),
    "embedding by frequency": lambda torch, x: (
        torch.nn.functional.embedding(torch.tensor([[0, 1], [1, 1]]), x, scale_grad_by_freq=True)
        ** 2
    ).sum(),
    "convolution in groups": lambda torch, x: (
        torch.nn.functional.conv1d(x[None], torch.ones(2, 1, 2), groups=2) ** 2
    ).sum(),
    "convolution of one size": lambda torch, x: (
        torch.nn.functional.conv1d(x[None], torch.ones(2, 2, 2), padding="same") ** 2
    ).sum(),
    "transposed convolution": lambda torch, x: (
        torch.nn.functional.conv_transpose1d(x[None], torch.ones(2, 2, 2)) ** 2
    ).sum(),
    "layer_norm of both": lambda torch, x: (torch.nn.functional.layer_norm(x, (2, 3)) ** 3).sum(),
    "group_norm": lambda torch, x: (torch.nn.functional.group_norm(x[None], 2) ** 3).sum(),
    "windows that overlap the end": lambda torch, x: (
        torch.nn.functional.avg_pool2d(x[None, None], 2, ceil_mode=True) ** 2
    ).sum(),
    "windows around": lambda torch, x: (
        torch.nn.functional.avg_pool2d(x[None, None], 2, 1, 1, count_include_pad=False) ** 2
    ).sum(),
    "a class that is left out": lambda torch, x: torch.nn.functional.cross_entropy(
        x, torch.tensor([0, -100])
    ),
    "classes by weight": lambda torch, x: torch.nn.functional.cross_entropy(
        x, torch.tensor([0, 2]), weight=torch.tensor([1.0, 2.0, 3.0])
    ),
    "smoothed classes": lambda torch, x: torch.nn.functional.cross_entropy(
        x, torch.tensor([0, 2]), label_smoothing=0.1
    ),
    "classes of pixels": lambda torch, x: torch.nn.functional.cross_entropy(
        x[None].permute(0, 2, 1), torch.tensor([[0, 2]])
    ),
    "power of 0": lambda torch, x: (x**0).sum(),
    "negative power": lambda torch, x: (x**-2).sum(),
    "power of a number": lambda torch, x: (2**x).sum(),
    "powers by column": lambda torch, x: (x ** torch.tensor([0.0, 1.0, 2.0])).sum(),
    "clamp by tensors": lambda torch, x: x.clamp(torch.tensor(0.2), torch.tensor(0.6)).sum(),
    "clamp from above": lambda torch, x: x.clamp(max=0.5).sum(),
    "maximum with a row": lambda torch, x: torch.maximum(x, x[0]).sum(),
    "where of a row": lambda torch, x: torch.where(
        torch.tensor([True, False, True]), x, x[:1]
    ).sum(),
    "stack at the end": lambda torch, x: (torch.stack([x, x * 2], -1) ** 2).sum(),
    "split in two": lambda torch, x: sum((p**2).sum() for p in x.split([1, 2], 1)),
    "unbind columns": lambda torch, x: (x.unbind(1)[2] ** 2).sum(),
    "sort of one number": lambda torch, x: x.sum().sort()[0],
    "flip of both": lambda torch, x: (x.flip(0, 1) * x).sum(),
    "roll of both": lambda torch, x: (x.roll((1, 2), (0, 1)) * x).sum(),
    "another diagonal": lambda torch, x: (x.diagonal(1, 1, 0) ** 2).sum(),
    "squeeze all": lambda torch, x: (x[:, :, None].squeeze() ** 2).sum(),
    "cumsum of the last": lambda torch, x: (x.cumsum(-1) ** 2).sum(),
    "softmax in float64": lambda torch, x: (x.softmax(1, dtype=torch.float64) ** 2).sum(),
    "error to a row": lambda torch, x: torch.nn.functional.mse_loss(x, x[:1].expand(2, 3) * 2),
    "elu": lambda torch, x: torch.nn.functional.elu(x - 0.4, 0.7).sum(),
    "steep softplus": lambda torch, x: torch.nn.functional.softplus(x, 2.0, 1.0).sum(),
    "narrow hardtanh": lambda torch, x: torch.nn.functional.hardtanh(x, 0.2, 0.6).sum(),
    "steep leaky_relu": lambda torch, x: torch.nn.functional.leaky_relu(x - 0.4, 0.2).sum(),
    "addmm with factors": lambda torch, x: torch.addmm(
        x.t()[:2, :1].reshape(2, 1), x[:, :2], x[:, 1:], beta=0.5, alpha=2.0
    ).sum(),
    "div by a row": lambda torch, x: (x / x[0]).sum(),
    "number over": lambda torch, x: (3 / x).sum(),
    "gather along rows": lambda torch, x: (x.gather(0, torch.tensor([[0, 1, 0]])) ** 2).sum(),
    "columns twice": lambda torch, x: (x.index_select(-1, torch.tensor([0, 0, 2])) ** 2).sum(),
    "nothing": lambda torch, x: (x[:0] * 2).sum() + x.sum(),
    "layer_norm of nothing": lambda torch, x: (
        torch.nn.functional.layer_norm(x[:0], (3,)).sum() + x.sum()
    ),
    "rfft of both": lambda torch, x: (torch.fft.rfft2(x, s=(3, 5)).real ** 2).sum(),
    "fft2 of real numbers": lambda torch, x: (torch.fft.fft2(x).imag ** 2).sum(),
    "ifft of real numbers": lambda torch, x: (torch.fft.ifft(x, n=4, dim=0).real ** 2).sum(),
    "hfft": lambda torch, x: (torch.fft.hfft(x + 1j * x, n=3) ** 2).sum(),
    "ihfft": lambda torch, x: (torch.fft.ihfft(x).imag ** 2).sum(),
    "stft": lambda torch, x: (
        torch.stft(x.reshape(-1), 4, window=torch.ones(4), return_complex=True).real ** 2
    ).sum(),
}

# Drawn by chance, so that only the steps can be compared.
DRAWN: dict[str, Any] = {
    "dropout": lambda torch, x: torch.nn.functional.dropout(x, 0.3).sum(),
    "rrelu": lambda torch, x: torch.nn.functional.rrelu(-x, training=True).sum(),
    "normal samples": lambda torch, x: (
        torch.distributions.Normal(x, x + 1, validate_args=False).sample((2,)) * x
    ).sum(),
    "dropout by half": lambda torch, x: torch.nn.functional.dropout(x).sum(),
    "dropout in place": lambda torch, x: torch.nn.functional.dropout(x * 1, inplace=True).sum(),
    "dropout of channels": lambda torch, x: torch.nn.functional.dropout1d(x, 0.3).sum(),
    "alpha_dropout": lambda torch, x: torch.nn.functional.alpha_dropout(x, 0.3, True).sum(),
    "alpha_dropout of channels": lambda torch, x: torch.nn.functional.feature_alpha_dropout(
        x, 0.3, True
    ).sum(),
}

# Of which options are shown otherwise, so that only the names of steps are compared.
SAMPLED: dict[str, Any] = {
    "uniform": lambda torch, x: torch.distributions.Uniform(x, x + 1).rsample(),
    "laplace": lambda torch, x: torch.distributions.Laplace(x, x + 1).rsample(),
    "categorical": lambda torch, x: torch.distributions.Categorical(x * x).sample(),
    "score, uniform": lambda torch, x: torch.distributions.Uniform(x - 9, x + 9).log_prob(x),
    "score, exponential": lambda torch, x: torch.distributions.Exponential(x + 1).log_prob(x * x),
    "score, laplace": lambda torch, x: torch.distributions.Laplace(x, x + 1).log_prob(x),
    "score, bernoulli": lambda torch, x: torch.distributions.Bernoulli(x * 0).log_prob(x * 0),
    "score, categorical": lambda torch, x: torch.distributions.Categorical(x * x).log_prob(
        torch.tensor(1)
    ),
    "orthogonal_": lambda torch, x: torch.nn.init.orthogonal_(torch.zeros(2, 3)),
}
