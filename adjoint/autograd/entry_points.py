"""Derivatives of recorded work: backward and grad."""

from collections.abc import Sequence
from typing import Any, Final

from adjoint.autograd.engine import run_pass
from adjoint.autograd.node import AccumulateGrad as AccumulateGrad, GradientEdge, Node, edge_node
from adjoint.autograd.provenance import warn
from adjoint.call.context import current
from adjoint.call.layers import needs_below, newest
from adjoint.call.overriding import (
    answers,
    created_by,
    creating_mode,
    has_subclasses,
    offered,
    seen_by_mode,
)
from adjoint.dtypes import COMPLEX, FLOAT, category_of
from adjoint.tensors.core import F32, F64, NDARRAY, backend_of
from adjoint.tensors.size import Size
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

__all__ = ["backward", "grad"]


def _roots(
    tensors: Sequence[Any], grads: Sequence[Any], as_tensors: bool
) -> tuple[list[Node], list[int], list[Any]]:
    """The nodes to start from, and the gradient each starts with: arrays, or Tensors."""
    nodes: list[Node] = []
    numbers: list[int] = []
    starts: list[Any] = []
    for i, (tensor, given) in enumerate(zip(tensors, grads)):
        if isinstance(tensor, GradientEdge):
            check_edge(i, tensor)
            given = _edge_start(i, tensor, given)
            nodes.append(tensor.node)
            numbers.append(tensor.output_nr)
            starts.append(given if as_tensors else given.array)
            continue
        if not isinstance(tensor, Tensor):
            raise TypeError(f"element {i} must be a Tensor, got {type(tensor).__name__}")
        tensor.up_to_date()
        node = edge_node(tensor)
        if node is None:
            if tensor.layer is not None and needs_below(tensor):
                raise RuntimeError(
                    f"element {i} of tensors is inside {tensor.layer.level.opened_at()}, and what "
                    "needs a gradient is outside: differentiate inside with func.grad, or outside "
                    "what the transform returns"
                )
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn: none "
                "of the tensors it was computed from requires grad, or it was made under no_grad"
            )
        start = _checked(i, tensor, given)
        nodes.append(node)
        numbers.append(tensor.output_number)
        if as_tensors:
            if given is None and tensor.layer is not None and tensor.layer.wraps:
                start = tensor.layer.made("start", (tensor,), {})
            starts.append(start if isinstance(start, Tensor) else Tensor(start, AS_IS))
        else:
            starts.append(start.array if isinstance(start, Tensor) else start)
    return nodes, numbers, starts


def check_edge(i: int, edge: GradientEdge) -> None:
    """Refuse an edge that leads nowhere."""
    if not isinstance(edge.node, Node):
        raise TypeError(f"element {i} is the edge of a {type(edge.node).__name__}, not of a Node")
    members: Any = edge  # compiled code would refuse another type in words of its own
    number = members.output_nr
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"element {i} is an edge whose output_nr is a {type(number).__name__}")
    count = edge.node.output_count()
    if not 0 <= number < count:
        raise IndexError(
            f"element {i} is the edge of output {number} of {edge.node.name()}, which has "
            f"{count} (from 0 to {count - 1})"
        )


def _edge_start(i: int, edge: GradientEdge, given: Any) -> Any:
    """The gradient to start an edge with: the one given, or 1 for the place of a scalar."""
    spec = edge.node.spec_of(edge.output_nr)
    if given is None:
        if any(size != 1 for size in spec.shape):
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, but element {i} is the "
                f"edge of a tensor of shape {list(spec.shape)}; give its gradient"
            )
        return Tensor(backend_of(spec.array_type).xp.ones(spec.shape, spec.dtype), AS_IS)
    if not isinstance(given, Tensor):
        raise TypeError(_no_gradient(i, given))
    if given.array.shape != spec.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and "
            f"output[{i}] has a shape of {Size(spec.shape)}."
        )
    if (category_of(given.array.dtype) == COMPLEX) != (category_of(spec.dtype) == COMPLEX):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype: "
            f"grad_output[{i}] is {given.dtype.name}, output[{i}] is {spec.dtype}."
        )
    return given


def _no_gradient(i: int, given: Any) -> str:
    return f"gradients can be either Tensors or None, but element {i} is a {type(given).__name__}"


