"""autograd.Function: an operation with a backward of its own.

`apply` calls the Function's op, by the path of all calls. The op makes a node (`function_node`),
runs forward without recording, and hangs the outputs on the node; docs/notes/functions.md says
what may be returned, saved and changed.
"""

import functools
import inspect
import warnings
from typing import Any

from adjoint.autograd.function_batches import (
    OverBatch,
    VmapInfo,
    as_given,
    at_level,
    by_rule,
    put_above,
)
from adjoint.autograd.function_node import (
    DelayedError,
    FunctionCtx as FunctionCtx,
    FunctionNode,
    placed,
)
from adjoint.autograd.function_outputs import Outputs
from adjoint.autograd.function_tangents import Tangents
from adjoint.autograd.intermediates import Intermediates
from adjoint.call import dispatch
from adjoint.call.arguments import tensors_in
from adjoint.call.context import (
    change,
    change_grad_enabled,
    current,
    is_recording,
    set_current,
)
from adjoint.call.layers import opened
from adjoint.ops.op import Op
from adjoint.pytree import tree_flatten
from adjoint.tensors.core import is_floating
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import batched_value, value_at

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
        settings = current()
        if settings.tracing is not None:
            return settings.tracing.call_function(self.function, self.names, values, self.finished)
        result = self.finished(values)
        if settings.asking is not None:
            settings.asking.note_results(self.function, values, result)
        return result

    def finished(self, values: list[Any]) -> Any:
        """What a call of forward answers."""
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

    def called(self, values: list[Any]) -> Outputs:
        """A call whose forward has run."""
        function = self.function
        node = function._backward_cls()  # noqa: SLF001  # one idea in two classes
        ctx = FunctionCtx(node)
        tensors = node.connect(values)
        executable = is_recording() and any(node.context["needs_input_grad"])
        made = Intermediates([t for t in tensors if t.needs_grad] if executable else [])
        count = len(values) - len(self.names)
        keywords = dict(zip(self.names, values[count:]))
        settings = current()
        apart = function.setup_context is not Function.setup_context
        try:
            if executable:
                change(grad_enabled=False, intermediates=made)
            else:
                change_grad_enabled(False)
            if apart:
                output = function.forward(*values[:count], **keywords)
                function.setup_context(ctx, tuple(values), output)
            else:
                output = function.forward(ctx, *values[:count], **keywords)
        finally:
            set_current(settings)
        call = Outputs(node, tensors, output, executable, made)
        if apart:
            call.check_returned()
        return call

    # ---- inside vmap ----

    def over_batch(self, level: Any, values: list[Any]) -> Any:
        """See Op: computed below the level, and recorded where a gradient is asked for at it."""
        function = self.function
        self.check_batching(values)
        node = function._backward_cls()  # noqa: SLF001  # one idea in two classes
        tensors = node.connect(values)
        executable = is_recording() and any(tensor.needs_grad for tensor in tensors)
        output = as_given(level, self.batched_output(level, values), tensors)
        if not executable:
            return output
        made = Intermediates([tensor for tensor in tensors if tensor.needs_grad])
        settings = current()
        try:
            change_grad_enabled(False)
            function.setup_context(FunctionCtx(node), tuple(values), output)
        finally:
            set_current(settings)
        call = Outputs(node, tensors, output, executable, made)
        call.check_returned()
        return call.finish()

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
        if tensors_in(values[len(values) - len(self.names) :]):
            raise NotImplementedError(
                f"{name}: kwarg-only Tensor args can't be batched; let them be given by position"
            )


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
        return refused(ctx, answer) if settings.recording else answer

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
