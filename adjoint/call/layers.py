"""Layers: what a tensor is inside a transform, and whose turn a call is.

vmap and forward mode open a level each. A tensor that takes part has a layer of that level, which
holds tensors of the levels below: the values of a whole batch, or a primal and its tangent. A call
is the business of the newest level among its arguments; it calls the op on the tensors below, and
gives the results its layer. History is kept where a gradient is needed, on either side.
"""

from contextvars import ContextVar
from dis import get_instructions
from typing import TYPE_CHECKING, Any, Final

from adjoint._base import mypyc_attr
from adjoint.autograd.node import AccumulateGrad, Node, edge_node
from adjoint.autograd.provenance import locate, trail, user_frame
from adjoint.call.context import Settings
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import AS_IS, Tensor

if TYPE_CHECKING:
    from adjoint.ops.op import Op


@mypyc_attr(allow_interpreted_subclasses=True)
class Level:
    """One transform under way; of two, the one opened later has the higher number."""

    samples_apart: bool = False  # its elements may draw by chance each for itself
    fades: bool = False  # when it ends, its tensors are what they were below, not escaped

    def __init__(self, name: str) -> None:
        self.name = name
        self.number = len(open_levels.get()) + 1
        self.depth = depth_now() + 1  # its number among all transforms, as PyTorch counts them
        self.ended = False
        self.borrowed: list[Tensor] = []  # from outside, and given back when it ends
        frame = user_frame(2)
        self.code: Any = None if frame is None else frame.f_code
        self.instruction: int = 0 if frame is None else frame.f_lasti

    def lift(self, tensor: Tensor) -> Tensor:
        """A tensor from below, as one of this level that is the same throughout."""
        raise NotImplementedError

    def samples(self, name: str) -> int:
        """How many samples a function draws for its elements: 0 if one is for all; may refuse."""
        return 0

    def check_draw_in_place(self, name: str, target: Tensor) -> None:
        """Refuse numbers drawn into a tensor that can't hold those of each element."""

    def holding(self, value: Tensor) -> Tensor:
        """A tensor of this level, whose elements lie along the first dimension of one below."""
        raise NotImplementedError

    def opened_at(self) -> str:
        """The line of the user's program that called the transform."""
        source = locate(self.code, self.instruction)
        return self.name if source is None else f"{self.name} at {source}"


class Ground(Level):
    """Where tensors live that answer calls by themselves: below all transforms, and never left.

    There is but one history, on these tensors and on plain ones alike.
    """

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.number = number  # 0 or less; of two kinds of such tensors the higher is asked first
        self.fades = True


open_levels: Final[ContextVar[tuple[Level, ...]]] = ContextVar("adjoint_levels", default=())

# Whether calls on dual tensors have tangents in the calling context.
tracking: Final[ContextVar[bool]] = ContextVar("adjoint_tangents", default=True)


def change_tracking(mode: bool) -> bool:
    """Let calls on dual tensors have tangents or not; what it was is returned."""
    before = tracking.get()
    tracking.set(mode)
    return before


class Derivative:
    """As a context: one derivative by backward, whose function is running.

    It needs no level, since there is but one history; PyTorch has levels for these, too.
    """

    def __init__(self, name: str, func: Any, leaves: list[Tensor]) -> None:
        self.name = name
        self.func = func
        self.leaves = leaves
        self.depth = depth_now() + 1
        self.outer: tuple[Derivative, ...] = ()

    def __enter__(self) -> None:
        self.outer = derivatives.get()
        try:
            derivatives.set((*self.outer, self))
        except BaseException:  # what a signal's handler raises after the call
            derivatives.set(self.outer)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            derivatives.set(self.outer)
        except BaseException:
            derivatives.set(self.outer)
            raise

    def captures(self, tensor: Tensor) -> bool:
        """Whether its function finds a tensor outside, under a name that it does not bind."""
        code = getattr(self.func, "__code__", None)
        if code is None:
            return False
        names: list[str] = []
        for name, cell in zip(code.co_freevars, self.func.__closure__ or ()):
            if is_content(cell, tensor):
                names.append(name)
        for name in code.co_names:
            if self.func.__globals__.get(name) is tensor:
                names.append(name)
        bound = {step.argval for step in get_instructions(code) if step.opname.startswith("STORE_")}
        return any(name not in bound for name in names)


derivatives: Final[ContextVar[tuple[Derivative, ...]]] = ContextVar(
    "adjoint_derivatives", default=()
)


def is_content(cell: Any, tensor: Tensor) -> bool:
    """Whether a variable of an outer function is a tensor; it may have no value yet."""
    try:
        return cell.cell_contents is tensor
    except ValueError:
        return False


def depth_now() -> int:
    """How many transforms are under way, derivatives by backward included."""
    return len(open_levels.get()) + len(derivatives.get())


