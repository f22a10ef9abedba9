"""The backward graph: nodes, edges, leaves. Facts only; the engine decides the order.

A node never refers to the Tensor it produced, so a graph has no cycles and is freed at once.
"""

import itertools
import weakref
from typing import Any, Final, NamedTuple

from adjoint._base import WeakBase, exchange, mypyc_attr
from adjoint.autograd.hooks import (
    POST,
    PRE,
    NodeHooks,
    RemovableHandle,
    post_table,
    pre_table,
    register,
)
from adjoint.autograd.provenance import (
    INTERPRETED,
    Source,
    calls,
    frame_at,
    locate,
    module_path,
    modules_of,
    trail,
    user_frame,
)
from adjoint.call.context import is_recording
from adjoint.dtypes import COMPLEX, FLOAT, category_of
from adjoint.tensors.core import (
    F32,
    OWN_DTYPE,
    Extras,
    Spec,
    TensorCore,
    VersionCounter,
    backend_of,
    raw,
)
from adjoint.tensors.upper import upper

# How a node runs; the engine asks nothing else.
LEAF: Final = 0  # an AccumulateGrad: what arrives goes to `.grad`
ALIGNED: Final = 1  # as EDGEWISE, and an answer for a node of the same spec conforms as it is
EDGEWISE: Final = 2  # vjp answers for one edge at a time, from a raw gradient of one output
WHOLE: Final = 3  # apply answers for all edges, from the gradients of all outputs
USER: Final = 4  # as WHOLE, and runs code of the user, who sees Tensors under a grad mode

LAST: Final = (1 << 62) - 1  # AccumulateGrad's sequence number: ready leaves go before all


class GradientEdge(NamedTuple):
    """The place where a tensor's gradient arrives: a node, and which of its outputs."""

    node: "Node"
    output_nr: int


class SavedItem(NamedTuple):
    """Something a node keeps for backward."""

    name: str
    array: Any  # None if hooks on saving have taken it
    saved_at: int  # the version it had
    counter: VersionCounter | None

    @property
    def was_changed(self) -> bool:
        """Whether it was changed in place since."""
        return self.counter is not None and self.counter.value != self.saved_at


class SequenceCounter:
    """The number of the next node, in compiled code: no other thread runs between its steps."""

    def __init__(self) -> None:
        self.next = 0


sequence: Final[SequenceCounter] = SequenceCounter()
draw: Final[Any] = itertools.count().__next__  # the same where others may run


def next_sequence_number() -> int:
    """Nodes are numbered in the order of their making."""
    if INTERPRETED:
        drawn: int = draw()
        return drawn
    number = sequence.next
    sequence.next = number + 1
    return number


# In the interpreter the caller of an op lies so many frames below the look-up; see provenance.
SHORT_DEPTH: Final = 6
ANY_DEPTH: Final = 2


def mark(node: "Node", depth: int) -> None:
    """Note where in the user's program a node is made."""
    if not trail.enabled:
        return
    try:
        frame = frame_at(depth - 1) if INTERPRETED else frame_at()
    except ValueError:  # called by C code, with no Python below
        return
    code = frame.f_code
    if code is not trail.code:
        frame = user_frame(depth)
        if frame is None:
            return
        code = frame.f_code
    node.code = code
    node.instruction = frame.f_lasti
    if trail.modules:
        node.module_call = calls.get()


