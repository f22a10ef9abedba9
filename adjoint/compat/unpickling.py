"""Pickles that can do no harm: they make tensors and containers of them, and nothing else."""

import pickle
from typing import Any, ClassVar

from adjoint.tensor import Tensor

_trusted: dict[str, Any] = {}  # by module and name, what a program has said is harmless


def _full_name(trusted: Any) -> tuple[str, Any]:
    """Where pickles look for something; a pair gives its own name."""
    if isinstance(trusted, tuple):
        return trusted[1], trusted[0]
    return f"{trusted.__module__}.{trusted.__qualname__}", trusted


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let torch.load use these classes and functions; a pair gives the name to know one by."""
    _trusted.update(map(_full_name, safe_globals))


def get_safe_globals() -> list[Any]:
    """The classes and functions that torch.load may use besides tensors and containers."""
    return list(_trusted.values())


def clear_safe_globals() -> None:
    """Let torch.load use tensors and containers only."""
    _trusted.clear()


class safe_globals:
    """Inside, torch.load may use these classes and functions too."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self.before = dict(_trusted)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        clear_safe_globals()
        _trusted.update(self.before)


class WeightsUnpickler(pickle.Unpickler):
    """Makes tensors and containers of them, and calls nothing else that a file may name."""

    ALLOWED: ClassVar[dict[str, set[str]]] = {
        "adjoint._base": {"HookTable"},
        "adjoint.pickling": {"rebuilt"},
        "adjoint.tensor": {"Tensor"},
        "adjoint.dtypes": {"by_name"},
        "adjoint.size": {"Size"},
        "adjoint.device": {"device"},
        "adjoint.nn.parameter": {"Parameter", "Buffer"},
        "collections": {"OrderedDict", "defaultdict", "Counter"},
        "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range"},
        "numpy": {"ndarray", "dtype"},
        "numpy._core.multiarray": {"_reconstruct", "scalar"},
        "numpy._core.numeric": {"_frombuffer"},
        "_codecs": {"encode"},
    }

    def find_class(self, module_name: str, global_name: str) -> Any:
        """A class or function that is known to be harmless."""
        if (module_name, global_name) == ("torch", "Tensor"):
            return Tensor  # as it is called where install() was; PyTorch's own are never pickled so
        if f"{module_name}.{global_name}" in _trusted:
            return _trusted[f"{module_name}.{global_name}"]
        module_name = "builtins" if module_name == "__builtin__" else module_name  # old pickles
        if global_name not in self.ALLOWED.get(module_name, set()):
            raise pickle.UnpicklingError(
                f"torch.load: the file wants to use {module_name}.{global_name}, which need not be "
                "harmless. If you trust its source, load it with weights_only=False, or "
                "name it with torch.serialization.add_safe_globals."
            )
        return super().find_class(module_name, global_name)
