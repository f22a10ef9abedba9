"""Modules as functions of their parameters, in functorch's first form: lists, in order."""

import copy
from collections.abc import Sequence
from typing import Any

from adjoint.func.stateless import functional_call, stack_module_state
from adjoint.nn.module import Module


def _taken(members: Any, tracked: bool) -> tuple[list[str], tuple[Any, ...]]:
    """The names and values of parameters or buffers; without history if not tracked."""
    named = dict(members)
    values = [value if tracked else value.detach().clone() for value in named.values()]
    return list(named), tuple(values)


class FunctionalModule(Module):
    """A module called with its parameters first; see `make_functional`."""

    def __init__(self, stateless_model: Any, names: list[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.names = names

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        """The model's output with these parameters."""
        return functional_call(self.stateless_model, dict(zip(self.names, params)), args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """The same with its buffers second; see `make_functional_with_buffers`."""

    def __init__(self, stateless_model: Any, names: list[str], buffer_names: list[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.names = names
        self.buffer_names = buffer_names

    def forward(
        self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any
    ) -> Any:
        """The model's output with these parameters and buffers."""
        given = dict(zip(self.names, params)) | dict(zip(self.buffer_names, buffers))
        return functional_call(self.stateless_model, given, args, kwargs)


def make_functional(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Any, ...]]:
    """(function, parameters) of a model without buffers: `function(parameters, *args)` calls it."""
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    names, params = _taken(model.named_parameters(), not disable_autograd_tracking)
    return FunctionalModule(copy.deepcopy(model), names), params


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """(function, parameters, buffers) of a model: `function(parameters, buffers, *args)`."""
    names, params = _taken(model.named_parameters(), not disable_autograd_tracking)
    buffer_names, buffers = _taken(model.named_buffers(), tracked=True)
    made = FunctionalModuleWithBuffers(copy.deepcopy(model), names, buffer_names)
    return made, params, buffers


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[FunctionalModuleWithBuffers, tuple[Any, ...], tuple[Any, ...]]:
    """(function, parameters, buffers) of several models of one class, stacked, for vmap."""
    params, buffers = stack_module_state(models)
    made = FunctionalModuleWithBuffers(copy.deepcopy(models[0]), list(params), list(buffers))
    return made, tuple(params.values()), tuple(buffers.values())
