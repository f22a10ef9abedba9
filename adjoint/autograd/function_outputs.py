"""What the forward of a Function has returned, on its way to the user."""

import warnings
from typing import Any

from adjoint.autograd.function_node import FunctionNode, Saved, shows_output
from adjoint.autograd.intermediates import Intermediates
from adjoint.call.context import change_grad_enabled, current, is_recording, set_current
from adjoint.call.record import settle
from adjoint.ops.arranging.conversion import alias
from adjoint.tensors.changes import check_inplace
from adjoint.tensors.core import CUSTOM_VIEW, DEFAULT_VIEW, MULTI_OUTPUT_VIEW, is_floating
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.views import rebase
from adjoint.transforms.duals import primal_at


def is_view(tensor: Tensor) -> bool:
    """Whether a tensor shows the memory of another."""
    return tensor.extras is not None and tensor.extras.base is not None


class Outputs:
    """What forward of one call has returned, on its way to the user."""

    def __init__(
        self,
        node: FunctionNode,
        tensors: list[Tensor],
        output: Any,
        executable: bool,
        made: Intermediates,
    ) -> None:
        self.node = node
        self.made = made
        self.name: str = node.function.__name__
        self.inputs = {id(tensor) for tensor in tensors}
        self.tensors = tensors
        self.single = not isinstance(output, tuple)
        self.outputs: list[Any] = [output] if self.single else list(output)
        self.executable = executable
        context = node.context
        self.to_save: tuple[Any, ...] = context.pop("to_save", None) or ()
        self.saved_for_forward: tuple[Any, ...] = context.pop("saved_for_forward", None) or ()
        self.dirty = self.marked("dirty_tensors", "mark_dirty")
        self.constant = self.marked("non_differentiable", "mark_non_differentiable")
        self.pure_view = bool(context.get("_is_pure_view", False))

    def marked(self, attribute: str, method: str) -> dict[int, Tensor]:
        """The tensors given to one of ctx's methods, by identity."""
        found: dict[int, Tensor] = {}
        for i, tensor in enumerate(self.node.context.pop(attribute, None) or ()):
            if not isinstance(tensor, Tensor):
                raise RuntimeError(
                    f"{self.name}: {method} can only accept Tensors, but argument {i} is a "
                    f"{type(tensor).__name__}"
                )
            found[id(tensor)] = tensor
        return found

    def seen_below(self, level: Any, values: list[Any]) -> "Outputs":
        """The same call on what lies below a level of forward mode."""
        node = self.node.function._backward_cls()  # noqa: SLF001  # one idea in two classes
        tensors = node.connect([primal_at(level, value) for value in values])
        own = node.context["needs_input_grad"]
        seen = {name: primal_at(level, value) for name, value in self.node.context.items()}
        node.context.update(seen, needs_input_grad=own)
        executable = is_recording() and any(own)
        outputs = tuple(primal_at(level, out) for out in self.outputs)
        below = Outputs(node, tensors, outputs, executable, self.made)
        below.to_save = tuple(primal_at(level, tensor) for tensor in self.to_save)
        for mine, theirs in ((self.dirty, below.dirty), (self.constant, below.constant)):
            for tensor in mine.values():
                primal = primal_at(level, tensor)
                theirs[id(primal)] = primal
        return below

    def finish(self) -> Any:
        """The outputs as the user gets them: one, or a tuple."""
        results = self.finished()
        return results[0] if self.single else tuple(results)

    def finished(self) -> list[Any]:
        """The outputs on their node, and what backward needs saved."""
        self.check_saved()
        self.check_dirty()
        self.check_pure_view()
        for tensor in self.dirty.values():
            tensor.counter().bump()
        flags = [self.is_differentiable(out) for out in self.outputs]
        results = [
            self.attached(number, out, flags[number]) if isinstance(out, Tensor) else out
            for number, out in enumerate(self.outputs)
        ]
        self.mark_views(results, sum(flags) > 1)
        if self.executable:
            self.node.describe(results)
            self.node.differentiable = flags
            self.save()
            if len(self.node.context) > 1:  # more than needs_input_grad
                self.node.keep_outputs()
            settle(self.node, current())
        return results

    # ---- checks, before anything is changed ----

    def check_saved(self) -> None:
        """Only tensors can be saved."""
        for i, tensor in enumerate(self.to_save if self.executable else ()):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"{self.name}: save_for_backward can only save Tensors, but argument {i} is a "
                    f"{type(tensor).__name__}; keep other values as attributes of ctx"
                )
            if tensor is not None and tensor.inference:
                raise RuntimeError(
                    f"{self.name}: Inference tensors cannot be saved for backward. Clone it "
                    "outside inference_mode to get a normal tensor."
                )

    def check_returned(self) -> None:
        """After a setup_context, refuse to save what is input and output, as PyTorch does."""
        returned = {id(out) for out in self.outputs} & self.inputs - self.dirty.keys()
        for tensor in (*self.to_save, *self.saved_for_forward):
            if id(tensor) in returned:
                raise RuntimeError(
                    f"{self.name}: An input that has been returned as-is as output can't be saved "
                    "by setup_context, which could mean either of them. Return x.view_as(x) and "
                    "save that, or let forward take ctx and save x itself"
                )

    def check_dirty(self) -> None:
        """What was marked dirty must be an input and an output, and autograd able to follow."""
        returned = {id(out) for out in self.outputs}
        for key, tensor in self.dirty.items():
            if key not in returned:
                raise RuntimeError(
                    f"{self.name}: Some elements marked as dirty during the forward method were "
                    "not returned as output. Return every input that is changed in place."
                )
            if key not in self.inputs:
                if self.executable:
                    self.complain_of_stranger(tensor)
            elif self.is_differentiable(tensor):
                if is_view(tensor) and len(self.outputs) > 1:
                    raise RuntimeError(
                        f"{self.name}: your Function modifies inplace an input that is a view of "
                        "another Tensor, and returns more than one output, which is not supported. "
                        "Give it a clone of the view, or let it return only that."
                    )
                check_inplace(self.name, tensor, constant=True, recorded=True)

    def complain_of_stranger(self, tensor: Tensor) -> None:
        """A tensor marked dirty that was not given to forward."""
        if is_view(tensor):
            raise RuntimeError(
                f"{self.name}: mark_dirty received a tensor that was not an input. It is a view, "
                "whose base would be lost; do not mark it."
            )
        warnings.warn(
            f"{self.name}: only inputs need be given to mark_dirty; a tensor made by forward was",
            stacklevel=5,
        )

    def check_pure_view(self) -> None:
        """A Function that says it is a view op must look like one."""
        made = sum(isinstance(out, Tensor) for out in self.outputs)
        if self.pure_view and self.executable and (len(self.tensors) != 1 or made != 1):
            raise RuntimeError(
                f"{self.name}: a Pure view custom Function can only have one input Tensor and one "
                f"output Tensor, got {len(self.tensors)} and {made}"
            )

    # ---- outputs ----

    def is_differentiable(self, out: Any) -> bool:
        """Whether an output gets a gradient."""
        if not self.executable or not isinstance(out, Tensor):
            return False
        return id(out) not in self.constant and is_floating(out.array)

    def attached(self, number: int, out: Tensor, differentiable: bool) -> Tensor:
        """One output as the user gets it."""
        given = id(out) in self.inputs
        changed = given and id(out) in self.dirty
        if not differentiable:
            return self.without_history(out, given, changed)
        if changed:
            position = next(i for i, tensor in enumerate(self.tensors) if tensor is out)
            rebase(out, self.node, number, position)
            return out
        if given:
            settings = current()
            try:
                change_grad_enabled(False)
                out = alias(out)
            finally:
                set_current(settings)
        out.node, out.output_number, out.needs_grad = self.node, number, True
        return out

    def without_history(self, out: Tensor, given: bool, changed: bool) -> Tensor:
        """An output that has no gradient; an input is left as it is and shown under a new name."""
        if given:
            if out.requires_grad:
                return out.detach()
            return out if changed else alias(out)
        if out.needs_grad and not is_view(out):
            out.detach_()
        return out

    def mark_views(self, results: list[Any], several: bool) -> None:
        """Views that forward made can't be made again, so they can't be changed in place."""
        for out, original in zip(results, self.outputs):
            if not isinstance(out, Tensor) or not is_view(out):
                continue
            extras = out.rare()
            if self.shows_part(extras.base):
                extras.base, extras.steps = self.tensors[0], (self.node.context["view_step"],)
            extras.view_version = out.counter().value
            if id(original) in self.dirty and id(original) in self.inputs:
                continue
            if self.pure_view and self.executable and self.shows_input(extras.base):
                extras.creation = DEFAULT_VIEW
            elif is_recording():
                extras.creation = MULTI_OUTPUT_VIEW if several else CUSTOM_VIEW

    def shows_input(self, base: Any) -> bool:
        """Whether a view of base is one of the input, so that making it again is right."""
        (source,) = self.tensors
        own = None if source.extras is None else source.extras.base
        return base is source or (own is not None and base is own)

    def shows_part(self, base: Any) -> bool:
        """Whether a custom op reads, by a view of base, what its only argument holds."""
        if not self.pure_view or not self.executable or "view_step" not in self.node.context:
            return False
        (source,) = self.tensors
        if source.layer is None or not source.layer.wraps:
            return False
        return any(base is part for part in source.layer.parts(source))

    # ---- what backward needs ----

    def save(self) -> None:
        """Keep what was given to save_for_backward, through the hooks on saving."""
        pairs = current().saved_hooks
        kept: list[Saved] = []
        for tensor in self.to_save:
            saved = Saved(tensor)
            if tensor is not None:
                if tensor.node is self.node or (id(tensor) in self.dirty and tensor.needs_grad):
                    saved.as_output(self.node, bool(pairs))
                else:
                    saved.intermediate = self.is_intermediate(tensor)
                    if shows_output(tensor, self.node):
                        saved.as_view_of_output()
                saved.pack(pairs)
            kept.append(saved)
        self.node.saved = tuple(kept)

    def is_intermediate(self, tensor: Tensor) -> bool:
        """Whether forward made this from its inputs, and only backward will see it."""
        if id(tensor) in self.inputs or any(tensor is out for out in self.outputs):
            return False
        own_leaf = tensor.needs_grad and not is_view(tensor)
        return tensor.node is None and not own_leaf and self.made.holds(tensor)
