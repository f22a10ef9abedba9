"""torch._subclasses.fake_tensor: there are no fake tensors, but what is asked beside them."""

import contextlib
from collections.abc import Iterator
from typing import Any


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operation of torch.ops makes a tensor of none."""
    schema = func._schema  # noqa: SLF001  # PyTorch's name of it
    made = [kind.type for kind in schema.returns]
    return made == ["Tensor"] and not any(each.kind.is_tensor for each in schema.arguments)


@contextlib.contextmanager
def unset_fake_temporarily() -> Iterator[None]:
    """Inside, tensors are not fake, as anywhere else here."""
    yield


def is_fake(x: Any) -> bool:
    """Whether a tensor is fake: none is."""
    return False
