"""The profiler: what is noted of each op and node, and how it is summed up and shown."""

import asyncio
import importlib
import itertools
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import adjoint
from adjoint.autograd import recorder as recording
from adjoint.autograd.node import Node, next_sequence_number
from adjoint.autograd.profiler_events import EventList, bytes_text, line_text, time_text
from adjoint.autograd.provenance import Source
from adjoint.autograd.recorder import Recorder
from adjoint.tensors.core import Spec

HERE = "test_profiler.py"


@pytest.fixture
def profiler():
    return importlib.import_module("adjoint.autograd.profiler")


def recorder(**options):
    """A recorder whose clock goes on by a microsecond each time it is read."""
    return Recorder(clock=itertools.count(0, 1000).__next__, **options)


def entered(noted, name):
    """Begin a named range as record_function does."""
    token = noted.begin(name, "range")
    token.event.start = noted.now()
    return token


def observed(noted, name, call, *values):
    """Call an op as dispatch does for an observer."""
    token = noted.enter_op(name, list(values))
    result = call(*values)
    noted.leave_op(token, result)
    return result


def run_node(noted, node, within=lambda: None):
    """Run a node as the engine does for an observer."""
    token = noted.enter_node(node)
    within()
    noted.leave_node(token)


class Sourced(Node):
    """A node that knows which line made it."""

    def __init__(self):
        super().__init__(next_sequence_number())
        self.spec = adjoint.ones(2).spec()

    def name(self):
        return "SourcedBackward"

    def source(self):
        return Source("/home/me/model.py", 7, "forward")


# ---- what is noted ----


def test_an_op():
    noted = recorder(record_shapes=True, module_path=lambda: "net.layer")
    x = adjoint.ones(2, 3)
    observed(noted, "mul", adjoint.mul, x, x)
    (event,) = noted.results()
    assert (event.name, event.kind, event.phase, event.module) == (
        "mul",
        "op",
        "forward",
        "net.layer",
    )
    assert event.input_shapes == ((2, 3), (2, 3))
    assert event.cpu_memory_usage == event.self_cpu_memory_usage == 24
    assert event.cpu_time_total == event.self_cpu_time_total == event.time_range.elapsed_us() == 1
    assert event.source is not None
    assert event.source.filename.endswith(HERE)
    assert event.source.function == "observed"
    assert event.thread == threading.get_native_id()


@pytest.mark.parametrize(
    ("call", "size"),
    [
        (lambda x: x.exp(), 16),
        (lambda x: x[:1], 0),
        (lambda x: x.reshape(2, 2), 0),
        (lambda x: x.add_(1), 0),
        (lambda x: x.array.copy(), 16),
        (lambda x: (x.exp(), [x.sin(), None], 3), 32),
        (lambda x: x.contiguous(), 0),
        (lambda x: None, 0),
    ],
    ids=["new", "view", "reshaped", "in place", "raw", "nested", "itself", "nothing"],
)
def test_bytes_are_those_of_new_memory(call, size):
    noted = recorder()
    observed(noted, "op", call, adjoint.ones(4))
    assert noted.results()[0].cpu_memory_usage == size


def test_what_was_not_asked_for_is_not_noted():
    noted = recorder(profile_memory=False, with_stack=False)
    observed(noted, "exp", adjoint.exp, adjoint.ones(4))
    (event,) = noted.results()
    assert (event.cpu_memory_usage, event.source, event.input_shapes, event.module) == (
        0,
        None,
        (),
        "",
    )


