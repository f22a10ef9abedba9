"""Tensor: an array with a place in the graph. Most of its methods come from the op table."""

import warnings
import weakref
from collections.abc import Iterator
from typing import Any, Final

from adjoint._base import HookTable, exchange, mypyc_attr
from adjoint.autograd.hooks import ACCUMULATE, TENSOR, RemovableHandle, register
from adjoint.autograd.node import Node, accumulator_of, expect_dtype, gradient_spec
from adjoint.autograd.provenance import INTERPRETED
from adjoint.backends import lookup
from adjoint.call.context import current, is_inference_mode_enabled
from adjoint.device import device
from adjoint.dtypes import FLOAT, category_of, dtype, from_numpy_dtype
from adjoint.tensors.core import CUT_BY_DETACH, NDARRAY, TensorCore, backend_of
from adjoint.tensors.size import Size
from adjoint.tensors.upper import renewed, upper

# Tensor(array, AS_IS) is a tensor on the array itself; Tensor(array) has its values in the default
# floating type, as PyTorch's has, and is what programs write.
AS_IS: Final = True  # a size is no bool; and it costs compiled code nothing


@mypyc_attr(allow_interpreted_subclasses=True)
class Tensor(TensorCore):
    """An n-dimensional array of one data type, that records what is done with it."""

    prepared: bool = False

    def __init__(self, array: Any = None, size: Any = None, *sizes: Any) -> None:
        if size is AS_IS and type(self) is Tensor and type(array) is NDARRAY:
            self.array = array  # the way of every result; defaults do the rest
            return
        if type(self) is not Tensor and self.prepared:
            return  # a subclass's __new__ has made it already, or ours (tensors/methods.py)
        if size is None and isinstance(array, Tensor):
            shown = upper.operators.aliased(array, type(self))
            super().__init__(shown.array)
            self.take_over(shown)
            return
        if size is not AS_IS:  # a program's own call
            array = upper.operators.from_data(array, sizes if size is None else (size, *sizes))
        elif type(array) is not NDARRAY:
            backend = backend_of(array)
            if type(array) is not backend.array_type:
                array = backend.asarray(array)
        super().__init__(array)
        self.prepared = True
        if type(self) is not Tensor:
            self.special = wants_calls(type(self))
            if upper.born is not None:
                upper.born(self)

    def take_over(self, shown: "Tensor") -> None:
        """Have the history, and what lies below, of a tensor on the same array."""
        self.prepared = True
        own = type(self) is not Tensor and wants_calls(type(self))
        self.special = own or shown.layer is not None
        self.layer = shown.layer
        self.node, self.output_number = shown.node, shown.output_number
        self.needs_grad, self.extras = shown.needs_grad, shown.extras
        if shown.inference:
            self.mark_inference()
        if upper.born is not None and shown.layer is None and type(self) is not Tensor:
            upper.born(self)

    # ---- what it is ----

    @property
    def shape(self) -> Any:
        """The size of each dimension."""
        return tuple.__new__(Size, self.current_array().shape)  # known to hold ints

    @property
    def dtype(self) -> dtype:
        """The data type of the elements."""
        return from_numpy_dtype(self.array.dtype)

    @property
    def device(self) -> device:
        """Where the elements are."""
        where: device = backend_of(self.array).device(self.array)
        return where

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        number: int = self.array.ndim
        return number

    @property
    def is_leaf(self) -> bool:
        """Whether its gradient ends here: it was made by the user, or needs no gradient."""
        if self.extras is not None:
            self.refresh(True)
        return self.node is None

    @property
    def grad_fn(self) -> Node | None:
        """The node that takes its gradient further; None for a leaf."""
        if self.extras is not None:
            self.refresh(True)
        return None if self.node is None else self.node.shown()

    @property
    def output_nr(self) -> int:
        """Which of its node's outputs it is."""
        return self.output_number

    @property
    def _version(self) -> int:
        return self.version()

    @property
    def _base(self) -> Any:
        return None if self.extras is None else self.extras.base

    def _is_view(self) -> bool:
        return self._base is not None

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self.inference

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for it."""
        if self.layer is not None and not self.needs_grad and not self.layer.level.fades:
            return any(tensor.requires_grad for tensor in self.layer.below())
        if self.needs_grad or self.extras is None or self.extras.base is None:
            return self.needs_grad
        return self.extras.base.needs_grad

    @requires_grad.setter
    def requires_grad(self, value: Any) -> None:
        if type(value) is not bool:
            raise RuntimeError(f"requires_grad must be a bool, not {type(value).__name__}")
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> "Tensor":
        """Start or stop computing gradients for a leaf."""
        if type(requires_grad) is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if self.node is not None:
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad and category_of(self.array.dtype) < FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients; this one "
                f"is {self.dtype.name}: convert it with .to(adjoint.float32) first"
            )
        if requires_grad and self.inference and not is_inference_mode_enabled():
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed; clone() it first"
            )
        tracing = current().tracing
        if tracing is not None:
            tracing.lift(self)  # as it was before
        self.needs_grad = bool(requires_grad)
        return self

    @property
    def grad(self) -> Any:
        """The gradient that backward has accumulated for it."""
        if self.gradient is None and self.node is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed: "
                "backward fills it only after retain_grad()",
                stacklevel=2,
            )
        tracing = current().tracing
        if tracing is not None:
            tracing.lift(self)
        return self.gradient

    @grad.setter
    def grad(self, value: Any) -> None:
        tracing = current().tracing
        if tracing is not None:
            tracing.lift_all([each for each in (self, value) if isinstance(each, Tensor)])
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got {type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign a tensor as its own grad")
            if value.array.shape != self.array.shape:
                raise RuntimeError(
                    f"assigned grad has data of a different size: {list(value.array.shape)} for a "
                    f"tensor of shape {list(self.array.shape)}"
                )
            spec = gradient_spec(self)
            if value.array.dtype != spec.dtype and not spec.loose:
                raise RuntimeError(
                    "assigned grad has data of a different type: attempting to assign a gradient "
                    f"with dtype {value.dtype.name} to a tensor with grad_dtype "
                    f"{from_numpy_dtype(spec.dtype).name}; convert it, or set grad_dtype"
                )
            if type(value.array) is not type(self.array) and value.device != self.device:
                raise RuntimeError(
                    f"assigned grad is on {value.device}, the tensor on {self.device}; move it "
                    "there first"
                )
        self.gradient = value

    @property
    def grad_dtype(self) -> Any:
        """The data type of a leaf's gradient: its own unless set; None if gradients stay as made.

        Gradients that backward brings are cast to it, and one that is assigned must have it.
        """
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors")
        spec = gradient_spec(self)
        return None if spec.loose else from_numpy_dtype(spec.dtype)

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if value is not None and not isinstance(value, dtype):
            raise RuntimeError(f"grad_dtype must be a dtype or None, got {type(value).__name__}")
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors")
        kind = None if value is None else value.numpy_dtype
        old = self.gradient
        if old is not None and kind is not None and old.array.dtype != kind:
            raise RuntimeError(
                f"Cannot set grad_dtype to {from_numpy_dtype(kind).name} because there is already "
                f"a gradient with dtype {from_numpy_dtype(old.array.dtype).name}; set .grad to "
                "None first"
            )
        expect_dtype(self, kind)

    # ---- memory shared with others ----

    def up_to_date(self) -> None:
        """See refresh; free for the many tensors that have nothing rare about them."""
        if self.extras is not None:
            self.refresh()

    def refresh(self, asked: bool = False) -> None:
        """If this is a view whose memory was changed elsewhere, find its node anew."""
        extras = self.extras
        if extras is not None and extras.base is not None and extras.counter is not None:
            if extras.counter.value != extras.view_version:
                upper.sharing.regenerate(self, asked)

    def current_array(self) -> Any:
        """The array, made anew if it is a view whose library can't share memory."""
        if self.extras is not None and type(self.array) is not NDARRAY:
            self.refresh()
        return self.array

    def concrete_array(self) -> Any:
        """The array for those who read its values; a transform that has none refuses here."""
        if self.layer is not None:
            return self.layer.values(self)
        tracing = current().tracing
        if tracing is not None:
            tracing.refuse_value(self)
        return self.current_array()

    def overwrite(self, result: Any, name: str) -> "Tensor":
        """Become the result of a call with out=self."""
        shown: Tensor = upper.sharing.overwrite(self, result, name)
        return shown

    def whole_array(self) -> Any:
        """The array whose first element storage offsets count from; None if it is its own."""
        extras = self.extras
        if extras is None or extras.base is None:
            return None if extras is None else extras.origin
        beyond = extras.base.extras
        return extras.base.array if beyond is None or beyond.origin is None else beyond.origin

    def shared(self) -> "Tensor":
        """A tensor without history on the same memory, counting versions together."""
        other: Tensor = renewed(self)  # type: ignore[assignment]  # as `upper.tensor` makes them
        rare = other.rare()
        rare.counter = self.counter()
        rare.origin = self.whole_array()
        other.inference = self.inference
        tracing = current().tracing
        if tracing is not None:
            tracing.share(self, other)
        return other

    def detach(self) -> "Tensor":
        """The same values without history; in-place changes to either are seen by both."""
        if current().modes:
            seen = upper.seen_below("detach", self)
            if seen is not NotImplemented:  # a mode's, which may need a gradient by itself
                return seen.shared() if isinstance(seen, Tensor) and seen.needs_grad else seen
        self.current_array()
        plain = self.shared()
        if self.needs_grad:
            plain.cut = CUT_BY_DETACH
        if self.layer is not None:
            plain.layer = self.layer.detached()
            plain.special = plain.layer is not None
        elif self.special and current().overrides:
            plain = upper.operators.as_subclass(plain, type(self))
        return plain

    def detach_(self) -> "Tensor":
        """Forget how it was made; it becomes a leaf."""
        if self._is_view():
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead, or view the detached base."
            )
        self.node = None
        self.output_number = 0
        self.cut = CUT_BY_DETACH
        self.needs_grad = False
        if self.layer is not None:
            self.layer = self.layer.detached()
            self.special = self.layer is not None
        return self

    @property
    def data(self) -> "Tensor":
        """The same memory without history; changes through it go unnoticed by autograd."""
        settings = current()
        if self.layer is None and settings.tracing is None and not settings.modes:
            apart = Tensor(self.current_array(), AS_IS)
            if self.extras is not None:
                origin = self.whole_array()
                if origin is not None:
                    apart.rare().origin = origin
            if self.special and settings.overrides:
                return upper.operators.as_subclass(apart, type(self))  # type: ignore[no-any-return]
            return apart
        apart = self.detach()
        if apart is not self:  # which a mode may answer
            apart.rare().counter = None
        return apart

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"data must be set to a Tensor, got {type(value).__name__}")
        tracing = current().tracing
        if tracing is not None:
            tracing.set_data(self, value)
        if not can_become(self, value):
            kinds = [f"{each.layout} tensor on {each.device}" for each in (self, value)]  # type: ignore[attr-defined]  # attached
            raise RuntimeError(
                f"data of a {kinds[0]} can't be set to a {kinds[1]}: assign that to the name"
            )
        if value.layer is not None and value.layer.sparse:
            self.layer = value.layer
        elif self.layer is not None and not (self.layer.wraps and value_readable(self)):
            raise RuntimeError(
                f"data can't be set inside {self.layer.level.opened_at()}: use copy_() to change "
                "the values, or assign the new tensor to the name"
            )
        if category_of(value.array.dtype) < FLOAT and self.needs_grad:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point"
            )
        self.replace_array(value.array)
        origin = value.whole_array()
        if origin is not None or self.extras is not None:
            self.rare().origin = origin

    # ---- hooks ----

    def register_hook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: bool = False,
        context: bool = False,
        traceable: bool = False,
    ) -> RemovableHandle:
        """Call hook with the gradient each time it is computed; what it returns replaces it."""
        self.up_to_date()
        if not self.needs_grad:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient"
                + asked_outside(self)
            )
        node = self.node
        if node is None:
            table = self.leaf_hooks()
        else:
            tables = node.any_hooks().tensor
            found = tables.get(self.output_number)
            table = tables.setdefault(self.output_number, HookTable()) if found is None else found
        return register(table, hook, TENSOR, name, once, context, traceable)

    def leaf_hooks(self) -> HookTable:
        """The table of a leaf's hooks, made if there is none."""
        extras = self.rare()
        if INTERPRETED or extras.hooks is None:  # who has made it may not have come further yet
            accumulator = accumulator_of(self)
            made = HookTable() if extras.hooks is None else extras.hooks
            if INTERPRETED:
                exchange(extras, "hooks", None, made)
            elif extras.hooks is None:
                extras.hooks = made
            accumulator.take_hooks(extras)
        found = extras.hooks
        assert found is not None
        return found

    def register_post_accumulate_grad_hook(
        self,
        hook: Any,
        *,
        name: str | None = None,
        once: bool = False,
        context: bool = False,
        traceable: bool = False,
    ) -> RemovableHandle:
        """Call hook with the leaf once its grad has been updated."""
        if not self.needs_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self.node is not None:
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        extras = self.rare()
        if INTERPRETED or extras.post_accumulate is None:  # as in leaf_hooks
            accumulator = accumulator_of(self)
            made = HookTable() if extras.post_accumulate is None else extras.post_accumulate
            if INTERPRETED:
                exchange(extras, "post_accumulate", None, made)
            elif extras.post_accumulate is None:
                extras.post_accumulate = made
            accumulator.take_hooks(extras)
        table = extras.post_accumulate
        assert table is not None
        return register(table, hook, ACCUMULATE, name, once, context, traceable)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf in its grad."""
        self.up_to_date()
        if not self.needs_grad:
            raise RuntimeError(
                "can't retain_grad on Tensor that has requires_grad=False" + asked_outside(self)
            )
        if self.node is None:
            return
        extras = self.rare()
        extras.retains_grad = True
        self.node.any_hooks().retain[self.output_number] = weakref.ref(self)

    @property
    def retains_grad(self) -> bool:
        """Whether it is no leaf and keeps its gradient."""
        return self.node is not None and self.extras is not None and self.extras.retains_grad

    def keep_grad(self, grad: "Tensor") -> None:
        """The engine's answer to retain_grad."""
        old = self.gradient
        if old is None or (old.layer is not None and old.layer.level.ended):
            # Nothing can be added to a gradient of a batch that is over.
            whole: Any = grad
            if grad.needs_grad:
                self.gradient = grad
            elif grad.layer is not None:
                self.gradient = whole.clone()
            elif current().modes:
                self.gradient = upper.retained(grad)
            else:
                self.gradient = Tensor(backend_of(grad.array).copy(grad.array), AS_IS)
        else:
            self.gradient = old + grad

    # ---- operators ----

    def __add__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.add, self, other, 1)

    def __radd__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.add, self, other, 1)

    def __sub__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.sub, self, other, 1)

    def __rsub__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.sub, other, self, 2)

    def __mul__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.mul, self, other, 1)

    def __rmul__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.mul, self, other, 1)

    def __truediv__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.truediv, self, other, 1)

    def __rtruediv__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.truediv, other, self, 2)

    def __floordiv__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.floordiv, self, other, 1)

    def __rfloordiv__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.floordiv, other, self, 2)

    def __mod__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.remainder, self, other, 1)

    def __rmod__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.remainder, other, self, 2)

    def __pow__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.pow, self, other, 1)

    def __rpow__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.pow, other, self, 2)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, (bool, int, float, complex)):
            return NotImplemented
        return upper.calls.binary(upper.operators.matmul, self, other, 1)

    def __rmatmul__(self, other: Any) -> Any:
        if isinstance(other, (bool, int, float, complex)):
            return NotImplemented
        return upper.calls.binary(upper.operators.matmul, other, self, 2)

    def __and__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_and, self, other, 1)

    def __rand__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_and, other, self, 2)

    def __or__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_or, self, other, 1)

    def __ror__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_or, other, self, 2)

    def __xor__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_xor, self, other, 1)

    def __rxor__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.bitwise_xor, other, self, 2)

    def __lshift__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.lshift, self, other, 1)

    def __rlshift__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.lshift, other, self, 2)

    def __rshift__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.rshift, self, other, 1)

    def __rrshift__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.rshift, other, self, 2)

    def __iadd__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.add_, self, other)

    def __isub__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.sub_, self, other)

    def __imul__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.mul_, self, other)

    def __itruediv__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.truediv_, self, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.floordiv_, self, other)

    def __imod__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.remainder_, self, other)

    def __ipow__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.pow_, self, other)

    def __iand__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.bitwise_and_, self, other)

    def __ior__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.bitwise_or_, self, other)

    def __ixor__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.bitwise_xor_, self, other)

    def __ilshift__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.lshift_, self, other)

    def __irshift__(self, other: Any) -> Any:
        return upper.calls.change(upper.operators.rshift_, self, other)

    def __eq__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.eq, self, other, 1)

    def __ne__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.ne, self, other, 1)

    def __lt__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.lt, self, other, 1)

    def __le__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.le, self, other, 1)

    def __gt__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.gt, self, other, 1)

    def __ge__(self, other: Any) -> Any:
        return upper.calls.binary(upper.operators.ge, self, other, 1)

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Any:
        return upper.calls.unary(upper.operators.neg, self, True)

    def __pos__(self) -> Any:
        return upper.calls.prefixed(upper.operators.positive, self)

    def __abs__(self) -> Any:
        return upper.calls.unary(upper.operators.abs, self, True)

    def __invert__(self) -> Any:
        if category_of(self.array.dtype) >= FLOAT:
            raise TypeError(f"~ is defined on integer and boolean tensors, not {self.dtype.name}")
        return upper.calls.prefixed(upper.operators.bitwise_not, self)

    def __getitem__(self, index: Any) -> Any:
        return upper.calls.item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        upper.calls.assign(self, index, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of a Tensor can't be deleted; pick those to keep by indexing")

    # ---- as Python values ----

    def numpy_array(self) -> Any:
        """The elements as a NumPy array, whatever the backend; without a copy on the CPU."""
        return backend_of(self.array).to_numpy(self.concrete_array())

    def item(self) -> Any:
        """The one element as a Python number."""
        if self.array.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.array.size} elements cannot be converted to Scalar; "
                "use tolist(), or pick one element"
            )
        return self.one_number()

    def one_number(self) -> Any:
        """The one element as a Python number, whatever the backend."""
        if current().modes:
            seen = upper.seen_below("_local_scalar_dense", self)
            if seen is not NotImplemented:
                return seen
        array = self.concrete_array() if self.layer is None else self.layer.single(self)
        return array.item() if type(array) is NDARRAY else backend_of(array).number(array)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy_array().tolist()

    def __len__(self) -> int:
        if self.array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        length: int = self.array.shape[0]
        return length

    def __bool__(self) -> bool:
        if self.array.size != 1:
            what = "more than one value" if self.array.size else "no values"
            raise RuntimeError(
                f"Boolean value of Tensor with {what} is ambiguous; use .any() or .all()"
            )
        return bool(self.one_number())

    def number(self) -> Any:
        """The one element, for Python's own conversions, whose callers expect a ValueError."""
        if self.array.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars; this one has "
                f"{self.array.size}"
            )
        return self.item()

    def real_number(self) -> Any:
        """The one element, for conversions to what can't be complex."""
        value = self.number()
        if isinstance(value, complex):
            raise RuntimeError(
                f"the value {value} cannot be converted to a real number; take .real or abs() first"
            )
        return value

    def __float__(self) -> float:
        return float(self.real_number())

    def __int__(self) -> int:
        return int(self.real_number())

    def __complex__(self) -> complex:
        return complex(self.number())

    def __iter__(self) -> Iterator[Any]:
        if self.array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(upper.operators.unbind(self))

    def __contains__(self, element: Any) -> bool:
        if not can_operate(element):
            raise RuntimeError(
                f"a tensor contains numbers, or tensors; not a {type(element).__name__}"
            )
        return bool((self == element).any())


