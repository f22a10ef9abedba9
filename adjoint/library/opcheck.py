"""Whether a custom op keeps its promises: what it changes, shares, fakes and differentiates."""

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.autograd import differentiate
from adjoint.autograd.function_node import FunctionNode
from adjoint.creation import empty_like, randn
from adjoint.dispatch import tensors_in
from adjoint.dtypes import FLOAT, float64
from adjoint.library.custom_op import CustomOpDef
from adjoint.library.fake import fake_mode
from adjoint.pytree import tree_map
from adjoint.tensor import Tensor


class OpCheckError(Exception):
    """A custom op does not keep its promises."""


class Trial:
    """An op with arguments to try it on; each call gets fresh copies."""

    def __init__(self, op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.op = op
        self.args = args
        self.kwargs = kwargs

    def copies(self, change: Callable[[Any], Any]) -> Any:
        """The arguments with each tensor replaced."""

        def each(value: Any) -> Any:
            return change(value) if isinstance(value, Tensor) else value

        return tree_map(each, (self.args, self.kwargs))

    def differentiable(self) -> bool:
        """Whether an argument requires grad."""
        return any(t.requires_grad for t in tensors_in([*self.args, *self.kwargs.values()]))


def fresh(tensor: Any) -> Any:
    """A leaf with the same values."""
    return apart(tensor).requires_grad_(tensor.requires_grad)


def apart(tensor: Any) -> Any:
    """A tensor without history on memory of its own."""
    return tensor.detach().clone()


def results_of(output: Any) -> list[Tensor]:
    """The tensors among the results of an op."""
    return tensors_in(list(output) if isinstance(output, tuple) else [output])


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same values, NaN being equal to itself."""
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124  # only NaN differs


def check_schema(trial: Trial) -> None:
    """The op changes just what its schema says, and its results are its own."""
    args, kwargs = trial.copies(apart)
    arguments, keywords = trial.op.bind(args, kwargs)
    before = tree_map(
        lambda v: apart(v) if isinstance(v, Tensor) else v, (tuple(arguments), keywords)
    )
    versions = [t.version() for t in tensors_in([*arguments, *keywords.values()])]
    trial.op.compute(arguments, keywords)
    names = [a.name for a in trial.op.schema.positional] + list(keywords)
    mutated = trial.op.schema.mutated
    at = 0
    for name, old, new in zip(
        names, [*before[0], *before[1].values()], [*arguments, *keywords.values()]
    ):
        for a, b in zip(tensors_in([old]), tensors_in([new])):
            changed = b.version() != versions[at] or not same(a, b)
            at += 1
            if changed and name not in mutated:
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def check_registration(trial: Trial) -> None:
    """The derivative is the registered formula, not whatever the kernel happens to record."""
    if not trial.differentiable() or trial.op.schema.mutated:
        return
    args, kwargs = trial.copies(fresh)
    for result in results_of(trial.op(*args, **kwargs)):
        if result.requires_grad and not isinstance(result.grad_fn, FunctionNode):
            raise RuntimeError(
                f"{trial.op.qualname} has no autograd formula: its results have the history of the "
                "ops in its kernel. Register one, or make it a plain function."
            )


def check_fake(trial: Trial) -> None:
    """The fake function answers results of the shape and type of the real ones."""
    fake = trial.op.registered.fake
    if fake is None:
        if not trial.op.schema.returns:
            return
        raise RuntimeError(
            f"{trial.op.qualname} has no fake impl; give it one with {trial.op.name}.register_fake"
        )
    args, kwargs = trial.copies(apart)
    real = results_of(trial.op.compute(*trial.op.bind(args, kwargs)))
    args, kwargs = trial.copies(lambda t: empty_like(t.detach()))
    arguments, keywords = trial.op.bind(args, kwargs)
    with fake_mode() as sizes:
        claimed = results_of(fake(*arguments, **keywords))
    if len(claimed) != len(real):
        raise RuntimeError(f"the fake impl answers {len(claimed)} tensors, the op {len(real)}")
    for i, (a, b) in enumerate(zip(claimed, real)):
        fits = len(a.shape) == len(b.shape) and all(map(sizes.fits, a.shape, b.shape))
        if not fits or a.dtype is not b.dtype or a.device != b.device:
            raise RuntimeError(
                f"the fake impl says that result {i} is {a.dtype} of shape {list(a.shape)} on "
                f"{a.device}, but it is {b.dtype} of shape {list(b.shape)} on {b.device}"
            )


def check_backward(trial: Trial) -> None:
    """Backward runs, and answers for every input that requires grad."""
    if not trial.differentiable() or trial.op.schema.mutated:
        return
    args, kwargs = trial.copies(fresh)
    results = [r for r in results_of(trial.op(*args, **kwargs)) if r.requires_grad]
    inputs = [t for t in tensors_in([*args, *kwargs.values()]) if t.requires_grad]
    if results:
        ones = [r.detach() * 0 + 1 for r in results]
        differentiate.grad(results, inputs, ones, allow_unused=True)


def check_gradients(trial: Trial, step: float = 1e-6, tolerance: float = 1e-4) -> None:
    """The formula agrees with finite differences, along a random direction, in double precision."""
    args, kwargs = trial.copies(fresh)
    inputs = [t for t in tensors_in([*args, *kwargs.values()]) if t.requires_grad]
    precise = all(t.dtype is float64 for t in inputs)
    if not inputs or not precise or trial.op.schema.mutated:
        return
    results = [r for r in results_of(trial.op(*args, **kwargs)) if r.requires_grad]
    if not results or any(r.dtype.category != FLOAT for r in results):
        return
    weights = [randn(r.shape, dtype=r.dtype) for r in results]
    found = differentiate.grad(results, inputs, weights, allow_unused=True)
    directions = [randn(t.shape, dtype=t.dtype) for t in inputs]
    slope = sum(float((g * d).sum()) for g, d in zip(found, directions) if g is not None)

    def value(by: float) -> float:
        moved = iter(directions)
        shifted = trial.copies(
            lambda t: t.detach() + by * next(moved) if t.requires_grad else apart(t)
        )
        output = results_of(trial.op(*shifted[0], **shifted[1]))
        kept = [r for r in output if r.dtype.category == FLOAT]
        return sum(float((r * w).sum()) for r, w in zip(kept, weights))

    measured = (value(step) - value(-step)) / (2 * step)
    if abs(measured - slope) > tolerance * max(1.0, abs(measured), abs(slope)):
        raise RuntimeError(
            f"the formula of {trial.op.qualname} says {slope:.8g} along a random direction, finite "
            f"differences say {measured:.8g}"
        )


CHECKS: dict[str, Callable[[Trial], None]] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_registration,
    "test_faketensor": check_fake,
    "test_aot_dispatch_dynamic": check_backward,
    "test_gradients": check_gradients,
}


def opcheck(
    op: CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(CHECKS),
    raise_exception: bool = True,
) -> dict[str, Any]:
    """Try an op on arguments; the outcome of each check is "SUCCESS" or the exception."""
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(f"opcheck: test_utils must be among {tuple(CHECKS)}, got {unknown}")
    if not isinstance(op, CustomOpDef):
        raise ValueError(f"opcheck: op must be a custom op, got {type(op).__name__}")
    outcomes: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS[name](Trial(op, args, kwargs or {}))
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck({op.qualname}, ...): {name} failed with {error}"
                ) from error
            outcomes[name] = error
        else:
            outcomes[name] = "SUCCESS"
    return outcomes
