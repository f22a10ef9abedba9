"""From a function and its arguments to a program: the trace, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import is_dataclass
from operator import is_
from traceback import walk_tb
from typing import Any

from adjoint.backends import xla
from adjoint.call.context import Changed, change_grad_enabled, is_grad_enabled
from adjoint.compiling.errors import AgainError, CompileError, EagerError, untraceable
from adjoint.compiling.escapes import Newcomers, mark_escaped
from adjoint.compiling.guards import PythonState, guards_of, refuse_iterators
from adjoint.compiling.outcomes import Outcome, outcome_of
from adjoint.compiling.places import Place
from adjoint.compiling.program import Program
from adjoint.compiling.reads import PLAIN, Reads, held_at, putting
from adjoint.compiling.resuming import rest_of
from adjoint.compiling.signatures import objects_among
from adjoint.compiling.tracing import Tracing
from adjoint.dtypes import get_default_dtype, set_default_dtype
from adjoint.pytree import tree_flatten
from adjoint.tensors.tensor import Tensor


def program_of(function: Callable[..., Any], tracing: Tracing, args: Any, kwargs: Any) -> Program:
    """The program of a call; everything is as before when it is made, or can't be."""
    with Newcomers() as newcomers:
        newcomers.begin()
        try:
            return _traced(function, tracing, args, kwargs)
        finally:
            mark_escaped(tracing.name, xla.is_traced, newcomers.found())


def _traced(function: Callable[..., Any], tracing: Tracing, args: Any, kwargs: Any) -> Program:
    """The same, while tensors that have left the trace still hold tracers."""
    name = tracing.name
    outcomes: list[Outcome] = []
    leaves, _ = tree_flatten((args, kwargs))
    before: list[tuple[Any, Any]] = []
    _remember([args, kwargs], before)
    objects = objects_among(leaves)
    reads = Reads([function], given=objects)
    refuse_iterators(name, reads)
    held, state = [*reads.held(), *reads.empty()], PythonState(reads)
    empty = {(id(holder), key) for holder, key, _ in reads.empty()}
    unrepeated: list[str] = []
    counts = _counted(reads)

    def run() -> list[Any]:
        tracing.refuse_layers()
        with Changed({"tracing": tracing}):
            modes = is_grad_enabled(), get_default_dtype()
            answer = function(*args, **kwargs)
            _check_modes(*modes)
            if _put_back(before):
                raise CompileError(
                    "it changes a list, dict or object among its arguments, which would be done "
                    "while it is traced and not again; return what is new"
                )
            unrepeated.extend(state.changed(empty))
            _check_settings(tracing, reads, state)
            if _put_counts_back(counts):
                raise EagerError(
                    "the step of an optimizer changes plain values in its state, as a count of "
                    "steps; let tensors hold them"
                )
            outcome = outcome_of(tracing, answer, held)
            outcome.rest, outputs = rest_of(tracing, outcome)
        outcomes.append(outcome)
        return outputs

    try:
        traced = xla.trace(run, tracing)
    except CompileError as error:
        _undo(state, counts)
        _learn(tracing, error)
        raise untraceable(name, error, error, function) from error
    except Exception as error:
        if not xla.value_was_read(error):
            raise
        _undo(state, counts)
        _learn(tracing, error)
        raise untraceable(
            name, error, "a value, or a shape that depends on one, is read", function
        ) from error
    finally:
        _put_back(before)
        for holder, key, tensor in held:
            now = held_at(holder, key)
            if now is not tensor and isinstance(now, Tensor):
                act, *given = putting(holder, key, tensor)
                act(*given)
        tracing.restore()
    program = Program(tracing, traced, outcomes[0])
    leaves = [r.tensor for r in tracing.lifted.values() if type(r.place) is Place and r.needs_grad]
    reads = Reads([function, *tracing.modules.values()], tracing.host_calls, objects)
    reads.look(tracing.lifted)
    if tracing.host_calls:
        steady = [e for e in reads.held() if _is_steady(tracing, e[2]) and type(e[0]) is not list]
        program.read.renew(steady)
    bound = [each[:2] for each in program.bound if (id(each[0]), each[1]) not in empty]
    bound += state.places
    program.guards = guards_of(reads, list(tracing.optimizers.values()), leaves, bound)
    program.named = [(n, t) for n, t in enumerate(tracing.arguments) if reads.has(t)]
    program.spent = tracing.spent
    program.unrepeated = unrepeated
    for call in tracing.host_calls:
        call.forget()
    outcomes.clear()
    tracing.sharing.clear()
    return program


