"""Ready-made parametrizations: orthogonal matrices, spectral and weight normalisation."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

from enum import Enum, auto
from typing import Any, TypeVar

from adjoint.autograd.grad_mode import no_grad
from adjoint.creation.factories import eye, ones_like, randn, zeros_like
from adjoint.nn.module import Module
from adjoint.nn.utils import parametrize
from adjoint.nn.utils.spectral_norm import (
    as_matrix,
    check_iterations,
    dim_of_outputs,
    random_direction,
)
from adjoint.nn.utils.weight_norm import norm_except_dim, weight_of
from adjoint.ops.arranging.conversion import finfo
from adjoint.ops.arranging.shape import cat
from adjoint.ops.elementwise.comparison import allclose
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.decompositions import (
    linalg_householder_product as householder_product,
    linalg_qr as qr,
)
from adjoint.ops.matrices.distances import normalize
from adjoint.ops.matrices.linalg import linalg_solve as solve, matrix_exp
from adjoint.ops.matrices.matmul import mv, vdot
from adjoint.ops.reducing.norms import norm
from adjoint.tensors.tensor import Tensor

T_module = TypeVar("T_module", bound=Module)


class _OrthMaps(Enum):
    """How a matrix is made orthogonal."""

    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if it has more columns than rows."""

    base: Any

    def __init__(
        self, weight: Any, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError(
                "orthogonal: the householder parametrization does not support complex tensors; "
                "choose 'matrix_exp' or 'cayley'"
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        """The orthogonal matrix of a free one."""
        wide = X.shape[-2] < X.shape[-1]
        tall = X.mT if wide else X
        if self.orthogonal_map is _OrthMaps.householder:
            Q = _from_reflectors(tall)
        else:
            Q = _from_skew(tall, self.orthogonal_map)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    @no_grad()
    def right_inverse(self, Q: Any) -> Any:
        """What forward makes Q of, made orthogonal first if it isn't."""
        if Q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a matrix or batch of matrices of shape {self.shape}, got "
                f"one of shape {Q.shape}"
            )
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self.base = _completed(tall)
            start: Any = zeros_like(Q)
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # reflectors count their signs here
            return start
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                f"orthogonal: the {self.orthogonal_map.name} map has no inverse without a base; "
                "use_trivialization=True makes it assignable"
            )
        reflectors = _reflectors(tall)
        return reflectors.mT if wide else reflectors


def _from_skew(tall: Any, orthogonal_map: _OrthMaps) -> Any:
    """Columns of the orthogonal matrix that a map makes of a skew-symmetric one."""
    rows, columns = tall.shape[-2:]
    lower = tall.tril()
    if rows != columns:
        padding = lower.new_zeros(rows, rows - columns).expand(*lower.shape[:-2], -1, -1)
        lower = cat([lower, padding], dim=-1)
    skew = lower - lower.mH
    if orthogonal_map is _OrthMaps.matrix_exp:
        Q = matrix_exp(skew)
    else:
        one = eye(rows, dtype=skew.dtype, device=skew.device)
        Q = solve(one - 0.5 * skew, one + 0.5 * skew)
    return Q if rows == columns else Q[..., :columns]


def _from_reflectors(tall: Any) -> Any:
    """The product of the reflections whose vectors are below the diagonal, with signs on it."""
    vectors = tall.tril(diagonal=-1)
    lengths = 2.0 / (1.0 + (vectors * vectors).sum(dim=-2))
    signs = tall.diagonal(dim1=-2, dim2=-1).int()  # a number that is not learned
    return householder_product(vectors, lengths) * signs.unsqueeze(-2)


