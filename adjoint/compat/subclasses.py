"""How programs written for PyTorch derive classes from Tensor."""

from typing import Any

from adjoint.tensors.tensor import Tensor


def _ignore_arguments(self: Any, *args: Any, **kwargs: Any) -> None:
    """Nothing: the class's __new__ has made the tensor, and knows what the arguments mean."""


def _init_subclass(cls: Any, /, **options: Any) -> None:
    """A class with a __new__ of its own needs no __init__ that takes the same arguments."""
    super(Tensor, cls).__init_subclass__(**options)
    if "__new__" in vars(cls) and cls.__init__ is Tensor.__init__:
        setattr(cls, "__init__", _ignore_arguments)  # noqa: B010  # mypy refuses the other form


METHODS: dict[str, Any] = {"__init_subclass__": classmethod(_init_subclass)}
