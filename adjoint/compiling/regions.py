"""Branches and loops of a program: functions that XLA calls by itself, as often as it must.

Such a function is run once beforehand, so that what it reads outside is there as an input. XLA then
traces it, with tracers of its own. Its derivative is another such function, which computes forward
once more from what came in: a scan keeps its carries, and nothing else of its steps.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoint.autograd.entry_points import grad
from adjoint.autograd.function import Function
from adjoint.autograd.grad_mode import set_grad_enabled
from adjoint.autograd.node import next_sequence_number
from adjoint.backends import xla
from adjoint.call.context import is_recording
from adjoint.compiling.errors import CompileError
from adjoint.creation.factories import zeros_like
from adjoint.tensors.core import is_floating
from adjoint.tensors.tensor import AS_IS, Tensor

Body = Callable[[list[Any]], list[Any]]


class Region:
    """A run of such a function, and the tensors its ops meet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.since = next_sequence_number()  # nodes made inside come later
        self.met: dict[int, Any] = {}  # tensors by their ids

    def depends_on(self) -> list[Any]:
        """The tensors from outside that need a gradient."""
        return [
            tensor
            for tensor in self.met.values()
            if tensor.needs_grad
            and (tensor.node is None or tensor.node.sequence_number < self.since)
        ]

    def refuse(self, what: str) -> None:
        """Refuse what a function can't do that XLA calls by itself."""
        raise CompileError(
            f"inside the function of {self.name} {what}, which a compiled program can do only "
            "outside of it: do it before, and pass the values"
        )


@contextmanager
def running(tracing: Any, name: str) -> Iterator[Region]:
    """Inside, a function runs that XLA will call by itself."""
    region = Region(name)
    tracing.regions.append(region)
    try:
        yield region
    finally:
        tracing.regions.pop()


class Rehearsal:
    """What a function answers when it is run once on tensors like those that it will be given."""

    def __init__(self, tracing: Any, name: str, body: Body, examples: list[Any]) -> None:
        tracing.lift_all(examples)
        if any(each.layer is not None for each in examples):
            raise CompileError(f"{name} is called with a tensor inside a transform")
        stand_ins = [_leaf(each.current_array(), each.needs_grad) for each in examples]
        known = {id(each) for each in stand_ins}
        before = tracing.standing()
        with running(tracing, name) as region:
            self.answers = body(stand_ins)
        if not tracing.stands(before) or any(each.version() for each in stand_ins):
            region.refuse("a tensor is changed in place")
        tensors = [each for each in self.answers if isinstance(each, Tensor)]
        if any(each.layer is not None for each in tensors):
            raise CompileError(f"the function of {name} reads a tensor inside a transform")
        tracing.lift_all(tensors)
        found = region.depends_on() if is_recording() else []
        self.outside = [each for each in found if id(each) not in known]


def _leaf(array: Any, needs_grad: bool) -> Tensor:
    made = Tensor(array, AS_IS)
    made.needs_grad = needs_grad
    return made


def _on_arrays(tracing: Any, name: str, body: Body) -> Any:
    """A function of tensors as JAX calls it: with arrays, and without gradients."""

    def call(arrays: list[Any]) -> list[Any]:
        tensors = [Tensor(array, AS_IS) for array in arrays]
        with running(tracing, name), set_grad_enabled(False):
            found = body(tensors)
        return [each.current_array() if isinstance(each, Tensor) else each for each in found]

    return call


# ---- derivatives ----


@contextmanager
def cut(tracing: Any, tensors: list[Any]) -> Iterator[None]:
    """Inside, tensors are leaves without hooks: their history, and those, belong to outside."""
    taken = [tensor for tensor in tensors if id(tensor) not in tracing.cut]
    before = [(tensor, tensor.node, tensor.output_number, tensor.extras) for tensor in taken]
    for tensor in taken:
        tensor.current_array()
        tensor.node, tensor.output_number, tensor.extras = None, 0, None
        tracing.cut.add(id(tensor))
    try:
        yield
    finally:
        for tensor, node, number, extras in before:
            tensor.node, tensor.output_number, tensor.extras = node, number, extras
            tracing.cut.discard(id(tensor))


