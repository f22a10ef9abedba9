"""Whether an op keeps its promises: what it changes, shares, fakes and differentiates."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from adjoint.autograd import entry_points
from adjoint.autograd.function_node import FunctionNode
from adjoint.call.arguments import tensors_in
from adjoint.creation.factories import empty_like, randn
from adjoint.dtypes import FLOAT, complex128, float64
from adjoint.library.custom_op import GENERAL, CustomOpDef, results_of, shared
from adjoint.library.fake import FakeImplCtx
from adjoint.library.trials import (
    CustomTrial,
    TableTrial,
    Trial,
    apart,
    fresh,
    replaced,
    trial_of,
)
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import Op
from adjoint.random import fork_rng, get_rng_state, set_rng_state
from adjoint.tensors.tensor import Tensor

DOUBLES = (float64, complex128)
STEP = 1e-6
TOLERANCE = 1e-4
KINK = 1e-4  # slopes to both sides that differ by more are no rounding error and no curvature
JUMP = 1e4  # a slope beyond this is no slope


class OpCheckError(Exception):
    """An op does not keep its promises."""


class NotApplicable(Exception):  # noqa: N818  # it is an outcome, no error
    """A check has nothing to look at in an op of the table; the message says why."""


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors hold the same values, NaN being equal to itself."""
    return bool(((a == b) | ((a != a) & (b != b))).all())  # noqa: PLR0124  # only NaN differs


def check_schema(trial: Trial) -> None:
    """The op changes just what its schema says, and its results are its own."""
    bound = trial.bind(*trial.copies(apart))
    before = replaced(apart, bound)
    versions = [t.version() for t in tensors_in(list(bound.values()))]
    output = trial.compute(bound)
    at = 0
    for name, new in bound.items():
        for a, b in zip(tensors_in([before[name]]), tensors_in([new])):
            changed = b.version() != versions[at] or not same(a, b)
            at += 1
            if changed and name not in trial.mutated:
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
    check_results(trial, bound, output)


def check_results(trial: Trial, bound: dict[str, Any], output: Any) -> None:
    """An in-place form answers what it changed; other results that are no views are new memory."""
    if isinstance(trial, TableTrial) and trial.inplace:
        if output is not next(iter(bound.values())):
            raise RuntimeError(f"{trial.title} does not answer the tensor that it changes")
        return
    if trial.declared.view:
        return
    for number, result in enumerate(results_of(output)):
        for name, value in bound.items():
            if any(shared(result, tensor) for tensor in tensors_in([value])):
                raise RuntimeError(
                    f"result {number} of {trial.title} shares memory with the argument {name}, and "
                    "the op is not declared as a view, by view=True or in its schema"
                )


def check_registration(trial: Trial) -> None:
    """The derivative is the registered formula, not whatever the kernel happens to record."""
    op = trial.op if isinstance(trial, CustomTrial) else None
    if not trial.differentiable() or (op is not None and op.has_history_of_its_own()):
        return
    for result in results_of(trial.call(*trial.copies(fresh))):
        known = op is None or not op.composite  # then a formula that refuses is in its place
        if result.requires_grad and not (known and isinstance(result.grad_fn, FunctionNode)):
            raise RuntimeError(
                f"{trial.title} has no autograd formula: its results have the history of the "
                "ops in its kernel. Register one, or make it a plain function."
            )


def check_rules(trial: TableTrial) -> None:
    """A result requires grad if, and only if, a parameter with a rule does."""
    tried = False
    for name in trial.declared.parameters:
        args, kwargs = trial.copies(apart)
        needed = [t for t in tensors_in([trial.bind(args, kwargs)[name]]) if continuous(t)]
        for tensor in needed:
            tensor.requires_grad_()
        if not needed:
            continue
        tried = True
        results = results_of(trial.call(args, kwargs))
        found = any(r.requires_grad for r in results)
        # What an in-place form changes goes on requiring grad, if only to answer zeros.
        wanted = trial.has_rule(name) or name in trial.mutated
        if found != (wanted and any(map(continuous, results))):
            raise RuntimeError(
                f"{trial.title} has {'a' if trial.has_rule(name) else 'no'} rule for {name}, but "
                f"{'some' if found else 'no'} result requires grad when {name} does"
            )
    if not tried:
        raise NotApplicable("no argument could require grad")


def continuous(tensor: Tensor) -> bool:
    """Whether a tensor holds numbers that may have a derivative."""
    return tensor.dtype.category >= FLOAT


def fake_of(op: CustomOpDef) -> Any:
    """The fake function of an op; None if it needs none: it answers nothing, or is made of ops."""
    fake = op.registered.fake
    if fake is None and op.schema.returns and not op.registered.keys & GENERAL:
        raise RuntimeError(f"{op.name} has no fake impl; give it one with register_fake")
    return fake


def check_fake(trial: CustomTrial) -> None:
    """The fake function answers results of the shape and type of the real ones."""
    fake = fake_of(trial.op)
    if fake is None:
        return
    real = results_of(trial.compute(trial.bind(*trial.copies(apart))))
    args, kwargs = trial.copies(lambda t: empty_like(t.detach()))
    arguments, keywords = trial.op.spelled(trial.op.bind(args, kwargs))
    with FakeImplCtx() as sizes:
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


