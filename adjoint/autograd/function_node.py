"""The node of a custom Function, what it saves, and the ctx its methods see.

The ctx shows the node without the node's own fields, so that a Function may keep `ctx.shape` or any
other attribute: attributes live in one dictionary of the node, which every ctx of it shares.
"""

import weakref
from typing import Any

from adjoint.autograd.node import (
    ANY_DEPTH,
    USER,
    Node,
    broadcasts_to,
    conform,
    edge_node,
    mark,
    next_sequence_number,
)
from adjoint.autograd.saved_tensors import SavedTensor, check_version, freed, pack
from adjoint.call.context import change_grad_enabled, current, is_recording, set_current
from adjoint.call.overriding import created_by, creating_mode
from adjoint.dtypes import COMPLEX, category_of
from adjoint.tensors.core import Spec, backend_of, raw
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

# What a ctx shows of its node, besides the attributes a Function has set.
SHOWN = (
    "name",
    "next_functions",
    "metadata",
    "register_hook",
    "register_prehook",
    "saved_tensors",
    "_raw_saved_tensors",
    "_sequence_nr",
)


class FunctionCtx:
    """What the methods of a Function share about one call; see autograd.Function."""

    __slots__ = ("__dict__", "__weakref__", "_adjoint_node")

    def __init__(self, node: "FunctionNode | None" = None) -> None:
        self._adjoint_node = node
        if node is not None:
            self.__dict__ = node.context

    def __getattr__(self, name: str) -> Any:
        node = self._adjoint_node
        if node is not None:
            kept = node.own_outputs.get(name)
            if kept is not None:
                return kept.found(node, name)
            if name in SHOWN:
                return getattr(node, name)
        raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<ctx of {self.__class__.__name__} at {id(self):#x}>"

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, which finds them in `saved_tensors`; call it once."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for jvp, which finds them in `saved_tensors`; call it once."""
        for i, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    f"save_for_forward: argument {i} is a {type(tensor).__name__}, not a Tensor; "
                    "keep other values as attributes of ctx"
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """These inputs are changed in place by forward; it must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """These outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward sees zeros in place of gradients that did not come; it does at first."""
        if not isinstance(value, bool):
            raise TypeError(f"set_materialize_grads wants a bool, got {type(value).__name__}")
        self.materialize_grads = value

    @property  # type: ignore[misc]  # nobody assigns it
    def __class__(self) -> Any:
        """The class of the node: as in PyTorch, a ctx is an instance of Node."""
        node = self._adjoint_node
        return FunctionCtx if node is None else type(node)


class CtxWithOutputs(FunctionCtx):
    """A ctx some of whose attributes are outputs; one that can delete them is slower to set any."""

    __slots__ = ()

    def __delattr__(self, name: str) -> None:
        node = self._adjoint_node
        kept = None if node is None else node.own_outputs.pop(name, None)
        if kept is None or name in self.__dict__:
            super().__delattr__(name)


def apart(tensor: Tensor, node: "FunctionNode") -> Tensor:
    """The memory of an output alone; modes see that, as in PyTorch, as a detach."""
    shows = node.shows_outputs and current().modes
    return upper.seen_below("detach", tensor) if shows else tensor.shared()


class Saved:
    """One tensor saved for backward, with the version it had."""

    def __init__(self, tensor: Tensor | None) -> None:
        self.value: Any = tensor
        self.version = 0 if tensor is None else tensor.version()
        self.output_number = -1
        self.node: Any = None  # weak: of an output whose node is not the Function's own
        self.intermediate = False  # made by forward from its inputs, and no output

    def as_output(self, owner: "FunctionNode", packed: bool) -> None:
        """It is an output, which refers to the node: keep its memory; hooks may take it."""
        tensor = self.value
        self.output_number = tensor.output_number
        self.node = None if tensor.node is owner else weakref.ref(tensor.node)
        self.value = tensor.shared() if packed else apart(tensor, owner)

    def as_view_of_output(self) -> None:
        """It is a view of an output, and its base refers to the node: keep its memory alone."""
        self.value = self.value.shared()

    def pack(self, pairs: tuple[Any, ...]) -> None:
        """Send it through hooks on saving."""
        self.value = pack(self.value, pairs)

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack the tensor with the first function now, and unpack it with the second each time."""
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError(
                "register_hooks: incompatible function arguments; it wants two functions, "
                f"got {type(pack_hook).__name__} and {type(unpack_hook).__name__}"
            )
        if isinstance(self.value, SavedTensor):
            raise RuntimeError("register_hooks: hooks of this saved tensor have already been set")
        if self.value is None:
            raise RuntimeError(
                "register_hooks: calling it on a saved value that is None is forbidden"
            )
        self.pack(((pack_hook, unpack_hook),))

    def unpack(self, owner: "FunctionNode", number: int) -> Any:
        """The tensor again, with its place in the graph; refused if it was changed since."""
        value = self.value
        if isinstance(value, SavedTensor):
            tensor: Any = value.unpack(self.output_number >= 0 and owner.shows_outputs)
        elif value is None:
            return None
        else:
            counter = None if value.extras is None else value.extras.counter
            check_version(owner, f"saved_tensors[{number}]", self.version, counter)
            tensor = value
        if self.output_number >= 0:
            node = owner if self.node is None else self.node()
            if current().modes and tensor is value:
                tensor = apart(tensor, owner)
            return placed(tensor, node, self.output_number)
        if self.intermediate and is_recording():
            return placed(tensor, owner.lost_history(number, tensor), 0)
        return tensor


class KeptOutput:
    """An output that forward has set on ctx: the tensor while somebody has it, then its memory."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = weakref.ref(tensor)
        self.output_number = -1 if tensor.node is None else tensor.output_number
        self.memory = tensor.shared()
        self.version = tensor.version()

    def found(self, owner: "FunctionNode", name: str) -> Tensor:
        """The tensor, or one like it; refused if its history would miss a change."""
        tensor: Tensor | None = self.tensor()
        if tensor is None:
            if is_recording():
                check_version(owner, name, self.version, self.memory.counter())
            node = None if self.output_number < 0 else owner
            tensor = placed(self.memory, node, self.output_number)
            self.tensor = weakref.ref(tensor)
        return tensor


class KeptTuple:
    """A tuple on ctx with outputs in it."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def found(self, owner: "FunctionNode", name: str) -> tuple[Any, ...]:
        """The tuple with the outputs in their places."""
        return tuple(
            part.found(owner, f"{name}[{i}]") if isinstance(part, KeptOutput | KeptTuple) else part
            for i, part in enumerate(self.parts)
        )


def shows_output(tensor: Tensor, node: "FunctionNode") -> bool:
    """Whether a plain tensor without history is a view of an output of node."""
    base = None if tensor.extras is None else tensor.extras.base
    if base is None or base.node is not node:
        return False
    return type(tensor) is Tensor and tensor.node is None


def without_outputs(value: Any, node: "FunctionNode", known: dict[int, KeptOutput]) -> Any:
    """A value set on ctx in a form that does not refer to the node; itself if it doesn't anyway."""
    if type(value) is Tensor:
        if value.node is not node and not shows_output(value, node):
            return value
        if id(value) not in known:
            known[id(value)] = KeptOutput(value)
        return known[id(value)]
    if type(value) is tuple:
        parts = [without_outputs(part, node, known) for part in value]
        if any(part is not before for part, before in zip(parts, value)):
            return KeptTuple(parts)
    return value


def specs(outputs: list[Any]) -> list[Spec]:
    """What the gradients of outputs must look like; what is no tensor is described like one."""
    found = [out.spec() if isinstance(out, Tensor) else None for out in outputs]
    some = next(spec for spec in found if spec is not None)
    return [some if spec is None else spec for spec in found]


def placed(tensor: Any, node: Node | None, output_number: int) -> Tensor:
    """The same memory as an output of node."""
    shown: Tensor = tensor.shared()
    if node is not None:
        shown.node, shown.output_number, shown.needs_grad = node, output_number, True
    return shown


class FunctionNode(Node):
    """The backward of one call of a Function; each Function has a subclass of its own."""

    function: Any = None
    shows_outputs = True  # whether modes see that saved outputs are apart from those that were made
    # Attributes of ctx that are outputs; replaced for one node, never changed for all.
    own_outputs: dict[str, KeptOutput | KeptTuple] = {}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(next_sequence_number())
        self.lane = USER
        mark(self, ANY_DEPTH)
        self.context: dict[str, Any] = {}
        self.is_input: list[bool] = []  # for each argument of forward whether it is a tensor
        self.differentiable: list[bool] = []  # for each output
        self.is_output: list[bool] = []  # for each output whether it is a tensor
        self.saved: tuple[Saved, ...] = ()
        self.spent = False
        self.pushing: tuple[Any, ...] | None = None  # what jvp finds saved, while it runs

    def __getattr__(self, name: str) -> Any:
        context = self.__dict__.get("context")
        if context is not None and name in context:
            return context[name]
        kept = self.own_outputs.get(name)
        if kept is not None:
            return kept.found(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def takes_none(self) -> bool:
        """A Function's backward is called with zeros, or None, as PyTorch does."""
        return True

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"cannot pickle or copy '{type(self).__name__}', a node of the graph")

    def connect(self, arguments: list[Any]) -> list[Tensor]:
        """Edges to the tensors among the arguments, which are returned."""
        found: list[Tensor] = []
        for argument in arguments:
            self.is_input.append(isinstance(argument, Tensor))
            if isinstance(argument, Tensor):
                argument.up_to_date()
                found.append(argument)
                self.add_edge(edge_node(argument), argument.output_number)
        needs = [isinstance(a, Tensor) and a.requires_grad for a in arguments]
        self.context["needs_input_grad"] = tuple(needs)
        return found

    def describe(self, outputs: list[Any]) -> None:
        """What the gradients of the outputs must look like; of values that are no tensors, none."""
        self.is_output = [isinstance(out, Tensor) for out in outputs]
        if any(self.is_output):
            self.outputs = specs(outputs)
        if len(outputs) == 1 and self.outputs is not None:
            self.spec, self.outputs = self.outputs[0], None

    # ---- what was saved ----

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors given to save_for_backward, each as it was; in jvp, to save_for_forward."""
        if self.pushing is not None:
            return self.pushing
        kept = self.saved
        if self.released:
            raise freed(self.name())
        if self.spent:
            raise RuntimeError(
                f"{self.name()}: saved_tensors can only be accessed once, because "
                f"{self.function.__name__} sets clear_saved_tensors_on_access"
            )
        found = tuple(saved.unpack(self, i) for i, saved in enumerate(kept))
        if kept and self.function.clear_saved_tensors_on_access:
            self.spent, self.saved = True, ()
        return found

    @property
    def _raw_saved_tensors(self) -> tuple[Saved, ...]:
        if self.released:
            raise freed(self.name())
        return self.saved

    def new_ctx(self) -> FunctionCtx:
        """A ctx for a method that is called after forward."""
        return CtxWithOutputs(self) if self.own_outputs else FunctionCtx(self)

    def keep_outputs(self) -> None:
        """Keep the attributes of ctx that are outputs so that they don't refer to this node."""
        found: dict[str, Any] = {}
        known: dict[int, KeptOutput] = {}
        for name, value in self.context.items():
            kind = type(value)
            if (kind is Tensor or kind is tuple) and name != "needs_input_grad":
                kept = without_outputs(value, self, known)
                if kept is not value:
                    found[name] = kept
        if found:
            self.own_outputs = found
            for name in found:
                del self.context[name]

    def release(self) -> None:
        self.released = True  # first: another thread may be reading them
        self.saved = ()

    def lost_history(self, number: int, tensor: Tensor) -> Node:
        """Where the gradient of a saved intermediate would go, if anyone asked for it."""
        name = self.function.__name__
        return DelayedError(
            f"{name}: its backward was differentiated through saved_tensors[{number}], which "
            f"{name}.forward computed from its inputs but did not return, so how it depends on "
            "them is not known and the second derivative would be silently wrong. Return it as "
            "an output as well, or save the inputs and compute it again in backward.",
            self.edges(),
            [tensor],
        )

    # ---- one step of backward ----

    def apply(self, grads: Any, create_graph: Any = None, wanted: Any = None, *more: Any) -> Any:
        """See Node. Called by a user, with one Tensor for each output, it is backward itself."""
        if not isinstance(grads, list) or not isinstance(create_graph, bool):
            given = (grads, create_graph, wanted, *more)
            return self.call_backward(list(given[: self.output_count()]))
        settings = current()
        try:
            change_grad_enabled(create_graph and settings.recording)
            answer = self.call_backward(self.incoming(grads))
            return self.outgoing(answer, create_graph)
        finally:
            set_current(settings)

    def rule(self) -> Any:
        """The Function's backward."""
        raise NotImplementedError

    def call_backward(self, grads: list[Any]) -> Any:
        """The user's backward (or vjp) on Tensors; nobody else holds this list."""
        rule, ctx = self.rule(), self.new_ctx()
        return rule(ctx, grads) if self.function.boxed_grads_call else rule(ctx, *grads)

    def incoming(self, grads: list[Any]) -> list[Any]:
        """The gradients as backward sees them: Tensors, and zeros where none came."""
        zeros = self.context.get("materialize_grads", True)
        constant = zeros and self.context.get("_materialize_non_diff_grads", True)
        seen: list[Any] = []
        for i, grad in enumerate(grads):
            if grad is not None:
                seen.append(grad if isinstance(grad, Tensor) else Tensor(grad, AS_IS))
            else:
                wants_zeros = zeros if self.differentiable[i] else constant
                seen.append(self.zeros_for(i) if wants_zeros else None)
        return seen

    def zeros_for(self, number: int) -> Tensor | None:
        """A gradient of zeros for a tensor among the outputs."""
        if not self.is_output[number]:
            return None
        spec = self.spec_of(number)
        made = Tensor(backend_of(spec.array_type).xp.zeros(spec.shape, spec.dtype), AS_IS)
        mode = creating_mode()
        return made if mode is None else created_by(mode, "absent", (made,), {})

    def outgoing(self, answer: Any, create_graph: bool) -> list[Any]:
        """What backward returned, checked, for the tensors among the inputs."""
        grads = answer if isinstance(answer, tuple) else (answer,)
        count = len(self.is_input)
        if len(grads) != count and (
            len(grads) < count or any(g is not None for g in grads[count:])
        ):
            raise RuntimeError(
                f"{self.name()} returned an incorrect number of gradients: {len(grads)}, but "
                f"forward was given {count} arguments; return None for those without one"
            )
        edges = iter(self.edges())
        sent: list[Any] = []
        for i, is_tensor in enumerate(self.is_input):
            grad = grads[i]
            edge = next(edges) if is_tensor else None
            if grad is not None:
                self.check(i, grad, edge)
                grad = grad if create_graph else raw(grad)
                if edge is not None and edge[0] is not None:
                    grad = conform(edge[0], edge[1], grad)
            if is_tensor:
                sent.append(grad)
        return sent

    def check(self, position: int, grad: Any, edge: Any) -> None:
        """Refuse a gradient that is none for the argument at this position."""
        if edge is None:
            raise RuntimeError(
                f"{self.name()} returned a gradient other than None at position {position + 1}, "
                "but that argument of forward was not a Tensor"
            )
        if not isinstance(grad, Tensor):
            raise RuntimeError(
                f"{self.name()}: expected a Tensor or None as gradient at position {position + 1}, "
                f"got {type(grad).__name__}"
            )
        grad.up_to_date()
        node, number = edge
        if node is None:
            return
        spec = node.spec_of(number)
        if not broadcasts_to(spec.shape, grad.array.shape):
            raise RuntimeError(
                f"{self.name()} returned an invalid gradient at position {position + 1}: got "
                f"{list(grad.array.shape)} but expected shape {list(spec.shape)}, or one that "
                "broadcasting gives"
            )
        if category_of(grad.array.dtype) == COMPLEX and category_of(spec.dtype) != COMPLEX:
            raise RuntimeError(
                f"{self.name()} returned a complex gradient at position {position + 1}, but that "
                "argument of forward is real; return the real part"
            )


class DelayedError(Node):
    """Stands where a derivative can't be computed; says so when a pass gets there."""

    def __init__(self, message: str, edges: Any, tensors: list[Tensor | None]) -> None:
        super().__init__(next_sequence_number())
        self.message = message
        for node, number in edges:
            self.add_edge(node, number)
        self.outputs = specs(tensors)

    def apply(
        self, grads: list[Any], create_graph: bool, wanted: list[bool] | None = None
    ) -> list[Any]:
        raise RuntimeError(self.message)


DelayedError.__name__ = DelayedError.__qualname__ = "Error"  # what PyTorch shows of such a node
