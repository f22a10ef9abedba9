"""opcheck on every op of the table and every in-place form, on all samples it can take."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import library
from adjoint.call import dispatch
from adjoint.dtypes import can_cast
from adjoint.library.trials import TableTrial
from adjoint.ops.inplace import INPLACE, InplaceOp
from adjoint.ops.op import TABLE, Op, general
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import Sample, is_differentiable, map_arrays, samples_of

SCHEMA, RULES, BACKWARD, GRADIENTS = (
    "test_schema",
    "test_autograd_registration",
    "test_aot_dispatch_dynamic",
    "test_gradients",
)

# Why checks can't be run on ops, or would fail with reason: reason → (checks, ops).
EXEMPT: dict[str, tuple[tuple[str, ...], str]] = {
    "its derivative is refused, as PyTorch's is": (
        (BACKWARD, GRADIENTS),
        """floor_divide floor_divide_ heaviside heaviside_ igamma_ igammac_ successes unique_all
        unique_runs path_slopes geqrf ldl_factors ldl_solved solve_adjoint bincount bin_totals
        gamma_slope dirichlet_slope""",
    ),
    "the sampler rejects; its gradient holds a sample where it is in its distribution": (
        (GRADIENTS,),
        "standard_gamma standard_dirichlet",
    ),
    "it reads one triangle; its gradient is that of moving inside the Hermitian matrices": (
        (GRADIENTS,),
        "cholesky_lower cholesky_lower_ex linalg_eigh eigenpairs pseudo_inverse",
    ),
    "signs, phases and added vectors are arbitrary; its gradient is for what ignores them": (
        (GRADIENTS,),
        "linalg_eig linalg_svd",
    ),
    "its vectors are complex: gradients of weights that see their phases are refused": (
        (BACKWARD,),
        "linalg_eig",
    ),
    "its gradient is 0 by convention, though what is drawn moves with the mean": (
        (GRADIENTS,),
        "normal_from",
    ),
    "its gradient is for logarithms of probabilities, which a random direction leaves": (
        (GRADIENTS,),
        "path_losses",
    ),
    "a step leads out of its domain: some rates are 0": ((GRADIENTS,), "poisson"),
    "it copies between two devices; its samples have only one": ((SCHEMA,), "transfer"),
    "as a gradient it is one number seen at many places, as PyTorch's is": (
        (SCHEMA,),
        "spread_sum",
    ),
}
REASONS = {
    (name, check): reason
    for reason, (checks, names) in EXEMPT.items()
    for name in names.split()
    for check in checks
}
OPS: dict[str, Op | InplaceOp] = {**TABLE, **INPLACE}


def fits_in_place(op: Op, sample: Sample) -> bool:
    """Whether the result of a sample can be written where its first argument is."""
    values = map_arrays(
        lambda a: Tensor(a.copy("K"), AS_IS), op.bind(sample.args, dict(sample.kwargs))
    )
    target = values[0]
    result = dispatch.apply(op, values)
    if not isinstance(target, Tensor) or not isinstance(result, Tensor):
        return False
    return op.view or (can_cast(result.dtype, target.dtype) and result.shape == target.shape)


def outcomes_of(op: Op | InplaceOp) -> dict[str, list[Any]]:
    """What each check says of an op, sample by sample."""
    declared = op.op if isinstance(op, InplaceOp) else op
    samples = samples_of(declared.name)
    if isinstance(op, InplaceOp):
        samples = [s for s in samples if fits_in_place(declared, s)]
    # Where no sample is to be differentiated, a rule says 0 or refuses: that is tried as well.
    always = not any(s.differentiate for s in samples)
    found: dict[str, list[Any]] = {}
    for sample in samples:
        needed = always or sample.differentiate
        args, kwargs = map_arrays(
            lambda a, needed=needed: Tensor(a.copy("K"), AS_IS).requires_grad_(
                needed and is_differentiable(a)
            ),
            (sample.args, sample.kwargs),
        )
        for check, outcome in library.opcheck(op, args, kwargs, raise_exception=False).items():
            found.setdefault(check, []).append(outcome)
    return found


def complaint(op: Op | InplaceOp, check: str, outcomes: list[Any]) -> str:
    """What is wrong with the outcomes of a check; nothing if it passes."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    if errors:
        return f"{check}: {errors[0]!r}"
    declared = op.op if isinstance(op, InplaceOp) else op
    applies = check == SCHEMA or (check != "test_faketensor" and bool(declared.inputs))
    if applies and "SUCCESS" not in outcomes:
        return f"{check} was not run: {outcomes[0]}"
    return ""


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op(name: str) -> None:
    """Every check passes on some samples and fails on none, but for the exempt ones."""
    op = OPS[name]
    with adjoint.random.fork_rng(), np.errstate(all="ignore"):
        adjoint.manual_seed(0)
        found = outcomes_of(op)
    assert set(found) == {SCHEMA, RULES, "test_faketensor", BACKWARD, GRADIENTS}
    for check, outcomes in found.items():
        problem = complaint(op, check, outcomes)
        reason = REASONS.get((name, check))
        if reason is None:
            assert not problem, problem
        else:
            assert problem, f"{check} passes: take {name} off the list of '{reason}'"


