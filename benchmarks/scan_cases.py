"""What the scan calls: the samples of the tests, enlarged, and calls as models make them.

Enlarged, a sample of a few elements has about 100,000. Where that says nothing (kernels as large as
images, indices of three rows), or where an argument says how large another is, a call is here.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tests.samples
from adjoint.dtypes import dtype
from adjoint.testing import Sample, all_functions, map_arrays, samples_of

for _module in pkgutil.iter_modules(tests.samples.__path__):
    importlib.import_module(f"tests.samples.{_module.name}")

SIZE = 100_000
LARGEST_FACTOR = 400  # of arrays of several shapes, whose sizes may multiply in the result
Generator = np.random.Generator


class Call(NamedTuple):
    """A function to time: its name here, PyTorch's name where it is another, and the arguments."""

    name: str
    path: str | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    kind: str = ""  # the type of floating arrays, if not float32
    differentiate: bool = True


# ---- samples, enlarged ----


def factor_of(arrays: list[Any]) -> int:
    """By how much to multiply all sizes but 1, for the largest array to have SIZE elements."""
    largest = max(arrays, key=lambda array: array.size)
    growing = sum(size > 1 for size in largest.shape)
    if not growing or not largest.size:
        return 0
    factor = max(1, round((SIZE / largest.size) ** (1 / growing)))
    alike = all(array.shape == largest.shape for array in arrays)
    return factor if alike else min(factor, LARGEST_FACTOR)


def enlarged(sample: Sample, rng: Generator) -> tuple[Any, Any] | None:
    """The arguments of a sample with larger arrays; None where it has none that could be."""
    arrays: list[Any] = []

    def grown(array: Any) -> Any:
        counts = [factor if size > 1 else 1 for size in array.shape]
        larger = np.tile(array, counts) if counts else array
        if array.dtype.kind not in "fc" or not array.size:
            return larger
        # Not just repeated: a matrix of equal rows has no inverse.
        larger = np.asarray(larger * (1 + 0.05 * rng.normal(size=larger.shape)))
        if array.dtype.kind == "c":
            return larger.astype(np.complex64)
        return np.clip(larger, np.nanmin(array), np.nanmax(array)).astype(np.float32)

    arguments = (sample.args, sample.kwargs)
    map_arrays(lambda array: arrays.append(array) or array, arguments)
    factor = factor_of(arrays) if arrays else 0
    if not factor:
        return None
    args, kwargs = map_arrays(grown, arguments)
    return tuple(map(neutral, args)), {k: neutral(v) for k, v in kwargs.items()}


def neutral(value: Any) -> Any:
    """An argument, with NumPy's data type for ours."""
    return value.numpy_dtype if isinstance(value, dtype) else value


def calls_of(name: str) -> Iterator[Call]:
    """What to try for a function, in this order: the call below, or its samples."""
    rng = np.random.default_rng(0)
    samples = samples_of(name) if name in all_functions() else []
    paths = [sample.torch for sample in samples if isinstance(sample.torch, str)]
    path = paths[0] if paths else None
    if name in CALLS:
        made = CALLS[name](rng)
        yield made if isinstance(made, Call) else Call(name, path, made, {})
        return
    for sample in samples[:8]:
        found = enlarged(sample, rng)
        if found is not None:
            yield Call(name, path, *found, differentiate=sample.differentiate)


# ---- calls as models make them ----


def floats(rng: Generator, *shape: int) -> Any:
    """Normal numbers."""
    return rng.normal(size=shape).astype(np.float32)


def ints(rng: Generator, below: int, *shape: int) -> Any:
    """Whole numbers from 0."""
    return rng.integers(0, below, size=shape)


def matrices(rng: Generator) -> Any:
    """Square matrices with inverses."""
    return (rng.normal(size=(24, 64, 64)) / 8 + np.eye(64)).astype(np.float32)


def definite(rng: Generator) -> Any:
    """Positive definite matrices."""
    a = rng.normal(size=(24, 64, 64)) / 8
    return (a @ a.swapaxes(1, 2) + np.eye(64)).astype(np.float32)


def lower(rng: Generator) -> Any:
    """Lower triangular matrices."""
    return np.linalg.cholesky(definite(rng))


