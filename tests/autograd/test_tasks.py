"""Tasks, contexts and generators: what one sets, no other sees, whatever runs in between."""

import asyncio
import contextvars
import gc
import warnings
import weakref

import pytest

import adjoint
from adjoint import nn
from adjoint.amp import autocast
from adjoint.autograd import graph
from adjoint.call.context import current
from adjoint.utils.checkpoint import checkpoint

MODES = {
    "no_grad": adjoint.no_grad,
    "inference_mode": adjoint.inference_mode,
    "set_grad_enabled": lambda: adjoint.set_grad_enabled(False),
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("not here"),
    "allow_mutation": graph.allow_mutation_on_saved_tensors,
    "node_hooks": lambda: graph.node_hooks(pre=lambda node, grads: None),
    "anomaly": adjoint.autograd.detect_anomaly,
    "autocast": lambda: autocast("cpu"),
    "profile": adjoint.autograd.profiler.profile,
    "layout": lambda: adjoint.autograd.enforce_grad_layout_policy(False),
}

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
modes = pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())


def state():
    """All settings of the context."""
    settings = current()
    names = [n for n in dir(settings) if not n.startswith("_") and n not in ("plain", "unwatched")]
    return {name: getattr(settings, name) for name in names}


DEFAULT = state()


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


# ---- tasks ----


@modes
def test_tasks_side_by_side(mode):
    async def inside(other):
        with mode():
            mine = state()
            assert mine != DEFAULT
            for _ in range(5):
                await asyncio.sleep(0)
                assert state() == mine
        assert state() == DEFAULT

    async def outside():
        for _ in range(8):
            assert state() == DEFAULT
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(inside(1), outside(), inside(2), outside())
        assert state() == DEFAULT

    asyncio.run(main())


@modes
def test_a_child_task_begins_with_what_its_parent_had_and_gives_nothing_back(mode):
    async def child(expected):
        assert state() == expected
        adjoint.set_grad_enabled(not adjoint.is_grad_enabled())
        with adjoint.inference_mode():
            await asyncio.sleep(0)

    async def main():
        with mode():
            mine = state()
            task = asyncio.create_task(child(mine))
            await asyncio.sleep(0)
            assert state() == mine
            await task
            assert state() == mine
            later = asyncio.create_task(child(mine))  # it runs when the region is left
        assert state() == DEFAULT
        await later
        assert state() == DEFAULT

    asyncio.run(main())


@modes
def test_a_copied_context_keeps_what_was_set(mode):
    with mode():
        mine = state()
        copy = contextvars.copy_context()
        copy.run(adjoint.set_grad_enabled, not adjoint.is_grad_enabled())
        assert state() == mine
    assert state() == DEFAULT
    other = not mine["grad_enabled"]
    assert copy.run(state) == {**mine, "grad_enabled": other, "recording": other}
    assert state() == DEFAULT


@modes
def test_work_for_other_threads(mode):
    async def main():
        with mode():
            mine = state()
            assert await asyncio.to_thread(state) == mine  # which copies the context
            assert await asyncio.get_running_loop().run_in_executor(None, state) == DEFAULT

    asyncio.run(main())


def test_a_task_that_fails_or_is_cancelled_leaves_the_others_alone():
    async def fail():
        with adjoint.no_grad():
            await asyncio.sleep(0)
            raise KeyError

    async def wait():
        with adjoint.inference_mode():
            await asyncio.Event().wait()

    async def main():
        waiting = asyncio.create_task(wait())
        failing = asyncio.create_task(fail())
        await asyncio.sleep(0)
        assert state() == DEFAULT
        waiting.cancel()
        await asyncio.gather(waiting, failing, return_exceptions=True)
        assert isinstance(failing.exception(), KeyError)
        assert waiting.cancelled()
        assert state() == DEFAULT

    asyncio.run(main())


def test_passes_of_many_tasks():
    async def work(factor):
        x = leaf(factor)
        for _ in range(20):
            y = x * factor
            await asyncio.sleep(0)
            y.register_hook(lambda g: g * 2)
            loss = checkpoint(adjoint.sin, y, use_reentrant=False)
            await asyncio.sleep(0)
            loss.sum().backward()
        return x.grad

    async def main():
        return await asyncio.gather(*[work(float(i)) for i in range(10)])

    for i, found in enumerate(asyncio.run(main())):
        alone = asyncio.run(work(float(i)))
        assert found.tolist() == alone.tolist()


