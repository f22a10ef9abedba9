"""What lies above tensors and is called from them: the path of calls, views, the operators' ops.

Calls need Tensor and Tensor needs calls, so one of the two must find the other when it runs. Each
module named here fills in its own part when it is loaded; everything else is an import.
"""

from typing import TYPE_CHECKING, Any, Final

from adjoint.tensors.core import TensorCore

if TYPE_CHECKING:
    from collections.abc import Callable

    from adjoint.ops.op import Op


class Calls:
    """The path of a call as Tensor's operators take it; see `call.short_form`."""

    def unary(self, op: "Op", a: Any, operator: bool = False) -> Any:
        """An op of one input; as an operator others know it by Tensor's."""
        raise NotImplementedError

    def prefixed(self, function: Any, a: Any) -> Any:
        """The same of a function that has no short form."""
        raise NotImplementedError

    def change(self, function: Any, a: Any, b: Any) -> Any:
        """An operator that changes its first argument by an in-place op."""
        raise NotImplementedError

    def binary(self, op: "Op", a: Any, b: Any, operator: int = 0) -> Any:
        """An op of two inputs; NotImplemented if it is an operator and can't work with one.

        An operator is 1, and 2 if the second argument is asked, the first having declined.
        """
        raise NotImplementedError

    def total(self, one: Any, other: Any) -> Any:
        """The sum of two arrays on which kernels work."""
        raise NotImplementedError

    def item(self, tensor: Any, index: Any) -> Any:
        """tensor[index]."""
        raise NotImplementedError

    def assign(self, tensor: Any, index: Any, value: Any) -> None:
        """tensor[index] = value."""
        raise NotImplementedError


class Sharing:
    """Views of a tensor's memory as Tensor's methods need them; see `tensors.views`."""

    def regenerate(self, view: TensorCore, asked: bool) -> None:
        """Find the node of a view anew."""
        raise NotImplementedError

    def overwrite(self, target: TensorCore, result: TensorCore, name: str) -> Any:
        """Put a result into a tensor."""
        raise NotImplementedError

    def shown(self, array: Any, steps: tuple[Any, ...]) -> Any:
        """The part of an array that view operations show."""
        raise NotImplementedError

    def scattered(self, array: Any, steps: tuple[Any, ...], part: Any) -> Any:
        """Another array, in which that part is replaced."""
        raise NotImplementedError


class Operators:
    """The ops behind Tensor's operators; the tables fill them in."""

    def __init__(self) -> None:
        self.add: Any = None
        self.sub: Any = None
        self.mul: Any = None
        self.truediv: Any = None
        self.floordiv: Any = None
        self.remainder: Any = None
        self.pow: Any = None
        self.matmul: Any = None
        self.bitwise_and: Any = None
        self.bitwise_or: Any = None
        self.bitwise_xor: Any = None
        self.lshift: Any = None
        self.rshift: Any = None
        self.eq: Any = None
        self.ne: Any = None
        self.lt: Any = None
        self.le: Any = None
        self.gt: Any = None
        self.ge: Any = None
        self.neg: Any = None
        self.abs: Any = None
        self.bitwise_not: Any = None
        self.getitem: Any = None
        self.positive: Any = None
        self.unbind: Any = None
        self.stack: Any = None
        self.from_data: Any = None
        self.aliased: Any = None
        self.conj_physical: Any = None
        self.as_subclass: Any = None
        self.beside_device: Any = None
        self.add_: Any = None
        self.sub_: Any = None
        self.mul_: Any = None
        self.truediv_: Any = None
        self.floordiv_: Any = None
        self.remainder_: Any = None
        self.pow_: Any = None
        self.bitwise_and_: Any = None
        self.bitwise_or_: Any = None
        self.bitwise_xor_: Any = None
        self.lshift_: Any = None
        self.rshift_: Any = None
        self.setitem_: Any = None
        self.strided_view: Any = None


def _no_batches(function: Any, tensors: list[Any]) -> list[Any]:
    raise NotImplementedError("adjoint.transforms is not loaded")


class Upper:
    """All that lies above."""

    def __init__(self) -> None:
        self.tensor: Callable[[Any], TensorCore] = TensorCore  # a Tensor on an array
        self.calls = Calls()
        self.sharing = Sharing()
        self.operators = Operators()
        # A function of tensors, called once inside a vmap over the first dimension of each.
        self.over_batch: Callable[[Any, list[Any]], list[Any]] = _no_batches
        # Answers an operation that is no op where modes or classes see it, else NotImplemented.
        self.seen_below: Any = None
        # Told of new instances of subclasses, whose class may answer calls below; there then too.
        self.born: Any = None
        # The gradients of a node in PyTorch's steps, where others see a pass; None if by its rules.
        self.gradients: Any = None
        # The first gradient of a leaf in PyTorch's steps, and one that is retained; there then too.
        self.handed: Any = None
        self.retained: Any = None
        # Shows the copy that is kept of what an op is about to change; the gradients of such a
        # change to a view in PyTorch's steps, or None if nobody sees them.
        self.copied: Any = None
        self.passed: Any = None
        # Answers a call with out= where modes or classes see it, else None; there then too.
        self.seen_out: Any = None
        # A function as PyTorch composes it, where others see its steps, else NotImplemented.
        self.composed: Any = None
        self.shown: Any = None  # answers the arguments of a call as PyTorch shows them
        self.recurrent: Any = None  # answers PyTorch's function of a kind of recurrent layers
        # Ops that are several nodes in PyTorch, taken apart where modes see a recorded call.
        self.apart: dict[str, Any] = {}
        # Whether a group of parameters makes an optimizer's step as PyTorch does, for modes to see.
        self.stepped: Any = None
        # Answers a mark of the profiler where modes see it.
        self.marked: Any = None
        # Gives an op and its rules the kernels of a GPU; see `ops.attaching`.
        self.attach_kernels: Any = None


upper: Final[Upper] = Upper()


def renewed(tensor: TensorCore) -> TensorCore:
    """Another tensor on the same array, in the same layer, without history."""
    layer = tensor.layer
    if layer is not None and layer.wraps:
        return layer.renewed(tensor)  # type: ignore[no-any-return]  # a layer is not known here
    other = upper.tensor(tensor.array)
    if layer is not None:
        other.layer = layer
        other.special = True
    return other
