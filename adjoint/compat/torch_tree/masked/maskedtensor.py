"""torch.masked.MaskedTensor: a tensor some elements of which count, as its mask says.

It has no memory of its own: functions work on the data that it holds, recorded between `_Data`,
which takes them out, and `_Enclosed`, which gives the results a mask. So each function has its
usual derivative, on plain tensors, and a gradient is masked again where it leaves.
"""

import warnings
from typing import Any, Final

from adjoint import masked
from adjoint.autograd.function import Function
from adjoint.call.arguments import tensors_in
from adjoint.compat.overridable import behind
from adjoint.compat.torch_tree.ops import operation_of
from adjoint.compat.torch_tree.utils._python_dispatch import make_wrapper_subclass
from adjoint.dtypes import bool_, float16, float32, float64, int8, int16, int32, int64
from adjoint.ops import PUBLIC
from adjoint.pytree import tree_map
from adjoint.tensors.subclass import plain
from adjoint.tensors.tensor import Tensor

_HELD: Final = (float16, float32, float64, bool_, int8, int16, int32, int64)
# What arranges elements, and so data and mask alike.
_ARRANGING = (
    "__getitem__ alias as_strided broadcast_to cat chunk clone columns_of concat concatenate "
    "contiguous detach diagonal expand expand_as flatten flip gather getitem hsplit index "
    "index_select moveaxis movedim narrow permute pick ravel repeat reshape roll select slice "
    "split squeeze stack swapaxes swapdims t take_along_dim tensor_split tile transpose unbind "
    "unflatten unfold unsqueeze view view_as vsplit"
)
# What changes the data alone.
_CONVERTING = "_to_copy bfloat16 bool byte char double dropout float half int long short to type_as"
_REDUCING = "sum mean prod amax amin argmax argmin var std"
_NORMALIZING: Final = frozenset({"softmax", "log_softmax", "_softmax", "_log_softmax"})
# Elementwise, and no operation but made of such.
_MADE_OF_OTHERS: Final = frozenset({"div", "divide", "relu"})
# Not about the elements.
_AS_THEY_ARE: Final = frozenset({"backward", "grad", "is_same_size"})


class _Data(Function):
    """The data of a masked tensor; its gradient is masked in the same way."""

    @staticmethod
    def forward(ctx: Any, held: Any) -> Any:
        """See Function."""
        ctx.mask = held.get_mask()
        return _held(held).detach()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """See Function."""
        return grad if is_masked_tensor(grad) else MaskedTensor(grad, ctx.mask)


class _Enclosed(Function):
    """Data with a mask; in the gradient, what does not count is 0."""

    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        """See Function."""
        ctx.mask = mask
        return MaskedTensor(data.detach(), mask)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        """See Function."""
        known = _held(grad) if is_masked_tensor(grad) else grad
        return known.masked_fill(~ctx.mask, 0), None


class _FromData(_Enclosed):
    """The same for data of the program, whose gradient is masked as well."""

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        """See Function."""
        return grad if is_masked_tensor(grad) else MaskedTensor(grad, ctx.mask), None


class MaskedTensor(Tensor):
    """Data and a mask, True where an element counts; results are masked too."""

    _masked_data: Any
    _masked_mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        """A leaf on a copy of data."""
        _check(data, mask)
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad: "
                "the new one is a leaf. as_masked_tensor() keeps the history.",
                stacklevel=2,
            )
        looks = {"dtype": data.dtype, "device": data.device, "requires_grad": requires_grad}
        made = make_wrapper_subclass(cls, data.shape, **looks)
        _hold(made, data.detach().clone(), mask.clone())
        return made

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        """Nothing is left to do: `__new__` has made it."""

    def get_data(self) -> Any:
        """The elements, also those that don't count."""
        return _Data.apply(self)

    def get_mask(self) -> Any:
        """True where an element counts."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Any:
        """A plain tensor, which has a value where an element does not count."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """No: the data is dense."""
        return False

    def is_contiguous(self, *args: Any, **kwargs: Any) -> bool:
        """Whether the data is."""
        return bool(self._masked_data.is_contiguous(*args, **kwargs))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"MaskedTensor({_text(self._masked_data, self._masked_mask)})"

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not all(issubclass(cls, kind) or kind.__torch_function__ is None for kind in types):
            return NotImplemented
        func, args = behind(func, args)
        with plain():
            return _answer(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What no function is asked for: single numbers, and what the engine does by itself."""
        if _name(func) == "_local_scalar_dense":
            return _held(args[0]).item()
        with plain():
            return _answer(func, args, kwargs or {})


