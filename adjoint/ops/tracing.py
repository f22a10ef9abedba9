"""Elementwise ops as expressions: their forwards and rules, run on symbols.

Options that an op decides by (text, truth, None) are tried one by one; numbers stay symbols.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from adjoint.backends.loops.symbols import Graph, RefusedError, Symbol, symbols_backend
from adjoint.call.dispatch import run_forward
from adjoint.call.rule import GRAD, RESULT, TANGENT, VALUE, Rule
from adjoint.ops.annotations import Array, Operand
from adjoint.ops.op import MISSING, TABLE, Op
from adjoint.ops.pushing import FORWARD, PUSH, pushing

# What a parameter may be, besides an option with a value.
ARRAY: Final = "array"
NUMBER: Final = "number"

KINDS: Final = ("float32", "float64")
_SAMPLE: Final = 0.75  # a number that no declaration compares with
_OTHER: Final = ""  # a text that no declaration knows stands for all that it doesn't ask for
_MOST: Final = 64  # combinations of options
_SHORT: Final = 3  # steps of a forward that memory bounds

# Functions that are worth a loop of ours by themselves: NumPy computes them one by one, cosh
# wherever there is no AVX-512, and absolute in half of a vector's width.
_SLOW: Final = """
    absolute cosh digamma erf erfc erfinv floor_divide fmod gammaln hypot i0 i0e i1 i1e k0 k0e k1
    k1e logaddexp logaddexp2 nextafter remainder sign trigamma
"""
SLOW: Final = frozenset(_SLOW.split())
# Functions that NumPy's own vectors compute in less time than all of such a loop takes.
QUICK: Final = frozenset(("arccos", "arccosh", "cos", "power", "sin"))
# Functions of which NumPy and a loop have the same bits.
_EXACT: Final = """
    absolute add divide equal fmax fmin greater greater_equal less less_equal logical_and
    logical_not logical_or maximum minimum multiply negative not_equal reciprocal sqrt subtract
    where
"""
EXACT: Final = frozenset(_EXACT.split())


@dataclass(frozen=True)
class Traced:
    """One way in which a forward or a rule may run, as an expression for each kind.

    The place is FORWARD, PUSH for the rule of tangents, or the number of an input's rule.
    """

    op: Op
    place: int
    key: tuple[Any, ...]  # what each argument is: ARRAY, NUMBER, or an option of this value
    arrays: tuple[int, ...]  # the places of arguments that are arrays
    numbers: tuple[int, ...]  # and of those that are numbers
    # On numbers: a comparison with another, or (an int) with that at a place, and its outcome.
    conditions: tuple[tuple[str, int, float | int, bool], ...]
    names: tuple[str, ...]  # of the arguments, as symbols have them
    results: tuple[Symbol, ...]  # one for each of KINDS


@dataclass(frozen=True)
class Refusal:
    """A forward or a rule that stays with NumPy, and why."""

    op: Op
    place: int
    reason: str


@dataclass(frozen=True)
class Pair:
    """A call of one or two arrays with tangents: the result and its tangent, for each kind."""

    op: Op
    moved: int  # which arguments have tangents, as bits
    names: tuple[str, ...]  # of the arguments, then of their tangents
    results: tuple[tuple[Symbol, Symbol], ...]


@dataclass(frozen=True)
class Sample:
    """A number to decide conditions with."""

    value: float


class _Text(str):
    """A text option: it notes what it is compared with, which are the others to try."""

    __slots__ = ("heard",)
    heard: set[str]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            self.heard.add(str(other))
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def traced_ops() -> Iterator[Traced | Refusal]:
    """All elementwise ops of the table, their forwards and rules."""
    for op in TABLE.values():
        if op.family == "elementwise":
            yield from traced(op)


def traced(op: Op) -> Iterator[Traced | Refusal]:
    """What becomes of one op."""
    for place in range(PUSH, len(op.rules)):
        if place != FORWARD and rule_at(op, place) is None:
            continue
        try:
            yield from variants(op, place)
        except RefusedError as error:
            yield Refusal(op, place, str(error))


def paired_ops() -> Iterator[Pair]:
    """The calls of elementwise ops whose results can be made in one pass with their tangents."""
    for op in TABLE.values():
        if op.family == "elementwise" and op.required in (1, 2) and op.inputs:
            for moved in range(1, 1 << op.required):
                pair = _pair(op, moved)
                if pair is not None and is_worth_a_pair(pair):
                    yield pair


def _pair(op: Op, moved: int) -> Pair | None:
    """One of them; None if it can't be traced, or has no tangent."""
    if op.hides or op.outputs is not None or op.view or op.joint is not None or op.star >= 0:
        return None
    names = op.parameters[: op.required]
    tangents = [f"{name}_tangent" for i, name in enumerate(names) if moved >> i & 1]
    results = []
    for kind in KINDS:
        graph = Graph(kind)
        values = [graph.element(name) for name in names] + op.defaults[op.required :]
        pushed: list[Any] = [None] * len(op.parameters)
        for i, name in enumerate(names):
            pushed[i] = graph.element(f"{name}_tangent") if moved >> i & 1 else None
        try:
            out = run_forward(op, symbols_backend.xp, values)
            tangent = _tangent(op, values, pushed, out)
        except (RefusedError, RuntimeError, ValueError, TypeError, NotImplementedError):
            return None
        if type(out) is not Symbol or type(tangent) is not Symbol or out.dtype != kind:
            return None
        used = {part.value for each in (out, tangent) for part in parts(each)}
        if tangent.dtype != kind or not used.issuperset((*names, *tangents)):
            return None
        results.append((out, tangent))
    return Pair(op, moved, (*names, *tangents), tuple(results))


