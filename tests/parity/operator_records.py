"""One record of PyTorch's operator database, called on both sides: what differs, check by check."""

import itertools
import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import adjoint.compat.torch as compat
from tests.parity.operator_ties import settled
from tests.parity.operator_twins import DTYPES, AbsentError, Twins, dense, function_at, twin_of

CHECKED = [kind for kind in DTYPES if kind not in (torch.uint16, torch.uint32, torch.uint64)]
# How far results may be apart: relative to them, and in all.
TOLERANCES = {
    "float16": (4e-3, 4e-3),
    "bfloat16": (3e-2, 3e-2),
    "float32": (1e-4, 2e-5),
    "complex32": (4e-3, 4e-3),
    "complex64": (1e-4, 2e-5),
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
}
FLOAT16_MAX = 65504
SEED = 1234
# Records whose values come from chance, or from memory as it was found.
BY_CHANCE = {
    "bernoulli",
    "cauchy",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "exponential",
    "geometric",
    "log_normal",
    "multinomial",
    "new_empty",
    "new_empty_strided",
    "nn.functional.alpha_dropout",
    "nn.functional.dropout",
    "nn.functional.dropout2d",
    "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d",
    "nn.functional.multi_head_attention_forward",
    "nn.functional.rrelu",
    "normal",
    "pca_lowrank",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "resize_",
    "resize_as_",
    "svd_lowrank",
    "uniform",
}


def name_of(record: Any) -> str:
    """The record with its variant."""
    return f"{record.name}/{record.variant_test_name}".rstrip("/")


# Those that PyTorch itself has on a GPU alone are left out.
RECORDS = {
    name_of(record): record
    for record in op_db
    if not record.name.startswith("jiterator_")
    and not record.supported_dtypes("cpu").isdisjoint(CHECKED)
}


class Difference(Exception):
    """How adjoint's answer differs from PyTorch's."""


class ValueDifference(Difference):
    """A number that differs."""


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """What a call answers, and what it raises."""
    try:
        return function(*args, **kwargs), None
    except AbsentError:
        raise
    except Exception as error:  # any error is an outcome to be compared
        return None, error


def same_outcome(
    theirs: tuple[Any, Any],
    ours: tuple[Any, Any],
    by_chance: bool = False,
    exact: Callable[[], Any] | None = None,
) -> None:
    """Refuse different answers, errors of different classes, and an error on one side alone."""
    if theirs[1] is None and ours[1] is None:
        as_near(theirs[0], ours[0], by_chance, exact)
    elif theirs[1] is None:
        raise Difference(f"refused: {type(ours[1]).__name__}: {ours[1]}")
    elif ours[1] is None:
        raise Difference(f"accepted; PyTorch: {type(theirs[1]).__name__}: {theirs[1]}")
    else:
        same_class(type(theirs[1]), ours[1])


def as_near(
    theirs: Any, ours: Any, by_chance: bool = False, exact: Callable[[], Any] | None = None
) -> None:
    """Refuse answers that differ, unless ours are as near to those of doubles as PyTorch's."""
    try:
        same(theirs, ours, by_chance)
    except ValueDifference:
        wanted, error = (None, True) if exact is None else outcome(exact)
        if error is not None:
            raise
        pairs = zip(tensors_in(theirs), tensors_in(ours), tensors_in(wanted), strict=True)
        for a, b, c in pairs:
            reference = numbers(c)
            if kind_of(a) == "float16":
                reference = np.where(np.abs(reference) > FLOAT16_MAX, np.inf, reference)
            if reference.dtype.kind not in "fc":
                raise
            with np.errstate(all="ignore"):
                errors = [np.abs(numbers(each) - reference) for each in (a, b)]
            relative, absolute = TOLERANCES[kind_of(a)]
            # Several steps, each rounded, in an order of their own: the largest counts for all.
            sizes = np.abs(reference[np.isfinite(reference)])
            margin = 4 * (absolute + relative * sizes.max(initial=0))
            worse = ~(errors[1] <= np.fmax(4 * errors[0], margin)) & np.isfinite(reference)
            worse &= ~(np.isnan(numbers(a)) & np.isnan(numbers(b)))
            if worse.any() or kind_of(a) in ("float64", "complex128"):
                raise


def same_class(wanted: type, error: Exception) -> None:
    """An error of the same class, or of one derived from it; PyTorch's own classes by name."""
    names = {each.__name__ for each in type(error).__mro__}
    if wanted.__name__ not in names:
        raise Difference(f"{type(error).__name__} for {wanted.__name__}: {error}")


