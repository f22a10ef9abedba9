"""The types of tensor.py and of what ops add to it; written by python -m tools.stubs."""

from adjoint._base import HookTable
from adjoint.autograd.hooks import RemovableHandle
from adjoint.autograd.node import Node
from adjoint.device import device as _device
from adjoint.dtypes import dtype as _dtype
from adjoint.ops.arranging.conversion import layout as _layout
from adjoint.return_types import aminmax as _aminmax
from adjoint.return_types import cummax as _cummax
from adjoint.return_types import cummin as _cummin
from adjoint.return_types import frexp as _frexp
from adjoint.return_types import geqrf as _geqrf
from adjoint.return_types import histogram as _histogram
from adjoint.return_types import kthvalue as _kthvalue
from adjoint.return_types import mode as _mode
from adjoint.return_types import sort as _sort
from adjoint.return_types import topk as _topk
from adjoint.return_types import triangular_solve as _triangular_solve
from adjoint.tensors.core import TensorCore
from adjoint.tensors.size import Size
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import NoReturn
from typing import Self
from typing import overload

class Tensor(TensorCore):
    """An n-dimensional array of one data type, that records what is done with it."""

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of one matrix: Tensor.H."""
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order: Tensor.T."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any:
        """NumPy's conversion: np.asarray(tensor)."""
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """np.concatenate([tensor, array]): adjoint's function of that meaning, with its derivative."""
    __array_priority__: _int
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """np.sin(tensor), np.add(array, tensor): the op of that name, with its derivative."""
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    @property
    def __cuda_array_interface__(self) -> Any:
        """Where the memory is on a GPU; only for tensors there."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Any:
        """A leaf with memory of its own, and its gradient and attributes copied as well."""
    def __delitem__(self, index: Any) -> None: ...
    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """The memory as a DLPack capsule."""
    def __dlpack_device__(self) -> Any:
        """The device in DLPack's numbering."""
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, spec: str) -> str:
        """A single number is formatted as Python's; anything else only as a whole."""
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, other: Any) -> Self: ...
    def __iand__(self, other: Any) -> Self: ...
    def __ifloordiv__(self, other: Any) -> Self: ...
    def __ilshift__(self, other: Any) -> Self: ...
    def __imod__(self, other: Any) -> Self: ...
    def __imul__(self, other: Any) -> Self: ...
    def __index__(self) -> _int: ...
    def __init__(self, array: Any = None, size: Any = None, *sizes: Any) -> None: ...
    @classmethod
    def __init_subclass__(cls, **options: Any) -> None:
        """Told of each class that is derived from Tensor."""
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any) -> Self: ...
    def __ipow__(self, other: Any) -> Self: ...
    def __irshift__(self, other: Any) -> Self: ...
    def __isub__(self, other: Any) -> Self: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Any) -> Self: ...
    def __ixor__(self, other: Any) -> Self: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    @staticmethod
    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """A tensor; of a subclass it is whole already, since its `__init__` need not call Tensor's."""
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """What pickle keeps of a tensor."""
    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        """tensor([1., 2.], requires_grad=True); a class may say what stands for the elements."""
    def __reversed__(self) -> Tensor:
        """What reversed() gives: a copy in the opposite order along the first dimension."""
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __sub__(self, other: Any) -> Tensor: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run func on its arguments as on plain tensors; the results are instances of cls."""
    def __truediv__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    @property
    def _base(self) -> Tensor | None: ...
    def _coalesced_(self, coalesced: _bool) -> Self:
        """Say of a tensor that each place is there once, in order, or that it may not be so."""
    def _indices(self) -> Tensor:
        """A column of indices for each value, as they were given."""
    def _is_view(self) -> _bool: ...
    @staticmethod
    def _make_subclass(cls: Any, data: Tensor, require_grad: _bool = False) -> Any:
        """An instance of cls on the memory of data, without its history."""
    def _nnz(self) -> _int:
        """How many values a sparse tensor has."""
    def _values(self) -> Tensor:
        """The values as they were given, without history."""
    @property
    def _version(self) -> _int: ...
    def abs(self) -> Tensor:
        """Absolute value, or modulus."""
    def abs_(self) -> Self:
        """In-place form of abs, for real tensors."""
    def absolute(self) -> Tensor:
        """Absolute value, or modulus."""
    def absolute_(self) -> Self:
        """In-place form of abs, for real tensors."""
    def acos(self) -> Tensor:
        """Inverse cosine."""
    def acos_(self) -> Self:
        """In-place form of acos."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def acosh_(self) -> Self:
        """In-place form of acosh."""
    def add(self, other: Tensor | complex, *, alpha: Any = 1) -> Tensor:
        """input + alpha * other."""
    def add_(self, other: Tensor | complex, *, alpha: Any = 1) -> Self:
        """In-place form of add."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * the sum of batch1 @ batch2 over the batches."""
    def addbmm_(self, *batches: Any, **factors: Any) -> Self:
        """In-place form of addbmm; a tensor that was broadcast gets the shape of the result."""
    def addcdiv(
        self, tensor1: Tensor | complex, tensor2: Tensor | complex, *, value: Any = 1
    ) -> Tensor:
        """input + value * tensor1 / tensor2."""
    def addcdiv_(
        self, tensor1: Tensor | complex, tensor2: Tensor | complex, *, value: Any = 1
    ) -> Self:
        """In-place form of addcdiv."""
    def addcmul(
        self, tensor1: Tensor | complex, tensor2: Tensor | complex, *, value: Any = 1
    ) -> Tensor:
        """input + value * tensor1 * tensor2."""
    def addcmul_(
        self, tensor1: Tensor | complex, tensor2: Tensor | complex, *, value: Any = 1
    ) -> Self:
        """In-place form of addcmul."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """In-place form of addmm."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """In-place form of addmv."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * the outer product of two vectors."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """In-place form of addr."""
    def adjoint(self) -> Tensor:
        """The conjugate transpose of a matrix, or of each matrix of a batch."""
    def all(self, dim: Any = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements along dim are true (not zero)."""
    def allclose(
        self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False
    ) -> _bool:
        """Whether every element is close to its counterpart."""
    def amax(self, dim: Any = (), keepdim: _bool = False) -> Tensor:
        """The largest element over dim; equal ones share the gradient."""
    def amin(self, dim: Any = (), keepdim: _bool = False) -> Tensor:
        """The smallest element over dim; equal ones share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> _aminmax:
        """The smallest and the largest element over dim."""
    def angle(self) -> Tensor:
        """The argument of complex numbers; of real ones π if negative, else 0."""
    def any(self, dim: Any = None, keepdim: _bool = False) -> Tensor:
        """Whether an element along dim is true (not zero)."""
    def apply_(self, callable: Callable[..., Any]) -> Self:
        """Replace each element by what a Python function of it answers; slow, and without gradient."""
    def arccos(self) -> Tensor:
        """Inverse cosine."""
    def arccos_(self) -> Self:
        """In-place form of acos."""
    def arccosh(self) -> Tensor:
        """Inverse hyperbolic cosine."""
    def arccosh_(self) -> Self:
        """In-place form of acosh."""
    def arcsin(self) -> Tensor:
        """Inverse sine."""
    def arcsin_(self) -> Self:
        """In-place form of asin."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arcsinh_(self) -> Self:
        """In-place form of asinh."""
    def arctan(self) -> Tensor:
        """Inverse tangent."""
    def arctan2(self, other: Tensor | complex) -> Tensor:
        """The angle of the point (other, input), from -π to π."""
    def arctan2_(self, other: Tensor | complex) -> Self:
        """In-place form of atan2."""
    def arctan_(self) -> Self:
        """In-place form of atan."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def arctanh_(self) -> Self:
        """In-place form of atanh."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Where the largest element is: along dim, or in the flattened tensor."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Where the smallest element is: along dim, or in the flattened tensor."""
    def argsort(
        self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False
    ) -> Tensor:
        """The indices that put the elements in order along dim."""
    def argwhere(self) -> Tensor:
        """A row of indices for each element that is not zero."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Tensor:
        """A view of the tensor's memory by sizes, strides and offset, all counted in elements."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = None) -> Self:
        """In-place form of as_strided: the tensor shows its memory in another pattern."""
    def as_strided_scatter(
        self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = None
    ) -> Tensor:
        """A copy of input with src written where as_strided of these arguments looks."""
    def as_subclass(self, cls: Any) -> Any:
        """The same memory and history as an instance of cls."""
    def asin(self) -> Tensor:
        """Inverse sine."""
    def asin_(self) -> Self:
        """In-place form of asin."""
    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def asinh_(self) -> Self:
        """In-place form of asinh."""
    def atan(self) -> Tensor:
        """Inverse tangent."""
    def atan2(self, other: Tensor | complex) -> Tensor:
        """The angle of the point (other, input), from -π to π."""
    def atan2_(self, other: Tensor | complex) -> Self:
        """In-place form of atan2."""
    def atan_(self) -> Self:
        """In-place form of atan."""
    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent."""
    def atanh_(self) -> Self:
        """In-place form of atanh."""
    def backward(
        self,
        gradient: Any = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor with respect to the leaves to their `.grad`."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """beta * input + alpha * (batch1 @ batch2), one product for each batch."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """In-place form of baddbmm."""
    def bernoulli(self, p: Any = None, *, generator: Any = None) -> Tensor:
        """0 or 1, where each element (or p) is the probability of 1."""
    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Self:
        """Fill with 1, with probability p, or 0."""
    def bfloat16(self, memory_format: Any = None) -> Tensor:
        """The tensor as bfloat16."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each integer from 0 on occurs, or the sum of its weights."""
    def bitwise_and(self, other: Tensor | complex) -> Tensor:
        """The bits set in both."""
    def bitwise_and_(self, other: Tensor | complex) -> Self:
        """In-place form of bitwise_and."""
    def bitwise_left_shift(self, other: Tensor | complex) -> Tensor:
        """The bits moved up by other places."""
    def bitwise_left_shift_(self, other: Tensor | complex) -> Self:
        """In-place form of bitwise_left_shift."""
    def bitwise_not(self) -> Tensor:
        """Every bit turned over."""
    def bitwise_not_(self) -> Self:
        """In-place form of bitwise_not."""
    def bitwise_or(self, other: Tensor | complex) -> Tensor:
        """The bits set in at least one."""
    def bitwise_or_(self, other: Tensor | complex) -> Self:
        """In-place form of bitwise_or."""
    def bitwise_right_shift(self, other: Tensor | complex) -> Tensor:
        """The bits moved down by other places; the sign stays."""
    def bitwise_right_shift_(self, other: Tensor | complex) -> Self:
        """In-place form of bitwise_right_shift."""
    def bitwise_xor(self, other: Tensor | complex) -> Tensor:
        """The bits set in exactly one."""
    def bitwise_xor_(self, other: Tensor | complex) -> Self:
        """In-place form of bitwise_xor."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, memory_format: Any = None) -> Tensor:
        """The tensor as bool."""
    def broadcast_to(self, size: Any, *more: Any) -> Tensor:
        """A view that repeats to a shape."""
    def byte(self, memory_format: Any = None) -> Tensor:
        """The tensor as uint8."""
    def cauchy_(self, median: _float = 0.0, sigma: _float = 1.0, *, generator: Any = None) -> Self:
        """Fill with numbers of the Cauchy distribution."""
    def ccol_indices(self) -> Tensor:
        """Where the columns of a matrix in layout sparse_csc start, and the end of the last."""
    def cdouble(self, memory_format: Any = None) -> Tensor:
        """The tensor as complex128."""
    def ceil(self) -> Tensor:
        """The smallest whole number that is not below the element."""
    def ceil_(self) -> Self:
        """In-place form of ceil."""
    def cfloat(self, memory_format: Any = None) -> Tensor:
        """The tensor as complex64."""
    def chalf(self, memory_format: Any = None) -> Tensor:
        """The tensor as complex32."""
    def char(self, memory_format: Any = None) -> Tensor:
        """The tensor as int8."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """The lower triangular L with L @ L^H = input, or upper its conjugate transpose."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, for the Cholesky factor L of A."""
    def cholesky_solve(self, L: Tensor, upper: _bool = False) -> Tensor:
        """X with A @ X = input, for the Cholesky factor L of A."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """A tuple of at most `chunks` views along dim, all of one length but the last."""
    def clamp(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Tensor:
        """input, but at least min and at most max."""
    def clamp_(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Self:
        """In-place form of clamp."""
    def clamp_max(self, max: Tensor | complex) -> Tensor:
        """input, but at most max."""
    def clamp_max_(self, max: Tensor | complex) -> Self:
        """In-place form of clamp_max."""
    def clamp_min(self, min: Tensor | complex) -> Tensor:
        """input, but at least min."""
    def clamp_min_(self, min: Tensor | complex) -> Self:
        """In-place form of clamp_min."""
    def clip(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Tensor:
        """input, but at least min and at most max."""
    def clip_(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Self:
        """In-place form of clamp."""
    def clone(self, *, memory_format: Any = None) -> Tensor:
        """A copy, in the same order in memory unless memory_format asks for another."""
    def coalesce(self) -> Tensor:
        """The tensor with each place once, in order, values of one place summed; itself if it is so."""
    def col_indices(self) -> Tensor:
        """The columns of the values of a matrix in layout sparse_csr."""
    def concrete_array(self) -> Any:
        """The array for those who read its values; a transform that has none refuses here."""
    def conj(self) -> Tensor:
        """Complex conjugate of each element; real input is returned as it is."""
    def conj_physical(self) -> Tensor:
        """Complex conjugate of each element; real input is returned as it is."""
    def conj_physical_(self) -> Self:
        """In-place form of conj_physical."""
    def constant_pad_nd(self, pad: Any, value: Any = 0) -> Tensor:
        """input with value around it; pad goes from the last dimension on, and may be negative."""
    def contiguous(self, memory_format: Any = ...) -> Tensor:
        """The tensor itself if its elements lie in order, else a copy that does."""
    def conv_tbc(self, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
        """conv1d of (time, batch, channels) with filters of (width, channels, filters)."""
    def copy_(self, src: Any, non_blocking: _bool = False) -> Self:
        """Overwrite with the values of src, broadcast and cast; src may be on another device."""
    def copysign(self, other: Tensor | complex) -> Tensor:
        """|input| with the sign of other."""
    def copysign_(self, other: Tensor | complex) -> Self:
        """In-place form of copysign."""
    def corrcoef(self) -> Tensor:
        """Correlation coefficients of the variables in the rows."""
    def cos(self) -> Tensor:
        """Cosine."""
    def cos_(self) -> Self:
        """In-place form of cos."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self) -> Self:
        """In-place form of cosh."""
    def count_nonzero(self, dim: Any = None) -> Tensor:
        """How many elements are not zero."""
    def cov(
        self,
        *,
        correction: _int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """Covariances of the variables in the rows, whose samples are in the columns."""
    def cpu(self, memory_format: Any = None) -> Tensor:
        """The tensor in main memory."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """Cross product of the vectors along dim; without it, the first dimension of size 3."""
    def crow_indices(self) -> Tensor:
        """Where the rows of a matrix in layout sparse_csr start, and the end of the last."""
    def cuda(
        self, device: Any = None, non_blocking: _bool = False, memory_format: Any = None
    ) -> Tensor:
        """The tensor on a GPU, as an array of CuPy."""
    def cummax(self, dim: _int) -> _cummax:
        """The largest element so far along dim, and its index."""
    def cummin(self, dim: _int) -> _cummin:
        """The smallest element so far along dim, and its index."""
    def cumprod(self, dim: _int, *, dtype: Any = None) -> Tensor:
        """Products of all prefixes along dim."""
    def cumprod_(self, dim: _int, *, dtype: Any = None) -> Self:
        """In-place form of cumprod."""
    def cumsum(self, dim: _int, *, dtype: Any = None) -> Tensor:
        """Sums of all prefixes along dim."""
    def cumsum_(self, dim: _int, *, dtype: Any = None) -> Self:
        """In-place form of cumsum."""
    def current_array(self) -> Any:
        """The array, made anew if it is a view whose library can't share memory."""
    @property
    def data(self) -> Tensor:
        """The same memory without history; changes through it go unnoticed by autograd."""
    @data.setter
    def data(self, value: Any) -> None: ...
    def data_ptr(self) -> _int:
        """The address of the first element; 0 for a tensor without elements, or memory."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Self:
        """In-place form of deg2rad."""
    def dense_dim(self) -> _int:
        """How many dimensions each value has."""
    def det(self) -> Tensor:
        """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """The same values without history; in-place changes to either are seen by both."""
    def detach_(self) -> Self:
        """Forget how it was made; it becomes a leaf."""
    @property
    def device(self) -> _device:
        """Where the elements are."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix of a diagonal."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices, in dim1 and dim2, with the last dimension of input as their diagonals."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of input on a diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A view of a diagonal of dim1 and dim2, as the last dimension."""
    def diagonal_scatter(
        self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor:
        """A copy of input with src on a diagonal."""
    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Differences of neighbours along dim, taken n times."""
    def digamma(self) -> Tensor:
        """The derivative of lgamma."""
    def digamma_(self) -> Self:
        """In-place form of digamma."""
    def dim(self) -> _int:
        """How many dimensions it has."""
    def dim_order(self, *, ambiguity_check: Any = False) -> tuple[_int, ...]:
        """The dimensions as they lie in memory, that of the largest steps first."""
    def dist(self, other: Tensor, p: _float = 2) -> Tensor:
        """The norm of exponent p of input - other."""
    def div(self, other: Tensor | complex, *, rounding_mode: str | None = None) -> Tensor:
        """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
    def div_(self, other: Tensor | complex, *, rounding_mode: str | None = None) -> Self:
        """In-place form of div."""
    def divide(self, other: Tensor | complex, *, rounding_mode: str | None = None) -> Tensor:
        """input / other; with rounding_mode "trunc" or "floor", the quotient as a whole number."""
    def divide_(self, other: Tensor | complex, *, rounding_mode: str | None = None) -> Self:
        """In-place form of div."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Sum of the products of two vectors' elements."""
    def double(self, memory_format: Any = None) -> Tensor:
        """The tensor as float64."""
    def dsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """tensor_split by depth: along dimension 2."""
    @property
    def dtype(self) -> _dtype:
        """The data type of the elements."""
    def element_size(self) -> _int:
        """Bytes of one element."""
    def eq(self, other: Tensor | complex) -> Tensor:
        """input == other."""
    def eq_(self, other: Tensor | complex) -> Self:
        """In-place form of eq."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape and the same elements."""
    def erf(self) -> Tensor:
        """The error function."""
    def erf_(self) -> Self:
        """In-place form of erf."""
    def erfc(self) -> Tensor:
        """1 - erf(input), exact for large elements."""
    def erfc_(self) -> Self:
        """In-place form of erfc."""
    def erfinv(self) -> Tensor:
        """The inverse of erf."""
    def erfinv_(self) -> Self:
        """In-place form of erfinv."""
    def exp(self) -> Tensor:
        """e to the power of each element."""
    def exp2(self) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Self:
        """In-place form of exp2."""
    def exp_(self) -> Self:
        """In-place form of exp."""
    @overload
    def expand(self, *size: Any, implicit: _bool = False) -> Tensor:
        """A view in which dimensions of size 1, and new ones in front, repeat."""
    @overload
    def expand(self, *, size: Any, implicit: _bool = False) -> Tensor:
        """A view in which dimensions of size 1, and new ones in front, repeat."""
    def expand_as(self, other: Tensor) -> Tensor:
        """A view that repeats to the shape of other."""
    def expm1(self) -> Tensor:
        """exp(input) - 1, exact for small elements."""
    def expm1_(self) -> Self:
        """In-place form of expm1."""
    def exponential_(self, lambd: _float = 1.0, *, generator: Any = None) -> Self:
        """Fill with exponentially distributed numbers."""
    def fill(self, value: Tensor | complex) -> Tensor:
        """A tensor like input with value everywhere."""
    def fill_(self, value: Tensor | complex) -> Self:
        """In-place form of fill."""
    def fill_diagonal(self, fill_value: complex, wrap: _bool = False) -> Tensor:
        """input with a value on its main diagonal; wrap starts it again below a tall matrix's end."""
    def fill_diagonal_(self, fill_value: complex, wrap: _bool = False) -> Self:
        """In-place form of fill_diagonal."""
    def fix(self) -> Tensor:
        """The whole number without the fraction."""
    def fix_(self) -> Self:
        """In-place form of trunc."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Dimensions start_dim to end_dim as one."""
    @overload
    def flip(self, *dims: Any) -> Tensor:
        """A copy with the order of elements reversed along dims."""
    @overload
    def flip(self, *, dims: Any) -> Tensor:
        """A copy with the order of elements reversed along dims."""
    def fliplr(self) -> Tensor:
        """A copy with the order of columns reversed."""
    def flipud(self) -> Tensor:
        """A copy with the order of rows reversed."""
    def float(self, memory_format: Any = None) -> Tensor:
        """The tensor as float32."""
    def float_power(self, exponent: Tensor | complex) -> Tensor:
        """input to the power of exponent, in double precision."""
    def float_power_(self, exponent: Tensor | complex) -> Self:
        """In-place form of float_power, for tensors of double precision."""
    def floor(self) -> Tensor:
        """The largest whole number that is not above the element."""
    def floor_(self) -> Self:
        """In-place form of floor."""
    def floor_divide(self, other: Tensor | complex) -> Tensor:
        """input / other, rounded downwards."""
    def floor_divide_(self, other: Tensor | complex) -> Self:
        """In-place form of floor_divide."""
    def fmax(self, other: Tensor | complex) -> Tensor:
        """The larger element; a nan gives way to a number."""
    def fmin(self, other: Tensor | complex) -> Tensor:
        """The smaller element; a nan gives way to a number."""
    def fmod(self, other: Tensor | complex) -> Tensor:
        """What division leaves over, with the sign of input."""
    def fmod_(self, other: Tensor | complex) -> Self:
        """In-place form of fmod."""
    def frac(self) -> Tensor:
        """The fraction, with the sign of the element."""
    def frac_(self) -> Self:
        """In-place form of frac."""
    def frexp(self) -> _frexp:
        """The mantissa, at least 1/2 and below 1, and the power of 2 that makes each element of it."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """The elements that index names along dim, one for each of its elements."""
    def gcd(self, other: Tensor | complex) -> Tensor:
        """Greatest common divisor."""
    def gcd_(self, other: Tensor | complex) -> Self:
        """In-place form of gcd."""
    def ge(self, other: Tensor | complex) -> Tensor:
        """input >= other."""
    def ge_(self, other: Tensor | complex) -> Self:
        """In-place form of ge."""
    def geometric_(self, p: _float, *, generator: Any = None) -> Self:
        """Fill with the number of trials up to the first success."""
    def geqrf(self) -> _geqrf:
        """R on and above the diagonal, and below it and in tau the reflections whose product is Q."""
    def ger(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""
    def get_device(self) -> _int:
        """The number of its device; -1 in main memory, and where there is none."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward has accumulated for it."""
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def grad_dtype(self) -> Any:
        """The data type of a leaf's gradient: its own unless set; None if gradients stay as made."""
    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> Node | None:
        """The node that takes its gradient further; None for a leaf."""
    def greater(self, other: Tensor | complex) -> Tensor:
        """input > other."""
    def greater_(self, other: Tensor | complex) -> Self:
        """In-place form of gt."""
    def greater_equal(self, other: Tensor | complex) -> Tensor:
        """input >= other."""
    def greater_equal_(self, other: Tensor | complex) -> Self:
        """In-place form of ge."""
    def gt(self, other: Tensor | complex) -> Tensor:
        """input > other."""
    def gt_(self, other: Tensor | complex) -> Self:
        """In-place form of gt."""
    def half(self, memory_format: Any = None) -> Tensor:
        """The tensor as float16."""
    def hardshrink(self, lambd: _float = 0.5) -> Tensor:
        """input, and 0 where it is at most lambd away from 0."""
    def hash_tensor(self, dim: Any = (), *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """The exclusive or of all elements' bits, those of fractions as doubles, as one number."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below 0, 1 above, values at 0."""
    def heaviside_(self, values: Tensor) -> Self:
        """In-place form of heaviside."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements lie in each of `bins` equal parts of min … max."""
    def histogram(
        self,
        bins: Tensor | complex = 100,
        *,
        range: Any = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> _histogram:
        """How many elements lie in each bin, and the edges of the bins."""
    def hsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """tensor_split by columns: along dimension 1, or 0 of a vector."""
    def hypot(self, other: Tensor | complex) -> Tensor:
        """sqrt(input² + other²), without overflow."""
    def hypot_(self, other: Tensor | complex) -> Self:
        """In-place form of hypot."""
    def i0(self) -> Tensor:
        """Modified Bessel function of order 0."""
    def i0_(self) -> Self:
        """In-place form of i0."""
    def igamma(self, other: Tensor | complex) -> Tensor:
        """The part of a gamma distribution of shape input below other."""
    def igamma_(self, other: Tensor | complex) -> Self:
        """In-place form of igamma."""
    def igammac(self, other: Tensor | complex) -> Tensor:
        """The part of a gamma distribution of shape input above other."""
    def igammac_(self, other: Tensor | complex) -> Self:
        """In-place form of igammac."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts, as a view."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
        """input with alpha times the slices of source added where index names along dim."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Self:
        """In-place form of index_add."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """input with the slices of source where index names along dim."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """In-place form of index_copy."""
    def index_fill(self, dim: _int, index: Tensor, value: Tensor | complex) -> Tensor:
        """input with value in the slices that index names along dim."""
    def index_fill_(self, dim: _int, index: Tensor, value: Tensor | complex) -> Self:
        """In-place form of index_fill."""
    def index_put(
        self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False
    ) -> Tensor:
        """input with values written, or added, where the tensors of indices name."""
    def index_put_(
        self, indices: Sequence[Tensor], values: Tensor, accumulate: _bool = False
    ) -> Self:
        """In-place form of index_put."""
    def index_reduce(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """input with the slices of source taken in by prod, mean, amax or amin where index names."""
    def index_reduce_(
        self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Self:
        """The in-place form of index_reduce."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices of dimension dim that the 1-d tensor index names."""
    def indices(self) -> Tensor:
        """A column of indices for each value of a coalesced tensor."""
    def inner(self, other: Tensor) -> Tensor:
        """Sum of products over the last dimension of both; with a scalar, the plain product."""
    def int(self, memory_format: Any = None) -> Tensor:
        """The tensor as int32."""
    def inverse(self) -> Tensor:
        """The inverse of square matrices."""
    def is_coalesced(self) -> _bool:
        """Whether each place is there once, in order."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex numbers."""
    def is_conj(self) -> _bool:
        """Whether elements wait to be conjugated: never, they are conjugated at once."""
    def is_contiguous(self, memory_format: Any = ...) -> _bool:
        """Whether the elements lie in memory in the order of their indices."""
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    def is_floating_point(self) -> _bool:
        """Whether the elements are real floating-point numbers."""
    def is_inference(self) -> _bool:
        """Whether it was made in inference mode."""
    @property
    def is_leaf(self) -> _bool:
        """Whether its gradient ends here: it was made by the user, or needs no gradient."""
    @property
    def is_meta(self) -> _bool: ...
    def is_neg(self) -> _bool:
        """Whether elements wait to be negated: never, they are negated at once."""
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero."""
    @property
    def is_quantized(self) -> _bool: ...
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether both have one shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both are the same view of the same memory."""
    def is_signed(self) -> _bool:
        """Whether the elements can be negative."""
    @property
    def is_sparse(self) -> _bool:
        """Whether it is of layout sparse_coo."""
    @property
    def is_sparse_csr(self) -> _bool:
        """Whether it is of layout sparse_csr."""
    @property
    def is_xla(self) -> _bool: ...
    def isclose(
        self,
        other: Tensor | complex,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Whether the elements differ by at most atol + rtol * |other|."""
    def isfinite(self) -> Tensor:
        """Whether the element is neither infinite nor nan."""
    def isinf(self) -> Tensor:
        """Whether the element is infinite."""
    def isnan(self) -> Tensor:
        """Whether the element is not a number."""
    def isneginf(self) -> Tensor:
        """Whether the element is negative infinity."""
    def isposinf(self) -> Tensor:
        """Whether the element is positive infinity."""
    def isreal(self) -> Tensor:
        """Whether the imaginary part is zero."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """The signal whose pieces have these spectra, best in the sense of least squares."""
    def item(self) -> Any:
        """The one element as a Python number."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    def keep_grad(self, grad: Tensor) -> None:
        """The engine's answer to retain_grad."""
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: every element of input times all of other."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> _kthvalue:
        """The k-th smallest element along dim, counted from 1, and its index."""
    @property
    def layout(self) -> _layout:
        """How a tensor is stored."""
    def lcm(self, other: Tensor | complex) -> Tensor:
        """Least common multiple."""
    def lcm_(self, other: Tensor | complex) -> Self:
        """In-place form of lcm."""
    def ldexp(self, other: Tensor) -> Tensor:
        """input * 2 ** other."""
    def ldexp_(self, other: Tensor) -> Self:
        """In-place form of ldexp."""
    def le(self, other: Tensor | complex) -> Tensor:
        """input <= other."""
    def le_(self, other: Tensor | complex) -> Self:
        """In-place form of le."""
    def leaf_hooks(self) -> HookTable:
        """The table of a leaf's hooks, made if there is none."""
    def lerp(self, end: Tensor, weight: Tensor | complex) -> Tensor:
        """input + weight * (end - input)."""
    def lerp_(self, end: Tensor, weight: Tensor | complex) -> Self:
        """In-place form of lerp."""
    def less(self, other: Tensor | complex) -> Tensor:
        """input < other."""
    def less_(self, other: Tensor | complex) -> Self:
        """In-place form of lt."""
    def less_equal(self, other: Tensor | complex) -> Tensor:
        """input <= other."""
    def less_equal_(self, other: Tensor | complex) -> Self:
        """In-place form of le."""
    def lgamma(self) -> Tensor:
        """Logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Self:
        """In-place form of lgamma."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self) -> Self:
        """In-place form of log10."""
    def log1p(self) -> Tensor:
        """log(1 + input), exact for small elements."""
    def log1p_(self) -> Self:
        """In-place form of log1p."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self) -> Self:
        """In-place form of log2."""
    def log_(self) -> Self:
        """In-place form of log."""
    def log_normal_(self, mean: _float = 1.0, std: _float = 2.0, *, generator: Any = None) -> Self:
        """Fill with numbers whose logarithms are normally distributed."""
    def log_softmax(self, dim: _int, dtype: Any = None) -> Tensor:
        """The logarithm of softmax, without its underflow."""
    def logaddexp(self, other: Tensor | complex) -> Tensor:
        """log(exp(input) + exp(other)), without overflow."""
    def logaddexp2(self, other: Tensor | complex) -> Tensor:
        """log2(2 ** input + 2 ** other), without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """Logarithms of the sums of the exponentials of all prefixes along dim."""
    def logdet(self) -> Tensor:
        """The determinant's logarithm; NaN if it is negative."""
    def logical_and(self, other: Tensor | complex) -> Tensor:
        """Whether both elements are nonzero."""
    def logical_and_(self, other: Tensor | complex) -> Self:
        """In-place form of logical_and."""
    def logical_not(self) -> Tensor:
        """Whether the element is zero."""
    def logical_not_(self) -> Self:
        """In-place form of logical_not."""
    def logical_or(self, other: Tensor | complex) -> Tensor:
        """Whether at least one element is nonzero."""
    def logical_or_(self, other: Tensor | complex) -> Self:
        """In-place form of logical_or."""
    def logical_xor(self, other: Tensor | complex) -> Tensor:
        """Whether exactly one element is nonzero."""
    def logical_xor_(self, other: Tensor | complex) -> Self:
        """In-place form of logical_xor."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """log(p / (1 - p)), the inverse of sigmoid; with eps, p is kept in [eps, 1 - eps]."""
    def logit_(self, eps: _float | None = None) -> Self:
        """In-place form of logit."""
    def logsumexp(self, dim: Any, keepdim: _bool = False) -> Tensor:
        """Logarithm of the sum of exponentials over dim."""
    def long(self, memory_format: Any = None) -> Tensor:
        """The tensor as int64."""
    def lt(self, other: Tensor | complex) -> Tensor:
        """input < other."""
    def lt_(self, other: Tensor | complex) -> Self:
        """In-place form of lt."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Any:
        """L and U in one matrix and the exchanges of rows; see linalg.lu_factor."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The solution of A @ X = input with the LU factorization of A; see linalg.lu_solve."""
    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of a matrix, or of each matrix of a batch."""
    @property
    def mT(self) -> Tensor:
        """A view with the last two dimensions exchanged: Tensor.mT."""
    def map2_(self, x: Tensor, y: Tensor, callable: Callable[..., Any]) -> Self:
        """apply_, of a function of each element and those of two other tensors."""
    def map_(self, tensor: Tensor, callable: Callable[..., Any]) -> Self:
        """apply_, of a function of each element and that of another tensor."""
    def masked_fill(self, mask: Tensor, value: Tensor | complex) -> Tensor:
        """input with value where mask is True."""
    def masked_fill_(self, mask: Tensor, value: Tensor | complex) -> Self:
        """In-place form of masked_fill."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """input with the elements of source, in order, where mask is True."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """In-place form of masked_scatter."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where mask is True, in one dimension."""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product of the last two dimensions, batches broadcast; 1-d operands are vectors."""
    def matrix_exp(self) -> Tensor:
        """The exponential of square matrices."""
    def matrix_power(self, n: _int) -> Tensor:
        """The n-th power of square matrices."""
    @overload
    def max(self) -> Tensor:
        """The largest of all; along dim, with indices; or of two tensors at each place."""
    @overload
    def max(
        self, dim: Any = None, keepdim: _bool | None = None, *, other: Tensor | None = None
    ) -> Any:
        """The largest of all; along dim, with indices; or of two tensors at each place."""
    def maximum(self, other: Tensor | complex) -> Tensor:
        """The larger element, nan if either is nan; equal ones share the gradient."""
    def mean(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None) -> Tensor:
        """Mean over dim, or over everything."""
    @overload
    def median(self) -> Tensor:
        """The median: of all, or along dim with indices; of two in the middle the lower one."""
    @overload
    def median(self, dim: _int | None = None, keepdim: _bool = False) -> Any:
        """The median: of all, or along dim with indices; of two in the middle the lower one."""
    @overload
    def min(self) -> Tensor:
        """The smallest of all; along dim, with indices; or of two tensors at each place."""
    @overload
    def min(
        self, dim: Any = None, keepdim: _bool | None = None, *, other: Tensor | None = None
    ) -> Any:
        """The smallest of all; along dim, with indices; or of two tensors at each place."""
    def minimum(self, other: Tensor | complex) -> Tensor:
        """The smaller element, nan if either is nan; equal ones share the gradient."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> _mode:
        """The most frequent element along dim, of several the smallest, and its last index."""
    def module_load(self, other: Any, assign: _bool = False) -> Any:
        """What a parameter or buffer is swapped with when `other` is loaded into it."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """A view with the dimensions of source moved to those of destination, the others in order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """A view with the dimensions of source moved to those of destination, the others in order."""
    def msort(self) -> Tensor:
        """The elements in order along the first dimension."""
    def mul(self, other: Tensor | complex) -> Tensor:
        """input * other."""
    def mul_(self, other: Tensor | complex) -> Self:
        """In-place form of mul."""
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: Any = None
    ) -> Tensor:
        """Indices drawn with the weights in each row of input."""
    def multiply(self, other: Tensor | complex) -> Tensor:
        """input * other."""
    def multiply_(self, other: Tensor | complex) -> Self:
        """In-place form of mul."""
    def mv(self, vec: Tensor) -> Tensor:
        """Product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Logarithm of the gamma function of p dimensions."""
    def mvlgamma_(self, p: _int) -> Self:
        """In-place form of mvlgamma."""
    def nan_to_num(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """input with nan replaced by a number, infinities by numbers or the largest finite ones."""
    def nan_to_num_(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Self:
        """In-place form of nan_to_num."""
    def nanmean(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None) -> Tensor:
        """Mean over dim of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The median of the elements that are not NaN: of all, or along dim with indices."""
    @overload
    def nanmedian(self, dim: _int | None = None, keepdim: _bool = False) -> Any:
        """The median of the elements that are not NaN: of all, or along dim with indices."""
    def nanquantile(
        self,
        q: Tensor | complex,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The quantile of the elements that are not NaN."""
    def nansum(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None) -> Tensor:
        """Sum over dim, NaN counted as 0."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor:
        """A view of `length` elements of dimension dim from start on."""
    def narrow_copy(self, dim: _int, start: Any, length: _int) -> Tensor:
        """A copy of what narrow shows."""
    @property
    def nbytes(self) -> _int: ...
    @property
    def ndim(self) -> _int:
        """How many dimensions it has."""
    def ndimension(self) -> _int:
        """How many dimensions it has."""
    def ne(self, other: Tensor | complex) -> Tensor:
        """input != other."""
    def ne_(self, other: Tensor | complex) -> Self:
        """In-place form of ne."""
    def neg(self) -> Tensor:
        """-input."""
    def neg_(self) -> Self:
        """In-place form of neg."""
    def negative(self) -> Tensor:
        """-input."""
    def negative_(self) -> Self:
        """In-place form of neg."""
    def nelement(self) -> _int:
        """How many elements it has."""
    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """Uninitialised memory with this tensor's data type and device."""
    def new_empty_strided(self, size: Any, stride: Any, **options: Any) -> Tensor:
        """Uninitialised memory seen with the given strides, with this tensor's data type and device."""
    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Tensor:
        """fill_value with this tensor's data type and device."""
    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """Ones with this tensor's data type and device."""
    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """A new tensor of data, with this one's data type and device."""
    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """Zeros with this tensor's data type and device."""
    def nextafter(self, other: Tensor | complex) -> Tensor:
        """The next floating number after each element in the direction of other."""
    def nextafter_(self, other: Tensor | complex) -> Self:
        """In-place form of nextafter."""
    @overload
    def nonzero(self) -> Tensor:
        """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
    @overload
    def nonzero(self, *, as_tuple: _bool = False) -> Any:
        """Where elements are not zero: a row of indices each, or a tuple of index tensors."""
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first `size` rows of nonzero; where there are fewer, rows of fill_value follow."""
    def norm(
        self,
        p: _float | str | None = "fro",
        dim: Any = None,
        keepdim: _bool = False,
        dtype: Any = None,
    ) -> Tensor:
        """The norm of exponent p over dim: a number, 'fro' (the same as 2) or 'nuc'."""
    def normal_(self, mean: _float = 0.0, std: _float = 1.0, *, generator: Any = None) -> Self:
        """Fill with normally distributed numbers."""
    def not_equal(self, other: Tensor | complex) -> Tensor:
        """input != other."""
    def not_equal_(self, other: Tensor | complex) -> Self:
        """In-place form of ne."""
    def number(self) -> Any:
        """The one element, for Python's own conversions, whose callers expect a ValueError."""
    def numel(self) -> _int:
        """How many elements it has."""
    def numpy(self, *, force: _bool = False) -> Any:
        """The elements as a NumPy array on the same memory; with force=True, maybe a copy."""
    def numpy_array(self) -> Any:
        """The elements as a NumPy array, whatever the backend; without a copy on the CPU."""
    def one_number(self) -> Any:
        """The one element as a Python number, whatever the backend."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """See linalg.householder_product."""
    def ormqr(
        self, tau: Tensor, other: Tensor, left: _bool = True, transpose: _bool = False
    ) -> Tensor:
        """Q @ other, or other @ Q unless left, for the Q of reflections that geqrf answers."""
    def outer(self, vec2: Tensor) -> Tensor:
        """The matrix of all products of two vectors' elements."""
    @property
    def output_nr(self) -> _int:
        """Which of its node's outputs it is."""
    def overwrite(self, result: Any, name: str) -> Tensor:
        """Become the result of a call with out=self."""
    @overload
    def permute(self, *dims: Any) -> Tensor:
        """A view with the dimensions in another order."""
    @overload
    def permute(self, *, dims: Any) -> Tensor:
        """A view with the dimensions in another order."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The Moore-Penrose inverse."""
    def pixel_shuffle(self, upscale_factor: _int) -> Tensor:
        """Channels as pixels: (*, C r², H, W) becomes (*, C, H r, W r)."""
    def pixel_unshuffle(self, downscale_factor: _int) -> Tensor:
        """Pixels as channels: (*, C, H r, W r) becomes (*, C r², H, W)."""
    def poisson(self, generator: Any = None) -> Tensor:
        """Counts of events, where each element is the expected count."""
    def polygamma(self, n: _int) -> Tensor:
        """The derivative of order n of digamma."""
    def polygamma_(self, n: _int) -> Self:
        """In-place form of polygamma."""
    def positive(self) -> Tensor:
        """+input, which is the input itself."""
    def pow(self, exponent: Tensor | complex) -> Tensor:
        """input to the power of exponent."""
    def pow_(self, exponent: Tensor | complex) -> Self:
        """In-place form of pow."""
    def prelu(self, weight: Tensor) -> Tensor:
        """input where it is positive, else weight * input; one weight for all, or one a channel."""
    prepared: _bool
    def prod(self, dim: _int | None = None, keepdim: _bool = False, *, dtype: Any = None) -> Tensor:
        """Product over dim, or over everything."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """input with source written, or added, where index names in the flattened tensor."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Self:
        """In-place form of put."""
    def qr(self, some: _bool = True) -> Any:
        """input as Q @ R, reduced if `some`."""
    def quantile(
        self,
        q: Tensor | complex,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The value below which a part q of the elements lies, of all or along dim."""
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Self:
        """In-place form of rad2deg."""
    def random_(self, *args: Any, generator: Any = None, **bounds: Any) -> Self:
        """Fill with integers of [from, to), of [0, to), or over all the data type can count to."""
    def ravel(self) -> Tensor:
        """All elements in one dimension, next to one another in memory."""
    @property
    def real(self) -> Tensor:
        """The real parts, as a view; real input is returned as it is."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def real_number(self) -> Any:
        """The one element, for conversions to what can't be complex."""
    def reciprocal(self) -> Tensor:
        """1 / input."""
    def reciprocal_(self) -> Self:
        """In-place form of reciprocal."""
    def refresh(self, asked: _bool = False) -> None:
        """If this is a view whose memory was changed elsewhere, find its node anew."""
    def register_hook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: _bool = False,
        context: _bool = False,
        traceable: _bool = False,
    ) -> RemovableHandle:
        """Call hook with the gradient each time it is computed; what it returns replaces it."""
    def register_post_accumulate_grad_hook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: _bool = False,
        context: _bool = False,
        traceable: _bool = False,
    ) -> RemovableHandle:
        """Call hook with the leaf once its grad has been updated."""
    def relu(self) -> Tensor:
        """input where it is positive, else 0."""
    def relu_(self) -> Self:
        """In-place form of relu."""
    def remainder(self, other: Tensor | complex) -> Tensor:
        """What division leaves over, with the sign of other."""
    def remainder_(self, other: Tensor | complex) -> Self:
        """In-place form of remainder."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """The slices along dim, those whose norm exceeds maxnorm scaled down to it."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Self:
        """In-place form of renorm."""
    @overload
    def repeat(self, *repeats: Any) -> Tensor:
        """A copy in which each dimension comes several times, one after the other."""
    @overload
    def repeat(self, *, repeats: Any) -> Tensor:
        """A copy in which each dimension comes several times, one after the other."""
    def repeat_interleave(
        self,
        repeats: Tensor | complex | None = None,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor:
        """Each element, or slice along dim, several times in a row."""
    @property
    def requires_grad(self) -> _bool:
        """Whether gradients are computed for it."""
    @requires_grad.setter
    def requires_grad(self, value: _bool) -> None: ...
    def requires_grad_(self, requires_grad: _bool = True) -> Self:
        """Start or stop computing gradients for a leaf."""
    @overload
    def reshape(self, *shape: Any) -> Tensor:
        """The same elements in another shape: a view where memory allows it, else a copy."""
    @overload
    def reshape(self, *, shape: Any) -> Tensor:
        """The same elements in another shape: a view where memory allows it, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor:
        """The same elements in the shape of other."""
    def resolve_conj(self) -> Tensor:
        """The input itself: conjugation is never postponed."""
    def resolve_neg(self) -> Tensor:
        """The input itself: negation is never postponed."""
    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf in its grad."""
    @property
    def retains_grad(self) -> _bool:
        """Whether it is no leaf and keeps its gradient."""
    def roll(self, shifts: Any, dims: Any = ()) -> Tensor:
        """A copy in which elements move along dims, or as if flattened, and come back at the start."""
    def rot90(self, k: _int = 1, dims: Any = (0, 1)) -> Tensor:
        """A copy turned k times by a right angle, from the first of dims towards the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest number with `decimals` decimals; halves go to the even one."""
    def round_(self, *, decimals: _int = 0) -> Self:
        """In-place form of round."""
    def row_indices(self) -> Tensor:
        """The rows of the values of a matrix in layout sparse_csc."""
    def rrelu(
        self,
        lower: _float = 0.125,
        upper: _float = 0.3333333333333333,
        training: _bool = False,
        generator: Any = None,
    ) -> Tensor:
        """input where it is positive, else times a slope: in training drawn for each element."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(input)."""
    def rsqrt_(self) -> Self:
        """In-place form of rsqrt."""
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | complex | None = None,
        *,
        value: Any = None,
        reduce: Any = None,
    ) -> Tensor:
        """input with src, a tensor or a number, written where index names along dim."""
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor | complex | None = None,
        *,
        value: Any = None,
        reduce: Any = None,
    ) -> Self:
        """In-place form of scatter."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """input with the elements of src added where index names along dim."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """In-place form of scatter_add."""
    def scatter_reduce(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """input with src taken in by sum, prod, mean, amax or amin where index names along dim."""
    def scatter_reduce_(
        self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Self:
        """In-place form of scatter_reduce."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """A view of one index along dim, without that dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """A copy of input with src at one index along dim."""
    def sgn(self) -> Tensor:
        """The sign of a real number, z / |z| of a complex one; 0 at 0."""
    def sgn_(self) -> Self:
        """In-place form of sgn."""
    @property
    def shape(self) -> Size:
        """The size of each dimension."""
    def shared(self) -> Tensor:
        """A tensor without history on the same memory, counting versions together."""
    def short(self, memory_format: Any = None) -> Tensor:
        """The tensor as int16."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-input)); an overflow of exp is the limit 0, as it should be."""
    def sigmoid_(self) -> Self:
        """In-place form of sigmoid."""
    def sign(self) -> Tensor:
        """-1, 0 or 1."""
    def sign_(self) -> Self:
        """In-place form of sign."""
    def signbit(self) -> Tensor:
        """Whether the sign is set; true of -0.0."""
    def sin(self) -> Tensor:
        """Sine."""
    def sin_(self) -> Self:
        """In-place form of sin."""
    def sinc(self) -> Tensor:
        """sin(πx) / (πx), and 1 at 0."""
    def sinc_(self) -> Self:
        """In-place form of sinc."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self) -> Self:
        """In-place form of sinh."""
    @overload
    def size(self) -> Size:
        """The size of dim, or of every dimension."""
    @overload
    def size(self, dim: Any = None) -> Any:
        """The size of dim, or of every dimension."""
    def slice_scatter(
        self, src: Tensor, dim: _int = 0, start: Any = None, end: Any = None, step: _int = 1
    ) -> Tensor:
        """A copy of input with src in a slice along dim."""
    def slogdet(self) -> Any:
        """Sign and logarithm of the absolute value of the determinant."""
    def softmax(self, dim: _int, dtype: Any = None) -> Tensor:
        """Exponentials along dim, scaled to sum 1."""
    def sort(
        self, dim: _int = -1, descending: _bool = False, *, stable: _bool | None = None
    ) -> _sort:
        """The elements in order along dim, and where they were; equal ones keep their order."""
    def sparse_dim(self) -> _int:
        """How many dimensions have indices."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of input where the sparse tensor mask has values, in the layout of mask."""
    def sparse_resize_(self, size: Any, sparse_dim: _int, dense_dim: _int) -> Self:
        """Let a tensor of layout sparse_coo have another size; one with values can only grow."""
    def sparse_resize_and_clear_(self, size: Any, sparse_dim: _int, dense_dim: _int) -> Self:
        """Let a tensor of layout sparse_coo have another size, and no values."""
    def split(self, split_size_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A tuple of views of one length, or of the given lengths, along dim."""
    def split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A tuple of views of the given lengths, one after the other along dim."""
    def sqrt(self) -> Tensor:
        """Square root."""
    def sqrt_(self) -> Self:
        """In-place form of sqrt."""
    def square(self) -> Tensor:
        """input * input."""
    def square_(self) -> Self:
        """In-place form of square."""
    def squeeze(self, dim: Any = None) -> Tensor:
        """A view without dimensions of size 1: all of them, or those of dim that are."""
    def squeeze_(self, dim: Any = None) -> Self:
        """In-place form of squeeze."""
    def std(
        self,
        dim: Any = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """Standard deviation over dim: the square root of var."""
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: str = "reflect",
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """The spectra of pieces of n_fft samples, hop_length apart: frequency by time."""
    def storage_offset(self) -> _int:
        """How many elements lie in memory before the first one."""
    @overload
    def stride(self) -> tuple[_int, ...]:
        """The distance in memory of neighbours along dim, or along each dimension, in elements."""
    @overload
    def stride(self, dim: Any = None) -> Any:
        """The distance in memory of neighbours along dim, or along each dimension, in elements."""
    def sub(self, other: Tensor | complex, *, alpha: Any = 1) -> Tensor:
        """input - alpha * other."""
    def sub_(self, other: Tensor | complex, *, alpha: Any = 1) -> Self:
        """In-place form of sub."""
    def subtract(self, other: Tensor | complex, *, alpha: Any = 1) -> Tensor:
        """input - alpha * other."""
    def subtract_(self, other: Tensor | complex, *, alpha: Any = 1) -> Self:
        """In-place form of sub."""
    def sum(self, dim: Any = None, keepdim: _bool = False, *, dtype: Any = None) -> Tensor:
        """Sum over dim, or over everything."""
    def sum_to_size(self, *size: Any) -> Tensor:
        """Sum over dimensions such that a tensor of `size` would broadcast to the input's shape."""
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> Any:
        """input as U @ diag(S) @ V^H; without compute_uv, U and V are zeros."""
    def swapaxes(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions exchanged."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Self:
        """In-place form of transpose."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions exchanged."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """In-place form of transpose."""
    def t(self) -> Tensor:
        """A view of a matrix with its two dimensions exchanged; vectors stay as they are."""
    def t_(self) -> Self:
        """In-place form of t."""
    def take(self, index: Tensor) -> Tensor:
        """The elements of the flattened tensor that index names."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """The elements that indices names along dim, the other dimensions broadcast."""
    def take_over(self, shown: Tensor) -> None:
        """Have the history, and what lies below, of a tensor on the same array."""
    def tan(self) -> Tensor:
        """Tangent."""
    def tan_(self) -> Self:
        """In-place form of tan."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Self:
        """In-place form of tanh."""
    def tensor_split(self, indices_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A tuple of views along dim: as many as said, of nearly one length, or cut at indices."""
    def tile(self, *dims: Any) -> Tensor:
        """repeat, with ones for the dimensions in front that dims does not name."""
    def to(self, *args: Any, **options: Any) -> Tensor:
        """The tensor as another dtype, on another device, or as another tensor; itself if it is so."""
    def to_dense(self, dtype: Any = None, *, masked_grad: _bool | None = None) -> Tensor:
        """The tensor with all its elements; the gradient is kept where the sparse one has values."""
    def to_sparse(
        self,
        sparse_dim: Any = None,
        *,
        layout: Any = None,
        blocksize: Any = None,
        dense_dim: _int | None = None,
    ) -> Tensor:
        """The tensor in a sparse layout: coordinates of the first sparse_dim dimensions, or another."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = None) -> NoReturn:
        """Refused: there are no blocks."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = None) -> NoReturn:
        """Refused: there are no blocks."""
    def to_sparse_coo(self) -> Tensor:
        """The tensor with the indices of each value."""
    def to_sparse_csc(self, dense_dim: _int | None = None) -> Tensor:
        """A matrix with its values column after column."""
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """A matrix with its values row after row."""
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
    def topk(self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True) -> _topk:
        """The k largest, or smallest, elements along dim in order, and where they are."""
    def trace(self) -> Tensor:
        """Sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions exchanged."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """In-place form of transpose."""
    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> _triangular_solve:
        """The solution of A @ X = input, and A, of which one triangle is read."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """A copy with zeros above a diagonal."""
    def tril_(self, diagonal: _int = 0) -> Self:
        """In-place form of tril."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """A copy with zeros below a diagonal."""
    def triu_(self, diagonal: _int = 0) -> Self:
        """In-place form of triu."""
    def true_divide(self, other: Tensor | complex) -> Tensor:
        """input / other."""
    def true_divide_(self, other: Tensor | complex) -> Self:
        """In-place form of true_divide."""
    def trunc(self) -> Tensor:
        """The whole number without the fraction."""
    def trunc_(self) -> Self:
        """In-place form of trunc."""
    def type(self, dtype: Any = None, non_blocking: _bool = False) -> Any:
        """The name of the tensor's type, or the tensor as another type."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the data type and device of other."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """A tuple of views, one for each index along dim."""
    def unflatten(self, dim: _int, sizes: Any) -> Tensor:
        """Dimension dim split into several of the given sizes, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """A view of all windows of `size` along a dimension, `step` apart, as a last dimension."""
    def uniform_(self, *args: Any, generator: Any = None, **bounds: Any) -> Self:
        """Fill with numbers spread evenly over [from, to)."""
    @overload
    def unique(self, sorted: _bool = True, *, dim: _int | None = None) -> Tensor:
        """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any:
        """The distinct elements, or slices along dim, in order; if asked where each went, how many."""
    @overload
    def unique_consecutive(self, *, dim: _int | None = None) -> Tensor:
        """The first of each run of equals; if asked the run of each element, and the lengths."""
    @overload
    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Any:
        """The first of each run of equals; if asked the run of each element, and the lengths."""
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """A copy of what chunk shows."""
    def unsafe_split(self, split_size_or_sections: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A copy of what split shows."""
    def unsafe_split_with_sizes(self, split_sizes: Any, dim: _int = 0) -> tuple[Tensor, ...]:
        """A copy of what split_with_sizes shows."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A view with a new dimension of size 1 at dim."""
    def unsqueeze_(self, dim: _int) -> Self:
        """In-place form of unsqueeze."""
    def up_to_date(self) -> None:
        """See refresh; free for the many tensors that have nothing rare about them."""
    def values(self) -> Tensor:
        """The values of a sparse tensor, which must be coalesced if it has coordinates."""
    def var(
        self,
        dim: Any = None,
        unbiased: _bool | None = None,
        keepdim: _bool = False,
        *,
        correction: _float | None = None,
    ) -> Tensor:
        """Variance over dim: squared distances from the mean, divided by count - correction."""
    def vdot(self, other: Tensor) -> Tensor:
        """Dot product of two vectors, the first conjugated."""
    def view(self, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
        """The same memory in another shape, or read as another data type."""
    def view_as(self, other: Tensor) -> Tensor:
        """The same memory in the shape of other."""
    def vsplit(self, indices_or_sections: Any) -> tuple[Tensor, ...]:
        """tensor_split by rows: along dimension 0."""
    def where(self, condition: Tensor, other: Tensor | complex | None = None) -> Tensor:
        """input where condition holds, other elsewhere; alone, the indices where condition holds."""
    def whole_array(self) -> Any:
        """The array whose first element storage offsets count from; None if it is its own."""
    def xlogy(self, other: Tensor | complex) -> Tensor:
        """input * log(other), and 0 where input is 0."""
    def xlogy_(self, other: Tensor | complex) -> Self:
        """In-place form of xlogy."""
    def zero(self) -> Tensor:
        """A tensor like input with zeros everywhere."""
    def zero_(self) -> Self:
        """In-place form of zero."""

def asked_outside(tensor: Tensor) -> str:
    """For an error: that a gradient is needed of what lies below, but outside the transform."""

def can_become(tensor: Tensor, value: Tensor) -> _bool:
    """Whether a tensor can show what another does: of one layout, with values or without."""

def can_operate(other: Any) -> _bool:
    """Whether an operator can work with this; if not, the other operand is asked."""

def is_numpy(value: Any) -> _bool:
    """Whether a value is an array of NumPy's, which stands for no number."""

def plain(array: Any) -> TensorCore:
    """A tensor without history; as a function it is quicker to call than the class."""

def read_freely(tensor: Tensor) -> _bool:
    """Whether reading a tensor costs nothing: NumPy has it, and nobody else is asked."""

def value_readable(tensor: Tensor) -> _bool:
    """Whether the array of a tensor in a layer holds its values."""

def wants_calls(kind: Any) -> _bool:
    """Whether a class handles calls itself: it says how, and is not `unhandled` by it."""
