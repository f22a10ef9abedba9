"""What a compiled function reads and changes outside: tensors, gradients, chance, numbers."""

import copy
import logging
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from adjoint import nn, optim
from adjoint.backends import xla
from adjoint.compiling import CompileError, outcomes
from tests.compile import assert_alike
from tests.interpreter import fresh_python

F = nn.functional


def test_tensors_from_outside_are_inputs_and_outputs():
    def make():
        weight = adjoint.randn(4, requires_grad=True)
        buffer = adjoint.zeros(4, 3)
        view = buffer[1]

        def step():
            weight.grad = None
            (weight**2).sum().backward()
            weight.data.add_(weight.grad, alpha=-0.1)
            weight.detach()[0:2].mul_(0.9)
            buffer[0].add_(1.0)
            view.mul_(2).add_(1)
            inside = adjoint.zeros(2, 2)
            inside[0] = buffer[0, :2]
            inside[:, 1].add_(3)
            return weight, weight.grad, buffer, view, inside

        return step

    assert_alike(make)


def test_afterwards_tensors_hold_arrays_as_after_eager():
    weight = adjoint.ones(3, requires_grad=True)
    memory = weight.detach().numpy()
    count = adjoint.zeros(2, dtype=adjoint.int64)

    @adjoint.compile
    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        count.add_(1)
        with adjoint.no_grad():
            weight.mul_(2)
        return loss

    for number in range(4):
        step(adjoint.full((3,), float(number)))
        assert type(weight.array) is type(weight.grad.array) is type(count.array) is np.ndarray
        assert weight.grad.tolist() == [float(number)] * 3
        assert weight._version == number + 1
        assert count.tolist() == [number + 1] * 2
    assert memory.tolist() == [16.0] * 3  # whoever looks at the same memory sees the change
    weight.detach().zero_()
    assert step(adjoint.ones(3)).tolist() == 0.0


@pytest.mark.parametrize(("kind", "copies"), [(optim.SGD, 1), (optim.Adam, None)])
def test_small_inputs_are_where_xla_reads_them(kind, copies):
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))
    optimizer, x = kind(model.parameters()), adjoint.randn(6, 5)

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    for _ in range(3):
        step()
    (signature,) = step.signatures.values()
    (program,) = signature.programs
    assert program.inputs.handed == set()
    assert copies is None or len(program.inputs.rooms) == copies  # parameters are not copied
    memory = [tensor.array for tensor in model.parameters()]
    step()
    assert all(tensor.array is array for tensor, array in zip(model.parameters(), memory))


@pytest.mark.parametrize("long", [False, True])
def test_small_outputs_are_joined_unless_the_program_is_long(long, monkeypatch):
    if long:
        monkeypatch.setattr(outcomes, "LONG", 3)

    def make():
        params = [adjoint.randn(n, requires_grad=True) for n in (2, 3, 4)]
        optimizer = optim.Adam(params, lr=0.1)

        def step():
            optimizer.zero_grad()
            sum((p**2).sum() for p in params).backward()
            optimizer.step()
            return [*params, *[p.grad for p in params]]

        return step

    step = assert_alike(make, 4)
    (signature,) = step.signatures.values()
    assert bool(signature.programs[0].packing.joined) is not long


def test_gradients_accumulate():
    def make():
        layer, x = nn.Linear(4, 3), adjoint.randn(5, 4)

        def step():
            (layer(x) ** 2).sum().backward()
            return layer.weight.grad, layer.bias.grad

        return step

    assert_alike(make)


def _laid_otherwise(w, o):
    new = o * adjoint.arange(4.0).view(2, 2)
    other = new.detach()
    new.t_()
    other[0].add_(1)
    o.mul_(new)
    new.mul_(2)
    o.add_(other)


def _read_after(find, change):
    def run(w, o):
        found = find(w)
        change(w)
        o.add_(found)

    return run


def _flat_gradient(w, o):
    flat = o.view(-1)[:4]
    w.grad = flat.view(2, 2)
    with adjoint.enable_grad():
        (w * w.detach()).sum().backward()
    w.add_(w.grad.detach())


