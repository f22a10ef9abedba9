"""Every op and composite of the tables, on every sample, in every way a declaration allows."""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adjoint.autograd.entry_points import grad
from adjoint.autograd.forward_rules import jvp
from adjoint.call import dispatch
from adjoint.call.record import inputs_to_keep
from adjoint.dtypes import dtype
from adjoint.ops.arranging.shape import expand
from adjoint.ops.declaration import DECLARED
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import TABLE, Op
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import AS_IS, Tensor, plain
from adjoint.testing import (
    Sample,
    all_functions,
    as_array,
    assert_close,
    check_second_order,
    check_vjp,
    direction_like,
    draw,
    flatten,
    function_of,
    generator,
    is_differentiable,
    map_arrays,
    numeric_jvp,
    open_call,
    samples_of,
    takes_only_tensors,
)

every_function = pytest.mark.parametrize("name", all_functions())
every_op = pytest.mark.parametrize("name", sorted(TABLE))
every_inplace = pytest.mark.parametrize("name", sorted(INPLACE))
every_elementwise = pytest.mark.parametrize(
    "name", [name for name in sorted(TABLE) if takes_only_tensors(TABLE[name])]
)

# Their results follow from strides, so other strides give another result or an error.
READS_STRIDES = {
    "as_strided",
    "as_strided_",
    "as_strided_copy",
    "as_strided_scatter",
    "view",
    "view_as",
    "view_as_complex",
    "view_as_complex_copy",
    "view_dtype",
    "view_shape",
}

# Where PyTorch keeps a function that is not torch.<name>, in the order of looking.
NAMESPACES = ("", "special", "nn.functional", "linalg", "fft", "Tensor")


class Case:
    """One sample of a function; as a context it names the sample in whatever is raised inside."""

    def __init__(self, name: str, number: int, sample: Sample) -> None:
        self.name = name
        self.sample = sample
        self.call, self.arrays = open_call(function_of(name), sample)
        shown = [described(a) for a in sample.args]
        shown += [f"{k}={described(v)}" for k, v in sample.kwargs.items()]
        self.label = f"{name}({', '.join(shown)}) [sample {number}]"

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(f"in {self.label}")

    def leaves(self) -> list[Tensor]:
        """Fresh tensors of the differentiable arrays."""
        return [Tensor(a.copy("K"), AS_IS).requires_grad_() for a in self.arrays]


def described(value: Any) -> str:
    """An argument of a sample, short enough for a failure's last line."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(described(v) for v in value)})"
    return repr(value)


def cases(name: str) -> Iterator[Case]:
    """All samples of a function."""
    for number, sample in enumerate(samples_of(name)):
        yield Case(name, number, sample)


def differentiable_cases(name: str) -> Iterator[Case]:
    """Those whose derivative is defined and unique."""
    for case in cases(name):
        if case.sample.differentiate and case.sample.compare_values:
            yield case


def expect(actual: Any, expected: Any, tolerance: float) -> None:
    """Equality up to a tolerance, which is wider in single precision."""
    if as_array(expected).dtype in (np.float16, np.float32, np.complex64):
        tolerance = max(tolerance, 2e-5)
    assert_close(actual, expected, tolerance, tolerance * 0.1)


def gradients(
    outputs: list[Any], leaves: list[Tensor], label: str, create_graph: bool = False
) -> list[Any]:
    """The gradients of one random projection of all outputs that have any; zeros for None."""
    rng = generator(label)
    live = [o for o in outputs if isinstance(o, Tensor) and o.requires_grad]
    if not live or not leaves:
        return []
    weights = [Tensor(direction_like(rng, o.array), AS_IS) for o in live]
    found = grad(live, leaves, weights, create_graph=create_graph, allow_unused=True)
    return [
        np.zeros_like(leaf.array) if g is None else as_array(g) for g, leaf in zip(found, leaves)
    ]


def test_every_op_has_samples() -> None:
    """Nothing enters the tables untested."""
    assert [name for name in all_functions() if not samples_of(name)] == []


# ---- against PyTorch ----


def counterpart(torch: Any, name: str, sample: Sample) -> Any:
    """PyTorch's function for a sample; the test is skipped for one that PyTorch does not have."""
    if callable(sample.torch):
        return sample.torch
    paths = [sample.torch] if sample.torch else [f"{n}.{name}".strip(".") for n in NAMESPACES]
    for path in paths:
        found: Any = torch
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    assert not sample.torch, f"PyTorch has no {sample.torch}, which a sample of {name} names"
    pytest.skip(f"PyTorch has no {name}; if it has another name, say so in Sample(torch=...)")


