"""Views and in-place changes: tensors that share memory share their history.

A view remembers its base and the view operations that lead to it. When the memory changes, the
base gets a new node and each view replays those operations to find its own (docs/notes/views.md).
"""

import warnings
from typing import TYPE_CHECKING, Any, Final

import adjoint.call.dispatch as dispatch
from adjoint.autograd.node import (
    ANY_DEPTH,
    USER,
    Node,
    SavedItem,
    broadcasts_to,
    conform,
    edge_node,
    mark,
    next_sequence_number,
)
from adjoint.autograd.saved_tensors import before_change
from adjoint.backends.numpy import numpy_backend
from adjoint.backends.rooms import address
from adjoint.call.context import (
    Settings,
    change_grad_enabled,
    current,
    is_recording,
    replaced,
    set_current,
)
from adjoint.call.errors import complaint
from adjoint.call.layers import Below, derivatives, newest, open_levels
from adjoint.call.op_node import OpNode
from adjoint.call.overriding import by_mode, override
from adjoint.call.promotion import common_backend, promoted, unwrapped
from adjoint.call.record import (
    beginning,
    extended,
    keep_shown,
    needs,
    pack_all,
    record,
    settle,
    to_keep,
)
from adjoint.dtypes import bool_, can_cast, from_numpy_dtype
from adjoint.tensors.core import (
    CUSTOM_VIEW,
    DEFAULT_VIEW,
    F32,
    F64,
    INFERENCE_VIEW,
    MULTI_OUTPUT_VIEW,
    NDARRAY,
    NO_GRAD_VIEW,
    TensorCore,
    VersionCounter,
    backend_of,
    is_floating,
    shares_memory,
)
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import Sharing, renewed, upper

if TYPE_CHECKING:
    from adjoint.ops.op import Op

BOOLS: Final[Any] = bool_.numpy_dtype


def replay(base: Any, steps: tuple[Any, ...]) -> Any:
    """The view operations again, on another base: a Tensor or a raw array."""
    for op, rest, number in steps:
        if isinstance(base, TensorCore):
            base = dispatch.apply(op, [base, *rest])
        else:
            base = dispatch.apply_raw(op, [base, *rest])
        if number >= 0:
            base = base[number]
    return base


def regenerate(view: Tensor, asked: bool) -> None:
    """The memory of a view was changed elsewhere, or unrecorded: find the view's node anew.

    Where nothing is recorded the node can wait, unless it is `asked` for.
    """
    extras = view.extras
    assert extras is not None and extras.base is not None and extras.counter is not None
    base: Any = extras.base
    if base.layer is not None and not base.layer.level.ended:
        follow(view, base)
    immutable = not backend_of(base.array).mutable
    if not asked and not is_recording():
        if immutable:
            view.replace_array(replay(base.array, extras.steps))
        return
    if base.needs_grad or view.node is not None:  # or else it is a leaf of its own, and stays one
        if extras.creation != DEFAULT_VIEW:
            raise refusal(view, extras.creation, "its base or another view of its base has been")
        settings = current()
        try:
            # Modes are told of what the program does, and not of this.
            set_current(replaced(settings, {"modes": (), "beneath": False, "grad_enabled": True}))
            fresh = replay(base, extras.steps)
        finally:
            set_current(settings)
        old, old_number = view.node, view.output_number
        view.node, view.output_number = fresh.node, fresh.output_number
        view.needs_grad = fresh.needs_grad
        move_retain_grad(view, old, old_number)
        if immutable:
            view.replace_array(fresh.array)
    elif immutable:
        view.replace_array(replay(base.array, extras.steps))
    extras.view_version = extras.counter.value


def follow(view: Tensor, base: Tensor) -> None:
    """The base was changed inside a transform: what it holds now, the view shows."""
    extras = view.extras
    assert extras is not None and base.layer is not None
    if view.layer is None or view.layer.level.number <= base.layer.level.number:
        layer = replay(renewed(base), extras.steps).layer
        if layer is not None:
            view.layer = layer
            view.special = True
            if base.layer.borrowed:
                layer.borrowed = True
                layer.level.borrowed.append(view)


