"""torch.utils._python_dispatch: who answers operations below autograd, modes and classes.

A mode is a setting of the calling context (`call.context`): below transforms and autograd it makes
each call of its block, forward and backward, and new tensors. A class with `__torch_dispatch__`
is a layer of its instances (`call.layers`), below those of transforms, and asked after modes. Both
see PyTorch's operations and overloads (`compat.aten_steps`).
"""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from adjoint.call.arguments import tensors_in
from adjoint.call.context import (
    Changed,
    Scope,
    Settings,
    current,
    replaced,
)
from adjoint.call.layers import Layer, lies_in
from adjoint.compat import dispatched_looks
from adjoint.compat.aten_forms import bound
from adjoint.compat.aten_steps import composed_products
from adjoint.compat.aten_steps.answering import (
    DISABLED,
    GROUND,
    answered,
    asking,
    below_autograd,
    beneath,
    conforming,
    refused,
    rule_of,
)
from adjoint.compat.aten_steps.asking import Answerer, Steps
from adjoint.compat.aten_steps.composed import composed
from adjoint.compat.aten_steps.handed import copied, handed, passed, retained
from adjoint.compat.aten_steps.kept import Kept, beside, kept_results
from adjoint.compat.aten_steps.optimizers import stepped
from adjoint.compat.aten_steps.recorded import stepping
from adjoint.compat.aten_steps.shown import (
    call_in_steps,
    change_in_steps,
    gradients_in_steps,
    knows_gradients,
    out_form,
    writing,
)
from adjoint.compat.dispatch_keys import EXTRA_KEYS
from adjoint.compat.dispatched_looks import asked_for
from adjoint.compat.torch_tree.ops import named, operation_of, profiler as profiler_ops
from adjoint.creation.factories import empty, empty_strided, full
from adjoint.device import device as as_device, get_default_device
from adjoint.library.custom_op import CustomOpDef
from adjoint.ops.arranging.conversion import contiguous_format, preserve_format
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import Op
from adjoint.tensors import subclass
from adjoint.tensors.pickling import attributes_of, give_state
from adjoint.tensors.subclass import unhandled
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

# ---- modes ----

# Functions that take sizes one by one, and after how many other arguments.
_BEFORE_SIZES: Final = {
    **dict.fromkeys(("empty", "ones", "rand", "randn", "zeros"), 0),
    **dict.fromkeys(("new_empty", "new_ones", "new_zeros"), 1),
}


_LOOKS: Final = ("dtype", "layout", "device", "pin_memory")
_OF_ONE_TENSOR: Final = ("lift_fresh", "_to_copy")


def _seen_below(name: str, *args: Any, **options: Any) -> Any:
    """See tensors.upper."""
    held = any(lies_in(tensor, GROUND) for tensor in tensors_in([*args]))
    if not current().modes and (DISABLED.get() or not held):
        return NotImplemented
    with asking() as ask:
        return ask(name, *args, **options)


def _seen_out(op: Op, values: list[Any], out: Any) -> Any:
    """See tensors.upper; what records, or writes several results, is not shown in one."""
    settings = current()
    tensors = tensors_in([*values, out])
    if not settings.modes and not any(lies_in(tensor, GROUND) for tensor in tensors):
        return None
    records = settings.recording and any(tensor.needs_grad for tensor in tensors)
    found = out_form(op, values) if isinstance(out, Tensor) and not records else None
    if found is None:
        return None
    function, args, kwargs = found
    with asking() as ask:
        _distinct(op, ask.answerer(function, args, {**kwargs, "out": out}), [])
    return out


def _marked(name: str, *args: Any) -> Any:
    """See tensors.upper."""
    packet = getattr(profiler_ops, name)
    with asking() as ask:
        return ask.answerer(getattr(packet, packet.overloads()[-1]), args, {})


def _show_results(node: Any) -> None:
    """Let modes see, as PyTorch's do, that a node takes what it has kept of its results."""
    if node.watched is None or node.packed or node.op.name == "true_divide":
        return  # hooks give it, or it is taken after the first of two steps
    for kept in node.watched.shown:
        _seen_below("detach", kept)


def _gradients(node: Any, grads: list[Any], wanted: list[bool]) -> list[Any] | None:
    """See tensors.upper."""
    settings = current()
    if settings.modes:
        _show_results(node)
    if not knows_gradients(node, grads):
        return None
    held = any(isinstance(grad, Tensor) and lies_in(grad, GROUND) for grad in grads)
    if not settings.modes and not held:
        return None
    kept = Kept(node, wanted)
    with stepping() as ask:
        found = gradients_in_steps(node, grads, kept, ask.answerer)
    return kept.by_rules(grads) if found is None and kept.opened else found


