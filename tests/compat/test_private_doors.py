"""Names that libraries call though they are private or rare, compared with PyTorch's."""

import collections
import io
import types
import warnings

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_files import locations


def answer(function, *args, **kwargs):
    """What a call answers, or the class of its error; and how often it warns."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            found = function(*args, **kwargs)
        except Exception as error:
            found = type(error).__name__
    return found, len(seen)


BATCHES = {
    "float": [1.0, 0.1],
    "int": [1, 2],
    "str": ["a", "b"],
    "numpy_scalar": [np.float32(1), np.float32(2)],
    "numpy_array": [np.arange(2.0), np.ones(2)],
}


@pytest.mark.parametrize("kind", BATCHES)
def test_pieces_of_the_default_collate(kind, torch):
    found = []
    for library in (compat, torch):
        module = library.utils.data._utils.collate
        piece = getattr(module, f"collate_{kind}_fn")
        functions = module.default_collate_fn_map
        assert piece in functions.values()
        made = piece(BATCHES[kind], collate_fn_map=functions)
        found.append((getattr(made, "tolist", lambda: made)(), str(getattr(made, "dtype", None))))  # noqa: B023
    assert found[0] == (found[1][0], found[1][1].replace("torch.", "adjoint."))


def test_arrays_are_collated_as_the_map_says_of_tensors():
    module = compat.utils.data._utils.collate
    functions = {**module.default_collate_fn_map, compat.Tensor: lambda batch, **_: len(batch)}
    assert module.collate([np.ones(2), np.ones(3)], collate_fn_map=functions) == 2
    assert module.collate_tensor_fn((compat.ones(2), compat.zeros(2))).tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "elementwise_mean", "other"])
def test_numbers_of_reductions(reduction, torch):
    first, second = (
        answer(library.nn.functional._Reduction.get_enum, reduction) for library in (compat, torch)
    )
    assert first == second


@pytest.mark.parametrize("size_average", [None, True, False])
@pytest.mark.parametrize("reduce", [None, True, False])
@pytest.mark.parametrize("said", [True, False])
def test_reductions_by_the_old_arguments(size_average, reduce, said, torch):
    for name in ("legacy_get_string", "legacy_get_enum"):
        first, second = (
            answer(getattr(library.nn._reduction, name), size_average, reduce, said)
            for library in (compat, torch)
        )
        assert first == second


# ---- files ----


def saved(library, obj, **options):
    file = io.BytesIO()
    library.save(obj, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("name", ["compat", "torch"])
def test_memory_is_put_where_a_file_says(name, request):
    library = compat if name == "compat" else request.getfixturevalue("torch")
    module = library.serialization
    file = saved(library, {"x": library.arange(3.0)})
    found = library.load(file, map_location=lambda s, l: module.default_restore_location(s, "cpu"))
    assert found["x"].tolist() == [0.0, 1.0, 2.0]
    storage = library.ones(3).untyped_storage()
    assert module.location_tag(storage) == "cpu"
    assert module.location_tag(library.ones(1, device="meta").untyped_storage()) == "meta"
    assert module.default_restore_location(storage, "cpu") is storage
    for place in ("nonsense", "cuda:0"):
        if place == "nonsense" or not library.cuda.is_available():
            assert answer(module.default_restore_location, storage, place)[0] == "RuntimeError"


def test_places_of_a_program_s_own(monkeypatch, torch):
    monkeypatch.setattr(locations, "_packages", list(locations._packages))
    own = torch.serialization._package_registry
    monkeypatch.setattr(torch.serialization, "_package_registry", list(own))
    for library in (compat, torch):
        module = library.serialization
        module.register_package(
            5,
            lambda storage: "shelf" if storage.device.type == "cpu" else None,
            lambda storage, location: storage if location == "shelf" else None,
        )
        file = saved(library, library.ones(2))
        assert b"shelf" in file.getvalue()
        assert library.load(file).tolist() == [1.0, 1.0]
    file.seek(0)
    assert compat.load(file).tolist() == [1.0, 1.0]
    compat.serialization.register_package(1, lambda storage: None, lambda storage, location: 3)
    file.seek(0)
    with pytest.raises(RuntimeError, match="deserializer of a place answered 3"):
        compat.load(file)


class Unknown:
    """What no file may use unasked."""


def test_what_a_file_would_use_is_told_without_using_it(torch):
    def found(library):
        obj = {"a": Unknown, "b": collections.deque(), "c": collections.Counter(), "d": print}
        obj["e"] = library.nn.Parameter(library.ones(2))
        return sorted(library.serialization.get_unsafe_globals_in_checkpoint(saved(library, obj)))

    assert found(compat) == found(torch)
    for library in (compat, torch):
        with library.serialization.safe_globals([Unknown]):
            assert not any("Unknown" in name for name in found(library))
        older = saved(library, Unknown, _use_new_zipfile_serialization=False)
        name = "get_unsafe_globals_in_checkpoint"
        assert answer(getattr(library.serialization, name), older)[0] == "ValueError"


def test_settings_of_files_are_remembered(torch):
    for library in (compat, torch):
        module = library.serialization
        assert module.get_crc32_options() is True
        module.set_crc32_options(False)
        assert module.get_crc32_options() is False
        module.set_crc32_options(True)
        before = module.get_default_mmap_options()
        with module.set_default_mmap_options(1):
            assert module.get_default_mmap_options() == 1
        assert module.get_default_mmap_options() == before
        assert answer(module.set_default_mmap_options, 3)[0] == "ValueError"
        assert module.normalize_storage_type(library.FloatStorage) is library.FloatStorage
        some = types.ModuleType("some")
        some.__version__ = "1.26.4"
        compare = module.check_module_version_greater_or_equal
        assert compare(some, (1, 26)) and not compare(some, (2, 0))
        some.__version__ = "1.x"
        assert answer(compare, some, (1, 26)) == ("RuntimeError", 0)
        assert answer(compare, some, (1, 26), False) == (True, 1)


# ---- tools ----


@pytest.fixture(params=["compat", "torch"])
def library(request):
    """adjoint and PyTorch."""
    return compat if request.param == "compat" else request.getfixturevalue("torch")


def test_functions_chosen_by_an_argument(library):
    made = library._jit_internal.boolean_dispatch(
        "flag", 1, False, lambda x, flag=False: "T", lambda x, flag=False: "F", "m", "n"
    )
    assert [made(1), made(1, True), made(1, flag=True)] == ["F", "T", "T"]
    assert (made.__module__, made.__name__) == ("m", "n")
    functional = library.nn.functional
    assert functional.boolean_dispatch is library._jit_internal.boolean_dispatch
    assert functional.BroadcastingList2[int] is None


def test_shapes_of_trees_as_text(torch):
    from torch.utils import _pytree as other

    from adjoint.compat.torch.utils import _pytree as own

    for tree in ({"a": [1, (2, 3)], "b": 4}, 1, [], list(range(60))):
        first, second = (lib.treespec_pprint(lib.tree_structure(tree)) for lib in (own, other))
        assert first == second


def test_kernels_of_attention_that_take_the_place_of_others(library):
    attention = library.nn.attention
    assert attention.current_flash_attention_impl() is None
    with pytest.raises(ValueError, match="flash attention"):
        attention.activate_flash_attention_impl("nonsense")
    attention.register_flash_attention_impl("made in a test", register_fn=lambda: None)
    assert "made in a test" in attention.list_flash_attention_impls()
    if library is compat:
        with pytest.raises(RuntimeError, match="kernels"):
            attention.activate_flash_attention_impl("made in a test")


def test_small_functions(library):
    assert library._utils.cpu_count() >= 1
    assert library._utils.try_import("math").pi and library._utils.try_import("no_such") is None
    Named = type("Named", (), {"name": library._utils.classproperty(lambda cls: cls.__name__)})
    assert Named.name == Named().name == "Named"
    assert library.is_vulkan_available() is False
    library.init_num_threads()
    assert library.parse_schema("a::b(Tensor x) -> Tensor").name == "a::b"
    shown = library._tensor_str
    with shown.printoptions(precision=2):
        assert shown.get_printoptions()["precision"] == 2
    assert library._tensor.has_torch_function((3,)) is False
    assert library._lowrank.svd_lowrank is library.svd_lowrank
    assert not library.masked.maskedtensor.reductions.is_masked_tensor(3)


NAMES = [
    "0.weight",
    "0.nope",
    "zz.weight",
    "1.running_mean",
    "",
    "0.",
    "x",
    "1.num_batches_tracked",
]


@pytest.mark.parametrize("name", NAMES)
def test_tensors_of_modules_by_their_whole_names(name, torch):
    def found(library):
        net = library.nn.Sequential(library.nn.Linear(1, 1), library.nn.BatchNorm1d(1))
        tensors = library.nn.utils._named_member_accessor.NamedMemberAccessor(net)

        def shown(function, *args, **kwargs):
            made, _ = answer(function, *args, **kwargs)
            return (
                list(made.shape)
                if isinstance(made, library.Tensor)
                else type(made) is object or made
            )

        def names():
            return [key for key, _ in tensors.named_tensors()]

        steps = [shown(tensors.get_tensor, name), shown(tensors.set_tensor, name, 3)]
        steps += [shown(tensors.swap_tensor, name, library.ones(2)), names()]
        steps += [shown(tensors.swap_tensor, name, library.ones(3), allow_missing=True), names()]
        steps += [shown(tensors.get_tensor, name), shown(tensors.del_tensor, name), names()]
        steps += [shown(tensors.del_tensor, name), shown(tensors.set_tensor, name, library.ones(4))]
        steps += [
            tensors.check_keys(["0.weight", "other"]),
            names(),
            shown(tensors.get_tensors, [name, "a"]),
        ]
        given = {"0.bias": library.ones(7), name: library.ones(5), "missing.one": library.ones(1)}
        steps += [shown(tensors.swap_tensors_dict, given), shown(tensors.get_tensor, "0.bias")]
        return steps

    assert found(compat) == found(torch)


def test_modules_of_modules_by_their_whole_names(library):
    nn = library.nn
    net = nn.Sequential(nn.Sequential(nn.Linear(1, 1)))
    members = nn.utils._named_member_accessor.NamedMemberAccessor(net)
    relu, before = nn.ReLU(), net[0][0]
    assert members.get_submodule("0.0") is before and members.get_submodule("") is net
    assert members.swap_submodule("0.0", relu) is before and net[0][0] is relu
    assert answer(members.swap_submodule, "0.7", relu)[0] == "KeyError"
    # PyTorch's del_tensor deletes a module, too.
    for refused in (members.get_tensor, *([members.del_tensor] if library is compat else ())):
        assert answer(refused, "0.0")[0] == "TypeError"
    assert answer(members.swap_tensor, "0.0", library.ones(1))[0] == "TypeError"
    assert answer(members.swap_submodule, "0.0", 3)[0] == "TypeError"
    assert [name for name, _ in members.named_modules()] == ["", "0", "0.0"]
