"""An op of adjoint's as modes and classes below autograd see it: the operations of torch.ops.aten.

Most ops are one of PyTorch's, and its name and arguments say which overload. What adjoint has under
another name, or PyTorch makes in several steps, is said in tables of functions: each is given the
arguments of the op, asks for the steps one by one, and returns what the op does.
"""

from typing import Any, Final

from adjoint.autograd.saved_tensors import SavedTensor
from adjoint.call.context import is_recording
from adjoint.call.half_precision import half_type, is_half
from adjoint.compat import pytorch_names
from adjoint.compat.aten_forms import better, bound, by_names, forms
from adjoint.compat.aten_steps import (
    calculation,
    fourier,
    gradients,
    gradients_of_functions,
    gradients_of_networks,
    gradients_of_places,
    gradients_of_products,
    gradients_of_reductions,
    gradients_of_writing,
    inner,
    matrices,
    networks,
    places,
    products,
    rules,
    sparse,
)
from adjoint.compat.aten_steps.asking import Answerer, Steps, called_as_meant
from adjoint.compat.aten_steps.kept import Kept, TooLittleKeptError
from adjoint.compat.aten_steps.recorded import is_taken_apart
from adjoint.compat.torch_tree import ops
from adjoint.library.custom_op import CustomOpDef
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import Op
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import Tensor

_SINGLE: Final = {**calculation.SINGLE, **places.SINGLE, **networks.SINGLE}
_STEPS: Final = {
    **_SINGLE,
    **calculation.STEPS,
    **places.STEPS,
    **products.STEPS,
    **matrices.STEPS,
    **networks.STEPS,
    **fourier.STEPS,
    **inner.STEPS,
    **rules.STEPS,
    **sparse.STEPS,
}
_ALONE: Final = ("add", "mul", "sub", "true_divide")  # unless the first is a number
_GRADIENTS: Final = {
    **gradients.STEPS,
    **gradients_of_reductions.STEPS,
    **gradients_of_functions.STEPS,
    **gradients_of_places.STEPS,
    **gradients_of_writing.STEPS,
    **gradients_of_products.STEPS,
    **matrices.GRADIENTS,
    **gradients_of_networks.STEPS,
    **fourier.GRADIENTS,
}
# What PyTorch computes in one operation, and adjoint in one of its own.
_WHOLE: Final = {
    "attend": "_scaled_dot_product_flash_attention_for_cpu",
    "convolve": "convolution",
    "convolve_back": "convolution",
    "layer_standardized": "native_layer_norm",
    "batch_standardized": "native_batch_norm",
    "group_standardized": "native_group_norm",
    "softmax": "_softmax",
    "log_softmax": "_log_softmax",
    "contract": "bmm",
}
# The steps that are the same of complex numbers: transforms, and what only moves elements.
_OF_COMPLEX: Final = {*fourier.GRADIENTS, *gradients_of_places.STEPS} - {"index_add"}
_CHANGES: Final = {**calculation.CHANGES, **places.CHANGES}


def call_in_steps(op: Any, values: list[Any], answerer: Answerer) -> Any:
    """What is answered to a call of an op of adjoint's."""
    answer = called_as_meant(op, answerer)
    if answer is not NotImplemented:
        return answer
    steps = _STEPS.get(op.name)
    if steps is not None:
        return steps(Steps(answerer), *values)
    return answerer(*_written(op.name, op, values, op, Steps(answerer).read))


def change_in_steps(op: Op, values: list[Any], answerer: Answerer) -> Any:
    """What is answered to a change of the first argument by an op's in-place form."""
    answer = called_as_meant(op, answerer)
    if answer is not NotImplemented:
        return answer
    steps = _CHANGES.get(op.name)
    if steps is not None:
        return steps(Steps(answerer), *values)
    return answerer(*_written(f"{op.name}_", op, values, op.changer, Steps(answerer).read))


