"""Lazy layers against PyTorch's: before, at and after the call that tells their shapes."""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import nn
from adjoint.nn.layers.lazy import LazyModuleMixin
from adjoint.nn.parameter import is_lazy
from tests.parity.test_layers import I, S, V, case, close

LAYERS = [
    case("LazyLinear", 3, inputs=(2, 4)),
    case("LazyLinear", 3, bias=False, inputs=(2, 5, 4)),
    *[
        case(f"{kind}{n}d", 4, 2, inputs=x)
        for kind in ("LazyConv", "LazyConvTranspose")
        for n, x in ((1, S), (2, I), (3, V))
    ],
    case("LazyConv2d", 4, (3, 2), 2, 1, groups=2, bias=False, inputs=I),
    case("LazyConv2d", 4, 3, padding="same", padding_mode="circular", inputs=I[1:]),
    case("LazyConvTranspose2d", 4, 3, 2, 1, 1, 2, inputs=I),
    *[
        case(f"{kind}{n}d", inputs=x)
        for kind in ("LazyBatchNorm", "LazyInstanceNorm")
        for n, x in ((1, S), (2, I), (3, V))
    ],
    case("LazyBatchNorm2d", 1e-3, None, bias=False, inputs=I),
    case("LazyBatchNorm1d", affine=False, inputs=(5, 4)),
    case("LazyInstanceNorm2d", track_running_stats=False, inputs=I),
]
every_layer = pytest.mark.parametrize(("name", "args", "kwargs", "shape"), LAYERS)


def both(torch: Any, name: str, args: Any = (), kwargs: Any = None) -> list[tuple[Any, Any]]:
    """Each library with its layer."""
    made = [getattr(library.nn, name)(*args, **(kwargs or {})) for library in (adjoint, torch)]
    return list(zip((adjoint, torch), made))


def ones(library: Any, *shape: int) -> Any:
    """An input."""
    return library.ones(shape)


def facts(layer: Any) -> tuple[Any, ...]:
    """What can be seen of a layer and its state."""
    state = layer.state_dict()
    shapes = {key: repr(v) if "Uninit" in repr(v) else tuple(v.shape) for key, v in state.items()}
    hooks = len(layer._forward_pre_hooks), len(layer._load_state_dict_pre_hooks)
    names = [name for name, _ in layer.named_parameters()]
    return repr(layer), type(layer).__name__, list(shapes.items()), hooks, names


