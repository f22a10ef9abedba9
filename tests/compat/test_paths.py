"""PyTorch's import paths lead to adjoint, and to errors that name what is not there."""

import abc
import importlib
import types
import typing
import warnings

import pytest

import adjoint
import adjoint.compat.torch as compat
from adjoint.compat import methods, paths
from adjoint.compat.missing_names import MissingNameError
from adjoint.nn import functional


def test_public_names_are_adjoint_s_own():
    assert compat.Tensor is adjoint.Tensor
    assert compat.sin is adjoint.sin
    assert compat.float32 is adjoint.float32
    assert compat.nn.functional.relu is functional.relu
    assert compat.autograd.grad is adjoint.autograd.grad
    assert compat.linalg.inv is adjoint.linalg.inv


@pytest.mark.parametrize("path", sorted(paths.PATHS))
def test_every_path_can_be_imported_and_listed(path):
    if path.startswith("utils.tensorboard"):
        pytest.importorskip("tensorboard")
    module = importlib.import_module(f"adjoint.compat.torch.{path}".rstrip("."))
    assert module.__name__ == f"adjoint.compat.torch.{path}".rstrip(".")
    names = dir(module)
    assert set(module.__all__) <= set(names)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("home", sorted({home for homes in paths.PATHS.values() for home in homes}))
def test_what_answers_a_path_exists(home):
    if "tensorboard" in home:
        pytest.importorskip("tensorboard")
    importlib.import_module(home)


def test_a_module_of_the_tree_answers_first():
    assert paths.PATHS["utils.benchmark"] == ("adjoint.compat.torch_tree.utils.benchmark",)
    assert paths.PATHS["nn.utils.prune"] == (
        "adjoint.compat.torch_tree.nn.utils.prune",
        "adjoint.nn.utils.prune",
    )


def test_paths_have_parents():
    for path in paths.PATHS:
        assert path.rpartition(".")[0] in paths.PATHS, path


def test_paths_are_listed_once():
    assert len(set(paths.SAME)) == len(paths.SAME)
    for path in paths.SAME:
        assert f"adjoint.{path}".rstrip(".") not in paths.ELSEWHERE.get(path, ())


@pytest.mark.parametrize("path", ["torch", "nn.functional.torch", "autograd.torch"])
def test_modules_have_torch_itself(path):
    module = compat
    for name in path.split("."):
        module = getattr(module, name)
    assert module is compat


def test_members_that_would_be_dropped_are_refused():
    class Kind:
        there = 1

    with pytest.raises(TypeError, match="Kind has already a member there"):
        methods.give(Kind, {"there": 2})
    with pytest.raises(TypeError, match="Kind has no member new"):
        methods.give(Kind, {"new": 2}, replacing=True)
    methods.give(Kind, {"there": 2}, replacing=True)
    methods.give(Kind, {"new": 3})
    assert (Kind.there, Kind.new) == (2, 3)


def test_modules_of_adjoint_s_that_torch_has_not_are_hidden():
    assert not hasattr(compat, "dispatch")
    assert not hasattr(compat, "viz")
    assert "dispatch" not in dir(compat)


def test_a_missing_name_is_an_error_that_names_it():
    with pytest.raises(MissingNameError, match=r"torch\.jit\.load is not in adjoint: programs run"):
        compat.jit.load  # noqa: B018
    assert not hasattr(compat.jit, "load")


def test_a_name_that_pytorch_has_not_either_is_said_to_be_none():
    with pytest.raises(AttributeError, match=r"'torch.nn.functional' has no attribute 'no_such'"):
        compat.nn.functional.no_such  # noqa: B018
    assert not hasattr(compat.nn.functional, "no_such")


@pytest.mark.parametrize(
    "path",
    [
        "nn.NoSuchLayer",
        "utils.data.nonsense",
        "nonsense",
        "_dynamo.nonsense",
        "jit.Nonsense",
        "ao.quantization.nonsense",
        "fx.passes.Nonsense",
        "export.unflatten.nonsense",
    ],
)
def test_what_pytorch_has_not_either_cannot_be_imported(path):
    parent, _, name = f"adjoint.compat.torch.{path}".rpartition(".")
    with pytest.raises(ImportError, match=name):
        exec(f"from {parent} import {name}")  # imports by name
    with pytest.raises(ModuleNotFoundError, match=name):
        importlib.import_module(f"{parent}.{name}")