SHARED = {
    "a view, detached": lambda w, o: w[0].detach().add_(1),
    "data of a view": lambda w, o: w[1:].data[0].mul_(3),
    "a view of a view, detached": lambda w, o: w.detach().T.detach()[1].mul_(2),
    "the gradient": lambda w, o: w.grad[0].detach().add_(1),
    "laid otherwise": _laid_otherwise,
    "a detached view, read": _read_after(lambda w: w[0].detach(), lambda w: w.data.add_(1)),
    "a view of data, read": _read_after(lambda w: w.data[0], lambda w: w.mul_(2)),
    "a view, read": _read_after(lambda w: w[0], lambda w: w.data.mul_(2)),
    "a gradient in a view": _flat_gradient,
}


@pytest.mark.parametrize("name", SHARED)
def test_memory_that_is_shared_inside_changes_for_all(name):
    def make():
        w, o = adjoint.randn(2, 2, requires_grad=True), adjoint.ones(2, 2)
        w.grad = adjoint.ones(2, 2)

        def step():
            with adjoint.no_grad():
                SHARED[name](w, o)
                o.mul_(0.5)
            return w * 2, o * 1, w.grad * 1

        return step

    assert_alike(make, 4)


def test_gradients_that_are_views_add_to_what_they_show():
    def make():
        flat, w = adjoint.zeros(6), adjoint.randn(2, 2, requires_grad=True)
        w.grad = flat[1:5].view(2, 2)

        def step():
            (w.sin() * 2).sum().backward()
            return flat * 1, w.grad

        return step

    assert_alike(make, 4)


def test_random_numbers_are_those_of_eager_and_go_on():
    def make():
        x = adjoint.randn(4)

        def step():
            return (
                x + adjoint.randn(4),
                adjoint.rand(2, 3),
                adjoint.randint(0, 9, (3,)),
                adjoint.bernoulli(adjoint.full((5,), 0.3)),
                F.dropout(x, 0.5),
                adjoint.normal(x, 1.0),
                adjoint.randperm(5),
                x.clone().uniform_(-1, 1),
                adjoint.multinomial(adjoint.ones(4), 2),
            )

        return step

    compiled = assert_alike(make, 5)
    state = adjoint.get_rng_state()
    first = compiled()[1].tolist()
    assert compiled()[1].tolist() != first
    adjoint.set_rng_state(state)
    assert compiled()[1].tolist() == first


def test_a_seed_set_inside_is_set_at_each_call():
    @adjoint.compile
    def draw():
        adjoint.manual_seed(3)
        return adjoint.rand(2)

    assert draw().tolist() == draw().tolist() == draw().tolist()


def test_a_learning_rate_is_an_input():
    weight = adjoint.ones(3, requires_grad=True)
    optimizer = optim.SGD([weight], lr=1.0)

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        weight.sum().backward()
        optimizer.step()

    expected = 1.0
    for rate in (1.0, 0.5, 0.25, 3.0):
        optimizer.param_groups[0]["lr"] = rate
        step()
        expected -= rate
        assert weight.tolist() == [expected] * 3
    assert step.count == 1


def test_a_loaded_state_is_used():
    weight = adjoint.ones(3, requires_grad=True)
    optimizer = optim.Adam([weight], lr=0.1)

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()

    for _ in range(3):
        step()
    kept, values = copy.deepcopy(optimizer.state_dict()), weight.detach().clone()
    step()
    after = weight.tolist()
    optimizer.load_state_dict(kept)
    with adjoint.no_grad():
        weight.copy_(values)
    step()
    assert weight.tolist() == after
    assert float(optimizer.state[weight]["step"]) == 4.0


def test_arguments_are_inputs_and_may_change():
    @adjoint.compile
    def step(x, scale, *, other=None):
        x.mul_(scale)
        return x.sum() + other["a"]

    for number in range(1, 4):
        x = adjoint.full((2,), float(number))
        total = step(x, adjoint.tensor(2.0), other={"a": adjoint.tensor(1.0)})
        assert x.tolist() == [2.0 * number] * 2
        assert float(total) == 4.0 * number + 1
    assert step.count == 1