def translated(torch: Any, value: Any) -> Any:
    """An argument, with PyTorch's data types for ours."""
    return getattr(torch, value.name) if isinstance(value, dtype) else value


def oracle(torch: Any, name: str, sample: Sample) -> Any:
    """A sample as a call of PyTorch, a function of the differentiable arrays alone."""
    function = counterpart(torch, name, sample)

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {k: translated(torch, v) for k, v in kwargs.items()}
        return function(*[translated(torch, a) for a in args], **named)

    return open_call(call, sample, torch.tensor)[0]


def oracle_array(value: Any) -> Any:
    """A tensor of PyTorch as a NumPy array."""
    return value.detach().numpy(force=True)


def single(array: Any) -> Any:
    """A differentiable array in single precision."""
    return array.astype(np.complex64 if array.dtype.kind == "c" else np.float32)


def double(array: Any) -> Any:
    """A differentiable array in double precision, which finite differences need."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


@every_function
@pytest.mark.parametrize("precision", ["double", "single"])
def test_forward(torch: Any, name: str, precision: str) -> None:
    """Values, data types, shapes and requires_grad are PyTorch's; float32 stays float32."""
    beyond = any(case.sample.beyond_torch for case in cases(name))
    for case in cases(name):
        with case:
            sample = case.sample
            arrays = case.arrays if precision == "double" else [single(a) for a in case.arrays]
            theirs = oracle(torch, name, sample)
            wanted = sample.differentiate
            leaves = [Tensor(a.copy("K"), AS_IS).requires_grad_(wanted) for a in arrays]
            try:
                expected = theirs(*[torch.tensor(a).requires_grad_(wanted) for a in arrays])
            except RuntimeError:
                assert precision == "single"  # what takes double precision alone, float_power_
                with pytest.raises(RuntimeError):
                    case.call(*leaves)
                continue
            ours = case.call(*leaves)
            assert len(ours) == len(flatten(expected))
            for a, b in zip(ours, flatten(expected), strict=True):
                if not isinstance(b, torch.Tensor):
                    assert a == b
                    continue
                value = oracle_array(b)
                assert a.array.dtype == value.dtype, f"{a.array.dtype}, expected {value.dtype}"
                assert a.array.shape == value.shape, f"{a.array.shape}, expected {value.shape}"
                needed = b.requires_grad or (beyond and wanted)
                assert a.requires_grad == needed, f"requires_grad, not {needed}"
                if sample.compare_values and precision == "double":
                    expect(a, value, 1e-6)


@every_function
def test_gradient(torch: Any, name: str) -> None:
    """First-order gradients are PyTorch's."""
    for case in differentiable_cases(name):
        with case:
            theirs = oracle(torch, name, case.sample)
            leaves = case.leaves()
            twins = [torch.tensor(a).requires_grad_() for a in case.arrays]
            outputs, expected = case.call(*leaves), theirs(*twins)
            live = [t for t in expected if isinstance(t, torch.Tensor) and t.requires_grad]
            if not live:
                continue
            ours = gradients(outputs, leaves, case.label)
            rng = generator(case.label)
            weights = [torch.tensor(direction_like(rng, oracle_array(t))) for t in live]
            found = torch.autograd.grad(live, twins, weights, allow_unused=True)
            for a, b, twin in zip(ours, found, twins, strict=True):
                expect(a, oracle_array(torch.zeros_like(twin) if b is None else b), 1e-6)


def mixtures(name: str) -> list[tuple[Any, ...]]:
    """Arguments of an elementwise op that need type promotion."""
    op, rng = TABLE[name], generator(name)

    def of(kind: Any, *shape: int) -> Any:
        return np.asarray(np.ceil(draw(rng, shape, op.domain))).astype(kind)

    if op.required == 1:
        return [(of(k, 2),) for k in (bool, np.uint8, np.int32, np.int64, np.float32, np.float16)]
    rest = op.required - 2
    pairs: list[tuple[Any, Any]] = [
        (of(np.float32, 2), of(np.float64, 2)),
        (of(np.float32, 2), of(np.float64)),
        (of(np.float64), of(np.float32, 2)),
        (of(np.int64, 2), of(np.float32)),
        (of(np.int64), of(np.float32, 2)),
        (of(np.int32, 2), of(np.int64, 2)),
        (of(np.int32, 2), of(np.int64)),
        (of(bool, 2), of(bool, 2)),
        (of(np.uint8, 2), of(np.int8, 2)),
        (of(np.complex64, 2), of(np.float64, 2)),
        (of(np.float32, 2), of(np.complex128)),
        (of(np.float32, 2), 1),
        (of(np.int64, 2), 1.5),
        (of(np.int32, 2), True),
        (of(np.float16, 2), 1.5),
        (1.5, of(np.int64, 2)),
    ]
    return [(a, b, *[b] * rest) for a, b in pairs]