@mypyc_attr(allow_interpreted_subclasses=True)
class Node(WeakBase):
    """One step of the backward pass.

    The first two edges have fixed places and the others a list, because most nodes have no more
    than two. `spec` describes the output; a gradient that arrives must conform to it. Defaults
    stand in the class, so that the interpreter need not set them for each node.
    """

    next0: "Node | None" = None
    nr0: int = 0
    next1: "Node | None" = None
    nr1: int = 0
    edge_count: int = 0
    more: "list[tuple[Node | None, int]] | None" = None
    spec: Spec | None = None
    outputs: list[Spec] | None = None  # of all, if there are several
    hooks: NodeHooks | None = None
    notes: dict[Any, Any] | None = None
    lane: int = WHOLE
    released: bool = False
    keeps_tensors: bool = False  # a pass that reaches it does, as it works on some without memory
    code: Any = None  # of the user's function that made it, and where in it; see source
    instruction: int = 0
    module_call: Any = None  # of the module that made it; see module_path

    def __init__(self, sequence_number: int) -> None:
        self.sequence_number = sequence_number

    def name(self) -> str:
        """What kind of step this is."""
        return type(self).__name__

    def vjp(self, edge: int, grad: Any) -> Any:
        """The gradient for one edge from a raw gradient, in the lanes that go edge by edge."""
        raise NotImplementedError

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """The gradients of all edges from those of all outputs.

        Raw arrays come and go; with `create_graph` they are Tensors, and the work is recorded if
        grad mode says so.
        Edges that `wanted` leaves out are not followed in this pass; their answer may be None.
        """
        raise NotImplementedError

    def __call__(self, *grads: Any) -> Any:
        """The gradients of its inputs from those of its outputs, by itself and without hooks."""
        if len(grads) != self.output_count():
            raise TypeError(
                f"{self.name()} expected {self.output_count()} arguments, got {len(grads)} instead"
            )
        record = is_recording()
        given = [grad if record or grad is None else raw(grad) for grad in grads]
        edges = self.edges()
        answers: list[Any] = []
        for (node, number), answer in zip(edges, self.apply(given, record)):
            if answer is not None and node is not None:
                answer = conform(node, number, answer)
            raw_answer = answer is not None and not isinstance(answer, TensorCore)
            answers.append(upper.tensor(answer) if raw_answer else answer)
        return answers[0] if len(answers) == 1 else tuple(answers)

    def makes_new(self) -> bool:
        """Whether nobody else holds what apply answers, if it isn't what came."""
        return False

    def takes_none(self) -> bool:
        """Whether it runs even if no gradient has come at all."""
        return False

    def release(self) -> None:
        """Let go of what was saved for backward."""

    def saved_items(self) -> list[SavedItem]:
        """What it keeps for backward, for those who ask; the rules see it in their own way."""
        return []

    def watch(self, output_number: int, counter: VersionCounter) -> None:
        """Output `output_number` can now be changed in place; counter will tell."""

    def output_counter(self, output_number: int) -> VersionCounter:
        """The counter of an output that had none so far."""
        counter = VersionCounter()
        self.watch(output_number, counter)
        return counter

    def add_edge(self, node: "Node | None", output_number: int) -> None:
        """Append an edge; None where an input needs no gradient."""
        if self.edge_count == 0:
            self.next0, self.nr0 = node, output_number
        elif self.edge_count == 1:
            self.next1, self.nr1 = node, output_number
        else:
            if self.more is None:
                self.more = []
            self.more.append((node, output_number))
        self.edge_count += 1

    def edges(self) -> list[tuple["Node | None", int]]:
        """All edges, in the order of the inputs."""
        found: list[tuple[Node | None, int]] = []
        if self.edge_count > 0:
            found.append((self.next0, self.nr0))
        if self.edge_count > 1:
            found.append((self.next1, self.nr1))
        if self.more is not None:
            found.extend(self.more)
        return found

    @property
    def next_functions(self) -> tuple[tuple["Node | None", int], ...]:
        """The edges, as PyTorch spells them."""
        return tuple(
            [
                (None if node is None else node.shown(), number)
                for node, number in self.shown_edges()
            ]
        )

    def shown_edges(self) -> list[tuple["Node | None", int]]:
        """The edges as a user gets to see them."""
        return self.edges()

    def shown(self) -> "Node":
        """The node as a user gets to see it."""
        return self

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes."""
        if self.notes is None:
            made: dict[Any, Any] = {}
            anew: Any = self
            if INTERPRETED:
                exchange(self, "notes", None, made)
            elif anew.notes is None:
                self.notes = made
        found = self.notes
        assert found is not None
        return found

    def source(self) -> Source | None:
        """The line of the user's program that made it; None if lines were not noted."""
        return locate(self.code, self.instruction)

    @property
    def module_path(self) -> str | None:
        """The module whose call made it, such as 'Net.encoder.0'; None if there is none."""
        modules = modules_of(self.module_call)
        if not modules:
            return None
        return f"{type(modules[0]).__name__}.{module_path(modules)}".rstrip(".")

    def _sequence_nr(self) -> int:
        return self.sequence_number

    def output_count(self) -> int:
        """How many gradients it takes."""
        return 1 if self.outputs is None else len(self.outputs)

    def output_shapes(self) -> list[Any]:
        """The shape of each output."""
        return [self.spec_of(number).shape for number in range(self.output_count())]

    def spec_of(self, number: int) -> Spec:
        """What the gradient of an output must look like."""
        found = self.spec if self.outputs is None else self.outputs[number]
        assert found is not None
        return found

    def worker(self) -> Any:
        """The device whose worker runs it; None for the calling thread."""
        if self.outputs is None:
            return None if self.spec is None else self.spec.worker
        return self.outputs[0].worker if self.outputs else None

    def describe_outputs(self, tensors: list[TensorCore]) -> None:
        """Remember what the gradients of several outputs must look like."""
        self.outputs = [tensor.spec() for tensor in tensors]

    def register_prehook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: bool = False,
        context: bool = False,
        traceable: bool = False,
    ) -> RemovableHandle:
        """Call hook with the gradients of the outputs, before this node runs."""
        table = pre_table(self.any_hooks())
        return register(table, hook, PRE, name, once, context, traceable)

    def register_hook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: bool = False,
        context: bool = False,
        traceable: bool = False,
    ) -> RemovableHandle:
        """Call hook with the gradients of the inputs and of the outputs, after this node ran."""
        table = post_table(self.any_hooks())
        return register(table, hook, POST, name, once, context, traceable)

    def any_hooks(self) -> NodeHooks:
        """The record of hooks, made if there is none."""
        if self.hooks is None:
            made = NodeHooks()
            anew: Any = self  # read anew (docs/notes/build.md)
            if INTERPRETED:
                exchange(self, "hooks", None, made)
            elif anew.hooks is None:
                self.hooks = made
        found = self.hooks
        assert found is not None
        return found

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


