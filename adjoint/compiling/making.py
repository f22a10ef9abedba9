"""From a function and its arguments to a program: the trace, and what it leaves behind."""

from collections.abc import Callable
from typing import Any

from adjoint.backends import xla
from adjoint.call.context import Changed
from adjoint.compiling.errors import CompileError, untraceable
from adjoint.compiling.escapes import mark_escaped
from adjoint.compiling.guards import guards_of
from adjoint.compiling.outcomes import Outcome, outcome_of
from adjoint.compiling.places import Place
from adjoint.compiling.program import Program
from adjoint.compiling.resuming import rest_of
from adjoint.compiling.tracing import Tracing


def program_of(function: Callable[..., Any], tracing: Tracing, args: Any, kwargs: Any) -> Program:
    """The program of a call; everything is as before when it is made, or can't be."""
    name = tracing.name
    outcomes: list[Outcome] = []

    def run() -> list[Any]:
        with Changed({"tracing": tracing}):
            outcome = outcome_of(tracing, function(*args, **kwargs))
            outcome.rest, outputs = rest_of(tracing, outcome)
        outcomes.append(outcome)
        return outputs

    try:
        traced = xla.trace(run, tracing)
    except CompileError as error:
        raise untraceable(name, error, error) from error
    except Exception as error:
        if not xla.value_was_read(error):
            raise
        raise untraceable(
            name, error, "a value, or a shape that depends on one, is read"
        ) from error
    finally:
        tracing.restore()
    program = Program(tracing, traced, outcomes[0])
    leaves = [r.tensor for r in tracing.lifted.values() if type(r.place) is Place and r.needs_grad]
    program.guards = guards_of(function, list(tracing.modules.values()), leaves)
    program.spent = tracing.spent
    for call in tracing.host_calls:
        call.forget()
    outcomes.clear()
    tracing.sharing.clear()
    mark_escaped(name, xla.is_traced)
    return program
