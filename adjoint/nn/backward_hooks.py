"""The full backward hooks of one call of a module: what they see, and what they may answer.

The gates of the call (gates.py) call them, with gradients nested as its arguments and results are.
Most calls are flat: tensors go in and come out, and no containers. A tuple of gradients is all the
nest there is then: nothing is taken apart or built, which takes several times as long as the rest.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

from typing import Any

from adjoint.autograd.graph_task import current_task
from adjoint.autograd.hooks import add_note, ask, name_of
from adjoint.autograd.provenance import warn
from adjoint.call.context import is_recording
from adjoint.nn.module_hooks import (
    BACKWARD,
    BACKWARD_PRE,
    KIND_BACKWARD,
    KIND_BACKWARD_PRE,
    ModuleHook,
    taken,
)
from adjoint.pytree import TreeSpec, tree_leaves, tree_structure
from adjoint.tensors.core import Spec, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor


def zeros(spec: Spec) -> Any:
    """The gradient where none came, of a tensor that looks like this."""
    return Tensor(backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype), AS_IS)


class Side:
    """The arguments or the results of a call: which of their leaves need a gradient."""

    def __init__(self, leaves: list[Any], nest: TreeSpec | None) -> None:
        self.nest: Any = nest  # how the leaves are nested; None: they are a tuple
        self.count = len(leaves)
        self.places: list[int] = []
        self.others: dict[int, Spec] | None = None
        if is_recording():
            for place, leaf in enumerate(leaves):
                if isinstance(leaf, Tensor) and leaf.requires_grad:
                    if leaf.layer is not None:
                        refuse_outside(leaf)
                    leaf.up_to_date()  # so that its node is the one it has now
                    self.places.append(place)

    def zero_others(self, leaves: list[Any]) -> None:
        """Have hooks see zeros for the tensors that need no gradient."""
        if len(self.places) < self.count:
            others = {p: t.spec() for p, t in enumerate(leaves) if isinstance(t, Tensor)}
            self.others = {p: spec for p, spec in others.items() if p not in self.places}

    def nested(self, grads: list[Any]) -> Any:
        """The gradients of the leaves that need one, in a nest like that of the values."""
        flat = grads
        if len(grads) < self.count:
            flat = [None] * self.count
            if self.others is not None:
                for place, spec in self.others.items():
                    flat[place] = zeros(spec)
            for place, grad in zip(self.places, grads):
                flat[place] = grad
        return tuple(flat) if self.nest is None else self.nest.unflatten(flat)

    def flat(self, nest: Any) -> list[Any]:
        """The gradients of the leaves that need one, from such a nest."""
        found = nest if self.nest is None else self.nest.flatten_up_to(nest)
        return [found[place] for place in self.places]


def refuse_outside(tensor: Tensor) -> None:
    """Hooks called at one level can't see gradients that are only asked for below it."""
    if not tensor.needs_grad and not tensor.layer.level.fades:
        raise RuntimeError(
            f"a module with full backward hooks is called inside {tensor.layer.level.opened_at()}, "
            "and what needs a gradient is outside, where it would pass the hooks by: differentiate "
            "inside with func.grad, call it under no_grad(), or remove the hooks"
        )


class Arguments(Side):
    """The arguments of a call; without containers, the last leaves are those with names."""

    def __init__(self, leaves: list[Any], nest: TreeSpec | None, names: list[str]) -> None:
        super().__init__(leaves, nest)
        self.names = names

    def gradients(self, grads: list[Any]) -> tuple[Any, Any]:
        """The gradients of the leaves that need one, as a tuple and a dictionary."""
        nest = self.nested(grads)
        if self.nest is not None:
            return nest[0], nest[1]
        if not self.names:
            return nest, {}
        positional = self.count - len(self.names)
        return nest[:positional], dict(zip(self.names, nest[positional:]))

    def flat_gradients(self, args: Any, kwargs: Any) -> list[Any]:
        """The gradients of the leaves that need one, from such a tuple and dictionary."""
        if self.nest is not None:
            return self.flat((args, kwargs))
        if not self.names and kwargs == {}:
            return self.flat(args)
        named = tree_structure(dict.fromkeys(self.names)).flatten_up_to(kwargs)
        return self.flat((*args, *named))