def test_a_node_is_traced_to_the_op_that_made_it():
    places = iter(["first", "second"])
    noted = recorder(record_shapes=True, module_path=lambda: next(places))
    x = adjoint.ones(2, requires_grad=True)
    h = observed(noted, "mul", adjoint.mul, x, 2)
    y = observed(noted, "sum", adjoint.sum, h)
    run_node(noted, y.grad_fn)
    run_node(noted, h.grad_fn)
    multiplied, summed, *nodes = noted.results()
    assert [event.name for event in nodes] == ["SumBackward0", "MulBackward0"]
    assert [event.forward for event in nodes] == [summed, multiplied]
    assert [event.module for event in nodes] == ["second", "first"]
    assert [event.source for event in nodes] == [summed.source, multiplied.source]
    assert [event.phase for event in nodes] == ["backward", "backward"]
    assert [event.cpu_memory_usage for event in nodes] == [8, 8]
    assert [event.input_shapes for event in nodes] == [((),), ((2,),)]


def test_nodes_from_elsewhere_have_no_op():
    x = adjoint.ones(2, requires_grad=True)
    early = Sourced()
    noted = recorder()
    observed(noted, "mul", adjoint.mul, x, 2)
    unseen = Sourced()
    unseen.op = SimpleNamespace(name="exp")
    for node in (early, unseen):
        run_node(noted, node)
    for event in noted.results()[1:]:
        assert event.forward is None
        assert event.module == ""
        assert line_text(event.source) == "model.py:7 forward"


def test_leaves_are_made_by_no_op():
    x = adjoint.ones(2, requires_grad=True)
    noted = recorder(with_stack=False)
    y = observed(noted, "mul", adjoint.mul, x, 2)
    run_node(noted, y.grad_fn.next_functions[0][0])
    event = noted.results()[1]
    assert (event.name, event.forward, event.cpu_memory_usage) == ("AccumulateGrad", None, 0)


def test_a_node_of_several_outputs():
    x = adjoint.ones(2, requires_grad=True)
    noted = recorder(record_shapes=True)
    a, b = observed(noted, "unbind", adjoint.unbind, x)
    run_node(noted, a.grad_fn)
    assert noted.results()[1].input_shapes == ((), ())


def test_what_runs_within_belongs_to_the_node():
    noted = recorder()
    node = observed(noted, "exp", adjoint.exp, adjoint.ones(4, requires_grad=True)).grad_fn
    run_node(noted, node, lambda: observed(noted, "mul", adjoint.mul, adjoint.ones(4), 2))
    _, outer, inner = noted.results()
    assert inner.cpu_parent is outer
    assert inner.phase == "backward"
    assert outer.cpu_time_total == outer.self_cpu_time_total + inner.cpu_time_total == 3
    assert (outer.self_cpu_memory_usage, outer.cpu_memory_usage) == (0, 16)


def test_ops_that_failed_end_with_what_is_around_them():
    noted = recorder()
    outer = entered(noted, "outer")
    noted.enter_op("failing", [])
    noted.leave_range(outer)
    following = entered(noted, "following")
    noted.leave_range(following)
    assert [event.name for event in noted.results()] == ["outer", "following"]
    assert following.event.cpu_parent is None


def test_threads_do_not_nest():
    noted = recorder()
    outer = entered(noted, "outer")
    thread = threading.Thread(target=lambda: observed(noted, "exp", adjoint.exp, adjoint.ones(2)))
    thread.start()
    thread.join()
    noted.leave_range(outer)
    event = next(event for event in noted.results() if event.name == "exp")
    assert event.cpu_parent is None
    assert event.thread != outer.event.thread
    assert outer.event.self_cpu_time_total == outer.event.cpu_time_total


def test_coroutines_do_not_nest():
    noted = recorder()

    async def work(name):
        token = entered(noted, name)
        await asyncio.sleep(0)
        observed(noted, f"op of {name}", adjoint.exp, adjoint.ones(2))
        await asyncio.sleep(0)
        noted.leave_range(token)

    async def both():
        await asyncio.gather(work("a"), work("b"))

    asyncio.run(both())
    parents = {event.name: event.cpu_parent for event in noted.results()}
    assert parents["a"] is parents["b"] is None
    assert parents["op of a"].name == "a"
    assert parents["op of b"].name == "b"


