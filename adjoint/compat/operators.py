"""torch.ops: operations by namespace, name and overload, as torch.ops.aten.sin.default.

adjoint's operations have no overloads: each stands for all of its name's, and is shown under one.
"""

from typing import Any, NoReturn

from adjoint.compat.missing import missing
from adjoint.library.custom_op import REGISTRY
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import COMPOSITES, TABLE, Op

_OVERLOADS = {"default", "Tensor", "Scalar", "int", "dim", "dim_IntList", "out", "correction"}

# PyTorch's names for what adjoint has under another, or as one case of an operation.
_CASES = {
    "mm": "matmul",
    "bmm": "matmul",
    "view": "view_shape",
    "convolution": "convolve",
    "_convolution": "convolve",
}
_SHOWN = {"view_shape": "view", "convolve": "convolution"}


class Overload:
    """An operation as torch.ops.aten.sin.default; equal to the operation itself."""

    def __init__(self, operation: Any, packet: "Packet") -> None:
        self.operation = operation
        self.overloadpacket = self._overloadpacket = packet
        self.namespace = packet.namespace
        self._name = packet.__name__
        self.overload = self._overloadname = _shown_overload(operation)
        self.__name__ = f"{self._name}.{self.overload}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operation(*args, **kwargs)

    def name(self) -> str:
        """Namespace, name and overload: aten::mul.Tensor, and aten::sin for the default one."""
        rest = "" if self.overload == "default" else f".{self.overload}"
        return f"{self.namespace}::{self._name}{rest}"

    def __eq__(self, other: object) -> bool:
        return operation_of(other) is self.operation

    def __hash__(self) -> int:
        return hash(self.operation)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._name}', overload='{self.overload}')>"


def _shown_overload(operation: Any) -> str:
    """PyTorch's name for the overload on tensors, where it has others on numbers."""
    op = getattr(operation, "op", operation)
    pair = isinstance(op, Op) and op.family == "elementwise" and len(op.promotes) > 1
    return "Tensor" if pair else "default"


class Packet:
    """An operation under all of its overloads' names; called, it is the operation."""

    def __init__(self, operation: Any, namespace: str, name: str) -> None:
        self.operation = operation
        self.namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self._overload = Overload(operation, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.operation(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload not in _OVERLOADS:
            raise missing(f"ops.{self.namespace}.{self.__name__}.{overload}")
        return self._overload

    def overloads(self) -> list[str]:
        """The names of its overloads: it has one."""
        return [self._overload.overload]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"


class Namespace:
    """The operations of one namespace; those of aten are adjoint's own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        operation = self._find(name)
        if operation is None:
            raise missing(f"ops.{self.name}.{name}")
        packet = Packet(operation, self.name, name)
        if self.name == "aten":
            vars(self)[name] = packet  # custom operators may be defined anew
        return packet

    def _find(self, name: str) -> Any:
        if self.name != "aten":
            return REGISTRY.get(f"{self.name}::{name}")
        name = _CASES.get(name, name)
        for table in (TABLE, INPLACE, COMPOSITES):
            if name in table:
                return table[name]
        return None

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


_namespaces: dict[str, Namespace] = {}


def load_library(path: Any) -> NoReturn:
    """Refused: libraries of operations are compiled against PyTorch."""
    raise OSError(
        f"torch.ops.load_library: {path} needs PyTorch's own library; see adjoint.library"
    )


def __getattr__(name: str) -> Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _namespaces.setdefault(name, Namespace(name))


def operation_of(value: Any) -> Any:
    """adjoint's own operation of an overload or packet; anything else as it is."""
    return value.operation if isinstance(value, (Overload, Packet)) else value


def overload_of(operation: Any) -> Any:
    """torch.ops' name for one of adjoint's operations, whose name need not be PyTorch's."""
    name = _SHOWN.get(operation.name, operation.name)
    return getattr(__getattr__("aten"), name).default