def test_modules_of_many_tasks_are_named_by_their_own_calls():
    class Asking(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(1, 1)

        async def forward(self, x):
            await asyncio.sleep(0)
            y = self.inner(x)
            await asyncio.sleep(0)
            return y

    async def main():
        modules = [nn.Sequential(nn.Linear(1, 1)), nn.ModuleDict({"a": nn.Linear(1, 1)})["a"]]
        asking = Asking()
        x = adjoint.ones(1, 1)
        results = await asyncio.gather(asking(x), asking(x), *[run(m, x) for m in modules])
        return [r.grad_fn.module_path for r in results]

    async def run(module, x):
        await asyncio.sleep(0)
        return module(x)

    assert asyncio.run(main()) == ["Linear", "Linear", "Sequential.0", "Linear"]


# ---- what a pass leaves behind ----


def test_a_task_started_by_a_hook_is_in_no_pass_once_it_has_ended():
    found = {}

    async def child():
        found["id"] = graph.current_task_id()
        found["node"] = graph.current_node()
        with pytest.raises(RuntimeError, match="during backward"):
            graph.queue_callback(print)
        x = leaf(1.0)
        with adjoint.enable_grad():
            (x * 2).sum().backward()
        found["gradient"] = x.grad.tolist()

    async def main():
        started = []
        x = leaf(1.0)
        y = x * 2
        y.register_hook(lambda g: started.append(asyncio.create_task(child())))
        y.sum().backward()
        await started[0]

    asyncio.run(main())
    assert found == {"id": -1, "node": None, "gradient": [2.0]}


def test_a_context_that_was_copied_in_a_hook_keeps_no_graph_alive():
    copies = []

    def scope():
        x = leaf(1.0, 2.0)
        y = x.exp()
        y.register_hook(lambda g: copies.append(contextvars.copy_context()))
        y.sum().backward()
        return weakref.ref(y.grad_fn)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()
    assert len(copies) == 1


# ---- generators ----


def interleaved(library):
    """What a generator that stops inside `with no_grad()` and its consumer see of one another."""
    seen = []

    def generate():
        with library.no_grad():
            yield seen.append(("inside", library.is_grad_enabled()))
            yield seen.append(("again", library.is_grad_enabled()))
        seen.append(("after", library.is_grad_enabled()))
        yield None

    note = lambda place: seen.append((place, library.is_grad_enabled()))
    steps = generate()
    next(steps)
    note("consumer")
    with library.enable_grad():
        next(steps)
        note("within enable_grad")
    note("left it")
    next(steps)
    note("generator left its region")
    left = generate()
    next(left)
    with library.set_grad_enabled(True):
        note("two regions")
    left.close()
    note("closed")
    with library.no_grad():
        crossed = generate()
        next(crossed)
    note("outer region left first")
    crossed.close()
    note("then the inner")
    library.set_grad_enabled(True)
    return seen


def test_a_generator_that_stops_in_a_region_is_as_in_torch(torch):
    assert interleaved(adjoint) == interleaved(torch)


def test_a_decorated_generator_gives_its_consumer_its_own_mode(torch):
    def run(library):
        seen = []

        @library.no_grad()
        def generate():
            try:
                while True:
                    seen.append((yield library.is_grad_enabled()))
            finally:
                seen.append(library.is_grad_enabled())

        steps = generate()
        seen.append(next(steps))
        seen.append(library.is_grad_enabled())
        with library.inference_mode():
            seen.append(steps.send("sent"))
            seen.append(library.is_inference_mode_enabled())
        steps.close()
        seen.append(library.is_grad_enabled())
        return seen

    assert run(adjoint) == run(torch)


def test_an_async_generator_reaches_its_consumer_and_no_other_task():
    seen = []

    async def generate():
        with adjoint.no_grad():
            for i in range(3):
                await asyncio.sleep(0)
                yield i

    async def consume():
        async for _ in generate():
            seen.append(adjoint.is_grad_enabled())  # one context: as of a plain generator
            await asyncio.sleep(0)
        seen.append(adjoint.is_grad_enabled())

    async def watch():
        for _ in range(20):
            assert adjoint.is_grad_enabled()
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(consume(), watch(), watch())

    asyncio.run(main())
    assert seen == [False, False, False, True]


def test_an_async_generator_that_is_left_behind_reaches_no_other_task():
    async def generate():
        with adjoint.inference_mode():
            yield 1
            yield 2

    async def leave():
        async for _ in generate():
            break  # the loop closes it, in a task of its own

    async def main():
        task = asyncio.create_task(leave())
        await task
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)
            assert state() == DEFAULT

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())
    assert state() == DEFAULT


def test_a_generator_is_consumed_by_tasks_in_turn():
    """A step runs in the context of the task that asks for it, so none leaves its mode behind."""

    def generate():
        while True:
            with adjoint.no_grad():
                assert not adjoint.is_grad_enabled()
            yield adjoint.is_grad_enabled()

    async def consume(steps, mode):
        for _ in range(5):
            with mode():
                before = state()
                assert next(steps) is before["grad_enabled"]
                assert state() == before
            await asyncio.sleep(0)

    async def main():
        steps = generate()
        await asyncio.gather(*[consume(steps, mode) for mode in MODES.values()])

    asyncio.run(main())