def refusal(view: Tensor, creation: int, what: str) -> RuntimeError:
    """Why a view of this kind can't be changed."""
    if creation in (MULTI_OUTPUT_VIEW, CUSTOM_VIEW):
        name = "a function" if view.node is None else view.node.name().partition("Backward")[0]
        reason = "was created inside a custom Function, whose backward does not know of the change"
        if creation == MULTI_OUTPUT_VIEW:
            reason = "is the output of a function that returns multiple views"
        return RuntimeError(
            f"Output {view.output_number} of {name} is a view and {what} modified inplace. This "
            f"view {reason}; use the out-of-place form of the change instead, or clone the view."
        )
    made = {NO_GRAD_VIEW: "in no_grad mode", INFERENCE_VIEW: "in inference mode"}[creation]
    return RuntimeError(
        f"A view was created {made} and {what} modified inplace with grad mode enabled, which is "
        "ambiguous: make the view and the change both inside that mode, or both outside; or clone "
        "the view first."
    )


def check_inplace(
    op_name: str,
    target: Tensor,
    constant: bool = False,
    recorded: bool = False,
    rewrites: bool = False,
) -> None:
    """Refuse an in-place change that autograd can't follow, before anything is touched.

    A `constant` written everywhere may meet a place twice, and what `rewrites` may, with a warning;
    `recorded` says that an operand needs a gradient.
    """
    recording = is_recording()
    if target.inference and not current().inference:
        raise RuntimeError(
            f"{op_name}(): Inplace update to inference tensor outside InferenceMode is not "
            "allowed. Clone it first to get a normal tensor."
        )
    array = target.array
    if type(array) is NDARRAY and not array.flags.writeable:
        raise RuntimeError(f"{op_name}(): the tensor's memory is read-only; clone() it first")
    if not backend_of(array).mutable and target.extras is not None:
        if target.extras.base is not None:  # its strides are those that NumPy would give it
            shadow = numpy_backend.xp.zeros(target.extras.base.array.shape, "bool")
            array = replay(shadow, target.extras.steps)
    if not constant and hasattr(array, "strides") and array.size:
        for size, stride in zip(array.shape, array.strides):
            if stride == 0 and size > 1:
                if rewrites and not (recording and (recorded or target.needs_grad)):
                    warnings.warn(
                        f"{op_name}() on an expanded tensor is deprecated: more than one element "
                        "refers to a single memory location; clone() it first",
                        stacklevel=2,
                    )
                    break
                raise RuntimeError(
                    f"{op_name}(): unsupported operation: more than one element of the written-to "
                    "tensor refers to a single memory location; clone() it first"
                )
    if recording:
        check_history(op_name, target, recorded)


def check_history(op_name: str, target: Tensor, recorded: bool) -> None:
    """Refuse to change a leaf, or a view that can't be made again."""
    extras = target.extras
    base = None if extras is None else extras.base
    if base is not None and extras is not None and extras.creation != DEFAULT_VIEW:
        if base.needs_grad or target.needs_grad or recorded:
            raise refusal(target, extras.creation, "is being")
    leaf = target.needs_grad and target.node is None
    view_of_leaf = base is not None and base.needs_grad and base.node is None
    if leaf or view_of_leaf:
        what = "a leaf Variable" if leaf else "a view of a leaf Variable"
        raise RuntimeError(
            f"{op_name}(): {what} that requires grad is being used in an in-place operation. Use "
            "the out-of-place form, or change it under no_grad()."
        )
    if recorded and not target.needs_grad:
        for derivative in derivatives.get():
            if derivative.captures(target):
                raise RuntimeError(
                    f"{op_name}(): inside {derivative.name} it would mutate a captured Tensor: one "
                    "from outside the function, changed by what depends on its inputs, would have "
                    "a history that ends with the transform. Let it be an argument, or clone() it"
                )


def alias_of(tensor: Tensor, copy: bool) -> Tensor:
    """The tensor as it is now, for a node to refer to: the tensor itself is about to change."""
    array = backend_of(tensor.array).copy(tensor.array) if copy else tensor.array
    before = Tensor(array, AS_IS)
    tensor.counter()  # made now, so that the two share it
    before.needs_grad = tensor.needs_grad
    before.node, before.output_number = tensor.node, tensor.output_number
    if copy:
        before.rare().counter = VersionCounter()  # memory of its own, that nobody changes
    else:
        before.extras = tensor.extras
    if before.node is None and before.needs_grad:
        before.node = edge_node(tensor)
    return before