def out_form(op: Op, values: list[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """A call as the overload that writes its result elsewhere; None if it is no single one."""
    if op.name not in _STEPS:
        function, args, kwargs = _written(op.name, op, values, op)
    elif op.name in _SINGLE or op.name in _ALONE:
        function, args, kwargs = _only_step(_STEPS[op.name], values)
    else:
        return None
    packet = function.overloadpacket
    overload = writing(packet.__name__, function.overload)
    return None if overload is None else (getattr(packet, overload), args, kwargs)


def writing(name: str, overload: str) -> str | None:
    """The overload that writes elsewhere what another gives; None if there is none."""
    known = pytorch_names.overloads(name)
    shorter = overload.removeprefix("dim_"), overload.removesuffix("_step")
    endings = (f"{overload}_out", *(f"{each}_out" for each in shorter), "out")
    return next((ending for ending in endings if ending in known), None)


def knows_gradients(node: Any, grads: list[Any]) -> bool:
    """Whether PyTorch's steps of a node's gradients are known, and to be made here.

    Not inside a transform; complex numbers and those of 16 bits are left to the rules, which are
    wider inside. What is taken apart to be derived is not put together again.
    """
    if node.op.name not in _GRADIENTS or (is_taken_apart() and is_recording()):
        return False
    of_complex = node.op.name in _OF_COMPLEX
    results = node.result if isinstance(node.result, list) else [node.result]
    kept = [node.kept(place) for place in range(len(node.op.parameters))]
    for value in (*grads, *results, *kept):
        if isinstance(value, SavedTensor):
            if (value.dtype.kind == "c" and not of_complex) or is_half(value.dtype):
                return False
        if isinstance(value, TensorCore):
            inside = value.layer is not None and value.layer.level.number > 0
            is_complex = value.array.dtype.kind == "c" and not of_complex
            if inside or is_complex or half_type(value.array) is not None:
                return False
    return True


def gradients_in_steps(
    node: Any, grads: list[Any], kept: Kept, answerer: Answerer
) -> list[Any] | None:
    """What is answered to a step of a backward pass; None if the node keeps too little for it."""
    try:
        found = list(_GRADIENTS[node.op.name](Steps(answerer), kept, *grads))
    except TooLittleKeptError:
        return None
    for answer in found:
        for each in answer if isinstance(answer, list) else (answer,):
            if each is not None and not isinstance(each, TensorCore):
                raise RuntimeError(
                    f"__torch_dispatch__ returned a {type(each).__name__}, not a Tensor, for a "
                    f"gradient of {node.name()}"
                )
    return found


def overload_for(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The overload that a call is shown as; of several steps, that which does the work."""
    if isinstance(op, CustomOpDef):
        return ops.overload_of(op)
    changed = op.op if isinstance(op, InplaceOp) else None
    values = (changed or op).bind(args, kwargs)
    if changed is not None:
        return _written(op.name, changed, values, op)[0]
    if op.name == "linear":
        return ops.named("mm" if values[2] is None else "addmm")
    if op.name == "matmul":
        ranks = (values[0].ndim, values[1].ndim)
        known = {(1, 1): "dot", (2, 1): "mv", (2, 2): "mm", (1, 2): "mm"}
        return ops.named(known.get(ranks, "bmm"))
    if op.name in _WHOLE:
        return ops.named(_WHOLE[op.name])
    if op.name not in _SINGLE:
        return _written(op.name, op, values, op)[0]
    return _only_step(_SINGLE[op.name], values)[0]


def _only_step(steps: Any, values: list[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What is asked for by steps that are but one."""
    seen: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []

    def note(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        seen.append((function, given, named))
        return given[0]

    steps(Steps(note), *values)
    return seen[0]


def _written(name: str, op: Any, values: list[Any], function: Any, read: Any = Tensor.item) -> Any:
    """An overload of torch.ops, and the arguments as PyTorch writes them."""
    args, kwargs = op.spelled(values)
    if not forms(name) and forms(f"special_{name}"):
        name = f"special_{name}"
    if isinstance(op, CustomOpDef):
        return ops.overload_of(op), args, kwargs
    kept = [i for i, value in enumerate(values) if value is not op.defaults[i]]
    named = by_names(name, [op.parameters[i] for i in kept], [values[i] for i in kept])
    found = better(named, bound(name, args, kwargs))
    if found is None:
        return ops.overload_of(function), args, kwargs
    form, given = found
    return ops.named(name, form.overload), *form.spelled(given, read)
