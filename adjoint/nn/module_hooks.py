"""The hooks of modules: their tables, and how they are registered; module_call.py runs them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint._base import HookTable
from adjoint.autograd.hooks import RemovableHandle, insert, name_of
from adjoint.call.context import current

# The kinds of hook, in the words of lists and messages.
KIND_FORWARD_PRE = "forward pre-hook"
KIND_FORWARD = "forward hook"
KIND_BACKWARD_PRE = "full backward pre-hook"
KIND_BACKWARD = "full backward hook"
KIND_REGISTRATION = "registration hook"

FORWARD_PRE = HookTable()
FORWARD = HookTable()
BACKWARD_PRE = HookTable()
BACKWARD = HookTable()
BUFFER_REGISTRATION = HookTable()
MODULE_REGISTRATION = HookTable()
PARAMETER_REGISTRATION = HookTable()


class _AllModules:
    """Whose the hooks are that every module's call runs."""

    def __init__(self) -> None:
        self.tables = [
            (KIND_FORWARD_PRE, FORWARD_PRE),
            (KIND_FORWARD, FORWARD),
            (KIND_BACKWARD_PRE, BACKWARD_PRE),
            (KIND_BACKWARD, BACKWARD),
            (KIND_REGISTRATION, BUFFER_REGISTRATION),
            (KIND_REGISTRATION, MODULE_REGISTRATION),
            (KIND_REGISTRATION, PARAMETER_REGISTRATION),
        ]

    def hook_tables(self) -> list[tuple[str, HookTable]]:
        """The kinds and tables of these hooks, which `autograd.graph.hooks` lists."""
        return self.tables

    def __repr__(self) -> str:
        return "all modules"


ALL_MODULES = _AllModules()


@dataclass(slots=True, repr=False)
class ModuleHook:
    """A hook registered with options; one without is kept as it is."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
    once: bool = False
    name: str | None = None

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return self.name or name_of(self.function)


def add_hook(
    kind: str,
    table: HookTable,
    hook: Callable[..., Any],
    *,
    prepend: bool = False,
    **options: Any,
) -> RemovableHandle:
    """Put a hook at the end of a table, or at the beginning."""
    if not callable(hook):
        raise TypeError(f"a {kind} must be callable, got {type(hook).__name__}")
    earlier = list(table.items())
    entry = ModuleHook(hook, **options) if any(options.values()) else hook
    handle = insert(table, entry)
    if prepend:
        for key, other in earlier:
            del table[key]
            table[key] = other
    return handle


def taken(hook: Any, *tables: HookTable) -> bool:
    """Whether a hook from these tables may be called; one that is once-only is used up by it."""
    if not isinstance(hook, ModuleHook) or not hook.once:
        return True
    tracing = current().tracing
    if tracing is not None:
        tracing.spent = True
    found = [(table, key) for table in tables for key, entry in table.items() if entry is hook]
    return any(table.pop(key, None) is not None for table, key in found)


class CallHooks:
    """The part of a Module that registers the hooks of its call."""

    _forward_pre_hooks: HookTable
    _forward_hooks: HookTable
    _backward_pre_hooks: HookTable
    _backward_hooks: HookTable

    def register_forward_pre_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        name: str | None = None,
        once: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args) before each forward; what it returns replaces args.

        With `with_kwargs` it is hook(module, args, kwargs), and answers None or both. A hook may
        have a `name`, by which it is listed, and may be for one call only.
        """
        return add_hook(
            KIND_FORWARD_PRE,
            self._forward_pre_hooks,
            hook,
            prepend=prepend,
            with_kwargs=with_kwargs,
            name=name,
            once=once,
        )

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
        name: str | None = None,
        once: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, args, output) after each forward; what it returns replaces output.

        With `with_kwargs` it is hook(module, args, kwargs, output); with `always_call` it is called
        even if the forward, or a hook, raises.
        """
        return add_hook(
            KIND_FORWARD,
            self._forward_hooks,
            hook,
            prepend=prepend,
            with_kwargs=with_kwargs,
            always_call=always_call,
            name=name,
            once=once,
        )

    def register_full_backward_pre_hook(
        self,
        hook: Callable[..., Any],
        prepend: bool = False,
        *,
        name: str | None = None,
        once: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, grad_output) in backward, before the module's own part of it.

        grad_output is a tuple with an element for each output, nested as the outputs are; what
        hook returns replaces it.
        """
        return add_hook(
            KIND_BACKWARD_PRE,
            self._backward_pre_hooks,
            hook,
            prepend=prepend,
            name=name,
            once=once,
        )

    def register_full_backward_hook(
        self,
        hook: Callable[..., Any],
        prepend: bool = False,
        *,
        with_kwargs: bool = False,
        name: str | None = None,
        once: bool = False,
    ) -> RemovableHandle:
        """Call hook(module, grad_input, grad_output) when the gradients of all inputs are there.

        grad_input has an element for each positional argument, nested as the arguments are, and
        None for what is no tensor; what hook returns replaces it. With `with_kwargs` it is
        hook(module, grad_input, grad_kwargs, grad_output), and answers None or the first two.
        """
        return add_hook(
            KIND_BACKWARD,
            self._backward_hooks,
            hook,
            prepend=prepend,
            with_kwargs=with_kwargs,
            name=name,
            once=once,
        )


# ---- hooks of all modules ----


def register_module_forward_pre_hook(
    hook: Callable[..., Any], *, name: str | None = None, once: bool = False
) -> RemovableHandle:
    """Call hook(module, args) before every module's forward."""
    return add_hook(KIND_FORWARD_PRE, FORWARD_PRE, hook, name=name, once=once)


def register_module_forward_hook(
    hook: Callable[..., Any],
    *,
    with_kwargs: bool = False,
    always_call: bool = False,
    name: str | None = None,
    once: bool = False,
) -> RemovableHandle:
    """Call hook(module, args, output) after every module's forward."""
    return add_hook(
        KIND_FORWARD,
        FORWARD,
        hook,
        with_kwargs=with_kwargs,
        always_call=always_call,
        name=name,
        once=once,
    )


def register_module_full_backward_pre_hook(
    hook: Callable[..., Any], *, name: str | None = None, once: bool = False
) -> RemovableHandle:
    """Call hook(module, grad_output) before every module's part of backward."""
    return add_hook(KIND_BACKWARD_PRE, BACKWARD_PRE, hook, name=name, once=once)


def register_module_full_backward_hook(
    hook: Callable[..., Any],
    *,
    with_kwargs: bool = False,
    name: str | None = None,
    once: bool = False,
) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) after every module's part of backward."""
    return add_hook(KIND_BACKWARD, BACKWARD, hook, with_kwargs=with_kwargs, name=name, once=once)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, buffer) before a buffer is registered; it may answer another."""
    return add_hook(KIND_REGISTRATION, BUFFER_REGISTRATION, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, submodule) before a submodule is; it may answer another."""
    return add_hook(KIND_REGISTRATION, MODULE_REGISTRATION, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call hook(module, name, parameter) before a parameter is; it may answer another."""
    return add_hook(KIND_REGISTRATION, PARAMETER_REGISTRATION, hook)


def registered(table: HookTable, module: Any, name: str, value: Any) -> Any:
    """What a value is registered as, after the hooks on registration."""
    for hook in list(table.values()):
        function: Any = hook
        answer = function(module, name, value)
        if answer is not None:
            value = answer
    return value
