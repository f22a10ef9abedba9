"""Derivatives of a function at a point: products with its Jacobian and Hessian, and these whole.

Most here is made of backward passes. A product from the right (`jvp`, `hvp`) is the gradient of a
gradient: backward is linear in the gradients it starts with, so its own derivative with respect to
them is the product that is wanted. `vectorize=True` makes one pass for all rows, or in forward mode
for all columns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.grad_mode import enable_grad
from adjoint.creation.factories import eye, zeros_like
from adjoint.func.batching import vmap
from adjoint.func.forward import jvp as forward_derivative
from adjoint.ops import find_function
from adjoint.tensors.tensor import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]  # of Tensors, whose methods are attached later

_RESULT = "outputs of the user-provided function"
_STRICT = "This is not allowed in strict mode"


def _tensors(value: Any, what: str, function: str) -> tuple[bool, Tensors]:
    """Whether several tensors were given, and the tensors."""
    several = isinstance(value, tuple)
    found = value if several else (value,)
    for i, element in enumerate(found):
        if not isinstance(element, Tensor):
            place = f"the value at index {i}" if several else "what was given"
            raise TypeError(
                f"{function}: the {what} must be either a Tensor or a tuple of Tensors, but "
                f"{place} is a {type(element).__name__}"
            )
    return several, found


def _apart(tensors: Tensors, create_graph: bool, requires_grad: bool) -> Tensors:
    """New objects for tensors, so that func's inputs differ from what func knows otherwise."""
    return tuple(
        tensor.view_as(tensor)
        if create_graph and tensor.requires_grad
        else tensor.detach().requires_grad_(requires_grad)
        for tensor in tensors
    )


def _vector(v: Any, like: Tensors, several: bool, create_graph: bool, function: str) -> Any:
    """The vector of a product, checked against the tensors that it stands beside."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            side = "output of" if function == "vjp" else "input to"
            raise RuntimeError(
                f"{function}: the vector v can only be None if the {side} the function is a "
                "single Tensor with a single element"
            )
        return (None,)
    _, given = _tensors(v, "v", function)
    if len(given) != len(like):
        wanted = f"a tuple of {len(like)} Tensors" if several else "a single Tensor"
        raise RuntimeError(
            f"{function}: v is of invalid length: it should contain {wanted}, got {len(given)}"
        )
    for i, (vector, tensor) in enumerate(zip(given, like)):
        if vector.shape != tensor.shape:
            entry = f"entry {i} in v" if several else "v"
            raise RuntimeError(
                f"{function}: {entry} has invalid size: should be {list(tensor.shape)} but got "
                f"{list(vector.shape)}"
            )
    return _apart(given, create_graph, False)


def _gradients(
    outputs: Sequence[Any],
    inputs: Tensors,
    starts: Sequence[Any],
    create_graph: bool,
    retain_graph: bool | None = None,
) -> tuple[Any, ...]:
    """Gradients of those outputs that have any, None for each input that they don't reach."""
    pairs = [
        (output, start)
        for output, start in zip(outputs, starts)
        if output is not None and output.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    roots, given = zip(*pairs)
    return grad(roots, inputs, given, retain_graph, create_graph, allow_unused=True)


def _check_recorded(tensors: Sequence[Any], strict: bool, complaint: str) -> None:
    """In strict mode, refuse a tensor that does not depend on the inputs."""
    if not strict:
        return
    for i, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(f"The output of the function is independent of input {i}. {_STRICT}")
        if not tensor.requires_grad:
            raise RuntimeError(f"{complaint.format(i)}. {_STRICT}")


_OUTPUT = "Output {} of the function does not require gradients: it must be computed from the input"
_GRADIENT = "The gradient with respect to input {} is independent of the inputs of the function"
_SLOPE = (
    "The jacobian of the function with respect to input {} is independent of the input, so that "
    "there is no hessian; the function must be twice differentiable and not linear"
)


def _filled(
    found: Sequence[Any], like: Tensors, strict: bool, create_graph: bool, absent: str, matrix: str
) -> Tensors:
    """Gradients with zeros for those that are None; in strict mode these are refused."""
    for i, gradient in enumerate(found):
        if strict and gradient is None:
            raise RuntimeError(f"{absent.format(i)}. {_STRICT}")
        if strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {matrix} of the function is independent of input {i}. {_STRICT} with "
                "create_graph=True"
            )
    return tuple(
        zeros_like(a) if gradient is None else gradient for gradient, a in zip(found, like)
    )


def _answer(tensors: Tensors, several: bool, create_graph: bool) -> Any:
    """Results as the caller gave the matching arguments, with history only if asked for."""
    shown = tensors if create_graph else tuple(tensor.detach() for tensor in tensors)
    return shown if several else shown[0]


def _scalar(output: Any, function: str, strict: bool) -> Any:
    """The output of a function that has a Hessian."""
    several, tensors = _tensors(output, _RESULT, function)
    _check_recorded(tensors, strict, _OUTPUT)
    if several:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if output.numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single "
            f"element, got shape {list(output.shape)}"
        )
    return tensors[0]