class Derivative:
    """The gradients of what a function is given, and of what it reads outside, as a function.

    It is given the same and the gradients of the answers, of those that are floating numbers.
    """

    def __init__(self, tracing: Any, body: Body, count: int, outside: list[Any]) -> None:
        self.tracing = tracing
        self.body = body
        self.count = count
        self.outside = outside
        self.recorded = is_recording()

    def __call__(self, tensors: list[Any]) -> list[Any]:
        """Gradients of the floating ones among the first, then of those outside."""
        given, grads = tensors[: self.count], tensors[self.count :]
        with set_grad_enabled(True), cut(self.tracing, self.outside):
            given = [_needing(each) for each in given]
            floating = [each for each in given if is_floating(each.array)]
            answers = [each for each in self.body(given) if is_floating(each.array)]
            pairs = [(a, g) for a, g in zip(answers, grads) if a.needs_grad]
            wanted = [*floating, *self.outside]
            found: list[Any] = [None] * len(wanted)
            if pairs and wanted:
                roots, starts = zip(*pairs)
                found = list(
                    grad(roots, wanted, starts, create_graph=self.recorded, allow_unused=True)
                )
        for each in given:  # made here: nothing from outside
            self.tracing.regions[-1].met.pop(id(each), None)
        return [zeros_like(w) if g is None else g for g, w in zip(found, wanted)]


def _needing(tensor: Any) -> Any:
    """A tensor whose gradient can be asked for; itself, if it can be already."""
    if tensor.needs_grad or not is_floating(tensor.array):
        return tensor
    return tensor.detach().requires_grad_()


def _floating(tensors: Any) -> list[Any]:
    return [tensor for tensor in tensors if is_floating(tensor.array)]


def _gradients(tensors: Any, found: list[Any]) -> list[Any]:
    """The gradients of tensors, of which those that are no floating numbers have none."""
    made = iter(found)
    return [next(made) if is_floating(tensor.array) else None for tensor in tensors]


# ---- branches ----


