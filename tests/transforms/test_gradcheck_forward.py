"""gradcheck's forward and batched modes, beside PyTorch's, on right and wrong Functions."""

from typing import Any

import pytest

import adjoint
from adjoint.autograd import forward_ad as fw, gradcheck, gradgradcheck

torch: Any = pytest.importorskip("torch")
import torch.autograd.forward_ad as torch_fw  # after the check that it is there

BOTH = [
    (adjoint, gradcheck, gradgradcheck),
    (torch, torch.autograd.gradcheck, torch.autograd.gradgradcheck),
]
MODES = [
    {"check_forward_ad": True},
    {"check_forward_ad": True, "check_backward_ad": False},
    {"check_forward_ad": True, "check_batched_forward_grad": True, "check_batched_grad": True},
]


def scaled(lib: Any, backward: float, forward: float) -> Any:
    """A Function that doubles, and says that its derivatives are otherwise."""

    class Doubled(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2, x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, on_double: Any, on_sine: Any) -> Any:
            (x,) = ctx.saved_tensors
            return backward * on_double + on_sine * x.cos().conj()

        @staticmethod
        def jvp(ctx: Any, x_t: Any) -> Any:
            (x,) = ctx.saved_tensors
            return forward * x_t, x.cos() * x_t

    return Doubled.apply


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("mode", MODES[:2])
@pytest.mark.parametrize("factors", [(2.0, 2.0), (3.0, 2.0), (2.0, 3.0), (3.0, 3.0)])
def test_functions(mode: Any, kind: str, fast: bool, factors: Any) -> None:
    def outcome(lib: Any, check: Any) -> str:
        x = lib.rand(3, dtype=getattr(lib, kind)).requires_grad_()
        options = {**mode, "fast_mode": fast, "check_undefined_grad": False}
        try:
            return str(check(scaled(lib, *factors), (x,), **options))
        except RuntimeError as error:
            return "forward" if "computed with forward mode" in str(error) else "backward"

    ours, theirs = (outcome(lib, check) for lib, check, _ in BOTH)
    assert ours == theirs


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_ops(mode: Any, kind: str, fast: bool) -> None:
    for lib, check, twice in BOTH:
        x, y = (lib.rand(2, 3, dtype=getattr(lib, kind)).requires_grad_() for _ in range(2))
        assert check(lambda a, b: (a * b.sin(), a.sum()), (x, y), fast_mode=fast, **mode)
        options = {"check_fwd_over_rev": True, "fast_mode": fast}
        assert twice(lambda a, b: (a * b).exp(), (x, y), **options)
        assert twice(lambda a: a.sin(), (x,), gen_non_contig_grad_outputs=True, **options)
        assert twice(
            lambda a: a.sin(), (x,), check_rev_over_rev=False, check_undefined_grad=False, **options
        )


def test_a_tangent_changed_on_its_way() -> None:
    for (lib, check, _), forward in zip(BOTH, (fw, torch_fw)):

        def wrong(x: Any, forward: Any = forward) -> Any:
            primal, tangent = forward.unpack_dual(x)
            return primal * 2 if tangent is None else forward.make_dual(primal * 2, tangent * 3)

        x = lib.rand(3, dtype=lib.float64).requires_grad_()
        with pytest.raises(RuntimeError, match="forward mode mismatch for output 0"):
            check(wrong, (x,), check_forward_ad=True)
        assert not check(wrong, (x,), check_forward_ad=True, raise_exception=False)
        with pytest.raises(RuntimeError):
            check(wrong, (x,), check_forward_ad=True, fast_mode=True)