@enable_grad()
def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func's outputs, and the product of v with its Jacobian: one backward pass.

    With `strict`, an output that does not depend on an input is an error instead of zeros.
    """
    many, given = _tensors(inputs, "inputs", "vjp")
    sources = _apart(given, create_graph, True)
    many_outputs, outputs = _tensors(func(*sources), _RESULT, "vjp")
    _check_recorded(outputs, strict, _OUTPUT)
    vector = _vector(v, outputs, many_outputs, create_graph, "vjp")
    found = _gradients(outputs, sources, vector, create_graph)
    absent = "The output of the function is independent of input {}"
    product = _filled(found, sources, strict, create_graph, absent, "jacobian")
    return _answer(outputs, many_outputs, create_graph), _answer(product, many, create_graph)


@enable_grad()
def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """func's outputs, and the product of its Jacobian with v: the gradient of a gradient.

    With `strict`, an output that does not depend on an input is an error instead of zeros.
    """
    many, given = _tensors(inputs, "inputs", "jvp")
    sources = _apart(given, create_graph, True)
    vector = _vector(v, sources, many, create_graph, "jvp")
    many_outputs, outputs = _tensors(func(*sources), _RESULT, "jvp")
    _check_recorded(outputs, strict, _OUTPUT)
    starts = tuple(zeros_like(output, requires_grad=True) for output in outputs)
    slopes = _gradients(outputs, sources, starts, True)
    _check_recorded(slopes, strict, _GRADIENT)
    found = _gradients(slopes, starts, vector, create_graph)
    absent = "The gradient with respect to the input is independent of entry {} in the grad_outputs"
    product = _filled(found, outputs, strict, create_graph, absent, "jacobian")
    shown = _answer(outputs, many_outputs, create_graph)
    return shown, _answer(product, many_outputs, create_graph)


@enable_grad()
def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The scalar that func answers, and the product of v with its Hessian."""
    many, given = _tensors(inputs, "inputs", "vhp")
    sources = _apart(given, create_graph, True)
    vector = _vector(v, sources, many, create_graph, "vhp")
    output = _scalar(func(*sources), "vhp", strict)
    slopes = _gradients((output,), sources, (None,), True)
    _check_recorded(slopes, strict, _SLOPE)
    found = _gradients(slopes, sources, vector, create_graph)
    absent = "The jacobian of the function is independent of input {}"
    product = _filled(found, sources, strict, create_graph, absent, "hessian")
    return _answer((output,), False, create_graph), _answer(product, many, create_graph)


@enable_grad()
def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The scalar that func answers, and the product of its Hessian with v.

    `vhp` makes one pass less; where second derivatives are continuous the two are the same.
    """
    many, given = _tensors(inputs, "inputs", "hvp")
    sources = _apart(given, create_graph, True)
    vector = _vector(v, sources, many, create_graph, "hvp")
    output = _scalar(func(*sources), "hvp", strict)
    slopes = _gradients((output,), sources, (None,), True)
    _check_recorded(slopes, strict, _SLOPE)
    starts = tuple(zeros_like(source, requires_grad=True) for source in sources)
    curvatures = _gradients(slopes, sources, starts, True)
    found = _gradients(curvatures, starts, vector, create_graph)
    absent = "The hessian of the function is independent of entry {} in the grad_jacobian"
    product = _filled(found, sources, strict, create_graph, absent, "hessian")
    return _answer((output,), False, create_graph), _answer(product, many, create_graph)


def _units(tensor: Any) -> Iterator[Any]:
    """For each element, a tensor of this one's shape that is 1 there and 0 elsewhere."""
    for i in range(tensor.numel()):
        unit = tensor.detach().new_zeros(tensor.numel())
        unit[i] = 1
        yield unit.reshape(tensor.shape)


def _stacked(rows: list[Any], first: Any, second: Any) -> Any:
    """Rows of a matrix, one for each element of first, in the shapes of both."""
    shape = (*first.shape, *second.shape)
    if not rows:
        return second.new_zeros(shape)
    stacked = find_function("stack")(rows)
    return stacked.reshape(shape)


def _by_rows(outputs: Tensors, sources: Tensors, create_graph: bool, strict: bool) -> Any:
    """The blocks of a Jacobian, by output and input: one backward pass for each output element."""
    blocks = []
    for i, output in enumerate(outputs):
        absent = f"Output {i} of the function is independent of input {{}}"
        rows = [
            _filled(
                _gradients((output,), sources, (unit,), create_graph, True),
                sources,
                strict,
                create_graph,
                absent,
                "jacobian",
            )
            for unit in _units(output)
        ]
        columns = zip(*rows) if rows else ((),) * len(sources)
        blocks.append([_stacked(list(c), output, s) for c, s in zip(columns, sources)])
    return blocks


def _basis(tensor: Any) -> Any:
    """The unit vectors of the space of a tensor's elements, one after the other."""
    count = tensor.numel()
    whole: Any = eye(count, dtype=tensor.dtype, device=tensor.device)
    return whole.reshape((count, *tensor.shape))


