"""Calls on tensors with tangents: the layer of forward mode.

A dual tensor holds a primal and its tangent, a tensor like the primal. What an op makes of the
primals is computed once; its tangent follows from the op's family or rules (`forward_rules`).
"""

from typing import Any, Final

from adjoint.autograd.forward_rules import (
    brief_tangent,
    brief_tangent_of_pair,
    is_brief,
    pushed,
)
from adjoint.autograd.node import ALIGNED, edge_node
from adjoint.call.arguments import tensors_in
from adjoint.call.context import Settings, current
from adjoint.call.errors import complaint
from adjoint.call.layers import (
    Layer,
    Level,
    lies_in,
    newest_level,
    note_line,
    tracking,
    with_layer,
)
from adjoint.ops.op import Op
from adjoint.tensors.core import NDARRAY, NUMPY_BACKEND, Spec, TensorCore, backend_of, is_floating
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.views import replay


class DualLevel(Level):
    """One forward derivative under way."""

    def __init__(self, name: str = "jvp", fades: bool = False) -> None:
        super().__init__(name)
        self.fades = fades
        self.outer = newest_level()
        self.paused = False  # while it is, calls are made on the primals alone

    def lift(self, tensor: Tensor) -> Tensor:
        """See Level; if it fades, what has no tangent need not take part."""
        if not self.fades:
            return dual(self, tensor, None)
        return tensor.shared() if self.outer is None else self.outer.lift(tensor)

    def is_idle(self) -> bool:
        """Whether tangents are left alone: PyTorch's are in inference mode."""
        return self.paused or not tracking.get() or (self.fades and current().inference)