def draw_in_place(op: "Op", values: list[Any], function: Any) -> Any:
    """Fill a tensor by chance inside transforms; those newer than it need not know more of it."""
    levels = open_levels.get()
    top = newest(dispatch.tensors_in(values))
    for level in levels:
        level.check_draw_in_place(op.draws, values[0])
    with Below(1 if top is None else top.level.number + 1):
        return apply_inplace(op, values, function, checked=True)


def apply_inplace(op: "Op", values: list[Any], function: Any = None, checked: bool = False) -> Any:
    """Run an op and put its result where its first argument is; subclasses see `function`."""
    if op.draws and not checked and open_levels.get():
        return draw_in_place(op, values, function)
    target: Tensor = values[0]
    if (op.mutate is not None or op.lane <= dispatch.BINARY) and mutate_plainly(op, values):
        return target
    settings = current()
    tensors = dispatch.tensors_in(values)
    if settings.functions:
        kinds = dispatch.kinds_of(tensors)
        return by_mode(settings, function or op.changer.as_method(), kinds, *op.spelled(values))
    if settings.tracing is not None:
        settings.tracing.lift_all(tensors)
    if settings.watchers:
        return dispatch.watched(function or op.changer, values, settings)
    for tensor in tensors:
        if tensor.extras is not None:
            tensor.refresh()
        if tensor.special:
            top = newest(tensors)
            if top is not None and not (settings.overrides and is_overridden(tensor)):
                return change_in_layer(op, values, top, settings)
            if tensor.special and settings.overrides:
                return override(op, function or op.changer.as_method(), values, tensors)
    if op.view:
        return become_view(op, values, target)
    given = values
    if op.dims:
        values = op.counted_from_end(values)
    recording = is_recording() and any(needs(v) for v in values)
    check_inplace(op.name + "_", target, op.constant, recording and bool(op.inputs), op.rewrites)
    backend = common_backend(op, tensors)
    if backend is not backend_of(target.array):
        raise RuntimeError(f"{op.name}_(): the tensor to change is on another device")
    before: Tensor | None = None
    if recording and (op.inputs or target.needs_grad):
        keeps = 0 in op.plan((1 << len(op.inputs)) - 1).values
        before = alias_of(target, keeps)
    refuse_shared(op, values)
    before_change(target)
    kept: list[Any] | None = None
    if settings.modes:
        if before is not None:
            kept = to_keep(op, values, settings)
            show_copy(op, values)
        change_below(op, given, settings, kept)
    else:
        write_result(op, values, given, target, backend)
    if before is None:
        target.counter().bump()
        if settings.intermediates is not None:
            settings.intermediates.extend(op, values, [target])
    else:
        # As another operand the target is found changed in backward, as in PyTorch.
        rest = [alias_of(target, False) if v is target else v for v in values[1:]]
        remember_change(op, [before, *rest], target, kept)
    if before is None:
        settle_view(target)
    return target


def show_copy(op: "Op", values: list[Any]) -> None:
    """Let modes see that a recorded change is to a tensor of which backward wants a copy."""
    needed = sum(1 << i for i, place in enumerate(op.inputs) if needs(values[place]))
    if 0 in op.plan(needed).values:
        upper.copied(op, values[0])


def change_below(
    op: "Op", values: list[Any], settings: Settings, kept: list[Any] | None = None
) -> None:
    """Let a mode change the first argument; that it is changed once more is counted outside."""
    counter = values[0].counter()
    version = counter.value
    dispatch.asked_below(settings, True, op, values, kept)
    counter.value = version


