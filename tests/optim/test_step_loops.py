"""Steps of optimizers by a loop of the wheel: the very bits of the calls that it stands for."""

import inspect
import itertools

import numpy as np
import pytest

import adjoint
from adjoint import optim
from adjoint.backends.loops import compiled
from adjoint.optim import programs
from adjoint.optim.elementwise import ElementwiseOptimizer

pytestmark = pytest.mark.skipif(compiled() is None, reason="the pure package has no loops")
SETTINGS = {
    "amsgrad": True,
    "centered": True,
    "maximize": True,
    "momentum": 0.8,
    "nesterov": True,
    "weight_decay": 0.05,
}
KINDS = [
    kind
    for kind in vars(optim).values()
    if inspect.isclass(kind)
    and issubclass(kind, ElementwiseOptimizer)
    and kind is not ElementwiseOptimizer
]


def cases():
    for kind in KINDS:
        names = [name for name in SETTINGS if name in inspect.signature(kind).parameters]
        for size in (0, 1, 2):
            for chosen in itertools.combinations(names, size):
                yield pytest.param(kind, chosen, id=f"{kind.__name__}-{'-'.join(chosen)}")


def trained(kind, chosen, dtype, layout):
    """The parameter and the state after some steps, and the programs that made them."""
    source = np.random.default_rng(3)
    start = source.normal(size=(37, 19)).astype(dtype)
    array = np.asfortranarray(start) if layout == "columns" else start
    param = adjoint.from_numpy(array.copy(order="K")).requires_grad_()
    try:
        optimizer = kind([param], **{name: SETTINGS[name] for name in chosen})
    except ValueError:
        pytest.skip("settings that exclude one another")
    for _ in range(7):
        param.grad = adjoint.from_numpy(source.normal(size=(37, 19)).astype(dtype))
        optimizer.step()
    state = [v.numpy() for v in optimizer.state[param].values() if hasattr(v, "numpy")]
    return [param.detach().numpy(), *state], optimizer.programs()


@pytest.mark.parametrize(("kind", "chosen"), list(cases()))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_loop_leaves_the_bits_of_its_calls(kind, chosen, dtype, layout, monkeypatch):
    found, made = trained(kind, chosen, dtype, layout)
    assert all(call[0] == programs.FUSED for program in made for call in program.calls)
    monkeypatch.setattr(programs, "loops", dict)
    wanted, made = trained(kind, chosen, dtype, layout)
    assert not any(call[0] == programs.FUSED for program in made for call in program.calls)
    for one, other in zip(found, wanted, strict=True):
        assert one.tobytes() == other.tobytes()
