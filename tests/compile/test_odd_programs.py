"""Programs that can't be traced: each is refused at the user's line, and leaves all as it was."""

import contextlib
import copy
import functools
import gc
import inspect
import io
import pickle
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.compiling import CompileError
from adjoint.utils.checkpoint import checkpoint

F = nn.functional


def world():
    """What the programs read and change before they do what can't be traced."""
    adjoint.manual_seed(0)
    net = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    count = adjoint.zeros(3)
    made = SimpleNamespace(net=net, optimizer=optimizer, schedule=schedule, count=count, odd=True)
    made.kept, made.first = [], net[1].weight
    return made


def state(w):
    """All that a call may change, bit for bit."""
    params = list(w.net.parameters())
    tensors = [*params, *w.net.buffers(), w.count, adjoint.get_rng_state()]
    tensors += [value for p in params for value in w.optimizer.state[p].values()]
    gradients = [None if p.grad is None else p.grad.detach().numpy().tobytes() for p in params]
    numbers = w.schedule.last_epoch, w.schedule.get_last_lr(), [t._version for t in tensors[:-1]]
    return [t.detach().numpy().tobytes() for t in tensors], gradients, numbers


def trained(w, x):
    """A step that changes all of it."""
    w.count.add_(1)
    w.optimizer.zero_grad()
    loss = F.dropout(w.net(x), 0.5).square().mean()
    loss.backward()
    w.optimizer.step()
    w.schedule.step()
    return loss.detach()


PROGRAMS = {}


def odd(function):
    """A program; the line that ends with `here` is the one that its error must name."""
    lines, start = inspect.getsourcelines(function)
    here = [start + n for n, line in enumerate(lines) if line.rstrip().endswith("# here")]
    PROGRAMS[function.__name__] = function, here
    return function


# ---- values that Python reads ----


@odd
def a_bool(w, x):
    return bool(x.sum() > 100)  # here


@odd
def an_if(w, x):
    if x.sum() > 100:  # here
        return -x
    return x


@odd
def a_while(w, x):
    while x.sum() < 0:  # here
        x = x + 1
    return x


@odd
def an_and(w, x):
    return x.sum() > 0 and x  # here


@odd
def a_not(w, x):
    return x if not x.sum() else x + 1  # here


@odd
def an_assertion(w, x):
    assert (x > -100).all()  # here
    return x


@odd
def an_item(w, x):
    return x * x.max().item()  # here


@odd
def an_int(w, x):
    return x * int(x.max())  # here


@odd
def a_float(w, x):
    return x * float(x.max())  # here


@odd
def a_complex(w, x):
    return x * complex(x.max())  # here


@odd
def an_index_of_a_list(w, x):
    return x * [1.0, 2.0][(x.sum() > 0).long()]  # here


@odd
def a_range(w, x):
    for _ in range((x.sum() > 0).long()):  # here
        x = x + 1
    return x


@odd
def a_range_of_int(w, x):
    return [x for _ in range(int((x > 0).sum()))]  # here


@odd
def to_numpy(w, x):
    return adjoint.tensor(x.numpy() * 2)  # here


@odd
def an_array(w, x):
    return adjoint.tensor(np.asarray(x) * 2)  # here


@odd
def a_function_of_numpy(w, x):
    return adjoint.tensor(np.median(x))  # here


@odd
def a_list_of_numbers(w, x):
    return x * x.tolist()[0][0]  # here


@odd
def iterated_numbers(w, x):
    return sum(float(value) for value in x[0])  # here


@odd
def printed(w, x):
    w.kept[:] = [f"{x.sum()}"]  # here
    return x


@odd
def formatted(w, x):
    w.kept[:] = [f"{x.sum():.3f}"]  # here
    return x


@odd
def shown(w, x):
    w.kept[:] = [repr(x)]  # here
    return x


@odd
def rounded(w, x):
    return x * round(x.max().item())  # here


