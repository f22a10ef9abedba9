"""torch.fx.experimental.proxy_tensor.make_fx: the graphs that PyTorch makes."""

import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat

PROGRAMS = {
    "calls": lambda torch: lambda x: x.sin() + 1,
    "two arguments, a nest of results": lambda torch: lambda x, y: (x + y, {"a": x @ y}),
    "changes": lambda torch: lambda x: x.clone().add_(1).mul_(2),
    "several results": lambda torch: lambda x: x.max(0)[0] + x.topk(1)[0],
    "a gradient": lambda torch: torch.func.grad(lambda x: (x.sin() ** 2).sum()),
    "what is not used": lambda torch: lambda x: (x.cos(), x + 1)[1],
    "views": lambda torch: lambda x: x.view(2, 1)[:, 0],
    "new tensors": lambda torch: lambda x: x + torch.zeros(2) + torch.tensor(3.0),
    "nothing": lambda torch: lambda x: None,
    "einsum": lambda torch: lambda x, y: torch.einsum("i,j->ij", x, y),
    "softmax": lambda torch: lambda x: x.softmax(0),
    "a range": lambda torch: torch.profiler.record_function("of a function")(lambda x: x + 1),
    "types": lambda torch: lambda x: x.to(torch.promote_types(torch.float64, torch.int64)),
}


def make_fx(torch, *args, **kwargs):
    path = f"{torch.__name__}.fx.experimental.proxy_tensor"
    return importlib.import_module(path).make_fx(*args, **kwargs)


def plain(torch, nest):
    """A nest with arrays for tensors."""
    return torch.utils._pytree.tree_map(
        lambda each: each.detach().numpy() if isinstance(each, torch.Tensor) else each, nest
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_is_pytorchs_and_gives_its_numbers(torch, name):
    found = []
    for library in (compat, torch):
        function = PROGRAMS[name](library)
        count = 2 if "y" in function.__code__.co_varnames[: function.__code__.co_argcount] else 1
        args = [library.tensor([0.5, 2.0]), library.tensor([1.0, 3.0])][:count]
        made = make_fx(library, function)(*args)
        found.append((made.code, plain(library, made(*[arg + 1 for arg in args]))))
    (ours, ours_out), (theirs, theirs_out) = found
    assert ours == theirs
    np.testing.assert_equal(str(type(ours_out)), str(type(theirs_out)))
    for one, other in zip(*map(flat, (ours_out, theirs_out)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def flat(nest):
    if isinstance(nest, dict):
        return [leaf for each in nest.values() for leaf in flat(each)]
    if isinstance(nest, tuple):
        return [leaf for each in nest for leaf in flat(each)]
    return [] if nest is None else [nest]


def changed_in_place(x):
    y = x.sin()
    y.add_(1)
    z = y * 2
    z.t_()
    w = z.exp()
    shown = w.detach()
    shown.zero_()
    return w + z, shown


KEPT_RESULTS = {
    "tanh": lambda x: (x.tanh() ** 2).sum(),
    "sigmoid": lambda x: x.sigmoid() * 3,
    "exp": lambda x: x.exp() + x,
    "softmax": lambda x: x.softmax(-1) * x,
    "changes": changed_in_place,
}


@pytest.mark.parametrize("name", KEPT_RESULTS)
@pytest.mark.parametrize("recorded", [False, True])
def test_a_result_is_told_from_what_shares_its_memory(torch, name, recorded):
    """Where a graph took detach() for what it detaches, it passed no gradient on."""
    made = []
    for library in (compat, torch):
        x = library.ones(2, 3, requires_grad=recorded)
        made.append(make_fx(library, KEPT_RESULTS[name])(x))
    assert made[0].code == made[1].code


def test_a_graph_of_recorded_calls_passes_gradients_on():
    x = compat.ones(2, requires_grad=True)
    made = make_fx(compat, lambda x: (x.tanh() ** 2).sum())(x)
    made(x).backward()
    assert x.grad is not None


def test_arguments_may_be_nests(torch):
    codes = []
    for library in (compat, torch):
        x, y, z = library.ones(2), library.ones(2), library.ones(2)
        made = make_fx(library, lambda xs, d: {"s": xs[0] + xs[1] * d["a"]})([x, y], {"a": z})
        codes.append(made.code)
        assert made([x, x], {"a": x * 2})["s"].tolist() == [3.0, 3.0]
    assert codes[0] == codes[1]


def test_a_tensor_may_be_given_twice():
    x = compat.ones(2)
    made = make_fx(compat, lambda x, y: x - 2 * y)(x, x)
    assert made(x, x * 3).tolist() == [-5.0, -5.0]


def shifted(layer, shift):
    return lambda x: layer(x) + shift


def test_parameters_and_tensors_from_outside_are_attributes(torch):
    codes = []
    for library in (compat, torch):
        layer, shift = library.nn.Linear(2, 2), library.ones(2)
        made = make_fx(library, shifted(layer, shift))(library.ones(1, 2))
        codes.append(made.code)
        assert dict(made.named_parameters())["_param_constant0"] is layer.weight
    assert codes[0] == codes[1]


def test_what_a_class_calls_is_in_the_graph(torch):
    codes = []
    for library in (compat, torch):
        Doubled = doubled(library)
        made = make_fx(library, held_by(Doubled))(library.ones(2), library.ones(2))
        codes.append(made.code)
        assert made(library.ones(2), library.ones(2) * 3).tolist() == [6.0, 6.0]
    assert codes[0] == codes[1]


def held_by(kind):
    return lambda x, y: (kind(x) * y).held


def doubled(library):
    """A class that holds a tensor and doubles what is multiplied."""

    class Doubled(library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.held = inner
            return made

        def __init__(self, inner):
            pass

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return cls(func(*[getattr(arg, "held", arg) for arg in args]) * 2)

    return Doubled


def test_operations_are_decomposed_by_a_table():
    aten = compat.ops.aten
    table = {aten.silu.default: lambda x: x * x.sigmoid()}
    made = make_fx(compat, lambda x: compat.nn.functional.silu(x), table)(compat.ones(2))
    targets = [str(node.target) for node in made.graph.nodes if node.op == "call_function"]
    assert targets == ["aten.sigmoid.default", "aten.mul.Tensor"]


def test_what_a_graph_cannot_hold_is_refused():
    with pytest.raises(RuntimeError, match="which a graph can't hold"):
        make_fx(compat, lambda x: x * x.sum().item())(compat.ones(2))
    with pytest.raises(NotImplementedError, match="symbolic"):
        make_fx(compat, lambda x: x, tracing_mode="symbolic")
    with pytest.raises(RuntimeError, match="takes 2 arguments, but was given 1"):
        make_fx(compat, lambda x, y: x)(compat.ones(2))


@pytest.mark.parametrize("name", ["sin", "sum", "linalg.cholesky"])
def test_a_function_of_the_library_is_traced_by_itself(torch, name):
    found = []
    for library in (compat, torch):
        function = library
        for part in name.split("."):
            function = getattr(function, part)
        make_fx = importlib.import_module(
            f"{library.__name__}.fx.experimental.proxy_tensor"
        ).make_fx
        graph = make_fx(function)(library.eye(2) * 2).graph
        found.append([(node.op, str(node.name)) for node in graph.nodes])
    assert found[0] == found[1]