def numbers(value: Any) -> Any:
    """A tensor's values in NumPy, exactly."""
    value = value.detach().to_dense()
    if isinstance(value, torch.Tensor):
        plain = dense(value)
        if plain.dtype in (torch.bfloat16, torch.complex32):
            plain = plain.to(torch.complex128 if plain.is_complex() else torch.float64)
        return plain.numpy()
    array = np.asarray(value.detach().array)
    return array.astype({"V": np.float64, "W": np.complex128}.get(array.dtype.kind, array.dtype))


def kind_of(value: Any) -> str:
    """The name of a tensor's data type."""
    return str(value.dtype).rpartition(".")[2]


def same(theirs: Any, ours: Any, by_chance: bool = False) -> None:
    """Refuse answers of another structure, type, shape or value."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, compat.Tensor):
            raise Difference(f"{type(ours).__name__} for a Tensor")
        if kind_of(theirs) != kind_of(ours):
            raise Difference(f"dtype {kind_of(ours)} for {kind_of(theirs)}")
        if tuple(theirs.shape) != tuple(ours.shape):
            raise Difference(f"shape {tuple(ours.shape)} for {tuple(theirs.shape)}")
        if str(theirs.layout) != f"torch.{ours.layout.name}":
            raise Difference(f"layout {ours.layout.name} for {theirs.layout}")
        if not by_chance:
            close(numbers(theirs), numbers(ours), kind_of(theirs))
    elif isinstance(theirs, list | tuple):
        if not isinstance(ours, list | tuple) or len(theirs) != len(ours):
            raise Difference(f"{ours!r:.60} for {theirs!r:.60}")
        for a, b in zip(theirs, ours, strict=True):
            same(a, b, by_chance)
    elif isinstance(theirs, torch.dtype):
        if DTYPES.get(theirs) is not ours:
            raise Difference(f"{ours} for {theirs}")
    elif isinstance(theirs, float | complex) and not by_chance:
        if not isinstance(ours, float | complex):
            raise Difference(f"{ours!r:.60} for {theirs!r:.60}")
        close(np.asarray(theirs), np.asarray(ours), "float32")
    elif theirs is None and isinstance(ours, compat.Tensor) and not np.any(numbers(ours)):
        return  # a gradient that is zero
    elif isinstance(theirs, int | str | None) and not by_chance and theirs != ours:
        raise Difference(f"{ours!r:.60} for {theirs!r:.60}")


def close(theirs: Any, ours: Any, kind: str) -> None:
    """Refuse values that are further apart than the data type allows."""
    relative, absolute = TOLERANCES.get(kind, (0.0, 0.0))
    if theirs.dtype.kind not in "fc":
        right = theirs == ours
    elif theirs.dtype.kind == "c":
        right = near(theirs.real, ours.real, relative, absolute)
        right &= near(theirs.imag, ours.imag, relative, absolute)
        odd = ~np.isfinite(theirs) & ~np.isfinite(ours)  # the parts of infinity are conventions
        right |= odd
        with np.errstate(all="ignore"):
            right |= np.abs(theirs - ours) <= absolute + relative * np.abs(theirs)
    else:
        right = near(theirs, ours, relative, absolute)
    if not right.all():
        at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(right))[0])
        a, b = np.atleast_1d(theirs)[at], np.atleast_1d(ours)[at]
        raise ValueDifference(f"{b} for {a} at {at}, {(~right).sum()} of {right.size}")


def near(theirs: Any, ours: Any, relative: float, absolute: float) -> Any:
    """Which real values agree."""
    return np.isclose(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)


def call(function: Any, sample: Any) -> Any:
    """A function on a sample."""
    return function(sample.input, *sample.args, **sample.kwargs)


class Pair:
    """A sample on both sides."""

    def __init__(self, name: str, sample: Any) -> None:
        twins = Twins()
        self.name = name
        self.theirs = (sample.input, sample.args, sample.kwargs)
        self.ours = twins.of(self.theirs)
        self.process = sample.output_process_fn_grad
        self.twins = twins

    def outcomes(self, theirs: Any, ours: Any, *out: Any) -> tuple[Any, Any]:
        """What two functions do with it, each with its out= if there is one."""
        answers = []
        for i, (function, (first, rest, named), process) in enumerate(
            [(theirs, self.theirs, self.process), (ours, self.ours, twin_of(self.process))]
        ):
            keywords = {**named, "out": out[i]} if out else named
            answer, error = outcome(function, first, *rest, **keywords)
            answers.append((answer, error) if error is not None else outcome(process, answer))
        if answers[0][1] is None and answers[1][1] is None:
            answers[0] = (settled(self.name, self.theirs, answers[0][0], answers[1][0]), None)
        return answers[0], answers[1]


class Findings:
    """What differs in a record, check by check."""

    def __init__(self, record: Any, chosen: slice) -> None:
        self.record = record
        self.chosen = chosen  # of the samples of each data type
        self.found: dict[str, str] = {}

    def note(self, check: str, where: str, error: Exception) -> None:
        """Keep the first difference of a check."""
        self.found.setdefault(check, f"{where}: {error}")

    def attempt(self, check: str, where: str, function: Callable[..., Any], *args: Any) -> None:
        """One comparison."""
        try:
            function(*args)
        except AbsentError as error:
            self.note("missing", where, error)
        except Difference as error:
            self.note(check, where, error)


class Trial(Findings):
    """A record: its functions on both sides, and what differs."""

    def __init__(self, record: Any, chosen: slice) -> None:
        super().__init__(record, chosen)
        self.name = name_of(record)
        self.by_chance = record.name in BY_CHANCE

    def drawn(self, sample: Any) -> bool:
        """Whether values come from chance: by the nature of the record, or by dropout."""
        return self.record.name in BY_CHANCE or sample.kwargs.get("dropout_p", 0.0) > 0

    def run(self) -> dict[str, str]:
        """All checks of all data types."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.ours = self.twin()
            except AbsentError as error:
                self.note("missing", "", error)
                return self.found
            kinds = self.record.supported_dtypes("cpu")
            for kind in CHECKED:
                if kind in kinds:
                    self.values(kind)
            for kind in CHECKED:
                if kind in self.record.supported_backward_dtypes("cpu"):
                    self.derivatives(kind)
            if not self.chosen.start:  # else they were tried with the first samples
                self.refusals()
        return self.found

    def twin(self) -> Any:
        """adjoint's function."""
        theirs: Any = torch
        path = self.record.name.removeprefix("torch.")
        for part in path.split("."):
            theirs = getattr(theirs, part, None)
        if theirs is self.record.op:
            return function_at(path)
        return twin_of(self.record.op)

    def samples(self, kind: Any, requires_grad: bool) -> Iterator[tuple[int, Any]]:
        """Some samples of a data type, the same in every run."""
        seed(0)
        # Not by sample_inputs, which looks for a test in all frames each time.
        drawn = iter(self.record.sample_inputs_func(self.record, "cpu", kind, requires_grad))
        chosen = self.chosen
        return itertools.islice(enumerate(seeded(drawn)), chosen.start, chosen.stop)

    def values(self, kind: Any) -> None:
        """Values of the function, the method, the in-place form and out=."""
        for number, sample in self.samples(kind, requires_grad=False):
            where = f"{kind_of_type(kind)}, sample {number}"
            self.by_chance = self.drawn(sample)
            self.attempt("forward", where, self.forward, sample)
            if self.record.method_variant is not None and isinstance(sample.input, torch.Tensor):
                self.attempt("method", where, self.method, sample)
            if self.record.inplace_variant is not None and isinstance(sample.input, torch.Tensor):
                self.attempt("inplace", where, self.inplace, sample)
            if self.record.supports_out:
                for form in ("same", "empty", "other"):
                    self.attempt("out", f"{where}, {form}", self.out, sample, form)

    def forward(self, sample: Any) -> None:
        """The function."""
        pair = Pair(self.record.name, sample)
        theirs, ours = pair.outcomes(self.record.op, self.ours)
        same_outcome(theirs, ours, self.by_chance, lambda: self.exact(sample))

    def exact(self, sample: Any) -> Any:
        """What PyTorch answers in double precision."""
        wide = sample.transform(widened)
        return sample.output_process_fn_grad(call(self.record.op, wide))

    def method(self, sample: Any) -> None:
        """The method."""
        pair = Pair(self.record.name, sample)
        variant = self.record.method_variant
        theirs, ours = pair.outcomes(variant, twin_of(variant))
        same_outcome(theirs, ours, self.by_chance, lambda: self.exact(sample))

    def inplace(self, sample: Any) -> None:
        """The in-place form, on a copy of the input."""
        copied = type(sample)(sample.input.clone(), args=sample.args, kwargs=sample.kwargs)
        pair = Pair(self.record.name, copied)
        variant = self.record.inplace_variant
        theirs, ours = pair.outcomes(variant, twin_of(variant))
        same_outcome(theirs, ours, self.by_chance, lambda: self.exact(sample))
        if theirs[1] is None:
            as_near(pair.theirs[0], pair.ours[0], self.by_chance, lambda: self.exact(sample))

    def out(self, sample: Any, form: str) -> None:
        """Results written to tensors of the same form, without elements, or of another type."""
        expected, error = outcome(call, self.record.op, sample)
        if error is not None:
            return
        several = isinstance(expected, list | tuple)
        tensors = list(expected) if several else [expected]
        if not all(isinstance(each, torch.Tensor) for each in tensors):
            return
        targets = [prepared(each, form) for each in tensors]
        given = list if isinstance(expected, list) else tuple
        theirs = given(targets) if several else targets[0]
        mine = Twins().of(theirs)
        pair = Pair(self.record.name, sample)
        answer, reply = pair.outcomes(self.record.op, self.ours, theirs, mine)
        same_outcome(answer, reply, self.by_chance, lambda: self.exact(sample))
        if answer[1] is None:
            process = sample.output_process_fn_grad
            written = twin_of(process)(mine)
            wanted = settled(self.record.name, pair.theirs, process(theirs), written)
            as_near(wanted, written, self.by_chance, lambda: self.exact(sample))

    def derivatives(self, kind: Any) -> None:
        """First gradients, and of doubles second ones."""
        for number, sample in self.samples(kind, requires_grad=True):
            where = f"{kind_of_type(kind)}, sample {number}"
            if self.drawn(sample):
                continue
            twice = kind in (torch.float64, torch.complex128) and self.record.supports_gradgrad
            self.attempt("gradient", where, self.gradient, sample, where, twice)

    def gradient(self, sample: Any, where: str, twice: bool) -> None:
        """Gradients of the inputs that ask for one, and those of these."""
        sample = sample.transform(own_leaf)
        pair = Pair(self.record.name, sample)
        theirs, ours = pair.outcomes(self.record.op, self.ours)
        if theirs[1] is not None or ours[1] is not None:
            return  # what forward says
        leaves = list(leaves_of(pair.theirs))
        mine = [pair.twins.tensor(leaf) for leaf in leaves]
        first = [t for t in tensors_in(theirs[0]) if t.requires_grad]
        second = [t for t in tensors_in(ours[0]) if t.requires_grad]
        if [tuple(t.shape) for t in first] != [tuple(t.shape) for t in second]:
            raise Difference(f"{len(second)} results need a gradient for {len(first)}")
        if not first or not leaves:
            return
        seeds = [torch.randn_like(t) for t in first]
        twins = Twins()
        answer = outcome(
            torch.autograd.grad, first, leaves, seeds, allow_unused=True, create_graph=twice
        )
        if answer[1] is not None:
            return  # PyTorch has none
        reply = outcome(
            compat.autograd.grad,
            second,
            mine,
            twins.of(seeds),
            allow_unused=True,
            create_graph=twice,
        )
        same_outcome(answer, reply, exact=lambda: self.exact_gradient(sample, seeds))
        if twice:
            exact = partial(self.exact_second_gradient, sample, seeds)
            self.attempt(
                "second gradient", where, second_gradient, answer[0], reply[0], leaves, mine, exact
            )

    def exact_gradient(self, sample: Any, seeds: list[Any], twice: bool = False) -> Any:
        """The gradient that PyTorch has in double precision."""
        wide = sample.transform(lambda value: kept(value, widened(value)))
        results = tensors_in(sample.output_process_fn_grad(call(self.record.op, wide)))
        weights = [widened(seed) for seed in seeds]
        leaves = list(leaves_of((wide.input, wide.args, wide.kwargs)))
        first = [each for each in results if each.requires_grad]
        found = torch.autograd.grad(first, leaves, weights, allow_unused=True, create_graph=twice)
        return (found, leaves) if twice else found

    def exact_second_gradient(self, sample: Any, seeds: list[Any], others: list[Any]) -> Any:
        """The gradients of those, for others to start with."""
        found, leaves = self.exact_gradient(sample, seeds, twice=True)
        first = [each for each in found if each is not None and each.requires_grad]
        weights = [widened(seed) for seed in others]
        return torch.autograd.grad(first, leaves, weights, allow_unused=True)

    def refusals(self) -> None:
        """Arguments that PyTorch refuses."""
        if self.record.error_inputs_func is None or self.record.name.startswith("__"):
            return  # an operator's method called on a number is refused by Python itself
        seed(0)
        drawn = iter(self.record.error_inputs_func(self.record, "cpu"))
        for number, each in enumerate(seeded(drawn)):
            self.attempt("error", f"error {number}", self.refusal, each)

    def refusal(self, each: Any) -> None:
        """Ours refuses it too, with an error of the same class."""
        try:
            pair = Pair(self.record.name, each.sample_input)
        except AbsentError:
            return  # what can't be made is refused before
        theirs, ours = pair.outcomes(self.record.op, self.ours)
        if theirs[1] is None:
            return
        if ours[1] is None:
            raise Difference(f"accepted; PyTorch: {type(theirs[1]).__name__}: {theirs[1]}"[:300])
        if each.error_type.__name__ not in {c.__name__ for c in type(ours[1]).__mro__}:
            same_class(type(theirs[1]), ours[1])


