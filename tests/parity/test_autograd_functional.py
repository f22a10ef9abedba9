"""autograd.functional answers what PyTorch's does: values, structure, history and refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import functional

torch = pytest.importorskip("torch")

LIBRARIES = (adjoint, torch)


def functional_of(library: Any) -> Any:
    """The module under test, of adjoint or of PyTorch."""
    return functional if library is adjoint else torch.autograd.functional


def outcome(call: Callable[[Any], Any], library: Any, history: bool) -> Any:
    """What a call answers, as arrays in their structure, or the type of its error."""
    try:
        return shown(call(library), history)
    except Exception as error:
        return type(error).__name__


def shown(value: Any, history: bool) -> Any:
    """Tensors as lists with their data type and, if asked for, whether they have history."""
    if isinstance(value, tuple | list):
        return [shown(element, history) for element in value]
    array = value.detach().numpy()
    recorded = history and value.requires_grad
    return str(array.dtype), array.shape, np.round(array, 4).tolist(), recorded


def agree(call: Callable[[Any], Any], history: bool = True) -> None:
    """A call of a function of the library does the same in both."""
    ours, theirs = (outcome(call, library, history) for library in LIBRARIES)
    assert ours == theirs


def point(library: Any, *shape: int, requires_grad: bool = False, start: float = 0.5) -> Any:
    """A tensor of well-behaved numbers."""
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape) / 7 + start
    return library.tensor(values, requires_grad=requires_grad)


def one_to_one(x: Any) -> Any:
    return (x**3).sin()


def two_to_two(x: Any, y: Any) -> Any:
    return (x * y.exp()).sum(0), x.pow(2) + 3 * y


def to_scalar(x: Any) -> Any:
    return (x**3).sum() * x[0, 0]


def two_to_scalar(x: Any, y: Any) -> Any:
    return (x**2 * y).sum() + (y**3).sum()


def ignoring(x: Any, y: Any) -> Any:
    return x.exp()


def linear(x: Any) -> Any:
    return 2 * x.sum()


def constant(x: Any) -> Any:
    return x.detach().sum()


options = pytest.mark.parametrize("create_graph", [False, True])
needing = pytest.mark.parametrize("requires_grad", [False, True])
strictly = pytest.mark.parametrize("strict", [False, True])


@options
@needing
@strictly
@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_products(name: str, create_graph: bool, requires_grad: bool, strict: bool) -> None:
    """Products with a Jacobian, of one or two tensors, and where an input is not used."""

    def call(library: Any, function: Any, count: int, outputs: int) -> Any:
        inputs = tuple(point(library, 2, 3, requires_grad=requires_grad) for _ in range(count))
        shapes = [(2, 3)] * count if name == "jvp" else [(3,), (2, 3)][2 - outputs :]
        v = tuple(point(library, *shape, start=1.5) for shape in shapes)
        one = getattr(functional_of(library), name)
        given = inputs if count > 1 else inputs[0]
        vector = v if len(v) > 1 else v[0]
        return one(function, given, vector, create_graph=create_graph, strict=strict)

    agree(lambda library: call(library, one_to_one, 1, 1))
    agree(lambda library: call(library, two_to_two, 2, 2))
    agree(lambda library: call(library, ignoring, 2, 1))


@options
@needing
@strictly
@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_hessian_products(name: str, create_graph: bool, requires_grad: bool, strict: bool) -> None:
    """Products with a Hessian, and where there is none."""

    def call(library: Any, function: Any, count: int) -> Any:
        inputs = tuple(point(library, 2, 2, requires_grad=requires_grad) for _ in range(count))
        v = tuple(point(library, 2, 2, start=2.0) for _ in range(count))
        one = getattr(functional_of(library), name)
        given, vector = (inputs, v) if count > 1 else (inputs[0], v[0])
        return one(function, given, vector, create_graph=create_graph, strict=strict)

    agree(lambda library: call(library, to_scalar, 1))
    agree(lambda library: call(library, two_to_scalar, 2))
    agree(lambda library: call(library, linear, 1))
    agree(lambda library: call(library, constant, 1))
    agree(lambda library: call(library, one_to_one, 1))


@options
@needing
@strictly
@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode", "sideways"])
def test_matrices(
    create_graph: bool, requires_grad: bool, strict: bool, vectorize: bool, strategy: str
) -> None:
    """Whole Jacobians and Hessians, with every combination of options."""

    def call(library: Any, name: str, function: Any, count: int) -> Any:
        inputs = tuple(point(library, 2, 2, requires_grad=requires_grad) for _ in range(count))
        given = inputs if count > 1 else inputs[0]
        one = getattr(functional_of(library), name)
        return one(function, given, create_graph, strict, vectorize, strategy)

    cases = [
        ("jacobian", one_to_one, 1),
        ("jacobian", two_to_two, 2),
        ("jacobian", ignoring, 2),
        ("hessian", to_scalar, 1),
        ("hessian", two_to_scalar, 2),
        ("hessian", two_to_two, 2),
    ]
    for case in cases:
        # PyTorch cuts all blocks from one tensor there, so that constant blocks have history too.
        agree(lambda library, case=case: call(library, *case), history=not vectorize)


def test_refusals() -> None:
    """Arguments that are wrong are refused by the same types of errors."""

    def call(library: Any, name: str, function: Any, inputs: Any, v: Any = None) -> Any:
        return getattr(functional_of(library), name)(function, inputs, v)

    for name in ("vjp", "jvp", "vhp", "hvp"):
        agree(lambda library, name=name: call(library, name, to_scalar, (1.0, 2.0)))
        agree(lambda library, name=name: call(library, name, to_scalar, 3.0))
        agree(lambda library, name=name: call(library, name, to_scalar, point(library, 2, 2)))
        agree(
            lambda library, name=name: call(
                library, name, to_scalar, point(library, 2, 2), point(library, 3)
            )
        )
        agree(
            lambda library, name=name: call(
                library, name, to_scalar, point(library, 2, 2), (point(library, 2, 2),) * 2
            )
        )
        agree(
            lambda library, name=name: call(library, name, lambda x: 3.0, point(library, 1), None)
        )


def test_one_element_needs_no_vector() -> None:
    """The vector may be left out where it could only be a 1."""
    for name in ("vjp", "jvp", "vhp", "hvp"):
        agree(
            lambda library, name=name: getattr(functional_of(library), name)(
                lambda x: x**3, point(library, 1)
            )
        )


def test_data_types_of_the_blocks() -> None:
    """A block has the type of the row or column that it is made of."""

    def call(library: Any, strategy: str) -> Any:
        x = point(library, 2)
        return functional_of(library).jacobian(
            lambda x: (x.to(library.float32), x**2), x, vectorize=True, strategy=strategy
        )

    agree(lambda library: call(library, "reverse-mode"))
    agree(lambda library: call(library, "forward-mode"))


def test_a_complex_output_is_refused() -> None:
    """It has no single row of derivatives."""
    agree(lambda library: functional_of(library).jacobian(lambda x: x * 1j, point(library, 2)))


def test_an_empty_output_has_an_empty_jacobian() -> None:
    """In every strategy; PyTorch answers one in forward mode only."""

    def call(library: Any) -> Any:
        return functional_of(library).jacobian(
            lambda x: x[:0], point(library, 3), vectorize=True, strategy="forward-mode"
        )

    agree(call)
    assert functional.jacobian(lambda x: x[:0], point(adjoint, 3)).shape == (0, 3)


def test_a_tensor_that_func_knows_is_not_an_input() -> None:
    """Inputs are new objects: what func finds elsewhere is a constant to it."""
    x = point(adjoint, 2, requires_grad=True)
    _, product = functional.vjp(lambda y: (x * y).sum(), x)
    assert product.tolist() == x.tolist()


def test_grad_mode_of_the_caller_stays() -> None:
    """Everything is recorded inside, and the caller's mode is as it was."""
    with adjoint.no_grad():
        found = functional.jacobian(one_to_one, point(adjoint, 2))
        assert not adjoint.is_grad_enabled()
    assert found.tolist() == functional.jacobian(one_to_one, point(adjoint, 2)).tolist()


