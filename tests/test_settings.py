"""Settings of the process are set where they can be, else remembered."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import adjoint
from adjoint import settings


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Leave the process as it was."""
    threads = adjoint.get_num_threads()
    kept = dict(vars(settings._settings))
    yield
    adjoint.set_num_threads(threads)
    vars(settings._settings).update(kept)


def test_threads_of_blas() -> None:
    """With threadpoolctl the number is that of BLAS itself."""
    pools = pytest.importorskip("threadpoolctl")
    adjoint.set_num_threads(1)
    counts = [p["num_threads"] for p in pools.threadpool_info() if p["user_api"] == "blas"]
    assert counts and set(counts) == {1}
    assert adjoint.get_num_threads() == 1


def test_threads_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without threadpoolctl what was set is answered."""

    def absent(name: str) -> Any:
        raise ImportError(name)

    with monkeypatch.context() as patch:
        patch.setattr(importlib, "import_module", absent)
        adjoint.set_num_threads(3)
        assert adjoint.get_num_threads() == 3


@pytest.mark.parametrize("name", ["set_num_threads", "set_num_interop_threads"])
@pytest.mark.parametrize("count", [0, -1, 2.5, "2", True])
def test_counts_are_positive(name: str, count: Any) -> None:
    """A number of threads is a positive int; the error is PyTorch's."""
    before = adjoint.get_num_threads(), adjoint.get_num_interop_threads()
    with pytest.raises(RuntimeError, match=name):
        getattr(adjoint, name)(count)
    assert (adjoint.get_num_threads(), adjoint.get_num_interop_threads()) == before


def test_interop_threads() -> None:
    """Remembered."""
    adjoint.set_num_interop_threads(5)
    assert adjoint.get_num_interop_threads() == 5


def test_determinism() -> None:
    """Both ways of setting it speak of one setting."""
    assert adjoint.get_deterministic_debug_mode() == 0
    adjoint.use_deterministic_algorithms(True, warn_only=True)
    assert adjoint.are_deterministic_algorithms_enabled()
    assert adjoint.is_deterministic_algorithms_warn_only_enabled()
    assert adjoint.get_deterministic_debug_mode() == 1
    for mode, number in (("default", 0), ("warn", 1), ("error", 2), (0, 0), (2, 2), (1, 1)):
        adjoint.set_deterministic_debug_mode(mode)
        assert adjoint.get_deterministic_debug_mode() == number
        assert adjoint.are_deterministic_algorithms_enabled() == (number > 0)


@pytest.mark.parametrize(
    ("mode", "error"), [(7, RuntimeError), ("x", RuntimeError), (0.5, TypeError)]
)
def test_unknown_modes(mode: Any, error: type[Exception]) -> None:
    """Refused, and nothing is changed."""
    with pytest.raises(error, match="set_deterministic_debug_mode"):
        adjoint.set_deterministic_debug_mode(mode)
    assert adjoint.get_deterministic_debug_mode() == 0
    with pytest.raises(TypeError, match="bool"):
        adjoint.use_deterministic_algorithms(1)  # type: ignore[arg-type]  # the error is tested


def test_precision() -> None:
    """A word that is not known sets nothing, with a warning."""
    adjoint.set_float32_matmul_precision("high")
    with pytest.warns(UserWarning, match="none of"):
        adjoint.set_float32_matmul_precision("low")
    assert adjoint.get_float32_matmul_precision() == "high"


def test_flush_denormal() -> None:
    """It can't be switched on, and says so."""
    assert adjoint.set_flush_denormal(False)
    assert not adjoint.set_flush_denormal(True)
    with pytest.raises(RuntimeError, match="bool"):
        adjoint.set_flush_denormal(1)  # type: ignore[arg-type]  # the error is tested


@pytest.mark.filterwarnings("ignore:Anomaly")
def test_anomaly_mode_is_shown_at_the_top() -> None:
    """Where PyTorch has it too."""
    assert not adjoint.is_anomaly_enabled()
    with adjoint.autograd.detect_anomaly(check_nan=False):
        assert adjoint.is_anomaly_enabled()
        assert not adjoint.is_anomaly_check_nan_enabled()


def test_a_device_is_named_by_either_word():
    assert adjoint.device(device="cuda:1") == adjoint.device(type="cuda", index=1)
    with pytest.raises(TypeError, match="expected a name"):
        adjoint.device()