def _tangent(op: Op, values: list[Any], tangents: list[Any], out: Any) -> Any:
    """The tangent of a result, by `jvp=` or by the rules of what has one."""

    def named(rule: Rule, grad: Any) -> list[Any]:
        found = {GRAD: [grad], RESULT: [out], VALUE: values, TANGENT: tangents}
        if any(kind not in found for kind, _ in rule.sources):
            raise RefusedError("it asks for more than values")
        return [found[kind][index] for kind, index in rule.sources]

    if op.jvp is not None:
        return op.jvp.function(*named(op.jvp, None))
    total: Any = None
    for parameter, rule in zip(op.inputs, op.rules):
        if tangents[parameter] is not None and rule is not None:
            term = rule.function(*named(rule, tangents[parameter]))
            total = term if total is None else total + term
    return total


def variants(op: Op, place: int) -> list[Traced]:
    """The ways to run a forward or a rule; RefusedError if there is none."""
    if op.hides or op.outputs is not None or op.view or op.joint is not None or op.star >= 0:
        raise RefusedError("its arguments or results are several")
    heard = Heard()
    found: dict[Any, Traced] = {}
    tried: set[tuple[Any, ...]] = set()
    reason = ""
    while True:
        choices = [_choices(op, place, i, heard) for i in range(len(op.parameters))]
        choices += [_tangents(op, place, i) for i in range(len(op.parameters))]
        new = [o for o in itertools.product(*choices) if o not in tried and _is_possible(o)]
        if not new or len(tried) > _MOST:
            break
        for options in new:
            tried.add(options)
            try:
                made = _variant(op, place, options, heard)
            except RefusedError as error:
                reason = str(error)
            except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
                reason = reason or f"it raises {type(error).__name__}"
            else:
                found.setdefault((made.key, made.conditions), made)
    if not found:
        raise RefusedError(reason)
    return list(found.values())


class Heard:
    """What a forward or a rule has compared its options with: the values to try it with."""

    def __init__(self) -> None:
        self.texts: dict[int, set[str]] = {}
        self.numbers: dict[int, set[float]] = {}


