"""The short form of a call, of ops whose forward is one NumPy function of one or two arguments.

`unary` and `binary` are for the lanes UNARY and BINARY. On plain NumPy tensors of one floating
type, or one and a Python number, there is nothing to watch, override, promote or link, and no list
is made (benchmarks/short_path.py says what that gives). Everything else goes on to `apply`.
Inside a transform a layer has a short form as well, `Layer.brief`.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.autograd.node import ALIGNED, SHORT_DEPTH
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import Settings, current
from adjoint.call.dispatch import BINARY, UNARY, apply
from adjoint.call.errors import complaint
from adjoint.call.layers import Layer
from adjoint.call.operators import as_operator
from adjoint.call.overriding import answered_elsewhere, has_others, offered
from adjoint.call.record import node_of
from adjoint.tensors.core import CUT_BY_MODE, CUT_BY_OP, NDARRAY, Spec, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor, can_operate
from adjoint.tensors.upper import Calls, upper

if TYPE_CHECKING:
    from adjoint.ops.op import Op


class Path(Calls):
    """The short form of a call, found by Tensor's operators through `upper.calls`."""

    def unary(self, op: "Op", a: Any, operator: bool = False) -> Any:
        """An op called with one argument."""
        if isinstance(a, Tensor):
            settings = current()
            if settings.plain and op.lane == UNARY:
                if a.extras is not None:
                    a.refresh()
                spec = a.known
                if spec is None:
                    spec = a.spec()
                if spec.short:
                    if not a.special:
                        out = op.direct(a.array)
                        own = out if type(out) is NDARRAY else numpy_backend.asarray(out)
                        return finished(op, settings, Tensor(own, AS_IS), a, None, spec, None)
                    found = briefly(op, settings, a, None)
                    if found is not None:
                        return found
                elif spec.launched and not a.special:
                    out = kernels_of(op, spec).of_one(a.array)
                    if out is not None:
                        return finished(op, settings, Tensor(out, AS_IS), a, None, spec, None)
        elif type(a) is NDARRAY and op.lane == UNARY and not op.looped:
            return op.direct(a)
        if operator and answered_elsewhere((a,), {}):
            return as_operator(op.name, a, None)
        return apply(op, [a, *op.defaults[1:]])

    def prefixed(self, function: Any, a: Any) -> Any:
        """An operator before its one argument, of a function that has no short form."""
        if answered_elsewhere((a,), {}):
            return as_operator(function.__name__, a, None)
        return function(a)

    def change(self, function: Any, a: Any, b: Any) -> Any:
        """An operator that changes its first argument by an in-place op."""
        if answered_elsewhere((a, b), {}):
            return as_operator(function.__name__, a, b)
        return function(a, b) if can_operate(b) else NotImplemented

    def binary(self, op: "Op", a: Any, b: Any, operator: int = 0) -> Any:
        """An op called with two; as an operator it leaves what it can't work with to the other."""
        settings = current()
        if settings.plain and op.lane == BINARY:
            first: Spec | None = None
            second: Spec | None = None
            x, y = a, b
            short = True
            if isinstance(a, Tensor):
                if a.extras is not None:
                    a.refresh()
                first = a.known
                if first is None:
                    first = a.spec()
                x = a.array
                short = first.short and not a.special
            elif type(a) is not float and type(a) is not int:
                short = False
            if not short:
                pass
            elif isinstance(b, Tensor):
                if b.extras is not None:
                    b.refresh()
                second = b.known
                if second is None:
                    second = b.spec()
                y = b.array
                short = second.short and not b.special
                if first is not None and first is not second:
                    short = short and first.dtype is second.dtype
            elif type(b) is not float and type(b) is not int:
                short = False
            if short and (first is not None or second is not None):
                try:
                    out = op.direct(x, y)
                except Exception as error:
                    raise complaint(op, [x, y], error)
                own = out if type(out) is NDARRAY else numpy_backend.asarray(out)
                return finished(op, settings, Tensor(own, AS_IS), a, b, first, second)
            found = briefly(op, settings, a, b)
            if found is not None:
                return found
            if is_launched(a, first) or is_launched(b, second):
                found = launched(op, settings, a, b)
                if found is not None:
                    return found
        if type(a) is NDARRAY and op.lane == BINARY and not isinstance(b, Tensor):
            if not op.looped:
                return op.direct(a, b)
        if not (can_operate(a) and can_operate(b)):
            return with_other(op, a, b, operator)
        if operator and answered_elsewhere((a, b), {}):
            return as_operator(op.name, a, b, operator == 2)
        return apply(op, [a, b, *op.defaults[2:]])

    def total(self, one: Any, other: Any) -> Any:
        """The sum of two arrays on which kernels work: of gradients that meet."""
        op = upper.operators.add
        if op.kernels is None:
            upper.attach_kernels(op, backend_of(one))
        found = op.kernels.of_two(one, other)
        return one + other if found is None else found

    def item(self, tensor: Any, index: Any) -> Any:
        """tensor[index]; asked here, in compiled code, and not where the function begins."""
        read = upper.operators.getitem
        if answered_elsewhere((tensor, index), {}):
            return offered(READ, (tensor, index), {})
        return read(tensor, index)

    def assign(self, tensor: Any, index: Any, value: Any) -> None:
        """tensor[index] = value."""
        if answered_elsewhere((tensor, index, value), {}):
            offered(WRITE, (tensor, index, value), {})
        else:
            upper.operators.setitem_(tensor, index, value)


