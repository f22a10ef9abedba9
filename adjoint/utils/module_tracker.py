"""Which modules are running, in forward and in backward."""

import weakref
from collections.abc import Callable
from typing import Any

from adjoint.autograd.graph import current_task_id, queue_callback, register_multi_grad_hook
from adjoint.nn import Module, register_module_forward_hook, register_module_forward_pre_hook
from adjoint.pytree import tree_flatten
from adjoint.tensors.tensor import Tensor

__all__ = ["ModuleTracker"]


def _needing(tree: Any) -> list[Tensor]:
    """The tensors in a tree of values that gradients are computed for."""
    leaves = tree_flatten(tree)[0]
    return [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]


class ModuleTracker:
    """While it is entered, `parents` names the modules that are running, and "Global".

    A module's name begins with the class of the outermost module: "Net.encoder.0". In backward
    (`is_bw`) it runs from when the gradients of its outputs are there until those of its inputs
    are.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._pass = -1  # the backward that will be told of its end

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is under way."""
        return current_task_id() != -1

    def _name(self, module: Module) -> str:
        """The name of a module; of one that was not seen before, with those of all within it."""
        if module not in self._names:
            top = type(module).__name__
            for path, part in module.named_modules():
                self._names.setdefault(part, f"{top}.{path}" if path else top)
        return self._names[module]

    def _enter(self, name: str) -> None:
        if self.is_bw and self._pass != current_task_id():
            self._pass = current_task_id()
            queue_callback(self._end_of_pass)
        self.parents.add(name)

    def _end_of_pass(self) -> None:
        """Modules whose inputs need no gradient are left now."""
        self.parents = {"Global"}

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _when_there(self, tree: Any, action: Callable[[str], None], name: str) -> None:
        """Do something in backward once the gradients of all tensors in a tree are there."""
        tensors = _needing(tree)
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda grads: action(name)))

    def _before_forward(self, module: Module, inputs: Any) -> None:
        name = self._name(module)
        self._enter(name)
        self._when_there(inputs, self._leave, name)

    def _after_forward(self, module: Module, inputs: Any, output: Any) -> None:
        name = self._name(module)
        self._leave(name)
        self._when_there(output, self._enter, name)

    def __enter__(self) -> "ModuleTracker":
        self._handles.append(register_module_forward_pre_hook(self._before_forward))
        self._handles.append(register_module_forward_hook(self._after_forward))
        return self

    def __exit__(self, *exc: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
