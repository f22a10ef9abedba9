"""Compare gradients with finite differences: gradcheck and gradgradcheck.

A function with complex outputs is checked as two functions, its imaginary and its real part, so
that `jacobians` knows only real outputs.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.jacobians import (
    GradcheckError as GradcheckError,
    Problem,
    as_tuple,
    like,
    needs_grad,
    numerical,
    pulled_back,
    pushed_forward,
    slopes,
    slopes_forward,
    unit_steps,
    values_of,
)
from adjoint.autograd.node import Node, edge_node, next_sequence_number
from adjoint.autograd.sparse_gradcheck import by_elements
from adjoint.backends import quiet
from adjoint.backends.numpy import numpy_backend
from adjoint.creation.factories import zeros_like
from adjoint.func.batching import vmap
from adjoint.ops import find_function
from adjoint.ops.op import find
from adjoint.random import Generator
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import renewed

__all__ = [
    "GradcheckError",
    "get_analytical_jacobian",
    "get_numerical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
    "gradcheck",
    "gradgradcheck",
]

np = numpy_backend.xp


@dataclass(frozen=True, slots=True)
class _Limits:
    """How closely, and in which way, gradients are compared."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    dtypes: bool
    fast: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of func at inputs agree with central differences of step eps.

    A disagreement is a GradcheckError that says where, or False without `raise_exception`. The
    inputs are changed in place and put back. `fast_mode` compares one random projection of each
    Jacobian in place of all its elements.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad and check_backward_ad")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("check_batched_grad=True requires check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("check_batched_forward_grad=True requires check_forward_ad=True")
    limits = _Limits(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    func, arguments = by_elements(func, as_tuple(inputs), bool(masked))
    _check_inputs(arguments)
    try:
        whole = Problem(func, arguments, as_tuple(func(*arguments)))
        if check_backward_ad:
            _check_all(whole, limits, bool(masked), check_undefined_grad, check_batched_grad)
        if check_forward_ad:
            _check_forward(whole, limits, check_undefined_grad, check_batched_forward_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of func's gradients: by its inputs and by grad_outputs, random if not given."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev and check_rev_over_rev")
    for name, asked in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"{name}=True requires check_rev_over_rev=True")
    func, arguments = by_elements(func, as_tuple(inputs), masked)
    if grad_outputs is None:
        outputs = [o for o in as_tuple(func(*arguments)) if needs_grad(o)]
        cotangents = tuple(_random_gradients(outputs, gen_non_contig_grad_outputs))
    else:
        cotangents = as_tuple(grad_outputs)
    sources = [i for i, value in enumerate(arguments) if needs_grad(value)]

    def first_order(*values: Any) -> tuple[Any, ...]:
        points, starts = values[: len(arguments)], values[len(arguments) :]
        for i in sources:
            points[i].requires_grad_()
        results = [o for o in as_tuple(func(*points)) if needs_grad(o)]
        found = grad(
            results, [points[i] for i in sources], starts, create_graph=True, allow_unused=True
        )
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_order,
        arguments + cotangents,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


# ---- the checks ----


def _check_all(
    whole: Problem,
    limits: _Limits,
    masked: bool,
    undefined: bool,
    batched: bool,
) -> None:
    """All checks of the gradients that backward computes."""
    for problem in _real_problems(whole):
        _checked(problem, limits)
    if whole.targets:
        _check_linear(whole, masked)
        if batched:
            _check_batched(whole)
        if undefined:
            _check_undefined(whole)


def _check_forward(whole: Problem, limits: _Limits, undefined: bool, batched: bool) -> None:
    """All checks of the tangents that forward mode computes."""
    for problem in _real_problems(whole):
        for source in problem.sources:
            _check_slopes(problem, source, limits)
    if batched:
        for source in whole.sources:
            _check_batched_forward(whole, source)
    if undefined:
        _check_undefined_forward(whole)


def _check_slopes(problem: Problem, source: int, limits: _Limits) -> None:
    """Derivatives along steps of one input, by forward mode against differences."""
    shape = problem.inputs[source].shape
    generator = Generator()
    whole = limits.fast
    steps = [[_projection(shape, generator) for _ in "ri"]] if whole else unit_steps(shape)
    for step in steps:
        expected = slopes(problem, source, step, limits.eps)
        for target, found in slopes_forward(problem, source, step, limits.dtypes).items():
            if not _close(found, expected[target], limits.atol, limits.rtol).all():
                raise GradcheckError(
                    _where(problem, source, target, forward=True)
                    + f"\nalong {step}\nnumerical:\n{expected[target]}\nanalytical:\n{found}"
                )


def _random_tangents(problem: Problem, source: int) -> list[Tensor]:
    """Two directions for an input."""
    tensor = problem.inputs[source]
    return [t.detach() for _ in range(2) for t in _random_gradients([tensor], False)]


def _check_batched_forward(problem: Problem, source: int) -> None:
    """A batch of tangents must give what they give one by one."""

    def along(tangent: Tensor) -> tuple[Any, ...]:
        pushed = pushed_forward(problem, {source: tangent})
        return tuple(
            zeros_like(problem.outputs[i].detach()) if t is None else t for i, t in pushed.items()
        )

    tangents = _random_tangents(problem, source)
    rows = [along(tangent) for tangent in tangents]
    try:
        together = vmap(along)(find_function("stack")(tangents))
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}; check_batched_forward_grad=False "
            "leaves this check out"
        ) from error
    for target, batch, *alone in zip(pushed_targets(problem), together, *rows):
        if not np.allclose(values_of(batch), np.stack([values_of(one) for one in alone])):
            raise GradcheckError(
                f"tangents of output {target} for those of input {source} differ when a batch of "
                "them is computed; check_batched_forward_grad=False leaves this check out"
            )


