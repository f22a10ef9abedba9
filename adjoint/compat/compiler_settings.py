"""Settings of PyTorch's compilers, which programs set, read and set back: remembered, no more."""

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

_NONE = object()

# What torch.compiler.config and torch._dynamo.config both have.
OF_BOTH: dict[str, Any] = {
    "accumulated_recompile_limit": 256,
    "allow_unspec_int_on_nn_module": False,
    "assume_static_by_default": True,
    "automatic_dynamic_shapes": True,
    "capture_dynamic_output_shape_ops": False,
    "capture_scalar_outputs": False,
    "dynamic_shapes": True,
    "fail_on_recompile_limit_hit": False,
    "log_file_name": None,
    "recompile_limit": 8,
    "verbose": False,
}


class _Patch(contextlib.ContextDecorator):
    """As a context, or around a function: some settings are others; a name may be `triton.name`."""

    def __init__(self, path: str, values: dict[str, Any]) -> None:
        self.path, self.values = path, values
        self.before: list[list[tuple[Any, str, Any]]] = []

    def __enter__(self) -> None:
        module: Any = importlib.import_module(f"adjoint.compat.torch.{self.path}")
        found = []
        for whole in self.values:
            *outer, name = whole.split(".")
            owner = module
            for each in outer:
                owner = getattr(owner, each)
            found.append((owner, name, getattr(owner, name, _NONE)))
        self.before.append(found)
        for (owner, name, _), value in zip(found, self.values.values()):
            setattr(owner, name, value)

    def __exit__(self, *exc: object) -> None:
        for owner, name, value in self.before.pop():
            if value is _NONE:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


def patching(path: str) -> Callable[..., Any]:
    """The function `patch` of the module of a path."""

    def patch(name: Any = None, value: Any = _NONE, **named: Any) -> Any:
        """Other values of settings for a while: of one, of those in a dict, or by their names."""
        given = {name: value} if value is not _NONE else {**(name or {}), **named}
        if not given:
            raise TypeError(f"{path}.patch: expected a setting and its value, or several")
        return _Patch(path, given)

    return patch