class DeviceArray:
    """An array of a device that works by itself."""

    shape = (2,)
    nbytes = 8


@pytest.mark.parametrize("synchronize", [True, False])
def test_devices_are_waited_for(monkeypatch, synchronize):
    waited = []
    device = SimpleNamespace(synchronize=lambda: waited.append("device"))
    known = {DeviceArray: device}
    monkeypatch.setattr(recording.backends, "lookup", known.get)
    monkeypatch.setattr(recording, "backend_of", lambda array: device)
    noted = recorder(synchronize=synchronize)
    observed(noted, "exp", lambda array: DeviceArray(), DeviceArray())
    assert waited == ["device"] * synchronize
    assert noted.results()[0].cpu_memory_usage == 8
    node = Sourced()
    node.spec = Spec(np.zeros(1))
    node.spec.array_type = DeviceArray
    run_node(noted, node)
    assert waited == ["device"] * 2 * synchronize


def test_recorders_do_not_meet():
    first, second = recorder(), recorder()
    tokens = [noted.enter_op("exp", []) for noted in (first, second)]
    for noted, token in zip((first, second), tokens):
        noted.leave_op(token, None)
    for noted in (first, second):
        (event,) = noted.results()
        assert event.cpu_parent is None


# ---- sums ----


@pytest.fixture
def events():
    """A forward of two modules on two lines, its backward, and a range around all."""
    place = [""]
    noted = recorder(record_shapes=True, module_path=lambda: place[0])
    whole = entered(noted, "whole")
    x = adjoint.ones(4, requires_grad=True)
    place[0] = "net.layer"
    h = observed(noted, "mul", adjoint.mul, x, 2)
    h = observed(noted, "mul", adjoint.mul, h, x)
    place[0] = "net"
    y = observed(noted, "sum", adjoint.sum, h)
    for node in (y.grad_fn, h.grad_fn):
        run_node(noted, node)
    noted.leave_range(whole)
    return noted.results()


def test_sums_by_op(events):
    rows = {row.key: row for row in events.key_averages()}
    assert list(rows) == ["whole", "mul", "sum", "SumBackward0", "MulBackward0"]
    assert rows["mul"].count == 2
    assert rows["mul"].cpu_time_total == 2
    assert rows["mul"].cpu_time == 1
    assert rows["mul"].cpu_memory_usage == 32
    assert rows["MulBackward0"].cpu_memory_usage == 32
    assert rows["whole"].cpu_time_total == 11
    assert rows["whole"].self_cpu_time_total == 6
    assert events.self_cpu_time_total == 11


def test_sums_by_module_have_their_parts_in_the_totals(events):
    rows = {row.key: row for row in events.key_averages(by="module")}
    assert list(rows) == ["net.layer", "net"]
    layer, net = rows["net.layer"], rows["net"]
    assert (layer.count, layer.self_cpu_time_total, layer.cpu_time_total) == (3, 3, 3)
    assert (layer.forward_time, layer.backward_time) == (2, 1)
    assert (net.count, net.self_cpu_time_total, net.cpu_time_total) == (2, 2, 5)
    assert (net.forward_time, net.backward_time) == (3, 2)
    assert net.cpu_memory_usage == layer.cpu_memory_usage + net.self_cpu_memory_usage


@pytest.mark.parametrize("asked", [{"by": "line"}, {"group_by_stack_n": 1}], ids=str)
def test_sums_by_line(events, asked):
    (row,) = events.key_averages(**asked)
    assert row.key.startswith(f"{HERE}:")
    assert row.key.endswith(" observed")
    assert (row.count, row.forward_time, row.backward_time) == (5, 3, 2)


def test_sums_by_shape(events):
    rows = events.key_averages(group_by_input_shape=True)
    shapes = [row.input_shapes for row in rows if row.key == "mul"]
    assert shapes == [((4,),), ((4,), (4,))]