@odd
def a_maximum_of_python(w, x):
    return max(x[0, 0], x[0, 1])  # here


@odd
def a_sorted_list(w, x):
    return sorted(x[0])  # here


@odd
def membership(w, x):
    return x if 3.0 in x else x + 1  # here


@odd
def equality(w, x):
    return x * adjoint.equal(x, x + 1)  # here


@odd
def closeness(w, x):
    return x * adjoint.allclose(x, x + 1)  # here


@odd
def a_size_by_value(w, x):
    return adjoint.zeros(int((x > 0).sum()))  # here


@odd
def a_tensor_as_a_size(w, x):
    return adjoint.zeros((x > 0).sum())  # here


@odd
def a_slice_by_value(w, x):
    return x[: (x > 0).sum()]  # here


@odd
def a_step_of_a_slice(w, x):
    return x[:: int(x.abs().max()) + 1]  # here


@odd
def a_dimension_by_value(w, x):
    return x.sum(int((x.sum() > 1000).long()))  # here


@odd
def a_hash_of_values(w, x):
    return x * (hash(x.detach().numpy().tobytes()) % 2)  # here


@odd
def pickled(w, x):
    w.kept[:] = [pickle.dumps(x * 2)]  # here
    return x


@odd
def saved(w, x):
    adjoint.save(x * 2, io.BytesIO())  # here
    return x


@odd
def by_dlpack(w, x):
    return adjoint.from_dlpack(np.from_dlpack(x * 2))  # here


# ---- shapes that depend on values ----


@odd
def nonzero(w, x):
    return x.nonzero()  # here


@odd
def masked_select(w, x):
    return adjoint.masked_select(x, x > 0)  # here


@odd
def unique(w, x):
    return x.unique()  # here


@odd
def unique_consecutive(w, x):
    return adjoint.unique_consecutive(x)  # here


@odd
def a_mask(w, x):
    return x[x > 0]  # here


@odd
def one_argument_where(w, x):
    return adjoint.where(x > 0)  # here


@odd
def argwhere(w, x):
    return adjoint.argwhere(x)  # here


@odd
def bincount(w, x):
    return adjoint.bincount((x > 0).long().flatten())  # here


@odd
def repeated_by_value(w, x):
    return x.repeat_interleave((x[:, 0] > 0).long(), 0)  # here


@odd
def one_hot_of_unknown_size(w, x):
    return F.one_hot((x > 0).long())  # here


# ---- where they are read ----


@odd
def nested_functions(w, x):
    def inner(y):
        def innermost(z):
            return z * z.sum().item()  # here

        return innermost(y)

    return inner(x)


@odd
def a_comprehension(w, x):
    return [x * value for value in (float(row.sum()) for row in x)]  # here


@odd
def a_generator(w, x):
    def rows():
        for row in x:
            yield row.sum().item()  # here

    return x * sum(rows())


@odd
def a_lambda(w, x):
    choose = lambda y: y if y.sum() > 0 else -y  # here
    return choose(x)


@odd
def a_partial(w, x):
    scaled = functools.partial(lambda factor, y: y * int(factor), x.sum())  # here
    return scaled(x)


@odd
def a_map(w, x):
    return sum(map(lambda row, two: row.sum().item(), x, x))  # here


@odd
def a_key(w, x):
    return min(x, key=lambda row: row.sum().item())  # here


@odd
def a_property(w, x):
    class Sized:
        @property
        def size(self):
            return x.sum().item()  # here

    return x * Sized().size


@odd
def a_context_manager(w, x):
    @contextlib.contextmanager
    def scaled():
        yield x.sum().item()  # here

    with scaled() as factor:
        return x * factor


@odd
def a_module(w, x):
    class Gate(nn.Module):
        def forward(self, y):
            return y if y.mean() > 0 else -y  # here

    return nn.Sequential(nn.Tanh(), Gate())(x)