def asked_outside(tensor: Tensor) -> str:
    """For an error: that a gradient is needed of what lies below, but outside the transform."""
    if tensor.layer is None or not tensor.requires_grad:
        return ""
    return (
        f" inside {tensor.layer.level.opened_at()}; what needs one is outside: differentiate "
        "inside with func.grad, or do this outside"
    )


def value_readable(tensor: Tensor) -> bool:
    """Whether the array of a tensor in a layer holds its values."""
    return tensor.layer is None or tensor.layer.value_refused() is None


def read_freely(tensor: Tensor) -> bool:
    """Whether reading a tensor costs nothing: NumPy has it, and nobody else is asked."""
    return current().plain and not tensor.special and type(tensor.array) is NDARRAY


def can_become(tensor: Tensor, value: Tensor) -> bool:
    """Whether a tensor can show what another does: of one layout, with values or without."""
    own, other = tensor.layer, value.layer
    kinds = [layer.layout for layer in (own, other) if layer is not None and layer.sparse]
    if kinds:
        return len(kinds) == 2 and kinds[0] is kinds[1]
    if own is not None or other is not None or type(tensor.array) is type(value.array):
        return True
    return bool(tensor.is_meta == value.is_meta)  # type: ignore[attr-defined]  # attached


def can_operate(other: Any) -> bool:
    """Whether an operator can work with this; if not, the other operand is asked."""
    return isinstance(other, (Tensor, bool, int, float, complex)) or lookup(type(other)) is not None


def is_numpy(value: Any) -> bool:
    """Whether a value is an array of NumPy's, which stands for no number."""
    return isinstance(value, NDARRAY)


def wants_calls(kind: Any) -> bool:
    """Whether a class handles calls itself: it says how, and is not `unhandled` by it."""
    handler = getattr(kind, "__torch_function__", None)
    return handler is not None and not getattr(handler, "as_plain", False)


def plain(array: Any) -> TensorCore:
    """A tensor without history; as a function it is quicker to call than the class."""
    return Tensor(array, AS_IS)


upper.tensor = plain