def log_shares(rng: Generator, *shape: int) -> Any:
    """Logarithms of probabilities along the last dimension."""
    x = rng.normal(size=shape)
    return (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(np.float32)


def call(name: str, *args: Any, path: str | None = None, kind: str = "", **kwargs: Any) -> Call:
    """A call with keywords, or of another name than its op."""
    return Call(name, path, args, kwargs, kind)


WIDE = (256, 400)  # most matrices
IMAGES = (8, 16, 28, 28)
LINES = (16, 32, 200)
VOLUMES = (4, 8, 14, 14, 14)
CALLS: dict[str, Callable[[Generator], Any]] = {
    # types of 16 bits, and other calls of an op besides its own
    "add of float16": lambda rng: call(
        "add", floats(rng, *WIDE), floats(rng, *WIDE), kind="float16"
    ),
    "add of bfloat16": lambda rng: call(
        "add", floats(rng, *WIDE), floats(rng, *WIDE), kind="bfloat16"
    ),
    "matmul of float16": lambda rng: call(
        "matmul", floats(rng, 256, 256), floats(rng, 256, 256), kind="float16"
    ),
    "conjugate_of": lambda rng: call(  # real numbers are answered as they are before it is called
        "conjugate_of", (floats(rng, *WIDE) + 1j * floats(rng, *WIDE)).astype(np.complex64),
        path="conj_physical",
    ),
    "half": lambda rng: call("half", floats(rng, *WIDE), path="Tensor.half"),
    "transpose().contiguous()": lambda rng: call(
        "contiguous", floats(rng, *WIDE).T, path="Tensor.contiguous"
    ),
    # neural
    "conv1d": lambda rng: (floats(rng, *LINES), floats(rng, 32, 32, 3), floats(rng, 32), 1, 1),
    "conv2d": lambda rng: (floats(rng, *IMAGES), floats(rng, 32, 16, 3, 3), floats(rng, 32), 1, 1),
    "conv2d of each channel": lambda rng: call(
        "conv2d", floats(rng, *IMAGES), floats(rng, 16, 1, 3, 3), None, 1, 1, 1, 16,
        path="nn.functional.conv2d",
    ),
    "conv3d": lambda rng: (floats(rng, *VOLUMES), floats(rng, 8, 8, 3, 3, 3), floats(rng, 8), 1, 1),
    "conv_transpose1d": lambda rng: (floats(rng, *LINES), floats(rng, 32, 32, 3)),
    "conv_transpose2d": lambda rng: (floats(rng, *IMAGES), floats(rng, 16, 32, 3, 3)),
    "conv_transpose3d": lambda rng: (floats(rng, *VOLUMES), floats(rng, 8, 8, 3, 3, 3)),
    "conv_tbc": lambda rng: (floats(rng, 200, 16, 32), floats(rng, 3, 32, 32), floats(rng, 32), 1),
    "max_pool1d": lambda rng: (floats(rng, *LINES), 2),
    "max_pool2d": lambda rng: (floats(rng, *IMAGES), 3, 2, 1),
    "max_pool3d": lambda rng: (floats(rng, *VOLUMES), 2),
    "avg_pool1d": lambda rng: (floats(rng, *LINES), 2),
    "avg_pool2d": lambda rng: (floats(rng, *IMAGES), 3, 2, 1),
    "avg_pool3d": lambda rng: (floats(rng, *VOLUMES), 2),
    "lp_pool1d": lambda rng: (floats(rng, *LINES), 2.0, 2),
    "lp_pool2d": lambda rng: (floats(rng, *IMAGES), 2.0, 2),
    "lp_pool3d": lambda rng: (floats(rng, *VOLUMES), 2.0, 2),
    "adaptive_avg_pool1d": lambda rng: (floats(rng, *LINES), 50),
    "adaptive_avg_pool2d": lambda rng: (floats(rng, *IMAGES), 7),
    "adaptive_avg_pool3d": lambda rng: (floats(rng, *VOLUMES), 7),
    "adaptive_max_pool2d": lambda rng: (floats(rng, *IMAGES), 7),
    "adaptive_max_pool3d": lambda rng: (floats(rng, *VOLUMES), 7),
    "fractional_max_pool2d": lambda rng: call(
        "fractional_max_pool2d", floats(rng, *IMAGES), 2, output_size=14,
        path="nn.functional.fractional_max_pool2d",
    ),
    "fractional_max_pool3d": lambda rng: call(
        "fractional_max_pool3d", floats(rng, *VOLUMES), 2, output_size=7,
        path="nn.functional.fractional_max_pool3d",
    ),
    "max_unpool1d": lambda rng: (
        floats(rng, 16, 32, 100), np.tile(np.arange(100) * 2, (16, 32, 1)), 2,
    ),
    "max_unpool2d": lambda rng: (
        floats(rng, 8, 16, 14, 14),
        np.tile((np.arange(14) * 2)[:, None] * 28 + np.arange(14) * 2, (8, 16, 1, 1)), 2,
    ),
    "max_unpool3d": lambda rng: (
        floats(rng, 4, 8, 7, 7, 7),
        np.tile(np.arange(343).reshape(7, 7, 7) * 8, (4, 8, 1, 1, 1)), 2,
    ),
    "fold": lambda rng: (floats(rng, 8, 144, 784), (28, 28), 3, 1, 1),
    "unfold": lambda rng: call("unfold", floats(rng, *WIDE), -1, 8, 4, path="Tensor.unfold"),
    "unfold_copy": lambda rng: (floats(rng, *WIDE), -1, 8, 4),
    "pixel_shuffle": lambda rng: (floats(rng, *IMAGES), 2),
    "pixel_unshuffle": lambda rng: (floats(rng, *IMAGES), 2),
    "channel_shuffle": lambda rng: (floats(rng, *IMAGES), 4),
    "interpolate": lambda rng: call(
        "interpolate", floats(rng, *IMAGES), scale_factor=2, mode="bilinear",
        path="nn.functional.interpolate",
    ),
    "grid_sample": lambda rng: call(
        "grid_sample", floats(rng, *IMAGES), np.tanh(floats(rng, 8, 28, 28, 2)),
        align_corners=False, path="nn.functional.grid_sample",
    ),
    "grid_sampler_2d": lambda rng: (
        floats(rng, *IMAGES), np.tanh(floats(rng, 8, 28, 28, 2)), 0, 0, False,
    ),
    "grid_sampler_3d": lambda rng: (
        floats(rng, *VOLUMES), np.tanh(floats(rng, 4, 14, 14, 14, 3)), 0, 0, False,
    ),
    "affine_grid": lambda rng: call(
        "affine_grid", floats(rng, 8, 2, 3), (8, 16, 80, 80), align_corners=False,
        path="nn.functional.affine_grid",
    ),
    "embedding": lambda rng: (ints(rng, 1000, 32, 50), floats(rng, 1000, 64)),
    "embedding_bag": lambda rng: (ints(rng, 1000, 32, 50), floats(rng, 1000, 64)),
    "one_hot": lambda rng: (ints(rng, 100, 1000), 100),
    "batch_norm": lambda rng: (
        floats(rng, *IMAGES), np.zeros(16, np.float32), np.ones(16, np.float32), floats(rng, 16),
        floats(rng, 16), True,
    ),
    "layer_norm": lambda rng: (floats(rng, 8, 50, 256), (256,), floats(rng, 256), floats(rng, 256)),
    "native_layer_norm": lambda rng: (
        floats(rng, 8, 50, 256), (256,), floats(rng, 256), floats(rng, 256), 1e-5,
    ),
    "rms_norm": lambda rng: (floats(rng, 8, 50, 256), (256,), floats(rng, 256)),
    "group_norm": lambda rng: (floats(rng, *IMAGES), 4, floats(rng, 16), floats(rng, 16)),
    "native_group_norm": lambda rng: (
        floats(rng, *IMAGES), floats(rng, 16), floats(rng, 16), 8, 16, 784, 4, 1e-5,
    ),
    "instance_norm": lambda rng: (floats(rng, *IMAGES),),
    "local_response_norm": lambda rng: (floats(rng, *IMAGES), 3),
    "scaled_dot_product_attention": lambda rng: tuple(floats(rng, 4, 4, 128, 64) for _ in range(3)),
    "linear": lambda rng: (floats(rng, *WIDE), floats(rng, 128, 400), floats(rng, 128)),
    "bilinear": lambda rng: (
        floats(rng, 400, 64), floats(rng, 400, 64), floats(rng, 32, 64, 64), floats(rng, 32),
    ),
    "cross_entropy": lambda rng: (floats(rng, *WIDE), ints(rng, 400, 256)),
    "nll_loss": lambda rng: (log_shares(rng, *WIDE), ints(rng, 400, 256)),
    "multi_margin_loss": lambda rng: (floats(rng, *WIDE), ints(rng, 400, 256)),
    "multilabel_margin_loss": lambda rng: (
        floats(rng, *WIDE),
        np.tile(np.where(np.arange(400) < 5, np.arange(400) * 7, -1), (256, 1)),
    ),
    "ctc_loss": lambda rng: (
        log_shares(rng, 100, 16, 64), ints(rng, 63, 16, 30) + 1, np.full(16, 100), np.full(16, 30),
    ),
    # matrices
    "cdist": lambda rng: (floats(rng, 400, 64), floats(rng, 400, 64)),
    "pdist": lambda rng: (floats(rng, 400, 64),),
    "matmul": lambda rng: (floats(rng, 316, 316), floats(rng, 316, 316)),
    "outer": lambda rng: (floats(rng, 316), floats(rng, 316)),
    "combinations": lambda rng: (floats(rng, 316),),
    "cartesian_prod": lambda rng: (floats(rng, 316), floats(rng, 316)),
    "kron": lambda rng: (floats(rng, 16, 16), floats(rng, 20, 20)),
    "block_diag": lambda rng: tuple(floats(rng, 80, 80) for _ in range(4)),
    "einsum": lambda rng: ("bij,bjk->bik", floats(rng, 24, 64, 64), floats(rng, 24, 64, 64)),
    "cross": lambda rng: (floats(rng, 33333, 3), floats(rng, 33333, 3), 1),
    "linalg_cross": lambda rng: call(
        "linalg_cross", floats(rng, 33333, 3), floats(rng, 33333, 3), path="linalg.cross"
    ),
    "vander": lambda rng: (floats(rng, 1000), 8),
    "linalg_vander": lambda rng: call(
        "linalg_vander", floats(rng, 1000), N=8, path="linalg.vander"
    ),
    "cholesky": lambda rng: (definite(rng),),
    "cholesky_lower": lambda rng: call(
        "cholesky_lower", definite(rng), path="linalg.cholesky"
    ),
    "linalg_cholesky": lambda rng: call("linalg_cholesky", definite(rng), path="linalg.cholesky"),
    "linalg_cholesky_ex": lambda rng: call(
        "linalg_cholesky_ex", definite(rng), path="linalg.cholesky_ex"
    ),
    "cholesky_inverse": lambda rng: (lower(rng),),
    "cholesky_solve": lambda rng: (floats(rng, 24, 64, 8), lower(rng)),
    **{
        name: (lambda rng, name=name: call(name, matrices(rng)))
        for name in ("inverse", "det", "slogdet", "logdet", "matrix_exp", "pinverse", "svd", "qr")
    },
    **{
        f"linalg_{name}": (
            lambda rng, name=name: call(f"linalg_{name}", matrices(rng), path=f"linalg.{name}")
        )
        for name in (
            "inv", "inv_ex", "det", "slogdet", "pinv", "svd", "svdvals", "qr", "lu", "lu_factor",
            "matrix_exp", "eig", "eigvals", "cond", "matrix_rank",
        )
    },
    **{
        f"linalg_{name}": (
            lambda rng, name=name: call(f"linalg_{name}", definite(rng), path=f"linalg.{name}")
        )
        for name in ("eigh", "eigvalsh")
    },
    "linalg_solve": lambda rng: call(
        "linalg_solve", matrices(rng), floats(rng, 24, 64, 8), path="linalg.solve"
    ),
    "linalg_lstsq": lambda rng: call(
        "linalg_lstsq", matrices(rng), floats(rng, 24, 64, 8), path="linalg.lstsq"
    ),
    "linalg_matrix_power": lambda rng: call(
        "linalg_matrix_power", matrices(rng), 5, path="linalg.matrix_power"
    ),
    "matrix_power": lambda rng: (matrices(rng), 5),
    **{
        f"linalg_{name}": (
            lambda rng, name=name: call(f"linalg_{name}", definite(rng), path=f"linalg.{name}")
        )
        for name in ("ldl_factor", "ldl_factor_ex")
    },
    "linalg_tensorinv": lambda rng: call(
        "linalg_tensorinv", floats(rng, 16, 16, 16, 16), path="linalg.tensorinv"
    ),
    "linalg_tensorsolve": lambda rng: call(
        "linalg_tensorsolve", floats(rng, 16, 16, 16, 16), floats(rng, 16, 16),
        path="linalg.tensorsolve",
    ),
    # shapes
    "view": lambda rng: call("view", floats(rng, *WIDE), 400, 256, path="Tensor.view"),
    "view_shape": lambda rng: call(
        "view_shape", floats(rng, *WIDE), (400, 256), path="Tensor.view"
    ),
    "view_copy": lambda rng: (floats(rng, *WIDE), (400, 256)),
    "reshape": lambda rng: (floats(rng, *WIDE), (400, 256)),
    "view_as_complex": lambda rng: (floats(rng, 50_000, 2),),
    "view_as_complex_copy": lambda rng: (floats(rng, 50_000, 2),),
    "expand": lambda rng: call("expand", floats(rng, 400), 256, 400, path="Tensor.expand"),
    "expand_copy": lambda rng: (floats(rng, 400), (256, 400)),
    "expand_as": lambda rng: call(
        "expand_as", floats(rng, 400), floats(rng, *WIDE), path="Tensor.expand_as"
    ),
    "broadcast_to": lambda rng: (floats(rng, 400), (256, 400)),
    "broadcast_tensors": lambda rng: (floats(rng, 400), floats(rng, *WIDE)),
    "sum_to_size": lambda rng: call(
        "sum_to_size", floats(rng, *WIDE), 1, 400, path="Tensor.sum_to_size"
    ),
    "repeat": lambda rng: call("repeat", floats(rng, 64, 100), 4, 4, path="Tensor.repeat"),
    "contiguous": lambda rng: call("contiguous", floats(rng, *WIDE), path="Tensor.contiguous"),
    "diagflat": lambda rng: (floats(rng, 316),),
    "diag_embed": lambda rng: (floats(rng, 32, 64),),
    "slice_scatter": lambda rng: (floats(rng, *WIDE), floats(rng, 128, 400), 0, 64, 192),
    **{
        name: (lambda rng, name=name: call(name, floats(rng, *WIDE), [100, 100, 56]))
        for name in ("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
    },
    # indices
    "gather": lambda rng: (floats(rng, *WIDE), 1, ints(rng, 400, 256, 400)),
    "take_along_dim": lambda rng: (floats(rng, *WIDE), ints(rng, 400, 256, 400), 1),
    "scatter": lambda rng: (floats(rng, *WIDE), 1, ints(rng, 400, 256, 400), floats(rng, *WIDE)),
    "scatter_add": lambda rng: (
        floats(rng, *WIDE), 1, ints(rng, 400, 256, 400), floats(rng, *WIDE),
    ),
    "scatter_reduce": lambda rng: (
        floats(rng, *WIDE), 1, ints(rng, 400, 256, 400), floats(rng, *WIDE), "amax",
    ),
    "index_select": lambda rng: (floats(rng, *WIDE), 0, ints(rng, 256, 256)),
    "index_add": lambda rng: (floats(rng, *WIDE), 0, ints(rng, 256, 256), floats(rng, *WIDE)),
    "index_copy": lambda rng: (floats(rng, *WIDE), 0, rng.permutation(256), floats(rng, *WIDE)),
    "index_fill": lambda rng: (floats(rng, *WIDE), 0, ints(rng, 256, 64), 0.5),
    "index_reduce": lambda rng: (
        floats(rng, *WIDE), 0, ints(rng, 256, 256), floats(rng, *WIDE), "mean",
    ),
    "take": lambda rng: (floats(rng, *WIDE), ints(rng, 102_400, 50_000)),
    "masked_select": lambda rng: (floats(rng, *WIDE), ints(rng, 2, *WIDE) == 1),
    "masked_fill": lambda rng: (floats(rng, *WIDE), ints(rng, 2, *WIDE) == 1, 0.5),
    "getitem": lambda rng: call(
        "getitem", floats(rng, *WIDE), (ints(rng, 256, 200),), path="Tensor.__getitem__"
    ),
    "index_reduce_": lambda rng: call(
        "index_reduce_", floats(rng, *WIDE), 0, ints(rng, 256, 256), floats(rng, *WIDE), "amax",
        path="Tensor.index_reduce_",
    ),
    "nonzero_static": lambda rng: call("nonzero_static", ints(rng, 2, *WIDE), size=50_000),
    "embedding_renorm_": lambda rng: (floats(rng, 1000, 64), ints(rng, 1000, 1600), 2.0, 2.0),
    "adjoint_embedding_bag": lambda rng: call(
        "adjoint_embedding_bag", floats(rng, 1000, 64), ints(rng, 1000, 1600),
        np.arange(0, 1600, 50), False, 1, path="embedding_bag",
    ),
    **{
        name: (lambda rng, name=name: call(name, floats(rng, *WIDE), (256, 99, 8), (400, 4, 1)))
        for name in ("as_strided", "as_strided_copy")
    },
    # degrees as they are asked for, and tensors that have to be read to their ends
    **{
        name: (
            lambda rng, name=name: call(
                name, np.tanh(floats(rng, *WIDE)), ints(rng, 7, *WIDE).astype(np.float32),
                path=f"special.{name}",
            )
        )
        for name in (
            *[f"{s}chebyshev_polynomial_{kind}" for s in ("", "shifted_") for kind in "tuvw"],
            "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
            "legendre_polynomial_p",
        )
    },
    "equal": lambda rng: 2 * (floats(rng, *WIDE),),
    # sorts and counts
    **{
        name: (lambda rng, name=name: call(name, floats(rng, *WIDE)))
        for name in ("sort", "argsort", "msort", "median", "nanmedian", "unique", "flatten")
    },
    "kthvalue": lambda rng: (floats(rng, *WIDE), 100),
    "topk": lambda rng: (floats(rng, *WIDE), 10),
    "mode": lambda rng: (ints(rng, 50, *WIDE),),
    "quantile": lambda rng: (floats(rng, *WIDE), 0.3, 1),
    "nanquantile": lambda rng: (floats(rng, *WIDE), 0.3, 1),
    "bincount": lambda rng: (ints(rng, 1000, SIZE),),
    "histogramdd": lambda rng: (floats(rng, 33_333, 3), [8, 8, 8]),
    "searchsorted": lambda rng: (np.sort(floats(rng, 1000)), floats(rng, SIZE)),
    "bucketize": lambda rng: (floats(rng, SIZE), np.sort(floats(rng, 1000))),
    "isin": lambda rng: (ints(rng, 1000, SIZE), ints(rng, 1000, 50)),
    "cummax": lambda rng: (floats(rng, *WIDE), 1),
    "cummin": lambda rng: (floats(rng, *WIDE), 1),
    "cumprod": lambda rng: (1 + floats(rng, *WIDE) / 10, 1),
    "cumsum": lambda rng: (floats(rng, *WIDE), 1),
    "logcumsumexp": lambda rng: (floats(rng, *WIDE), 1),
    "prod": lambda rng: (1 + floats(rng, *WIDE) / 10, 1),
    **{
        name: (lambda rng, name=name: call(name, ints(rng, 99, *WIDE), ints(rng, 99, *WIDE)))
        for name in (
            "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor",
            "gcd", "lcm",
        )
    },
    # signals
    "istft": lambda rng: call(
        "istft", (floats(rng, 129, 400) + 1j * floats(rng, 129, 400)).astype(np.complex64), 256,
        window=np.hanning(257)[:256].astype(np.float32) + np.float32(0.01),
    ),
}  # fmt: skip