def test_the_sum_of_all(events):
    total = events.total_average()
    assert (total.key, total.count) == ("Total", 6)
    assert total.cpu_time_total == total.self_cpu_time_total == events.self_cpu_time_total
    assert total.cpu_memory_usage == sum(event.self_cpu_memory_usage for event in events)


def test_unknown_groupings_are_refused(events):
    with pytest.raises(ValueError, match="'op'.*is 'size'"):
        events.key_averages(by="size")


# ---- tables ----


def names_in(table):
    """The first word of each row."""
    rows = [line for line in table.splitlines() if line and not line.startswith(("-", "Self CPU"))]
    return [row.split()[0] for row in rows[1:]]


@pytest.mark.parametrize(
    ("sort_by", "first"),
    [
        (None, "whole"),
        ("count", "mul"),
        ("self_cpu_time_total", "whole"),
        ("self_cpu_memory_usage", "mul"),
        ("backward_time", "SumBackward0"),
        ("self_cuda_time_total", "whole"),
    ],
)
def test_tables_are_sorted(events, sort_by, first):
    assert names_in(events.key_averages().table(sort_by=sort_by))[0] == first


def test_tables_have_their_limits(events):
    assert names_in(events.table(row_limit=2)) == ["whole", "mul"]
    assert names_in(events.table(top_level_events_only=True)) == ["whole"]
    assert "Mul..." in events.table(max_name_column_width=6)
    assert events.table(header="a run").startswith("a run\n")
    assert EventList().table().endswith("Self CPU time total: 0.000us")


def test_tables_show_what_is_there(events):
    by_op, by_module = str(events.key_averages()), str(events.key_averages(by="module"))
    assert "CPU time avg" in by_op
    assert "Backward " not in by_op
    assert "Backward " in by_module
    assert "Input Shapes" in str(events)
    assert "[[4], [4]]" in str(events)
    assert "Input Shapes" not in by_module
    assert len({len(line) for line in by_op.splitlines()[:-1]}) == 1


def test_columns_to_sort_by_are_named_when_refused(events):
    with pytest.raises(ValueError, match=r"cpu_time_total.*'price'"):
        events.table(sort_by="price")


def test_units():
    assert [time_text(t) for t in (0.5, 1500, 2.5e6)] == ["0.500us", "1.500ms", "2.500s"]
    assert [bytes_text(n) for n in (3, 2048, 3 << 20, 5 << 30)] == [
        "3 B",
        "2.00 KiB",
        "3.00 MiB",
        "5.00 GiB",
    ]


# ---- traces ----


def test_traces(events, tmp_path):
    events.export_chrome_trace(tmp_path / "trace.json")
    entries = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spans = [entry for entry in entries if entry["ph"] == "X"]
    assert [span["name"] for span in spans] == [event.name for event in events]
    assert {span["cat"] for span in spans} == {"forward", "backward", "user_annotation"}
    assert spans[0]["dur"] == 11
    assert spans[2]["args"]["Module"] == "net.layer"
    assert spans[2]["args"]["Input Dims"] == [[4], [4]]
    arrows = [entry for entry in entries if entry["ph"] in "sf"]
    assert [arrow["ph"] for arrow in arrows] == ["s", "f", "s", "f"]
    begins = {span["ts"]: span["name"] for span in spans}
    assert [begins[arrow["ts"]] for arrow in arrows] == [
        "sum",
        "SumBackward0",
        "mul",
        "MulBackward0",
    ]


# ---- profile ----


def program():
    x = adjoint.ones(3, requires_grad=True)
    (x * 2).exp().sum().backward()