def _factory(
    name: str, args: tuple[Any, ...], options: dict[str, Any], read: Any = Tensor.item
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The operation that makes a new tensor, and its arguments as PyTorch writes them."""
    found = bound(name, args, {**options, "pin_memory": options.get("pin_memory", False)})
    if found is None:
        options.pop("pin_memory", None)
        return named(name), args, options
    form, given = found
    return named(name, form.overload), *form.spelled(given, read)


class TorchDispatchMode(Scope):
    """Inside its block, `__torch_dispatch__(func, types, args, kwargs)` answers every call."""

    supports_higher_order_operators: bool | None = False  # None: it sees their steps instead

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Answer a call; a mode that only looks calls func itself."""
        raise NotImplementedError(f"{type(self).__name__} defines no __torch_dispatch__")

    def call(self, op: Any, values: list[Any], kept: list[Any] | None = None) -> Any:
        """See call.dispatch.asked_below."""
        tensors = tensors_in(values)
        with beneath(tensors):
            return results(op, call_in_steps(op, values, self._answerer(kept)), tensors)

    def change(self, op: Op, values: list[Any], kept: list[Any] | None = None) -> None:
        """See call.dispatch.asked_below."""
        with beneath(tensors_in(values)):
            change_in_steps(op, values, self._answerer(kept))

    def _answerer(self, kept: list[Any] | None) -> Answerer:
        """What answers operations, and shows after each what PyTorch keeps of its results."""
        if kept is None:
            return self.answered

        def answer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            found = self.answered(function, args, kwargs)
            for number in kept_results(str(function)):
                result = found[number] if isinstance(found, (tuple, list)) else found
                if result is not None:
                    kept.append(self.answered(named("detach"), (result,), {}))
            return found

        return answer

    def answered(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the mode answers to one operation of PyTorch's."""
        tensors = tensors_in([*args, *kwargs.values()])
        kinds = tuple(dict.fromkeys(type(t) for t in tensors if lies_in(t, GROUND)))
        rule = rule_of(function, type(self))
        if rule is None:
            answer = self.__torch_dispatch__(function, kinds, args, kwargs)
        else:
            answer = rule(self, function, kinds, args, kwargs)
        if answer is not NotImplemented:
            return conforming(function, answer)
        if not kinds:
            raise refused(function, [f"mode {type(self).__name__}"])
        with self:  # which sees what the classes call
            return answered(function, args, kwargs)

    def created(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """See call.overriding.created_by: a new tensor, without what autograd is to know of it."""
        if name in _OF_ONE_TENSOR:
            kind = {"dtype": kwargs["dtype"]} if "dtype" in kwargs else {}
            return self._new(name, Steps(self.answered)(name, *args, **kind), kwargs)
        if name == "absent":  # a gradient that did not come
            return Steps(self.answered)("zeros", list(args[0].shape), **beside(args[0]))
        if name == "start":  # of a backward pass
            name, kwargs = "ones_like", {"memory_format": preserve_format}
        options = {
            key: value
            for key, value in kwargs.items()
            if key not in ("requires_grad", "out") and value is not None
        }
        before = _BEFORE_SIZES.get(name)
        if before is not None and "size" not in options:
            rest = args[before:]
            single = len(rest) == 1 and isinstance(rest[0], (tuple, list))
            args = (*args[:before], list(rest[0] if single else rest))
        if kwargs.get("out") is not None:
            return self._filled(name, args, options, kwargs["out"])
        if not name.startswith("new_") and not name.endswith("_like"):
            options["device"] = as_device(options.get("device") or get_default_device())
        answer = self.answered(*_factory(name, args, options, Steps(self.answered).read))
        return self._new(name, answer, kwargs)

    def _new(self, name: str, answer: Any, kwargs: dict[str, Any]) -> Tensor:
        """A tensor that was answered as a new one, which needs a gradient only if told so."""
        if not isinstance(answer, Tensor):
            raise RuntimeError(
                f"{type(self).__name__}.__torch_dispatch__ returned a {type(answer).__name__} for "
                f"{name}, not a Tensor"
            )
        if kwargs.get("requires_grad"):
            return answer.requires_grad_()
        return answer.shared() if answer.needs_grad else answer

    def _filled(self, name: str, args: Any, options: dict[str, Any], out: Tensor) -> Tensor:
        """A tensor that is there, with what a new one would hold."""
        rest = {key: value for key, value in options.items() if key not in _LOOKS}
        found = bound(name, args, rest)
        if found is None:
            self.answered(named(name), args, {**options, "out": out})
            return out
        form, given = found
        args, rest = form.spelled(given, Steps(self.answered).read)
        self.answered(named(name, writing(name, form.overload)), args, {**rest, "out": out})
        return out

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("modes",)

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if isinstance(inspect.getattr_static(type(self), "__torch_dispatch__"), classmethod):
            raise RuntimeError(
                f"{type(self).__name__}.__torch_dispatch__: a classmethod is not supported, please "
                "make it a plain method"
            )
        upper.gradients, upper.seen_out, upper.composed = _gradients, _seen_out, composed
        upper.handed, upper.retained, upper.copied = handed, retained, copied
        upper.passed, upper.stepped, upper.marked = passed, stepped, _marked
        upper.apart = composed_products.APART
        return replaced(outer, {"modes": (*outer.modes, self)})

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it belongs to a tool, and not to the program."""
        return False

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new mode of this class, to be entered."""
        return cls(*args, **kwargs)


def _get_current_dispatch_mode_stack() -> list[TorchDispatchMode]:
    """The modes of the calling context, the innermost last."""
    return list(current().modes)


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode of the calling context."""
    modes = _get_current_dispatch_mode_stack()
    return modes[-1] if modes else None


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is asked here; those that say so of themselves need not count."""
    modes = _get_current_dispatch_mode_stack()
    return any(include_infra_modes or not mode.is_infra_mode() for mode in modes)


def _len_torch_dispatch_stack() -> int:
    """How many modes the calling context is in."""
    return len(_get_current_dispatch_mode_stack())


# ---- classes ----


class Dispatched(Layer):
    """An instance of a class that answers calls; all of its instances share it.

    One that was made with `_make_wrapper_subclass` has no memory: its array only looks like it.
    """

    def __init__(self, kind: Any, has_memory: bool, asked: frozenset[str]) -> None:
        super().__init__(GROUND)
        self.kind = kind
        self.has_memory = has_memory
        self.asked = asked  # what the class says of instances, see dispatched_looks
        self.wraps = True
        function = _defined(kind, "__torch_function__")
        self.overridden = function is not None and function is not unhandled

    def call(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        if DISABLED.get():
            with below_autograd():
                return op.run([_bare(value) for value in values])
        tensors = tensors_in(values)
        with beneath(tensors):
            return results(op, call_in_steps(op, values, answered), tensors)

    def change(self, op: Op, values: list[Any]) -> None:
        """See Layer."""
        if DISABLED.get():
            with below_autograd():
                op.changer.run([_bare(value) for value in values])
        else:
            with beneath(tensors_in(values)):
                change_in_steps(op, values, answered)

    def said(self, function: Any, args: tuple[Any, ...]) -> Any:
        """What the class says of the looks of an instance; None if it leaves them as they are."""
        return None if DISABLED.get() else answered(function, args, {})

    def made(self, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        """See Layer."""
        if name == "start":  # of a backward pass
            name, options = "ones_like", {"memory_format": preserve_format}
        given = {k: v for k, v in options.items() if v is not None}
        if DISABLED.get():
            return named(name)(*[_bare(value) for value in args], **given)  # type: ignore[no-any-return]
        with asking() as ask:
            answer = ask.answerer(*_factory(name, args, given))
        if not isinstance(answer, Tensor):
            raise RuntimeError(
                f"{name}(): __torch_dispatch__ of {self.kind.__name__} returned a "
                f"{type(answer).__name__}, not a Tensor"
            )
        return answer

    def own(self, op: Op, values: list[Any]) -> Any:
        """See Layer: a Function sees instances as they are."""
        return op.evaluated(values)

    def renewed(self, tensor: Tensor) -> Tensor:
        """See Layer."""
        return self.made("detach", (tensor,), {})

    def detached(self) -> Layer | None:
        """See Layer; where instances are plain tensors, so is what one is without history."""
        return None if DISABLED.get() else self

    def below(self) -> list[Tensor]:
        """See Layer: what an instance holds, its class alone knows."""
        return []

    def parts(self, tensor: Tensor) -> list[Tensor]:
        """See Layer."""
        if self.has_memory:
            return [Tensor(tensor.array, AS_IS)]
        return [value for value in attributes_of(tensor).values() if isinstance(value, Tensor)]

    def values(self, tensor: Tensor) -> Any:
        """See Layer; of a single number the class is asked."""
        if self.has_memory:
            return tensor.current_array()
        if tensor.array.size != 1:
            raise RuntimeError(self.value_refused())
        number = answered(named("_local_scalar_dense"), (tensor,), {})
        return full(tensor.shape, number, dtype=tensor.dtype, device=tensor.device).array

    def value_refused(self) -> str | None:
        """See Layer."""
        if self.has_memory:
            return None
        return (
            f"a {self.kind.__name__} has no memory of its own, so that its values can't be read: "
            "read those of the tensors that it holds"
        )

    def text(self) -> str | None:
        """See Layer."""
        return None if self.has_memory else f"{self.kind.__name__}(...)"

    def reduced(self, tensor: Tensor, attributes: Any) -> Any:
        """See Layer: what an instance without memory holds is among its attributes."""
        if self.has_memory:
            return None
        looks = (tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype, str(tensor.device))  # type: ignore[attr-defined]
        return rebuilt_wrapper, (self.kind, *looks, tensor.requires_grad, attributes)


def rebuilt_wrapper(
    kind: Any, size: Any, strides: Any, dtype: Any, device: str, requires_grad: bool, held: Any
) -> Any:
    """An instance without memory from its pickle."""
    made = make_wrapper_subclass(
        kind, size, strides, dtype=dtype, device=device, requires_grad=requires_grad
    )
    give_state(made, held)
    return made


def _defined(kind: Any, name: str) -> Any:
    """What a subclass of Tensor says under a name itself, or those between it and Tensor."""
    for each in kind.__mro__[: kind.__mro__.index(Tensor)]:
        if name in vars(each):
            return getattr(kind, name)
    return None


def results(op: Any, answer: Any, given: list[Tensor]) -> Any:
    """What `__torch_dispatch__` has answered, if it is what the op gives; none is an argument."""
    if isinstance(op, CustomOpDef) or (answer is None and op.outputs is None):
        return answer  # that of a custom op is checked by the schema
    if isinstance(answer, (tuple, list)):
        found: list[Tensor] = []
        for each in answer:
            found.append(_distinct(op, each, [*given, *found]))
        if op.outputs is None:
            return tuple(found)
        if len(found) == len(op.outputs._fields):
            return op.outputs(*found)
        what = f"{len(found)} results, not {len(op.outputs._fields)}"
        raise RuntimeError(f"{op.name}(): __torch_dispatch__ returned {what}")
    if op.outputs is not None:
        what = f"a {type(answer).__name__}, not {len(op.outputs._fields)} results"
        raise RuntimeError(f"{op.name}(): __torch_dispatch__ returned {what}")
    return _distinct(op, answer, given)


def _distinct(op: Any, answer: Any, given: list[Tensor]) -> Tensor:
    """An answer that is none of the arguments, so that it can have a history of its own."""
    if not isinstance(answer, Tensor):
        raise RuntimeError(
            f"{op.name}(): __torch_dispatch__ returned a {type(answer).__name__}, not a Tensor"
        )
    return answer.shared() if any(answer is tensor for tensor in given) else answer


def _bare(value: Any) -> Any:
    """An argument as a plain tensor, lists element by element; refused if it has no memory."""
    if isinstance(value, (list, tuple)) and tensors_in([value]):
        return [_bare(element) for element in value]
    if not isinstance(value, Tensor) or not lies_in(value, GROUND):
        return value
    bare = Tensor(value.layer.values(value), AS_IS)
    bare.rare().counter = value.counter()
    return bare


_layers: Final[dict[tuple[Any, bool, frozenset[str]], Dispatched]] = {}


def dispatched(made: Any, has_memory: bool = True, asked: frozenset[str] = frozenset()) -> Any:
    """Let an instance be seen by `__torch_dispatch__` of its class, if that has one."""
    kind = type(made)
    if _defined(kind, "__torch_dispatch__") is not None:
        upper.gradients, upper.seen_out, upper.composed = _gradients, _seen_out, composed
        upper.handed, upper.apart = handed, composed_products.APART
        key = (kind, has_memory, asked)
        if key not in _layers:
            _layers[key] = Dispatched(*key)
            dispatched_looks.give(kind, asked)
        made.layer, made.special = _layers[key], True
    return made


upper.born, upper.seen_below = dispatched, _seen_below


def make_subclass(
    cls: Any,
    data: Tensor,
    require_grad: bool = False,
    *,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
) -> Any:
    """An instance of cls on the memory of data, without its history."""
    asked = asked_for(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    return dispatched(subclass.make_subclass(cls, data, require_grad), True, asked)


def make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Any:
    """An instance of cls that has the looks of a tensor and no memory; its class answers calls."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(f"cls must be a subclass of Tensor, got {cls!r}")
    if _defined(cls, "__torch_dispatch__") is None:
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    with Changed(
        {"functions": (), "watchers": (), "modes": ()}
    ):  # it is made of nothing that others see
        looks: Any
        if strides is None:
            form = memory_format or contiguous_format
            looks = empty(size, dtype=dtype, device=device, memory_format=form)
        else:
            reach = [(n - 1) * step for n, step in zip(size, strides, strict=True)]
            room = (storage_offset or 0) + sum(reach) + 1 if 0 not in tuple(size) else 0
            whole = empty_strided((max(room, 0),), (1,), dtype=dtype, device=device)
            looks = whole.as_strided(size, strides, storage_offset or 0)  # type: ignore[attr-defined]
    asked = asked_for(dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    made = dispatched(subclass.instance(cls, looks.array), False, asked)
    made.rare().origin = looks.whole_array()
    if _extra_dispatch_keys is not None:
        setattr(made, EXTRA_KEYS, _extra_dispatch_keys)
    return Tensor.requires_grad_(made) if requires_grad else made


class dispatch_disabled:
    """As a context: no modes are asked, and instances of classes are plain tensors."""

    def __enter__(self) -> None:
        self.unseen = Changed({"modes": ()})
        self.unseen.__enter__()
        self.token = DISABLED.set(True)

    def __exit__(self, *exc: object) -> None:
        DISABLED.reset(self.token)
        self.unseen.__exit__(*exc)


def undispatched(
    func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """A `__torch_dispatch__` that makes the call on the memory of instances."""
    with dispatch_disabled():
        return func(*args, **(kwargs or {}))


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """What `__torch_dispatch__` returns: the tensor changed, if `func` works in place.

    Memory is shared where the tensors that instances hold share it; nothing needs correction.
    """
    return args[0] if isinstance(operation_of(func), InplaceOp) else out


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor is made of others, and can be taken apart and put together."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """The same of a class of tensors."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that makes the calls as they are."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def any_torch_dispatch_mode_on_stack() -> bool:
    """Whether a mode is asked here."""
    return bool(current().modes)


@contextlib.contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    """As a context: the modes from outside are not asked; it gives them."""
    modes = _get_current_dispatch_mode_stack()
    with Changed({"modes": ()}):
        yield modes


@contextlib.contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[TorchDispatchMode]:
    """As a context: the innermost mode is not asked; it gives that one."""
    modes = current().modes
    if not modes:
        raise RuntimeError("_pop_mode_temporarily(): there is no mode to leave out here")
    with Changed({"modes": modes[:-1]}):
        yield modes[-1]


def transform_subclass(
    t: Any,
    callback: Callable[[str, Any], Any],
    outer_size: Any = None,
    outer_stride: Any = None,
) -> Any:
    """A tensor that is made of others, of what a function makes of each, given with its name."""
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if made.shape != size or tuple(made.stride()) != tuple(stride):
        raise RuntimeError(
            f"{type(t).__name__}.__tensor_unflatten__ made a tensor of shape {tuple(made.shape)} "
            f"and strides {tuple(made.stride())}; expected {tuple(size)} and {tuple(stride)}"
        )
    return made


@dataclass
class AliasInfo:
    """What the schema of an operation says of the memory of an argument or a result."""

    alias_set: set[str]
    is_write: bool
    name: str | None


@dataclass
class SchemaInfo:
    """The same of all of them."""

    args: list[AliasInfo]
    outs: list[AliasInfo]


def get_alias_info(func: Any) -> SchemaInfo:
    """Which arguments of an operation share memory with results, and which it changes."""
    schema = func._schema  # noqa: SLF001  # where PyTorch's overloads have it
    args = [_alias_of(each.kind, each.name) for each in schema.arguments]
    return SchemaInfo(args, [_alias_of(kind, None) for kind in schema.returns])


def _alias_of(kind: Any, name: str | None) -> AliasInfo:
    letters = {kind.alias.rstrip("!")} if kind.alias else set()
    return AliasInfo(letters, kind.alias.endswith("!") or kind.mutated, name)