def pushed_targets(problem: Problem) -> Sequence[int]:
    """The outputs that forward mode is asked for."""
    return problem.targets or range(len(problem.outputs))


def _check_undefined_forward(problem: Problem) -> None:
    """No tangent must do what a tangent of zeros does."""
    tangents = {source: _random_tangents(problem, source)[0] for source in problem.sources}
    for source in problem.sources:
        still = {**tangents, source: zeros_like(problem.inputs[source].detach())}
        with_zeros = pushed_forward(problem, still)
        del still[source]
        without = pushed_forward(problem, still)
        for target, first in with_zeros.items():
            second = without[target]
            a, b = (0.0 if t is None else values_of(t) for t in (first, second))
            if not np.allclose(a, b):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {target}, when input "
                    f"{source} has no tangent and when it has one of zeros"
                )


def _real_problems(whole: Problem) -> list[Problem]:
    """The function itself, or the imaginary and the real part of its complex outputs."""
    if not any(o.dtype.is_complex for o in whole.outputs):
        return [whole]
    places = frozenset(i for i, o in enumerate(whole.outputs) if o.dtype.is_complex)
    problems = []
    for name, label in (("imag", "imaginary"), ("real_part", "real")):
        function = _part_of(whole.function, find(name))
        problems.append(Problem(function, whole.inputs, function(*whole.inputs), label, places))
    return problems


def _part_of(function: Callable[..., Any], part: Any) -> Callable[..., tuple[Any, ...]]:
    def real_function(*args: Any) -> tuple[Any, ...]:
        return tuple(part(o) if o.dtype.is_complex else o for o in as_tuple(function(*args)))

    return real_function


def _checked(problem: Problem, limits: _Limits) -> None:
    """Jacobians by backward against those by differences."""
    if not problem.targets:
        _check_constant(problem, limits)
    elif limits.fast:
        _check_projections(problem, limits)
    else:
        _check_jacobians(problem, limits)


def _check_jacobians(problem: Problem, limits: _Limits) -> None:
    """Every element of every Jacobian."""
    by_differences = numerical(problem, limits.eps)
    for target in problem.targets:
        for source, found in zip(problem.sources, _analytical(problem, target, limits)):
            expected = by_differences[source][target]
            if not _close(found, expected, limits.atol, limits.rtol).all():
                raise GradcheckError(_mismatch(problem, source, target, found, expected, limits))


def _check_constant(problem: Problem, limits: _Limits) -> None:
    """Outputs that need no gradient must not depend on the inputs."""
    tolerance = limits.nondet_tol if limits.fast else 0.0
    for source in problem.sources:
        shape = problem.inputs[source].shape
        steps = [_projection(shape, Generator())] if limits.fast else unit_steps(shape)
        for step in steps:
            for target, slope in slopes(problem, source, step, limits.eps).items():
                if slope.size and np.abs(slope).max() > tolerance:
                    raise GradcheckError(
                        f"Numerical gradient for function expected to be zero: output {target} "
                        f"has no gradient, but changes with input {source}"
                    )