def _check_modes(enabled: bool, kind: Any) -> None:
    """Refuse a function that leaves other modes, as no program would; they are put back."""
    if is_grad_enabled() is enabled and get_default_dtype() is kind:
        return
    change_grad_enabled(enabled)
    set_default_dtype(kind)
    raise EagerError("it leaves grad mode, or the default data type, as another than it found")


def _counted(reads: Reads) -> list[Any]:
    """The plain values in the states of optimizers, which their steps may count on."""
    homes = [home for each in reads.optimizers.values() for home in each.state.values()]
    return [
        (home, key, value)
        for home in homes
        if isinstance(home, dict)
        for key, value in home.items()
        if isinstance(value, PLAIN)
    ]


def _put_counts_back(counts: list[Any]) -> bool:
    """Let states hold the same plain values again; whether one did not."""
    changed = [each for each in counts if repr(each[0].get(each[1])) != repr(each[2])]
    for home, key, value in changed:
        home[key] = value
    return bool(changed)


def _undo(state: PythonState, counts: list[Any]) -> None:
    """The function will run again, or not at all: let Python's own values be as before."""
    state.put_back()
    _put_counts_back(counts)


def _check_settings(tracing: Any, reads: Reads, state: PythonState) -> None:
    """Refuse a function that names settings which it has changed: the host alone knows them."""
    optimizers = [*tracing.optimizers.values(), *reads.optimizers.values()]
    asked = {id(group) for each in optimizers for group in each.param_groups}
    asked |= tracing.scheduled.keys()
    scales = [each[:2] for each in state.before if id(each[0]) in tracing.updated]
    for holder, key in [*state.places, *(each for each in scales if each[1] == "_scale")]:
        if id(holder) in asked or id(holder) in tracing.updated:
            raise EagerError(
                f"it reads or sets {key!r} of an optimizer, scheduler or scaler, which changes "
                "inside; do this outside of the function"
            )


def _learn(tracing: Tracing, error: Exception) -> None:
    """If a value was read by the code of a Function, have the host call that from now on."""
    answers = tracing.answers
    passed = {frame.f_code for frame, _ in walk_tb(error.__traceback__)}
    for kind in tracing.functions - answers.on_host:
        methods = [getattr(kind, name) for name in ("forward", "setup_context", "backward")]
        known = any(key[0] is kind for key in answers.results)
        if known and not passed.isdisjoint(getattr(each, "__code__", None) for each in methods):
            answers.on_host.add(kind)
            raise AgainError from error


def _is_steady(tracing: Tracing, tensor: Any) -> bool:
    """Whether a program reads a tensor, and the same at each call."""
    record = tracing.lifted.get(id(tensor))
    return record is not None and type(record.place) is Place


def _remember(value: Any, found: list[tuple[Any, Any]]) -> None:
    """Note what lists, dicts and data classes in a nest hold."""
    if isinstance(value, (list, tuple)):
        parts: Any = list(value)
    elif isinstance(value, dict):
        parts = dict(value)
    elif is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__dict__"):
        value, parts = vars(value), dict(vars(value))
    else:
        return
    if not isinstance(value, tuple):
        found.append((value, parts))
    for each in parts.values() if isinstance(parts, dict) else parts:
        _remember(each, found)


def _put_back(found: list[tuple[Any, Any]]) -> bool:
    """Let them hold the same again; whether one did not."""
    changed = False
    for value, parts in found:
        same = len(value) == len(parts) and all(map(is_, value, parts))
        if isinstance(parts, dict) and same:
            same = all(map(is_, value.values(), parts.values()))
        if same:
            continue
        changed = True
        value.clear()
        value.update(parts) if isinstance(parts, dict) else value.extend(parts)
    return changed