def check_no_fake(trial: TableTrial) -> None:
    """Ops of the table are never faked."""
    raise NotApplicable("an op of the table has no fake function")


def check_backward(trial: Trial) -> None:
    """Backward runs, and answers for every input that requires grad."""
    if not trial.differentiable():
        raise NotApplicable("no argument requires grad")
    args, kwargs = trial.copies(fresh)
    results = [r for r in results_of(trial.call(args, kwargs)) if r.requires_grad]
    inputs = [t for t in tensors_in([*args, *kwargs.values()]) if t.requires_grad]
    if not results:
        raise NotApplicable("no result requires grad")
    ones = [r.detach() * 0 + 1 for r in results]
    entry_points.grad(results, inputs, ones, allow_unused=True)


def check_traced(trial: CustomTrial) -> None:
    """The op can be traced, for which it needs a fake function, and its backward runs."""
    fake_of(trial.op)
    check_backward(trial)


def check_gradients(trial: Trial) -> None:
    """The formula agrees with finite differences, along a random direction, in double precision."""
    args, kwargs = trial.copies(fresh)
    inputs = [t for t in tensors_in([*args, *kwargs.values()]) if t.requires_grad]
    if not trial.differentiable() or any(t.dtype not in DOUBLES for t in inputs):
        raise NotApplicable("finite differences need inputs of doubles that require grad")
    state = get_rng_state()
    results = called_from(state, trial, args, kwargs)
    live = [i for i, r in enumerate(results) if r.requires_grad]
    if not live or any(results[i].dtype not in DOUBLES for i in live):
        raise NotApplicable("finite differences need results of doubles that require grad")
    weights = [randn(results[i].shape, dtype=results[i].dtype) for i in live]
    found = entry_points.grad([results[i] for i in live], inputs, weights, allow_unused=True)
    directions = [randn(t.shape, dtype=t.dtype) for t in inputs]
    slope = sum(inner(g, d) for g, d in zip(found, directions) if g is not None)

    def moved(by: float) -> list[Tensor]:
        ways = iter(directions)
        shifted = trial.copies(
            lambda t: t.detach() + by * next(ways) if t.requires_grad else apart(t)
        )
        output = called_from(state, trial, *shifted)
        return [output[i] for i in live]

    behind, ahead = moved(-STEP), moved(STEP)
    measured = sum(inner(b - a, w) for a, b, w in zip(behind, ahead, weights)) / (2 * STEP)
    if not math.isfinite(measured):
        raise NotApplicable("there are no finite differences of infinities and NaN")
    if abs(measured - slope) <= TOLERANCE * max(1.0, abs(measured), abs(slope)):
        return
    if isinstance(trial, TableTrial) and not all(map(smooth, behind, moved(0.0), ahead)):
        raise NotApplicable("at a kink, a pole or an edge of the domain a gradient is a convention")
    raise RuntimeError(
        f"the formula of {trial.title} says {slope:.8g} along a random direction, finite "
        f"differences say {measured:.8g}"
    )


def smooth(behind: Any, here: Any, ahead: Any) -> bool:
    """Whether the changes to both sides look like one slope: no jump and no kink."""
    before, after = (here - behind) / STEP, (ahead - here) / STEP
    steep = before.abs().maximum(after.abs())
    return bool(((steep < JUMP) & ((after - before).abs() < KINK * (1 + steep))).all())


def inner(a: Any, b: Any) -> float:
    """The real inner product, under which a gradient is the adjoint of a derivative."""
    return float((a.conj() * b).sum().real)


def called_from(
    state: Tensor, trial: Trial, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Tensor]:
    """The results of a call whose random numbers follow from a state of the generator."""
    with fork_rng():
        set_rng_state(state)
        return results_of(trial.call(args, kwargs))


CHECKS: dict[str, Callable[[Any], None]] = {
    "test_schema": check_schema,
    "test_autograd_registration": check_registration,
    "test_faketensor": check_fake,
    "test_aot_dispatch_dynamic": check_traced,
    "test_gradients": check_gradients,
}
TABLE_CHECKS: dict[str, Callable[[Any], None]] = {
    **CHECKS,
    "test_autograd_registration": check_rules,
    "test_faketensor": check_no_fake,
    "test_aot_dispatch_dynamic": check_backward,
}


def opcheck(
    op: CustomOpDef | Op | InplaceOp,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(CHECKS),
    raise_exception: bool = True,
) -> dict[str, Any]:
    """Try an op on arguments; the outcome of each check is "SUCCESS" or the exception.

    Ops of the table and their in-place forms are taken too. What can't be checked of one of them
    has the outcome "SKIPPED: " and the reason; for a custom op that counts as success.
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(f"opcheck: test_utils must be among {tuple(CHECKS)}, got {unknown}")
    trial = trial_of(op, tuple(args), kwargs or {})
    checks = TABLE_CHECKS if isinstance(trial, TableTrial) else CHECKS
    outcomes: dict[str, Any] = {}
    for name in names:
        try:
            checks[name](trial)
        except NotApplicable as reason:
            outcomes[name] = f"SKIPPED: {reason}" if checks is TABLE_CHECKS else "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck({trial.title}, ...): {name} failed with {error}"
                ) from error
            outcomes[name] = error
        else:
            outcomes[name] = "SUCCESS"
    return outcomes