@every_elementwise
def test_promotion(torch: Any, name: str) -> None:
    """Where PyTorch accepts a mixture of data types, the result's data type is PyTorch's."""
    path = next((s.torch for s in samples_of(name) if s.torch is not None), None)
    if callable(path):
        path = None
    for number, args in enumerate(mixtures(name)):
        sample = Sample(args, torch=path)
        function = counterpart(torch, name, sample)
        try:
            expected = function(*map_arrays(torch.tensor, args))
        except (TypeError, RuntimeError, NotImplementedError):
            continue
        with Case(name, number, sample), np.errstate(all="ignore"):
            result = function_of(name)(*map_arrays(plain, args))
            for a, b in zip(flatten(result), flatten(expected), strict=True):
                assert a.dtype.name == str(b.dtype).removeprefix("torch.")


# ---- against finite differences ----


@every_function
def test_rules(name: str) -> None:
    """The gradient agrees with finite differences."""
    for case in differentiable_cases(name):
        with case:
            check_vjp(case.call, [double(a) for a in case.arrays])


@every_function
def test_second_order(name: str) -> None:
    """The gradient of the gradient agrees with finite differences of the gradient."""
    for case in differentiable_cases(name):
        if case.sample.second_order:
            with case:
                check_second_order(case.call, [double(a) for a in case.arrays])


def tangent_of(rng: np.random.Generator, value: Any) -> Any:
    """A random direction for each differentiable array of an argument; None without any."""
    if isinstance(value, (tuple, list)):
        found = [tangent_of(rng, element) for element in value]
        return None if all(t is None for t in found) else found
    if isinstance(value, np.ndarray) and is_differentiable(value):
        return direction_like(rng, double(value))
    return None


@every_op
def test_jvp(name: str) -> None:
    """The forward derivative that follows from the family agrees with finite differences."""
    op = TABLE[name]
    for case in differentiable_cases(name):
        with case:
            rng = generator(case.label)
            bound = op.bind(case.sample.args, dict(case.sample.kwargs))
            bound = map_arrays(lambda a: double(a) if is_differentiable(a) else a, bound)
            tangents = [tangent_of(rng, value) for value in bound]
            directions: list[Any] = []
            for i, tangent in enumerate(tangents):
                flat = [t for t in flatten(tangent) if t is not None]
                directions += flat if i in op.inputs else [np.zeros_like(t) for t in flat]
                if i not in op.inputs:
                    tangents[i] = None
            if all(t is None for t in tangents):
                continue
            call, arrays = open_call(lambda *v: dispatch.apply(op, list(v)), Sample(tuple(bound)))
            changes = numeric_jvp(call, arrays, directions)
            if changes is None:
                continue
            args = map_arrays(lambda a: Tensor(a.copy("K"), AS_IS), bound)
            pushed = flatten(jvp(op, args, map_arrays(plain, tangents)))
            for ours, theirs in zip(pushed, changes, strict=True):
                if theirs is not None:
                    ours = np.zeros_like(theirs) if ours is None else ours
                    size = max(1.0, float(np.abs(theirs).max(initial=0)))
                    assert_close(ours, theirs, 1e-5, 1e-6 * size)


# ---- one path against another ----


def promotes_nothing(op: Op, bound: list[Any]) -> bool:
    """Whether NumPy's promotion, which raw arrays get, can't differ from PyTorch's."""
    mixed = [value for i in op.promotes for value in flatten(bound[i])]
    kinds = {value.dtype for value in mixed if isinstance(value, np.ndarray)}
    numbers = any(isinstance(value, (bool, int, float, complex)) for value in mixed)
    floating = all(kind.kind in "fc" for kind in kinds)
    return len(kinds) <= 1 and (floating or not (op.floats or numbers))