def test_arguments_on_one_memory_count_its_changes_once_each():
    @adjoint.compile
    def change(one, other):
        one.add_(1)
        other.mul_(2)

    for _ in range(3):
        whole = adjoint.ones(4)
        halves = whole[:2], whole[2:]
        change(*halves)
        assert whole.tolist() == [2.0] * 4
        assert [each._version for each in (whole, *halves)] == [2] * 3
        apart = adjoint.ones(4)[:2], adjoint.ones(4)[2:]
        change(*apart)
        assert [each._version for each in apart] == [1, 1]


def test_a_pass_may_begin_where_no_op_was():
    weight, start = adjoint.ones(2, requires_grad=True), adjoint.tensor([2.0, 3.0])
    count = adjoint.tensor(1.0, requires_grad=True)

    @adjoint.compile
    def step():
        weight.backward(start)
        count.backward()
        edge = adjoint.autograd.graph.get_gradient_edge(weight)
        (found,) = adjoint.autograd.grad([edge], [weight], [start])
        return found + adjoint.autograd.grad(count, count)[0]

    for number in range(1, 4):
        assert step().tolist() == [3.0, 4.0]
        assert weight.grad.tolist() == [2.0 * number, 3.0 * number]
        assert count.grad.item() == number


def test_arguments_that_are_views_are_those_of_the_call():
    data = adjoint.arange(12.0).reshape(6, 2)
    double = adjoint.compile(lambda row: row * 2)

    @adjoint.compile
    def grow(row):
        row.add_(1)
        return row.sum()

    for number in range(6):
        assert double(data[number]).tolist() == [4.0 * number, 4.0 * number + 2]
    for number in range(6):
        other = adjoint.zeros(3, 2)
        assert grow(other[number % 3]).item() == 2.0
        assert other.sum(1).tolist() == [2.0 if row == number % 3 else 0.0 for row in range(3)]
        assert other._version == 1
    assert (double.count, grow.count) == (1, 1)
    weight = adjoint.ones(3, 2, requires_grad=True)
    for number in range(4):
        weight.grad = None
        adjoint.compile(lambda row: row * row)(weight[number % 3]).sum().backward()
        assert weight.grad.sum(1).tolist() == [4.0 * (row == number % 3) for row in range(3)]


@pytest.mark.parametrize("kind", ["apart", "view", "detached", "state"])
def test_arguments_that_share_memory_only_in_later_calls(kind):
    state = adjoint.zeros(2)

    def make():
        def step(x, other):
            x.add_(1)
            state.add_(x)
            return x + other

        return step

    eager, step = make(), adjoint.compile(make())
    for _ in range(3):
        assert step(adjoint.ones(2), adjoint.ones(2)).tolist() == [3.0, 3.0]
    x = adjoint.ones(2)
    given = {"apart": x.clone(), "view": x[:], "detached": x.detach(), "state": state}[kind]
    if kind == "detached":
        with pytest.raises(CompileError, match="shares its memory"):
            step(x, given)
        assert x.tolist() == [1.0, 1.0]
    else:
        before = state.clone()
        found = step(x, given)
        state.copy_(before)
        x.fill_(1.0)
        assert found.tolist() == eager(x, given).tolist()
    assert step(adjoint.ones(2), adjoint.ones(2)).tolist() == [3.0, 3.0]


def test_hooks_of_arguments_are_those_of_the_call():
    log = []

    @adjoint.compile
    def step(x):
        (x * x).sum().backward()

    def double(grad):
        log.append(grad.tolist())
        return 2 * grad

    for number in range(8):
        x = adjoint.full((2,), float(number), requires_grad=True)
        if number % 2:
            x.register_hook(double)
        step(x)
        assert x.grad.tolist() == [(4.0 if number % 2 else 2.0) * number] * 2
    assert log == [[2.0 * number] * 2 for number in (1, 3, 5, 7)]
    assert step.count == 2


def test_a_backward_pass_that_would_have_to_go_on_outside_is_refused():
    weight = adjoint.ones(2, requires_grad=True)
    step = adjoint.compile(lambda x: (x * x).sum().backward())
    step(weight * 2)
    with pytest.raises(CompileError, match="whose history was recorded outside"):
        step(weight * 2)
    assert weight.grad.tolist() == [8.0, 8.0]


