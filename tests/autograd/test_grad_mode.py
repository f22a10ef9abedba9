"""no_grad, enable_grad, set_grad_enabled, inference_mode."""

import asyncio
import threading

import pytest

import adjoint
from adjoint.call import context


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


class TestSettingsBelongToTheContext:
    """What a task or a thread sets, no other sees: not even that something was set."""

    def test_a_task_that_enables_recording_changes_no_later_no_grad(self, x):
        async def enable():
            adjoint.set_grad_enabled(True)

        async def main():
            with adjoint.no_grad():
                await asyncio.create_task(enable())
                return (x * 2).requires_grad

        assert asyncio.run(main()) is False
        with adjoint.no_grad():
            assert not (x * 2).requires_grad

    def test_a_child_inside_enable_grad_leaves_its_parent_unrecorded(self, x):
        async def child(entered, leave):
            with adjoint.enable_grad():
                entered.set()
                await leave.wait()
                return (x * 2).requires_grad

        async def main():
            entered, leave = asyncio.Event(), asyncio.Event()
            with adjoint.no_grad():
                task = asyncio.create_task(child(entered, leave))
                await entered.wait()
                seen = (x * 2).requires_grad
                leave.set()
                return seen, await task

        assert asyncio.run(main()) == (False, True)

    @pytest.mark.parametrize("leave", [adjoint.set_grad_enabled, adjoint.inference_mode])
    def test_a_thread_that_ends_in_another_mode_leaves_nothing_behind(self, leave):
        def run():
            manager = leave(leave is adjoint.inference_mode)
            manager.__enter__()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert context.current() is context.DEFAULT

    @pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.inference_mode])
    def test_modes_take_the_short_form(self, mode):
        with mode():
            assert context.current().plain

    def test_many_threads_in_many_modes(self, x):
        modes = [adjoint.no_grad, adjoint.enable_grad, adjoint.inference_mode]
        wrong = []

        def run(start):
            for i in range(300):
                mode = modes[(start + i) % 3]
                with mode():
                    made = (x * 2).requires_grad
                if made != (mode is adjoint.enable_grad) or not (x * 2).requires_grad:
                    wrong.append((start, i))

        threads = [threading.Thread(target=run, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []

    def test_a_setting_that_is_none_is_refused(self):
        with pytest.raises(TypeError, match="no settings of a context: colour"):
            context.change(colour=1)
        assert context.current() is context.DEFAULT


@pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.inference_mode])
def test_short_calls_are_those_of_the_general_path(mode, x):
    """On plain tensors, numbers and views: values, history, and why there is none."""
    y = adjoint.tensor([3.0, 4.0])
    with mode():
        results = [x * y, x * 2, 2 - y, y[:1] * x[:1], x.exp(), (x.detach() + y), x < y]
    for result, values in zip(
        results, ([3, 8], [2, 4], [-1, -2], [3], [2.7183, 7.3891], [4, 6], [1, 1]), strict=True
    ):
        assert result.tolist() == pytest.approx(values, abs=1e-4)
        assert not result.requires_grad and result.grad_fn is None
        assert result.is_inference() is (mode is adjoint.inference_mode)
    assert mode.__name__ in str(adjoint.explain(results[0]))


def test_an_inference_tensor_is_not_kept_by_the_short_form(x):
    with adjoint.inference_mode():
        constant = adjoint.ones(2) * 2
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x * constant
    assert (x + constant).requires_grad  # which keeps neither
