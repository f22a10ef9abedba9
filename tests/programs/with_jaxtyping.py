"""A function whose shapes jaxtyping checks when it is called."""

import torch
from beginnings import normal, report
from jaxtyping import Float, Int, TypeCheckError, jaxtyped


def checked(function):
    """A plain checker: every annotated argument is an instance of its annotation."""

    def call(*args):
        for (name, hint), value in zip(function.__annotations__.items(), args, strict=False):
            if name != "return" and not isinstance(value, hint):
                raise TypeError(f"{name} is no {hint.__name__}")
        return function(*args)

    return call


Queries = Float[torch.Tensor, "batch i d"]
Keys = Float[torch.Tensor, "batch j d"]
Choice = Int[torch.Tensor, " batch"]


@jaxtyped(typechecker=None)
@checked
def attend(query: Queries, key: Keys, picked: Choice) -> Float[torch.Tensor, "..."]:
    """The attention of one query."""
    rows = query[torch.arange(len(picked)), picked]
    return torch.einsum("bd,bjd->bj", rows, key).softmax(-1)


query, key = normal(2, 3, 4).requires_grad_(), normal(2, 5, 4, seed=1)
weights = attend(query, key, torch.tensor([2, 0]))
weights.log().sum().backward()
refused = []
for wrong in (
    (query, normal(2, 5, 3), torch.tensor([0, 0])),
    (query.double(), key, torch.tensor([0.5, 1.0])),
    (query, key[:1], torch.tensor([0, 0])),
):
    try:
        attend(*wrong)
    except (TypeError, TypeCheckError):
        refused.append(True)
report(
    weights=weights, gradient=query.grad, refused=refused, name=Float[torch.Tensor, "a 3"].__name__
)