@pytest.mark.parametrize("where", ["cpu", "xla"])
def test_results_are_the_arguments_and_views_that_eager_code_answers(where):
    state = adjoint.zeros(2, 2, device=where)

    @adjoint.compile
    def step(x, untouched):
        made = x * 2
        state.add_(1)
        return untouched, x, x[0], state.t(), state.detach(), made, made[1]

    for number in range(1, 5):
        x, other = (adjoint.full((n, n), float(number), device=where) for n in (2, 3))
        untouched, same, row, turned, detached, made, part = step(x, other)
        assert untouched is other
        assert same is x
        assert row._base is x
        assert turned._base is state
        assert part._base is made
        row.add_(1)
        part.add_(1)
        assert x.tolist() == [[number + 1.0] * 2, [float(number)] * 2]
        assert made.tolist() == [[2.0 * number] * 2, [2.0 * number + 1] * 2]
        assert detached.tolist() == turned.tolist() == [[float(number)] * 2] * 2
        detached.add_(1)  # which is the same memory in main memory alone
        assert state.tolist() == [[number + float(where == "cpu")] * 2] * 2
        state.fill_(number)
    assert step.count == 1


def _looks(results, outside):
    """Of each result what kind it is, and whose memory it shares."""
    tensors = {**results, **outside}
    arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    return {
        name: (
            type(tensor).__name__,
            tensor.requires_grad,
            tensor.is_leaf,
            tensor.grad_fn is not None,
            tensor._version,
            tensor._is_view(),
            tensor.stride(),
            sorted(n for n, array in arrays.items() if np.shares_memory(array, arrays[name])),
        )
        for name, tensor in results.items()
    }


@pytest.mark.parametrize("mode", [adjoint.enable_grad, adjoint.no_grad])
@pytest.mark.parametrize("kind", ["plain", "leaf", "computed"])
def test_results_are_of_the_kind_that_eager_code_answers(kind, mode):
    def answer(x, w):
        y, z = w * x, x.clone()
        with adjoint.no_grad():
            quiet, part, inner = w * 2, w[0], y[1:]
        loss = (w * x * x).sum()
        if loss.requires_grad:
            loss.backward()
        w.grad = x.grad = None
        return {
            "y": y,
            "view": y[:2],
            "detached": y.detach(),
            "laid": y.reshape(1, 3),
            "z": z,
            "of z": z[1:],
            "quiet": quiet,
            "part": part,
            "inner": inner,
            "w": w,
            "w view": w[:1],
            "w data": w.data,
            "w part": w.detach()[1:],
            "row": w.unbind()[1],
            "x view": x.view(3, 1),
            "x wide": x.expand(2, 3),
            "x part": x.detach()[0],
            "sum": y.sum(),
            "parameter": nn.Parameter(x * 2),
            "loss": loss,
            "leaf": adjoint.zeros(2, requires_grad=True),
            "changed": x.clone().mul_(2),
            "alias": z.detach().requires_grad_(),
            "float": x.float(),
        }

    found = []
    for compile in (adjoint.compile, lambda function: function):
        w, step = adjoint.ones(3, requires_grad=True), compile(answer)
        for _ in range(3):
            x = adjoint.ones(3, requires_grad=kind != "plain")
            x = x * 1 if kind == "computed" else x
            with mode():
                results = step(x, w)
            outside = {"X": x, "W": w}
        found.append(_looks(results, outside))
        if mode is adjoint.enable_grad:
            w.grad = None
            with pytest.raises(RuntimeError, match="a second time"):
                results["loss"].backward()
            with pytest.raises(RuntimeError, match="a second time"):
                adjoint.autograd.grad(results["loss"], w)
            w.grad = None
            (results["view"].sum() + results["row"] + results["w view"].prod()).backward()
            found[-1]["grad"] = w.grad.tolist()
        with adjoint.no_grad():
            results["w part"].mul_(3)
            results["inner"].add_(1)
            results["alias"].sub_(2)
        found[-1]["values"] = {name: each.tolist() for name, each in results.items()}
    assert found[0] == found[1]


