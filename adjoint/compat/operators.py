"""torch.ops: operations by namespace, name and overload, as torch.ops.aten.sin.default.

adjoint's operations have no overloads: each stands for all of its name's.
"""

from typing import Any

from adjoint.compat.missing import missing
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import COMPOSITES, TABLE

_OVERLOADS = {"default", "Tensor", "Scalar", "int", "dim", "dim_IntList", "out", "correction"}


class Packet:
    """An operation under all of its overloads' names; called, it is the operation."""

    def __init__(self, operation: Any, path: str) -> None:
        self._operation = operation
        self._path = path
        self.__name__ = path.rpartition(".")[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operation(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload not in _OVERLOADS:
            raise missing(f"{self._path}.{overload}")
        return self._operation

    def overloads(self) -> list[str]:
        """The names of its overloads: it has one."""
        return ["default"]

    def __repr__(self) -> str:
        return f"<torch.{self._path}>"


class Namespace:
    """The operations of one namespace; those of aten are adjoint's own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Packet:
        path = f"ops.{self.name}.{name}"
        for table in (TABLE, INPLACE, COMPOSITES) if self.name == "aten" else ():
            if name in table:
                packet = Packet(table[name], path)
                vars(self)[name] = packet
                return packet
        raise missing(path)

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


def __getattr__(name: str) -> Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Namespace(name)