def _choices(op: Op, place: int, parameter: int, heard: Heard) -> list[Any]:
    """What to try for a parameter: ARRAY, a Sample of a number, or a value that it may have."""
    default = op.defaults[parameter]
    kind = getattr(op.forward, "__annotations__", {}).get(op.parameters[parameter])
    parts = getattr(kind, "__args__", (kind,))
    samples = [Sample(value) for value in {_SAMPLE, *heard.numbers.get(parameter, ())}]
    other = [] if default is MISSING else [default]
    rule = rule_at(op, place)
    if rule is not None and (VALUE, parameter) not in rule.sources:
        return [ARRAY] if default is MISSING else other
    if place >= 0 and op.inputs[place] == parameter:
        return [ARRAY]
    mixes = place == FORWARD and parameter in op.promotes
    if set(Operand.__args__) <= set(parts) and not mixes:
        return [ARRAY, *samples, *other]
    if parameter in op.promotes or kind == Array or set(Operand.__args__) <= set(parts):
        return [ARRAY, *other]
    if kind is bool or isinstance(default, bool):
        return [False, True]
    if kind is str or isinstance(default, str):
        return sorted({_OTHER, *heard.texts.get(parameter, ()), *other})
    if isinstance(default, (int, float)) or any(part in (int, float) for part in parts):
        return samples if default is not None else [None, *samples]
    if default is not None:
        raise RefusedError(f"what its argument {op.parameters[parameter]} may be is not said")
    return [None]


def _tangents(op: Op, place: int, parameter: int) -> list[Any]:
    """What to try for the tangent of a parameter."""
    if place != PUSH or parameter not in op.inputs:
        return [None]
    return [ARRAY] if op.jvp is None else [ARRAY, None]


def _is_possible(options: tuple[Any, ...]) -> bool:
    """Whether no more than arrays have tangents."""
    half = len(options) // 2
    return not any(t is ARRAY and o is not ARRAY for o, t in zip(options[:half], options[half:]))


def rule_at(op: Op, place: int) -> Rule | None:
    """The rule of a place; None for the forward."""
    if place == PUSH:
        return pushing(op)
    return None if place == FORWARD else op.rules[place]


def _variant(op: Op, place: int, options: tuple[Any, ...], heard: Heard) -> Traced:
    """One way to run a forward or a rule, with an option for each parameter of the op."""
    rule = rule_at(op, place)
    results: list[Symbol] = []
    count = len(op.parameters)
    for kind in KINDS:
        graph = Graph(kind)
        values = [_value(graph, op, i, option, heard) for i, option in enumerate(options[:count])]
        for name, option in zip(op.parameters, options[count:]):
            values.append(graph.element(f"{name}_tangent") if option is ARRAY else None)
        try:
            if rule is None:
                out = run_forward(op, symbols_backend.xp, values[:count])
            else:
                out = rule.function(*[_argument(graph, source, values) for source in rule.sources])
        finally:
            for name, number, other in graph.conditions:
                if not isinstance(other, str):
                    steps = (0,) if name in ("equal", "not_equal") else (-1, 1)
                    samples = heard.numbers.setdefault(op.index_of[number], set())
                    samples.update([other + step for step in steps])
        if type(out) is not Symbol:
            raise RefusedError("its result is the same for all elements")
        if out.dtype not in (kind, "bool"):
            raise RefusedError("its result is of another type")
        results.append(out)
    return _finished(op, place, options, results)


def _value(graph: Graph, op: Op, i: int, option: Any, heard: Heard) -> Any:
    if option is ARRAY:
        return graph.element(op.parameters[i])
    if type(option) is Sample:
        return graph.number(op.parameters[i], option.value)
    if type(option) is str:
        text = _Text(option)
        text.heard = heard.texts.setdefault(i, set())
        return text
    return option