def change_in_layer(op: "Op", values: list[Any], top: Any, settings: Settings) -> Tensor:
    """The same inside a transform: the result is computed aside, and put where the target is.

    Each level below notices the change by itself, since it is one to a tensor of its own.
    """
    if top.wraps:
        return change_wrapped(op, values, top, settings)
    target: Tensor = values[0]
    bare = top.bare(values)
    if bare is not None:
        below: Tensor = apply_inplace(op, bare)
        if below is not target:
            target.replace_array(below.array)
            if target.counter() is not below.counter():
                target.counter().bump()
        return target
    name = op.name + "_"
    recording = is_recording() and any(needs(v) for v in values)
    if recording:
        check_history(name, target, bool(op.inputs))
    top.adopt(name, values)
    before = target
    if is_recording() and 0 in op.plan((1 << len(op.inputs)) - 1).values:
        before = renewed_with_history(target)
        before.layer = target.layer.copied()
    elif recording:
        before = renewed_with_history(target)
    result: Tensor = dispatch.apply(op, [before, *values[1:]])
    if isinstance(result, (tuple, list)):
        raise RuntimeError(f"{name}(): an op with several results has no in-place form")
    if op.view:
        target.layer = result.layer
        target.replace_array(result.array)
    else:
        check_result(name, target, result.array)
        before_change(target)
        top.store(target, result)
    target.counter().bump()
    if result.node is not None:
        settle(rebase(target, result.node, result.output_number), current())
        if isinstance(result.node, OpNode):  # it keeps what is there after the change
            result.node.watches().version = target.counter().value
    else:
        settle_view(target)
    return target


def is_overridden(tensor: Tensor) -> bool:
    """Whether the class of a tensor in a layer wants to see calls before they are recorded."""
    return tensor.layer is not None and bool(tensor.layer.overridden)


def change_wrapped(op: "Op", values: list[Any], top: Any, settings: Settings) -> Tensor:
    """The same where a class answers the calls on its instances: it makes the change itself."""
    target: Tensor = values[0]
    recording = is_recording() and any(needs(v) for v in values)
    before: Any = None
    if recording:
        check_history(op.name + "_", target, bool(op.inputs))
        before = renewed_with_history(target)
        if 0 in op.plan((1 << len(op.inputs)) - 1).values:
            whole: Any = target.detach()
            copy = whole.clone()
            copy.needs_grad = before.needs_grad
            copy.node, copy.output_number = before.node, before.output_number
            before = copy
    before_change(target)
    if settings.modes:
        change_below(op, values, settings)
    else:
        top.change(op, values)
    if op.view:  # the class changes what its instance holds, not how that looks from outside
        target.replace_array(dispatch.apply_raw(op, [target.array, *values[1:]]))
    if before is None:
        target.counter().bump()
        settle_view(target)
    else:
        remember_change(op, [before if v is target else v for v in values], target)
    return target


def renewed_with_history(tensor: Tensor) -> Tensor:
    """The tensor as it is now, at its place in the graph, in the same layer."""
    now: Any = renewed(tensor)
    now.needs_grad = tensor.needs_grad
    now.node, now.output_number = edge_node(tensor), tensor.output_number
    return now  # type: ignore[no-any-return]  # made by `upper.tensor`


def settle_view(target: Tensor) -> None:
    """A view was changed and nothing recorded: its node, if there is none to find, still holds."""
    extras = target.extras
    if extras is not None and extras.base is not None:
        if not extras.base.needs_grad and target.node is None:
            extras.view_version = target.counter().value


def mutate_plainly(op: "Op", values: list[Any]) -> bool:
    """Change an ordinary NumPy tensor by others of its shape, where nothing is recorded.

    False, and nothing is touched, if the call is not of this kind.
    """
    target = values[0]
    settings = current()
    if not settings.plain or not isinstance(target, Tensor):
        return False
    if target.special or target.inference or (target.needs_grad and settings.recording):
        return False
    spec = target.spec()
    extras = target.extras
    if not spec.short or (extras is not None and extras.base is not None):
        return False
    arrays: list[Any] = [target.array]
    count = len(values)
    if op.mutate is None:  # one function of NumPy, which knows of no options
        count = op.required
        for i in range(count, len(values)):
            if values[i] is not op.defaults[i]:
                return False
    for value in values[1:count]:
        if isinstance(value, Tensor):
            theirs = value.extras
            if value.special or (value.needs_grad and settings.recording):
                return False
            if theirs is not None and theirs.base is not None:
                return False
            other = value.spec()
            if other is not spec and (
                not other.short or other.dtype is not spec.dtype or other.shape != spec.shape
            ):
                return False
            arrays.append(value.array)
        elif type(value) is float or type(value) is int:
            arrays.append(value)
        else:
            return False
    flags = target.array.flags
    if not flags.c_contiguous or not flags.writeable:
        return False
    if count > 1:
        refuse_shared(op, values)
    try:
        if op.mutate is None:
            op.direct(*arrays, out=target.array)
        elif not written_by_loop(op, arrays):
            op.mutate(dispatch.NUMPY, *arrays)
    except Exception as error:
        raise complaint(op, arrays, error)
    target.counter().bump()
    return True