def _check_projections(problem: Problem, limits: _Limits) -> None:
    """One random projection v·J·u of each Jacobian."""
    generator = Generator()
    rights = {
        source: [_projection(problem.inputs[source].shape, generator) for _ in "ri"]
        for source in problem.sources
    }
    expected = {source: slopes(problem, source, u, limits.eps) for source, u in rights.items()}
    for target in problem.targets:
        left = _projection(problem.outputs[target].shape, generator)
        rows = _analytical(problem, target, limits, [left])
        for source, row in zip(problem.sources, rows):
            real, imaginary = (u.reshape(-1) for u in rights[source])
            found, weight = row.real[:, 0] @ real, real.sum()
            if np.iscomplexobj(row):
                found = found + 1j * (row.imag[:, 0] @ imaginary)
                weight = weight + imaginary.sum()
            atol = limits.atol * float(weight * left.sum())
            if not _close(found, expected[source][target] @ left.reshape(-1), atol, limits.rtol):
                raise GradcheckError(_fast_mismatch(problem, source, target, limits))


def _check_linear(problem: Problem, masked: bool) -> None:
    """A zero gradient of the outputs must give zero, of the right kind, for the inputs."""
    outputs = [problem.outputs[i] for i in problem.targets]
    inputs = [problem.inputs[i] for i in problem.sources]
    starts = [zeros_like(o) for o in outputs]
    found = grad(outputs, inputs, starts, retain_graph=True, allow_unused=True)
    for source, value, result in zip(problem.sources, inputs, found):
        if result is None:
            continue
        values = values_of(result)
        if not (np.allclose(values, 0) if masked else (values == 0).all()):
            raise GradcheckError(
                f"backward not multiplied by grad_output: with zero gradients for all outputs, "
                f"input {source} gets one of up to {np.abs(values).max():g}"
            )
        for what in ("dtype", "device", "shape"):
            had, wanted = getattr(result, what), getattr(value, what)
            if had != wanted:
                raise GradcheckError(
                    f"grad is incorrect {what}: input {source} has {wanted}, its gradient {had}"
                )


class UndefinedGrad(Node):
    """Takes a gradient and hands on none."""

    def __init__(self, tensor: Tensor) -> None:
        super().__init__(next_sequence_number())
        self.spec = tensor.spec()
        self.add_edge(edge_node(tensor), tensor.output_number)

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        """See Node."""
        return [None]


def _undefined(tensor: Tensor) -> Tensor:
    """The same values; a gradient that reaches them is lost."""
    result: Any = renewed(tensor)
    result.node = UndefinedGrad(tensor)
    result.needs_grad = True
    return result  # type: ignore[no-any-return]  # made by `upper.tensor`


def _check_batched(problem: Problem) -> None:
    """A batch of gradients must give what they give one by one."""
    inputs = [problem.inputs[i] for i in problem.sources]
    for target in problem.targets:
        output = problem.outputs[target]
        starts = [s.detach() for _ in range(2) for s in _random_gradients([output], False)]
        pairs = [
            grad(output, inputs, start, retain_graph=True, allow_unused=True) for start in starts
        ]
        batch = find_function("stack")(starts)
        options = {"retain_graph": True, "allow_unused": True, "is_grads_batched": True}
        try:
            together = grad(output, inputs, batch, **options)
        except RuntimeError as error:
            raise GradcheckError(
                f"no batch of gradients can be computed: {error}; check_batched_grad=False leaves "
                "this check out"
            ) from error
        for source, found, *singles in zip(problem.sources, together, *pairs):
            alone = None if singles[0] is None else np.stack([values_of(one) for one in singles])
            if (found is None) != (alone is None) or (
                found is not None and not np.allclose(values_of(found), alone)
            ):
                raise GradcheckError(
                    f"gradients of output {target} with respect to input {source} differ when a "
                    "batch of them is computed; check_batched_grad=False leaves this check out"
                )


