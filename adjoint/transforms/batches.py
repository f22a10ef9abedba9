"""Calls over a batch: the layer of vmap.

The tensor below holds all elements of the batch, along its first dimension. An op says how it takes
one: by its family, by `batching=` or by a rule of its own, `vmap=` (docs/notes/vmap.md).
"""

import warnings
from typing import Any, Final

from adjoint.call import dispatch
from adjoint.call.arguments import tensors_in
from adjoint.call.errors import complaint
from adjoint.call.layers import Below, Layer, Level, opened, with_layer
from adjoint.call.op_node import OpNode
from adjoint.call.promotion import promotion, unwrapped
from adjoint.call.rule import ALIGN, BATCHED, EACH, FOLD, FRONT, LEAD, MATRICES
from adjoint.call.short_form import path
from adjoint.ops.arranging.shape import expand, movedim, reshape, select, stack
from adjoint.ops.op import Op, rank_of
from adjoint.tensors.core import NDARRAY, backend_of
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper

# What the array of a batched tensor shows to those who read it all the same: no numbers.
_NOTHING: Final = b"\xff" * 32
_NEITHER: Final = b"\x00" * 32


class BatchLevel(Level):
    """One vmap under way."""

    samples_apart = True

    def __init__(self, size: int, randomness: str = "error", name: str = "vmap") -> None:
        super().__init__(name)
        self.size = size
        self.randomness = randomness

    def lift(self, tensor: Tensor) -> Tensor:
        """See Level."""
        return layered(self, tensor, batched=False)

    def holding(self, value: Tensor) -> Tensor:
        """See Level."""
        return layered(self, value)

    def samples(self, name: str) -> int:
        """See Level."""
        if self.randomness == "error":
            raise RuntimeError(
                f"vmap: {name}(): called random operation while in randomness error mode; "
                f"give {self.opened_at()} randomness='different', so that each element of the "
                "batch draws for itself, or randomness='same', so that all have one sample"
            )
        return self.size if self.randomness == "different" else 0

    def check_draw_in_place(self, name: str, target: Tensor) -> None:
        """See Level."""
        if self.samples(name) and not value_at(self, target)[1]:
            raise RuntimeError(
                f"vmap: {name}() would need different inplace randomness on an unbatched tensor, "
                "which has no room for a sample of each element; make it by empty_like() of a "
                "batched one, or use a function that returns a new tensor"
            )