def test_views_among_results_keep_gradients_and_classes():
    class Own(adjoint.Tensor):
        pass

    def run(compile):
        w, own, found = (
            adjoint.arange(1.0, 4.0).requires_grad_(),
            adjoint.ones(3).as_subclass(Own),
            [],
        )

        @compile
        def step(x):
            whole = w * x
            part = whole[:2]
            whole.retain_grad()
            part.retain_grad()
            return whole, part, own[:2], own.detach(), own * x

        for _ in range(3):
            w.grad = None
            whole, part, *others = step(adjoint.ones(3))
            (whole.sum() + part.prod()).backward()
            found.append([t.tolist() for t in (w.grad, whole.grad, part.grad)])
            assert [type(each) for each in others] == [Own] * 3
            others[0].add_(1)
        return found, own.tolist()

    assert run(adjoint.compile) == run(lambda function: function)


def test_what_is_kept_from_call_to_call_shares_memory_as_in_eager_code():
    def run(compile):
        kept = SimpleNamespace(state=adjoint.zeros(4), row=None, plain=None)
        flat, w = adjoint.zeros(6), adjoint.ones(2, 2, requires_grad=True)

        @compile
        def step(x):
            kept.state.mul_(0.5)
            kept.state[1:3].add_(x)
            kept.row, kept.plain = kept.state[1:], kept.state.detach()
            w.grad = flat[1:5].view(2, 2)
            (w * x).sum().backward()
            return kept.row, kept.row, x * 2

        found = []
        for number in range(4):
            row, again, _ = step(adjoint.full((2,), float(number)))
            assert row is again
            assert row is kept.row
            row.add_(1)
            kept.plain.mul_(2)
            flat.add_(1)
            found.append([t.tolist() for t in (row, kept.plain, kept.state, w.grad, flat)])
        return found

    assert run(adjoint.compile) == run(lambda function: function)


@pytest.mark.parametrize("place", ["argument", "around"])
def test_data_set_to_a_tensor_from_outside_is_refused_and_changes_nothing(place):
    w, other = adjoint.ones(2, requires_grad=True), adjoint.zeros(2)

    def step(x):
        w.data = x if place == "argument" else other[:].detach()
        return x + 1

    with pytest.raises(CompileError, match="data is set to a tensor from outside"):
        adjoint.compile(step, warm_up=0)(adjoint.ones(2))
    assert w.tolist() == [1.0, 1.0]
    assert other.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("where", ["cpu", "xla"])
def test_gradients_that_are_set_to_tensors_from_outside(where):
    weight = adjoint.ones(2, requires_grad=True, device=where)
    fixed = adjoint.ones(2, device=where)

    @adjoint.compile
    def step(x, own):
        weight.grad = x if own else fixed

    for number in range(4):
        x = adjoint.full((2,), float(number), device=where)
        step(x, True)
        assert weight.grad is x
        step(x, False)
        assert weight.grad is fixed


def test_what_is_set_of_tensors_is_set_at_each_call():
    @adjoint.compile
    def step(x):
        x.requires_grad_()
        (x * x).sum().backward()

    for number in range(4):
        x = adjoint.full((2,), float(number))
        step(x)
        assert x.requires_grad
        assert x.grad.tolist() == [2.0 * number] * 2
    double = adjoint.compile(lambda x: x * 2)
    with adjoint.inference_mode():
        assert all(double(adjoint.ones(2)).is_inference() for _ in range(3))


def test_results_that_need_a_gradient_have_one():
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    other = copy.deepcopy(model)
    compiled = adjoint.compile(model)
    assert compiled.state_dict().keys() == {f"_orig_mod.{name}" for name in model.state_dict()}
    for _ in range(4):
        x = adjoint.randn(5, 4, requires_grad=True)
        same = x.detach().clone().requires_grad_()
        model.zero_grad()
        other.zero_grad()
        (compiled(x * 2) ** 2).sum().backward()
        (other(same * 2) ** 2).sum().backward()
        pairs = [(x, same), *zip(model.parameters(), other.parameters(), strict=True)]
        for one, expected in pairs:
            np.testing.assert_allclose(one.grad.numpy(), expected.grad.numpy(), 1e-5, 1e-6)
    assert compiled.compiled.count == 1


def test_tensors_on_xla_change_beside_results_that_need_a_gradient():
    weight = adjoint.ones(3, requires_grad=True, device="xla")
    counts = [adjoint.zeros(size, device="xla") for size in (1, 2, 3)]

    @adjoint.compile
    def step(x):
        for count in counts:
            count.add_(1)
        return weight * x * counts[2]

    for number in range(1, 5):
        weight.grad = None
        step(adjoint.ones(3, device="xla") * 2).sum().backward()
        assert [count.tolist() for count in counts] == [[number] * n for n in (1, 2, 3)]
        assert weight.grad.tolist() == [2.0 * number] * 3