def second_gradient(
    answer: Any, reply: Any, leaves: list[Any], mine: list[Any], exact: Callable[[Any], Any]
) -> None:
    """Gradients of gradients that have a history."""
    pairs = [
        (a, b) for a, b in zip(answer, reply, strict=True) if a is not None and a.requires_grad
    ]
    if not pairs:
        return
    seeds = [torch.randn_like(a) for a, _ in pairs]
    theirs = outcome(torch.autograd.grad, [a for a, _ in pairs], leaves, seeds, allow_unused=True)
    if theirs[1] is not None:
        return
    known = [(b, seed) for (_, b), seed in zip(pairs, seeds, strict=True) if b.requires_grad]
    ours = ([None] * len(mine), None)  # a gradient without history has no other
    if known:
        sources, weights = zip(*known, strict=True)
        ours = outcome(compat.autograd.grad, sources, mine, Twins().of(weights), allow_unused=True)
    if ours[1] is not None:
        raise Difference(f"refused: {type(ours[1]).__name__}: {ours[1]}")
    for number, (a, b) in enumerate(zip(theirs[0], ours[0], strict=True)):
        if a is None or b is None:  # nothing and zeros are the same here
            left = a if b is None else b
            if left is not None and np.any(numbers(left)):
                raise Difference("None for a gradient" if b is None else "a gradient for None")
        else:
            as_near(a, b, exact=lambda i=number: exact(seeds)[i])