@every_layer
def test_first_call(torch: Any, name: str, args: Any, kwargs: Any, shape: Any) -> None:
    """A call gives shapes and the usual class, and from then on PyTorch's numbers."""
    array = np.random.default_rng(0).normal(size=shape)
    (_, ours), (_, theirs) = both(torch, name, args, kwargs)
    assert facts(ours) == facts(theirs)
    assert ours.has_uninitialized_params() and theirs.has_uninitialized_params()
    ours.double()
    theirs.double()
    ours.initialize_parameters(adjoint.tensor(array))
    theirs.initialize_parameters(torch.tensor(array))
    assert facts(ours) == facts(theirs)
    state = {key: adjoint.tensor(value.numpy()) for key, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    inputs = [library.tensor(array, requires_grad=True) for library in (adjoint, torch)]
    results = ours(inputs[0]), theirs(inputs[1])
    assert type(ours) is getattr(nn, name.removeprefix("Lazy"))
    assert facts(ours) == facts(theirs)
    close(*results)
    for result in results:
        (result * result).sum().backward()
    close(inputs[0].grad, inputs[1].grad)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        close(a.grad, b.grad)
    for a, b in zip(ours.buffers(), theirs.buffers(), strict=True):
        close(a, b)


@every_layer
def test_signature(torch: Any, name: str, args: Any, kwargs: Any, shape: Any) -> None:
    """Constructors take PyTorch's arguments, in its order and manner, with its defaults."""
    ours, theirs = (
        [(p.name, p.default, p.kind) for p in inspect.signature(made).parameters.values()]
        for made in (getattr(nn, name), getattr(torch.nn, name))
    )
    assert ours == theirs


@every_layer
def test_starting_values(torch: Any, name: str, args: Any, kwargs: Any, shape: Any) -> None:
    """The first call draws what the usual class draws: nothing depends on being late."""
    lazy = getattr(nn, name)(*args, **kwargs)
    adjoint.manual_seed(0)
    lazy.initialize_parameters(ones(adjoint, *shape))
    adjoint.manual_seed(0)
    size = getattr(lazy, lazy.size)
    given = dict(inspect.signature(type(lazy)).bind(*args, **kwargs).arguments)
    defaults = {"affine": True, "track_running_stats": True} if "Norm" in name else {}
    usual = getattr(nn, name.removeprefix("Lazy"))(size, **{**defaults, **given})
    for a, b in zip(lazy.state_dict().values(), usual.state_dict().values(), strict=True):
        assert adjoint.equal(a, b)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies(torch: Any, way: Any) -> None:
    """A copy of a lazy layer is lazy on its own."""
    layers = [*both(torch, "LazyLinear", (3,)), (adjoint, nn.LazyBatchNorm1d())]
    for library, layer in layers:  # PyTorch can't copy a lazy norm
        name = type(layer).__name__
        twin = way(layer)
        twin(ones(library, 2, 5))
        assert type(twin).__name__ == name.removeprefix("Lazy") and twin.weight.shape[-1] == 5
        assert not twin._forward_pre_hooks and not twin._load_state_dict_pre_hooks
        assert type(layer).__name__ == name and layer.has_uninitialized_params()
        layer(ones(library, 2, 4))
        assert layer.weight.shape[-1] == 4


@pytest.mark.parametrize("assign", [False, True])
def test_loading(torch: Any, assign: bool) -> None:
    """A state dict with shapes tells them; the values stay at the first call."""
    for library, layer in both(torch, "LazyLinear", (3,)):
        source = library.nn.Linear(4, 3)
        assert not any(layer.load_state_dict(source.state_dict(), assign=assign))
        assert type(layer).__name__ == "LazyLinear" and not layer.has_uninitialized_params()
        with pytest.raises(AssertionError):
            layer(ones(library, 2, 5))
        layer(ones(library, 2, 4))
        assert repr(layer) == repr(source)
        assert library.equal(layer.weight, source.weight)
        assert isinstance(layer.weight, library.nn.Parameter)


def test_loading_uninitialized(torch: Any) -> None:
    """A state without shapes fits a lazy layer alone."""
    for library, layer in both(torch, "LazyLinear", (3,)):
        state = layer.state_dict()
        assert not any(library.nn.LazyLinear(3).load_state_dict(state))
        with pytest.raises(RuntimeError, match="shape of an uninitialized"):
            library.nn.Linear(4, 3).load_state_dict(state)


REFUSED = [
    ("LazyConv2d", (4, 2), {}, (2, 3), RuntimeError),
    ("LazyConv2d", (4, 2), {"groups": 2}, (2, 3, 5, 5), ValueError),
    ("LazyConvTranspose1d", (4, 2), {"groups": 2}, (3, 5), ValueError),
    ("LazyBatchNorm2d", (), {}, (2, 3), ValueError),
    ("LazyInstanceNorm1d", (), {}, (2, 3, 4, 5), ValueError),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "shape", "error"), REFUSED)
def test_refusals(torch: Any, name: str, args: Any, kwargs: Any, shape: Any, error: Any) -> None:
    """An input that does not fit is refused as in PyTorch, and leaves our layer as it was."""
    for library, layer in both(torch, name, args, kwargs):
        before = facts(layer)
        with pytest.raises(error):
            layer(ones(library, *shape))
        if library is adjoint:
            assert facts(layer) == before


def test_use_before_the_first_call(torch: Any) -> None:
    """Computing with members that have no shape, and replicas, are refused."""
    for _, layer in both(torch, "LazyLinear", (3,)):
        with pytest.raises(ValueError, match="uninitialized parameter"):
            layer.weight + 1
        with pytest.raises(RuntimeError, match="uninitialized parameters"):
            layer._replicate_for_data_parallel()


def test_conversions_before_the_first_call(torch: Any) -> None:
    """dtype is kept until there is memory, for parameters and buffers."""
    for library, layer in both(torch, "LazyBatchNorm1d"):
        layer.double()
        assert "UninitializedBuffer" in repr(layer.running_mean)
        layer(ones(library, 2, 3).double())
        assert {layer.weight.dtype, layer.running_var.dtype} == {library.float64}


def test_network(torch: Any) -> None:
    """Lazy layers within a network learn their sizes one from the other."""
    shown = []
    for library in (adjoint, torch):
        made = library.nn
        parts = (made.LazyConv2d(4, 3), made.LazyBatchNorm2d(), made.Flatten(), made.LazyLinear(2))
        network = made.Sequential(*parts)
        before = repr(network)
        network(ones(library, 2, 3, 6, 6)).sum().backward()
        shapes = [tuple(p.grad.shape) for p in network.parameters()]
        shown.append((before, repr(network), shapes, list(network.state_dict())))
    assert shown[0] == shown[1]


