"""The hooks' contract: who is called, with what, and what an answer may be.

The order of the kinds is the engine's (`engine.evaluate`); within a kind, hooks run in the order
of registration over a snapshot, so a hook may add or remove hooks.
"""

import weakref
from typing import Any, Final

from adjoint._base import HookTable, mypyc_attr
from adjoint.tensor_core import TensorCore, factory


class NodeHooks:
    """The hooks of one node, by kind; each kind is None until it is used."""

    def __init__(self) -> None:
        self.tensor: dict[int, HookTable] = {}
        self.retain: dict[int, Any] = {}  # output number → weak reference to the tensor
        self.pre: HookTable | None = None
        self.post: HookTable | None = None


class _HandleIds:
    def __init__(self) -> None:
        self.next = 0


_ids: Final[_HandleIds] = _HandleIds()


@mypyc_attr(native_class=False)
class RemovableHandle:
    """Takes a hook away again; it keeps neither the hook nor its owner alive."""

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        self.id = _ids.next
        _ids.next += 1
        extras = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref: Any = tuple(weakref.ref(d) for d in extras if d is not None)

    def remove(self) -> None:
        """Remove the hook; any number of times."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> Any:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        table, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(HookTable() if table is None else table)
        self.extra_dict_ref = tuple(weakref.ref(HookTable() if d is None else d) for d in extras)
        _ids.next = max(_ids.next, self.id + 1)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


def register(table: HookTable, hook: object) -> RemovableHandle:
    """Append a hook to a table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


def name_of(hook: Any) -> str:
    """A hook's name for error messages."""
    return str(getattr(hook, "__qualname__", None) or repr(hook))


def wrapped(grad: Any) -> Any:
    """A gradient as hooks see it: a Tensor, or None."""
    return grad if grad is None or isinstance(grad, TensorCore) else factory.tensor(grad)


def _checked(hook: Any, old: Any, new: Any) -> Any:
    """What a hook answered in place of a gradient, if it may take its place."""
    if not isinstance(new, TensorCore):
        raise TypeError(
            f"hook '{name_of(hook)}' must return None or a Tensor, returned {type(new).__name__}"
        )
    if old is None:
        raise RuntimeError(
            f"hook '{name_of(hook)}' replaced a gradient that is None; it may only return None here"
        )
    if new.array.shape != old.array.shape:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the size of value: the gradient has shape "
            f"{tuple(old.array.shape)}, it returned {tuple(new.array.shape)}"
        )
    if new.array.dtype != old.array.dtype:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value: the gradient is "
            f"{old.array.dtype}, it returned {new.array.dtype}"
        )
    return new


def run_tensor_hooks(hooks: NodeHooks, grads: list[Any]) -> list[Any]:
    """Tensor.register_hook's hooks of each output, then retain_grad."""
    grads = [wrapped(g) for g in grads]
    for number, table in hooks.tensor.items():
        for hook in list(table.values()):
            answer = _call(hook, grads[number])
            if answer is not None:
                grads[number] = _checked(hook, grads[number], answer)
    for number, reference in hooks.retain.items():
        tensor = reference()
        if tensor is not None and grads[number] is not None:
            tensor.keep_grad(grads[number])
    return grads


def _call(hook: object, *args: Any) -> Any:
    function: Any = hook
    return function(*args)


def run_pre_hooks(table: HookTable, grads: list[Any]) -> list[Any]:
    """Node.register_prehook: each sees all gradients of the outputs, as a tuple."""
    grads = [wrapped(g) for g in grads]
    for hook in list(table.values()):
        answer = _call(hook, tuple(grads))
        if answer is not None:
            grads = _checked_tuple(hook, grads, answer)
    return grads


def run_post_hooks(table: HookTable, results: list[Any], grads: list[Any]) -> list[Any]:
    """Node.register_hook: each sees the gradients of the inputs and those of the outputs."""
    results = [wrapped(g) for g in results]
    seen = tuple(wrapped(g) for g in grads)
    for hook in list(table.values()):
        answer = _call(hook, tuple(results), seen)
        if answer is not None:
            results = _checked_tuple(hook, results, answer)
    return results


def _checked_tuple(hook: Any, old: list[Any], answer: Any) -> list[Any]:
    if isinstance(answer, TensorCore):
        answer = (answer,)
    if not isinstance(answer, (tuple, list)):
        raise TypeError(
            f"hook '{name_of(hook)}' must return None or a tuple of Tensors, "
            f"returned {type(answer).__name__}"
        )
    if len(answer) != len(old):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values: "
            f"got {len(answer)}, but expected {len(old)}"
        )
    new: list[Any] = []
    for before, value in zip(old, answer):
        if value is before:
            new.append(value)
        elif value is None:
            new.append(None)
        else:
            new.append(_checked(hook, before, value))
    return new


def register_pre(hooks: NodeHooks, hook: Any) -> RemovableHandle:
    """See Node.register_prehook."""
    if hooks.pre is None:
        hooks.pre = HookTable()
    return register(hooks.pre, hook)


def register_post(hooks: NodeHooks, hook: Any) -> RemovableHandle:
    """See Node.register_hook."""
    if hooks.post is None:
        hooks.post = HookTable()
    return register(hooks.post, hook)
