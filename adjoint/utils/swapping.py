"""swap_tensors: two tensors that trade all they are, and stay the objects they were."""

from typing import Any, NoReturn

from adjoint.tensors.tensor import Tensor

# What autograd keeps in a tensor; apart from its attributes where TensorCore is compiled.
_FIELDS = (
    "array",
    "needs_grad",
    "node",
    "output_number",
    "gradient",
    "extras",
    "special",
    "inference",
    "known",
    "cut",
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors trade classes, values, gradients, histories and attributes.

    Every reference to one of them sees what the other was. A graph that was recorded before refuses
    to accumulate into them; views of either are not told.
    """
    for tensor in (t1, t2):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"swap_tensors: expected two Tensors, got {type(tensor).__name__}")
    if t1 is t2:
        return
    for tensor in (t1, t2):
        _leave_graph(tensor)
    one, other = _Content(t1), _Content(t2)
    one.put_into(t2)
    other.put_into(t1)


class _Content:
    """All that a tensor is, taken out of it."""

    def __init__(self, tensor: Any) -> None:
        self.kind = type(tensor)
        self.fields = {name: getattr(tensor, name) for name in _FIELDS}
        attributes = getattr(tensor, "__dict__", {})
        self.attributes = {name: attributes[name] for name in attributes if name not in _FIELDS}
        for name in self.attributes:
            delattr(tensor, name)

    def put_into(self, tensor: Any) -> None:
        """Make a tensor what this is."""
        if type(tensor) is not self.kind:
            tensor.__class__ = self.kind
        for name, value in (*self.fields.items(), *self.attributes.items()):
            setattr(tensor, name, value)


def _leave_graph(tensor: Any) -> None:
    """Make a leaf's accumulator fail when it is reached; the leaf gets another when it needs it."""
    extras = tensor.extras
    if extras is None or extras.accumulator is None:
        return
    accumulator = extras.accumulator()
    extras.accumulator = None
    if accumulator is not None:
        accumulator.register_prehook(_refuse)


def _refuse(grads: Any) -> NoReturn:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: its leaf was "
        "swapped after this graph was recorded. Convert a module, or load its state, before its "
        "forward or after its backward, not in between."
    )
