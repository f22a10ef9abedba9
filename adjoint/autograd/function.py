"""autograd.Function: an operation with a backward of its own.

`apply` calls the Function's op, by the path of all calls. The op makes a node (`function_node`),
runs forward without recording, and hangs the outputs on the node; docs/notes/functions.md says
what may be returned, saved and changed.
"""

import contextlib
import functools
import inspect
import warnings
from typing import Any

from adjoint.autograd.function_batches import VmapInfo, at_level, by_rule, put_above
from adjoint.autograd.function_node import (
    DelayedError,
    FunctionCtx as FunctionCtx,
    FunctionNode,
    Saved,
    placed,
    shows_output,
)
from adjoint.autograd.intermediates import Intermediates
from adjoint.call import dispatch
from adjoint.call.context import change_grad_enabled, current, is_grad_enabled, set_current
from adjoint.call.layers import lies_in, opened
from adjoint.call.record import settle
from adjoint.ops.arranging.conversion import alias
from adjoint.ops.arranging.shape import expand, movedim
from adjoint.ops.op import Op
from adjoint.ops.reducing.reduction import sum_to_size
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors import views
from adjoint.tensors.core import CUSTOM_VIEW, DEFAULT_VIEW, MULTI_OUTPUT_VIEW, is_floating
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, batched_value, value_at
from adjoint.transforms.duals import dual, primal_at, take_part, tangent_at, zeros_like

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class Function:
    """An operation with its own derivative: subclass it, write static methods, call `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`;
    and `backward(ctx, *grads)`, which answers one gradient for each argument of forward.
    """

    clear_saved_tensors_on_access = False
    boxed_grads_call = False  # backward takes the gradients in one list, which it may empty
    generate_vmap_rule = False
    _backward_cls: type[FunctionNode] = FunctionNode
    _ops: dict[tuple[str, ...], "FunctionOp"] = {}  # noqa: RUF012  # each subclass has its own

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._ops = {}
        cls._backward_cls = type(
            cls.__name__ + "Backward",
            (FunctionNode,),
            {"function": cls, "rule": lambda node: _backward_of(cls), "__module__": __name__},
        )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self).__name__} should not be instantiated: the methods of a Function are "
            f"static; call {type(self).__name__}.apply(...)",
            DeprecationWarning,
            stacklevel=2,
        )
        self._node = self._backward_cls()

    def __getattr__(self, name: str) -> Any:
        if name == "_node":  # __init__ was not run
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(self._node, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Legacy autograd function with non-static forward method is deprecated, and "
            f"{type(self).__name__} can't be called. Make its forward and backward static methods "
            f"that take ctx first, and call {type(self).__name__}.apply(...)."
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or without ctx if there's setup_context."""
        raise NotImplementedError("a custom autograd.Function must implement the forward method")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what backward will need, after a forward that takes no ctx."""
        raise NotImplementedError("setup_context is not implemented by this autograd.Function")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of forward's arguments, from those of its outputs."""
        raise NotImplementedError(
            "a custom autograd.Function must implement either the backward or the vjp method to be "
            "differentiated"
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of forward's arguments."""
        raise NotImplementedError(
            "a custom autograd.Function must implement the jvp function for forward mode"
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Forward over a batch: (output, out_dims)."""
        raise NotImplementedError(
            "to use an autograd.Function with vmap, override its vmap static method or set "
            "generate_vmap_rule = True"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function."""
        if cls.setup_context is not Function.setup_context:
            args, kwargs = _bound(cls.forward, args, kwargs, all_defaults=True)
        elif kwargs:
            args, kwargs = _bound(cls.forward, (None, *args), kwargs, all_defaults=False)
            args = args[1:]
        names = tuple(kwargs)
        op = cls._ops.get(names)
        if op is None:
            op = cls._ops[names] = FunctionOp(cls, names)
        return dispatch.apply(op, [*args, *kwargs.values()])


class FunctionOp(Op):
    """A Function as an op: the path of a call leads to its forward.

    It is transparent: who watches or overrides calls sees those that forward makes. `names` are
    those of the arguments that are given by keyword, the last ones.
    """

    def __init__(self, function: type[Function], names: tuple[str, ...]) -> None:
        super().__init__(function.__name__, "custom", function.forward)
        self.lane = dispatch.OWN
        self.transparent = True
        self.function = function
        self.names = names

    def evaluated(self, values: list[Any]) -> Any:
        """See Op: forward, its outputs hung on a new node if there's something to record."""
        return self.called(values).finish()

    def pushed(self, level: Any, values: list[Any]) -> Any:
        """See Op: forward without tangents, and those of its outputs by jvp.

        The call is recorded where it is made, and as the level below sees it.
        """
        before, level.paused = level.paused, True
        try:
            call = self.called(values)
        finally:
            level.paused = before
        if level.is_idle():
            return call.finish()
        below = call.seen_below(level, values)
        results = below.finished()
        tangents = Tangents(level, values, below, call.saved_for_forward)
        call.outputs = tangents.duals(call.outputs, results)
        return call.finish()

    def called(self, values: list[Any]) -> "_Call":
        """A call whose forward has run."""
        function = self.function
        node = function._backward_cls()  # noqa: SLF001  # one idea in two classes
        ctx = FunctionCtx(node)
        tensors = node.connect(values)
        executable = is_grad_enabled() and any(node.context["needs_input_grad"])
        made = Intermediates([t for t in tensors if t.needs_grad] if executable else [])
        count = len(values) - len(self.names)
        keywords = dict(zip(self.names, values[count:]))
        settings = current()
        try:
            change_grad_enabled(False)
            with made if executable else contextlib.nullcontext():
                if function.setup_context is not Function.setup_context:
                    output = function.forward(*values[:count], **keywords)
                    function.setup_context(ctx, tuple(values), output)
                else:
                    output = function.forward(ctx, *values[:count], **keywords)
        finally:
            set_current(settings)
        return _Call(node, tensors, output, executable, made)

    # ---- inside vmap ----

    def over_batch(self, level: Any, values: list[Any]) -> Any:
        """See Op: computed below the level, and recorded where a gradient is asked for at it."""
        function = self.function
        self.check_batching(values)
        node = function._backward_cls()  # noqa: SLF001  # one idea in two classes
        tensors = node.connect(values)
        executable = is_grad_enabled() and any(tensor.needs_grad for tensor in tensors)
        output = _as_given(level, self.batched_output(level, values), tensors)
        if not executable:
            return output
        made = Intermediates([tensor for tensor in tensors if tensor.needs_grad])
        settings = current()
        try:
            change_grad_enabled(False)
            function.setup_context(FunctionCtx(node), tuple(values), output)
        finally:
            set_current(settings)
        return _Call(node, tensors, output, executable, made).finish()

    def batched_output(self, level: Any, values: list[Any]) -> Any:
        """What the Function's rule for batches answers, or the one that is made for it."""
        count = len(values) - len(self.names)
        keywords = dict(zip(self.names, values[count:]))
        made = self.function.generate_vmap_rule
        rule: Any = self.generated if made else self.function.vmap

        def once(inner: list[Any]) -> Any:
            return dispatch.apply(self, [*inner, *keywords.values()])

        rule = functools.partial(rule, **keywords) if keywords else rule
        return by_rule(self.name, rule, level, values[:count], once, in_front=made)

    def generated(self, info: VmapInfo, in_dims: Any, *args: Any, **keywords: Any) -> Any:
        """The rule for batches of a Function made of ops, which vmap follows into it."""
        call = OverBatch(self.function, info, in_dims, keywords)
        output = BatchedFunction.apply(*args, call)
        return output, call.out_dims

    def check_batching(self, values: list[Any]) -> None:
        """Refuse a Function that does not say how it takes a batch."""
        function, name = self.function, self.name
        own = function.vmap is not Function.vmap
        if function.setup_context is Function.setup_context:
            raise RuntimeError(
                f"{name}: inside vmap and other transforms an autograd.Function must override the "
                "setup_context staticmethod: write forward without ctx, and keep what backward "
                "needs in setup_context(ctx, inputs, output)"
            )
        if own and function.generate_vmap_rule:
            raise RuntimeError(
                f"{name} has both generate_vmap_rule=True and a vmap staticmethod; keep one of them"
            )
        if not own and not function.generate_vmap_rule:
            raise RuntimeError(
                f"vmap: {name} does not have vmap support; give it a vmap staticmethod, or, if its "
                "methods are made of adjoint's functions, set generate_vmap_rule = True"
            )
        if dispatch.tensors_in(values[len(values) - len(self.names) :]):
            raise NotImplementedError(
                f"{name}: kwarg-only Tensor args can't be batched; let them be given by position"
            )


class OverBatch:
    """One call of a Function over a batch, whose methods run inside a vmap of their own."""

    def __init__(
        self, function: type[Function], info: VmapInfo, in_dims: Any, keywords: dict[str, Any]
    ) -> None:
        self.function = function
        self.info = info
        self.in_dims = in_dims
        self.keywords = keywords
        self.out_dims: Any = None
        self.shapes: list[Any] = []  # of each argument, as forward saw it
        self.flags: dict[str, list[bool]] = {}  # whether each tensor that was saved has a batch
        self.kept_dims: Any = None  # where batches lie in what setup_context has set besides

    def new_level(self) -> BatchLevel:
        """A level for one of the methods."""
        return BatchLevel(*self.info, name=f"vmap of {self.function.__name__}")

    def arguments(self, level: BatchLevel, args: Any) -> Any:
        """The arguments as the Function's methods see them."""
        return put_above(self.function.__name__, level, tuple(args), self.in_dims)

    def outside(self, level: BatchLevel, tree: Any) -> tuple[Any, Any]:
        """Tensors of a level as they are below, the batch in front, and where it lies."""
        leaves, spec = tree_flatten(tree)
        pairs = [value_at(level, leaf) for leaf in leaves]
        dims = [0 if batched else None for _, batched in pairs]
        return tree_unflatten([v for v, _ in pairs], spec), tree_unflatten(dims, spec)

    def keep(self, ctx: Any, inner: FunctionCtx, level: BatchLevel) -> None:
        """What setup_context has put into its ctx, in the one of the call below the level."""
        state = dict(inner.__dict__)
        state.pop("needs_input_grad")
        for name, method in (
            ("to_save", ctx.save_for_backward),
            ("saved_for_forward", ctx.save_for_forward),
            ("dirty_tensors", ctx.mark_dirty),
            ("non_differentiable", ctx.mark_non_differentiable),
        ):
            pairs = [value_at(level, tensor) for tensor in state.pop(name, ())]
            self.flags[name] = [batched for _, batched in pairs]
            method(*[value for value, _ in pairs])
        if "materialize_grads" in state:
            ctx.set_materialize_grads(state.pop("materialize_grads"))
        ctx.kept, self.kept_dims = self.outside(level, state)

    def context(self, ctx: Any, level: BatchLevel, saved: str) -> Any:
        """The ctx for one of the Function's methods."""
        inner: Any = FunctionCtx()
        inner.needs_input_grad = ctx.needs_input_grad[:-1]
        kept = put_above(self.function.__name__, level, ctx.kept, self.kept_dims)
        for name, value in kept.items():
            setattr(inner, name, value)
        inner.saved_tensors = tuple(
            at_level(level, tensor, 0) if batched else tensor
            for tensor, batched in zip(ctx.saved_tensors, self.flags[saved])
        )
        return inner

    def gradient(self, level: BatchLevel, place: int, grad: Any) -> Any:
        """The gradient of an argument below the level: for one without a batch, the sum of all."""
        if not isinstance(grad, Tensor):
            return grad
        shape = self.shapes[place]
        if shape is not None and tuple(grad.shape) != shape:
            grad = sum_to_size(grad, shape)
        value, batched = value_at(level, grad)
        if self.in_dims[place] is None:
            return value.sum(0) if batched else value
        front = value if batched else expand(value, (level.size, *value.shape))
        return movedim(front, 0, self.in_dims[place]) if self.in_dims[place] else front


class BatchedFunction(Function):
    """A Function over a batch, by the methods it has for one element."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*args: Any) -> Any:
        """Its forward, inside a vmap."""
        *given, call = args
        level = call.new_level()
        with opened(level):
            output = call.function.forward(*call.arguments(level, given), **call.keywords)
            found, call.out_dims = call.outside(level, output)
        return found

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Its setup_context, inside a vmap; what that keeps is kept as it is below."""
        *given, call = inputs
        ctx.call = call
        level = call.new_level()
        inner: Any = FunctionCtx()
        inner.needs_input_grad = ctx.needs_input_grad[:-1]
        with opened(level):
            arguments = call.arguments(level, given)
            call.shapes = [tuple(a.shape) if isinstance(a, Tensor) else None for a in arguments]
            results = put_above(call.function.__name__, level, output, call.out_dims)
            call.function.setup_context(inner, (*arguments, *call.keywords.values()), results)
            call.keep(ctx, inner, level)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Its backward, inside a vmap."""
        call = ctx.call
        level = call.new_level()
        dims = tree_flatten(call.out_dims)[0]
        with opened(level):
            given = [
                None if grad is None else at_level(level, grad, dim)
                for grad, dim in zip(grads, dims)
            ]
            inner = call.context(ctx, level, "to_save")
            rule = _backward_of(call.function)
            answer = rule(inner, given) if call.function.boxed_grads_call else rule(inner, *given)
            answers = answer if isinstance(answer, tuple) else (answer,)
            found = [
                call.gradient(level, place, grad)
                for place, grad in enumerate(answers[: len(call.shapes)])
            ]
        return (*found, None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Its jvp, inside a vmap."""
        call = ctx.call
        level = call.new_level()
        with opened(level):
            given = [
                None if tangent is None else at_level(level, tangent, dim)
                for tangent, dim in zip(tangents[:-1], call.in_dims)
            ]
            answer = call.function.jvp(call.context(ctx, level, "saved_for_forward"), *given)
            several = isinstance(answer, tuple)
            found = [
                None if tangent is None else batched_value(level, *value_at(level, tangent))
                for tangent in (answer if several else (answer,))
            ]
        return tuple(found) if several else found[0]


def _as_given(level: BatchLevel, output: Any, tensors: list[Tensor]) -> Any:
    """Outputs over a batch, the arguments themselves where those were returned."""
    leaves, spec = tree_flatten(output)
    given = {id(value_at(level, tensor)[0]): tensor for tensor in tensors}
    found = [given.get(id(value_at(level, leaf)[0]), leaf) for leaf in leaves]
    return tree_unflatten(found, spec)


def _backward_of(function: type[Function]) -> Any:
    """backward, or vjp, which is another name for it."""
    if function.vjp is Function.vjp:
        return function.backward
    if function.backward is not Function.backward:
        raise RuntimeError(
            f"{function.__name__}: Implementing both 'backward' and 'vjp' is not allowed; they are "
            "two names of one method"
        )
    return function.vjp


def _bound(
    forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any], all_defaults: bool
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments in the order of forward's parameters, defaults between those given."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    given = list(bound.arguments)
    bound.apply_defaults()
    if not all_defaults:
        while list(bound.arguments)[-1] != given[-1]:
            bound.arguments.popitem()
    return bound.args, bound.kwargs


class InplaceFunction(Function):
    """A Function with an option to work in place; kept because programs derive from it."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def _is_view(tensor: Tensor) -> bool:
    return tensor.extras is not None and tensor.extras.base is not None


class _Call:
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

    def seen_below(self, level: Any, values: list[Any]) -> "_Call":
        """The same call on what lies below a level of forward mode."""
        node = self.node.function._backward_cls()  # noqa: SLF001  # one idea in two classes
        tensors = node.connect([primal_at(level, value) for value in values])
        own = node.context["needs_input_grad"]
        seen = {name: primal_at(level, value) for name, value in self.node.context.items()}
        node.context.update(seen, needs_input_grad=own)
        executable = is_grad_enabled() and any(own)
        outputs = tuple(primal_at(level, out) for out in self.outputs)
        below = _Call(node, tensors, outputs, executable, self.made)
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
                if _is_view(tensor) and len(self.outputs) > 1:
                    raise RuntimeError(
                        f"{self.name}: your Function modifies inplace an input that is a view of "
                        "another Tensor, and returns more than one output, which is not supported. "
                        "Give it a clone of the view, or let it return only that."
                    )
                views.check_inplace(self.name, tensor, constant=True, recorded=True)

    def complain_of_stranger(self, tensor: Tensor) -> None:
        """A tensor marked dirty that was not given to forward."""
        if _is_view(tensor):
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
            views.rebase(out, self.node, number, position)
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
        if out.needs_grad and not _is_view(out):
            out.detach_()
        return out

    def mark_views(self, results: list[Any], several: bool) -> None:
        """Views that forward made can't be made again, so they can't be changed in place."""
        for out, original in zip(results, self.outputs):
            if not isinstance(out, Tensor) or not _is_view(out):
                continue
            extras = out.rare()
            extras.view_version = out.counter().value
            if id(original) in self.dirty and id(original) in self.inputs:
                continue
            if self.pure_view and self.executable and self.shows_input(extras.base):
                extras.creation = DEFAULT_VIEW
            elif is_grad_enabled():
                extras.creation = MULTI_OUTPUT_VIEW if several else CUSTOM_VIEW

    def shows_input(self, base: Any) -> bool:
        """Whether a view of base is one of the input, so that making it again is right."""
        (source,) = self.tensors
        own = None if source.extras is None else source.extras.base
        return base is source or (own is not None and base is own)

    # ---- what backward needs ----

    def save(self) -> None:
        """Keep what was given to save_for_backward, through the hooks on saving."""
        pairs = current().saved_hooks
        kept: list[Saved] = []
        for tensor in self.to_save:
            saved = Saved(tensor)
            if tensor is not None:
                if tensor.node is self.node or (id(tensor) in self.dirty and tensor.needs_grad):
                    saved.as_output(tensor.node is self.node)
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
        own_leaf = tensor.needs_grad and not _is_view(tensor)
        return tensor.node is None and not own_leaf and self.made.holds(tensor)


class Tangents:
    """The tangents of one call of a Function: those of its inputs, and what jvp makes of them."""

    def __init__(self, level: Any, values: list[Any], below: _Call, saved: tuple[Any, ...]) -> None:
        self.level = level
        self.values = values
        self.call = below
        self.name = below.name
        self.saved = tuple(primal_at(level, tensor) for tensor in saved)
        zeros = below.node.context.get("materialize_grads", True)
        self.given = [tangent_at(level, value) for value in values]
        self.versions = [t.version() if isinstance(t, Tensor) else 0 for t in self.given]
        self.inputs = [
            zeros_like(primal_at(level, value))
            if tangent is None and zeros and isinstance(value, Tensor) and is_floating(value.array)
            else tangent
            for value, tangent in zip(values, self.given)
        ]

    def duals(self, outputs: list[Any], results: list[Any]) -> list[Any]:
        """The outputs with their tangents, from those that lie below the level."""
        found = self.pushed()
        if len(found) != len(outputs):
            raise RuntimeError(
                f"{self.name}.jvp returned {len(found)} tangents, but forward has {len(outputs)} "
                "outputs; return None for those without one"
            )
        return [
            self.output(i, out, result, tangent)
            for i, (out, result, tangent) in enumerate(zip(outputs, results, found))
        ]

    def pushed(self) -> tuple[Any, ...]:
        """What jvp answers."""
        node = self.call.node
        node.pushing = self.saved
        try:
            answer = node.function.jvp(node.new_ctx(), *self.inputs)
        finally:
            node.pushing = None
        return answer if isinstance(answer, tuple) else (answer,)

    def output(self, i: int, out: Any, result: Any, tangent: Any) -> Any:
        """One output at the level."""
        differentiable = isinstance(out, Tensor) and is_floating(out.array)
        if not differentiable or id(primal_at(self.level, out)) in self.call.constant:
            if tangent is not None:
                raise RuntimeError(
                    f"{self.name}.jvp returned a tangent for output {i}, which is not "
                    "differentiable. You should return None at that position instead."
                )
            return out if not isinstance(out, Tensor) or lies_in(out, self.level) else result
        if tangent is not None:
            self.check(i, result, tangent)
        source = next((j for j, value in enumerate(self.values) if value is out), -1)
        if source < 0:
            if tangent is None and self.level.fades:
                return result
            return dual(self.level, result, tangent)
        if id(primal_at(self.level, out)) in self.call.dirty:
            self.change(out, source, tangent)
        elif tangent is not None:
            self.check_view(tangent, [source])
        return out

    def change(self, out: Any, source: int, tangent: Any) -> None:
        """An input that forward changed in place: so must jvp its tangent."""
        if self.given[source] is None:
            if tangent is None:
                return
            if not lies_in(out, self.level):
                take_part(self.level, out)
            out.layer.tangent = tangent
        elif tangent is not self.given[source] or tangent.version() == self.versions[source]:
            raise RuntimeError(
                f"{self.name}: An inplace custom Function is not modifying the forward mode "
                "gradients inplace. Where forward changes an input in place, the jvp function must "
                "modify the corresponding gradient inplace, and return it."
            )

    def check(self, i: int, result: Any, tangent: Any) -> None:
        """Refuse a tangent that is none for an output."""
        if not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"{self.name}.jvp: expected a Tensor or None as tangent of output {i}, got "
                f"{type(tangent).__name__}"
            )
        if tangent.shape != result.shape:
            raise RuntimeError(
                f"{self.name}.jvp returned a tangent of shape {list(tangent.shape)} for output "
                f"{i}, which has shape {list(result.shape)}"
            )
        if _is_view(result) and id(result) not in self.call.dirty:
            shown = [
                j
                for j, value in enumerate(self.values)
                if isinstance(value, Tensor)
                and _root(primal_at(self.level, value)) is _root(result)
            ]
            if shown:
                self.check_view(tangent, shown)

    def check_view(self, tangent: Any, sources: list[int]) -> None:
        """What shows the memory of an input must have a tangent that shows that of its tangent."""
        complaint = (
            f"{self.name}: A custom Function's forward is returning a view (or an input as-is) but "
            "the jvp is not returning a view"
        )
        if not _is_view(tangent):
            raise RuntimeError(f"{complaint}; return x.view_as(x) for a tangent x as it is")
        if not any(_root(self.inputs[j]) is _root(tangent) for j in sources):
            raise RuntimeError(
                f"{complaint} of the given tangent: the jvp is not returning a view of the "
                "same base"
            )


def _root(tensor: Any) -> Any:
    """The tensor whose memory a view shows; itself if it is none."""
    return tensor.extras.base if _is_view(tensor) else tensor


def once_differentiable(fn: Any) -> Any:
    """Decorate a backward that can't be differentiated itself: doing so is an error."""

    @functools.wraps(fn)
    def backward(ctx: Any, *grads: Any) -> Any:
        settings = current()
        try:
            change_grad_enabled(False)
            answer = fn(ctx, *grads)
        finally:
            set_current(settings)
        return refused(ctx, answer) if settings.grad_enabled else answer

    return backward


def refused(ctx: Any, answer: Any) -> Any:
    """Gradients that say, when they are differentiated, that this can't be done."""
    grads = answer if isinstance(answer, tuple) else (answer,)
    node = getattr(ctx, "_adjoint_node", ctx)
    edges = iter(node.edges())
    following = [next(edges) if tensor else (None, 0) for tensor in node.is_input]
    tensors = [g if isinstance(g, Tensor) and is_floating(g.array) else None for g in grads]
    if not any(tensor is not None for tensor in tensors):
        return answer
    error = DelayedError(
        f"trying to differentiate twice {node.function.__name__}, whose backward was marked "
        "with @once_differentiable",
        [(None, 0) if tensor is None else edge for tensor, edge in zip(tensors, following)],
        tensors,
    )
    placements = tuple(
        grad if tensor is None else placed(tensor, error, i)
        for i, (grad, tensor) in enumerate(zip(grads, tensors))
    )
    return placements if isinstance(answer, tuple) else placements[0]