@odd
def a_closure_of_an_optimizer(w, x):
    def closure():
        w.optimizer.zero_grad()
        loss = w.net(x).square().mean()
        loss.backward()
        return loss.item()  # here

    return x * w.optimizer.step(closure)


@odd
def a_rate_that_is_computed(w, x):
    w.optimizer.param_groups[0]["lr"] = float(x.abs().mean())  # here
    w.optimizer.step()
    return x


@odd
def a_schedule_of_a_loss(w, x):
    schedule = optim.lr_scheduler.LambdaLR(w.optimizer, lambda _: x.abs().max().item())  # here
    schedule.step()
    return x


@odd
def a_clipped_norm(w, x):
    norm = nn.utils.clip_grad_norm_(w.net.parameters(), 1.0)
    return x if norm < 1 else x * 2  # here


@odd
def a_finite_norm(w, x):
    loss = w.net(x).square().mean()
    loss.backward()
    nn.utils.clip_grad_norm_(w.net.parameters(), 1.0, error_if_nonfinite=True)  # here
    return x


@odd
def a_body_of_grad(w, x):
    return adjoint.func.grad(lambda y: (y * y.max().item()).sum())(x)  # here


@odd
def a_body_of_checkpoint(w, x):
    return checkpoint(lambda y: y * y.max().item(), x, use_reentrant=False)  # here


@odd
def a_traceable_hook(w, x):
    hidden = w.net(x)
    hidden.register_hook(lambda grad: grad * grad.max().item(), traceable=True)  # here
    return adjoint.autograd.grad(hidden.sum(), w.first)[0]


@odd
def another_thread(w, x):
    found = []

    def work():
        try:
            found.append(float(x.sum()))  # here
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return x * found[0]


@odd
def a_read_that_is_caught_and_chained(w, x):
    try:
        return x * x.max().item()  # here
    except ArithmeticError as error:
        raise ValueError("no") from error


@odd
def a_finally(w, x):
    w.kept[:] = []
    try:
        return x * x.max().item()  # here
    finally:
        w.kept.append("left")


@odd
def a_loop_that_ends_by_a_value(w, x):
    for _ in range(5):
        x = x * 0.5
        if x.abs().max() < 1e-3:  # here
            break
    return x


@odd
def a_match(w, x):
    match int(x.sum() > 0):  # here
        case 1:
            return x
    return -x


@odd
def a_distribution(w, x):
    return adjoint.distributions.Normal(x.mean().item(), 1.0).mean  # here


@odd
def a_walrus(w, x):
    return x * factor if (factor := x.max().item()) > 100 else x  # here


@odd
def a_custom_operator_without_a_fake(w, x):
    @adjoint.library.custom_op("odd_programs::scaled", mutates_args=())
    def scaled(y: adjoint.Tensor) -> adjoint.Tensor:
        return y * y.max().item()  # here

    return scaled(x)


def compiled_of(w, program, **options):
    """A step and then the program, compiled."""

    def step(x):
        loss = trained(w, x)
        return (loss, program(w, x)) if w.odd else (loss, None)

    return adjoint.compile(step, **options)


