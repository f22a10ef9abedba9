"""Every op of the table below autograd: on instances of a class with answers, and in a mode."""

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.compat.torch_tree.utils._python_dispatch import TorchDispatchMode
from adjoint.ops.op import TABLE
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import is_differentiable, map_arrays, samples_of

from .test_wrapper_subclasses import Holding

MOST = 3  # samples of an op that are looked at


def outcome(op: Any, sample: Any, wrapped: bool) -> list[Any]:
    """The results of a call and the gradients of its arguments, of the sum of all squares."""
    leaves: list[Any] = []

    def leaf(array: Any) -> Any:
        needs = is_differentiable(array)
        tensor: Any = Tensor(np.array(array), AS_IS)
        tensor = Holding(tensor) if wrapped else tensor
        if needs:
            leaves.append(tensor.requires_grad_())
        return tensor

    args, kwargs = map_arrays(leaf, sample.args), map_arrays(leaf, sample.kwargs)
    adjoint.manual_seed(0)
    found = op(*args, **kwargs)
    results = list(found) if isinstance(found, (tuple, list)) else [found]
    live = [each for each in results if isinstance(each, Tensor) and each.requires_grad]
    if live:
        adjoint.autograd.backward([(result.abs() ** 2).sum() for result in live])
    return [*results, *(each.grad for each in leaves)]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_op_on_instances(name: str) -> None:
    for sample in samples_of(name)[:MOST]:
        try:
            expected = outcome(TABLE[name], sample, wrapped=False)
        except Exception as error:  # a derivative that is refused, as it must be
            with pytest.raises(type(error)):
                outcome(TABLE[name], sample, wrapped=True)
            continue
        for got, wanted in zip(outcome(TABLE[name], sample, wrapped=True), expected, strict=True):
            if not isinstance(wanted, Tensor):
                assert got == wanted
                continue
            assert isinstance(got, Holding)
            held = got.held.detach().numpy_array().astype(complex)
            plain = wanted.detach().numpy_array().astype(complex)
            np.testing.assert_allclose(held, plain, rtol=1e-6, atol=1e-6)


class Passing(TorchDispatchMode):
    """Makes every call as it is."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen = True
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_op_in_a_mode(name: str) -> None:
    for sample in samples_of(name)[:MOST]:
        try:
            expected = outcome(TABLE[name], sample, wrapped=False)
        except Exception as error:  # a derivative that is refused, as it must be
            with pytest.raises(type(error)), Passing():
                outcome(TABLE[name], sample, wrapped=False)
            continue
        with Passing() as mode:
            found = outcome(TABLE[name], sample, wrapped=False)
        assert mode.seen or name == "as_index"  # which PyTorch has no step for
        for got, wanted in zip(found, expected, strict=True):
            if not isinstance(wanted, Tensor):
                assert got == wanted
                continue
            assert got.dtype is wanted.dtype
            assert got.requires_grad == wanted.requires_grad
            plain = wanted.detach().numpy_array().astype(complex)
            held = got.detach().numpy_array().astype(complex)
            np.testing.assert_allclose(held, plain, rtol=1e-6, atol=1e-6)
