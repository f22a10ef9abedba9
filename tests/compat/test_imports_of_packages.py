"""What packages built on PyTorch import from its inside."""

import multiprocessing
import operator

import pytest

import adjoint
import adjoint.compat.torch as torch
from adjoint import distributions as ours
from adjoint.compat.missing_names import MissingClass, MissingNameError
from tests.interpreter import fresh_python


def test_distributions_are_found_by_every_path():
    from adjoint.compat.torch.distributions import constraints, kl_divergence
    from adjoint.compat.torch.distributions.multivariate_normal import (
        MultivariateNormal,
        _batch_mahalanobis,
        _batch_mv,
        _precision_to_scale_tril,
    )
    from adjoint.compat.torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    from adjoint.compat.torch.distributions.transforms import _InverseTransform
    from adjoint.compat.torch.distributions.utils import (
        _standard_normal,
        _sum_rightmost,
        broadcast_all,
        lazy_property,
    )

    assert MultivariateNormal is ours.MultivariateNormal
    assert constraints.positive is ours.constraints.positive
    assert kl_divergence is ours.kl_divergence
    assert isinstance(ours.ExpTransform().inv, _InverseTransform)
    assert LogitRelaxedBernoulli(adjoint.tensor(1.0), probs=0.5).rsample().shape == ()
    assert isinstance(ours.Bernoulli.probs, lazy_property)
    factor = adjoint.tensor([[2.0, 0.0], [1.0, 3.0]])
    vector = adjoint.tensor([2.0, 4.0])
    assert _batch_mv(factor, vector).tolist() == [4.0, 14.0]
    assert _batch_mahalanobis(factor, vector).item() == pytest.approx(2.0)
    again = _precision_to_scale_tril(adjoint.linalg.inv(factor @ factor.mT))
    assert adjoint.allclose(again, factor, atol=1e-5)
    assert _standard_normal((2, 3), adjoint.float64, None).dtype is adjoint.float64
    assert _sum_rightmost(adjoint.ones(2, 3, 4), 2).tolist() == [12.0, 12.0]
    assert broadcast_all(1.0, adjoint.zeros(2))[0].shape == (2,)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("distributions", "Normal"),
        ("distributions", "Gamma"),
        ("optim", "Adam"),
        ("nn", "ReLU"),
        ("nn.functional", "gelu"),
        ("nn.init", "xavier_normal_"),
        ("", "float32"),
    ],
)
def test_modules_that_packages_walk_through(module, name):
    place = operator.attrgetter(module)(torch) if module else torch
    assert place.__dict__[name] is getattr(place, name)
    assert name in [key for key, _ in vars(place).items()]


def test_data_types_are_listed_in_torch():
    found = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    assert {torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16} <= found


def test_a_function_that_was_replaced_is_listed():
    functional = torch.nn.functional
    own = vars(functional)["silu"]
    try:
        functional.silu = functional.relu
        assert vars(functional)["silu"] is functional.relu
    finally:
        functional.silu = own
    assert vars(functional)["silu"] is own


def test_the_text_of_a_tensor_by_its_private_name():
    x = torch.tensor([1.0, 2.5])
    assert torch._tensor_str._str(x) == repr(x)
    assert torch._tensor_str.PRINT_OPTS.precision == 4


def test_private_samples():
    adjoint.manual_seed(0)
    shape = torch.full((5,), 2.0, requires_grad=True)
    sample = torch._standard_gamma(shape)
    assert sample.grad_fn.name() == "StandardGammaBackward0"
    assert (torch._standard_gamma_grad(shape.detach(), sample.detach()) > 0).all()
    parts = torch._sample_dirichlet(shape)
    assert parts.sum().item() == pytest.approx(1.0)
    slope = torch._dirichlet_grad(parts.detach(), shape.detach(), shape.detach() * 5)
    assert (slope > 0).all()


