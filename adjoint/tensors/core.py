"""The autograd state of a tensor, apart from Tensor's methods.

Nodes, hooks and the engine work on `TensorCore`; `Tensor` itself, with its hundreds of methods,
lies above them and is made through `upper.tensor`.
"""

from itertools import repeat
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Final

from adjoint import backends
from adjoint._base import HookTable, WeakBase, advance, exchange, mypyc_attr
from adjoint.autograd.provenance import INTERPRETED, Source, locate, user_frame
from adjoint.backends.numpy import numpy_backend
from adjoint.dtypes import FLOAT, category_of, float32, float64

if TYPE_CHECKING:
    from adjoint.autograd.node import Node


# A constant of a compiled module is looked up at no cost, a name of an interpreted one is not.
NDARRAY: Final[Any] = backends.NDARRAY
F32: Final[Any] = float32.numpy_dtype
F64: Final[Any] = float64.numpy_dtype
NUMPY_BACKEND: Final[Any] = numpy_backend
BY_TYPE: Final[dict[Any, Any]] = backends.BY_TYPE
set_attribute: Final[Any] = object.__setattr__
ABSENT: Final[Any] = object()  # what is held where nothing is


def backend_of(array: Any) -> Any:
    """The backend of an array, or of an array type; NumPy's without a look-up."""
    if type(array) is NDARRAY or array is NDARRAY:
        return NUMPY_BACKEND
    found = BY_TYPE.get(type(array))
    return backends.backend_of(array) if found is None else found


def shares_memory(array: Any, source: Any) -> bool:
    """Whether an array shows the memory of another of its library."""
    if array is source:
        return True
    if type(array) is NDARRAY:
        base = array.base
        return base is not None and (base is source or base is source.base)
    return bool(backends.backend_of(array).shares_memory(array, source))


def is_floating(array: Any) -> bool:
    """Whether an array holds numbers that can have a gradient: floating or complex ones."""
    kind = array.dtype
    return kind is F32 or kind is F64 or category_of(kind) >= FLOAT


class Spec:
    """What an array looks like. Tensors and nodes of one shape share it where they can."""

    loose: bool = False  # a gradient of another data type is taken as it is
    worker: Any = None
    launched: bool = False  # kernels of its library may do what NumPy's functions do for others

    def __init__(self, array: Any) -> None:
        self.shape: Any = array.shape
        self.dtype: Any = array.dtype
        self.array_type: Any = type(array)
        self.full: bool = self.dtype is F32 or self.dtype is F64  # no type that rules widen
        self.short: bool = self.full and self.array_type is NDARRAY  # may be cut short
        self.single: bool = not self.shape  # NumPy answers scalars for 0-d arrays
        if self.array_type is not NDARRAY:
            backend = backend_of(array)
            self.worker = backend.worker(array)
            self.launched = backend.launches(self.dtype)


class VersionCounter:
    """Counts the in-place changes of one piece of memory; its tensor and all views share it."""

    def __init__(self) -> None:
        self.value = 0
        self.code: Any = None  # where the last change was made; see source
        self.instruction = 0

    def bump(self) -> None:
        """Count a change, and note the line of the user's program that made it."""
        self.count()
        self.note()

    def count(self) -> None:
        """Count a change; those of several threads are all counted."""
        if INTERPRETED:
            advance(self, "value")
        else:
            self.value += 1

    def note(self) -> None:
        """Note the line of the user's program that makes a change."""
        frame = user_frame(2)
        if frame is not None:
            self.code = frame.f_code
            self.instruction = frame.f_lasti

    def source(self) -> Source | None:
        """The line of the user's program that made the last change."""
        return locate(self.code, self.instruction)


OWN_DTYPE: Final[Any] = object()  # what grad_dtype is until it is set