def test_exempt_ops_exist() -> None:
    """Nothing is on the list under a name that no op has."""
    assert {name for name, _ in REASONS} <= set(OPS)


# ---- what is found ----


@pytest.fixture(autouse=True)
def table_as_before() -> Iterator[None]:
    """Ops that a test declares are taken out of the table again."""
    before = set(TABLE)
    yield
    for name in set(TABLE) - before:
        del TABLE[name]


def leaf(*values: float) -> Tensor:
    return adjoint.tensor(values, dtype=adjoint.float64, requires_grad=True)


def failure(op: Op | InplaceOp, check: str, *args: Any) -> str:
    """The message of the one check that fails."""
    found = library.opcheck(op, list(args), raise_exception=False)
    assert [name for name, outcome in found.items() if isinstance(outcome, Exception)] == [check]
    return str(found[check])


def test_outcomes() -> None:
    found = library.opcheck(TABLE["mul"], (leaf(1.0, 2.0), leaf(3.0, 4.0)))
    assert found.pop("test_faketensor") == "SKIPPED: an op of the table has no fake function"
    assert set(found.values()) == {"SUCCESS"}
    found = library.opcheck(TABLE["argmax"], (adjoint.tensor([1.0, 2.0]),))
    assert found[RULES] == "SUCCESS"
    assert found[BACKWARD] == "SKIPPED: no argument requires grad"


def test_arguments_stay_as_they_are() -> None:
    x = leaf(1.0, 2.0)
    library.opcheck(INPLACE["mul_"], (x, 3.0))
    assert x.tolist() == [1.0, 2.0]
    assert x.grad is None


def test_a_changed_argument_is_found() -> None:
    @general()
    def greedy(xp: Any, input: Any) -> Any:
        input += 1
        return input * 2

    message = failure(greedy, SCHEMA, adjoint.tensor([1.0]))
    assert "Argument input is not defined as mutable" in message


def test_shared_memory_is_found() -> None:
    @general(input=lambda grad: grad)
    def lazy(xp: Any, input: Any) -> Any:
        return input

    assert "result 0 of lazy shares memory with the argument input" in failure(
        lazy, SCHEMA, leaf(1.0)
    )


def test_a_wrong_rule_is_found() -> None:
    @general(input=lambda grad: grad)
    def doubled(xp: Any, input: Any) -> Any:
        return input * 2

    assert "finite differences" in failure(doubled, GRADIENTS, leaf(1.0))
    assert "finite differences" in failure(InplaceOp(doubled), GRADIENTS, leaf(1.0))


def test_random_numbers_are_the_same_in_every_call() -> None:
    @general(input=lambda grad, hidden: grad * hidden, hides=True)
    def jittered(xp: Any, input: Any) -> Any:
        factor = adjoint.rand(input.shape, dtype=adjoint.float64).array
        return input * factor, factor

    x = leaf(1.0, 2.0)
    assert library.opcheck(jittered, (x,), test_utils=GRADIENTS)[GRADIENTS] == "SUCCESS"


def test_a_broken_rule_is_found() -> None:
    def broken(grad: Any) -> Any:
        raise ArithmeticError("no such thing")

    @general(input=broken)
    def rounded(xp: Any, input: Any) -> Any:
        return xp.round(input)

    with pytest.raises(library.OpCheckError, match=r"opcheck\(rounded, .*no such thing"):
        library.opcheck(rounded, (leaf(1.0),), test_utils=BACKWARD)


@pytest.mark.parametrize(("ruled", "words"), [(True, "a rule .* no result"), (False, "no rule")])
def test_a_history_that_contradicts_the_rules_is_found(
    monkeypatch: pytest.MonkeyPatch, ruled: bool, words: str
) -> None:
    monkeypatch.setattr(TableTrial, "has_rule", lambda self, name: ruled)
    op = TABLE["bessel_j0" if ruled else "exp"]
    with pytest.raises(library.OpCheckError, match=words):
        library.opcheck(op, (leaf(1.0),), test_utils=RULES)


def test_an_inplace_form_that_answers_something_else_is_found() -> None:
    class Elsewhere(InplaceOp):
        def run(self, values: list[Any]) -> Any:
            return super().run(values).clone()

    message = failure(Elsewhere(TABLE["exp"]), SCHEMA, leaf(1.0))
    assert message == "exp_ does not answer the tensor that it changes"


def test_a_function_made_of_ops_is_refused() -> None:
    with pytest.raises(ValueError, match="functions made of ops can't"):
        library.opcheck(adjoint.flatten, (leaf(1.0),))


def test_results_without_dimensions_are_their_own() -> None:
    """What has nothing to do for a single number still answers a copy."""
    for name in ("cumsum", "cumprod", "logcumsumexp", "softmax", "log_softmax"):
        x = adjoint.tensor(1.0)
        getattr(x, name)(0).add_(1)
        assert x.item() == 1.0, name
    for name in ("cummax", "cummin", "sort", "median", "max", "min", "mode"):
        x = adjoint.tensor(1.0)
        getattr(x, name)(0).values.add_(1)
        assert x.item() == 1.0, name
    x = adjoint.tensor([1.0])
    x.diff(n=0).add_(1)
    assert x.tolist() == [1.0]