READ: Final[Any] = Tensor.__getitem__  # as those who answer them know them
WRITE: Final[Any] = Tensor.__setitem__


def with_other(op: "Op", a: Any, b: Any, operator: int) -> Any:
    """A call of two arguments, one of them no tensor and no number: its class may answer."""
    asked = has_others((a, b), {})
    if operator:
        return as_operator(op.name, a, b, operator == 2) if asked else NotImplemented
    return offered(op, (a, b), {}) if asked else apply(op, [a, b, *op.defaults[2:]])


path: Final[Path] = Path()
upper.calls = path


def is_launched(value: Any, spec: Spec | None) -> bool:
    """Whether kernels may work on an argument of the short form."""
    return spec is not None and spec.launched and not value.special


def kernels_of(op: "Op", spec: Spec) -> Any:
    """The kernels of an op, traced at the first call on arrays that they are for."""
    if op.kernels is None:
        upper.attach_kernels(op, backend_of(spec.array_type))
    return op.kernels


def launched(op: "Op", settings: Settings, a: Any, b: Any) -> Tensor | None:
    """A call of two arguments by a kernel, of which one is a tensor; None if none takes them."""
    first: Spec | None = None
    second: Spec | None = None
    x, y = a, b
    if isinstance(a, Tensor):
        first, x = a.spec(), a.array
    elif type(a) is not float and type(a) is not int:
        return None
    if isinstance(b, Tensor):
        if b.extras is not None:
            b.refresh()
        if b.special:
            return None
        second, y = b.spec(), b.array
    elif type(b) is not float and type(b) is not int:
        return None
    spec = second if first is None else first
    assert spec is not None
    if first is not None and second is not None and first.array_type is not second.array_type:
        return None
    try:
        out = kernels_of(op, spec).of_two(x, y)
    except Exception as error:
        raise complaint(op, [x, y], error)
    if out is None:
        return None
    return finished(op, settings, Tensor(out, AS_IS), a, b, first, second)


def finished(
    op: "Op",
    settings: Settings,
    result: Tensor,
    a: Any,
    b: Any,
    first: Spec | None,
    second: Spec | None,
) -> Tensor:
    """The result of a short call, recorded if it must be; an argument without spec is a number."""
    needed = cut = mask = 0
    if first is not None:
        x: Tensor = a
        cut = x.cut
        if x.needs_grad:
            needed = 1
    if second is not None:
        y: Tensor = b
        cut = cut or y.cut
        if y.needs_grad:
            needed |= 2
    if needed and settings.recording:
        mask = needed & op.ruled
    if op.node_lane == ALIGNED:  # one record for all tensors that meet and look the same
        if second is None or first is second:
            result.known = first
        elif first is None:
            result.known = second
        elif first.shape == second.shape:
            y.known = result.known = first
        elif result.array.shape == first.shape:
            result.known = first
        elif result.array.shape == second.shape:
            result.known = second
    if mask:
        node_of(op, mask, a, b, None, result, SHORT_DEPTH)
    elif needed:
        result.cut = CUT_BY_OP if settings.recording else CUT_BY_MODE
    elif cut:
        result.cut = cut
    if settings.inference:
        result.inference = True
    return result


def briefly(op: "Op", settings: Settings, a: Any, b: Any) -> Tensor | None:
    """A call inside a transform by the short form of its layer; None if it must go all the way."""
    layer = layer_of(a)
    if layer is None:
        layer = layer_of(b)
    return None if layer is None else layer.brief(op, settings, a, b)


def layer_of(value: Any) -> Layer | None:
    """What an argument is inside a transform; None outside, or if it is no tensor."""
    if isinstance(value, Tensor):
        layer: Layer | None = value.layer
        return layer
    return None
