"""What ops of the tables answer where an argument is sparse; those not named here are refused.

Answers compute and record nothing: the call is recorded as any other, and the op's own rules, made
of ops, run on sparse gradients by the same answers.
"""

from collections.abc import Callable
from typing import Any

from adjoint.dtypes import promote_types
from adjoint.ops.arranging.conversion import (
    moved,
    sparse_coo,
    sparse_csr,
    strided,
    to,
    to_copy,
)
from adjoint.ops.arranging.shape import cat
from adjoint.ops.arranging.writing import fill
from adjoint.ops.dims import normal_dims
from adjoint.ops.elementwise.activation import relu_back
from adjoint.ops.elementwise.arithmetic import add, mul, true_divide
from adjoint.ops.op import find
from adjoint.ops.sparse.layers import (
    ANSWERS,
    Compressed,
    Coordinates,
    Sparse,
    blank,
    compressed,
    coordinates,
    layout_of,
    refused,
    sparse_of,
    sparse_tensor,
)
from adjoint.ops.sparse.parts import dense, picked
from adjoint.ops.sparse.patterns import looked_up, places_of
from adjoint.tensors.concrete import concrete
from adjoint.tensors.tensor import AS_IS, Tensor

# Zero stays zero, and each element is treated alone; the first ones are linear besides.
LINEAR = "neg conjugate_of real_part imag"
ZERO_TO_ZERO = """
    abs angle asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf
    isposinf log1p nan_to_num rad2deg relu sgn sign signbit sin sinh sqrt square tan tanh trunc
"""


def answers(*names: str) -> Callable[[Any], Any]:
    """Declare what ops of these names answer."""

    def note(function: Any) -> Any:
        for name in names:
            ANSWERS[name] = function
        return function

    return note


def layer_of(value: Any) -> Sparse:
    """What a sparse tensor holds; others are refused."""
    layer = sparse_of(value)
    if layer is None:
        raise TypeError(f"expected a sparse tensor, got one of layout {layout_of(value).name}")
    return layer


def _is_number(value: Any) -> bool:
    """Whether a value is a number, or a dense tensor of one element and no dimension."""
    return not isinstance(value, Tensor) or (value.ndim == 0 and sparse_of(value) is None)


# ---- element by element ----


def _elementwise(name: str, whole: bool) -> Any:
    """The answer of an op that treats each element alone; `whole`: those of a place are summed."""

    def answer(input: Any, *rest: Any) -> Any:
        layer = layer_of(input)
        layer = layer.joined() if whole else layer
        return sparse_tensor(layer.holding(find(name)(layer.elements, *rest)))

    return answer


for _name in LINEAR.split():
    ANSWERS[_name] = _elementwise(_name, whole=False)
for _name in ZERO_TO_ZERO.split():
    ANSWERS[_name] = _elementwise(_name, whole=True)


@answers("round")
def _round(input: Any, decimals: int = 0) -> Any:
    layer = layer_of(input).joined()
    return sparse_tensor(layer.holding(find("round")(layer.elements, decimals=decimals)))