@pytest.mark.parametrize(
    "path",
    [
        "ao.quantization.pt2e.export_utils",  # which other releases have
        "_inductor.nonsense.below",
        "distributed.elastic.agent.nonsense.api",
    ],
)
def test_modules_that_pytorch_has_not_cannot_be_imported(path):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"adjoint.compat.torch.{path}")


@pytest.mark.parametrize(
    "path",
    ["ao.quantization.fx.graph_module", "_inductor.codegen.cpp", "distributed.elastic.utils.api"],
)
def test_modules_that_pytorch_has_can_be_imported(path):
    module = importlib.import_module(f"adjoint.compat.torch.{path}")
    assert "which is not in adjoint" in repr(module)
    with pytest.raises(MissingNameError, match=path.replace(".", r"\.")):
        module.nonsense()


def test_a_missing_name_can_be_imported_but_not_used():
    from adjoint.compat.torch.jit import load

    for use in (
        lambda: load(3),
        lambda: load.make,
        lambda: [*load],
        lambda: bool(load),
        types.new_class("Mine", (load,)),
    ):
        with pytest.raises(MissingNameError, match=r"torch\.jit\.load"):
            use()
    with pytest.raises(MissingNameError), load:
        pass
    assert not isinstance(3, load)
    assert not hasattr(compat.jit, "load"), "the import must not make it seem to be there"

    def annotated(layer: load | None, more: "list[load]") -> load:
        return layer

    assert annotated(None, []) is None


def test_a_class_that_is_missing_can_be_named_but_not_used():
    pool = compat.cuda.MemPool
    assert pool is compat.cuda.MemPool and pool.__module__ == "torch.cuda"

    class Mine(pool, abc.ABC):
        rate = 3

    assert Mine.rate == 3 and issubclass(Mine, pool) and not isinstance(3, pool)
    assert typing.get_args(pool | None) == (pool, types.NoneType)
    assert typing.get_args(list[pool]) == (pool,)
    for use in (pool, Mine, lambda: pool.snapshot):
        with pytest.raises(MissingNameError, match=r"torch\.cuda\.MemPool"):
            use()


def test_errors_and_warnings_that_are_missing_can_be_caught():
    warnings.filterwarnings("ignore", category=compat.jit.TracerWarning)
    with pytest.raises(ZeroDivisionError):
        try:
            1 / 0  # noqa: B018
        except compat.cuda.CudaError:
            raise AssertionError from None


def test_what_is_not_available_has_no_parts():
    assert compat.distributed.rpc.is_available() is False
    assert not hasattr(compat.distributed.rpc, "api")
    assert hasattr(compat.distributed.fsdp, "FullyShardedDataParallel")


def test_a_missing_module_can_be_imported_but_not_used():
    import adjoint.compat.torch.utils.cpp_extension as missing

    with pytest.raises(MissingNameError, match=r"torch\.utils\.cpp_extension\.load "):
        missing.load("name", [])
    with pytest.raises(MissingNameError, match="nor has PyTorch"):
        missing.nonsense  # noqa: B018


def test_the_reason_is_that_of_the_nearest_path():
    with pytest.raises(MissingNameError, match="layouts"):
        importlib.import_module("adjoint.compat.torch.sparse").to_sparse_semi_structured  # noqa: B018


def test_a_function_is_no_module():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("adjoint.compat.torch.sin")


def test_attributes_can_be_set():
    compat.backends.cudnn.benchmark = True
    try:
        assert importlib.import_module("adjoint.compat.torch.backends.cudnn").benchmark is True
    finally:
        compat.backends.cudnn.benchmark = False


def test_modules_of_adjoint_s_are_not_found_by_their_files():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("adjoint.compat.torch.nn.layers")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("adjoint.compat.torch.optim.plans")
