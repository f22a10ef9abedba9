"""Anomaly mode: what stops a pass, and what is said about it."""

import warnings

import pytest

import adjoint
from adjoint.autograd import detect_anomaly, grad, set_detect_anomaly
from adjoint.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection:UserWarning")


def root_of_zero():
    x = adjoint.tensor([0.0, 1.0], requires_grad=True)
    return x, (x.sqrt() * 0).sum()


def test_nan_is_found_where_it_is_made():
    with detect_anomaly():
        x, loss = root_of_zero()
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0") as warned,
            pytest.raises(RuntimeError, match="SqrtBackward0' returned nan values in its 0th"),
        ):
            loss.backward()
    assert "in root_of_zero" in str(warned[0].message)
    assert x.grad is None


def test_forward_outside_names_the_line_all_the_same():
    _, loss = root_of_zero()
    with (
        detect_anomaly(),
        pytest.warns(UserWarning, match=r"x\.sqrt\(\) \* 0"),
        pytest.raises(RuntimeError, match="nan"),
    ):
        loss.backward()


def test_without_check_nan_a_pass_goes_on():
    with detect_anomaly(check_nan=False):
        assert is_anomaly_enabled()
        assert not is_anomaly_check_nan_enabled()
        x, loss = root_of_zero()
        loss.backward()
    assert not is_anomaly_enabled()
    assert x.grad[0].isnan()


def test_other_errors_are_traced_too():
    def fail(gradient):
        raise ValueError("no")

    with detect_anomaly(check_nan=False):
        _, loss = root_of_zero()
        loss.grad_fn.register_hook(lambda *grads: fail(grads))
        with (
            pytest.warns(UserWarning, match="Error detected in SumBackward0"),
            pytest.raises(ValueError, match="no"),
        ):
            loss.backward()


def test_parents_are_shown():
    with detect_anomaly():
        x = adjoint.tensor([0.0], requires_grad=True)
        (first,) = grad(x.clone().pow(1.5).sum(), x, create_graph=True)
        (second,) = grad(first.sum(), x, create_graph=True)
        with pytest.warns(UserWarning) as warned, pytest.raises(RuntimeError, match="nan"):
            grad(second.sum() * 0, x)
    texts = [str(w.message) for w in warned if w.category is UserWarning]
    assert texts[0].startswith("Error detected in")
    assert [text.split(". ")[0].strip() for text in texts[1:]] == [
        "Previous calculation was induced by PowBackward0"
    ] * (len(texts) - 1)
    assert len(texts) >= 2


@pytest.mark.parametrize(
    ("options", "message"),
    [({"check_inf": True}, "infinite values"), ({"limit": 100.0}, "beyond the limit of 100")],
)
def test_other_values_can_be_refused(options, message):
    x = adjoint.tensor([1e-30, 1.0], requires_grad=True)
    with detect_anomaly(**options):
        loss = (1 / x).sum()
        with pytest.warns(UserWarning), pytest.raises(RuntimeError, match=message):
            loss.backward()
    loss = (1 / x).sum()
    loss.backward()


def test_forward_results_can_be_checked():
    x = adjoint.tensor([-1.0, 4.0])
    with detect_anomaly(forward=True):
        assert x.exp().shape == (2,)
        with pytest.raises(RuntimeError, match=r"sqrt\(float32\[2\]\) returned nan values"):
            x.sqrt()
    assert x.sqrt()[0].isnan()


def test_set_detect_anomaly_sets_and_restores():
    set_detect_anomaly(True)
    try:
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_as_decorator():
    @detect_anomaly()
    def run():
        _, loss = root_of_zero()
        loss.backward()

    with pytest.warns(UserWarning, match="Error detected"), pytest.raises(RuntimeError):
        run()
    assert not is_anomaly_enabled()


def test_enabling_warns():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        detect_anomaly()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_detect_anomaly(False)
