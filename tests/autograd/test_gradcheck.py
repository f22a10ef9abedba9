"""gradcheck and gradgradcheck: what they accept, what they find, and how they say it."""

import warnings

import pytest

import adjoint
from adjoint.autograd.gradcheck import (
    GradcheckError,
    get_analytical_jacobian,
    get_numerical_jacobian,
    get_numerical_jacobian_wrt_specific_input,
    gradcheck,
    gradgradcheck,
)

both_modes = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def leaf(*shape, dtype=adjoint.float64):
    return adjoint.randn(shape, dtype=dtype, requires_grad=True)


def off_by(amount):
    """The identity, with a wrong gradient."""

    def function(x):
        y = x.clone()
        y.register_hook(lambda grad: grad + amount)
        return y

    return function


@pytest.fixture(autouse=True)
def seeded():
    adjoint.manual_seed(0)


@both_modes
@pytest.mark.parametrize(
    "function, shapes",
    [
        (lambda x: x * 5, [(4,)]),
        (lambda x: x.sum(), [()]),
        (lambda x, y: (x @ y, (x * 2).exp(), y.sin()), [(2, 3), (3, 2)]),
        (lambda x: x.reshape(0, 3), [(3, 0)]),
        (lambda x, y: x * 2, [(2,), (2,)]),
    ],
    ids=["one", "scalar", "several", "empty", "unused"],
)
def test_right_gradients_pass(function, shapes, fast):
    inputs = tuple(leaf(*shape) for shape in shapes)
    before = [x.tolist() for x in inputs]
    assert gradcheck(function, inputs, fast_mode=fast)
    assert gradgradcheck(function, inputs, fast_mode=fast)
    assert [x.tolist() for x in inputs] == before


@both_modes
@pytest.mark.parametrize(
    "function, dtype",
    [
        (lambda z: z * z.conj() * z, adjoint.complex128),
        (lambda z: (z, z.real, z.abs()), adjoint.complex128),
        (lambda x: (adjoint.complex(x, x * x), x + 1), adjoint.float64),
    ],
    ids=["C-C", "C-R", "R-C"],
)
def test_complex_functions(function, dtype, fast):
    assert gradcheck(function, leaf(3, dtype=dtype), fast_mode=fast)
    assert gradgradcheck(function, leaf(3, dtype=dtype), fast_mode=fast)


@both_modes
def test_wrong_gradients_are_named(fast):
    x, y = leaf(2), leaf(2, 2)

    def function(x, y):
        z = y.clone()
        z.register_hook(lambda grad: grad + adjoint.tensor([[0.0, 0.0], [0.5, 0.0]]))
        return x * 2, z

    with pytest.raises(GradcheckError, match="output 1 with respect to input 1") as error:
        gradcheck(function, (x, y), fast_mode=fast)
    text = str(error.value)
    assert "4 of 16 elements differ" in text
    assert "by input[1, 0]" in text
    assert "difference 0.5" in text
    assert gradcheck(function, (x, y), fast_mode=fast, raise_exception=False) is False


@both_modes
def test_position_counts_every_argument(fast):
    with pytest.raises(GradcheckError, match="output 0 with respect to input 1"):
        gradcheck(lambda _, x: off_by(0.1)(x), (adjoint.ones(2), leaf(2)), fast_mode=fast)


def test_complex_outputs_say_which_part():
    with pytest.raises(GradcheckError, match="imaginary part of complex outputs"):
        gradcheck(off_by(0.01), leaf(2, dtype=adjoint.complex128))


@both_modes
def test_inputs_a_function_closes_over_are_moved(fast):
    x = leaf(3)
    assert gradcheck(lambda _: x.exp(), x, fast_mode=fast)
    view = x[:2]
    assert gradcheck(lambda x: (view * 1).detach() * 0 + x[:2].sin(), x, fast_mode=fast)
    with pytest.raises(GradcheckError):
        gradcheck(lambda _: off_by(0.1)(x), x, fast_mode=fast)


@both_modes
def test_outputs_without_gradient_must_be_constant(fast):
    x = leaf(1)
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: adjoint.tensor([x.item()]), x, fast_mode=fast)
    assert gradcheck(lambda x: (), x, fast_mode=fast)
    assert gradcheck(lambda x: (x > 100, adjoint.ones(2)), x, fast_mode=fast)


@both_modes
def test_backward_must_repeat_itself(fast):
    calls = [0]

    def function(x):
        def jitter(grad):
            calls[0] += 1
            return None if grad is None else grad * (1 + 1e-9 * calls[0])

        y = x.clone()
        y.register_hook(jitter)
        return y

    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(function, leaf(2), fast_mode=fast)
    assert gradcheck(function, leaf(2), fast_mode=fast, nondet_tol=1e-6)


@both_modes
def test_missing_gradients_must_count_as_zero(fast):
    def function(x):
        def hook(grad):
            if grad is None:
                raise RuntimeError("no gradient")

        y = x.clone()
        y.register_hook(hook)
        return y

    with (
        pytest.warns(UserWarning, match="check_undefined_grad=False"),
        pytest.raises(GradcheckError, match="handle undefined output grads") as error,
    ):
        gradcheck(function, leaf(1), fast_mode=fast)
    assert isinstance(error.value.__cause__, RuntimeError)
    assert gradcheck(function, leaf(1), fast_mode=fast, check_undefined_grad=False)