def test_a_result_whose_history_was_changed_in_place_says_so():
    weight = adjoint.ones(2, requires_grad=True)

    def step(detached):
        loss = (weight**2).sum()
        (slope,) = adjoint.autograd.grad(loss, weight, retain_graph=True)
        with adjoint.no_grad():
            weight.sub_(slope * 0.25)
        return loss.detach() if detached else loss

    compiled = adjoint.compile(step, warm_up=0)
    with pytest.raises(CompileError, match=r"detach\(\) it"):
        compiled(False)
    assert weight.tolist() == [1.0, 1.0]
    assert compiled(True).item() == 2.0
    assert weight.tolist() == [0.5, 0.5]


def test_a_module_compiles_itself_in_place():
    layer = nn.Linear(3, 2)
    x = adjoint.randn(4, 3)
    expected = layer(x).tolist()
    layer.compile()
    for _ in range(3):
        np.testing.assert_allclose(layer(x).detach().numpy(), expected, 1e-5, 1e-6)
    assert layer.forward.count == 1


def test_new_signatures_trace_anew_and_the_log_says_why(caplog):
    layer = nn.Linear(3, 3)
    dropout = nn.Dropout(0.5)

    @adjoint.compile
    def step(x, factor=1.0):
        return dropout(layer(x)) * factor

    with caplog.at_level(logging.INFO, "adjoint.compile"):
        for x, factor in ((2, 1.0), (4, 1.0), (4, 2.0)):
            for _ in range(3):
                step(adjoint.ones(x, 3), factor)
        assert step.count == 3
        dropout.eval()
        assert (step(adjoint.ones(4, 3), 2.0) != 0).all()
        layer.weight.requires_grad_(False)
        step(adjoint.ones(4, 3), 2.0)
        layer.bias = nn.Parameter(adjoint.full((3,), 100.0))
        assert (step(adjoint.ones(4, 3), 2.0) > 100).all()
        with adjoint.no_grad():
            for _ in range(2):
                assert not step(adjoint.ones(4, 3), 2.0).requires_grad
    assert step.count == 7
    for reason in ("(2, 3)", "'1.0'", "training", "requires_grad", "was replaced", "True has"):
        assert reason in caplog.text


def test_a_name_that_is_bound_anew_is_read_anew():
    factor = 2.0
    batches = [adjoint.ones(2)]

    @adjoint.compile
    def step():
        return batches[0] * factor

    for _ in range(3):
        assert step().tolist() == [2.0, 2.0]
    factor = 3.0
    assert step().tolist() == [3.0, 3.0]
    batches[0] = adjoint.full((2,), 5.0)
    assert step().tolist() == [15.0, 15.0]


def test_too_many_programs_warn_once_and_run_eagerly():
    double = adjoint.compile(lambda x, factor: x * factor, limit=2)
    with pytest.warns(UserWarning, match="2 programs, which is the limit") as caught:
        for number in range(10):
            assert double(adjoint.tensor(1.0), number // 2).tolist() == number // 2
    assert len([each for each in caught if "the limit" in str(each.message)]) == 1
    assert double.count == 2


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x if x.sum() > 0 else -x, "value of a tensor is read"),
        (lambda x: x * x.max().item(), "value of a tensor is read"),
        (lambda x: x[x > 0], "a shape that depends on one"),
    ],
)
def test_what_cannot_be_traced_names_the_line(function, reason):
    compiled = adjoint.compile(function)
    compiled(adjoint.ones(3))
    with pytest.raises(CompileError, match=reason) as caught:
        compiled(adjoint.ones(3))
    assert "test_state.py" in str(caught.value)
    assert "lambda x: x" in str(caught.value)
    assert "fallback=True" in str(caught.value)


