"""torch._subclasses.fake_tensor: there are no fake tensors, but what is asked beside them."""

from typing import Any


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operation of torch.ops makes a tensor of none."""
    schema = func._schema  # noqa: SLF001  # PyTorch's name of it
    made = [kind.type for kind in schema.returns]
    return made == ["Tensor"] and not any(each.kind.is_tensor for each in schema.arguments)