def test_gradients_must_be_proportional():
    x = leaf(2)

    def function(x):
        y = x * 1
        y.register_hook(lambda grad: grad if (grad != 0).any() else grad + 1)
        return y

    with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
        gradcheck(function, x)


@both_modes
def test_inputs_are_looked_at(fast):
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, adjoint.ones(2), fast_mode=fast, raise_exception=False)
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        gradcheck(lambda x: x, leaf(1).expand(2, 2), fast_mode=fast, raise_exception=False)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        assert gradcheck(lambda x: x, leaf(1, dtype=adjoint.float32), atol=0.1, fast_mode=fast)


@both_modes
def test_outputs_must_keep_shape_and_dtype(fast):
    x = adjoint.ones(1, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(AssertionError, match="same shape when inputs are perturbed"):
        gradcheck(lambda x: adjoint.cat([x, x]) if (x >= 1).all() else x, x, fast_mode=fast)
    with pytest.raises(AssertionError, match="same dtype when inputs are perturbed"):
        gradcheck(lambda x: x.float() if (x >= 1).all() else x, x, fast_mode=fast)
    assert x.tolist() == [1.0]


@both_modes
def test_errors_of_the_function_pass(fast):
    x = leaf(2)
    before = x.tolist()
    calls = []

    def function(x):
        calls.append(x)
        if len(calls) > 1:
            raise KeyError("mine")
        return x * 2

    with pytest.raises(KeyError, match="mine"):
        gradcheck(function, x, fast_mode=fast, raise_exception=False)
    assert x.tolist() == before


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(AssertionError, match="at least one"):
        gradcheck(lambda x: x, leaf(1), check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_backward_ad"):
        gradcheck(
            lambda x: x,
            leaf(1),
            check_batched_grad=True,
            check_backward_ad=False,
            check_forward_ad=True,
        )


def test_batches_of_gradients():
    """A backward that remembers gives others each time."""
    assert gradcheck(lambda x: x.sin(), leaf(3), check_batched_grad=True)
    seen = []

    def function(x):
        y = x * 2

        def hook(gradient):
            seen.append(gradient)
            return gradient * (1 + 0.1 * len(seen))

        y.register_hook(hook)
        return y

    careless = {"atol": 100, "rtol": 100, "nondet_tol": 100, "check_undefined_grad": False}
    assert gradcheck(function, leaf(1), **careless)
    with pytest.raises(GradcheckError, match="batch"):
        gradcheck(function, leaf(1), check_batched_grad=True, **careless)


@pytest.mark.parametrize("fast", [False, True])
def test_a_backward_that_no_batch_can_take_fails_the_check(fast):
    """The refusal is an answer of the check, as a wrong gradient is."""

    def function(x):
        y = x * 2
        y.register_hook(lambda gradient: gradient if gradient.sum() == 0 else gradient * 1)
        return y

    options = {"fast_mode": fast, "check_undefined_grad": False}
    assert gradcheck(function, leaf(2), **options)
    with pytest.raises(GradcheckError, match="no batch of gradients"):
        gradcheck(function, leaf(2), check_batched_grad=True, **options)
    assert not gradcheck(
        function, leaf(2), check_batched_grad=True, raise_exception=False, **options
    )


def test_second_derivatives():
    """A first derivative that is right and a second one that is wrong."""

    def function(x):
        y = x**3
        y.register_hook(lambda grad: None if grad is None else grad.detach())
        return y

    x = leaf(2)
    assert gradcheck(function, x)
    assert not gradgradcheck(function, x, raise_exception=False)
    assert gradgradcheck(lambda x: x**3, x, adjoint.ones(2, dtype=adjoint.float64))
    assert gradgradcheck(lambda x: x**3, x, gen_non_contig_grad_outputs=True)


def test_module_and_function_share_a_name():
    import adjoint.autograd.gradcheck

    assert adjoint.autograd.gradcheck(lambda x: x * 2, leaf(2))
    assert adjoint.autograd.gradcheck.GradcheckError is GradcheckError


def test_single_jacobians():
    a, b = leaf(2, 2), leaf(2, 2)
    with pytest.warns(FutureWarning, match="get_numerical_jacobian"):
        first, second = get_numerical_jacobian(lambda xs: (2 * xs[0] + xs[1], xs[0]), (a, b))
    assert adjoint.allclose(first, 2 * adjoint.eye(4, dtype=adjoint.float64))
    assert adjoint.allclose(second, adjoint.eye(4, dtype=adjoint.float64))
    with pytest.warns(FutureWarning, match="get_analytical_jacobian"):
        jacobians, reentrant, sizes, types = get_analytical_jacobian((a, b), 2 * a + b)
    assert (reentrant, sizes, types) == (True, True, True)
    assert adjoint.allclose(jacobians[0], first)
    (one,) = get_numerical_jacobian_wrt_specific_input(
        lambda x, y: x * 3 + y, 0, (a, b), (a * 3 + b,), 1e-6
    )
    assert adjoint.allclose(one, 3 * adjoint.eye(4, dtype=adjoint.float64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with pytest.raises(ValueError, match=r"grad_out to be 1\.0"):
            get_analytical_jacobian((a,), a * 2, grad_out=2.0)
        with pytest.raises(ValueError, match="non-complex"):
            get_analytical_jacobian((a,), adjoint.complex(a, a))