class Extras:
    """What few tensors have: views, versions, hooks, an accumulator. Made when first needed."""

    grad_dtype: Any = OWN_DTYPE  # the array library's, of a leaf's gradient; None: as it comes
    origin: Any = None  # the array that showed all of the memory, if it is no view and shows a part
    reformed: int = 0  # the counter when, in place, it last came to show its memory otherwise

    def __init__(self) -> None:
        self.counter: VersionCounter | None = None
        self.base: "TensorCore | None" = None
        self.steps: tuple[Any, ...] = ()  # the view operations that lead from base to here
        self.view_version = 0  # the counter when node was last right for this view
        self.creation = DEFAULT_VIEW
        self.accumulator: Any = None  # weak: the accumulator refers to the leaf
        self.hooks: HookTable | None = None  # a leaf's tensor hooks outlive its accumulator
        self.post_accumulate: HookTable | None = None
        self.retains_grad = False
        self.name: str | None = None


# Why a history ends.
CUT_BY_MODE: Final = 1
CUT_BY_OP: Final = 2
CUT_BY_DETACH: Final = 3

DEFAULT_VIEW: Final = 0
NO_GRAD_VIEW: Final = 1
MULTI_OUTPUT_VIEW: Final = 2
CUSTOM_VIEW: Final = 3
INFERENCE_VIEW: Final = 4


@mypyc_attr(allow_interpreted_subclasses=True)
class TensorCore(WeakBase):
    """The autograd half of a Tensor: its array, and how it came to be.

    Defaults stand in the class, so that the interpreter need not set them for each tensor.
    """

    needs_grad: bool = False
    node: "Node | None" = None
    output_number: int = 0
    gradient: "TensorCore | None" = None
    extras: Extras | None = None
    special: bool = False  # it has a layer, or its class wants to see calls: the general path
    layer: Any = None  # what it is inside a transform; see call.layers
    inference: bool = False
    known: Spec | None = None  # what spec() found
    cut: int = 0  # why it has no history, though it comes from a tensor that needs a gradient

    def __init__(self, array: Any) -> None:
        self.array = array

    def spec(self) -> Spec:
        """What the array looks like; nodes of this tensor refer to the same record."""
        if self.known is None:
            self.known = Spec(self.array)
        return self.known

    def replace_array(self, array: Any) -> None:
        """Show another array from now on."""
        self.array = array
        self.known = None

    def mark_inference(self) -> None:
        """It was made in inference mode."""
        self.inference = True

    def rare(self) -> Extras:
        """The record of rare state, made if there is none."""
        if self.extras is None:
            made = Extras()
            anew: Any = self  # read anew (docs/notes/build.md)
            if INTERPRETED:
                exchange(self, "extras", None, made)
            elif anew.extras is None:
                self.extras = made
        found = self.extras
        assert found is not None
        return found

    def counter(self) -> VersionCounter:
        """The version counter, made if there is none; a saved result learns of it."""
        extras = self.rare()
        if extras.counter is None:
            node = self.node
            made = VersionCounter() if node is None else node.output_counter(self.output_number)
            anew: Any = extras
            if INTERPRETED:
                exchange(extras, "counter", None, made)
            elif anew.counter is None:
                extras.counter = made
        found = extras.counter
        assert found is not None
        return found

    def version(self) -> int:
        """How often the memory was changed in place."""
        extras = self.extras
        if extras is None or extras.counter is None:
            return 0
        return extras.counter.value


def same(some: list[Any], others: list[Any]) -> bool:
    """Whether two lists have the same objects."""
    if len(some) != len(others):
        return False
    for one, other in zip(some, others):
        if one is not other:
            return False
    return True


def show(tensors: list[Any], arrays: list[Any]) -> bool:
    """Whether these are the arrays of tensors."""
    for each, array in zip(tensors, arrays):
        tensor: TensorCore = each
        if tensor.array is not array:
            return False
    return True


def hold(owners: list[dict[Any, Any]], names: list[Any], values: list[list[Any]]) -> bool:
    """Whether the dicts of these names in others have the very values they had, in their order."""
    for owner, name, expected in zip(owners, names, values):
        table: dict[Any, Any] = owner[name]
        if len(table) != len(expected):
            return False
        if expected:
            for number, value in enumerate(table.values()):
                if value is not expected[number]:
                    return False
    return True


