"""Module.register_backward_hook: hooks on the last node of a module's call.

They see the gradients of that node's inputs, which need not be the module's;
register_full_backward_hook has taken their place.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from adjoint.autograd.hooks import RemovableHandle
from adjoint.autograd.node import Node
from adjoint.nn.module_hooks import register_module_forward_hook
from adjoint.tensor import Tensor

BackwardHook = Callable[[Any, Any, Any], Any]


def _first_tensor(value: Any) -> Any:
    """The first tensor of an output, through mappings and sequences."""
    while not isinstance(value, Tensor):
        if isinstance(value, Mapping):
            value = next(found for found in value.values() if isinstance(found, Tensor))
        else:
            value = value[0]
    return value


class _LastNodeHook:
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


def register_backward_hook(self: Any, hook: BackwardHook) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) when the last node of each call has run."""
    if self._backward_hooks:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a single Module: "
            "this one has full ones"
        )
    handle: RemovableHandle = self.register_forward_hook(_LastNodeHook(hook))
    return handle


def register_module_backward_hook(hook: BackwardHook) -> RemovableHandle:
    """The same for the calls of all modules."""
    return register_module_forward_hook(_LastNodeHook(hook))


METHODS: dict[str, Any] = {"register_backward_hook": register_backward_hook}
