"""torch._C.DispatchKey and sets of them: PyTorch's names for who may answer a call.

adjoint chooses by other means (`call/dispatch.py`). Keys are names that programs pass on; leaving
out those of autocast or autograd leaves out what they stand for.
"""

import contextlib
import enum
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final

from adjoint.amp.autocast_mode import autocast
from adjoint.autograd.grad_mode import no_grad
from adjoint.tensors.tensor import Tensor

_BACKENDS = (
    "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta"
)
_KINDS = {
    "": "Dense",
    "Quantized": "Quantized",
    "Sparse": "Sparse",
    "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor",
    "Autograd": "AutogradFunctionality",
}
_OTHERS = (
    "Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd "
    "CompositeImplicitAutogradNestedTensor CompositeImplicitAutograd AutogradOther "
    "Autograd Conjugate ZeroTensor Negative BackendSelect ADInplaceOrView PythonTLSSnapshot Python "
    "FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode FuncTorchBatchedDecomposition "
    "FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper PythonDispatcher PreDispatch "
    "Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA "
    "AutocastPrivateUse1 AutogradNestedTensor"
)


def _names() -> Iterator[str]:
    yield from _OTHERS.split()
    for prefix, kind in _KINDS.items():
        yield kind
        yield from (prefix + backend for backend in _BACKENDS.split())


DispatchKey: Any = enum.Enum("DispatchKey", [*_names()], module="torch._C")  # type: ignore[misc]


class DispatchKeySet:
    """A set of dispatch keys."""

    def __init__(self, keys: Any) -> None:
        self.keys = frozenset([keys] if isinstance(keys, DispatchKey) else keys)

    def has(self, k: Any) -> bool:
        """Whether a key is in the set."""
        return k in self.keys

    def add(self, k: Any) -> "DispatchKeySet":
        """The set with one key more."""
        return DispatchKeySet(self.keys | {k})

    def remove(self, k: Any) -> "DispatchKeySet":
        """The set without a key."""
        return DispatchKeySet(self.keys - {k})

    def __or__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return DispatchKeySet(self.keys | other.keys)

    def __and__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return DispatchKeySet(self.keys & other.keys)

    def __sub__(self, other: "DispatchKeySet") -> "DispatchKeySet":
        return DispatchKeySet(self.keys - other.keys)

    def raw_repr(self) -> int:
        """The set as the bits of a number."""
        return sum(1 << key.value for key in self.keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.keys == other.keys

    def __hash__(self) -> int:
        return hash(self.keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(_sorted(self.keys))})"


def _sorted(keys: Iterable[Any]) -> list[str]:
    return [key.name for key in sorted(keys, key=lambda key: key.value)]


_NONE: Final = DispatchKeySet(())
_excluded: Final[ContextVar[DispatchKeySet]] = ContextVar("adjoint_excluded_keys", default=_NONE)


def excluded() -> DispatchKeySet:
    """The keys that are left out in the calling context."""
    return _excluded.get()


def keys_of(tensor: Tensor) -> DispatchKeySet:
    """The keys of those who may answer a call with a tensor, in PyTorch's names."""
    backend = _BACKEND_KEYS.get(tensor.device.type, tensor.device.type.upper())
    names = [backend, "ADInplaceOrView", f"Autograd{backend}", f"Autocast{backend}"]
    layer = tensor.layer
    found = DispatchKeySet(DispatchKey[name] for name in names if name in DispatchKey.__members__)
    if layer is None or not layer.wraps or layer.sparse:
        return found
    own = DispatchKeySet((DispatchKey["Python"], DispatchKey["PythonTLSSnapshot"]))
    return found | own | getattr(tensor, EXTRA_KEYS, _NONE)


_BACKEND_KEYS: Final = {"meta": "Meta"}
# What the program has said besides when it made an instance of its class.
EXTRA_KEYS: Final = "_extra_dispatch_keys"


@contextlib.contextmanager
def excluding(keys: DispatchKeySet) -> Iterator[None]:
    """Inside, nothing that the keys stand for: no autocast, or no recording."""
    with contextlib.ExitStack() as stack:
        stack.callback(_excluded.reset, _excluded.set(excluded() | keys))
        for name in _sorted(keys.keys):
            if name in {"AutocastCPU", "AutocastCUDA"}:
                kind = name.removeprefix("Autocast").lower()
                stack.enter_context(autocast(kind, enabled=False))
            elif name.startswith("Autograd"):
                stack.enter_context(no_grad())
        yield
