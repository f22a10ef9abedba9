"""PyTorch's import paths lead to adjoint, and to errors that name what is not there."""

import importlib
import types

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
    module = importlib.import_module(f"adjoint.compat.torch.{path}".rstrip("."))
    assert module.__name__ == f"adjoint.compat.torch.{path}".rstrip(".")
    names = dir(module)
    assert set(module.__all__) <= set(names)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.parametrize("home", sorted({home for homes in paths.PATHS.values() for home in homes}))
def test_what_answers_a_path_exists(home):
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
    with pytest.raises(MissingNameError, match=r"torch\.nn\.functional\.no_such is not in adjoint"):
        compat.nn.functional.no_such  # noqa: B018
    assert not hasattr(compat.nn.functional, "no_such")


def test_a_missing_name_can_be_imported_but_not_used():
    from adjoint.compat.torch.nn import NoSuchLayer

    for use in (
        lambda: NoSuchLayer(3),
        lambda: NoSuchLayer.make,
        lambda: [*NoSuchLayer],
        lambda: bool(NoSuchLayer),
        types.new_class("Mine", (NoSuchLayer,)),
    ):
        with pytest.raises(MissingNameError, match=r"torch\.nn\.NoSuchLayer"):
            use()
    with pytest.raises(MissingNameError), NoSuchLayer:
        pass
    assert not isinstance(3, NoSuchLayer)
    assert not hasattr(compat.nn, "NoSuchLayer"), "the import must not make it seem to be there"

    def annotated(layer: NoSuchLayer | None, more: "list[NoSuchLayer]") -> NoSuchLayer:
        return layer

    assert annotated(None, []) is None


def test_a_missing_module_can_be_imported_but_not_used():
    import adjoint.compat.torch.distributed.fsdp.api as missing

    with pytest.raises(MissingNameError, match=r"torch\.distributed\.fsdp\.api\.ShardingStrategy"):
        missing.ShardingStrategy  # noqa: B018


def test_the_reason_is_that_of_the_nearest_path():
    with pytest.raises(MissingNameError, match="layouts"):
        importlib.import_module("adjoint.compat.torch.sparse").spdiags  # noqa: B018


def test_a_function_is_no_module():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("adjoint.compat.torch.sin")


def test_attributes_can_be_set():
    compat.backends.cudnn.benchmark = True
    try:
        assert importlib.import_module("adjoint.compat.torch.backends.cudnn").benchmark is True
    finally:
        compat.backends.cudnn.benchmark = False
