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
