"""A compiled module: a module around the one it runs, with the names of that one."""

from typing import Any

from adjoint.nn.module import Module


class OptimizedModule(Module):
    """A module whose call is compiled; what else is asked of it, the one inside answers."""

    def __init__(self, module: Module, call: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["compiled"] = call

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The call of the module inside."""
        return self.compiled(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the module inside is trained."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return bool(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = name == "_orig_mod" or hasattr(type(self), name)
        (super() if own else self._orig_mod).__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        own = name == "_orig_mod" or hasattr(type(self), name)
        (super() if own else self._orig_mod).__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})
