"""torch.nn.modules.module: old hooks of modules, and the private tables of all modules' hooks.

Module.register_backward_hook puts hooks on the last node of a module's call. They see the gradients
of that node's inputs, which need not be the module's; register_full_backward_hook has taken their
place.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adjoint._base import HookTable
from adjoint.autograd.hooks import RemovableHandle
from adjoint.autograd.node import Node
from adjoint.nn.module_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    BUFFER_REGISTRATION,
    FORWARD,
    FORWARD_PRE,
    MODULE_REGISTRATION,
    PARAMETER_REGISTRATION,
    register_module_forward_hook,
)
from adjoint.nn.state_dict import EXTRA_STATE
from adjoint.tensors.tensor import Tensor

BackwardHook = Callable[[Any, Any, Any], Any]
_EXTRA_STATE_KEY_SUFFIX = EXTRA_STATE


def _addindent(s_: str, numSpaces: int) -> str:  # PyTorch's name
    """A text with spaces before all lines but the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)


def _first_tensor(value: Any) -> Any:
    """The first tensor of an output, through mappings and sequences."""
    while not isinstance(value, Tensor):
        if isinstance(value, Mapping):
            value = next(found for found in value.values() if isinstance(found, Tensor))
        else:
            value = value[0]
    return value


class LastNodeHook:
    """A forward hook that puts a hook on the node that made the output."""

    def __init__(self, hook: BackwardHook) -> None:
        self.hook = hook

    def __call__(self, module: Any, args: Any, output: Any) -> None:
        node = _first_tensor(output).grad_fn
        if node is None:
            return
        hook = self.hook
        node.register_hook(lambda inputs, outputs: hook(module, inputs, outputs))
        lack = _lack(node, args, output)
        if lack:
            warnings.warn(
                f"a non-full backward hook of {type(module).__name__} {lack}; use "
                "register_full_backward_hook",
                FutureWarning,
                stacklevel=2,
            )


def _lack(node: Node, args: Any, output: Any) -> str:
    """What the hook will not see, if anything."""
    results = output if isinstance(output, tuple) else (output,)
    for values, word in ((results, "grad_output"), (args, "grad_input")):
        if not all(isinstance(value, Tensor) for value in values):
            return f"will miss some {word}: not only tensors go in and come out"
    if {result.grad_fn for result in results} - {None, node}:
        return "will miss some grad_output: the outputs come from several nodes"
    before = {value.grad_fn for value in args} - {None}
    if before != {following for following, _ in node.next_functions}:
        return "will see the grad_input of its last node alone"
    return ""


def register_module_backward_hook(hook: BackwardHook) -> RemovableHandle:
    """The same for the calls of all modules."""
    return register_module_forward_hook(LastNodeHook(hook))


class Chosen(Mapping[int, bool]):
    """The ids of the hooks of a table that were registered with an option."""

    def __init__(self, table: HookTable, option: str) -> None:
        self.table = table
        self.option = option

    def __getitem__(self, key: int) -> bool:
        if not getattr(self.table[key], self.option, False):
            raise KeyError(key)
        return True

    def __iter__(self) -> Iterator[int]:
        return (key for key, hook in self.table.items() if getattr(hook, self.option, False))

    def __len__(self) -> int:
        return sum(1 for _ in self)


_global_forward_hooks_always_called = Chosen(FORWARD, "always_call")
_global_forward_hooks_with_kwargs = Chosen(FORWARD, "with_kwargs")

# The tables of the hooks of all modules, which a program may replace.
ASSIGNABLE = {
    "_global_backward_hooks": BACKWARD,
    "_global_backward_pre_hooks": BACKWARD_PRE,
    "_global_buffer_registration_hooks": BUFFER_REGISTRATION,
    "_global_forward_hooks": FORWARD,
    "_global_forward_pre_hooks": FORWARD_PRE,
    "_global_module_registration_hooks": MODULE_REGISTRATION,
    "_global_parameter_registration_hooks": PARAMETER_REGISTRATION,
}
globals().update(ASSIGNABLE)


def assign(name: str, hooks: Mapping[int, Any]) -> None:
    """Have these hooks of all modules and no others, as where PyTorch's table is replaced."""
    kept = dict(hooks)
    ASSIGNABLE[name].clear()
    ASSIGNABLE[name].update(kept)