def _check_undefined(problem: Problem) -> None:
    """Backward must take the absence of a gradient for zero: of all outputs, and of each."""
    count = len(problem.targets)
    cases = [set(range(count))]
    if count > 1:
        cases += [{i} for i in range(count)]
    for case in cases:
        outputs = [o for o in as_tuple(problem.function(*problem.inputs)) if needs_grad(o)]
        _check_undefined_case(
            [_undefined(o) if i in case else o for i, o in enumerate(outputs)], problem
        )


def _check_undefined_case(outputs: list[Any], problem: Problem) -> None:
    inputs = [problem.inputs[i] for i in problem.sources]
    starts = [zeros_like(o) for o in outputs]
    complaint = "check_undefined_grad=False leaves this check out"
    try:
        found = grad(outputs, inputs, starts, allow_unused=True)
    except RuntimeError as error:
        warnings.warn(f"gradcheck: undefined gradients raise; {complaint}", stacklevel=5)
        raise GradcheckError(
            "Expected backward function to handle undefined output grads: an output that was not "
            f"used has None for its gradient, which must count as zero; {complaint}"
        ) from error
    for source, result in zip(problem.sources, found):
        if result is not None and not (values_of(result) == 0).all():
            warnings.warn(f"gradcheck: undefined gradients give others; {complaint}", stacklevel=5)
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero, but input {source} gets another; {complaint}"
            )


# ---- by backward ----


def _analytical(problem: Problem, target: int, limits: _Limits, starts: Any = None) -> list[Any]:
    """The Jacobians of one output by every input, as backward computes them.

    With `starts`, only the products with those gradients of the output. All is computed twice.
    """
    output = problem.outputs[target]
    inputs = [problem.inputs[i] for i in problem.sources]
    first, second = (pulled_back(output, inputs, starts, limits.dtypes) for _ in range(2))
    for source, a, b in zip(problem.sources, first, second):
        if a.size and _gap(a, b).max() > limits.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant: run twice on the same values, it gave gradients of "
                f"output {target} with respect to input {source} that differ by up to "
                f"{_gap(a, b).max():g}; nondet_tol is {limits.nondet_tol:g}"
            )
    return first


# ---- what went wrong ----


def _close(found: Any, expected: Any, atol: float, rtol: float) -> Any:
    """Where two arrays agree; NaN agrees with nothing."""
    near = _gap(found, expected) <= atol + rtol * np.abs(expected)
    return near | (np.asarray(found) == expected)


def _gap(found: Any, expected: Any) -> Any:
    """How far apart two arrays are; infinite values of one sign make NaN."""
    with quiet():
        return np.abs(np.asarray(found) - expected)


def _mismatch(
    problem: Problem, source: int, target: int, found: Any, expected: Any, limits: _Limits
) -> str:
    """Which elements of a Jacobian differ, and by how much."""
    wrong = ~_close(found, expected, limits.atol, limits.rtol)
    lines = [_where(problem, source, target)]
    if wrong.any():
        gap = _gap(found, expected)
        worst = np.where(wrong, np.nan_to_num(gap, nan=np.inf), -1.0).argmax()
        row, column = np.unravel_index(int(worst), gap.shape)
        into = _place(row, problem.inputs[source].shape)
        out = _place(column, problem.outputs[target].shape)
        lines.append(
            f"{int(wrong.sum())} of {wrong.size} elements differ, most the derivative of "
            f"output{out} by input{into}: numerical {expected[row, column]:.8g}, analytical "
            f"{found[row, column]:.8g}, difference {gap[row, column]:.3g} (atol {limits.atol:g}, "
            f"rtol {limits.rtol:g})"
        )
    lines += [f"numerical:\n{expected}", f"analytical:\n{found}"]
    return "\n".join(lines)


def _place(flat: Any, shape: Any) -> list[int]:
    return [int(i) for i in np.unravel_index(int(flat), tuple(shape))] if len(shape) else []


def _where(problem: Problem, source: int, target: int, forward: bool = False) -> str:
    prefix = ""
    if target in problem.complex_outputs:
        prefix = f"While considering the {problem.part} part of complex outputs only, "
    how = " computed with forward mode" if forward else ""
    return f"{prefix}Jacobian{how} mismatch for output {target} with respect to input {source}:"