class BackwardHooks:
    """The full backward hooks and pre-hooks that a module had when it was called."""

    def __init__(self, module: Any, pre: list[Any], full: list[Any]) -> None:
        self.module = module
        self.pre = pre
        self.full = full
        self.inputs: Arguments | None = None
        self.outputs: Side | None = None

    def on_outputs(self, grads: list[Any]) -> list[Any]:
        """The gradients of all outputs are there: what goes into the module's own backward."""
        outputs, inputs = self.outputs, self.inputs
        assert outputs is not None and inputs is not None
        nest = outputs.nested(grads)
        for hook in self.pre:
            if is_over(hook, BACKWARD_PRE, self.module._backward_pre_hooks):
                continue
            try:
                answer = ask(hook, (self.module, nest), nest)
            except BaseException as error:
                name_in(error, KIND_BACKWARD_PRE, hook, self.module)
                raise
            if answer is not None:
                answer = counted(hook, "pre hook", "grad_output", nest, answer)
                new = outputs.flat(answer)
                check(hook, grads, new)
                nest, grads = answer, new
        if inputs.places:
            task = current_task()
            assert task is not None
            task.notes[self] = nest  # for the hooks on the inputs, in this pass
        else:
            self.run_without_inputs(nest)
        return grads

    def on_inputs(self, grads: list[Any]) -> list[Any]:
        """The gradients of all inputs are there: what goes on from the module."""
        inputs, task = self.inputs, current_task()
        assert inputs is not None and task is not None
        grad_output = task.notes.pop(self, None)
        if grad_output is None:
            return grads  # they did not come by way of the outputs, as in a second derivative
        args, kwargs = inputs.gradients(grads)
        for hook in self.full:
            if is_over(hook, BACKWARD, self.module._backward_hooks):
                continue
            answer = self.called(hook, args, kwargs, grad_output)
            if answer is None:
                continue
            if isinstance(hook, ModuleHook) and hook.with_kwargs:
                answer, kwargs = counted(hook, "hook", "results", (args, kwargs), answer)
            args = counted(hook, "hook", "grad_input", args, answer)
            new = inputs.flat_gradients(args, kwargs)
            check(hook, grads, new)
            grads = new
        return grads

    def run_without_inputs(self, grad_output: Any) -> None:
        """No input needs a gradient: the hooks are called now, and can't change anything."""
        inputs = self.inputs
        assert inputs is not None
        args, kwargs = inputs.gradients([])
        warned = False
        for hook in self.full:
            if is_over(hook, BACKWARD, self.module._backward_hooks):
                continue
            if not warned:
                warned = True
                warn(
                    f"full backward hook '{name_of(hook)}' of {type(self.module).__name__} is "
                    "called when the gradients of its outputs are there, because no input "
                    "requires a gradient"
                )
            answer = self.called(hook, args, kwargs, grad_output)
            if answer is not None and not (
                isinstance(answer, tuple) and all(leaf is None for leaf in tree_leaves(answer))
            ):
                raise RuntimeError(
                    f"backward hook '{name_of(hook)}' of {type(self.module).__name__}, no input of "
                    "which requires a gradient, should always return None or None for all "
                    "gradients"
                )

    def called(self, hook: Any, args: Any, kwargs: Any, grad_output: Any) -> Any:
        """What a full backward hook answers."""
        try:
            if isinstance(hook, ModuleHook) and hook.with_kwargs:
                return ask(hook, (self.module, args, kwargs, grad_output), (args, kwargs))
            return ask(hook, (self.module, args, grad_output), args)
        except BaseException as error:
            name_in(error, KIND_BACKWARD, hook, self.module)
            raise


def is_over(hook: Any, everyone: Any, own: Any) -> bool:
    """Whether a hook was for one call only, which has been made."""
    return isinstance(hook, ModuleHook) and not taken(hook, everyone, own)


def name_in(error: BaseException, kind: str, hook: Any, module: Any) -> None:
    """Let what a hook raised say which it was."""
    add_note(error, f"in the {kind} '{name_of(hook)}' of {type(module).__name__}")


def counted(hook: Any, kind: str, what: str, old: tuple[Any, ...], answer: Any) -> tuple[Any, ...]:
    """What a hook answered in place of gradients, if it has as many."""
    if isinstance(answer, Tensor) and len(old) == 1:
        return (answer,)
    if not isinstance(answer, (tuple, list)):
        count = f"a {type(answer).__name__}"
    elif len(answer) == len(old):
        return tuple(answer)
    else:
        count = str(len(answer))
    raise RuntimeError(
        f"backward {kind} '{name_of(hook)}' returned an invalid number of {what}, got {count}, "
        f"but expected {len(old)}"
    )


def check(hook: Any, old: list[Any], new: list[Any]) -> None:
    """Refuse what may not take the place of gradients."""
    for before, after in zip(old, new):
        if after is None or after is before:
            continue
        if not isinstance(after, Tensor):
            raise TypeError(
                f"backward hook '{name_of(hook)}' must return Tensors or None in place of "
                f"gradients, returned a {type(after).__name__}"
            )
        if before is None:
            continue
        was, now = before.spec(), after.spec()
        if now.shape != was.shape:
            raise RuntimeError(
                f"backward hook '{name_of(hook)}' has changed the size of value: a gradient "
                f"has shape {tuple(was.shape)}, it returned {tuple(now.shape)}"
            )
        if now.dtype != was.dtype:
            raise RuntimeError(
                f"backward hook '{name_of(hook)}' has changed the type of value: a gradient is "
                f"{was.dtype}, it returned {now.dtype}"
            )
        if now.array_type is not was.array_type and before.device != after.device:
            raise RuntimeError(
                f"backward hook '{name_of(hook)}' has changed the device of value: a gradient is "
                f"on {before.device}, it returned one on {after.device}"
            )
