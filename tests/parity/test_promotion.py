"""Result types of all pairs of data types, asked of PyTorch."""

import itertools
import operator
import warnings

import numpy as np
import pytest

import adjoint
from adjoint import dtypes

torch = pytest.importorskip("torch")

# PyTorch itself does not promote the wide unsigned types.
KINDS = [d for d in dtypes.ALL if d.name not in ("uint16", "uint32", "uint64")]
PAIRS = list(itertools.product(KINDS, KINDS))
NUMBERS = [True, 3, 2.5, 1 + 2j]
OPERATIONS = [operator.add, operator.mul, operator.truediv, operator.eq]
ORDERED = [operator.lt]


def kind_of(module, operation, *values):
    """The name of the result's data type, or of the exception's type."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = operation(*values)
        except Exception as error:
            return type(error).__name__
    return str(result.dtype).removeprefix(module + ".")


def compare(operation, make):
    theirs = kind_of("torch", operation, *make(torch))
    ours = kind_of("adjoint", operation, *make(adjoint))
    if ours == "complex32" and operation is operator.truediv:
        # PyTorch divides them on GPUs alone, and by a number.
        assert theirs in ("NotImplementedError", ours)
    else:
        assert ours == theirs


def operations(*kinds):
    """Complex numbers have no order: there PyTorch raises, and so do we."""
    return OPERATIONS + ([] if any(kind.is_complex for kind in kinds) else ORDERED)


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.name)
def test_two_tensors(a, b):
    for operation in operations(a, b):
        for first, second in ((2, 2), (2, ()), ((), 2), ((), ())):
            compare(
                operation,
                lambda module, first=first, second=second: (
                    module.ones(first, dtype=getattr(module, a.name)),
                    module.ones(second, dtype=getattr(module, b.name)),
                ),
            )


@pytest.mark.parametrize("kind", KINDS, ids=lambda d: d.name)
@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_tensor_and_number(kind, number):
    for operation in operations(kind) if not isinstance(number, complex) else OPERATIONS:
        for size in (2, ()):
            compare(
                operation,
                lambda m, size=size: (m.ones(size, dtype=getattr(m, kind.name)), number),
            )
            compare(
                operation,
                lambda m, size=size: (number, m.ones(size, dtype=getattr(m, kind.name))),
            )


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.name)
def test_functions_about_types(a, b):
    theirs = [getattr(torch, kind.name) for kind in (a, b)]
    assert str(torch.promote_types(*theirs)).removeprefix("torch.") == (
        dtypes.promote_types(a, b).name
    )
    assert torch.can_cast(*theirs) == dtypes.can_cast(a, b)


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.name)
def test_in_place(a, b):
    compare(
        operator.iadd,
        lambda m: (m.ones(2, dtype=getattr(m, a.name)), m.ones(2, dtype=getattr(m, b.name))),
    )


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("kind", ["bool", "uint8", "int32", "float16", "float32", "complex64"])
def test_numbers_of_numpy_are_numbers(kind, shape):
    """Their width counts for nothing beside a tensor, with or without dimensions."""
    for number in (np.int64(2), np.int32(3), np.float32(2.5), np.float64(2.5)):
        for name in ("add", "mul", "div", "eq"):
            found = []
            for library in (adjoint, torch):
                x = library.ones(shape, dtype=getattr(library, kind))
                result = getattr(library, name)(x, number)
                found.append((str(result.dtype).rpartition(".")[2], result.tolist()))
            assert found[0] == found[1]