def tracked_by(tensor: Tensor) -> tuple[list[Derivative], bool]:
    """The derivatives under way that follow a tensor, the oldest first; and whether others may.

    Those are backward passes outside all transforms.
    """
    waiting = derivatives.get()
    if not waiting or not tensor.needs_grad:
        return [], False
    leaves: dict[Any, Derivative] = {}
    for derivative in waiting:
        for leaf in derivative.leaves:
            leaves[edge_node(leaf)] = derivative
    found: set[Derivative] = set()
    others = False
    stack: list[Any] = [edge_node(tensor)]
    seen: set[Any] = set(stack)
    while stack:
        node = stack.pop()
        if node in leaves:
            found.add(leaves[node])
        elif isinstance(node, AccumulateGrad):
            others = True
        for following, _ in node.edges():
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return [derivative for derivative in waiting if derivative in found], others


class UnderWay:
    """As a context: these transforms are under way, and no others, also if a signal interrupts."""

    def __init__(self, levels: tuple[Level, ...]) -> None:
        self.levels = levels
        self.outer: tuple[Level, ...] = ()

    def __enter__(self) -> None:
        self.outer = open_levels.get()
        try:
            open_levels.set(self.levels)
        except BaseException:  # what a signal's handler raises after the call
            open_levels.set(self.outer)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            open_levels.set(self.outer)
        except BaseException:
            open_levels.set(self.outer)
            raise


class opened(UnderWay):
    """Let a transform be under way; its tensors have no meaning afterwards."""

    def __init__(self, level: Level) -> None:
        super().__init__((*open_levels.get(), level))
        self.level = level

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.level.ended = True
        super().__exit__(kind, error, trace)
        borrowed, self.level.borrowed = self.level.borrowed, []
        for tensor in borrowed:
            fade(tensor)


def newest_level() -> Level | None:
    """The transform in which the calling context is; None outside all."""
    levels = open_levels.get()
    return levels[-1] if levels else None


class Below(UnderWay):
    """As a context: only the transforms that were opened before a level are under way."""

    def __init__(self, number: int) -> None:
        super().__init__(open_levels.get()[: number - 1])


def unseen_by(tensors: list[Tensor]) -> Level | None:
    """The newest vmap under way in which none of the tensors takes part: a draw must hear of it."""
    top = newest(tensors)
    for level in reversed(open_levels.get()):
        if top is not None and level.number <= top.level.number:
            return None
        if level.samples_apart:
            return level
    return None


@mypyc_attr(allow_interpreted_subclasses=True)
class Layer:
    """What a tensor is inside one transform."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.wraps = False  # its tensor is of a class that answers calls on its instances
        self.sparse = False  # its tensor has some of its elements alone
        self.overridden = False  # and that class wants to see them before they are recorded
        self.borrowed = False  # its tensor is from outside, and remains when the level ends
        self.code: Any = None  # of the user's function that made the tensor, and where in it
        self.instruction: int = 0

    def call(self, op: "Op", values: list[Any]) -> Any:
        """The results of a call, its arguments with this layer or below it."""
        raise NotImplementedError

    def brief(self, op: "Op", settings: Settings, a: Any, b: Any) -> Tensor | None:
        """The result of a call of one or two arguments; None if it must go the whole way.

        It is the short form of `call`, as `Path` is of `apply`; b is None if there is but one.
        """
        return None

    def adopt(self, name: str, values: list[Any]) -> None:
        """Let the first argument take part, which is to be changed in place by the others."""
        raise NotImplementedError

    def bare(self, values: list[Any]) -> list[Any] | None:
        """The arguments of a call that is the affair of the levels below; None if it is not."""
        return None

    def store(self, target: Tensor, result: Tensor) -> None:
        """Put a result of this level where the values of a tensor are."""
        raise NotImplementedError

    def change(self, op: "Op", values: list[Any]) -> None:
        """If it wraps: let the class change the first argument in place."""
        raise NotImplementedError

    def renewed(self, tensor: Tensor) -> Tensor:
        """If it wraps: another tensor of the class that shows the same, without history."""
        raise NotImplementedError

    def made(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        """If it wraps: what the class answers to a factory that imitates one of its instances."""
        raise NotImplementedError

    def parts(self, tensor: Tensor) -> list[Tensor]:
        """The tensors whose memory its tensor shows."""
        return self.below()

    def values(self, tensor: Tensor) -> Any:
        """The array that holds the values of its tensor; refused if Python can't read them."""
        refusal = self.value_refused()
        if refusal is not None:
            raise RuntimeError(refusal)
        return tensor.current_array()

    def single(self, tensor: Tensor) -> Any:
        """The array of the one value that its tensor has."""
        return self.values(tensor)

    def becomes(self, tensor: Tensor, result: Tensor, name: str) -> bool:
        """Let its tensor, which is given as out=, be a result; False if that can't be."""
        return False

    def detached(self) -> "Layer | None":
        """The same layer on what it holds without history, and without what depends on others."""
        raise NotImplementedError

    def copied(self) -> "Layer":
        """The same layer on a copy of what it holds."""
        raise NotImplementedError

    def own(self, op: "Op", values: list[Any]) -> Any:
        """The call of an op that computes and records by itself: a Function, a custom operator."""
        raise NotImplementedError

    def below(self) -> list[Tensor]:
        """The tensors it holds."""
        raise NotImplementedError

    def settled(self) -> Tensor:
        """What its tensor is when the level has ended, if it fades or the tensor is borrowed."""
        raise NotImplementedError

    def imitated(self, make: Any) -> Tensor:
        """A new tensor in the form of what it holds: `make` of that and of sizes to put in front.

        One that is the same throughout needs no layer.
        """
        raise NotImplementedError

    def text(self) -> str | None:
        """Its tensor as text; None to show the values."""
        return None

    def shown_parts(self) -> dict[str, Tensor] | None:
        """The tensors that are shown of it, by name; None to show the values."""
        return None

    def notes(self) -> list[str]:
        """What is printed of it after the values."""
        return []

    def value_refused(self) -> str | None:
        """Why Python can't read the values of its tensor; None if it can."""
        return None

    def reduced(self, tensor: Tensor, attributes: Any) -> Any:
        """What pickle keeps of its tensor; None if it is kept as the values."""
        return None


