"""Ops that work on the last dimension as expressions of rows: softmax, layer_norm and their kin."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from adjoint.backends.loops.symbols import LENGTH, Graph, RefusedError, Symbol, symbols_backend
from adjoint.call.dispatch import run_forward
from adjoint.call.rule import ALL_GRADS, GRAD, NEEDS, RESULT, VALUE, Rule
from adjoint.ops.annotations import Array
from adjoint.ops.op import TABLE, Op
from adjoint.ops.pushing import FORWARD, JOINT
from adjoint.ops.tracing import ARRAY, KINDS, NUMBER

COLUMN: Final = "column"  # an array with one number for each row


@dataclass(frozen=True)
class TracedRows:
    """One way in which a forward or a rule may run on rows.

    Arguments are counted with the gradients of several outputs one by one.
    """

    op: Op
    place: int
    key: tuple[Any, ...]  # what each argument is: ARRAY, COLUMN, NUMBER, or this value
    order: tuple[int, ...]  # the places of the arguments that it reads
    answers: tuple[Any, ...]  # for each result None, the place of an argument, or "computed"
    names: tuple[str, ...]  # of the arguments, as symbols have them
    results: tuple[tuple[Symbol, ...], ...]  # what is computed, for each of KINDS


COMPUTED: Final = "computed"


def traced_rows() -> Iterator[TracedRows]:
    """What can be traced of the ops that have a dimension and are no functions of elements."""
    for op in TABLE.values():
        if op.family == "general" and len(op.dims) == 1 and op.star < 0 and not op.hides:
            yield from _of_op(op)


def _of_op(op: Op) -> Iterator[TracedRows]:
    forwards = list(_variants(op, FORWARD, None, ()))
    if not any(result.varies() for each in forwards for result in each.results[0]):
        return  # sums and the like, which NumPy takes in one pass
    yield from forwards
    outputs = tuple([ARRAY if r.varies() else COLUMN for r in forwards[0].results[0]])
    if op.joint is not None:
        yield from _variants(op, JOINT, op.joint, outputs)
    for place, rule in enumerate(op.rules):
        if rule is not None:
            yield from _variants(op, place, rule, outputs)


def _variants(op: Op, place: int, rule: Rule | None, outputs: tuple[str, ...]) -> Any:
    """The ways to run a forward, or a rule of so many outputs."""
    sources = [(VALUE, i) for i in range(len(op.parameters))] if rule is None else rule.sources
    try:
        choices = [_choices(op, source, outputs) for source in sources]
    except RefusedError:
        return
    found: dict[Any, TracedRows] = {}
    for options in itertools.product(*choices):
        try:
            traced = _variant(op, place, rule, options)
        except (RefusedError, RuntimeError, ValueError, TypeError, NotImplementedError):
            continue  # this op, or this way to call it, is none of rows
        found[traced.key] = traced
    yield from found.values()


def _choices(op: Op, source: tuple[int, int], outputs: tuple[str, ...]) -> list[Any]:
    kind, index = source
    if kind == GRAD:
        return [outputs] if index == ALL_GRADS else [outputs[index]]
    if kind == RESULT:
        return [outputs[index]]
    if kind == NEEDS:
        return [n for n in itertools.product((True, False), repeat=len(op.inputs)) if any(n)]
    if kind != VALUE:
        raise RefusedError("its rule asks for shapes")
    annotation = getattr(op.forward, "__annotations__", {}).get(op.parameters[index])
    parts = getattr(annotation, "__args__", (annotation,))
    if index == op.dims[0][0]:
        return [(-1,) if op.parameters[index] == "axes" else -1]
    if Array in parts:
        return [ARRAY, None] if type(None) in parts else [ARRAY]
    if annotation is float:
        return [NUMBER]
    return [True] if annotation is bool else [op.defaults[index]]


def _variant(op: Op, place: int, rule: Rule | None, options: tuple[Any, ...]) -> TracedRows:
    results: list[tuple[Symbol, ...]] = []
    for kind in KINDS:
        graph = Graph(kind, rows=True)
        names: list[str] = []
        values = [_value(graph, option, names) for option in options]
        out = (
            run_forward(op, symbols_backend.xp, values) if rule is None else rule.function(*values)
        )
        outs = out if isinstance(out, tuple) else (out,)
        places = {id(graph.element(name)): i for i, name in enumerate(names)}
        answers = [None if o is None else places.get(id(o), COMPUTED) for o in outs]
        made = [o for o, answer in zip(outs, answers) if answer == COMPUTED]
        if not made or any(type(o) is not Symbol or o.dtype != kind for o in made):
            raise RefusedError("it answers nothing, or no arrays")
        if any(c != ("less", LENGTH, 1.0) or holds for c, holds in graph.conditions.items()):
            raise RefusedError("it decides by a number")
        results.append(tuple(made))
    used = {node.value for made in results[0] for node in _leaves(made)}
    key = [part for option in options for part in (option if _is_grads(option) else (option,))]
    order = [i for i, name in enumerate(names) if name in used]
    if "row" not in {node.function[:3] for made in results[0] for node in _all(made)}:
        raise RefusedError("it is a function of elements")
    return TracedRows(
        op, place, tuple(key), tuple(order), tuple(answers), tuple(names), tuple(results)
    )


def _is_grads(option: Any) -> bool:
    return isinstance(option, tuple) and option[0] in (ARRAY, COLUMN)


def _value(graph: Graph, option: Any, names: list[str]) -> Any:
    """A symbol for an argument; its name says its place among all."""
    if _is_grads(option):
        return tuple([_value(graph, part, names) for part in option])
    name = f"argument {len(names)}"
    names.append(name)
    if option == ARRAY:
        return graph.element(name)
    if option == COLUMN:
        return graph.column(name)
    return graph.number(name, 0.75) if option == NUMBER else option


def _all(symbol: Symbol) -> Iterator[Symbol]:
    yield symbol
    for operand in symbol.operands:
        yield from _all(operand)


def _leaves(symbol: Symbol) -> Iterator[Symbol]:
    return (node for node in _all(symbol) if node.function in ("array", "column", "number"))