def test_own_modules(torch: Any) -> None:
    """The mixin serves modules of a program: keyword arguments, hooks and what is left out."""
    found = []
    for library, mixin in ((adjoint, LazyModuleMixin), (torch, torch.nn.modules.lazy)):
        base = getattr(mixin, "LazyModuleMixin", mixin)
        module: Any = library.nn.Module

        class Scale(base, module):  # type: ignore[misc]  # bases of two libraries, in turn
            complete = True

            def __init__(self, made: Any) -> None:
                super().__init__()
                self.weight = made.UninitializedParameter()
                self.register_buffer("mask", made.UninitializedBuffer())

            def initialize_parameters(self, x: Any, *, fill: float) -> None:
                self.weight.materialize(x.shape)
                self.weight.data.fill_(fill)
                if self.complete:
                    self.mask.materialize(x.shape)
                    self.mask.fill_(1)

            def forward(self, x: Any, *, fill: float) -> Any:
                return x * self.weight * self.mask

        parts = library.nn.parameter
        scale = Scale(parts)
        out = scale(ones(library, 2), fill=3.0)
        assert type(scale) is Scale and not scale._forward_pre_hooks
        found.append((out.tolist(), scale.state_dict()["weight"].tolist(), is_lazy(scale.mask)))
        Scale.complete = False
        with pytest.raises(RuntimeError, match="has not been fully initialized"):
            Scale(parts)(ones(library, 2), fill=3.0)
        del Scale.initialize_parameters
        with pytest.raises(NotImplementedError, match="initialize_parameters"):
            Scale(parts)(ones(library, 2), fill=3.0)
    assert found[0] == found[1] == ([3.0, 3.0], [3.0, 3.0], False)


# ---- where we do better ----


def test_sizes_are_known_after_loading() -> None:
    """A loaded convolution or norm has its size after the first call; PyTorch leaves 0."""
    convolution: Any = nn.LazyConv2d(4, 2)
    convolution.load_state_dict(nn.Conv2d(3, 4, 2).state_dict())
    convolution(ones(adjoint, *(2, 3, 4, 4)))
    assert repr(convolution) == repr(nn.Conv2d(3, 4, 2))
    norm: Any = nn.LazyInstanceNorm1d()
    norm.load_state_dict(nn.InstanceNorm1d(3, affine=True, track_running_stats=True).state_dict())
    norm(ones(adjoint, *(2, 3, 4)))
    assert norm.num_features == 3


def test_sizes_of_norms_without_members() -> None:
    """A norm without parameters and buffers learns its size too; PyTorch leaves 0."""
    norm: Any = nn.LazyBatchNorm1d(affine=False, track_running_stats=False)
    norm(ones(adjoint, 2, 3))
    assert repr(norm) == repr(nn.BatchNorm1d(3, affine=False, track_running_stats=False))


def test_single_samples() -> None:
    """The channels of a sample without a batch are its first dimension; PyTorch takes the next."""
    norm: Any = nn.LazyInstanceNorm1d()
    assert norm(ones(adjoint, 3, 4)).shape == (3, 4)
    assert norm.num_features == 3


def test_half_loaded() -> None:
    """Values that were loaded are not drawn anew because others were not."""
    layer = nn.LazyLinear(3)
    layer.load_state_dict({"weight": adjoint.ones(3, 4)}, strict=False)
    with pytest.raises(RuntimeError, match=r"\['weight'\] have been loaded and \['bias'\]"):
        layer(ones(adjoint, 2, 4))
    assert adjoint.equal(layer.weight, adjoint.ones(3, 4))


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize(
    "name", ["numel", "dim", "stride", "is_contiguous", "tolist", "numpy", "item", "__len__", "abs"]
)
def test_what_needs_a_shape(torch: Any, kind: str, name: str) -> None:
    """It is refused until there is one, and works from then on."""
    for library in (torch, adjoint):
        tensor = getattr(library.nn, kind)(requires_grad=False)
        with pytest.raises(ValueError, match="uninitialized"):
            getattr(tensor, name)()
        tensor.materialize((1,))
        getattr(tensor, name)()


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize(
    "name", ["empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"]
)
def test_nothing_is_like_it(torch: Any, kind: str, name: str) -> None:
    """A factory that imitates a tensor has nothing to imitate."""
    further = (1,) if name == "full_like" else ()
    for library in (torch, adjoint):
        with pytest.raises(ValueError, match="uninitialized"):
            getattr(library, name)(getattr(library.nn, kind)(), *further)