def written_by_loop(op: "Op", arrays: list[Any]) -> bool:
    """Let a loop of the wheel change the first array; with usual options NumPy is faster."""
    if op.fused is None or not op.diagonal:
        return False
    for i in range(op.required, len(arrays)):
        if arrays[i] is not op.defaults[i]:
            return op.fused.write(arrays, arrays[0])
    return arrays[0].dtype.itemsize == 2 and op.fused.write(arrays, arrays[0])


def restride(
    target: Any = None, size: Any = None, stride: Any = None, offset: Any = None, *more: Any
) -> bool:
    """Show the memory of an ordinary NumPy tensor in another pattern, where nothing is recorded.

    False, and nothing is touched, if the call is not of this kind. The way of all views takes six
    times as long, most of it for the record that this one does not need.
    """
    settings = current()
    if not settings.plain or type(target) is not Tensor or target.inference or target.needs_grad:
        return False
    if more or not isinstance(size, (tuple, list)) or not isinstance(stride, (tuple, list)):
        return False
    extras = target.extras
    if target.special or type(target.array) is not NDARRAY:
        return False
    if extras is not None and extras.base is not None:
        return False
    array = target.array
    whole = array if extras is None or extras.origin is None else extras.origin
    owner = array
    while type(owner.base) is NDARRAY:
        owner = owner.base
    if not array.flags.writeable or not owner.flags.c_contiguous:
        return False
    if whole is not owner and not whole.flags.c_contiguous:
        return False
    width: int = array.itemsize
    start = 0 if offset is None else offset
    if type(start) is not int or start < 0 or len(size) != len(stride):
        return False
    if offset is None and array is not whole:
        start = address(array) - address(whole)
    else:
        start *= width
    reach = start + width
    steps: list[int] = []
    for count, step in zip(size, stride):
        if type(count) is not int or type(step) is not int or count < 1 or step < 0:
            return False
        steps.append(step * width)
        reach += (count - 1) * step * width
    if reach > whole.nbytes:
        return False
    if whole is not owner:
        start += address(whole) - address(owner)
    if extras is None or extras.origin is None:
        target.rare().origin = whole
    target.replace_array(NDARRAY(tuple(size), array.dtype, owner, start, tuple(steps)))
    target.counter().bump()
    return True


def become_view(op: "Op", values: list[Any], target: Tensor) -> Tensor:
    """The in-place form of a view op, such as `unsqueeze_`: a tensor shows its memory otherwise."""
    check_inplace(op.name + "_", target, constant=True)
    before_change(target)
    rest = values[1:]
    source = alias_of(target, False)
    whole = beginning(target)
    settings = current()
    if settings.modes:
        shown = shown_below(op, values, source, settings)
    else:
        shown = dispatch.apply(op, [source, *rest])
    target.replace_array(shown.array)
    if shown.node is not None:
        set_history(target, shown.node, shown.output_number)
    counter = target.counter()
    counter.bump()
    extras = target.rare()
    if extras.base is None:
        extras.origin = whole
    else:
        step = (op, tuple(rest), -1)
        extras.steps = extended(extras.steps, step, extras.base, target)
        if shown.node is not None:
            extras.view_version = counter.value
        else:
            settle_view(target)
    return target


def shown_below(op: "Op", values: list[Any], source: Tensor, settings: Settings) -> Tensor:
    """Let a mode make a tensor show its memory otherwise; it is not told of the graph."""
    extras = values[0].extras
    steps = None if extras is None else extras.steps
    change_below(op, values, settings)
    if extras is not None and steps is not None:
        extras.steps = steps
    try:
        set_current(replaced(settings, {"modes": ()}))
        shown: Tensor = dispatch.apply(op, [source, *values[1:]])
    finally:
        set_current(settings)
    return shown


