"""Fourier transforms under the names of torch.fft: what the tables declare, and frequencies."""

from typing import Any

from adjoint.call.out import write_out
from adjoint.call.overriding import created_by, creating_mode
from adjoint.creation.factories import tensor
from adjoint.dtypes import FLOAT, as_dtype
from adjoint.ops import PUBLIC
from adjoint.tensors.tensor import Tensor

__all__ = ["fftfreq", "rfftfreq"] + list(PUBLIC["fft"])
globals().update(PUBLIC["fft"])


def _frequencies(name: str, cycles: list[int], n: int, d: float, options: dict[str, Any]) -> Tensor:
    """Numbers of cycles over n points, as cycles in the unit of which a point is d."""
    kind = options.get("dtype")
    if kind is not None and as_dtype(kind).category < FLOAT:
        raise RuntimeError(f"{name}: dtype must be floating point or complex, got {kind}")
    if n < 0:
        raise RuntimeError(f"{name}: n must not be negative, got {n}")
    mode = creating_mode()
    if mode is not None:
        made: Tensor = created_by(mode, f"fft_{name}", (n, d), options)
        return made
    out = options.pop("out", None)
    if out is not None:
        options.setdefault("dtype", out.dtype)
    found = tensor([count / (n * d) for count in cycles], **options)
    return found if out is None else write_out(name, found, out)


def fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of fft's entries for n points that are d apart."""
    cycles = [k if 2 * k < n else k - n for k in range(n)]
    return _frequencies("fftfreq", cycles, n, d, options)


def rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    """The frequencies of rfft's entries for n points that are d apart."""
    return _frequencies("rfftfreq", list(range(n // 2 + 1)) if n else [], n, d, options)
