"""Tensor's operators as those who answer calls know them: methods, under PyTorch's names."""

from typing import Any, Final

from adjoint.call.overriding import first_answer
from adjoint.tensors.tensor import Tensor

# What PyTorch calls an operator of Tensor's, where that is not its op's name.
OPERATORS: Final = {
    "bitwise_and": "__and__",
    "bitwise_and_": "__iand__",
    "bitwise_left_shift": "__lshift__",
    "bitwise_left_shift_": "__ilshift__",
    "bitwise_not": "__invert__",
    "bitwise_or": "__or__",
    "bitwise_or_": "__ior__",
    "bitwise_right_shift": "__rshift__",
    "bitwise_right_shift_": "__irshift__",
    "bitwise_xor": "__xor__",
    "bitwise_xor_": "__ixor__",
    "eq": "__eq__",
    "floor_divide": "__floordiv__",
    "pow": "__pow__",
    "pow_": "__ipow__",
    "true_divide": "div",
    "true_divide_": "div_",
}
REFLECTED: Final = {
    "bitwise_left_shift": "__rlshift__",
    "bitwise_right_shift": "__rrshift__",
    "floor_divide": "__rfloordiv__",
    "matmul": "__rmatmul__",
    "pow": "__rpow__",
    "remainder": "__rmod__",
    "sub": "__rsub__",
    "true_divide": "__rtruediv__",
}


def as_operator(name: str, a: Any, b: Any, reflected: bool = False) -> Any:
    """What others answer to an operator, which they know as a method of Tensor's."""
    if b is None:
        return first_answer(getattr(Tensor, OPERATORS.get(name, name)), (a,), {})
    if reflected:
        return first_answer(getattr(Tensor, REFLECTED.get(name, name)), (b, a), {})
    return first_answer(getattr(Tensor, OPERATORS.get(name, name)), (a, b), {})
