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


def test_scalers_of_one_kind_of_device_take_the_scale_first():
    scaler = compat.cpu.amp.GradScaler(8.0, growth_interval=2)
    assert scaler.get_scale() == 8.0 and isinstance(scaler, compat.amp.GradScaler)
    assert not compat.cuda.amp.GradScaler(8.0, enabled=False).is_enabled()


def test_functions_that_cast_for_a_gpu():
    @compat.cuda.amp.custom_fwd(cast_inputs=compat.float32)
    def forward(ctx, x):
        return x

    assert forward(type("Context", (), {})(), compat.ones(1)).dtype is compat.float32
    assert compat.cuda.amp.autocast_mode.custom_fwd is compat.cuda.amp.custom_fwd


@pytest.mark.parametrize("unscaled", [False, True])
@pytest.mark.parametrize("factor", [1.0, float("inf")])
def test_an_optimizer_that_divides_by_the_scale_is_told_it(torch, unscaled, factor):
    def program(lib):
        seen = []

        class Own(lib.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None):
                scale = None if self.grad_scale is None else self.grad_scale.item()
                seen.append((scale, self.found_inf.item()))

        weight = lib.ones(2, requires_grad=True)
        optimizer, scaler = Own([weight], lr=0.1), lib.amp.GradScaler("cpu", init_scale=4.0)
        scaler.scale(weight.sum() * factor).backward()
        if unscaled:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        left = hasattr(optimizer, "grad_scale") or hasattr(optimizer, "found_inf")
        return seen, left, scaler.get_scale(), weight.grad.tolist()

    assert program(compat) == program(torch)