def _rows_at_once(outputs: Tensors, sources: Tensors, create_graph: bool) -> Any:
    """The blocks of a Jacobian, by output and input: one backward pass for each output."""
    blocks = []
    for output in outputs:
        found: tuple[Any, ...] = (None,) * len(sources)
        if output.requires_grad and output.numel():
            found = grad(
                output,
                sources,
                _basis(output),
                retain_graph=True,
                create_graph=create_graph,
                allow_unused=True,
                is_grads_batched=True,
            )
        blocks.append(
            [
                (source.new_zeros(()) if rows is None else rows)
                .expand(output.numel(), *source.shape)
                .reshape((*output.shape, *source.shape))
                for rows, source in zip(found, sources)
            ]
        )
    return blocks


def _columns_at_once(func: Callable[..., Any], sources: Tensors) -> tuple[bool, Any]:
    """Whether func answers several outputs, and the blocks of its Jacobian in one forward pass."""
    several: list[bool] = []

    def checked(*points: Any) -> Tensors:
        many, outputs = _tensors(func(*points), _RESULT, "jacobian")
        several.append(many)
        return outputs

    def along(*directions: Any) -> Tensors:
        pushed: Tensors = forward_derivative(checked, sources, directions)[1]
        return pushed

    sizes = [source.numel() for source in sources]
    total = sum(sizes)
    if not total:
        outputs = checked(*sources)
        return several[0], [
            [output.new_zeros((*output.shape, *source.shape)) for source in sources]
            for output in outputs
        ]
    directions = []
    for i, source in enumerate(sources):
        parts = [source.detach().new_zeros((size, *source.shape)) for size in sizes]
        parts[i] = _basis(source)
        directions.append(find_function("cat")(parts))
    blocks = []
    for columns in vmap(along)(*directions):
        parts = find_function("split")(columns, sizes)
        blocks.append(
            [
                part.movedim(0, -1).reshape((*columns.shape[1:], *source.shape))
                for part, source in zip(parts, sources)
            ]
        )
    return several[0], blocks


def _check_strategy(strategy: str, function: str, argument: str) -> bool:
    """Whether a strategy is forward mode."""
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f'{function}: {argument} must be "forward-mode" or "reverse-mode", got {strategy!r}; '
            "the first makes a pass for each input element, the second for each output element"
        )
    return strategy == "forward-mode"


def _refuse_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    """What goes with forward mode in PyTorch is the default options and vectorize=True."""
    wish = 'strategy="forward-mode"'
    if create_graph:
        raise NotImplementedError(
            f'jacobian: create_graph=True and {wish} do not go together; use "reverse-mode"'
        )
    if strict:
        raise RuntimeError(
            f'jacobian: strict=True and {wish} do not go together; use "reverse-mode"'
        )
    if not vectorize:
        raise NotImplementedError(f"jacobian: {wish} is only there with vectorize=True")


@enable_grad()
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of func: for each output and input a tensor of the shapes of both.

    Tuples of outputs, or of inputs, make tuples of these. With `strict`, an output that does not
    depend on an input is an error instead of zeros. `strategy="forward-mode"` makes a pass for each
    element of the inputs instead of one for each of the outputs.
    """
    forward = _check_strategy(strategy, "jacobian", "strategy")
    if forward:
        _refuse_forward(create_graph, strict, vectorize)
    elif vectorize and strict:
        raise RuntimeError("jacobian: strict=True and vectorize=True do not go together")
    many, given = _tensors(inputs, "inputs", "jacobian")
    differentiable = create_graph or (forward and any(one.requires_grad for one in given))
    sources = _apart(given, differentiable, not forward)
    if forward:
        many_outputs, blocks = _columns_at_once(func, sources)
        answers = tuple(_answer(tuple(row), many, differentiable) for row in blocks)
        return answers if many_outputs else answers[0]
    many_outputs, outputs = _tensors(func(*sources), _RESULT, "jacobian")
    _check_recorded(outputs, strict, _OUTPUT)
    if not vectorize and any(output.is_complex() for output in outputs):
        raise RuntimeError(
            "jacobian: a complex output has two derivatives; give its real and imaginary parts, or "
            "vectorize=True for the conjugate Wirtinger derivative of the real part"
        )
    if vectorize:
        blocks = _rows_at_once(outputs, sources, create_graph)
    else:
        blocks = _by_rows(outputs, sources, create_graph, strict)
    answers = tuple(_answer(tuple(row), many, differentiable) for row in blocks)
    return answers if many_outputs else answers[0]


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a func that answers a scalar: for each two inputs a tensor of both shapes.

    It is the Jacobian of the gradient, see `jacobian` for the options.
    """
    many, given = _tensors(inputs, "inputs", "hessian")
    forward = _check_strategy(outer_jacobian_strategy, "hessian", "outer_jacobian_strategy")

    def gradient(*points: Any) -> Any:
        if forward:  # as new leaves they would lose their tangents
            points = tuple(point.requires_grad_() for point in points)

        def value(*sources: Any) -> Any:
            return _scalar(func(*sources), "hessian", strict).squeeze()

        slopes = jacobian(value, points, create_graph=True)
        _check_recorded(slopes, strict, _SLOPE)
        return slopes

    answer = jacobian(gradient, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return answer if many else answer[0][0]