def with_layer(array: Any, layer: Layer) -> Tensor:
    """A tensor in a layer; `array` says how it looks."""
    tensor = Tensor(array, AS_IS)
    tensor.layer = layer
    tensor.special = True
    return tensor


def note_line(layer: Layer) -> None:
    """Note the line of the user's program that makes a tensor, should it escape."""
    if trail.enabled:
        frame = user_frame(3)
        if frame is not None:
            layer.code = frame.f_code
            layer.instruction = frame.f_lasti


def newest(tensors: list[Tensor]) -> Layer | None:
    """The layer of the newest level among tensors; None if they have none. Refuses escaped ones."""
    top: Layer | None = None
    for tensor in tensors:
        layer: Layer | None = tensor.layer
        if layer is None:
            continue
        if layer.level.ended:
            fade(tensor)
            layer = tensor.layer
            if layer is None:
                continue
        if top is None or layer.level.number > top.level.number:
            top = layer
    return top


def fade(tensor: Tensor) -> None:
    """The level of a tensor has ended: it becomes what it is below, or is refused as escaped."""
    layer: Layer | None = tensor.layer
    while layer is not None and layer.level.ended:
        if not (layer.level.fades or layer.borrowed):
            raise escaped(layer)
        below = layer.settled()
        if layer.borrowed:
            node = below.node
            tensor.needs_grad = below.needs_grad
            tensor.node = None if isinstance(node, AccumulateGrad) else node
            tensor.output_number = below.output_number
        tensor.layer = below.layer
        tensor.special = below.special
        tensor.array = below.array
        layer = tensor.layer
    if layer is not None and layer.borrowed:
        layer.level.borrowed.append(tensor)


def escaped(layer: Layer) -> RuntimeError:
    """The error for a tensor that is used after its transform has ended."""
    made = locate(layer.code, layer.instruction)
    return RuntimeError(
        f"a tensor has escaped from {layer.level.opened_at()}: it has no meaning outside. Return "
        "it from the function that is transformed, instead of keeping it."
        + ("" if made is None else f"\n  it was made at {made}")
    )


def lies_in(tensor: TensorCore, level: Level) -> bool:
    """Whether a tensor takes part in a level, as its newest."""
    layer: Layer | None = tensor.layer
    return layer is not None and layer.level is level


def recorded_at(tensor: TensorCore, level: Level) -> bool:
    """Whether the history of a tensor is kept at a level.

    It is that of its newest layer. On a level that fades there is but one, as outside.
    """
    return level.fades or lies_in(tensor, level)


def needs_below(tensor: Any) -> bool:
    """Whether a gradient is needed of a tensor or of one it is made of."""
    if tensor.needs_grad:
        return True
    return tensor.layer is not None and any(needs_below(t) for t in tensor.layer.below())


def reaches_others(outputs: list[Tensor], own: set[int]) -> bool:
    """Whether a graph has other leaves than our own, here or on a level below."""
    stack: list[Node] = []
    for output in outputs:
        if output.layer is not None:
            for below in output.layer.below():
                if needs_below(below):
                    return True
        if output.node is not None:
            stack.append(output.node)
    seen: set[Node] = set(stack)
    while stack:
        node = stack.pop()
        if isinstance(node, AccumulateGrad) and id(node.variable) not in own:
            return True
        for following, _ in node.edges():
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return False
