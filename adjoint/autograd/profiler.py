"""Where time and memory go: each op of the forward and each node of the backward, as it runs.

A `Recorder` is a watcher and an observer of the calling context (`call.context`): dispatch has it
make the call of every op, the engine tells it of every node. `profile` puts one in place,
`record_function` names ranges.
"""

import warnings
from typing import Any

from adjoint.autograd.grad_mode import ContextDecorator
from adjoint.autograd.profiler_events import (
    EventList as EventList,
    FunctionEvent as FunctionEvent,
    FunctionEventAvg as FunctionEventAvg,
    Results,
)
from adjoint.autograd.provenance import calls, module_path, modules_of
from adjoint.autograd.recorder import Recorder, Running, running_in_context
from adjoint.call.context import Scope, Settings, current, replaced
from adjoint.call.held import Held
from adjoint.tensors.upper import upper

# PyTorch's options about what there is none of here: its library for events, other devices.
_UNUSED = {
    "acc_events",
    "activity_filters",
    "custom_trace_id_callback",
    "execution_trace_observer",
    "experimental_config",
    "post_processing_timeout_s",
    "use_cpu",
    "use_cuda",
    "use_device",
    "use_kineto",
    "with_flops",
}


def tell_unused(function: str, options: dict[str, Any]) -> None:
    """Refuse options that PyTorch has not either; say of with_flops that nothing comes of it."""
    for name in options:
        if name not in _UNUSED:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    if options.get("with_flops"):
        warnings.warn(
            f"{function}: with_flops changes nothing; torch.utils.flop_counter counts operations",
            stacklevel=3,
        )


class ModulePaths:
    """Where in a model the program is, as "Network.encoder.0"; found once for each place."""

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], str] = {}

    def __call__(self) -> str:
        modules = tuple(modules_of(calls.get()))
        if not modules:
            return ""
        path = self.known.get(modules)
        if path is None:
            path = f"{type(modules[0]).__name__}.{module_path(list(modules))}".rstrip(".")
            self.known[modules] = path
        return path


class profile(Results, Scope):
    """Notes every op and every node that runs in its block, with time, bytes, module and line.

    Times of devices that work by themselves are whole, because each step is waited for; with
    `synchronize=False` only the time to launch it is seen.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        profile_memory: bool = True,
        with_stack: bool = True,
        with_modules: bool = True,
        synchronize: bool = True,
        **unused: Any,
    ) -> None:
        tell_unused("autograd.profiler.profile", unused)
        self.enabled = enabled
        self.recorder = Recorder(
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            module_path=ModulePaths() if with_modules else None,
            synchronize=synchronize,
        )
        self.used = False
        self._after = self.recorder.conclude

    def _fields(self) -> tuple[str, ...]:
        """See Scope."""
        return ("watchers", "observers")

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        if self.used:
            raise RuntimeError("a profile is entered once: make a new one for another block")
        self.used = True
        if not self.enabled:
            return outer
        watchers = (*outer.watchers, self.recorder)
        observers = (*outer.observers, self.recorder)
        return replaced(outer, {"watchers": watchers, "observers": observers})

    def _outside(self, now: Settings, outer: Settings) -> Settings:
        """See Scope."""
        watchers = tuple(w for w in now.watchers if w is not self.recorder)
        observers = tuple(o for o in now.observers if o is not self.recorder)
        return replaced(now, {"watchers": watchers, "observers": observers})

    @property
    def function_events(self) -> EventList:
        """Every event, in the order in which they began."""
        if self.recorder.finished is None:
            raise RuntimeError("a profile has results when its `with` block has been left")
        return self.recorder.finished

    def __str__(self) -> str:
        return self.table() if self.recorder.finished is not None else repr(self)


class record_function(ContextDecorator, Held):
    """Gives a part of the program a name in the profiles it runs under; also a decorator."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.tokens: list[Running] = []
        self.answer: Any = None  # the range that modes have begun in its place

    def clone(self) -> Any:
        """See ContextDecorator."""
        return record_function(self.name, self.args)

    def __enter__(self) -> Any:
        if not current().modes:
            return super().__enter__()
        given = (self.name,) if self.args is None else (self.name, self.args)
        self.answer = upper.marked("_record_function_enter_new", *given)
        return self

    def __exit__(self, *error: object) -> None:
        entered = self if self.answer is None else self.answer
        self.answer = None
        if current().modes:
            upper.marked("_record_function_exit", entered)
        elif entered is self:
            super().__exit__(*error)
        else:
            entered.__exit__(*error)

    def _variable(self) -> Any:
        """See Held."""
        return running_in_context

    def _inside(self, before: Any) -> Any:
        """See Held."""
        label = self.name if self.args is None else f"{self.name}({self.args})"
        recorders = [each for each in current().observers if isinstance(each, Recorder)]
        self.tokens = [recorder.new_range(label, before) for recorder in recorders]
        return (*before, *self.tokens)

    def _outside(self, now: Any) -> Any:
        """See Held."""
        started = self.tokens and self.tokens[0] in now
        return now[: now.index(self.tokens[0])] if started else now

    def _left(self) -> None:
        """See Held: the range is over in all profiles."""
        while self.tokens:
            token = self.tokens.pop()
            token.recorder.leave_range(token)