def seed(number: int) -> None:
    """Let all generators that samples ask begin anew."""
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  # PyTorch's samples ask the old generator


def seeded(drawn: Iterator[Any]) -> Iterator[Any]:
    """Each sample from the same seed, as in PyTorch's own tests, however many are drawn."""
    while True:
        seed(SEED)
        try:
            sample = next(drawn)
        except StopIteration:
            return
        yield sample


def kind_of_type(kind: Any) -> str:
    """A data type's name."""
    return str(kind).removeprefix("torch.")


def widened(value: Any) -> Any:
    """A tensor or a data type in double precision, if it is floating or complex."""
    kind = value if isinstance(value, torch.dtype) else value.dtype
    if kind.is_floating_point or kind.is_complex:
        wide = torch.complex128 if kind.is_complex else torch.float64
        return wide if isinstance(value, torch.dtype) else value.detach().to(wide)
    return value


def own_leaf(value: Any) -> Any:
    """A leaf that is a view, made while nothing was recorded, as one that gets a gradient."""
    view = isinstance(value, torch.Tensor) and value.requires_grad and value._is_view()
    return value.detach().requires_grad_() if view and value.is_leaf else value


def kept(value: Any, wide: Any) -> Any:
    """The wide one, asking for a gradient as the first did."""
    asks = isinstance(value, torch.Tensor) and value.requires_grad
    return wide.requires_grad_() if asks else wide


def prepared(result: Any, form: str) -> Any:
    """A tensor to write a result into."""
    if form == "same":
        return torch.zeros_like(result)
    if form == "empty":
        return torch.empty(0, dtype=result.dtype)
    other = (
        torch.int64 if result.dtype.is_floating_point or result.dtype.is_complex else torch.float64
    )
    return torch.zeros_like(result, dtype=other)


def tensors_in(value: Any) -> Iterator[Any]:
    """The tensors of a structure."""
    if isinstance(value, torch.Tensor | compat.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors_in(each)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def leaves_of(value: Any) -> Iterator[Any]:
    """The tensors that ask for a gradient, each once."""
    seen = set()
    for tensor in tensors_in(value):
        if tensor.requires_grad and id(tensor) not in seen:
            seen.add(id(tensor))
            yield tensor