def _fast_mismatch(problem: Problem, source: int, target: int, limits: _Limits) -> str:
    """The full Jacobians of the pair whose projections differ."""
    found = _analytical(problem, target, limits)[problem.sources.index(source)]
    expected = numerical(problem, limits.eps)[source][target]
    text = _mismatch(problem, source, target, found, expected, limits)
    if _close(found, expected, limits.atol, limits.rtol).all():
        text += (
            "\nOnly their random projections differ; each element is within the tolerances, so "
            "that fast_mode=False would have passed."
        )
    return text


def _projection(shape: Any, generator: Generator) -> Any:
    """Random positive numbers of norm one."""
    vector = generator.draw(lambda stream: stream.random(tuple(shape)))
    vector = np.asarray(vector)
    return vector / np.linalg.norm(vector) if vector.size else vector


def _random_gradients(outputs: list[Any], strided: bool) -> Iterator[Tensor]:
    """Gradients to start from, between -1 and 1; `strided`: not contiguous in memory."""
    generator = Generator()
    for output in outputs:
        shape = (*output.shape, 2) if strided else tuple(output.shape)

        def part(shape: Any = shape) -> Any:
            return generator.draw(lambda stream: stream.uniform(-1, 1, shape))

        values = np.asarray(part() + 1j * part() if output.dtype.is_complex else part())
        wide = like(output, values)
        yield (wide[..., 0].detach() if strided else wide).requires_grad_()


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Refuse inputs whose elements can't be moved one by one."""
    for i, value in enumerate(inputs):
        if not needs_grad(value):
            continue
        if value.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or "
                f"complex tensor but {value.dtype.name}: differences are too coarse to compare",
                stacklevel=3,
            )
        strides = getattr(value.array, "strides", ())
        if value.numel() and any(s == 0 and n > 1 for s, n in zip(strides, value.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0: several of its elements are one "
                "place in memory, so that they can't be moved apart; give a clone() of it"
            )
    if not any(needs_grad(value) for value in inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none does; call "
            "requires_grad_() on it"
        )


# ---- single Jacobians, under PyTorch's names ----


def _retired(name: str, grad_out: float) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API; use gradcheck, or autograd.grad",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0, but {name} got {grad_out}")


def _refuse_complex(name: str, outputs: Sequence[Any]) -> None:
    if any(o.dtype.is_complex for o in outputs):
        raise ValueError(f"Expected output to be non-complex: {name} takes its real or imag part")


def get_numerical_jacobian(
    fn: Callable[..., Any],
    inputs: Any,
    target: Any = None,
    eps: float = 1e-3,
    grad_out: float = 1.0,
) -> tuple[Tensor, ...]:
    """Jacobians of the first output of fn(inputs), by differences, for each tensor in target."""
    _retired("get_numerical_jacobian", grad_out)
    moved = as_tuple(inputs if target is None else target)
    outputs = as_tuple(fn(as_tuple(inputs)))
    _refuse_complex("get_numerical_jacobian", outputs)
    problem = Problem(lambda *_: fn(as_tuple(inputs)), moved, outputs)
    found = numerical(problem, eps)
    return tuple(Tensor(found[source][min(found[source])], AS_IS) for source in problem.sources)


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Any,
    outputs: Any,
    eps: float,
    input: Any = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """Jacobians of every output of fn(*inputs), by differences, for one of the inputs."""
    given = as_tuple(inputs)
    moved = tuple(
        (value if input is None else input) if i == input_idx else None
        for i, value in enumerate(given)
    )
    problem = Problem(lambda *_: fn(*given), moved, as_tuple(outputs))
    _refuse_complex("get_numerical_jacobian_wrt_specific_input", problem.outputs)
    return tuple(Tensor(j, AS_IS) for j in numerical(problem, eps)[input_idx].values())


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Jacobians of output as backward computes them; whether twice the same, in size and type."""
    _retired("get_analytical_jacobian", grad_out)
    _refuse_complex("get_analytical_jacobian", [output])
    sources = [value for value in as_tuple(inputs) if needs_grad(value)]
    first, second = (pulled_back(output, sources, None, dtypes=True) for _ in range(2))
    same = not any(a.size and _gap(a, b).max() > nondet_tol for a, b in zip(first, second))
    return tuple(Tensor(j, AS_IS) for j in first), same, True, True


class _CallableModule(ModuleType):
    """PyTorch has a function and a module of this name at one place; this is both."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        """See gradcheck."""
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