def _hold(masked: Any, data: Any, mask: Any) -> None:
    masked._masked_data, masked._masked_mask = data, mask  # noqa: SLF001


def _held(masked: Any) -> Any:
    """The data without history; programs have get_data() for it."""
    return masked._masked_data  # noqa: SLF001


def _check(data: Any, mask: Any) -> None:
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, Tensor) or is_masked_tensor(value):
            raise TypeError(f"{name} must be a Tensor, got a {type(value).__name__}")
        if value.layout.name != "strided":  # type: ignore[attr-defined]  # given by the tables
            raise TypeError(
                f"{name} layout of torch.{value.layout.name} is not supported: convert it with "  # type: ignore[attr-defined]
                "to_dense()"
            )
    if data.dtype not in _HELD:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor")
    if mask.dtype is not bool_:
        raise TypeError(f"mask must have dtype bool, got {mask.dtype}")
    if data.dim() != mask.dim():
        raise ValueError(
            f"data.dim() must equal mask.dim(), got {data.dim()} and {mask.dim()} dimensions"
        )
    if data.shape != mask.shape:
        raise ValueError(
            f"data.size() must equal mask.size(), got {list(data.shape)} and {list(mask.shape)}"
        )


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> Any:
    """A masked tensor that is a leaf."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> Any:
    """A masked tensor with the history of data."""
    _check(data, mask)
    return _FromData.apply(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether it is a masked tensor."""
    return isinstance(obj, MaskedTensor)


def _tensors_match(
    a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08
) -> bool:
    """Whether two tensors have the same type, shape and elements, exactly or nearly."""
    if a.dtype is not b.dtype or a.shape != b.shape:
        return False
    return bool(a.equal(b) if exact else a.allclose(b, rtol, atol, equal_nan=True))


def _masks_match(a: Any, b: Any) -> bool:
    """Whether the same elements of two masked tensors count; a plain one matches any."""
    if not is_masked_tensor(a) or not is_masked_tensor(b):
        return True
    return _tensors_match(a.get_mask(), b.get_mask())


# ---- what functions answer ----


def _name(func: Any) -> str:
    name: str = getattr(func, "__name__", str(func))
    return name if name.startswith("__") else name.partition(".")[0]


def _taken(values: Any) -> Any:
    """Arguments with data for masked tensors, recorded."""
    return tree_map(lambda each: each.get_data() if is_masked_tensor(each) else each, values)


def _masks(values: Any) -> Any:
    """Arguments with masks for masked tensors."""
    return tree_map(lambda each: each.get_mask() if is_masked_tensor(each) else each, values)