def _reflectors(tall: Any) -> Any:
    """The vectors and signs of which _from_reflectors makes the orthogonal part of a matrix."""
    work = tall.clone()
    for place in range(work.shape[-1]):
        column = work[..., place:, place].clone()
        head, tail = column[..., :1], column[..., 1:]
        length = norm(column, dim=-1, keepdim=True)
        top = where(head >= 0, -length, length)  # away from head, so that nothing cancels
        straight = (tail == 0).all(dim=-1, keepdim=True)  # there is nothing to reflect
        vector = where(straight, 0.0, tail / (head - top))
        scale = where(straight, 0.0, (top - head) / top)
        full = cat([ones_like(head), vector], dim=-1).unsqueeze(-1)
        rest = work[..., place:, place + 1 :]
        rest -= scale.unsqueeze(-1) * full * (full.mT @ rest)
        work[..., place + 1 :, place] = vector
        # forward reflects the head itself where there is nothing else: the sign makes up for it.
        work[..., place, place] = where(straight, -head, top).sign().squeeze(-1)
    return work


def _completed(tall: Any) -> Any:
    """A square orthogonal matrix that begins with the columns of a tall one, made orthonormal."""
    rows, columns = tall.shape[-2:]
    if rows == columns:
        one = eye(rows, dtype=tall.dtype, device=tall.device)
        if allclose(tall.mH @ tall, one, atol=10.0 * rows * finfo(tall.dtype).eps):
            return tall.clone()
        square = tall
    else:
        shape = (*tall.shape[:-2], rows, rows - columns)
        square = cat([tall, randn(shape, dtype=tall.dtype, device=tall.device)], dim=-1)
    Q, R = qr(square)
    return Q * R.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def orthogonal(
    module: T_module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> T_module:
    """Keep a matrix, or a batch of matrices, of a module orthogonal (unitary if it is complex).

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; the default is the first for square
    and complex matrices, the last for others. With `use_trivialization` the map starts from a
    matrix that is kept as a buffer, so that any value can be assigned.
    """
    weight = _tensor_of(module, name, "orthogonal")
    if weight.ndim < 2:
        raise ValueError(
            f"orthogonal: expected a matrix or batch of matrices as '{name}', got a tensor of "
            f"{weight.ndim} dimensions"
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f"orthogonal_map has to be one of {', '.join(_OrthMaps.__members__)}; got "
            f"{orthogonal_map!r}"
        )
    made = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    """A weight from its lengths and its direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """The weight."""
        return weight_of(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> Any:
        """Its lengths, and itself as direction."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: T_module, name: str = "weight", dim: int | None = 0) -> T_module:
    """Let a weight be a length for each index of dim (one if None) times a direction.

    State dicts of nn.utils.weight_norm can be loaded into the module.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which the power method estimates."""

    _u: Any
    _v: Any

    def __init__(
        self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        self.dim = dim % ndim
        self.eps = eps
        check_iterations(n_power_iterations)
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim)
            for buffer, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(buffer, random_direction(matrix, size, eps))
            self._power_method(matrix, 15)

    @no_grad()
    def _power_method(self, matrix: Any, count: int) -> None:
        """Improve the vectors, in place."""
        for _ in range(count):
            self._u = normalize(mv(matrix, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = normalize(mv(matrix.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Any) -> Any:
        """weight over its largest singular value."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies, so that the next use may change the buffers before backward of this one.
        return weight / vdot(self._u.clone(), mv(matrix, self._v.clone()))

    def right_inverse(self, value: Any) -> Any:
        """value itself, which is taken to be of norm 1."""
        return value


def spectral_norm(
    module: T_module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> T_module:
    """Divide a weight by its largest singular value each time it is used.

    In training mode each use makes `n_power_iterations` steps of the power method. `dim` counts the
    outputs; the default is 1 for transposed convolutions, else 0.
    """
    weight = _tensor_of(module, name, "spectral_norm")
    rows = dim_of_outputs(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, rows, eps)
    parametrize.register_parametrization(module, name, made)
    return module


def _tensor_of(module: Module, name: str, who: str) -> Any:
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"{who}: module '{module}' has no parameter or buffer named '{name}'")
    return found