def _checked(i: int, tensor: Tensor, given: Any) -> Any:
    """The gradient to start a root with: the one given, or 1 for a real scalar."""
    array = tensor.array
    if given is None:
        if array.size != 1:
            raise RuntimeError(
                f"grad can be implicitly created only for scalar outputs, but element {i} has "
                f"shape {list(array.shape)}; give its gradient, or sum() it first"
            )
        if not tensor.spec().short and category_of(array.dtype) != FLOAT:
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs, but element "
                f"{i} is {tensor.dtype.name}"
            )
        mode = creating_mode()
        return one_like(array) if mode is None else created_by(mode, "start", (tensor,), {})
    if not isinstance(given, Tensor):
        raise TypeError(_no_gradient(i, given))
    if given.array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {given.shape} and "
            f"output[{i}] has a shape of {tensor.shape}."
        )
    if (category_of(given.array.dtype) == COMPLEX) != (category_of(array.dtype) == COMPLEX):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype: "
            f"grad_output[{i}] is {given.dtype.name}, output[{i}] is {tensor.dtype.name}."
        )
    return given


def _constant_one(kind: Any) -> Any:
    one = backend_of(NDARRAY).xp.ones((), kind)
    one.flags.writeable = False
    return one


ONE32: Final[Any] = _constant_one(F32)
ONE64: Final[Any] = _constant_one(F64)


def one_like(array: Any) -> Any:
    """The gradient 1 for a single element; for most 0-d arrays one constant for all."""
    if type(array) is NDARRAY and array.ndim == 0:
        if array.dtype is F32:
            return ONE32
        if array.dtype is F64:
            return ONE64
    return backend_of(array).xp.ones(array.shape, array.dtype)


def _is_layered(tensors: Sequence[Any], grads: Sequence[Any]) -> bool:
    """Whether a pass keeps Tensors: it starts inside a transform, or others see its calls."""
    if current().modes:
        return True
    return _holds_layer(tensors) or _holds_layer(grads)


def _holds_layer(values: Sequence[Any]) -> bool:
    """Whether one of these is inside a transform."""
    for value in values:
        if isinstance(value, Tensor) and value.layer is not None and newest([value]) is not None:
            return True
    return False


def _sequence(value: Any) -> tuple[Any, ...]:
    """One or many, as a tuple."""
    if isinstance(value, (Tensor, GradientEdge)):
        return (value,)
    return tuple(value)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """The same where one may be of a class that only takes part in calls like a tensor."""
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _gradients(grads: Any, roots: Sequence[Any]) -> tuple[Any, ...]:
    given: tuple[Any, ...] = (None,) * len(roots)
    if grads is not None:
        given = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    tracing = current().tracing
    if tracing is not None:  # a root may be a leaf that no op has met
        tracing.lift_all([each for each in (*roots, *given) if isinstance(each, Tensor)])
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    return given


def _edge(i: int, value: Any, function: str) -> tuple[Node, int]:
    """Where the gradient of an input arrives."""
    if isinstance(value, GradientEdge):
        check_edge(i, value)
        return value.node, value.output_nr
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{function}: inputs must be Tensors or GradientEdges, but element {i} is a "
            f"{type(value).__name__}"
        )
    value.up_to_date()
    node = edge_node(value)
    if node is None:
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad: element {i} of inputs, of "
            f"shape {list(value.array.shape)}; call requires_grad_() on it before the forward"
        )
    return node, value.output_number


def _handler(roots: Sequence[Any]) -> Any:
    """The `__torch_function__` of a root whose class has one of its own; None if none has."""
    for root in roots:
        if isinstance(root, Tensor) and root.special and current().overrides:
            kind: Any = type(root)
            common: Any = Tensor
            found = getattr(kind.__torch_function__, "__func__", None)
            if found is not common.__torch_function__.__func__:
                return kind.__torch_function__
    return None


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors with respect to the leaves to their `.grad`."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("give grad_tensors or its old name grad_variables, not both")
        grad_tensors = grad_variables
    if seen_by_mode() or (not isinstance(tensors, Tensor) and answers(tensors)):
        settings: dict[str, Any] = {"grad_tensors": grad_tensors, "retain_graph": retain_graph}
        settings |= {"create_graph": create_graph, "inputs": inputs}
        offered(backward, (tensors,), settings)
        return
    roots = _sequence(tensors)
    handler = _handler(roots)
    if handler is not None:
        named = {"grad_tensors": grad_tensors, "retain_graph": retain_graph}
        kinds = tuple({type(root) for root in roots if isinstance(root, Tensor) and root.special})
        named |= {"create_graph": create_graph, "inputs": inputs}
        handler(backward, kinds, (roots,), named)
        return
    given = _gradients(grad_tensors, roots)
    layered = _is_layered(roots, given)
    nodes, numbers, starts = _roots(roots, given, create_graph or layered)
    targets: list[tuple[Node, int]] = []
    if inputs is not None:
        wanted = _sequence(inputs)
        if not wanted:
            raise RuntimeError("backward: inputs is empty; name tensors in it, or leave it out")
        targets = [_edge(i, value, "backward") for i, value in enumerate(wanted)]
        for value in wanted:
            if isinstance(value, Tensor):
                value.retain_grad()
    if create_graph:
        warn(
            "Using backward() with create_graph=True gives a leaf a .grad whose graph leads back "
            "to the leaf: only the cyclic collector frees such a circle. Use autograd.grad, or set "
            ".grad to None when it is no longer needed."
        )
    keep = create_graph if retain_graph is None else retain_graph
    run_pass(nodes, numbers, starts, targets, True, keep, create_graph, layered)