@every_op
def test_raw_arrays(name: str) -> None:
    """An op called on arrays, as rules do, answers arrays with the values Tensors give."""
    op = TABLE[name]
    for case in cases(name):
        bound = op.bind(case.sample.args, dict(case.sample.kwargs))
        if not case.sample.compare_values or not promotes_nothing(op, bound):
            continue
        with case:
            expected = case.call(*[Tensor(a, AS_IS) for a in case.arrays])
            raw = flatten(dispatch.apply(op, map_arrays(lambda a: a.copy("K"), bound)))
            for a, b in zip(raw, expected, strict=True):
                assert not isinstance(a, Tensor)
                if isinstance(b, Tensor):
                    expect(a, b, 1e-12)


@every_function
def test_both_worlds_of_a_rule(name: str) -> None:
    """Gradients on raw arrays and on Tensors are equal, up to how each promotes integers."""
    for case in differentiable_cases(name):
        with case:
            leaves = case.leaves()
            plain = gradients(case.call(*leaves), leaves, case.label)
            recorded = gradients(case.call(*leaves), leaves, case.label, create_graph=True)
            for a, b in zip(plain, recorded, strict=True):
                expect(a, b, 1e-6)


def spaced(array: Any) -> Any:
    """The same values at every other place of memory."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array


def turned(array: Any) -> Any:
    """The same values with the first dimension innermost."""
    return np.array(array, order="F")


@every_function
@pytest.mark.parametrize("layout", [spaced, turned])
def test_layouts(name: str, layout: Any) -> None:
    """Memory that is not contiguous gives the same values and gradients."""
    if name in READS_STRIDES:
        pytest.skip("its result follows from strides")
    for case in cases(name):
        if not case.sample.compare_values:
            continue
        with case:
            wanted = case.sample.differentiate
            leaves = [Tensor(a.copy(), AS_IS).requires_grad_(wanted) for a in case.arrays]
            others = [Tensor(layout(a), AS_IS).requires_grad_(wanted) for a in case.arrays]
            expected, outputs = case.call(*leaves), case.call(*others)
            for a, b in zip(outputs, expected, strict=True):
                if isinstance(b, Tensor):
                    expect(a, b, 1e-9)
            if wanted:
                found = gradients(outputs, others, case.label)
                for a, b in zip(found, gradients(expected, leaves, case.label), strict=True):
                    expect(a, b, 1e-9)


# ---- in place ----


def inplace_cases(name: str) -> Iterator[tuple[Case, list[Any]]]:
    """The samples of an in-place form with their arguments, the target being an array."""
    op = INPLACE[name].op
    for case in cases(op.name):
        bound = op.bind(case.sample.args, dict(case.sample.kwargs))
        if isinstance(bound[0], np.ndarray) and case.sample.compare_values:
            yield case, bound


@every_inplace
def test_inplace(name: str) -> None:
    """The in-place form gives the values and gradients of the other."""
    inplace = INPLACE[name]
    for case, bound in inplace_cases(name):
        with case:
            needed = case.sample.differentiate and is_differentiable(bound[0])
            first, second = (map_arrays(lambda a: Tensor(a.copy(), AS_IS), bound) for _ in range(2))
            leaves = [first[0].requires_grad_(needed), second[0].requires_grad_(needed)]
            first[0], second[0] = (leaf * 1 for leaf in leaves)
            expected = dispatch.apply(inplace.op, first)
            target = second[0]
            if target.dtype is not leaves[0].dtype or isinstance(expected, tuple):
                continue
            if (expected.dtype, expected.shape) != (target.dtype, target.shape):
                continue
            version = target._version
            assert call_inplace(inplace, second) is target
            assert target._version == version + 1
            expect(target, expected, 1e-12)
            if expected.requires_grad:
                a = gradients([target], leaves[1:], case.label)
                b = gradients([expected], leaves[:1], case.label)
                expect(a[0], b[0], 1e-12)


@every_inplace
def test_inplace_against_torch(torch: Any, name: str) -> None:
    """PyTorch has every in-place method that ours have, with the same values and refusals."""
    inplace = INPLACE[name]
    if not DECLARED[inplace.op.name].method:
        pytest.skip(f"{name} is no method")
    if not hasattr(torch.Tensor, name):
        assert not hasattr(torch.Tensor, name[:-1]), f"declare {name[:-1]} with inplace=False"
        pytest.skip(f"PyTorch has no {name[:-1]}")
    for case, bound in inplace_cases(name):
        with case:
            target = torch.tensor(bound[0])
            theirs: Any = None
            try:
                given = map_arrays(torch.tensor, (case.sample.args[1:], case.sample.kwargs))
                named = {k: translated(torch, v) for k, v in given[1].items()}
                getattr(target, name)(*[translated(torch, a) for a in given[0]], **named)
            except RuntimeError as error:
                theirs = error
            values = map_arrays(lambda a: Tensor(a.copy(), AS_IS), bound)
            if tuple(target.shape) != bound[0].shape:
                continue  # PyTorch gave it another shape, which is no in-place change
            if theirs is None:
                call_inplace(inplace, values)
                expect(values[0], oracle_array(target), 1e-6)
            else:
                with pytest.raises(RuntimeError):
                    call_inplace(inplace, values)


def call_inplace(inplace: Any, values: list[Any]) -> Any:
    """An in-place form, called with arguments in the order of the parameters."""
    op = inplace.op
    if op.star >= 0:
        return inplace(*values[: op.star], *values[op.star])
    named = dict(zip(op.parameters[op.positional :], values[op.positional :]))
    return inplace(*values[: op.positional], **named)


@every_inplace
def test_inplace_refusals(name: str) -> None:
    """No in-place form changes a leaf that requires grad, or memory that several elements share."""
    inplace = INPLACE[name]
    for case, bound in inplace_cases(name):
        if not bound[0].size:
            continue
        with case:
            values = map_arrays(lambda a: Tensor(a.copy(), AS_IS), bound)
            if is_differentiable(bound[0]):
                values[0].requires_grad_()
                with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
                    call_inplace(inplace, values)
                expect(values[0], bound[0], 0)
                values[0].requires_grad_(False)
            if inplace.op.view or inplace.op.rewrites:
                continue  # it writes nothing, or warns (tests/test_views.py)
            values[0] = expand(values[0], (2, *bound[0].shape))
            if inplace.op.constant and not any(isinstance(v, Tensor) for v in values[1:]):
                # The same number twice is no harm.
                call_inplace(inplace, values)
                continue
            with pytest.raises(RuntimeError):
                call_inplace(inplace, values)
        return


# ---- what is kept for backward ----


def names_in_rules(op: Op, wanted: list[bool]) -> set[str]:
    """The parameter names of the rules that will run."""
    rules = [rule for rule, active in zip(op.rules, wanted) if active] + [op.joint]
    codes = [inspect.unwrap(rule.function).__code__ for rule in rules if rule is not None]
    return {name for code in codes for name in code.co_varnames[: code.co_argcount]}


@every_op
def test_saved(name: str) -> None:
    """A node keeps the tensors that its active rules name, and nothing else."""
    op = TABLE[name]
    for case in differentiable_cases(name):
        bound = op.bind(case.sample.args, dict(case.sample.kwargs))
        floating = [
            i
            for i in op.inputs
            if any(isinstance(v, np.ndarray) and is_differentiable(v) for v in flatten(bound[i]))
        ]
        for active in [floating, *[[i] for i in floating if len(floating) > 1]]:
            with case:
                values = map_arrays(plain, bound)
                for i in active:
                    for tensor in flatten(values[i]):
                        if isinstance(tensor, Tensor) and is_differentiable(tensor.array):
                            tensor.requires_grad_()
                results = flatten(call_bound(op, values))
                nodes = [r.node for r in results if r.node is not None]
                foreseen = inputs_to_keep(op, values)
                if not nodes:
                    assert not foreseen, "keeps arguments only if it is recorded"
                    continue
                named = names_in_rules(op, [i in active for i in op.inputs])
                for i, value in enumerate(values):
                    if any(isinstance(v, Tensor) for v in flatten(value)):
                        kept = bool(kept_tensors(nodes[0], i))
                        assert kept == (op.parameters[i] in named), (
                            f"keeps {op.parameters[i]}: {kept}"
                        )
                if foreseen is not None:
                    kept = [t for i, v in enumerate(values) for t in kept_tensors(nodes[0], i)]
                    assert [id(t) for t in kept] == [id(t) for t in foreseen], "foreseen"
                keeps_result = any(n.startswith("result") for n in named)
                assert (nodes[0].result is not None) == keeps_result, "keeps the result"


def call_bound(op: Op, values: list[Any]) -> Any:
    """An op called with all its arguments, by the short path where that is what users get."""
    if op.lane in (dispatch.UNARY, dispatch.BINARY) and all(
        a is b for a, b in zip(values[op.required :], op.defaults[op.required :])
    ):
        return op(*values[: op.required])
    return dispatch.apply(op, values)


def kept_tensors(node: Any, index: int) -> list[Any]:
    """What a node holds of the tensors given for a parameter."""
    kept = node.kept(index)
    return [value for value in flatten(kept) if isinstance(value, TensorCore)]
