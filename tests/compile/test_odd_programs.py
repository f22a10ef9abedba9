"""Programs that can't be traced: each is refused at the user's line, and leaves all as it was."""

import contextlib
import functools
import inspect
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.autograd import graph
from adjoint.compiling import CompileError

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
    import pickle

    w.kept[:] = [pickle.dumps(x * 2)]  # here
    return x


@odd
def saved(w, x):
    import io

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
    return sum(map(lambda row: row.sum().item(), x))  # here


@odd
def a_key(w, x):
    return sorted(x, key=lambda row: row.sum().item())[0]  # here


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
    from adjoint.utils.checkpoint import checkpoint

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
    x, other = batch(), world()
    eager = compiled_of(other, program, disable=True)
    eager(x)
    other.odd = False
    for _ in range(2):
        eager(x)
    w = world()
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
    with pytest.raises(CompileError):
        step(x)
    assert state(w) == before
    w.odd = False
    for _ in range(2):
        step(x)
    assert step.count == 1
    assert state(w)[2][0] == state(other)[2][0]
    for one, two in zip(w.net.parameters(), other.net.parameters(), strict=True):
        assert adjoint.allclose(one, two, rtol=1e-4, atol=1e-6)


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
