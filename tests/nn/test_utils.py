"""nn.utils beyond what PyTorch does: failures that change nothing, copies, contexts, backends."""

import copy
import importlib.util
import threading

import pytest

import adjoint
from adjoint import nn, ones, tensor, zeros
from adjoint.func import functional_call
from adjoint.nn import utils
from adjoint.nn.utils import parametrizations, parametrize, prune
from adjoint.optim import SGD


class Linear(nn.Module):
    """A layer with a weight and a bias."""

    def __init__(self, n_in=3, n_out=3, device=None):
        super().__init__()
        self.weight = nn.Parameter(adjoint.rand(n_out, n_in, device=device))
        self.bias = nn.Parameter(zeros(n_out, device=device))

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


# ---- clipping ----


def leaf(values, **options):
    made = zeros(len(values), **options).requires_grad_()
    made.grad = tensor(values, **options)
    return made


def test_a_norm_within_the_limit_changes_nothing():
    param = leaf([3.0, 4.0])
    version = param.grad._version
    assert utils.clip_grad_norm_(param, 6.0).item() == 5.0
    assert param.grad.tolist() == [3.0, 4.0]
    assert param.grad._version == version


def test_clipping_counts_as_a_change():
    param = leaf([3.0, 4.0])
    x = ones(2, requires_grad=True)
    out = (x * param.grad).sum()
    utils.clip_grad_norm_(param, 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


def test_gradients_that_need_a_gradient_keep_their_history():
    x = tensor([1.0, 2.0], requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    node = x.grad.grad_fn
    utils.clip_grad_norm_(x, 1.0)
    assert x.grad.grad_fn is node
    assert x.grad.norm().item() == pytest.approx(1.0, rel=1e-4)


def test_many_float32_squares_are_summed_exactly():
    param = zeros(3_000_000, requires_grad=True)
    param.grad = adjoint.full((3_000_000,), 1e-3)
    assert utils.get_total_norm(param.grad).item() == pytest.approx(
        3**0.5, rel=1e-5
    )  # one sum in 32 bits is off by 2e-4


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")
def test_clipping_where_arrays_cannot_be_changed():
    params = [leaf([3.0, 4.0], device="xla"), leaf([12.0], device="xla")]
    total = utils.clip_grad_norm_(params, 6.5)
    assert total.device == params[0].device
    assert total.item() == 13.0
    assert params[0].grad.tolist() == pytest.approx([1.5, 2.0])
    utils.clip_grad_value_(params, 1.75)
    assert params[0].grad.tolist() == pytest.approx([1.5, 1.75])


# ---- vectors ----


def test_a_vector_that_is_too_short_changes_no_parameter():
    layer = Linear()
    before = layer.weight.tolist()
    with pytest.raises(RuntimeError):
        utils.vector_to_parameters(ones(10), layer.parameters())
    assert layer.weight.tolist() == before


# ---- parametrize ----


def test_copies_go_their_own_ways():
    layer = parametrize.register_parametrization(Linear(), "weight", Doubled())
    other = copy.deepcopy(layer)
    parametrize.register_parametrization(other, "bias", Doubled())
    assert layer.bias.tolist() == [0, 0, 0]
    parametrize.remove_parametrizations(other, "weight")
    assert isinstance(other.weight, nn.Parameter)
    assert layer.weight.tolist() == (2 * layer.parametrizations.weight.original).tolist()
    assert parametrize.type_before_parametrizations(layer) is Linear


def test_a_copy_in_a_cache_is_not_its_original():
    layer = parametrize.register_parametrization(Linear(), "weight", Doubled())
    with parametrize.cached():
        first = layer.weight
        other = copy.deepcopy(layer)
        other.weight = ones(3, 3)
        assert other.weight.tolist() == ones(3, 3).tolist()
        assert layer.weight is first


def test_a_cache_belongs_to_its_context():
    layer = parametrize.register_parametrization(Linear(), "weight", Doubled())
    seen = []
    with parametrize.cached():
        first = layer.weight
        thread = threading.Thread(target=lambda: seen.append(layer.weight is layer.weight))
        thread.start()
        thread.join()
        assert layer.weight is first
    assert seen == [False]


def test_a_cache_ends_with_an_exception():
    layer = parametrize.register_parametrization(Linear(), "weight", Doubled())
    with pytest.raises(KeyError), parametrize.cached():
        raise KeyError
    assert layer.weight is not layer.weight  # a property, computed anew


def test_a_refused_parametrization_leaves_the_parameter():
    class Cut(Doubled):
        def forward(self, x):
            return x[:1]

    layer = Linear()
    before, weight = layer.weight.tolist(), layer.weight
    with pytest.raises(ValueError, match="may not change the shape"):
        parametrize.register_parametrization(layer, "weight", Cut())
    assert layer.weight is weight
    assert weight.tolist() == before
    assert type(layer) is Linear


def test_training_goes_on_through_a_parametrization():
    layer = parametrizations.orthogonal(Linear(4, 4))
    start = layer.weight.detach().clone()
    optimizer = SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (layer(ones(2, 4)) ** 3).sum().backward()
        optimizer.step()
    assert not adjoint.allclose(layer.weight, start, atol=1e-3)
    assert adjoint.allclose(layer.weight @ layer.weight.T, adjoint.eye(4), atol=1e-5)


def test_pickling_a_parametrized_module_is_refused_with_the_way_out():
    layer = parametrize.register_parametrization(Linear(), "weight", Doubled())
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        copy.copy(layer).__getstate__()


# ---- normalised weights ----


def test_spectral_norm_reaches_the_largest_singular_value():
    layer = parametrizations.spectral_norm(Linear(5, 4), n_power_iterations=50)
    assert adjoint.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1, rel=1e-4)


def test_removed_spectral_norm_leaves_no_hook():
    layer = utils.spectral_norm(Linear())
    layer(ones(1, 3))
    utils.remove_spectral_norm(layer)
    assert not any(table for _, table in layer.hook_tables())
    assert list(layer.state_dict()) == ["bias", "weight"]


def test_transposed_convolutions_count_their_outputs_second():
    from adjoint.nn.layers.convolution import ConvTranspose2d

    layer = parametrizations.spectral_norm(ConvTranspose2d(2, 5, 3))
    assert layer.parametrizations.weight[0]._u.shape == (5,)


def test_weight_norm_warns_where_it_is_called():
    with pytest.warns(FutureWarning, match="parametrizations.weight_norm") as caught:
        utils.weight_norm(Linear())
    assert caught[0].filename == __file__


# ---- pruning ----


def test_a_failing_method_leaves_the_pruned_module():
    class Failing(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            raise KeyError("no mask")

    layer = prune.l1_unstructured(Linear(), "weight", 2)
    prune.l1_unstructured(layer, "weight", 2)
    container = next(iter(layer._forward_pre_hooks.values()))
    mask = layer.weight_mask.tolist()
    with pytest.raises(KeyError, match="no mask"):
        Failing.apply(layer, "weight")
    assert layer.weight_mask.tolist() == mask
    assert len(container) == 2
    assert list(layer._forward_pre_hooks.values()) == [container]
    with pytest.raises(KeyError, match="no mask"):
        Failing.apply(layer, "bias")
    assert isinstance(layer.bias, nn.Parameter)
    assert not hasattr(layer, "bias_orig")


def test_global_pruning_takes_any_iterable_once():
    first, second = Linear(), Linear()
    places = ((one, "weight") for one in (first, second))
    prune.global_unstructured(places, prune.L1Unstructured, amount=7)
    assert sum(int((one.weight == 0).sum()) for one in (first, second)) == 7


# ---- modules without values, memory formats, calls ----


def test_skip_init_draws_no_random_numbers():
    adjoint.manual_seed(3)
    expected = adjoint.rand(2).tolist()
    adjoint.manual_seed(3)
    layer = utils.skip_init(Linear, 4, n_out=2)
    assert layer.weight.shape == (2, 4)
    assert adjoint.rand(2).tolist() == expected
    with pytest.raises(RuntimeError, match="'device'"):
        utils.skip_init(Doubled)
    with pytest.raises(RuntimeError, match="class of modules"):
        utils.skip_init(dict)


@pytest.mark.parametrize("rank", [2, 3])
def test_memory_formats_are_accepted(rank):
    convert = getattr(utils, f"convert_conv{rank}d_weight_memory_format")
    layer = Linear()
    assert convert(layer, adjoint.channels_last) is layer
    with pytest.raises(TypeError, match="memory_format, got"):
        convert(layer, "channels_last")


def test_functional_call_restores_what_a_failing_call_has_changed():
    layer = Linear()
    weight = layer.weight
    with pytest.raises(RuntimeError):
        functional_call(layer, {"weight": ones(3, 3)}, ones(1, 7))
    assert layer.weight is weight
    assert list(layer.state_dict()) == ["weight", "bias"]
