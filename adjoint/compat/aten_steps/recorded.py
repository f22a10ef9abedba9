"""An operation of PyTorch's that adjoint makes of several, recorded as the one step that it is."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from adjoint.autograd import grad_mode
from adjoint.autograd.entry_points import grad as gradient_of
from adjoint.autograd.function import Function
from adjoint.autograd.function_node import FunctionNode
from adjoint.call.arguments import tensors_in
from adjoint.call.context import current, is_recording
from adjoint.call.record import unlink
from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.asking import SINGLE, Steps, meant
from adjoint.compat.aten_steps.kept import TooLittleKeptError, beside, kept_results
from adjoint.compat.torch_tree import ops
from adjoint.creation import factories
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.arranging.shape import expand
from adjoint.ops.inplace import InplaceOp
from adjoint.ops.op import Op
from adjoint.tensors.core import is_floating
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

_taken_apart: Final[ContextVar[bool]] = ContextVar("adjoint_taken_apart", default=False)
_CONSTANT: Final = (*factories.__all__, *factories.METHODS, "detach")  # what has no gradient
_BEFORE: Final = 2  # what a Function is given before the arguments of the operation


def is_taken_apart() -> bool:
    """Whether functions are made of adjoint's ops here, since their history is wanted."""
    return _taken_apart.get()


@contextmanager
def _apart() -> Iterator[None]:
    token = _taken_apart.set(True)
    try:
        yield
    finally:
        _taken_apart.reset(token)


@dataclass(frozen=True, eq=False)
class Operation:
    """One of torch.ops.aten, and the steps of its gradients.

    Those are given who is asked, which of `inputs` want a gradient, the arguments, the results and
    the gradients of those results that are answered, at the places `outputs`, with None for what
    has none; they answer a gradient for each of `inputs`, which are places, too. Without steps,
    and without `outputs`, they are those of what adjoint makes the operation of, for all results.
    `changing` are those of arguments that may change before the backward pass, which needs no more
    than their looks. `after` is what else PyTorch asks for, given the arguments and results.
    Results at the places `constant` have no gradient, nor have whole numbers. `back` is the
    operation of the gradients, if its own are known: what records a backward pass calls it.
    """

    name: str
    inputs: tuple[int, ...]
    gradients: Callable[..., Any] | None
    changing: tuple[int, ...] = ()
    after: Callable[..., None] | None = None
    outputs: tuple[int, ...] | None = (0,)
    constant: tuple[int, ...] = ()
    back: "Operation | None" = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """The results that are answered, recorded; arguments by name need no gradient."""
        function = _functions.get(self.name)
        if function is None:
            words = self.name.partition(".")[0].lstrip("_").split("_")
            shown = "".join(word[:1].upper() + word[1:] for word in words)
            function = _functions[self.name] = type(shown, (_Recorded,), {})
        settings = current()
        shows = settings.recording and bool(settings.modes) and not settings.saved_hooks
        return function.apply(self, (named, shows), *args)


_functions: dict[str, type[Function]] = {}


def _zeros(ask: Any, like: Any) -> Any:
    return ask("zeros", list(like.shape), **beside(like))


def undone(name: str, steps: Callable[..., Any], constant: int | None = 1) -> Operation:
    """The operation of a linear one's gradient; what is at the place `constant` has none itself.

    `steps` are given who is asked, the arguments and a gradient.
    """

    def gradients(ask: Any, wanted: Any, args: Any, results: Any, grad: Any) -> Any:
        found = [steps(ask, args, grad) if wanted[0] else None]
        if constant is None:
            return found
        return [*found, _zeros(ask, args[constant]) if wanted[1] else None]

    return Operation(name, (0,) if constant is None else (0, constant), gradients)