def test_a_profile_sees_forward_and_backward(profiler):
    with profiler.profile() as run:
        program()
    names = [event.name for event in run.function_events if event.cpu_parent is None]
    forward = ["mul", "exp", "sum"]
    backward = ["SumBackward0", "ExpBackward0", "MulBackward0"]
    assert [name for name in names if name in forward + backward] == forward + backward
    rows = {row.key: row for row in run.key_averages()}
    assert rows["exp"].cpu_memory_usage == 12
    assert rows["ExpBackward0"].cpu_memory_usage >= 12
    assert run.self_cpu_time_total > 0
    assert run.total_average().count == len(run.function_events)
    lines = run.key_averages(by="line")
    row = next(row for row in lines if row.key.endswith(" program") and row.backward_time > 0)
    assert row.forward_time > 0


def test_a_profile_knows_modules(profiler):
    nn = importlib.import_module("adjoint.nn")

    class Layer(nn.Module):
        def forward(self, x):
            return x.tanh()

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(Layer(), Layer())

        def forward(self, x):
            return self.layers(x).sum()

    network = Network()
    x = adjoint.ones(3, requires_grad=True)
    with profiler.profile() as run:
        network(x * 2).backward()
    modules = {
        event.name: event.module
        for event in run.function_events
        if event.name in ("mul", "sum", "SumBackward0", "MulBackward0")
    }
    assert modules == {
        "mul": "",
        "sum": "Network",
        "SumBackward0": "Network",
        "MulBackward0": "",
    }
    rows = {row.key: row for row in run.key_averages(by="module")}
    assert rows["Network.layers.0"].count == rows["Network.layers.1"].count == 2
    assert rows["Network.layers.0"].backward_time > 0
    assert rows["Network"].cpu_time_total > rows["Network.layers"].cpu_time_total > 0


def test_a_profile_ends_with_its_block(profiler):
    run = profiler.profile()
    with pytest.raises(ZeroDivisionError), run:
        program()
        1 / 0  # noqa: B018  # it is to fail
    count = len(run.function_events)
    program()
    assert len(run.function_events) == count > 0
    assert profiler.current().observers == ()


def test_a_profile_runs_once(profiler):
    run = profiler.profile()
    with pytest.raises(RuntimeError, match="left"):
        run.key_averages()
    with run, pytest.raises(RuntimeError, match="once"):
        run.__enter__()
    assert run.table() == str(run)


def test_options_that_only_pytorch_has(profiler, loops, tmp_path):
    with loops.profile(acc_events=True, experimental_config=None) as run:
        run.add_metadata("model", "small")
        run.add_metadata_json("sizes", "[1, 2]")
    run.export_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert (trace["model"], trace["sizes"]) == ("small", [1, 2])
    with pytest.warns(UserWarning, match="flop_counter"):
        loops.profile(with_flops=True)
    for profile in (loops.profile, profiler.profile):
        with pytest.raises(TypeError, match="with_colours"):
            profile(with_colours=True)


def test_a_profile_that_is_not_enabled(profiler):
    with profiler.profile(enabled=False) as run:
        program()
    assert run.function_events == []


def test_profiles_within_profiles(profiler):
    with profiler.profile() as outer:
        with profiler.profile() as inner:
            program()
        program()
    assert len(outer.function_events) == 2 * len(inner.function_events) > 0


def test_other_threads_are_not_seen(profiler):
    with profiler.profile() as run:
        thread = threading.Thread(target=program)
        thread.start()
        thread.join()
    assert run.function_events == []


def test_failing_ops_do_not_disturb(profiler):
    with profiler.profile() as run, profiler.record_function("range"):
        with pytest.raises(RuntimeError):
            adjoint.ones(2, 3) @ adjoint.ones(2, 3)
        adjoint.ones(2).exp()
    exp = next(event for event in run.function_events if event.name == "exp")
    assert exp.cpu_parent.name == "range"


def test_ranges(profiler):
    @profiler.record_function("function")
    def function(x):
        return x.exp()

    @profiler.record_function("generator")
    def generator(x):
        yield x.sin()
        yield x.cos()

    x = adjoint.ones(2)
    with profiler.profile() as run:
        with profiler.record_function("outer", "step 3"):
            function(x)
        for y in generator(x):
            y.tanh()
    found = {
        event.name: event.cpu_parent and event.cpu_parent.name for event in run.function_events
    }
    assert found["function"] == "outer(step 3)"
    assert found["exp"] == "function"
    assert found["sin"] == found["cos"] == "generator"
    assert found["tanh"] is None


