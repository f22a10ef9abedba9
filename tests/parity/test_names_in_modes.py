"""What modes see has a name in PyTorch's torch.ops.aten, in recorded passes too."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's databases import

import adjoint.compat.torch as compat
from adjoint.compat.aten_steps import shown
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import TABLE
from tests.parity.operator_records import (
    BY_CHANCE,
    RECORDS,
    TOLERANCES,
    kind_of,
    leaves_of,
    numbers,
    tensors_in,
)
from tests.parity.operator_twins import AbsentError, Twins, twin_of

# Ops that are asked for arrays alone, and slopes that PyTorch does not know.
UNSEEN = {"sampled_slopes", "standard_slopes", "without_phase"}
UNKNOWN = {"airy_slope", "gegenbauer"}
# Those of functions that are shown in one, so that nobody sees the parts.
WITHIN = {"bin_totals", "equal_edges", "exclusive_or", "resample_bytes"}

TO_THE_ZEROTH = {"to_sparse"}  # of whose squares' gradients PyTorch refuses the second ones
CANCELLING = {"logcumsumexp"}  # whose second gradients PyTorch's steps lose, PyTorch's own too


def is_known(name, overload=None):
    """Whether PyTorch has an operation, or an overload of one."""
    packet = getattr(torch.ops.aten, name, None)
    return packet is not None and (overload is None or overload in packet.overloads())


def test_every_op_has_a_name_or_steps():
    ours = [name for name, op in TABLE.items() if op.__module__.startswith("adjoint.")]
    own = {name for name in ours if not is_known(name) and not is_known(f"special_{name}")}
    own -= {name for name in own if f"{name}_" in INPLACE and is_known(f"{name}_")}
    assert own - shown._STEPS.keys() - shown._CHANGES.keys() == UNSEEN | UNKNOWN | WITHIN


def test_every_change_has_a_name_or_steps():
    changes = {op.op.name for name, op in INPLACE.items() if not is_known(name)}
    assert changes - shown._CHANGES.keys() == set()


class Names(TorchDispatchMode):
    """Collects names that PyTorch has not."""

    def __init__(self):
        super().__init__()
        self.foreign = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        space, name, overload = str(func).split(".")
        if space == "aten" and not is_known(name, overload):
            self.foreign.add(str(func))
        return func(*args, **(kwargs or {}))


def derived(function, sample):
    """Results, and the gradients of their squares, and of the squares of those."""
    compat.manual_seed(0)
    first, rest, named = given = Twins().of(sample)
    out = function(first, *rest, **named)
    leaves = list(leaves_of(given))
    roots = [root for root in tensors_in(out) if root.requires_grad]
    found = [out]
    for create_graph in (True, False):
        if not leaves or not roots:
            break
        total = sum((root.abs() ** 2).sum() for root in roots)
        options = {"create_graph": create_graph, "allow_unused": True}
        roots = [g for g in compat.autograd.grad(total, leaves, **options) if g is not None]
        found.append(roots)
        roots = [root for root in roots if root.requires_grad]
    return list(tensors_in(found))


def trouble_with(name, kind):
    """The foreign names of a record's first sample, and how values differ that a mode has seen."""
    record = RECORDS[name]
    grad = record.supports_autograd and kind in record.supported_backward_dtypes("cpu")
    sample = next(iter(record.sample_inputs("cpu", kind, requires_grad=grad)))
    mode = Names()
    if name in TO_THE_ZEROTH:
        sample.input.requires_grad_(False)
    try:
        given = (sample.input, sample.args, sample.kwargs)
        function = twin_of(record.op)
        plain = derived(function, given)
    except (AbsentError, RuntimeError, NotImplementedError, TypeError, ValueError):
        return []  # no twin, or no second derivative
    with mode:
        seen = derived(function, given)
    found = sorted(mode.foreign)
    if record.name not in BY_CHANCE | CANCELLING:
        # A gradient that is always zero has one itself outside of modes, unlike PyTorch's.
        seen += [compat.zeros_like(each) for each in plain[len(seen) :]]
        pairs = enumerate(zip(plain, seen, strict=True))
        found += [f"result {i}" for i, each in pairs if far(*each)]
    return found


def far(plain, seen):
    """Whether values differ by more than some roundings of the largest."""
    relative = TOLERANCES.get(kind_of(plain), (0.0, 0.0))[0]
    a, b = (numbers(each).astype("complex128") for each in (plain, seen))
    largest = np.abs(a[np.isfinite(a)]).max(initial=1.0)
    return not np.allclose(a, b, 0.0, 4 * relative * largest, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_first_and_second_gradients(kind):
    names = [name for name in RECORDS if kind in RECORDS[name].supported_dtypes("cpu")]
    assert {name: found for name in names if (found := trouble_with(name, kind))} == {}


def test_running_statistics_move_once_in_a_recorded_pass():
    found = []
    for library, mode in ((torch, torch.enable_grad()), (compat, Names())):
        x = library.arange(12.0).reshape(4, 3).requires_grad_()
        statistics = library.zeros(3), library.ones(3)
        with mode:
            out = library.nn.functional.batch_norm(x, *statistics, training=True)
            library.autograd.grad((out**3).sum(), x, create_graph=True)
        found.append([each.numpy() for each in statistics])
    np.testing.assert_allclose(*found, rtol=1e-6)
