"""torch._custom_op.impl: the operators that were declared by a prototype."""

from collections.abc import Iterator, Mapping
from typing import Any

from adjoint.library import infer_schema as infer_schema, lookup
from adjoint.library.custom_op import REGISTRY
from adjoint.library.legacy import RESERVED, undefine
from adjoint.library.registration import KEYS

RESERVED_NS = RESERVED
SUPPORTED_DEVICE_TYPE_TO_KEY = {device: key for key, device in KEYS.items() if device}
get_op = lookup


class CustomOp:
    """An op as PyTorch's registry lists it; programs make none themselves."""

    def __init__(self, *args: Any) -> None:
        raise RuntimeError("CustomOp constructor is private; define ops with library.custom_op")


class _Entry(CustomOp):
    def __init__(self, name: str) -> None:
        self.name = name

    def _destroy(self) -> None:
        undefine(self.name)


class _Registry(Mapping[str, CustomOp]):
    """The ops that were declared by a prototype, as they are now."""

    def __getitem__(self, name: str) -> CustomOp:
        if not REGISTRY[name].needs_formula:
            raise KeyError(name)
        return _Entry(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, op in REGISTRY.items() if op.needs_formula])

    def __len__(self) -> int:
        return len(list(iter(self)))


global_registry = _Registry()
