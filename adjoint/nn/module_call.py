"""The call of a module that has hooks: who is called, when, and what an answer may be.

In the order of a call: forward pre-hooks, forward, forward hooks; in backward: backward pre-hooks
when the gradients of all outputs are there, full backward hooks when those of all inputs are. Of
each kind the hooks of all modules go first, then the module's own, in the order of registration,
over a snapshot. The backward hooks of a call are those there were when it began.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

from typing import Any
from weakref import ref

from adjoint.autograd.hooks import ask, name_of
from adjoint.autograd.provenance import calls, warn
from adjoint.nn.backward_hooks import BackwardHooks
from adjoint.nn.gates import Passage
from adjoint.nn.module_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    FORWARD,
    FORWARD_PRE,
    ModuleHook,
    taken,
)


def call_with_hooks(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a module's forward, and its hooks before and after it."""
    call = _Call(module, args, kwargs)
    around = calls.get()
    try:
        calls.set((ref(module), around))
        return call.run()
    except Exception:
        call.run_always_called()
        raise
    finally:
        calls.set(around)


def hooks_of(everyone: Any, own: Any) -> list[Any]:
    """The hooks of all modules and a module's own, as they are now: some may change the tables."""
    found = list(own.values()) if own else []
    return [*everyone.values(), *found] if everyone else found


class _Call:
    """One call of a module with hooks: what it is given and what it answers, as of now."""

    def __init__(self, module: Any, args: Any, kwargs: Any) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()  # forward hooks with options, by id

    def run(self) -> Any:
        module = self.module
        pre = hooks_of(BACKWARD_PRE, module._backward_pre_hooks)
        full = hooks_of(BACKWARD, module._backward_hooks)
        self.run_pre_hooks()
        if not pre and not full:
            self.run_forward()
            return self.result
        passage = Passage(BackwardHooks(module, pre, full))
        try:
            self.args, self.kwargs = passage.enter(tuple(self.args), self.kwargs)
            self.run_forward()
        finally:
            passage.write_back()  # what was done in place is done, even if they fail
        self.result = passage.leave(self.result)
        return self.result

    def run_pre_hooks(self) -> None:
        own = self.module._forward_pre_hooks
        for hook in hooks_of(FORWARD_PRE, own):
            if not isinstance(hook, ModuleHook):
                answer = ask(hook, (self.module, self.args), self.args)
            elif not taken(hook, FORWARD_PRE, own):
                continue
            elif hook.with_kwargs:
                both = (self.args, self.kwargs)
                self.replace_both(hook, ask(hook, (self.module, *both), both))
                continue
            else:
                answer = ask(hook, (self.module, self.args), self.args)
            if answer is not None:
                self.args = answer if isinstance(answer, tuple) else (answer,)

    def replace_both(self, hook: Any, answer: Any) -> None:
        """Let a pre-hook's answer, if there is one, take the place of all arguments."""
        if answer is None:
            return
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise RuntimeError(
                f"forward pre-hook '{name_of(hook)}' must return None or a tuple of "
                f"(new_args, new_kwargs), returned {type(answer).__name__}"
            )
        self.args, self.kwargs = answer

    def run_forward(self) -> None:
        module = self.module
        self.result = module.forward(*self.args, **self.kwargs)
        own = module._forward_hooks
        for hook in hooks_of(FORWARD, own):
            if isinstance(hook, ModuleHook):
                if not taken(hook, FORWARD, own):
                    continue
                self.called.add(id(hook))
            self.run_forward_hook(hook)

    def run_forward_hook(self, hook: Any) -> None:
        if isinstance(hook, ModuleHook) and hook.with_kwargs:
            given = (self.module, self.args, self.kwargs, self.result)
            answer = ask(hook, given, self.result)
        else:
            answer = ask(hook, (self.module, self.args, self.result), self.result)
        if answer is not None:
            self.result = answer

    def run_always_called(self) -> None:
        """The call has failed: forward hooks that want to hear of it all the same."""
        own = self.module._forward_hooks
        for hook in hooks_of(FORWARD, own):
            if not isinstance(hook, ModuleHook) or not hook.always_call:
                continue
            if id(hook) in self.called or not taken(hook, FORWARD, own):
                continue
            try:
                self.run_forward_hook(hook)
            except Exception as error:  # the first error is the one to be raised
                warn(
                    f"module forward hook '{name_of(hook)}' with always_call=True raised an "
                    f"exception that was silenced as another error was raised in forward: {error}"
                )
