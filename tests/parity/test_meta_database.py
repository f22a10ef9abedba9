"""PyTorch's operator database on the device meta: results look as they do on the CPU."""

import itertools
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's databases import

import adjoint
from adjoint.backends import NoValuesError
from tests.parity.operator_records import RECORDS, seeded
from tests.parity.operator_twins import AbsentError, Twins, twin_of

SAMPLES = 4
TYPES = (torch.float32, torch.complex64, torch.int64)
OPS = dict(RECORDS)
del OPS["as_strided/partial_views"]  # shows memory beside its argument, which is not moved along

# Those that need values, of some samples at least.
REFUSED = {
    "allclose": "the answer is a bool",
    "argwhere": "how many are not zero",
    "bincount": "how large the numbers are",
    "equal": "the answer is a bool",
    "histogram": "the extremes",
    "histogramdd": "the extremes",
    "item": "the answer is a number",
    "linspace/tensor_overload": "the ends, which are tensors",
    "logspace/tensor_overload": "the ends, which are tensors",
    "masked_select": "how many are picked",
    "narrow": "the start, which is a tensor",
    "nn.functional.one_hot": "how large the numbers are",
    "nonzero": "how many are not zero",
    "repeat_interleave": "how often each comes",
    "tensor_split": "where to split, which a tensor says",
    "to": "they are moved to the CPU",
    "to_sparse": "how many are not zero",
    "unique": "how many differ",
    "unique_consecutive": "how many differ",
}


def on_meta(value: Any) -> Any:
    """Arguments with their tensors on the device meta."""
    if isinstance(value, adjoint.Tensor):
        return value.detach().to("meta")
    if isinstance(value, (tuple, list)):
        return type(value)(on_meta(each) for each in value)
    return {k: on_meta(v) for k, v in value.items()} if isinstance(value, dict) else value


def looks(value: Any) -> Any:
    """Shapes, types and strides of all results."""
    if isinstance(value, (tuple, list)):
        return [looks(each) for each in value]
    if not isinstance(value, adjoint.Tensor):
        return type(value)
    steps = tuple(0 if n == 1 else s for n, s in zip(value.shape, value.stride()))
    return tuple(value.shape), value.dtype, steps


def calls(record: Any) -> Any:
    """The first samples of each data type, as adjoint's."""
    for kind in TYPES:
        if kind in record.dtypes:
            # Not by sample_inputs, which looks for a test in all frames each time.
            drawn = seeded(iter(record.sample_inputs_func(record, "cpu", kind, False)))
            for sample in itertools.islice(drawn, SAMPLES):
                try:
                    twins = Twins()
                    args, kwargs = twins.of((sample.input, *sample.args)), twins.of(sample.kwargs)
                except AbsentError:
                    continue
                yield args, kwargs


def each_record() -> list[Any]:
    """Every record; most are left to the run of everything, as tests/backends has all ops."""
    return [
        name if i % 12 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for i, name in enumerate(OPS)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", each_record())
def test_results(name: str) -> None:
    refused = 0
    try:
        function = twin_of(OPS[name].op)
    except AbsentError:
        pytest.skip("adjoint has no such function")
    for args, kwargs in calls(OPS[name]):
        try:
            expected = looks(function(*args, **kwargs))
        except Exception:  # what else differs is in test_operator_database.py
            continue
        try:
            assert looks(function(*on_meta(args), **on_meta(kwargs))) == expected
        except NoValuesError:
            refused += 1
        except RuntimeError as error:
            assert "cannot be called on meta tensors" in str(error)
            refused += 1
    assert not refused or name in REFUSED


def test_exceptions_are_records() -> None:
    assert REFUSED.keys() <= OPS.keys()