def test_fallback_runs_eagerly_and_says_so_once():
    value = adjoint.compile(lambda x: x.item(), fallback=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [value(adjoint.tensor(float(n))) for n in range(4)] == [0.0, 1.0, 2.0, 3.0]
    assert len([w for w in caught if "runs eagerly" in str(w.message)]) == 1


def test_a_tensor_that_escapes_says_so():
    kept = []

    @adjoint.compile
    def step(x):
        doubled = x * 2
        kept.append(doubled)
        return doubled + 1

    for _ in range(2):
        step(adjoint.ones(3))
    assert (kept[0] + 1).tolist() == [3.0] * 3
    for use in (lambda t: t + 1, lambda t: t.shape, lambda t: t.tolist()):
        with pytest.raises(CompileError, match="made inside the compiled .*step, and kept"):
            use(kept[1])


def test_history_that_would_lead_from_call_to_call_is_refused():
    weight, state = adjoint.ones(2, requires_grad=True), adjoint.zeros(2)
    step = adjoint.compile(lambda: state.add_(weight), warm_up=0)
    with pytest.raises(CompileError, match="history would lead from one call to the next"):
        step()
    assert state.tolist() == [0.0, 0.0]
    assert state.grad_fn is None


def test_tensors_on_xla_stay_there():
    weight = adjoint.ones(3, device="xla", requires_grad=True)

    @adjoint.compile
    def step(x):
        weight.grad = None
        loss = (weight * x).sum()
        loss.backward()
        with adjoint.no_grad():
            weight.sub_(weight.grad)
        return loss.detach()

    for _ in range(3):
        loss = step(adjoint.full((3,), 0.5, device="xla"))
    assert loss.device.type == weight.device.type == weight.grad.device.type == "xla"
    assert weight.tolist() == [-0.5] * 3


@pytest.mark.parametrize("beside", [True, False], ids=["beside NumPy's", "elsewhere"])
@pytest.mark.parametrize("mixed", [False, True])
def test_tensors_on_xla_stay_there_without_arguments(mixed, beside, monkeypatch):
    """Where XLA's arrays lie on a GPU, those of NumPy are sent there, not the others fetched."""
    if not beside:
        monkeypatch.setattr(xla, "is_beside_numpy", lambda: False)
    layer = nn.Linear(3, 2).to("xla")
    other = adjoint.ones(4)
    other_memory = other.numpy()
    optimizer = optim.Adam(layer.parameters(), lr=0.1)
    x = adjoint.ones(5, 3, device="xla")

    @adjoint.compile
    def step():
        optimizer.zero_grad()
        (layer(x) ** 2).sum().backward()
        optimizer.step()
        if mixed:
            other.mul_(2)

    before = layer.weight.tolist()
    for _ in range(4):
        step()
    assert step.count == 1
    assert layer.weight.tolist() != before
    assert layer.weight.device.type == layer.bias.device.type == "xla"
    assert layer.weight.grad.device.type == layer.bias.grad.device.type == "xla"
    assert other_memory.tolist() == [16.0 if mixed else 1.0] * 4


def test_memory_that_is_shared_unseen_is_refused():
    weight = adjoint.ones(3)
    alias = weight.detach()

    @adjoint.compile
    def step():
        weight.add_(1)
        return alias * 2

    assert step().tolist() == [4.0] * 3
    with pytest.raises(CompileError, match=r"shares its memory.*no view"):
        step()
    assert weight.tolist() == [2.0] * 3


def test_without_jax_the_extra_is_named(tmp_path):
    program = (
        "import sys; sys.modules['jax'] = None\n"
        "import adjoint\n"
        "try:\n    adjoint.compile(abs)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert "pip install 'adjoint[xla]'" in fresh_python("-c", program, cwd=tmp_path)


def test_importing_adjoint_does_not_import_jax(tmp_path):
    program = "import sys, adjoint; adjoint.compile; print('jax' in sys.modules)"
    assert fresh_python("-c", program, cwd=tmp_path).strip() == "False"


def test_a_compiled_module_can_be_copied():
    layer = nn.Linear(3, 2)
    layer.compile()
    x = adjoint.randn(4, 3)
    for _ in range(2):
        layer(x)
    other = copy.deepcopy(layer)
    with adjoint.no_grad():
        other.bias.add_(1)
    for _ in range(3):
        np.testing.assert_allclose((other(x) - layer(x)).detach().numpy(), 1.0, 1e-5)