def refuse_shared(op: "Op", values: list[Any]) -> None:
    """Refuse an operand that shares memory with the first, which is written, where it may not."""
    if not op.aligned and not op.apart:
        return
    target = values[0]
    counter = None if target.extras is None else target.extras.counter
    if counter is None and not op.apart:
        return
    read = [values[i] for i in op.apart if i] if op.apart else values
    for tensor in dispatch.tensors_in(read):
        if tensor is target:
            if not op.apart:
                continue
        elif counter is None or tensor.extras is None or tensor.extras.counter is not counter:
            continue
        if op.apart:
            if tensor.array.dtype is BOOLS and not any(tensor is value for value in values[1:]):
                continue  # a mask within an index, which is counted before anything is written
            shared = numpy_backend.overlap(target.array, tensor.array)
        else:
            shared = numpy_backend.partly_overlap(target.array, tensor.array)
        if shared:
            raise RuntimeError(
                f"{op.name}_(): unsupported operation: an operand and the written-to tensor share "
                "some of their memory; clone() the operand first"
            )


def same_memory(tensor: Tensor, other: Tensor) -> bool:
    """Whether two tensors are one, or show the same memory."""
    if tensor is other:
        return True
    if tensor.extras is None or other.extras is None:
        return False
    return tensor.extras.counter is not None and tensor.extras.counter is other.extras.counter


def write_result(
    op: "Op", values: list[Any], given: list[Any], target: Tensor, backend: Any
) -> None:
    """Compute an op into the memory of its first argument; errors name arguments as `given`."""
    raw_values = [unwrapped(value) for value in values]
    arrays = promoted(op, values, raw_values, backend)
    own = type(target.array) is NDARRAY and arrays[0] is target.array
    usual = all(a is d for a, d in zip(arrays[op.required :], op.defaults[op.required :]))
    try:
        if own and written_by_loop(op, arrays):
            return
        if op.mutate is not None and backend.mutable and arrays[0] is target.array:
            op.mutate(backend.xp, target.array, *arrays[1:])
            return
        short = op.lane in (dispatch.UNARY, dispatch.BINARY)
        # For other types a forward does more: it refuses a division by 0, or to order complex ones.
        kind = target.array.dtype
        own = own and (not op.looped or kind is F32 or kind is F64)
        if short and own and usual and kind.kind not in "biucW":
            op.direct(*arrays[: op.required], out=target.array)
            return
        out = dispatch.run_forward(op, backend.xp, arrays)
    except Exception as error:
        raise complaint(op, dispatch.as_given(op, arrays, given), error)
    if isinstance(out, (tuple, list)):
        raise RuntimeError(f"{op.name}_(): an op with several results has no in-place form")
    out = backend.asarray(out)
    store(op.name + "_", target, out, backend)


def store(name: str, target: Tensor, out: Any, backend: Any) -> None:
    """Put values into a tensor's memory."""
    check_result(name, target, out)
    if backend.mutable:
        target.array[...] = out
        return
    xp = backend.xp
    value = xp.broadcast_to(out, target.array.shape).astype(target.array.dtype)
    extras = target.extras
    if extras is not None and extras.base is not None:
        base = extras.base
        base.replace_array(scattered(base.array, extras.steps, value))
    target.replace_array(value)
    tracing = current().tracing
    if tracing is not None:
        tracing.follow(target)


def check_result(name: str, target: Tensor, out: Any) -> None:
    """Refuse a result that can't be put where a tensor is, by its data type or shape."""
    kind, own = from_numpy_dtype(out.dtype), from_numpy_dtype(target.array.dtype)
    if not can_cast(kind, own):
        raise RuntimeError(
            f"{name}(): result type {kind.name} can't be cast to the desired output type {own.name}"
        )
    if out.shape != target.array.shape:
        if not broadcasts_to(out.shape, target.array.shape):
            raise RuntimeError(
                f"{name}(): output with shape {list(target.array.shape)} doesn't match the "
                f"broadcast shape {list(out.shape)}"
            )