def _batched(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, options: Any
) -> tuple[Any, ...]:
    """The gradients for all elements of a batch of grad_outputs, in one pass."""
    roots = _sequence(outputs)
    given = _gradients(grad_outputs, roots)
    sizes = {int(g.shape[0]) for g in given if g is not None and g.ndim}
    if len(sizes) != 1 or any(g is not None and not g.ndim for g in given):
        raise RuntimeError(
            "grad: with is_grads_batched all grad_outputs must have one more dimension than the "
            f"outputs, in front and of one size, got sizes {sorted(sizes)}"
        )

    def of_one(*one: Any) -> tuple[Any, ...]:
        elements = iter(one)
        grads = [None if g is None else next(elements) for g in given]
        return grad(roots, inputs, grads, retain_graph, *options)

    return tuple(upper.over_batch(of_one, [g for g in given if g is not None]))


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of outputs with respect to inputs; no `.grad` is touched.

    With `is_grads_batched`, grad_outputs have one more dimension in front, and so do the answers:
    one pass is made for all elements of it, by vmap.
    """
    seen = seen_by_mode() or has_subclasses((outputs, inputs))
    if seen or (not isinstance(outputs, Tensor) and answers(outputs)):
        named: dict[str, Any] = {"grad_outputs": grad_outputs, "retain_graph": retain_graph}
        named |= {"create_graph": create_graph, "only_inputs": only_inputs}
        named |= {"allow_unused": allow_unused, "is_grads_batched": is_grads_batched}
        named["materialize_grads"] = materialize_grads
        several = (_as_tuple(outputs), _as_tuple(inputs))
        found_elsewhere: tuple[Any, ...] = offered(grad, several, named)
        return found_elsewhere
    wanted = _sequence(inputs)
    if not wanted:
        raise RuntimeError("grad: inputs is empty; name the tensors to differentiate by")
    if is_grads_batched:
        options = (create_graph, only_inputs, allow_unused, False, materialize_grads)
        return _batched(outputs, inputs, grad_outputs, retain_graph, options)
    if materialize_grads and allow_unused is False:
        raise ValueError("materialize_grads=True needs allow_unused=True or None, not False")
    roots = _sequence(outputs)
    given = _gradients(grad_outputs, roots)
    layered = _is_layered(roots, given)
    nodes, numbers, starts = _roots(roots, given, create_graph or layered)
    targets = [_edge(i, value, "grad") for i, value in enumerate(wanted)]
    keep = create_graph if retain_graph is None else retain_graph
    found = run_pass(nodes, numbers, starts, targets, False, keep, create_graph, layered)
    answered: list[Any] = []
    for i, (value, result) in enumerate(zip(wanted, found)):
        if result is not None:
            answered.append(result if isinstance(result, Tensor) else Tensor(result, AS_IS))
        elif materialize_grads:
            if isinstance(value, GradientEdge):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge, as "
                    f"element {i} is: an edge has no shape of its own"
                )
            zeros = backend_of(value.array).xp.zeros(value.array.shape, value.array.dtype)
            answered.append(Tensor(zeros, AS_IS).requires_grad_(create_graph))
        elif allow_unused:
            answered.append(None)
        else:
            raise RuntimeError(
                "One of the differentiated Tensors appears to not have been used in the graph: "
                f"element {i} of inputs. Set allow_unused=True to get None for it, or "
                "materialize_grads=True for zeros."
            )
    return tuple(answered)