def _argument(graph: Graph, source: tuple[int, int], values: list[Any]) -> Any:
    """What a rule is given for one of its parameters."""
    kind, index = source
    if kind == VALUE:
        return values[index]
    if kind == TANGENT:
        return values[len(values) // 2 + index]
    if kind == GRAD and index == 0:
        return graph.element("grad")
    if kind == RESULT and index == 0:
        return graph.element("result")
    raise RefusedError("its rule asks for shapes, or for more than one gradient")


def _name(op: Op, source: tuple[int, int]) -> str:
    kind, index = source
    if kind == TANGENT:
        return f"{op.parameters[index]}_tangent"
    return {GRAD: "grad", RESULT: "result"}.get(kind) or op.parameters[index]


def _option(source: tuple[int, int], options: tuple[Any, ...]) -> Any:
    """What a trace was given for an argument of a rule."""
    kind, index = source
    if kind == TANGENT:
        return options[len(options) // 2 + index]
    return options[index] if kind == VALUE else ARRAY


def _finished(op: Op, place: int, options: tuple[Any, ...], results: list[Symbol]) -> Traced:
    """The record of a trace; arguments are counted as the forward or the rule counts them."""
    rule = rule_at(op, place)
    count = len(op.parameters)
    names, own = list(op.parameters), list(options[:count])
    if rule is not None:
        names = [_name(op, source) for source in rule.sources]
        own = [_option(source, options) for source in rule.sources]
    used = {node.value for node in parts(results[0]) if node.function in ("array", "number")}
    if rule is None and any(o is ARRAY and n not in used for n, o in zip(names, own)):
        raise RefusedError("its result does not depend on all arguments")
    if place >= 0 and "grad" not in used:
        raise RefusedError("its gradient does not depend on that of the result")
    moved = [n for n, (kind, _) in zip(names, rule.sources if rule else ()) if kind == TANGENT]
    if any(name not in used and own[names.index(name)] is ARRAY for name in moved):
        raise RefusedError("its tangent does not depend on those of all arguments")
    asked = [
        (name, names.index(number), names.index(other) if isinstance(other, str) else other, holds)
        for (name, number, other), holds in results[0].graph.conditions.items()
    ]
    return Traced(
        op,
        place,
        tuple([option if option in (ARRAY, None) else _key(option) for option in own]),
        tuple([i for i, name in enumerate(names) if name in used and own[i] is ARRAY]),
        tuple([i for i, name in enumerate(names) if name in used and type(own[i]) is Sample]),
        tuple(asked),
        tuple(names),
        tuple(results),
    )


def _key(option: Any) -> Any:
    return NUMBER if type(option) is Sample else option


def parts(symbol: Symbol) -> list[Symbol]:
    """All parts of an expression, each once, operands first."""
    found: dict[int, Symbol] = {}

    def visit(part: Symbol) -> None:
        if id(part) not in found:
            for operand in part.operands:
                visit(operand)
            found[id(part)] = part

    visit(symbol)
    return list(found.values())


def is_worth_a_loop(result: Symbol) -> bool:
    """Whether a loop of ours is faster than NumPy: it takes several steps, or a slow one."""
    steps = [p.function for p in parts(result) if p.operands and not is_fixed(p)]
    steps = [step for step in steps if step != "cast"]
    if any(step in QUICK for step in steps):
        return False
    return len(steps) > 1 or any(step in SLOW for step in steps)


def is_worth_a_pair(pair: Pair) -> bool:
    """Whether one pass takes much less time than two: memory is all, or both take a slow step.

    The result must have the bits that it has without its tangent.
    """
    out, tangent = pair.results[0]
    if any(part.function in QUICK for part in parts(tangent)):
        return False
    if pair.op.required == 1 and pair.names[0] not in [part.value for part in parts(tangent)]:
        return False  # two steps of one operand each, which NumPy calls sooner
    steps = [part.function for part in parts(out) if part.operands]
    if EXACT.issuperset(steps):
        return len(steps) <= _SHORT
    names_result = any((RESULT, 0) in rule.sources for rule in pair.op.rules if rule is not None)
    twice = {part.function for part in parts(tangent)}.intersection(steps)
    return is_worth_a_loop(out) and not names_result and not SLOW.isdisjoint(twice)


def is_fixed(part: Symbol) -> bool:
    """Whether a part is the same for all elements."""
    return part.function != "array" and all(is_fixed(operand) for operand in part.operands)