def batch():
    return adjoint.tensor(np.random.default_rng(0).standard_normal((5, 3)).astype("float32"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_refused_at_its_line_and_nothing_changes(name):
    program, lines = PROGRAMS[name]
    assert len(lines) == 1
    x, w = batch(), world()
    step = compiled_of(w, program)
    step(x)
    before = state(w)
    with pytest.raises(CompileError) as caught:
        step(x)
    told = str(caught.value)
    assert f'file "{__file__}", line {lines[0]}, in ' in told
    assert "fallback=True" in told
    assert "outside of the compiled function" in told
    for word in ("jax", "Tracer", "tracer", "Concretization", "jit", "aval"):
        assert word not in told
    assert state(w) == before


@pytest.mark.parametrize(
    "name", ["an_item", "a_mask", "a_closure_of_an_optimizer", "another_thread"]
)
def test_afterwards_the_function_is_compiled_all_the_same(name):
    program, x, found = PROGRAMS[name][0], batch(), []
    for options in ({"disable": True}, {}):
        w = world()
        step = compiled_of(w, program, **options)
        step(x)
        for _ in range(2 if not options else 0):
            with pytest.raises(CompileError):
                step(x)
        w.odd = False
        found.append([step(x)[0].item() for _ in range(2)])
    assert step.count == 1
    np.testing.assert_allclose(*found, 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_with_fallback_it_runs_eagerly_and_says_so_once(name):
    program, _ = PROGRAMS[name]
    w, other, x = world(), world(), batch()
    step = compiled_of(w, program, fallback=True)
    adjoint.manual_seed(3)
    expected = [compiled_of(other, program, disable=True)(x) for _ in range(3)]
    adjoint.manual_seed(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = [step(x) for _ in range(3)]
    said = [str(each.message) for each in caught if "runs eagerly" in str(each.message)]
    assert len(said) == 1
    assert "test_odd_programs.py" in said[0]
    assert step.count == 0
    for one, two in zip(found, expected, strict=True):
        assert [str(part) for part in one] == [str(part) for part in two]
    assert state(w) == state(other)


# ---- programs that are odd otherwise ----


def _generator(x):
    yield x * 2


async def _coroutine(x):
    return x * 2


async def _async_generator(x):
    yield x * 2


def _answers_a_generator(x):
    return [x, (each * 2 for each in (x,))]


def _answers_an_iterator(x):
    return iter([x * 2])


def _moved_to_a_gpu(x):
    return x.to("cuda")


def _moved_nowhere(x):
    return x.to("meta")


def _copied(x):
    return copy.deepcopy(x) * 2


def _shown_before_it_is_used(x):
    return x * len(str(x))


def _reads_in_a_scan(x):
    return adjoint.scan(lambda carry, row: (carry + int(row.sum()), carry), x.sum(), x)


def _reads_in_a_branch(x):
    return adjoint.cond(x.sum() > 0, lambda y: y * y.max().item(), lambda y: y, (x,))


def _reads_in_a_loop(x):
    return adjoint.while_loop(lambda y: bool(y.sum() < 3), lambda y: (y + 1,), (x,))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (_generator, "it answers a generator, which can be run through once"),
        (_coroutine, "it answers a coroutine"),
        (_async_generator, "it answers a async_generator"),
        (_answers_a_generator, "it answers a generator"),
        (_answers_an_iterator, "it answers a list_iterator"),
        (_moved_to_a_gpu, "a tensor is moved to cuda"),
        (_moved_nowhere, "a tensor is moved to meta"),
        (_copied, "the value of a tensor is read"),
        (_shown_before_it_is_used, "the value of a tensor is read"),
        (_reads_in_a_scan, "the value of a tensor is read"),
        (_reads_in_a_branch, "the value of a tensor is read"),
        (_reads_in_a_loop, "the value of a tensor is read"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_other_odd_programs_are_refused_where_they_are(program, reason):
    with pytest.raises(CompileError) as caught:
        adjoint.compile(program, warm_up=0)(batch())
    assert reason in str(caught.value)
    lines, start = inspect.getsourcelines(program)
    places = [f'file "{__file__}", line {start + n}, in ' for n in range(len(lines))]
    assert any(place in str(caught.value) for place in places)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"backend": "tpu"}, ValueError, "backend must be 'xla' or 'cudagraph', got 'tpu'"),
        ({"backend": None}, ValueError, "backend must be"),
        ({"backend": ["xla"]}, ValueError, "backend must be"),
        ({"limit": "8"}, ValueError, "limit must be a number of calls, got '8'"),
        ({"limit": -1}, ValueError, "limit must be"),
        ({"warm_up": None}, ValueError, "warm_up must be a number of calls, got None"),
        ({"warm_up": 0.5}, ValueError, "warm_up must be"),
        ({"mesh": 0}, ValueError, "mesh must be a jax.sharding.Mesh, one or two sizes"),
        ({"mesh": 2.5}, ValueError, "mesh must be"),
        ({"mesh": object()}, ValueError, "mesh must be"),
        ({"mesh": "data"}, ValueError, "mesh must be"),
        ({"mesh": []}, ValueError, "mesh must be"),
        ({"mesh": (1, 1, 1)}, ValueError, "mesh must be"),
        ({"mesh": {"data": "all"}}, ValueError, "mesh must be"),
        ({"mesh": 10**6}, ValueError, "a mesh of 1000000 devices was asked for, and JAX has"),
        ({"mesh": 1, "shard": "data"}, TypeError, "shard must be a function of a tensor, got str"),
        ({"shard": len}, ValueError, "give mesh= too"),
    ],
)
def test_options_that_mean_nothing_are_named(options, kind, message):
    with pytest.raises(kind) as caught:
        adjoint.compile(lambda x: x, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("thing", [3, "step", [abs], adjoint.ones(3), np.ones(3)])
def test_what_is_no_function_is_refused(thing):
    with pytest.raises(TypeError, match="expected a function or module, got "):
        adjoint.compile(thing)


class _Stop(Exception):
    pass


@pytest.mark.parametrize("kind", [_Stop, KeyboardInterrupt, StopIteration, SystemExit, MemoryError])
def test_an_exception_of_the_function_arrives_as_itself_and_nothing_changes(kind):
    w, x, fails = world(), batch(), [False]

    @adjoint.compile
    def step(x):
        loss = trained(w, x)
        if fails[0]:
            raise kind("stopped")
        return loss

    step(x)
    before = state(w)
    fails[0] = True
    with pytest.raises(kind) as caught:
        step(x)
    assert caught.value.args == ("stopped",)
    assert not hasattr(caught.value, "__notes__")  # JAX adds some
    assert caught.value.__cause__ is None
    files = [entry.path for entry in caught.traceback]
    assert str(files[-1]) == __file__
    assert state(w) == before
    fails[0] = False
    step(x)
    assert step.count == 1
    assert w.count.tolist() == [2.0] * 3


def test_errors_of_calls_are_those_of_eager_code():
    x = adjoint.ones(3)
    for program in (
        lambda x: x + adjoint.ones(4),
        lambda x: x.view(7),
        lambda x: x[5],
        lambda x: adjoint.linalg.inv(x),
        lambda x: x.nowhere,
        lambda x: x.sum().backward(),
        lambda x, y: x,
        lambda: x,
        lambda x: 1 / 0,
    ):
        errors = []
        for function in (program, adjoint.compile(program, warm_up=0)):
            with pytest.raises(Exception) as caught:
                function(x)
            errors.append(
                (
                    type(caught.value),
                    str(caught.value),
                    caught.value.__notes__ if hasattr(caught.value, "__notes__") else None,
                )
            )
        assert errors[0] == errors[1]


def test_recursion():
    @adjoint.compile
    def doubled(x, times):
        return x if times == 0 else doubled(x * 2, times - 1)

    @adjoint.compile
    def endless(x):
        return endless(x + 1)

    x = adjoint.ones(3)
    assert [doubled(x, 3).tolist() for _ in range(3)] == [[8.0] * 3] * 3
    for _ in range(2):
        with pytest.raises(RecursionError):
            endless(x)
    assert doubled(x, 3).tolist() == [8.0] * 3


# ---- tensors that escape ----


class Place:
    pass


def _kept_in_a_list(x, place):
    place.all.append(x * 2)


def _kept_in_a_dict(x, place):
    place.named.setdefault("all", []).append(x * 2)


def _kept_in_an_iterator(x, place):
    place.all.append(iter(x * 2))


def _kept_by_a_closure(x, place):
    doubled = x * 2
    place.all.append(lambda: doubled + 1)


def _kept_by_a_method(x, place):
    place.all.append((x * 2).numpy)


def _kept_in_an_object(x, place):
    made = Place()
    made.tensor = x * 2
    place.all.append(made)


USES = {
    "add": lambda t: t + 1,
    "print": repr,
    "shape": lambda t: t.shape,
    "type": lambda t: t.dtype,
    "device": lambda t: t.device,
    "numpy": np.asarray,
    "bool": bool,
    "backward": lambda t: t.sum().backward(),
    "copy": copy.deepcopy,
    "in place": lambda t: t.add_(1),
    "from": lambda t: adjoint.ones(3).add_(t),
    "grad": lambda t: setattr(adjoint.ones(5, 3), "grad", t),
    "stack": lambda t: adjoint.stack([t, t]),
    "pickle": pickle.dumps,
    "compiled": lambda t: adjoint.compile(lambda: t * 2, warm_up=0)(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.filterwarnings("ignore:compile. .* while it is traced")
def test_whatever_is_done_with_a_tensor_that_escaped(use):
    place = Place()
    place.all = []
    adjoint.compile(lambda x: _kept_in_a_list(x, place), warm_up=0)(batch())
    with pytest.raises(CompileError, match="made inside the compiled .* Return it, or copy_"):
        USES[use](place.all[0])


@pytest.mark.parametrize(
    ("keep", "use"),
    [
        (_kept_in_a_dict, lambda place: place.named["all"][0] + 1),
        (_kept_in_an_iterator, lambda place: next(place.all[0]).tolist()),
        (_kept_by_a_closure, lambda place: place.all[0]()),
        (_kept_by_a_method, lambda place: place.all[0]()),
        (_kept_in_an_object, lambda place: place.all[0].tensor + 1),
    ],
)
@pytest.mark.filterwarnings("ignore:compile. .* while it is traced")
def test_wherever_a_tensor_has_escaped_to(keep, use):
    place = Place()
    place.all, place.named = [], {}
    adjoint.compile(lambda x: keep(x, place), warm_up=0)(batch())
    with pytest.raises(CompileError, match="made inside the compiled .*, and kept elsewhere"):
        use(place)


@pytest.mark.parametrize("collects", [True, False])
@pytest.mark.filterwarnings("ignore:compile. .* while it is traced")
def test_the_collector_goes_on_as_before_and_may_run_inside(collects):
    place = Place()
    place.all = []

    def kept(x, fails):
        place.all.append(x * 2)
        gc.collect()
        if fails:
            raise KeyError("here")
        return x + 1

    (gc.enable if collects else gc.disable)()
    try:
        step = adjoint.compile(kept, warm_up=0)
        step(batch(), fails=False)
        assert gc.isenabled() is collects
        with pytest.raises(KeyError, match="here"):
            step(batch(), fails=True)
        assert gc.isenabled() is collects
    finally:
        gc.enable()
    with pytest.raises(CompileError, match="made inside the compiled"):
        place.all[0].tolist()


@pytest.mark.filterwarnings("ignore:compile. .* while it is traced")
def test_a_tensor_that_escapes_from_the_collector_too():
    place = Place()
    place.all = []

    def kept(x, hide):
        place.all.append(x * 2)
        hide()
        return x + 1

    try:
        for hide in (gc.freeze, lambda: (gc.freeze(), gc.unfreeze()), gc.freeze):
            adjoint.compile(kept, warm_up=0)(batch(), hide)
            with pytest.raises(CompileError, match="made inside the compiled"):
                place.all.pop().tolist()
    finally:
        gc.unfreeze()


def test_states_of_generators_are_those_of_each_call():
    def run(compile):
        adjoint.manual_seed(0)
        step = compile(lambda: (adjoint.rand(2), adjoint.get_rng_state(), adjoint.rand(1)))
        return [[part.tolist() for part in step()] for _ in range(4)]

    assert run(adjoint.compile) == run(lambda function: function)
