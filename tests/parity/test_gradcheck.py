"""gradcheck against PyTorch: the same verdict on the same functions."""

import importlib
import warnings

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def verdict(lib, check, function, inputs, **options):
    """What a check answers or raises, and the categories of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            module = importlib.import_module(f"{lib.__name__}.autograd.gradcheck")
            run = getattr(module, check)
            answer = run(lambda *args: function(lib, *args), inputs(lib), **options)
        except Exception as error:
            answer = (type(error).__name__, isinstance(error, RuntimeError))
    return answer, sorted({w.category.__name__ for w in seen})


def leaf(lib, values, dtype="float64", grad=True):
    return lib.tensor(values, dtype=getattr(lib, dtype), requires_grad=grad)


def reals(lib):
    return (leaf(lib, [0.3, -1.2, 2.0]), leaf(lib, [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]]))


def complexes(lib):
    return (leaf(lib, [0.3 + 1j, -1.2 + 0.2j, 2.0 - 1j], "complex128"),)


def hooked(change, count=1):
    def function(lib, x, *rest):
        y = x.clone()
        for _ in range(count):
            y.register_hook(change)
        return y

    return function


def steep_at_one(lib, x, y):
    return lib.cat([x, x]) if (x >= 2).any() else x


SCENARIOS = {
    "products": (lambda lib, x, y: (x * y, (y @ x).exp()), reals, {}),
    "several": (lambda lib, x, y: (x.sin(), y.cos(), x.sum() * y.sum()), reals, {}),
    "unused input": (lambda lib, x, y: x * 2, reals, {}),
    "constant output": (lambda lib, x, y: (x * 2, lib.ones(2)), reals, {}),
    "no output": (lambda lib, x, y: (), reals, {}),
    "integer output": (lambda lib, x, y: (x * 2, x.argmax()), reals, {}),
    "C to C": (lambda lib, z: z * z.conj() * z, complexes, {}),
    "C to R": (lambda lib, z: (z.abs(), z.real * z.imag), complexes, {}),
    "not holomorphic": (lambda lib, z: (z.conj() * 2, z.angle()), complexes, {}),
    "R to C": (lambda lib, x, y: lib.complex(x, x.exp()), reals, {}),
    "detached": (lambda lib, x, y: x * x.detach(), reals, {}),
    "wrong": (hooked(lambda g: None if g is None else g + 0.01), reals, {}),
    "wrong, loose": (hooked(lambda g: None if g is None else g + 0.01), reals, {"atol": 0.1}),
    "wrong, rtol": (hooked(lambda g: None if g is None else g * 1.01), reals, {"rtol": 0.1}),
    "wrong, complex": (hooked(lambda g: None if g is None else g + 0.01), complexes, {}),
    "wrong, quiet": (
        hooked(lambda g: None if g is None else g + 1),
        reals,
        {"raise_exception": False},
    ),
    "proportional": (hooked(lambda g: None if g is None else g * 1.0000001), reals, {}),
    "needs a gradient": (hooked(lambda g: g * 1), reals, {}),
    "needs no gradient": (hooked(lambda g: g * 1), reals, {"check_undefined_grad": False}),
    "single precision": (
        lambda lib, x: x * 2,
        lambda lib: leaf(lib, [1.0], "float32"),
        {"atol": 1},
    ),
    "no grad": (lambda lib, x: x * 2, lambda lib: leaf(lib, [1.0], grad=False), {}),
    "overlapping": (lambda lib, x: x * 2, lambda lib: leaf(lib, [1.0]).expand(3), {}),
    "changing shape": (steep_at_one, reals, {}),
    "step": (lambda lib, x, y: (x > 0).double() + x * 0, reals, {}),
    "own error": (lambda lib, x, y: x.reshape(7), reals, {"raise_exception": False}),
    "neither mode": (lambda lib, x, y: x, reals, {"check_backward_ad": False}),
    "dtypes": (lambda lib, x, y: (x * 2).float().double(), reals, {"check_grad_dtypes": True}),
    "masked": (lambda lib, x, y: x * 2, reals, {"masked": True}),
    "eps": (lambda lib, x, y: x**3, reals, {"eps": 0.1}),
    "infinite": (lambda lib, x, y: x / 0, reals, {}),
}


SECOND = ["products", "several", "unused input", "C to C", "C to R", "R to C", "detached", "wrong"]
CHECKS = [
    *(("gradcheck", name) for name in SCENARIOS),
    *(("gradgradcheck", name) for name in SECOND),
]


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("check, name", CHECKS)
def test_verdict(check, name, fast):
    function, inputs, options = SCENARIOS[name]
    found = {
        key: verdict(lib, check, function, inputs, fast_mode=fast, **options)
        for key, lib in LIBRARIES.items()
    }
    assert found["adjoint"] == found["torch"]


def test_jacobians_are_the_same():
    def function(lib, inputs):
        x, y = inputs
        return (y * x).sin() @ x, x

    found = {}
    for key, lib in LIBRARIES.items():
        module = importlib.import_module(f"{key}.autograd.gradcheck")
        inputs = reals(lib)
        with pytest.warns(FutureWarning):
            numerical = module.get_numerical_jacobian(
                lambda xs, lib=lib: function(lib, xs), inputs, eps=1e-6
            )
        with pytest.warns(FutureWarning):
            analytical, *flags = module.get_analytical_jacobian(inputs, function(lib, inputs)[0])
        found[key] = ([j.tolist() for j in (*numerical, *analytical)], flags)
    assert found["adjoint"][1] == found["torch"][1]
    for ours, theirs in zip(found["adjoint"][0], found["torch"][0], strict=True):
        for our_row, their_row in zip(ours, theirs, strict=True):
            assert our_row == pytest.approx(their_row, abs=1e-8)
