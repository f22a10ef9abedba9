"""Pickles that can do no harm: they make tensors and containers of them, and nothing else."""

import pickle
from typing import Any, ClassVar

from adjoint.compat.torch_files.safe_globals import find_allowed
from adjoint.tensors.tensor import Tensor


class WeightsUnpickler(pickle.Unpickler):
    """Makes tensors and containers of them, and calls nothing else that a file may name."""

    ALLOWED: ClassVar[dict[str, set[str]]] = {
        "adjoint._base": {"HookTable"},
        "adjoint.tensors.pickling": {"rebuilt"},
        "adjoint.tensors.tensor": {"Tensor"},
        "adjoint.dtypes": {"by_name"},
        "adjoint.tensors.size": {"Size"},
        "adjoint.device": {"device"},
        "adjoint.nn.parameter": {"Parameter", "Buffer"},
        "collections": {"OrderedDict", "defaultdict", "Counter"},
        "builtins": {"set", "frozenset", "complex", "bytearray", "slice", "range"},
        "ml_dtypes": {"bfloat16"},
        "numpy": {"ndarray", "dtype"},
        "numpy._core.multiarray": {"_reconstruct", "scalar"},
        "numpy._core.numeric": {"_frombuffer"},
        "_codecs": {"encode"},
    }

    def find_class(self, module_name: str, global_name: str) -> Any:
        """A class or function that is known to be harmless."""
        if (module_name, global_name) == ("torch", "Tensor"):
            return Tensor  # as it is called where install() was; PyTorch's own are never pickled so
        module_name = "builtins" if module_name == "__builtin__" else module_name  # old pickles
        if global_name in self.ALLOWED.get(module_name, set()):
            return super().find_class(module_name, global_name)
        found = find_allowed(module_name, global_name)
        if found is None:
            raise pickle.UnpicklingError(
                f"Weights only load failed: the file wants to use {module_name}.{global_name}, "
                "which need not be harmless. If you trust its source, allow that by "
                "torch.serialization.add_safe_globals, or load with weights_only=False."
            )
        return found