@answers("p_norm")
def _norm(input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    layer = layer_of(input)
    if len(set(normal_dims(dim, len(layer.shape)))) < len(layer.shape):
        raise RuntimeError("norm(): of a sparse tensor only over all dimensions")
    whole = find("p_norm")(layer.joined().elements, p)
    return whole.reshape((1,) * len(layer.shape)) if keepdim else whole


@answers("pow")
def _pow(input: Any, exponent: Any) -> Any:
    if sparse_of(exponent) is not None or not _is_number(exponent):
        raise refused("pow", layout_of(input))
    if exponent == 0:
        raise RuntimeError("pow(): a sparse tensor to the power of 0 would be ones everywhere")
    layer = layer_of(input).joined()
    return sparse_tensor(layer.holding(layer.elements**exponent))


@answers("relu_back")
def _relu_back(slope: Any, output: Any) -> Any:
    layer = layer_of(output)
    return sparse_tensor(layer.holding(relu_back(_at(slope, layer), layer.elements)))


@answers("clone")
def _clone(input: Any, memory_format: Any = None) -> Any:
    copied: Any = layer_of(input).copied()
    return sparse_tensor(copied)


@answers("_to_copy")
def _to_copy(input: Any, dtype: Any = None, memory_format: Any = None) -> Any:
    layer = layer_of(input)
    return sparse_tensor(layer.holding(to_copy(layer.elements, dtype=dtype)))


@answers("transfer")
def _transfer(input: Any, where: Any, origin: Any) -> Any:
    layer = layer_of(input)
    elements = moved(layer.elements, where)
    if isinstance(layer, Compressed):
        parts = (moved(layer.starts, where), moved(layer.numbers, where), elements)
        return sparse_tensor(Compressed(*parts, layer.shape, layer.by_rows))
    places = moved(coordinates(layer).places, where)
    return sparse_tensor(Coordinates(places, elements, layer.shape, coordinates(layer).coalesced))


@answers("copy")
def _copy(input: Any, src: Any, non_blocking: bool = False) -> Any:
    source, target = sparse_of(src), sparse_of(input)
    if source is None or target is None or source.layout is not target.layout:
        raise RuntimeError(
            f"copy_() between layouts {layout_of(src).name} and {layout_of(input).name} is not "
            "implemented; convert one of them first"
        )
    copied: Any = source.copied()
    return sparse_tensor(copied)


@answers("empty_like")
def _empty(input: Any, dtype: Any = None, **options: Any) -> Any:
    """Rows or columns keep their places, which have to be filled; coordinates are none."""
    layer = layer_of(input)
    plain = not {name for name, value in options.items() if value is not None}
    if isinstance(layer, Coordinates) or not plain:
        return _zeros(input, dtype, **options)
    elements = layer.elements if dtype is None else to(layer.elements, dtype)
    return sparse_tensor(layer.holding(fill(elements, 0)))


@answers("zero_of", "zeros_of", "zeros_like")
def _zeros(input: Any, dtype: Any = None, **options: Any) -> Any:
    layer, own = layer_of(input), layout_of(input)
    form = options.get("layout") or own
    if options.get("memory_format") is not None:
        raise RuntimeError("a memory_format is for strided tensors: those of sparse ones have none")
    if form is not own and own is not sparse_coo:
        raise RuntimeError(f"zeros like those of layout {own.name} have it too, not {form.name}")
    if form is strided:
        kind = concrete(layer.elements).dtype if dtype is None else dtype.numpy_dtype
        return Tensor(layer.xp.zeros(layer.shape, kind), AS_IS)
    whole = coordinates(layer)
    elements = whole.elements[:0] if dtype is None else to(whole.elements[:0], dtype)
    places = Tensor(layer.xp.zeros((len(whole.sparse_sizes()), 0), "int64"), AS_IS)
    made = layer.like(Coordinates(places, elements, layer.shape, True))
    if form is not own:
        made = compressed(made, form is sparse_csr)
    where = options.get("device")
    return sparse_tensor(made) if where is None else to(sparse_tensor(made), where)


@answers("new_zeros", "new_empty")
def _new_zeros(input: Any, size: Any, dtype: Any = None, **options: Any) -> Any:
    kind, form = dtype or input.dtype, options.get("layout") or layout_of(input)
    if form is strided:
        return Tensor(layer_of(input).xp.zeros(tuple(size), kind.numpy_dtype), AS_IS)
    return blank(tuple(size), kind, input.device, form)


@answers("fill", "full_like", "ones_like")
def _fill(input: Any, value: Any = 1, dtype: Any = None, **options: Any) -> Any:
    layer = layer_of(input)
    if isinstance(layer, Coordinates):
        raise refused("fill", layer.layout)
    elements = layer.elements if dtype is None else to(layer.elements, dtype)
    return sparse_tensor(layer.holding(fill(elements, value)))


@answers("zero")
def _zero(input: Any) -> Any:
    return _zeros(input)


# ---- sums, products and quotients of two ----


def _same_shape(name: str, first: Any, second: Any) -> None:
    if first.shape != second.shape:
        raise RuntimeError(
            f"{name}(): expected sizes of 'self' and 'other' to match, but {list(first.shape)} != "
            f"{list(second.shape)}; sparse tensors are not broadcast"
        )


def _added(name: str, input: Any, other: Any, alpha: Any) -> Any:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise RuntimeError(
            f"{name}(): a number can't be added to all elements of a sparse tensor; use to_dense()"
        )
    _same_shape(name, input, other)
    first, second = sparse_of(input), sparse_of(other)
    if first is None or second is None:  # the sum has all elements
        wholes = [value if sparse_of(value) is None else dense(value) for value in (input, other)]
        return add(*wholes, alpha=alpha)
    if first.layout is not second.layout:
        raise RuntimeError(
            f"{name}(): layouts {first.layout.name} and {second.layout.name} are not mixed; "
            "convert one of them"
        )
    if isinstance(first, Coordinates) and isinstance(second, Coordinates):
        return sparse_tensor(_joined(name, first, second, alpha))
    both = _joined(name, coordinates(first), coordinates(second), alpha)
    return sparse_tensor(first.like(both.joined()))


def _joined(name: str, first: Coordinates, second: Coordinates, alpha: Any) -> Coordinates:
    """The elements of both; summed where they are in the same places, in the same order."""
    if len(first.sparse_sizes()) != len(second.sparse_sizes()):
        raise RuntimeError(
            f"{name}(): both must have as many sparse dimensions, got "
            f"{len(first.sparse_sizes())} and {len(second.sparse_sizes())}"
        )
    same = first.places.shape == second.places.shape
    if same and (concrete(first.places) == concrete(second.places)).all():
        return first.holding(add(first.elements, second.elements, alpha=alpha))
    scaled = second.elements if alpha == 1 else second.elements * alpha
    kind = promote_types(first.elements.dtype, scaled.dtype)
    elements = cat([to(first.elements, kind), to(scaled, kind)])
    places = first.xp.concatenate([first.indices(), second.indices()], axis=1)
    both = Coordinates(Tensor(places, AS_IS), elements, first.shape)
    return both.joined() if first.coalesced and second.coalesced else both


@answers("add")
def _add(input: Any, other: Any, alpha: Any = 1) -> Any:
    return _added("add", input, other, alpha)


@answers("sub")
def _sub(input: Any, other: Any, alpha: Any = 1) -> Any:
    return _added("sub", input, other, -alpha)


def _at(value: Any, layer: Sparse) -> Any:
    """What a tensor has where a sparse one has its elements."""
    return picked(value, Tensor(layer.indices(), AS_IS))


@answers("mul")
def _mul(input: Any, other: Any) -> Any:
    first, second = sparse_of(input), sparse_of(other)
    if first is None:
        return _mul_by(second, input, swapped=True)
    return _mul_by(first, other, swapped=False)


def _mul_by(layer: Any, other: Any, swapped: bool) -> Any:
    """A sparse tensor times a number, a dense tensor, or another sparse one."""
    if _is_number(other):
        factor = other
    elif sparse_of(other) is not None:
        return _both(layer, other)
    else:
        factor = _at(_spread(other, layer.shape), layer)
    product = mul(factor, layer.elements) if swapped else mul(layer.elements, factor)
    return sparse_tensor(layer.holding(product))


def _spread(value: Any, shape: tuple[int, ...]) -> Any:
    if value.ndim > len(shape):
        raise RuntimeError(
            f"mul(): a dense factor of shape {list(value.shape)} has more dimensions than the "
            f"sparse one, of shape {list(shape)}"
        )
    return value.expand(shape)


def _both(layer: Sparse, other: Any) -> Any:
    """The product of two sparse tensors: the elements of the first in places of the second."""
    second = layer_of(other)
    if layer.layout is not second.layout:
        raise RuntimeError(
            f"mul(): layouts {layer.layout.name} and {second.layout.name} are not mixed; convert "
            "one of them"
        )
    if layer.shape != second.shape:
        raise RuntimeError(
            f"mul(): expected sizes of 'self' and 'other' to match, but {list(layer.shape)} != "
            f"{list(second.shape)}; sparse tensors are not broadcast"
        )
    first, mask = coordinates(layer), coordinates(second).joined()
    xp, sizes = first.xp, first.sparse_sizes()
    if sizes != mask.sparse_sizes():
        raise RuntimeError("mul(): both sparse tensors must have as many sparse dimensions")
    known = places_of(xp, mask.indices(), sizes)
    at, there = looked_up(xp, known, places_of(xp, first.indices(), sizes))
    kept = Tensor(xp.nonzero(there)[0], AS_IS)
    product = first.elements[kept] * mask.elements[Tensor(at, AS_IS)[kept]]
    places = Tensor(first.indices()[:, concrete(kept)], AS_IS)
    made = Coordinates(places, product, first.shape, first.coalesced)
    return sparse_tensor(layer.like(made))


def _quotient(name: str) -> Any:
    """The answer of a rounded quotient, of which a number is the divisor."""

    def answer(input: Any, other: Any, *rest: Any) -> Any:
        if sparse_of(input) is None or not _is_number(other):
            raise RuntimeError(f"{name}(): a sparse tensor is divided by a number only")
        return _elementwise(name, whole=True)(input, other, *rest)

    return answer


for _name in ("floor_divide", "rounded_divide"):
    ANSWERS[_name] = _quotient(_name)


@answers("true_divide")
def _true_divide(input: Any, other: Any) -> Any:
    layer = sparse_of(input)
    if layer is None or not _is_number(other):
        raise RuntimeError(
            "div(): a sparse tensor is divided by a number, or by a dense tensor without "
            f"dimensions; got a divisor of shape {list(getattr(other, 'shape', ()))}"
        )
    return sparse_tensor(layer.holding(true_divide(layer.elements, other)))