OF_CLASSES = {
    "jacobian": lambda f, x, v: f.jacobian(lambda t: t**2, x),
    "jacobian of two": lambda f, x, v: f.jacobian(lambda t, u: t * u, (x, v)),
    "jacobian at once": lambda f, x, v: f.jacobian(lambda t: t**2, x, vectorize=True),
    "jacobian with history": lambda f, x, v: f.jacobian(lambda t: t**2, x, create_graph=True),
    "hessian": lambda f, x, v: f.hessian(lambda t: (t**3).sum(), x),
    "vjp": lambda f, x, v: f.vjp(lambda t: t.sin(), x, v),
    "vjp of a sum": lambda f, x, v: f.vjp(lambda t: t.sum(), x),
    "jvp": lambda f, x, v: f.jvp(lambda t: t.sin(), x, v),
    "hvp": lambda f, x, v: f.hvp(lambda t: (t**3).sum(), x, v),
    "vhp": lambda f, x, v: f.vhp(lambda t: (t**3).sum(), x, v),
}


@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_of_tensors_are_kept(name: str) -> None:
    """Gradients of a class's tensors are of the class, which is asked about `grad` itself."""
    found = []
    for library in LIBRARIES:
        kind: Any = type("Kept", (library.Tensor,), {})
        x = library.tensor([1.0, 2.0, 3.0]).as_subclass(kind)
        answer = OF_CLASSES[name](functional_of(library), x, library.ones(3))

        def described(value: Any) -> Any:
            if isinstance(value, tuple):
                return [described(each) for each in value]  # of this turn
            return type(value).__name__, np.round(value.detach().numpy(), 4).tolist()

        found.append(described(answer))
    assert found[0] == found[1]


def test_gradients_of_a_class() -> None:
    found = []
    for library in LIBRARIES:
        kind: Any = type("Kept", (library.Tensor,), {})
        x = library.tensor([1.0, 2.0]).as_subclass(kind).requires_grad_()
        w = library.ones(2, requires_grad=True)
        total = (x * w).sum()
        grads = library.autograd.grad(total, [x, w], retain_graph=True)
        plain = library.autograd.grad(total.as_subclass(library.Tensor), w)
        found.append([type(each).__name__ for each in (*grads, *plain)])
    assert found[0] == found[1] == ["Kept", "Kept", "Tensor"]


def test_no_sizes_are_an_argument_for_classes() -> None:
    """A class is shown the sizes of `reshape(x, ())`, though there are none."""
    for library in LIBRARIES:
        kind: Any = type("Kept", (library.Tensor,), {})
        one = library.ones(1).as_subclass(kind)
        assert type(library.reshape(one, ())) is kind
        assert library.reshape(one, ()).ndim == 0
