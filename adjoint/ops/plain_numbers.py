"""Arguments that are numbers and have no derivative: which they are, and what may stand for one."""

from math import prod
from numbers import Number
from types import NoneType, UnionType
from typing import Any, get_args

from adjoint.dtypes import FLOAT, INTEGER, category_of
from adjoint.tensors.tensor import Tensor, is_numpy, read_freely

FACTORS = ("alpha", "beta", "value")  # numbers wherever they have no derivative
_NUMBERS = {int, float, complex}
# A complex number without imaginary part counts as real for these, as in PyTorch.
_SCALARS = (*FACTORS, "correction", "lambd", "max", "min", "negative_slope", "threshold")
# PyTorch refuses every complex number for these as it does one that is not real for those.
_ORDERS = ("dx", "maxnorm", "ord")
# What PyTorch takes for a size, where tensors and arrays of one whole number stand for it.
_SIZES = (
    *("C", "HxW", "N", "diagonal", "dim", "embed_dim_to_check", "groups", "ignore_index", "index"),
    *("k", "length", "m", "minlength", "n", "num_classes", "num_groups", "num_heads"),
    *("num_samples", "output_size", "padding_idx", "size", "step", "storage_offset"),
)
_OF_ORDER = ("dist", "norm", "normalize", "renorm")  # whose p is one


def numbers_of(function: Any) -> dict[str, str]:
    """The parameters that are numbers and never tensors: NumPy's letter of their kind.

    It is a capital where None or a text may stand for one.
    """
    found: dict[str, str] = {}
    for name, kind in getattr(function, "__annotations__", {}).items():
        kinds = set(get_args(kind) if isinstance(kind, UnionType) else (kind,))
        if name != "return" and kinds & _NUMBERS and kinds <= _NUMBERS | {str, NoneType}:
            letter = "c" if complex in kinds else "f" if float in kinds else "i"
            found[name] = letter if kinds <= _NUMBERS else letter.upper()
    return found


def whole_numbers(values: list[Any], dims: list[int]) -> list[Any] | None:
    """The arguments, tensors of one whole number in lists or for dimensions as Python's numbers.

    So are tensors of one truth. PyTorch takes them, and truths but in the first place. None if
    there are none: it is asked when a call has failed, since others need no look at their lists.
    """
    found: list[Any] = list(values)
    for place, value in enumerate(values):
        if place and isinstance(value, (list, tuple)):
            each = [_whole(one, i > 0) for i, one in enumerate(value)]
            if any(a is not b for a, b in zip(each, value)):
                found[place] = tuple(each)
        elif place in dims:
            found[place] = _whole(value, False)
    return None if all(a is b for a, b in zip(found, values)) else found


def _whole(value: Any, truth: bool) -> Any:
    if isinstance(value, Tensor):
        fits = prod(value.shape) == 1 and category_of(value.dtype) <= INTEGER
        return int(value.item()) if fits and read_freely(value) else value
    return int(value) if truth and isinstance(value, bool) else value


def needs_look(value: Any, letter: str) -> bool:
    """Whether a value is not at once seen to be a plain number, or none at all."""
    kind = type(value)
    if kind is int or (kind is float and letter not in "iI"):
        return False
    return value is not None or letter in "cfi"


def plain_number(name: str, parameter: str, value: Any, letter: str) -> Any:
    """Python's number for NumPy's and for a tensor that is one; refuses what is none.

    So it does a tensor whose gradient would be lost.
    """
    whole, given = letter in "iI", value
    if isinstance(value, Tensor):
        fits = value.ndim == 0 or (parameter in _SIZES and prod(value.shape) == 1)
        if value.requires_grad or not fits or (whole and category_of(value.dtype) >= FLOAT):
            raise TypeError(
                f"{name}(): argument '{parameter}' must be a {'whole ' * whole}number, not a "
                "Tensor; call .item() on it"
            )
        if not read_freely(value):
            return value
        value = value.item()
    elif is_numpy(value):
        if parameter in _SIZES and value.ndim == 0:
            value = value.item()
    elif isinstance(value, Number):
        value = getattr(value, "item", lambda: given)()  # NumPy's
    elif type(value).__name__ in ("bool", "bool_"):
        value = bool(value) if whole else float(value)  # NumPy's truth counts as a part
    absent = value is None or isinstance(value, str)
    if absent and letter not in "cfi":
        return value
    sort = absent or isinstance(value, (list, tuple)) or is_numpy(value)
    if sort or (whole and isinstance(value, (bool, float, complex))):
        raise TypeError(
            f"{name}(): argument '{parameter}' must be a {'whole ' * whole}number, not {value!r}"
        )
    if letter in "fF" and isinstance(value, bool):
        return int(value)
    return _real(name, parameter, value, given) if letter in "fF" else value


def _real(name: str, parameter: str, value: Any, given: Any) -> Any:
    """A number for a real one: a complex one without an imaginary part, where PyTorch takes it."""
    if not isinstance(value, complex):
        return value
    order = parameter in _ORDERS or (parameter == "p" and name in _OF_ORDER)
    scalar = parameter in _SCALARS
    if not order and not value.imag and (scalar or type(given) is not complex):
        return value.real
    raise (RuntimeError if order or scalar or isinstance(given, Tensor) else TypeError)(
        f"{name}(): argument '{parameter}' must be a real number, not {value!r}"
    )