class Dual(Layer):
    """A tensor with a tangent; None if it has none but takes part.

    What the short form of a call makes holds arrays, until somebody asks for tensors.
    """

    def __init__(self, level: DualLevel, primal: Tensor | None, tangent: Tensor | None) -> None:
        super().__init__(level)
        self.dual_level = level
        self.held = primal
        self.held_tangent = tangent
        self.array: Any = None  # of the primal, while it is not held
        self.moved: Any = None  # of the tangent, while it is not held
        self.spec: Spec | None = None  # what both look like, while neither is held

    @property
    def primal(self) -> Tensor:
        """The tensor below."""
        held = self.held
        if held is None:
            held = self.held = Tensor(self.array, AS_IS)
            held.known = self.spec
        return held

    @property
    def tangent(self) -> Tensor | None:
        """Its tangent, a tensor like it."""
        if self.held_tangent is None and self.moved is not None:
            self.held_tangent = Tensor(self.moved, AS_IS)
            self.held_tangent.known = self.spec
        return self.held_tangent

    @tangent.setter
    def tangent(self, tangent: Tensor | None) -> None:
        self.held_tangent = tangent
        self.moved = None

    def call(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        level = self.dual_level
        primals: list[Any] = []
        tangents: list[Any] = []
        moves = False
        for value in values:
            tangent = None
            if isinstance(value, Tensor):
                layer = value.layer
                if layer is not None and layer.level is level:
                    value, tangent = layer.primal, layer.tangent
            elif isinstance(value, (list, tuple)):
                value, tangent = primal_at(level, value), tangent_at(level, value)
            moves = moves or tangent is not None
            primals.append(value)
            tangents.append(tangent)
        if level.is_idle():
            return op.run(primals)
        if moves:
            result, pushed_on = pushed(op, primals, tangents)
        else:
            result, pushed_on = op.run(primals), None
        if not isinstance(result, (tuple, list)):
            return self.wrapped(result, pushed_on)
        if pushed_on is None:
            pushed_on = [None] * len(result)
        results = [self.wrapped(r, t) for r, t in zip(result, pushed_on)]
        return tuple(results) if op.outputs is None else op.outputs(*results)

    def brief(self, op: Op, settings: Settings, a: Any, b: Any) -> Tensor | None:
        """See Layer: for ordinary NumPy floats, on one level, with nothing to record."""
        level = self.dual_level
        if not is_brief(op) or level.ended or settings.inference or level.is_idle():
            return None
        if op.required == 1:
            spec = self.plain_spec() if not (a.needs_grad or a.cut) else None
            if spec is None:
                return None
            array = self.array if self.held is None else self.held.array
            moved = self.moved if self.held_tangent is None else self.held_tangent.array
            pair = op.pairs[1]
            if pair is not None and moved is not None:
                out, moved = pair(array, moved)
                if type(out) is not NDARRAY:
                    out, moved = NUMPY_BACKEND.asarray(out), NUMPY_BACKEND.asarray(moved)
            else:
                out = op.direct(array)
                if type(out) is not NDARRAY:
                    out = NUMPY_BACKEND.asarray(out)
                if moved is not None:
                    moved = brief_tangent(op, array, moved, out)
            return self.briefly(out, moved, spec if op.node_lane == ALIGNED else Spec(out))
        return self.brief_pair(op, a, b)

    def brief_pair(self, op: Op, a: Any, b: Any) -> Tensor | None:
        """The same of two arguments, of which one may be a number or have no tangent."""
        x, s, first = seen_at(self.dual_level, a)
        y, t, second = seen_at(self.dual_level, b)
        if first is None or second is None:
            return None
        if first is not second and first is not NUMBER and second is not NUMBER:
            if first.dtype is not second.dtype:
                return None
        # Two of one shape, or one and a number: then all that follows has that shape.
        aligned = first is second or first is NUMBER or second is NUMBER
        aligned = aligned or first.shape == second.shape
        pair = op.pairs[(s is not None) + 2 * (t is not None)]
        moved: Any = None
        try:
            if pair is None:
                out = op.direct(x, y)
            elif s is None or t is None:
                out, moved = pair(x, y, t if s is None else s)
            else:
                out, moved = pair(x, y, s, t)
        except Exception as error:
            raise complaint(op, [x, y], error)
        if type(out) is not NDARRAY:
            out = NUMPY_BACKEND.asarray(out)
        if pair is not None:
            if type(moved) is not NDARRAY:
                moved = NUMPY_BACKEND.asarray(moved)
        elif s is not None or t is not None:
            moved = brief_tangent_of_pair(op, x, y, s, t, out, aligned)
        if not aligned or op.node_lane != ALIGNED:
            return self.briefly(out, moved, Spec(out))
        return self.briefly(out, moved, second if first is NUMBER else first)

    def briefly(self, out: Any, moved: Any, spec: Spec) -> Tensor:
        """A result and its tangent at this level, from arrays that look as spec says."""
        found = Tensor(out, AS_IS)
        found.known = spec
        level = self.dual_level
        if moved is not None or not level.fades:
            layer = Dual(level, None, None)
            layer.array = out
            layer.moved = moved
            layer.spec = spec
            found.layer = layer
            found.special = True
            if not level.fades:
                note_line(layer)
        return found

    def plain_spec(self) -> Spec | None:
        """What it looks like if it holds ordinary NumPy tensors of floats; None for others."""
        if self.held is None and self.held_tangent is None:
            return self.spec
        spec = plain_spec(self.primal)
        tangent = self.tangent
        if spec is not None and tangent is not None:
            own = plain_spec(tangent)
            if own is None or own.dtype is not spec.dtype:
                return None
        return spec

    def wrapped(self, result: Tensor, tangent: Tensor | None) -> Tensor:
        """A result at this level; if it fades, one without a tangent need not take part."""
        if tangent is not None and not is_floating(result.array):
            tangent = None
        if tangent is None and self.dual_level.fades:
            return result
        return dual(self.dual_level, result, tangent)

    def adopt(self, name: str, values: list[Any]) -> None:
        """See Layer; a base takes part with its view, and has a tangent as soon as that has."""
        target: Tensor = values[0]
        base: Any = None if target.extras is None else target.extras.base
        if base is not None:
            if not lies_in(base, self.dual_level):
                take_part(self.dual_level, base)
            if base.layer.tangent is None and is_floating(base.array):
                others = tensors_in([tangent_at(self.dual_level, v) for v in values[1:]])
                base.layer.tangent = zeros_beside(base.layer.primal, others)
                target.layer = None
        if not lies_in(target, self.dual_level):
            take_part(self.dual_level, target)

    def bare(self, values: list[Any]) -> list[Any] | None:
        """See Layer."""
        if not self.dual_level.is_idle():
            return None
        return [primal_at(self.dual_level, value) for value in values]

    def store(self, target: Tensor, result: Tensor) -> None:
        """See Layer."""
        layer: Dual = target.layer
        own: Any = layer.primal
        own.copy_(primal_at(self.dual_level, result))
        if not backend_of(own.array).mutable:
            target.replace_array(own.array)
        tangent = tangent_at(self.dual_level, result)
        held: Any = layer.tangent
        if held is not None:
            held.copy_(zeros_like(held) if tangent is None else tangent)
        elif tangent is not None:
            layer.tangent = zeros_beside(layer.primal, [tangent]).copy_(tangent)

    def detached(self) -> Layer | None:
        """See Layer: a tangent is history, too."""
        below = self.primal.detach()
        if not self.dual_level.fades:
            return Dual(self.dual_level, below, None)
        layer: Layer | None = below.layer
        return layer

    def copied(self) -> Layer:
        """See Layer."""
        primal: Any = self.primal
        tangent: Any = self.tangent
        return Dual(self.dual_level, primal.clone(), None if tangent is None else tangent.clone())

    def own(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        return op.pushed(self.dual_level, values)

    def below(self) -> list[Tensor]:
        """See Layer."""
        return [self.primal] if self.tangent is None else [self.primal, self.tangent]

    def imitated(self, make: Any) -> Tensor:
        """See Layer."""
        return make(self.primal, ())  # type: ignore[no-any-return]  # a factory makes Tensors

    def settled(self) -> Tensor:
        """See Layer."""
        return self.primal

    def notes(self) -> list[str]:
        """See Layer."""
        return [] if self.tangent is None else [f"tangent={self.tangent}"]

    def value_refused(self) -> str | None:
        """See Layer: the values are those of the primal."""
        layer: Layer | None = self.primal.layer
        return None if layer is None else layer.value_refused()


def dual(level: DualLevel, primal: Tensor, tangent: Tensor | None) -> Tensor:
    """A tensor of a level of forward mode."""
    return with_layer(primal.array, Dual(level, primal, tangent))


NUMBER: Final[Spec] = Spec(NUMPY_BACKEND.asarray(0))  # stands for that of a Python number


def seen_at(level: DualLevel, value: Any) -> tuple[Any, Any, Spec | None]:
    """The arrays of an argument and its tangent, and what it looks like; None if not ordinary."""
    if not isinstance(value, Tensor):
        return value, None, NUMBER if type(value) is float or type(value) is int else None
    if value.extras is not None:
        value.refresh()
    if value.layer is None:
        return value.array, None, plain_spec(value)
    if value.layer.level is not level or value.needs_grad or value.cut:
        return None, None, None
    layer: Dual = value.layer
    spec = layer.plain_spec()
    array = layer.array if layer.held is None else layer.held.array
    return array, layer.moved if layer.held_tangent is None else layer.held_tangent.array, spec


def plain_spec(tensor: Tensor) -> Spec | None:
    """What an ordinary NumPy tensor of floats without a history looks like; None for others."""
    if tensor.special or tensor.needs_grad or tensor.cut:
        return None
    if tensor.extras is not None:
        tensor.refresh()
    spec = tensor.known
    if spec is None:
        spec = tensor.spec()
    return spec if spec.short else None


def primal_at(level: Level, value: Any) -> Any:
    """An argument without its tangent at a level; lists element by element."""
    if isinstance(value, Tensor):
        layer = value.layer
        return layer.primal if layer is not None and layer.level is level else value
    if isinstance(value, (list, tuple)) and tensors_in([value]):
        return [primal_at(level, element) for element in value]
    return value


def tangent_at(level: Level, value: Any) -> Any:
    """The tangent of an argument at a level, None if it has none; a list of them for a list."""
    if isinstance(value, Tensor):
        layer = value.layer
        return layer.tangent if layer is not None and layer.level is level else None
    if isinstance(value, (list, tuple)):
        found = [tangent_at(level, element) for element in value]
        return found if any(tangent is not None for tangent in found) else None
    return None


def zeros_like(tensor: Any) -> Any:
    """Zeros of the form of a tensor, at its levels; memory of their own."""
    return tensor.detach().clone().zero_()


def zeros_beside(primal: Any, tangents: list[Any]) -> Any:
    """Zeros into which a tangent of a primal can be put; for each element of its batch."""
    zeros = zeros_like(primal)
    for tangent in tangents:
        if tangent.layer is not None:
            zeros = zeros + zeros_like(tangent.sum())
    return zeros


def shows_all(view: Tensor, base: TensorCore) -> bool:
    """Whether a view is its base once more: one tangent then serves both."""
    a, b = view.array, base.array
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    xp = backend_of(a).xp
    return bool(xp.strides_of(a) == xp.strides_of(b))


def take_part(level: DualLevel, tensor: Any) -> None:
    """Give a tensor from below a layer: that of its base, or one in which it has no tangent yet.

    Where history is kept below, the tensor from there takes it along.
    """
    extras = tensor.extras
    if extras is not None and extras.base is not None and lies_in(extras.base, level):
        base = extras.base.layer
        tangent = base.tangent
        if tangent is not None and not shows_all(tensor, extras.base):
            tangent = replay(tangent, extras.steps)
        tensor.layer = Dual(level, replay(base.primal, extras.steps), tangent)
    else:
        below = tensor.shared()
        below.needs_grad = tensor.needs_grad
        below.node, below.output_number = edge_node(tensor), tensor.output_number
        tensor.layer = Dual(level, below, None)
    tensor.special = True
    if not level.fades:
        tensor.layer.borrowed = True
        level.borrowed.append(tensor)
        tensor.needs_grad = False
        tensor.node, tensor.output_number = None, 0