@mypyc_attr(allow_interpreted_subclasses=True)
class AccumulateGrad(Node):
    """Where the gradients of one leaf end; the engine adds them to `.grad`."""

    def __init__(self, variable: TensorCore) -> None:
        super().__init__(LAST)
        self.lane = LEAF
        self.variable = variable
        self.spec = variable.spec()
        extras = variable.extras
        if extras is not None and extras.grad_dtype is not OWN_DTYPE:
            self.spec = gradient_spec(variable)

    def take_hooks(self, extras: Extras) -> None:
        """Run the hooks that the leaf has."""
        if extras.hooks is not None:
            self.any_hooks().tensor[0] = extras.hooks
        if extras.post_accumulate is not None:
            self.any_hooks()  # it then runs as a step of its own

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """Nothing flows on from a leaf."""
        return []


def edge_node(tensor: TensorCore) -> Node | None:
    """The node that takes this tensor's gradient: its own, or a leaf's accumulator."""
    if tensor.node is not None:
        return tensor.node
    return accumulator_of(tensor) if tensor.needs_grad else None


def accumulator_of(leaf: TensorCore) -> AccumulateGrad:
    """The leaf's accumulator; one as long as anything refers to it."""
    extras = leaf.rare()
    before = extras.accumulator
    if before is not None:
        found = before()
        if found is not None:
            node: AccumulateGrad = found
            spec, now = node.spec, leaf.spec()
            if spec is now:
                return node
            if extras.grad_dtype is not OWN_DTYPE:
                now = gradient_spec(leaf)
            if spec is not None and spec.array_type is now.array_type:
                if spec.shape == now.shape and spec.dtype == now.dtype:
                    if spec.loose == now.loose:
                        return node
    made = AccumulateGrad(leaf)
    reference = weakref.ref(made)
    if INTERPRETED:
        if not exchange(extras, "accumulator", before, reference):
            return accumulator_of(leaf)  # another thread has made it meanwhile
    elif extras.accumulator is not before:
        return accumulator_of(leaf)
    else:
        extras.accumulator = reference
    made.take_hooks(extras)  # now: a hook that comes later finds this accumulator
    return made


def gradient_spec(leaf: TensorCore) -> Spec:
    """What a leaf's gradient must look like: the leaf, but for a data type that was asked for."""
    extras = leaf.extras
    if extras is None or extras.grad_dtype is OWN_DTYPE:
        return leaf.spec()
    asked = Spec(leaf.array)
    asked.short = asked.full = False
    if extras.grad_dtype is None:
        asked.loose = True
    else:
        asked.dtype = extras.grad_dtype
    return asked


