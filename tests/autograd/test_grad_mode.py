"""no_grad, enable_grad, set_grad_enabled, inference_mode."""

import asyncio
import threading

import pytest

import adjoint


@pytest.fixture
def x():
    return adjoint.tensor([1.0, 2.0], requires_grad=True)


def test_no_grad_records_nothing(x):
    with adjoint.no_grad():
        y = x * 2
    assert not y.requires_grad
    assert y.is_leaf


def test_nesting_restores(x):
    with adjoint.no_grad():
        with adjoint.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def test_set_grad_enabled_as_function_and_context(x):
    adjoint.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        adjoint.set_grad_enabled(True)
    with adjoint.set_grad_enabled(False):
        assert not adjoint.is_grad_enabled()
    assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.no_grad()])
def test_decorator(x, mode):
    @mode
    def function(a):
        """Its doc."""
        return a * 2

    assert not function(x).requires_grad
    assert function.__doc__ == "Its doc."
    assert (x * 2).requires_grad


def test_set_grad_enabled_decorates_without_side_effect(x):
    @adjoint.set_grad_enabled(False)
    def function():
        return (x * 2).requires_grad

    assert adjoint.is_grad_enabled()
    assert function() is False


def test_generator_runs_in_its_mode_and_its_consumer_in_its_own(x):
    @adjoint.no_grad()
    def generate():
        sent = yield adjoint.is_grad_enabled()
        assert sent == "hello"
        try:
            yield adjoint.is_grad_enabled()
        except KeyError:
            yield adjoint.is_grad_enabled()
        return "end"

    generator = generate()
    assert next(generator) is False
    assert adjoint.is_grad_enabled()
    assert generator.send("hello") is False
    assert generator.throw(KeyError()) is False
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_an_exception_restores(x):
    with pytest.raises(KeyError), adjoint.no_grad():
        raise KeyError
    assert adjoint.is_grad_enabled()


def test_a_class_is_warned_about_and_its_constructor_wrapped():
    with pytest.warns(FutureWarning, match="Something"):

        @adjoint.no_grad()
        class Something:
            def __init__(self):
                self.enabled = adjoint.is_grad_enabled()

    assert Something().enabled is False


def test_threads_start_with_the_default(x):
    seen = []
    with adjoint.no_grad():
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    assert seen == [True]


def test_a_coroutine_does_not_leak_its_mode(x):
    async def quiet(entered, leave):
        with adjoint.no_grad():
            entered.set()
            await leave.wait()
            return (x * 2).requires_grad

    async def main():
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(quiet(entered, leave))
        await entered.wait()
        outside = (x * 2).requires_grad
        leave.set()
        return outside, await task

    assert asyncio.run(main()) == (True, False)


class TestInferenceMode:
    def test_tensors_made_inside(self, x):
        with adjoint.inference_mode():
            assert adjoint.is_inference_mode_enabled()
            y = adjoint.ones(2)
            z = x * 2
        assert not adjoint.is_inference_mode_enabled()
        assert adjoint.is_grad_enabled()
        assert y.is_inference()
        assert z.is_inference()
        assert not z.requires_grad
        assert not x.is_inference()

    def test_view_of_a_normal_tensor_stays_normal(self):
        x = adjoint.ones(2, 2)
        with adjoint.inference_mode():
            v = x[0]
        assert not v.is_inference()

    def test_change_outside_is_refused(self):
        with adjoint.inference_mode():
            y = adjoint.ones(2)
            y.add_(1)
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            y.add_(1)
        assert y.tolist() == [2.0, 2.0]

    def test_saving_is_refused(self, x):
        with adjoint.inference_mode():
            y = adjoint.ones(2)
        with pytest.raises(RuntimeError, match="cannot be saved for backward"):
            x * y
        assert (x + y).requires_grad

    def test_cannot_require_grad_outside(self):
        with adjoint.inference_mode():
            y = adjoint.ones(2)
        with pytest.raises(RuntimeError, match="inference tensor"):
            y.requires_grad_()
        assert y.clone().requires_grad_().requires_grad

    def test_decorator_and_switch(self, x):
        @adjoint.inference_mode
        def function():
            return x * 2

        assert function().is_inference()
        with adjoint.inference_mode(False):
            assert (x * 2).requires_grad
        with adjoint.inference_mode(), adjoint.inference_mode(False):
            assert (x * 2).requires_grad
