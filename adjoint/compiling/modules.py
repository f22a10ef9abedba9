"""A compiled module: a module around the one it runs, with the names of that one."""

from typing import Any

from adjoint.nn.module import Module


class CompiledModule(Module):
    """A module whose call is compiled; what else is asked of it, the one inside answers."""

    def __init__(self, module: Module, call: Any) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["compiled"] = call
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The call of the module inside."""
        return self.compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._orig_mod, name)