def test_ranges_without_a_profile(profiler):
    with profiler.record_function("nothing") as name:
        assert name.tokens == []


# ---- adjoint.profiler ----


@pytest.fixture
def loops():
    return importlib.import_module("adjoint.profiler")


def test_schedules(loops):
    plan = loops.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    cycle = ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
    assert [plan(i).name for i in range(11)] == ["NONE", *cycle, *cycle, "NONE", "NONE"]
    early = loops.schedule(wait=1, warmup=1, active=2, repeat=1, skip_first_wait=1)
    assert [early(i).name for i in range(4)] == [*cycle[1:], "NONE"]
    for wrong in ({"active": 0}, {"wait": -1}):
        with pytest.raises(ValueError, match="schedule"):
            loops.schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})


def test_steps_of_a_loop(loops, tmp_path):
    seen, numbers = [], []

    def ready(run):
        seen.append([e.name for e in run.events() if e.name.startswith("ProfilerStep")])
        numbers.append(run.step_num)

    plan = loops.schedule(wait=1, warmup=0, active=2, repeat=2)
    with loops.profile(schedule=plan, on_trace_ready=ready) as run:
        for _ in range(7):
            program()
            run.step()
    assert seen == [["ProfilerStep#1", "ProfilerStep#2"], ["ProfilerStep#4", "ProfilerStep#5"]]
    assert (run.step_num, numbers) == (7, [3, 6])
    run.export_chrome_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_a_block_without_a_schedule(loops, tmp_path):
    with loops.profile(
        activities=[loops.ProfilerActivity.CPU],
        on_trace_ready=loops.tensorboard_trace_handler(str(tmp_path / "log"), "me"),
    ) as run:
        with pytest.raises(RuntimeError, match="over"):
            run.events()
        program()
    assert "exp" in [row.key for row in run.key_averages()]
    (written,) = (tmp_path / "log").iterdir()
    assert written.name.startswith("me.")
    assert written.name.endswith(".pt.trace.json")


def test_activities_must_be_some(loops):
    with pytest.raises(ValueError, match="activities"):
        loops.profile(activities=[])


def test_ranges_are_kept_where_modes_see_them(profiler):
    """A mode makes the range; one that answers by itself leaves it out."""
    from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode

    class Seeing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Swallowing(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return None if "profiler" in str(func) else func(*args, **(kwargs or {}))

    x = adjoint.ones(2)
    with profiler.profile() as prof:
        with Seeing(), Seeing(), profiler.record_function("seen"):
            x.sin()
        with Swallowing(), profiler.record_function("swallowed"):
            x.sin()
        range_ = profiler.record_function("left outside")
        with Seeing():
            range_.__enter__()
        range_.__exit__(None, None, None)
        with profiler.record_function("left inside"), Seeing() as mode:
            pass
        range_ = profiler.record_function("left inside")
        range_.__enter__()
        with mode:
            range_.__exit__(None, None, None)
    names = [event.name for event in prof.function_events]
    assert [name for name in names if name != "sin"] == [
        "seen",
        "left outside",
        "left inside",
        "left inside",
    ]


def test_a_profile_names_steps_and_rounds(profiler):
    param = adjoint.nn.Parameter(adjoint.ones(2))
    optimizer = adjoint.optim.SGD([param], lr=0.1)
    param.grad = adjoint.ones(2)
    with profiler.profile() as prof:
        optimizer.step()
        optimizer.zero_grad()
        list(adjoint.utils.data.DataLoader([1.0], batch_size=None))
    names = [event.name for event in prof.function_events]
    once = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert names[:2] == ["Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad"]
    assert names.count(once) == 2
