"""Histograms, segments and hashes, composed as PyTorch does."""

from typing import Any, Final, NoReturn

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import Steps
from adjoint.compat.aten_steps.kept import TooLittleKeptError
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.matrices.ldl import LDL
from adjoint.ops.reducing.histograms import Histogram
from adjoint.tensors.tensor import Tensor

# ---- bins ----


def _refused(*args: Any, **named: Any) -> NoReturn:
    """There is no gradient: adjoint's rules say so."""
    raise TooLittleKeptError


_COUNTED: Final = Operation("histogram.bin_ct", (0,), _refused, outputs=(0, 1))
_BETWEEN: Final = Operation("histogram.bins_tensor", (0,), _refused)
_CELLS: Final = Operation("_histogramdd_from_bin_cts", (0,), _refused)
_CELLS_BETWEEN: Final = Operation("_histogramdd_from_bin_tensors", (0,), _refused)


def _histogram(
    input: Any, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    options = {"weight": weight, "density": density}
    if not isinstance(bins, Tensor):
        ends = None if range is None else [float(end) for end in range]
        return Histogram(*_COUNTED(input, bins, range=ends, **options))
    if range is not None:
        return NotImplemented
    return Histogram(_BETWEEN(input, bins, **options), bins)


def _histogramdd(
    input: Any, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    if input.ndim < 2:
        return NotImplemented
    count = input.shape[-1]
    given = [bins] * count if isinstance(bins, int) else list(bins)
    options = {"weight": weight, "density": density}
    if all(isinstance(each, Tensor) for each in given) and range is None and given:
        return Histogram(_CELLS_BETWEEN(input, given, **options), tuple(given))
    if not all(isinstance(each, int) for each in given) or len(given) != count:
        return NotImplemented
    options["range"] = None if range is None else [float(end) for end in range]
    with asking() as ask:
        edges = ask("_histogramdd_bin_edges", input.detach(), given, **options)
    return Histogram(_CELLS(input, given, **options), tuple(edges))


# ---- segments ----


def _by_segments(
    ask: Steps,
    wanted: Any,
    args: Any,
    results: Any,
    grad: Any,
    unsafe: bool = False,
    indices: Any = None,
    **runs: Any,
) -> Any:
    return (ask("_segment_reduce_backward", grad, results[0], *args, **runs),)


_SEGMENTS: Final = Operation("segment_reduce", (0,), _by_segments)


def _segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    runs = {"lengths": lengths, "indices": indices, "offsets": offsets}
    return _SEGMENTS(data, reduce, **runs, axis=axis, unsafe=unsafe, initial=initial)


# ---- others ----


def _hash_tensor(input: Any, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Any:
    if category_of(input.dtype) > FLOAT:
        return NotImplemented
    dims = [dim] if isinstance(dim, int) else list(dim)
    with asking() as ask:
        return ask("hash_tensor", input.detach(), dims, keepdim=keepdim, mode=mode)


def _linalg_ldl_factor(A: Any, *, hermitian: bool = False) -> Any:
    found = COMPOSITES["linalg_ldl_factor_ex"](A, hermitian=hermitian)
    with asking() as ask:
        called = "torch.linalg.ldl_factor_ex"
        ask("_linalg_check_errors", found.info, called, is_matrix=A.ndim == 2)
    return LDL(found.LD, found.pivots)


FUNCTIONS: Final[dict[str, Any]] = {
    "histogram": _histogram,
    "histogramdd": _histogramdd,
    "segment_reduce": _segment_reduce,
    "hash_tensor": _hash_tensor,
    "linalg_ldl_factor": _linalg_ldl_factor,
}
