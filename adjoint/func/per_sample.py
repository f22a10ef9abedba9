"""The gradient of a model's loss for each sample of a batch."""

from collections.abc import Callable
from typing import Any

from adjoint.func.batching import vmap
from adjoint.func.reverse import grad
from adjoint.func.stateless import functional_call


def per_sample_grad(
    model: Any, loss: Callable[..., Any], *, randomness: str = "error"
) -> Callable[..., dict[str, Any]]:
    """A function of a batch, (inputs, targets, ...): the gradients of each sample, by name.

    `loss(output, *targets)` is called with the output for a batch of one, as the model expects it;
    gradients are of the parameters that require them, the samples along the first dimension.
    """
    parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
    if not parameters:
        raise ValueError("per_sample_grad: no parameter of the model requires grad")

    def of_one(trained: dict[str, Any], sample: Any, *targets: Any) -> Any:
        output = functional_call(model, trained, (sample.unsqueeze(0),))
        return loss(output, *[target.unsqueeze(0) for target in targets])

    def of_batch(inputs: Any, *targets: Any) -> dict[str, Any]:
        current = {name: parameter.detach() for name, parameter in parameters.items()}
        dims = (None, 0, *(0 for _ in targets))
        found: dict[str, Any] = vmap(grad(of_one), dims, randomness=randomness)(
            current, inputs, *targets
        )
        return found

    return of_batch