def are_without_hooks(tensors: list[Any]) -> bool:
    """Whether no hook is registered on any of these leaves."""
    for each in tensors:
        tensor: TensorCore = each
        extras = tensor.extras
        if extras is not None and (extras.hooks or extras.post_accumulate):
            return False
    return True


def have_kept(tensors: list[Any], needs_grad: list[bool], without: list[bool]) -> bool:
    """Whether tensors still need a gradient, and have none yet, or not, as said of each."""
    for each, needs, none in zip(tensors, needs_grad, without):
        tensor: TensorCore = each
        if tensor.needs_grad is not needs or (tensor.gradient is None) is not none:
            return False
    return True


def renew(
    tensors: list[Any],
    arrays: list[Any],
    leaves: list[Any],
    gradients: list[Any],
    counters: list[VersionCounter],
) -> None:
    """Let tensors have other arrays and leaves other gradients; compiled, it runs no bytecode."""
    for each, array in zip(tensors, arrays):
        tensor: TensorCore = each
        tensor.array = array
        tensor.known = None
    for each, gradient in zip(leaves, gradients):
        leaf: TensorCore = each
        leaf.gradient = gradient
    _count_up(counters)


def launch(
    call: Any,
    inputs: list[Any],
    tensors: list[Any],
    sources: list[int],
    leaves: list[Any],
    gradients: list[Any],
    counters: list[VersionCounter],
    calls: list[tuple[Any, ...]],
) -> Any:
    """Make a call, let tensors have what it answers, and make further calls, which must not fail.

    Compiled, it runs no bytecode in between, so that no signal parts them.
    """
    outputs = call(*inputs)
    renew(tensors, [outputs[source] for source in sources], leaves, gradients, counters)
    for each in calls:
        each[0](*each[1:])
    return outputs


def most_held(arrays: list[Any], positions: list[int]) -> int:
    """How often the array at one of these positions is referred to, of the one most often."""
    most = 0
    for position in positions:
        most = max(most, getrefcount(arrays[position]))
    return most


UNSHARED: Final = most_held([object()], [0])  # by the list alone


def most_held_gradient(leaves: list[Any]) -> int:
    """How often a gradient of these leaves, or its array, is referred to, of the one most often."""
    most = 0
    for each in leaves:
        leaf: TensorCore = each
        gradient = leaf.gradient
        if gradient is not None:
            array = gradient.array
            most = max(most, getrefcount(gradient), getrefcount(array))
    return most


def _least_held_gradient() -> int:
    leaf = TensorCore(None)
    leaf.gradient = TensorCore(object())
    return most_held_gradient([leaf])


THROWN_AWAY: Final = _least_held_gradient()  # when the leaf gets another gradient


def _count_up(counters: list[VersionCounter]) -> None:
    for counter in counters:
        counter.value += 1


def counted(tensors: list[Any]) -> Any:
    """What counts a change of each tensor when it is iterated over, and runs no bytecode then.

    The line of the user's program that makes the changes is noted at once, and looked for once. In
    the interpreter the counts are read at once, too: whoever calls this holds `moments.lock`.
    """
    frame = user_frame(2)
    counters: list[VersionCounter] = []
    for tensor in tensors:
        counter: VersionCounter = tensor.counter()
        if frame is not None:
            counter.code = frame.f_code
            counter.instruction = frame.f_lasti
        counters.append(counter)
    return counting(counters)


def counting(counters: list[VersionCounter]) -> Any:
    """What counts a change by each counter when it is iterated over; see counted."""
    if not INTERPRETED:
        return map(_count_up, [counters])
    values: list[int] = []
    last: dict[int, int] = {}  # of a counter that comes more than once
    for counter in counters:
        values.append(last.get(id(counter), counter.value) + 1)
        last[id(counter)] = values[-1]
    return map(set_attribute, counters, repeat("value"), values)


def raw(grad: Any) -> Any:
    """The array of a gradient that may be a Tensor; one in a layer, as a sparse one, stays it."""
    if isinstance(grad, TensorCore):
        return grad.array if grad.layer is None else grad
    return grad
