"""In-place forms: `x.add_(y)` from `add`, for every op that has one."""

from types import MethodType
from typing import Any, Final

from adjoint._base import mypyc_attr
from adjoint.call.context import current
from adjoint.call.overriding import has_others, offered
from adjoint.ops.as_method import AsMethod, as_attribute
from adjoint.ops.op import TABLE, Op
from adjoint.ops.signatures import Described, of_inplace
from adjoint.tensors.changes import apply_inplace
from adjoint.tensors.tensor import Tensor


@mypyc_attr(allow_interpreted_subclasses=True)
class InplaceOp(Described):
    """The in-place form of an op, as a function and as a method."""

    def __init__(self, op: Op) -> None:
        self.op = op
        self.name = self.__name__ = op.name + "_"
        self.method: Any = None  # see as_method
        self.describe(f"In-place form of {op.name}: {op.__doc__}", op.forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if has_others(args, kwargs):
            return offered(self, args, kwargs)
        values = self.op.bind(args, kwargs)
        if self.op.switches:
            self.op.refuse_no_flags(values)
        try:
            return apply_inplace(self.op, values, self)
        except TypeError:
            whole = self.op.with_whole_numbers(values)
            if whole is None:
                raise
            return apply_inplace(self.op, whole, self)

    def run(self, values: list[Any]) -> Any:
        """The call with its arguments in the order of the parameters; how a watcher makes it."""
        return apply_inplace(self.op, values, self)

    def public_signature(self) -> Any:
        """How users call it, and what it answers."""
        return of_inplace(self.op)

    def spelled(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as a user would write them."""
        return self.op.spelled(values)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if not isinstance(instance, Tensor):
            return as_attribute(self, owner)
        if instance.special or not current().plain:
            return MethodType(self.as_method(), instance)
        return MethodType(self, instance)

    def as_method(self) -> Any:
        """What `Tensor.add_` is, of which those who answer calls are told."""
        if self.method is None:
            self.method = AsMethod(self)
        return self.method

    def __repr__(self) -> str:
        return f"<adjoint op {self.__name__}>"

    def __reduce__(self) -> Any:
        return (inplace_of, (self.op,))


def inplace_of(op: Op) -> Any:
    """The in-place form of an op of the tables."""
    return op.changer


INPLACE: Final[dict[str, InplaceOp]] = {}


def derive_inplace() -> None:
    """Give every op of the tables its in-place form; those that are public go into INPLACE."""
    for name, op in TABLE.items():
        op.changer = InplaceOp(op)
        if op.inplace:
            INPLACE[f"{name}_"] = op.changer
