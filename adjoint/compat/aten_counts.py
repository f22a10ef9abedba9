"""Operations of PyTorch's on distinct elements, bins, segments and blocks, and what is drawn.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

from typing import Any, Final

from adjoint.compat.aten_networks import slopes
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.op import TABLE
from adjoint.ops.sampling import implicit


def block_diag(tensors: Any) -> Any:
    """A matrix with matrices along its diagonal."""
    return COMPOSITES["block_diag"](*tensors)


def _unique2(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The distinct elements in order, where each went, and how many there were."""
    return TABLE["unique_all"](input, None, return_inverse, return_counts)


def unique_dim(
    input: Any,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The distinct slices along a dimension, where each went, and how many there were."""
    return TABLE["unique_all"](input, dim, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements or slices, the run of each, and its length."""
    return TABLE["unique_runs"](input, dim, return_inverse, return_counts)


def _histogramdd_bin_edges(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> list[Any]:
    """The edges of bins of equal width, for each variable."""
    found = COMPOSITES["histogramdd"](input, list(bins), range, weight, density)
    return list(found[1])


def _histogramdd_from_bin_cts(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """How many points lie in each of so many cells."""
    return COMPOSITES["histogramdd"](input, list(bins), range, weight, density)[0]


def _histogramdd_from_bin_tensors(
    input: Any, bins: Any, *, weight: Any = None, density: bool = False
) -> Any:
    """How many points lie in each cell between edges."""
    return COMPOSITES["histogramdd"](input, list(bins), None, weight, density)[0]


def _segment_reduce_backward(
    grad: Any,
    output: Any,
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    offsets: Any = None,
    axis: int = 0,
    initial: Any = None,
) -> Any:
    """The gradient of segment_reduce."""
    runs = {"lengths": lengths, "offsets": offsets, "axis": axis, "initial": initial}

    def again(data: Any) -> Any:
        return COMPOSITES["segment_reduce"](data, reduce, **runs, unsafe=True)

    return slopes(again, [data], [0], grad)[0]


def _standard_gamma(input: Any, generator: Any = None) -> Any:
    """Numbers of the gamma distribution, of the shapes given."""
    return implicit.standard_gamma(input, generator)


def _standard_gamma_grad(input: Any, output: Any) -> Any:
    """How fast those change with the shapes."""
    return implicit.gamma_slope(input, output)


def _sample_dirichlet(input: Any, generator: Any = None) -> Any:
    """Numbers of the Dirichlet distribution."""
    return implicit.standard_dirichlet(input, generator)


def _dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    """How fast those change with the concentrations."""
    return implicit.dirichlet_slope(x, alpha, total)


COUNTS: Final = (
    _standard_gamma,
    _standard_gamma_grad,
    _sample_dirichlet,
    _dirichlet_grad,
    block_diag,
    _unique2,
    unique_dim,
    unique_consecutive,
    _histogramdd_bin_edges,
    _histogramdd_from_bin_cts,
    _histogramdd_from_bin_tensors,
    _segment_reduce_backward,
)