def expect_dtype(leaf: TensorCore, dtype: Any) -> None:
    """Have a leaf's gradients in an array's data type from now on, or as they come if None."""
    extras = leaf.rare()
    extras.grad_dtype = dtype
    accumulator = None if extras.accumulator is None else extras.accumulator()
    if accumulator is not None:
        accumulator.spec = gradient_spec(leaf)
        accumulator.any_hooks().recast = True  # edges of before may pass gradients as they are


def conform(node: Node, output_number: int, grad: Any) -> Any:
    """Make a gradient fit the output it is for, or refuse it.

    The one place where broadcasting is undone and dtype is cast back; shape and device that
    can't be repaired are errors.
    """
    spec = node.spec_of(output_number)
    shape, dtype, array_type = spec.shape, spec.dtype, spec.array_type
    if spec.loose:
        dtype = grad.array.dtype if isinstance(grad, TensorCore) else grad.dtype
    if isinstance(grad, TensorCore):
        array = grad.array
        if type(array) is not array_type:
            _check_device(node, array, array_type)
        if array.shape == shape and array.dtype == dtype:
            return grad
        if array.shape != shape:
            if not broadcasts_to(shape, array.shape):
                raise RuntimeError(_misfit(node, output_number, shape, array.shape))
            grad = grad.sum_to_size(shape)  # type: ignore[attr-defined]  # Tensor has it
        grad = _cast_tensor(grad, dtype)
        found = grad.array
        if found.shape != shape or found.dtype != dtype:  # a mode answered otherwise
            raise RuntimeError(
                f"{node.name()}: invalid gradient of its output {output_number}: expected "
                f"{dtype}{list(shape)}, but what __torch_dispatch__ made of it is "
                f"{found.dtype}{list(found.shape)}"
            )
        return grad
    if type(grad) is not array_type:
        grad = _check_device(node, grad, array_type).asarray(grad)
    if grad.shape != shape:
        if not broadcasts_to(shape, grad.shape):
            raise RuntimeError(_misfit(node, output_number, shape, grad.shape))
        grad = _sum_to(grad, shape)
    if grad.dtype != dtype:
        if category_of(grad.dtype) == COMPLEX and category_of(dtype) <= FLOAT:
            grad = backend_of(grad).xp.real(grad)
        grad = backend_of(grad).xp.copied(grad, dtype)
    return grad


def _check_device(node: Node, array: Any, array_type: Any) -> Any:
    """The backend of a gradient, which must be that of what it is for."""
    ours = backend_of(array)
    theirs = backend_of(array_type)
    if ours is not theirs:
        raise RuntimeError(
            f"{node.name()}: a gradient on {ours.name} reached a tensor on {theirs.name}; "
            "return gradients on the device of the input"
        )
    return ours


def _cast_tensor(grad: Any, dtype: Any) -> Any:
    array = grad.array
    if category_of(array.dtype) == COMPLEX and category_of(dtype) <= FLOAT:
        grad = grad.real
    return grad if grad.array.dtype == dtype else grad.to(dtype)


def broadcasts_to(shape: Any, wider: Any) -> bool:
    """Whether an array of `shape` broadcasts to `wider`."""
    lead = len(wider) - len(shape)
    if lead < 0:
        return False
    for i in range(len(shape)):
        if shape[i] != wider[lead + i] and shape[i] != 1:
            return False
    return True


FEW: Final = 8  # elements of a row
MANY: Final = 4096  # elements, of which a library may know faster sums than its own


def _sum_to(array: Any, shape: Any) -> Any:
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(shape) if n == 1 and array.shape[lead + i] != 1
    )
    kind = array.dtype
    if kind.itemsize == 2 and category_of(kind) == FLOAT:  # too short to gather sums in
        kind = F32
    elif axes == (array.ndim - 1,) and 1 < array.shape[-1] <= FEW:
        total = array[..., 0] + array[..., 1]  # rows of a few are added faster than summed
        for i in range(2, array.shape[-1]):
            total = total + array[..., i]
        return total.reshape(shape)
    elif array.size >= MANY and category_of(kind) == FLOAT:
        return backend_of(array).xp.sums_along(array, axes).reshape(shape)
    return array.sum(axis=axes, dtype=kind).reshape(shape)


def _misfit(node: Node, output_number: int, shape: Any, got: Any) -> str:
    return (
        f"{node.name()}: the gradient of its output {output_number} must have shape "
        f"{tuple(shape)}, or one that broadcasting that shape gives, but has {tuple(got)}"
    )