def test_groups_of_tensors():
    from adjoint.compat.torch.utils._foreach_utils import _group_tensors_by_device_and_dtype

    one, two, three = torch.ones(2), torch.ones(3).double(), torch.ones(1)
    groups = _group_tensors_by_device_and_dtype(
        [[one, two, three], [1, 2, None]], with_indices=True
    )
    assert [indices for _, indices in groups.values()] == [[0, 2], [1]]
    (first, _), (second, _) = groups.values()
    assert first[0][0] is one and first[0][1] is three and first[1] == [1, None]
    assert second[1] == [2]
    with pytest.raises(RuntimeError, match="must have a tensor at 0"):
        _group_tensors_by_device_and_dtype([[None]])
    assert [n.item() for n in torch._foreach_norm([torch.ones(4), -torch.ones(9)])] == [2.0, 3.0]


def test_trees():
    from adjoint.compat.torch.utils import _pytree as trees

    class Box(dict):
        pass

    trees.register_pytree_node(
        Box,
        lambda box: (list(box.values()), list(box)),
        lambda values, keys: Box(zip(keys, values)),
        serialized_type_name="Box",
        flatten_with_keys_fn=trees._dict_flatten_with_keys,
    )
    tree = Box(a=1, b=[2, 3])
    leaves, shape = trees.tree_flatten(tree)
    assert leaves == [1, 2, 3]
    assert trees.tree_unflatten([4, 5, 6], shape) == {"a": 4, "b": [5, 6]}
    assert Box in trees.SUPPORTED_NODES and int not in trees.SUPPORTED_NODES
    assert {tuple, list, dict, Box} < set(trees.SUPPORTED_NODES) and len(trees.SUPPORTED_NODES) > 4
    children, context = trees.SUPPORTED_NODES[trees._get_node_type([1, 2])].flatten_fn([1, 2])
    assert list(children) == [1, 2]
    whole = trees.TreeSpec(list, context, (trees.LeafSpec(), trees.LeafSpec()))
    assert trees.tree_unflatten([7, 8], whole) == [7, 8]
    with pytest.raises(KeyError):
        trees.SUPPORTED_NODES[int]
    ways, keys = trees._dict_flatten_with_keys({"a": 1})
    assert [(way.key, value) for way, value in ways] == [("a", 1)] and keys == ["a"]
    assert trees._is_leaf(3) and not trees._is_leaf([3]) and trees._is_leaf([3], lambda tree: True)


def test_processes_are_pythons():
    assert torch.multiprocessing.SimpleQueue.__self__ is multiprocessing.SimpleQueue.__self__
    from adjoint.compat.torch.multiprocessing import Process

    assert Process is multiprocessing.Process


def test_narrow_types_have_limits():
    pytest.importorskip("ml_dtypes")
    assert torch.finfo(torch.float8_e4m3fn).max == 448.0
    assert torch.finfo(torch.float8_e5m2).max == 57344.0
    assert torch.ones(1).dtype != torch.float8_e4m3fn


def test_names_for_annotations_cannot_be_used():
    assert isinstance(torch.cuda.CUDAGraph, MissingClass)

    def wait(stream: torch.cuda.CUDAGraph | None = None) -> None: ...

    with pytest.raises(MissingNameError, match="torch.cuda.CUDAGraph"):
        torch.cuda.CUDAGraph()


def test_small_parts():
    assert torch._C._get_tracing_state() is None
    assert torch.profiler.kineto_available() is False
    assert torch._C._nn._parse_to("cpu", torch.float64)[:3] == (
        torch.device("cpu"),
        torch.float64,
        False,
    )
    assert torch.DoubleTensor([1e308]).item() == 1e308
    with torch.autograd.profiler.emit_nvtx():
        assert torch.cuda.get_rng_state_all() == [] or torch.cuda.is_available()
    torch.cuda.set_rng_state_all([torch.get_rng_state()])
    assert torch.nn.utils.prune.ln_structured is adjoint.nn.utils.prune.ln_structured
    assert torch.torch is torch
    assert torch._jit_internal._copy_to_script_wrapper(len) is len


def test_names_can_be_listed_where_a_package_is_missing(tmp_path):
    program = (
        "import sys; sys.modules['tensorboard'] = None\n"
        "import adjoint.compat.torch.utils.tensorboard as place\n"
        "print('SummaryWriter' in vars(place))\n"
        "try:\n    place.SummaryWriter\n"
        "except ImportError as error:\n    print('tensorboard' in str(error))\n"
    )
    assert fresh_python("-c", program, cwd=tmp_path).split() == ["False", "True"]