def _answer(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = _name(func)
    if name in _AS_THEY_ARE:
        return func(*args, **kwargs)
    if name in _REDUCING.split():
        return _reduced(getattr(masked, name), *args, **kwargs)
    if name == "all":
        return _reduced(_all, *args, **kwargs)
    if name in _NORMALIZING:
        return _normalized(getattr(masked, name.removeprefix("_")), *args, **kwargs)
    if name == "where" and len(args) == len(("condition", "input", "other")):
        return _chosen(*args)
    if name in _ARRANGING.split():
        return _arranged(func, args, kwargs)
    if name in _CONVERTING.split():
        mask = args[0].get_mask()
        return _Enclosed.apply(func(args[0].get_data(), *args[1:], **kwargs), mask)
    if name in ("ones_like", "zeros_like"):
        return MaskedTensor(func(args[0].get_data(), *args[1:], **kwargs), args[0].get_mask())
    inplace = name.endswith("_") and not name.startswith("_")
    public = PUBLIC["adjoint"].get(name.removesuffix("_")) if inplace else func
    if name.removesuffix("_") in _MADE_OF_OTHERS or _is_elementwise(public):
        return _by_element(public, args, kwargs, inplace)
    raise TypeError(
        f"no implementation of {func} for MaskedTensor: work on get_data() with get_mask(), or on "
        "to_tensor(value)"
    )


def _is_elementwise(func: Any) -> bool:
    return getattr(operation_of(func), "family", None) == "elementwise"


def _by_element(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inplace: bool) -> Any:
    """Operands count where the masked ones do, and these must agree."""
    operands = [each for each in tensors_in([*args, *kwargs.values()]) if is_masked_tensor(each)]
    if not all(_masks_match(operands[0], each) for each in operands):
        raise ValueError(
            "Input masks must match: give both operands one mask, or fill one of them with "
            "to_tensor(value)"
        )
    if inplace:
        return _changed(func, args, kwargs)
    data = func(*_taken(args), **_taken(kwargs))
    mask: Any = _masks(operands[0])
    return _Enclosed.apply(data, mask.expand(data.shape))


def _changed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    target = args[0]
    if not is_masked_tensor(target):
        raise TypeError("a plain tensor can't be changed by a MaskedTensor; use to_tensor(value)")
    if target.requires_grad:
        raise RuntimeError("a MaskedTensor that requires grad can't be changed in place")
    data = func(*_taken(args), **_taken(kwargs)).to(target.dtype)
    if data.shape != target.shape:
        raise RuntimeError(
            f"the result of shape {list(data.shape)} does not fit into {list(target.shape)}"
        )
    _hold(target, data, target.get_mask())
    return target


def _arranged(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Both are arranged in one way."""
    if any(not is_masked_tensor(each) for each in _arranging_sources(args)):
        raise TypeError(f"{_name(func)}(): all tensors must be masked ones; use as_masked_tensor")
    data = func(*_taken(args), **_taken(kwargs))
    mask = func(*_masks(args), **_masks(kwargs))
    if isinstance(data, Tensor):
        return _Enclosed.apply(data, mask)
    return tuple([_Enclosed.apply(*each) for each in zip(data, mask, strict=True)])


def _arranging_sources(args: tuple[Any, ...]) -> list[Any]:
    """The tensors whose elements are arranged, and not those that say where."""
    first = args[0]
    return list(first) if isinstance(first, (list, tuple)) else [first]


def _reduced(
    function: Any, input: Any, dim: Any = None, keepdim: bool = False, **options: Any
) -> Any:
    """A reduction of what counts; a result counts if one of its elements does."""
    mask = input.get_mask()
    known = {} if dim is None else {"dim": dim, "keepdim": keepdim}
    data = function(input.get_data(), **known, **options, mask=mask)
    some = mask.any() if dim is None else _any(mask, dim, keepdim)
    return _Enclosed.apply(data, some)


def _any(mask: Any, dim: Any, keepdim: bool) -> Any:
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return mask.any(dims, keepdim=keepdim)


def _all(input: Any, *, mask: Any, **options: Any) -> Any:
    return input.masked_fill(~mask, value=True).all(**options)


def _normalized(function: Any, input: Any, dim: int, *rest: Any, dtype: Any = None) -> Any:
    mask = input.get_mask()
    return _Enclosed.apply(function(input.get_data(), dim, dtype=dtype, mask=mask), mask)


def _chosen(condition: Any, input: Any, other: Any) -> Any:
    """What is no masked tensor counts everywhere."""
    where = PUBLIC["adjoint"]["where"]
    data = where(condition, *_taken((input, other)))
    masks = [_masks(each) if is_masked_tensor(each) else True for each in (input, other)]
    return _Enclosed.apply(data, where(condition, *masks).expand(data.shape))


# ---- printing ----


def _text(data: Any, mask: Any) -> str:
    if data.ndim == 0:
        shown = _number(data.item()) if mask.item() else "--"
        return f"{shown}, {mask.item()}"
    return f"\n{_rows(data.tolist(), mask.tolist(), 2)}\n"


def _number(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _rows(data: Any, mask: Any, indent: int) -> str:
    space = " " * indent
    if not data or not isinstance(data[0], list):
        shown = [_number(each) if known else f"{'--':>8}" for each, known in zip(data, mask)]
        return f"{space}[{', '.join(shown)}]"
    rows = ",\n".join(_rows(each, known, indent + 2) for each, known in zip(data, mask))
    return f"{space}[\n{rows}\n{space}]"