def scattered(base: Any, steps: tuple[Any, ...], value: Any) -> Any:
    """base with the part its steps show replaced by value, for arrays that can't be changed."""
    xp = backend_of(base).xp
    if value.dtype != base.dtype:  # the real or imaginary part of a complex base
        return base + transposed(base, steps, value - replay(base, steps))
    places = replay(xp.arange(base.size).reshape(base.shape), steps)
    flat = xp.updated(base.reshape(-1), places.reshape(-1), value.reshape(-1))
    return flat.reshape(base.shape)


def transposed(base: Any, steps: tuple[Any, ...], piece: Any) -> Any:
    """The adjoint of the view operations: piece in its place, zeros elsewhere.

    base and piece are raw arrays, or both Tensors, which records the work.
    """
    recorded = isinstance(piece, TensorCore)
    start: Any = base
    if not isinstance(base, TensorCore) or base.layer is None or not base.layer.wraps:
        start = upper.tensor(base.array if isinstance(base, TensorCore) else base)
    else:  # its class alone knows what a view of it shows
        start = renewed(base)
    start.needs_grad = True
    settings = current()
    try:
        if settings.beneath:
            set_current(replaced(settings, {"beneath": False}))
        change_grad_enabled(True)
        end = replay(start, steps)
    finally:
        set_current(settings)
    node, number = end.node, end.output_number
    while node is not None and node.edge_count > 0:
        grads = [None] * node.output_count()
        grads[number] = piece
        piece = node.apply(grads, recorded)[0]
        following, number = node.next0, node.nr0
        assert following is not None
        piece = conform(following, number, piece)
        node = following
    return piece


def remember_change(
    op: "Op", values: list[Any], target: Tensor, kept: list[Any] | None = None
) -> None:
    """The autograd half of an in-place change.

    The node is made before the version is counted up: an operand that shares the memory, and is
    needed for backward, is then found changed.
    """
    counter = target.counter()
    if not is_floating(target.array):
        counter.bump()
        return
    extras = target.extras
    base: Any = None if extras is None else extras.base
    if base is not None:
        values[0].needs_grad = values[0].needs_grad or base.needs_grad
        if values[0].needs_grad and values[0].node is None:
            values[0].node = edge_node(target) or _Detached(target)
    node: Node | None = recorded_change(op, values, target)
    if kept:
        keep_shown(node, kept)
    counter.bump()
    if node is not None:
        made = rebase(target, node, 0)
        settle(made, current())


def recorded_change(op: "Op", values: list[Any], target: Tensor) -> Node | None:
    """The node of an in-place change of `target`; None if nothing needs a gradient."""
    if not op.inputs:
        return Forgotten(op, values[0])
    changed: Any = renewed(target)
    node = record(op, values, [changed], False)
    if node is None:
        return None
    counter = target.counter()
    node.watch(0, counter)
    watched = node.watches()
    watched.version = counter.value + 1
    changed.rare().counter = counter
    pairs = current().saved_hooks
    if pairs:
        pack_all(node, pairs, [changed])
        if node.packed:
            node.result.version = watched.version
    return node


class Forgotten(Node):
    """The backward of an in-place change that has no derivative, such as `eq_`: zeros."""

    def __init__(self, op: "Op", before: Tensor) -> None:
        super().__init__(next_sequence_number())
        self.op = op
        self.spec = before.spec()
        self.add_edge(edge_node(before), before.output_number)
        mark(self, ANY_DEPTH)

    def name(self) -> str:
        """PyTorch's name of this step."""
        name = self.op.node_name
        found: str = name if isinstance(name, str) else f"{self.op.name.capitalize()}Backward0"
        return found

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        spec = self.spec_of(0)
        return [backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype)]


class _Detached(Node):
    """Stands for the place of a view whose base had no history; nothing arrives there."""

    def __init__(self, view: Tensor) -> None:
        super().__init__(0)
        self.spec = view.spec()


def set_history(tensor: Any, node: Node, output_number: int) -> None:
    """A tensor's value now comes from `node`; retain_grad moves along, other hooks stay behind."""
    old, old_number = tensor.node, tensor.output_number
    tensor.node = node
    tensor.output_number = output_number
    tensor.needs_grad = True
    extras = tensor.extras
    if extras is None:
        return
    if extras.counter is not None:
        node.watch(output_number, extras.counter)
    move_retain_grad(tensor, old, old_number)


