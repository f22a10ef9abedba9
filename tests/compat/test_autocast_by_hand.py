"""Autocast and anomaly mode as switches that programs set and restore by themselves."""

import threading

import pytest

import adjoint.compat.torch as compat

pytestmark = pytest.mark.filterwarnings("ignore:torch.*is deprecated:DeprecationWarning")


@pytest.fixture(params=["compat", "torch"])
def library(request):
    """adjoint and PyTorch, with all switches as they were afterwards."""
    found = compat if request.param == "compat" else request.getfixturevalue("torch")
    yield found
    for kind in ("cpu", "cuda"):
        found.set_autocast_enabled(kind, False)
    found.set_autocast_dtype("cpu", found.bfloat16)
    found.set_autocast_dtype("cuda", found.float16)
    found.set_anomaly_enabled(False)
    found.clear_autocast_cache()


def product(library):
    """The type of a product of float32 matrices."""
    x = library.ones(2, 2)
    return str((x @ x).dtype).rpartition(".")[2]


def test_a_switch_for_a_kind_of_device(library):
    library.set_autocast_enabled("cpu", True)
    assert library.is_autocast_enabled("cpu") and product(library) == "bfloat16"
    library.set_autocast_dtype("cpu", library.float16)
    assert product(library) == "float16"
    library.set_autocast_enabled("cpu", False)
    assert product(library) == "float32" and not library.is_autocast_enabled("cpu")
    assert library.get_autocast_dtype("cpu") is library.float16
    with library.autocast("cpu"):
        assert product(library) == "float16"
    library.set_autocast_cpu_dtype(library.bfloat16)
    library.set_autocast_cpu_enabled(True)
    assert library.is_autocast_cpu_enabled() and product(library) == "bfloat16"
    assert library.get_autocast_cpu_dtype() is library.bfloat16


def test_a_switch_without_a_device_is_that_of_gpus(library):
    library.set_autocast_enabled(True)
    assert library.is_autocast_enabled() and library.is_autocast_enabled("cuda")
    assert not library.is_autocast_enabled("cpu")
    library.set_autocast_gpu_dtype(library.bfloat16)
    assert library.get_autocast_gpu_dtype() is library.bfloat16
    assert not library.is_autocast_xla_enabled() and not library.is_autocast_ipu_enabled()


def test_what_is_set_in_a_block_ends_with_it(library):
    with library.autocast("cpu"):
        library.set_autocast_enabled("cpu", False)
        assert product(library) == "float32"
        library.set_autocast_enabled("cpu", True)
        assert product(library) == "bfloat16"
    assert product(library) == "float32"
    library.set_autocast_enabled("cpu", True)
    with library.autocast("cpu", enabled=False):
        assert product(library) == "float32"
    assert product(library) == "bfloat16"


def test_other_threads_have_switches_of_their_own(library):
    library.set_autocast_enabled("cpu", True)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(product(library)))
    thread.start()
    thread.join()
    assert seen == ["float32"] and product(library) == "bfloat16"


def test_autocast_entered_by_hand(library):
    before = library.is_autocast_enabled("cpu"), library.get_autocast_dtype("cpu")
    library.set_autocast_enabled("cpu", True)
    library.set_autocast_dtype("cpu", library.bfloat16)
    cached = library.is_autocast_cache_enabled()
    library.set_autocast_cache_enabled(False)
    assert [library.autocast_increment_nesting() for _ in range(2)] == [1, 2]
    x = library.ones(2, 2, requires_grad=True)
    (x @ x).sum().backward()
    assert x.grad.dtype is library.float32
    assert [library.autocast_decrement_nesting() for _ in range(2)] == [1, 0]
    library.clear_autocast_cache()
    library.set_autocast_cache_enabled(cached)
    assert library.is_autocast_cache_enabled() is cached
    library.set_autocast_enabled("cpu", before[0])
    library.set_autocast_dtype("cpu", before[1])
    assert product(library) == "float32"


def test_wrong_arguments(library):
    for wrong in ((), (1,), ("cpu",), ("cpu", 1), ("cpu", True, True)):
        with pytest.raises(TypeError):
            library.set_autocast_enabled(*wrong)
    with pytest.raises(RuntimeError):
        library.set_autocast_enabled("nonsense", True)
    with pytest.raises(TypeError):
        library.set_autocast_dtype("cpu", 1)
    with pytest.raises(TypeError):
        library.set_anomaly_enabled(1)


def test_a_function_made_to_run_under_autocast(library):
    decorate = library.amp.autocast_mode.autocast_decorator
    assert decorate(library.autocast("cpu"), lambda: product(library))() == "bfloat16"


@pytest.mark.parametrize("check_nan", [True, False])
def test_anomaly_mode_by_its_switch(library, check_nan):
    assert library.set_anomaly_enabled(True, check_nan) is None
    assert library.is_anomaly_enabled() and library.is_anomaly_check_nan_enabled() is check_nan
    library.set_anomaly_enabled(False)
    assert not library.is_anomaly_enabled()