class Batch(Layer):
    """A tensor inside vmap: one value for each element of the batch, or one for all."""

    def __init__(self, level: BatchLevel, value: Tensor, batched: bool = True) -> None:
        super().__init__(level)
        self.batch_level = level
        self.value = value
        self.batched = batched
        self.given_dim = 0  # where the batch lay before vmap put it in front

    def call(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        level = self.batch_level
        if op.short_rank >= 0:
            found = short_call(op, level, values)
            if found is not None:
                return found
        call = BatchCall(op, level, values)
        return call.layered(call.result())

    def adopt(self, name: str, values: list[Any]) -> None:
        """See Layer: a tensor can't get a batch that it does not have."""
        if value_at(self.batch_level, values[0])[1]:
            return
        if any(value_at(self.batch_level, tensor)[1] for tensor in tensors_in(values[1:])):
            raise RuntimeError(
                f"vmap: {name}() can't change a tensor that is one for all elements of the batch "
                "by values that differ from one to the next; use the form that is not in place, "
                "or give that tensor to the transformed function with an in_dim"
            )
        if values[0].layer is None or values[0].layer.level is not self.batch_level:
            raise RuntimeError(
                f"vmap: {name}() would change a tensor from outside {self.level.opened_at()}; "
                "clone() it first, or return the new value"
            )

    def store(self, target: Tensor, result: Tensor) -> None:
        """See Layer."""
        value, batched = value_at(self.batch_level, result)
        own: Any = target.layer.value
        own.copy_(value if batched or not target.layer.batched else value.unsqueeze(0))

    def detached(self) -> Layer:
        """See Layer."""
        return Batch(self.batch_level, self.value.detach(), self.batched)

    def copied(self) -> Layer:
        """See Layer."""
        value: Any = self.value
        return Batch(self.batch_level, value.clone(), self.batched)

    def own(self, op: Op, values: list[Any]) -> Any:
        """See Layer."""
        return op.over_batch(self.batch_level, values)

    def below(self) -> list[Tensor]:
        """See Layer."""
        return [self.value]

    def imitated(self, make: Any) -> Tensor:
        """See Layer."""
        if not self.batched:
            return make(self.value, ())  # type: ignore[no-any-return]  # a factory makes Tensors
        with Below(self.level.number):
            made = make(self.value, (self.batch_level.size,))
        return layered(self.batch_level, made)

    def text(self) -> str | None:
        """See Layer; an argument's batch is shown where it was given."""
        if not self.batched:
            return repr(self.value)
        at = self.given_dim
        value = movedim(self.value, 0, at) if at else self.value
        return f"BatchedTensor(lvl={self.level.depth}, bdim={at}, value={value!r})"

    def value_refused(self) -> str | None:
        """See Layer."""
        if not self.batched:
            layer: Layer | None = self.value.layer
            return None if layer is None else layer.value_refused()
        return (
            f"inside {self.level.opened_at()} the values of a batched tensor can't be read: by "
            ".item() on a Tensor, by data-dependent control flow (bool() in an if), or by a "
            "function whose result's shape or meaning depends on values, such as nonzero; use "
            "where(), masks, or call it outside"
        )


def layered(level: BatchLevel, value: Tensor, batched: bool = True, given_dim: int = 0) -> Tensor:
    """A tensor inside vmap, from the values below."""
    layer = Batch(level, value, batched)
    layer.given_dim = given_dim
    return with_layer(stand_in(value.array, batched), layer)


def stand_in(array: Any, batched: bool) -> Any:
    """An array that looks like one element of the batch, and holds nothing worth reading."""
    if not batched:
        return array
    if type(array) is not NDARRAY:
        return backend_of(array).xp.zeros(array.shape[1:], array.dtype)
    shape = array.shape[1:]
    buffer = _NEITHER if array.dtype.kind == "b" else _NOTHING
    return NDARRAY(shape, array.dtype, buffer, 0, (0,) * len(shape))


def short_call(op: Op, level: BatchLevel, values: list[Any]) -> Tensor | None:
    """The call of an op on one or two arguments that agree, place by place or as matrices, or None.

    Most calls inside vmap are of this kind, and need neither alignment nor promotion.
    """
    for i in range(op.required, len(values)):
        if values[i] is not op.defaults[i]:
            return None
    first: Any = values[0]
    batched = False
    rank = -1  # of the batched argument of fewest dimensions
    if isinstance(first, Tensor):
        layer = first.layer
        if layer is not None and layer.level is level:
            first = layer.value
            if layer.batched:
                batched, rank = True, values[0].array.ndim
    elif type(first) is not float and type(first) is not int:
        return None
    if op.lane == dispatch.UNARY:
        if values[0].array.ndim < op.short_rank:
            return None
        return layered(level, path.unary(op, first), batched)
    second: Any = values[1]
    if isinstance(second, Tensor):
        layer = second.layer
        if layer is not None and layer.level is level:
            second = layer.value
            if layer.batched:
                own = values[1].array.ndim
                batched, rank = True, own if rank < 0 else min(rank, own)
        if isinstance(first, Tensor):
            if first.array.dtype is not second.array.dtype:
                return None
            one, other = values[0].array.ndim, values[1].array.ndim
            if rank >= 0 and (one > rank or other > rank):
                return None
            if one < op.short_rank or other < op.short_rank:
                return None
    elif type(second) is not float and type(second) is not int:
        return None
    if op.short_rank > 0 and not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return None
    return layered(level, path.binary(op, first, second), batched)


class BatchCall(OpNode):
    """A call with its arguments below the level: rules find them by name, as in a node."""

    def __init__(self, op: Op, level: BatchLevel, values: list[Any]) -> None:
        super().__init__(op)
        self.level = level
        self.logical = values
        self.inner: list[Any] = []
        self.flags: list[Any] = []  # whether each is batched; a list of them for a list
        self.any_batched = False
        for value in values:
            if isinstance(value, (list, tuple)) and tensors_in([value]):
                below: Any = [self.taken(element) for element in value]
                self.inner.append([b for b, _ in below])
                self.flags.append([f for _, f in below])
            else:
                found, flag = self.taken(value)
                self.inner.append(found)
                self.flags.append(flag)

    def taken(self, value: Any) -> tuple[Any, bool]:
        """An argument below the level, and whether it is batched."""
        if isinstance(value, Tensor):
            layer = value.layer
            if layer is not None and layer.level is self.level:
                if layer.batched:
                    self.any_batched = True
                return layer.value, layer.batched
        return value, False

    def result(self) -> Any:
        """The result below the level: one tensor, or several."""
        if self.op.draws:
            with Below(self.level.number):
                return self.drawn()
        return self.op.run(self.inner) if not self.any_batched else self.taken_at_once()

    def drawn(self) -> Any:
        """A sample for each element of the batch, or one for all, as the level says."""
        op = self.op
        if self.level.samples(op.draws):
            self.give_first()
            self.any_batched = True
            return self.taken_at_once()
        if self.any_batched:
            first = next(i for i, value in enumerate(self.inner) if isinstance(value, Tensor))
            others = tensors_in(self.logical[first + 1 :])
            if not op.draws_by_form or any(value_at(self.level, t)[1] for t in others):
                raise RuntimeError(
                    f"Vmap does not currently support same randomness with a batched tensor input: "
                    f"{op.draws}() draws by probabilities that differ from one element to the "
                    "next; use randomness='different'"
                )
            self.inner[first] = select(self.inner[first], 0, 0)
            self.any_batched = False
        return op.run(self.inner)

    def taken_at_once(self) -> Any:
        """The result of a call with a batch, as the op says how."""
        op = self.op
        if op.promotes:
            self.promote()
        if op.dims:
            self.check_dims()
        if op.vmap is not None:
            with Below(self.level.number):  # what the rule makes itself has no batch
                return self.run(op.vmap, [], True, None)
        if op.batching == ALIGN:
            return op.run(self.aligned())
        if op.batching == LEAD:
            self.give_first()
            return op.run(self.aligned())
        if op.batching == FOLD:
            return self.folded()
        if op.batching == MATRICES:
            if any(isinstance(v, Tensor) and v.array.ndim < 2 for v in self.logical):
                self.tried()
            return op.run(self.aligned())
        if op.batching == FRONT:
            if op.dims and rank_of(self.logical[0]) + op.dims[0][1] <= 0:
                return self.of_numbers()
            return op.run([self.in_front(i) for i in range(len(self.inner))])
        return self.one_by_one()

    def layered(self, out: Any) -> Any:
        """The results in the layer, in the form in which the op answers them."""
        several = isinstance(out, (tuple, list))
        results = [
            layered(self.level, each, self.any_batched) for each in (out if several else (out,))
        ]
        if not several:
            return results[0]
        return tuple(results) if self.op.outputs is None else self.op.outputs(*results)

    # ---- what rules ask for; see OpNode ----

    def value(self, parameter: int, recorded: bool) -> Any:
        """See OpNode: an argument below the level, batched or not."""
        return self.inner[parameter]

    def shape(self, parameter: int) -> Any:
        """See OpNode: the shape of one element; numbers have none."""
        value = self.logical[parameter]
        if isinstance(value, (tuple, list)):
            return [tuple(getattr(element, "shape", ())) for element in value]
        return tuple(getattr(value, "shape", ()))

    def of_batch(self, kind: int, parameter: int) -> Any:
        """See OpNode."""
        if kind == BATCHED:
            return self.flags[parameter]
        return self.in_front(parameter) if kind == EACH else self.level.size

    # ---- how ops take a batch ----

    def batched(self, parameter: int) -> Any:
        """An argument with the batch in front, given to it if it has none."""
        return batched_value(self.level, self.inner[parameter], self.flags[parameter])

    def in_front(self, parameter: int) -> Any:
        """The same for tensors; other arguments as they are."""
        value = self.inner[parameter]
        if isinstance(value, Tensor):
            return self.batched(parameter)
        if isinstance(self.flags[parameter], list):
            flags = self.flags[parameter]
            return [
                batched_value(self.level, v, f) if isinstance(v, Tensor) else v
                for v, f in zip(value, flags)
            ]
        return value

    def aligned(self) -> list[Any]:
        """Arguments that broadcast as they would one element at a time: of equal rank."""
        rank = max([v.array.ndim for v in self.logical if isinstance(v, Tensor)])
        found: list[Any] = []
        for i, value in enumerate(self.inner):
            if self.flags[i] is True:
                own = self.logical[i].array.ndim
                if own < rank:
                    shape = value.array.shape
                    value = reshape(value, (shape[0], *(1,) * (rank - own), *shape[1:]))
            found.append(value)
        return found

    def give_first(self) -> None:
        """Let the first tensor have the batch."""
        for i, value in enumerate(self.inner):
            if isinstance(value, Tensor):
                self.inner[i], self.flags[i] = self.batched(i), True
                return

    def folded(self) -> Any:
        """The op on all elements side by side along one dimension, its results taken apart."""
        folds, size = self.op.folds, self.level.size
        given: list[Any] = []
        for name, i in self.op.index_of.items():
            value = self.in_front(i)
            given.append(joined(value, folds.get(name, 0)) if isinstance(value, Tensor) else value)
        out, dim = self.op.run(given), folds.get("result", 0)
        if isinstance(out, (tuple, list)):
            return tuple([parted(each, size, dim) for each in out])
        return parted(out, size, dim)

    def promote(self) -> None:
        """Bring arguments to the data type that one element's have: that of a batch may differ."""
        places = self.op.promotes
        mixed = tensors_in([self.logical[i] for i in places])
        if all(tensor.array.dtype == mixed[0].array.dtype for tensor in mixed):
            return
        kind = promotion(self.op, self.logical)
        for i in places:
            value = self.inner[i]
            if isinstance(value, Tensor):
                self.inner[i] = cast(value, kind)
            elif isinstance(self.flags[i], list):
                self.inner[i] = [cast(v, kind) if isinstance(v, Tensor) else v for v in value]

    def check_dims(self) -> None:
        """Refuse a dimension that one element does not have: the batch is none of them."""
        rank = rank_of(self.logical[0])
        for parameter, more in self.op.dims:
            dims = self.inner[parameter]
            lowest = -max(rank + more, 1)
            for dim in dims if isinstance(dims, (tuple, list)) else (dims,):
                if type(dim) is int and not lowest <= dim < (0 if rank + more > 0 else 1):
                    self.tried()
                    raise IndexError(f"{self.op.name}(): an element of the batch has no dim {dim}")

    def tried(self) -> Any:
        """What the op makes of one element, from its shape and type alone: it may refuse it."""
        arrays = [unwrapped(value) for value in self.logical]
        xp = backend_of(tensors_in(self.logical)[0].array).xp
        try:
            return dispatch.raw_result(self.op, xp, arrays)
        except Exception as error:
            raise complaint(self.op, arrays, error)

    def of_numbers(self) -> Any:
        """The op on elements without dimensions, which it sees as rows of one."""
        expected = self.tried()
        values = [self.in_front(i) for i in range(len(self.inner))]
        for i, value in enumerate(values):
            if isinstance(value, Tensor) and value.array.ndim == 1:
                values[i] = reshape(value, (self.level.size, 1))
        for parameter, _ in self.op.dims:
            dims = values[parameter]
            several = isinstance(dims, (tuple, list))
            values[parameter] = (-1,) * len(dims) if several else None if dims is None else -1
        out = self.op.run(values)
        if not isinstance(out, (tuple, list)):
            return reshape(out, (self.level.size, *expected.shape))
        return tuple([reshape(o, (self.level.size, *e.shape)) for o, e in zip(out, expected)])

    def one_by_one(self) -> Any:
        """The op on each element of the batch by itself, for those that know no better."""
        warn_of_loop(self.op)
        if not self.level.size:
            raise RuntimeError(
                f"vmap: {self.op.name} is called once for each element, and the batch has none"
            )
        rows = [self.op.run(self.element(k)) for k in range(self.level.size)]
        if not isinstance(rows[0], (tuple, list)):
            return stack(rows)
        return tuple([stack(list(column)) for column in zip(*rows)])

    def element(self, index: int) -> list[Any]:
        """The arguments for one element of the batch."""
        found: list[Any] = []
        for value, flag in zip(self.inner, self.flags):
            if isinstance(flag, list):
                found.append([select(v, 0, index) if f else v for v, f in zip(value, flag)])
            else:
                found.append(select(value, 0, index) if flag else value)
        return found


def batched_value(level: BatchLevel, value: Tensor, flag: bool) -> Tensor:
    """A tensor with the batch in front; one for all elements is shown to each."""
    if flag:
        return value
    shown: Tensor = expand(value, (level.size, *value.array.shape))
    return shown


def joined(value: Any, dim: int) -> Any:
    """A batch, which is in front, as a part of the dimension that is numbered so behind it."""
    moved = movedim(value, 0, dim) if dim else value
    shape = moved.shape
    return reshape(moved, (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))


def parted(value: Any, size: int, dim: int) -> Any:
    """The reverse of joined."""
    shape = value.shape
    whole = reshape(value, (*shape[:dim], size, shape[dim] // max(size, 1), *shape[dim + 1 :]))
    return movedim(whole, dim, 0) if dim else whole


def cast(value: Any, kind: Any) -> Any:
    """A tensor in a data type."""
    return value if value.dtype is kind else value.to(kind)


class Loops:
    """What is done about ops that vmap calls for each element of the batch."""

    def __init__(self) -> None:
        self.allowed = True
        self.always_said = False  # or once of each op
        self.said: set[str] = set()


loops: Final = Loops()


def warn_of_loop(op: Op) -> None:
    """Say once of each op that vmap calls it for each element of the batch."""
    if not loops.allowed:
        raise RuntimeError(
            f"vmap: {op.name} would be called once for each element of the batch, and that is "
            "switched off"
        )
    if loops.always_said or op.name not in loops.said:
        loops.said.add(op.name)
        warnings.warn(
            f"There is a performance drop: vmap calls {op.name} once for each element of the "
            "batch, which takes as long as a loop; docs/notes/vmap.md lists these ops",
            stacklevel=2,
        )


def value_at(level: Level, tensor: Any) -> tuple[Any, bool]:
    """A tensor below a level, and whether it is batched there."""
    if isinstance(tensor, Tensor) and tensor.layer is not None and tensor.layer.level is level:
        return tensor.layer.value, tensor.layer.batched
    return tensor, False


def over_batch(function: Any, tensors: list[Tensor]) -> list[Any]:
    """See Upper: what the function answers, tensors or None, the batch in front of each."""
    level = BatchLevel(int(tensors[0].shape[0]), name="is_grads_batched")
    with opened(level):
        answers = function(*[layered(level, tensor) for tensor in tensors])
        found = [value_at(level, answer) for answer in answers]
        return [
            None if value is None else batched_value(level, value, flag) for value, flag in found
        ]


upper.over_batch = over_batch