def move_retain_grad(tensor: Any, old: Node | None, old_number: int) -> None:
    """A tensor has another node than before: it keeps the gradient that arrives there now."""
    if tensor.node is None or old is None or old.hooks is None or not tensor.extras.retains_grad:
        return
    reference = old.hooks.retain.pop(old_number, None)
    if reference is not None:
        tensor.node.any_hooks().retain[tensor.output_number] = reference


def rebase(target: Tensor, node: Node, output_number: int, position: int = 0) -> Node:
    """Let a change of target by the step of `node` be its history, or that of its base.

    `position` is the target's place among the inputs of the step.
    """
    extras = target.extras
    base: Any = None if extras is None else extras.base
    if extras is None or base is None:
        set_history(target, node, output_number)
        return node
    copy = CopySlices(base, extras.steps, node, position)
    set_history(base, copy, 0)
    regenerate(target, True)
    return copy


class CopySlices(Node):
    """The backward of changing a view in place, as the base sees it.

    Outside the view the gradient passes; inside, it goes through the step that made the change.
    """

    def __init__(
        self, base: TensorCore, steps: tuple[Any, ...], step: Node, position: int = 0
    ) -> None:
        super().__init__(next_sequence_number())
        self.steps = steps
        self.step = step
        self.position = position  # of the view among the inputs of step
        whole: Any = base
        self.strides = whole.stride() if current().modes else None  # for those who see the pass
        if step.lane == USER:
            self.lane = USER
        self.code, self.instruction = step.code, step.instruction
        self.module_call = step.module_call
        self.spec = base.spec()
        self.add_edge(edge_node(base), base.output_number)
        for i, (following, number) in enumerate(step.edges()):
            if i != position:
                self.add_edge(following, number)

    def name(self) -> str:
        """PyTorch's name of this step."""
        return "CopySlices"

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        grad = grads[0]
        recorded = isinstance(grad, TensorCore)
        if recorded and self.strides is not None:
            found = upper.passed(self, grad, replay)
            if found is not None:
                return found  # type: ignore[no-any-return]  # a list of gradients
        mutable = recorded or backend_of(grad).mutable
        if recorded:
            grad = grad.contiguous()
        elif mutable:
            grad = grad.copy()  # ours to change, and of the base's own layout
        piece = replay(grad, self.steps)
        own = piece if recorded or not mutable else piece.copy()
        results = self.step.apply([own], create_graph)
        inside = results.pop(self.position)
        if self.step.edges()[self.position][0] is None:
            inside = None
        if recorded:
            total = grad - transposed(grad, self.steps, piece)
            if inside is not None:
                total = total + transposed(grad, self.steps, inside)
        elif mutable and shares_memory(piece, grad):
            total = grad
            piece[...] = 0 if inside is None else inside
        else:
            if inside is None:
                inside = backend_of(grad).xp.zeros(piece.shape, piece.dtype)
            total = scattered(grad, self.steps, inside)
        return [total, *results]

    def release(self) -> None:
        self.step.release()
        self.released = self.step.released

    def saved_items(self) -> list[SavedItem]:
        return self.step.saved_items()


def overwrite(target: Tensor, result: Any, name: str) -> Tensor:
    """Put a result into a tensor given as out=, resizing it if it has another shape."""
    tracing = current().tracing
    if tracing is not None:
        tracing.lift_all([target])
    check_inplace(name, target)
    before_change(target)
    value = result.array
    backend = backend_of(target.array)
    if value.shape != target.array.shape:
        if target.array.size:
            warnings.warn(
                f"{name}(): An output with one or more elements was resized, from "
                f"{tuple(target.array.shape)} to {tuple(value.shape)}; this is deprecated: give an "
                "empty tensor, or one of the right shape",
                stacklevel=2,
            )
        target.replace_array(backend.xp.empty(value.shape, target.array.dtype))
    store(name, target, value, backend)
    target.counter().bump()
    return target


class _Sharing(Sharing):
    """Views, for Tensor's methods."""

    def regenerate(self, view: Any, asked: bool) -> None:
        regenerate(view, asked)

    def overwrite(self, target: Any, result: Any, name: str) -> Any:
        return overwrite(target, result, name)


upper.sharing = _Sharing()
