"""Optimizers of parameters whose class answers calls: the steps and numbers of PyTorch's."""

import importlib

import pytest

import adjoint.compat.torch as compat

OPTIMIZERS = {
    "SGD": lambda optim, params: optim.SGD(params, 0.1),
    "momentum": lambda optim, params: optim.SGD(params, 0.1, momentum=0.9, weight_decay=0.1),
    "Adam": lambda optim, params: optim.Adam(params, 0.1, amsgrad=True),
    "AdamW": lambda optim, params: optim.AdamW(params, 0.1),
    "RMSprop": lambda optim, params: optim.RMSprop(params, 0.1, centered=True),
    "Adagrad": lambda optim, params: optim.Adagrad(params, 0.1, initial_accumulator_value=0.5),
    "NAdam": lambda optim, params: optim.NAdam(params, 0.1),
    "Adafactor": lambda optim, params: optim.Adafactor(params, 0.1, weight_decay=0.1),
    "LBFGS": lambda optim, params: optim.LBFGS(params, 0.1),
    "a search": lambda optim, params: optim.LBFGS(params, line_search_fn="strong_wolfe"),
}


def wrapper(torch):
    """A class whose instances hold a tensor, and have no memory of their own."""
    tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

    class Held(torch.Tensor):
        working = -1  # how many more changes succeed before one fails

        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        def __init__(self, inner):
            pass

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if "copy_" in str(func):
                cls.working -= 1
                if cls.working == 0:
                    raise KeyboardInterrupt
            given, named = tree_map(
                lambda each: each.inner if isinstance(each, Held) else each, (args, kwargs or {})
            )
            answer = func(*given, **named)
            if func._schema.name.endswith("_"):
                return args[0]
            return tree_map(
                lambda each: Held(each) if isinstance(each, torch.Tensor) else each, answer
            )

    return Held


def take(optimizer, loss_of):
    def closure():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)


def stepped(torch, make, values=(1.0, -2.0, 3.0)):
    param = torch.nn.Parameter(wrapper(torch)(torch.tensor(values)))
    optimizer = make(torch.optim, [param])
    take(optimizer, lambda: (param.abs() ** 2).sum())
    return param, optimizer


def layer_of(torch):
    """A layer with a weight that holds another tensor, and a plain shift."""
    layer = torch.nn.Linear(2, 3)
    with torch.no_grad():
        layer.bias.copy_(torch.arange(3.0))
    layer.weight = torch.nn.Parameter(wrapper(torch)(torch.arange(6.0).view(3, 2) / 7))
    return layer


# PyTorch's LBFGS views such a gradient as a vector, which the class then lays out otherwise.
@pytest.mark.parametrize("name", list(OPTIMIZERS)[:-2])
def test_plain_parameters_take_gradients_that_a_class_answers_for(torch, name):
    found = []
    for library in (compat, torch):
        layer, ones = layer_of(library), library.ones(2, 2)
        optimizer = OPTIMIZERS[name](library.optim, layer.parameters())
        take(optimizer, lambda layer=layer, ones=ones: layer(ones).pow(2).sum())
        assert type(layer.bias.grad).__name__ == "Held" and type(layer.bias) is not type(
            layer.weight
        )
        found.append([*layer.bias.tolist(), *layer.weight.inner.flatten().tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-6)


def test_modules_convert_parameters_that_hold_others(torch):
    found = []
    for library in (compat, torch):
        layer = layer_of(library)
        type(layer.weight).__tensor_flatten__ = lambda self: (["inner"], None)  # PyTorch asks
        type(layer.weight).__tensor_unflatten__ = lambda *args: None
        layer(library.ones(1, 2)).sum().backward()
        weight = layer.weight
        layer.double()
        assert layer.weight is weight and isinstance(weight, library.nn.Parameter)
        held = [weight.inner, weight.grad.inner]
        found.append(
            [weight.dtype.itemsize, *[(each.dtype.itemsize, each.tolist()) for each in held]]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_pytorchs(torch, name):
    (ours, _), (theirs, _) = (stepped(t, OPTIMIZERS[name]) for t in (compat, torch))
    assert ours.inner.tolist() == pytest.approx(theirs.inner.tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_steps_of_matrices_are_pytorchs(torch, name):
    values = [[1.0, -2.0], [3.0, 0.5], [0.1, 1.0]]
    found = [
        stepped(t, lambda optim, params: getattr(optim, name)(params, 0.1), values)[0]
        for t in (compat, torch)
    ]
    ours, theirs = (param.inner.flatten().tolist() for param in found)
    assert ours == pytest.approx(theirs, rel=1e-2 if name == "Muon" else 1e-5)  # in bfloat16


def test_steps_of_both_parts_of_complex_numbers_are_pytorchs(torch):
    found = [
        stepped(t, lambda optim, params: optim.Rprop(params, 0.1), [1 + 2j, -0.5j])[0].inner
        for t in (compat, torch)
    ]
    assert found[0].tolist() == pytest.approx(found[1].tolist(), rel=1e-5)


def test_the_state_is_of_the_same_class(torch):
    for library in (compat, torch):
        param, optimizer = stepped(library, OPTIMIZERS["Adam"])
        assert type(optimizer.state[param]["exp_avg"]).__name__ == "Held"


@pytest.mark.parametrize("kind", ["SGD", "Adafactor"])
def test_a_step_that_fails_changes_no_parameter(kind):
    Held = wrapper(compat)
    params = [compat.nn.Parameter(Held(compat.ones(2))) for _ in range(2)]
    plain = compat.nn.Parameter(compat.ones(2))
    optimizer = getattr(compat.optim, kind)([plain, *params], 0.1)
    for param in (plain, *params):
        (param * 2).sum().backward()
    Held.working = 2
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    assert [*plain.tolist(), *params[0].inner.tolist(), *params[1].inner.tolist()] == [1.0] * 6


def test_fake_parameters_take_steps(torch):
    for library in (compat, torch):
        mode = importlib.import_module(f"{library.__name__}._subclasses.fake_tensor").FakeTensorMode
        with mode():
            layer = library.nn.Linear(3, 2)
            optimizer = library.optim.Adam(layer.parameters())
            layer(library.ones(1, 3)).sum().backward()
            optimizer.step()
            assert tuple(optimizer.state[layer.weight]["exp_avg"].shape) == (2, 3)


def test_what_a_class_cannot_answer_is_refused():
    param = compat.nn.Parameter(wrapper(compat)(compat.ones(2)))
    optimizer = compat.optim.Adam([param], capturable=True)
    (param * 2).sum().backward()
    with pytest.raises(RuntimeError, match="takes no Held"):
        optimizer.step()
