"""torch._functorch.make_functional: ensembles of models as functions of their parameters."""

from collections.abc import Callable
from typing import Any

from adjoint.functorch import combine_state_for_ensemble, make_functional_with_buffers


def _ensemble(
    name: str, model_class: Any, ensemble_shape: Any, device: Any, args: Any, kwargs: Any
) -> tuple[Any, Any, Any, Any]:
    """(parameters, buffers, function, one model) of as many models as asked for."""
    if len(ensemble_shape) > 1:
        raise ValueError(
            f"{name}: ensemble_shape must have one size, or none for a single model; got "
            f"{tuple(ensemble_shape)}"
        )
    count = ensemble_shape[0] if ensemble_shape else 1
    if count <= 0:
        raise ValueError(f"{name}: an ensemble of {count} models can't be made")
    models = [model_class(*args, **kwargs).to(device) for _ in range(count)]
    if ensemble_shape:
        function, params, buffers = combine_state_for_ensemble(models)
    else:
        function, params, buffers = make_functional_with_buffers(models[0])
    return params, buffers, function, models[0]


def functional_init(
    model_class: Any, ensemble_shape: Any = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """A function that makes models: (parameters, function, names of the parameters).

    The parameters of several are stacked. `function(parameters, inputs)` calls one.
    """

    def make(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        params, buffers, function, model = _ensemble(
            "functional_init", model_class, ensemble_shape, device, args, kwargs
        )
        if buffers:
            raise RuntimeError(
                "functional_init: the model has buffers; use functional_init_with_buffers"
            )

        def call(weights: Any, inputs: Any) -> Any:
            return function(weights, (), *inputs)

        return params, call, [name for name, _ in model.named_parameters()]

    return make


def functional_init_with_buffers(
    model_class: Any, ensemble_shape: Any = (), device: Any = "cpu"
) -> Callable[..., Any]:
    """The same of models with buffers: (parameters, buffers, function, names of both).

    `function(parameters, buffers, inputs)` calls one.
    """

    def make(*args: Any, **kwargs: Any) -> tuple[Any, Any, Any, Any, Any]:
        params, buffers, function, model = _ensemble(
            "functional_init_with_buffers", model_class, ensemble_shape, device, args, kwargs
        )

        def call(weights: Any, held: Any, inputs: Any) -> Any:
            return function(weights, held, *inputs)

        names = [name for name, _ in model.named_parameters()]
        return params, buffers, call, names, [name for name, _ in model.named_buffers()]

    return make