def recording(back: Operation | None = None) -> Steps:
    """Who answers the steps of gradients that have a history."""

    def answer(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = function.overloadpacket.__name__
        if back is not None and name == back.name:
            return back(*args, **kwargs)
        if isinstance(function.operation, (Op, InplaceOp)) or name in SINGLE:
            token = meant.set((function, args, kwargs))
            try:
                return function(*args, **kwargs)
            finally:
                meant.reset(token)
        derived = any(t.needs_grad for t in tensors_in([*args, *kwargs.values()]))
        if derived and name not in _CONSTANT:
            return whole(function.name().removeprefix("aten::"), args)(*args, **kwargs)
        with asking() as ask:
            return ask.answerer(function, args, kwargs)

    return Steps(answer)


def stepping(back: Operation | None = None) -> AbstractContextManager[Steps]:
    """As a context: what asks for the steps of a backward pass, recorded or not."""
    return nullcontext(recording(back)) if is_recording() else asking()


def whole(name: str, args: Any) -> Operation:
    """An operation of PyTorch's whose gradients are those of what adjoint makes it of."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and is_floating(a.array)]
    return Operation(name, tuple(places), None, outputs=None)


class _Node(FunctionNode):
    """The node of an operation, which computes no gradient that a pass does not want."""

    shows_outputs = False

    def apply(self, grads: Any, create_graph: Any = None, wanted: Any = None, *more: Any) -> Any:
        """See FunctionNode."""
        edges = iter(wanted if isinstance(wanted, list) else ())
        asked = [next(edges, True) if is_tensor else False for is_tensor in self.is_input]
        self.context["wanted"] = asked
        return super().apply(grads, create_graph, wanted, *more)


class _Recorded(Function):
    """Calls of an operation: that comes first, and then its arguments by name, and a flag.

    If that is set, modes see what PyTorch keeps of results, and once more in the backward pass.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._backward_cls = type(f"{cls.__name__}Backward0", (_Node, cls._backward_cls), {})

    @staticmethod
    def forward(ctx: Any, operation: Operation, how: tuple[Any, bool], *args: Any) -> Any:
        """The results of the operation that are answered."""
        named, shows = how
        ctx.kept = []
        with asking() as ask:
            answer = ask(operation.name, *args, **named)
            several = isinstance(answer, (tuple, list))
            results = answer if several else (answer,)
            if shows and any(ctx.needs_input_grad):
                ctx.kept = [ask("detach", results[n]) for n in kept_results(operation.name)]
        for place in operation.outputs or ():
            if not isinstance(results[place], Tensor):
                raise RuntimeError(
                    f"__torch_dispatch__ returned a {type(results[place]).__name__}, not a Tensor, "
                    f"for {operation.name}"
                )
        if operation.after is not None:
            with asking() as ask:
                operation.after(ask, args, results)
        ctx.operation, ctx.named, ctx.count = operation, named, len(args)
        found = list(results)
        if found and 0 not in (*kept_results(operation.name), *operation.constant):
            found[0] = None  # the steps do without, so that programs may change it
        values = [*args, *(() if operation.gradients is None else found)]
        saved = [
            isinstance(value, Tensor) and place not in operation.changing
            for place, value in enumerate(values)
        ]
        ctx.others = [None if kept else v for v, kept in zip(values, saved, strict=True)]
        ctx.save_for_backward(*[v if kept else None for v, kept in zip(values, saved, strict=True)])
        outputs = operation.outputs or range(len(results))
        unlink(tensors_in([results]), tensors_in(list(args)))
        if not several or len(outputs) == 1 == len(operation.outputs or ()):
            return results[0]
        ctx.set_materialize_grads(False)
        given = [place for place in outputs if results[place] is not None]
        constant = [place for place in given if place in operation.constant]
        constant += [place for place in given if category_of(results[place].array.dtype) < FLOAT]
        ctx.mark_non_differentiable(*[results[place] for place in dict.fromkeys(constant)])
        return tuple(results[place] for place in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments, in PyTorch's steps unless they are recorded."""
        operation = ctx.operation
        for kept in ctx.kept if current().modes else ():
            upper.seen_below("detach", kept)
        values = [
            other if tensor is None else tensor
            for tensor, other in zip(ctx.saved_tensors, ctx.others, strict=True)
        ]
        args, results = values[: ctx.count], values[ctx.count :]
        places = [place + _BEFORE for place in operation.inputs]
        wanted = [ctx.needs_input_grad[place] and ctx.wanted[place] for place in places]
        found = None
        if operation.gradients is not None:
            with suppress(TooLittleKeptError), stepping(operation.back) as ask:
                found = operation.gradients(ask, wanted, args, results, *grads, **ctx.named)
        if found is None:
            found = _by_rules(operation, args, ctx.named, wanted, grads)
        answer: list[Any] = [None] * (ctx.count + _BEFORE)
        for place, each, want in zip(places, found, wanted, strict=True):
            answer[place] = each if want else None
        return tuple(answer)


def _each_alone(operation: Operation, args: list[Any]) -> list[Any]:
    """Arguments of which none is made of another: a gradient is not to pass through both."""
    given = [place for place in operation.inputs if isinstance(args[place], Tensor)]
    derived = [place for place in given if args[place].requires_grad]
    if len(derived) < 2:
        return args
    return [expand(a, tuple(a.shape)) if i in derived else a for i, a in enumerate(args)]


def _by_rules(
    operation: Operation, args: list[Any], named: dict[str, Any], wanted: list[bool], grads: Any
) -> list[Any]:
    """The gradients by adjoint's rules, with a history where one is wanted."""
    recorded = is_recording()
    with _apart(), grad_mode.recording():
        args = _each_alone(operation, args)
        name, _, overload = operation.name.partition(".")
        answer = ops.named(name, overload or None)(*args, **named)
        results = answer if isinstance(answer, (tuple, list)) else (answer,)
        outputs = operation.outputs or range(len(results))
        pairs = [(results[o], g) for o, g in zip(outputs, grads, strict=True) if g is not None]
        pairs = [(result, grad) for result, grad in pairs if result.requires_grad]
        if not pairs:
            return [None for _ in wanted]
        roots, starts = zip(*pairs, strict=True)
        places = [p for p, want in zip(operation.inputs, wanted, strict=True) if want]
        options = {"create_graph": recorded, "allow_unused": True}
        found = iter(gradient_of(roots, [args[p] for p in places], starts, **options))
        return [next(found) if want else None for want in wanted]