class _Branch(Function):
    """One of two functions, chosen when the program runs."""

    @staticmethod
    def forward(ctx: Any, tracing: Any, bodies: Any, count: int, pred: Any, *tensors: Any) -> Any:
        ctx.tracing, ctx.bodies, ctx.count = tracing, bodies, count
        ctx.save_for_backward(pred, *tensors)
        calls = [_on_arrays(tracing, "cond", body) for body in bodies]
        arrays = [tensor.current_array() for tensor in tensors[:count]]
        made = xla.branch(pred.current_array(), calls, arrays)
        ctx.floating = [is_floating(array) for array in made]
        return tuple(Tensor(array, AS_IS) for array in made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        pred, *tensors = ctx.saved_tensors
        given, outside = tensors[: ctx.count], tensors[ctx.count :]
        bodies = [Derivative(ctx.tracing, body, ctx.count, outside) for body in ctx.bodies]
        known = [each for each, floating in zip(grads, ctx.floating) if floating]
        found = branched(ctx.tracing, pred, bodies, [*given, *known])
        return (None, None, None, None, *_gradients(tensors, found))


def branched(tracing: Any, pred: Any, bodies: list[Any], operands: list[Any]) -> list[Any]:
    """What one of two functions answers."""
    tensors = [each for each in operands if isinstance(each, Tensor)]
    places = [place for place, each in enumerate(operands) if isinstance(each, Tensor)]
    fitted = [_Fitted(body, operands, places) for body in bodies]
    tracing.lift_all([pred])
    one, other = [Rehearsal(tracing, "cond", body, tensors) for body in fitted]
    _check_branches(one.answers, other.answers)
    outside = {id(each): each for each in (*one.outside, *other.outside)}
    return list(_Branch.apply(tracing, fitted, len(tensors), pred, *tensors, *outside.values()))


class _Fitted:
    """A function of the tensors among operands: what else there is stays as it is."""

    def __init__(self, body: Body, operands: list[Any], places: list[int]) -> None:
        self.body = body
        self.operands = operands
        self.places = places

    def __call__(self, tensors: list[Any]) -> list[Any]:
        given = list(self.operands)
        for place, tensor in zip(self.places, tensors):
            given[place] = tensor
        return self.body(given)


def _check_branches(one: list[Any], other: list[Any]) -> None:
    for name, answers in (("true_fn", one), ("false_fn", other)):
        for each in answers:
            if not isinstance(each, Tensor):
                raise CompileError(f"cond: {name} answers {each!r}, which is no tensor")
    looks = [[f"{each.dtype}{list(each.shape)}" for each in answers] for answers in (one, other)]
    if looks[0] != looks[1]:
        raise CompileError(
            f"cond: true_fn answers {', '.join(looks[0])}, and false_fn {', '.join(looks[1])}: in "
            "a compiled program both must look alike"
        )


# ---- loops ----


class _While(Function):
    """A loop whose number of steps is known when it has ended."""

    @staticmethod
    def forward(ctx: Any, tracing: Any, bodies: Any, count: int, *tensors: Any) -> Any:
        test, body = (_on_arrays(tracing, "while_loop", each) for each in bodies)
        made = xla.repeat(test, body, [tensor.current_array() for tensor in tensors[:count]])
        return tuple(Tensor(array, AS_IS) for array in made)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise CompileError(
            "while_loop has no backward in a compiled program, because the number of its steps is "
            "not known: use scan with a fixed number of steps, or call it outside of the compiled "
            "function"
        )


def looped(tracing: Any, test: Body, body: Body, carried: list[Any]) -> list[Any]:
    """What a loop carries in the end."""
    outside: dict[int, Any] = {}
    for each in (test, body):
        rehearsal = Rehearsal(tracing, "while_loop", each, carried)
        outside.update((id(tensor), tensor) for tensor in rehearsal.outside)
    tensors = [*carried, *outside.values()]
    return list(_While.apply(tracing, (test, body), len(carried), *tensors))


class _Loop:
    """A scan: its step, how many tensors it carries and goes along, and in which direction."""

    def __init__(self, tracing: Any, step: Body, counts: tuple[int, int], reverse: bool) -> None:
        self.tracing = tracing
        self.step = step
        self.counts = counts
        self.reverse = reverse

    def noted(self, tensors: list[Any]) -> list[Any]:
        """The step, with the carry that it began with among its results."""
        return [*self.step(tensors), *tensors[: self.counts[0]]]


class _Scan(Function):
    """The last carry of a loop, its results, and the carries that its steps began with."""

    @staticmethod
    def forward(ctx: Any, loop: _Loop, *tensors: Any) -> Any:
        carried, along = loop.counts
        arrays = [tensor.current_array() for tensor in tensors[: carried + along]]
        step = _on_arrays(loop.tracing, "scan", loop.noted)
        made = xla.scan(step, arrays[:carried], arrays[carried:], loop.reverse)
        results = tuple(Tensor(array, AS_IS) for array in made)
        ctx.loop = loop
        ctx.floating = [is_floating(array) for array in made]
        ctx.save_for_backward(*tensors, *results[len(results) - carried :])
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        loop, (carried, along) = ctx.loop, ctx.loop.counts
        kept = ctx.saved_tensors
        tensors, carries = kept[: len(kept) - carried], kept[len(kept) - carried :]
        xs, outside = list(tensors[carried : carried + along]), list(tensors[carried + along :])
        back = _Back(loop, len(_floating(tensors[:carried])), outside)
        known = [each for each, floating in zip(grads, ctx.floating) if floating]
        totals = [*known[: back.carried], *[zeros_like(each) for each in outside]]
        each_step = [*carries, *xs, *known[back.carried :]]
        found = scanned(loop.tracing, back, totals, each_step, not loop.reverse)
        last, along_the_way = found[: len(totals)], found[len(totals) :]
        starts = _gradients(tensors[:carried], last[: back.carried])
        return (None, *starts, *_gradients(xs, along_the_way), *last[back.carried :])


class _Back:
    """A step backward: it carries gradients of the carry, and sums of those outside."""

    def __init__(self, loop: _Loop, carried: int, outside: list[Any]) -> None:
        self.carried = carried
        self.outside = outside
        self.derivative = Derivative(loop.tracing, loop.noted, sum(loop.counts), outside)
        self.given = sum(loop.counts)

    def __call__(self, tensors: list[Any]) -> list[Any]:
        total = self.carried + len(self.outside)
        grads, sums, rest = tensors[: self.carried], tensors[self.carried : total], tensors[total:]
        given, of_results = rest[: self.given], rest[self.given :]
        found = self.derivative([*given, *grads, *of_results])
        own = found[: len(found) - len(self.outside)]
        new = [a + b for a, b in zip(sums, found[len(own) :])]
        return [*own[: self.carried], *new, *own[self.carried :]]


def scanned(tracing: Any, step: Body, init: list[Any], xs: list[Any], reverse: bool) -> list[Any]:
    """The last carry of a scan along the first dimension of xs, and its results."""
    firsts = [x[0] for x in xs]
    rehearsal = Rehearsal(tracing, "scan", step, [*init, *firsts])
    loop = _Loop(tracing, step, (len(init), len(xs)), reverse)
    made = list(_Scan.apply(loop, *init, *xs, *rehearsal.outside))
    return made[: len(rehearsal.answers)]
