"""torch.cuda.amp and torch.cpu.amp: autocast and GradScaler under their older names."""

import pytest

import adjoint
import adjoint.compat.torch as compat


def test_the_newer_names_are_adjoint_s_own():
    assert compat.autocast is compat.amp.autocast is adjoint.autocast
    assert compat.GradScaler is compat.amp.GradScaler is adjoint.GradScaler
    assert compat.amp.autocast_mode.autocast is adjoint.autocast


def test_autocast_of_one_kind_of_device():
    with compat.cpu.amp.autocast(dtype=compat.float16):
        assert compat.is_autocast_cpu_enabled() and not compat.is_autocast_enabled()
        assert compat.get_autocast_cpu_dtype() is compat.float16
    assert not compat.is_autocast_cpu_enabled()
    assert compat.get_autocast_gpu_dtype() is compat.float16


@pytest.mark.skipif(compat.cuda.is_available(), reason="says what there is without a GPU")
def test_without_a_gpu_it_is_off():
    with pytest.warns(UserWarning, match="no cuda device"):
        compat.cuda.amp.autocast()
