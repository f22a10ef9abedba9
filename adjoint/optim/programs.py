"""Rules of optimizers as lists of calls, found without computing anything.

A rule runs on a `Tape` in place of `xp`: what it would compute is noted. The calls can be made
later, on any arrays, in place, and with little memory for what they make on the way: all of them by
one call that runs no bytecode (see adjoint.optim.writes).
"""

import marshal
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final

from adjoint.backends import quiet
from adjoint.backends.loops import compiled
from adjoint.backends.numpy import numpy_backend
from adjoint.dtypes import COMPLEX, category_of
from adjoint.tensors.core import F32, F64, NDARRAY, backend_of

BLOCK: Final = 65536  # elements of a piece: few enough for the cache, many enough for a call
MASKED: Final = "masked"  # a call that writes where its last operand is true
FUSED: Final = "fused"  # the one call of a loop of the wheel, which does all that a rule does
BY_NAME: Final = ("maximum", "minimum")  # NumPy wants to be told that the last is the result
GRAD: Final = 1  # the place of the gradient among the operands of a rule: it is not written


class Noted:
    """A value in a rule that is noted: an operand, or what a call is going to leave in a room."""

    __slots__ = ("dtype", "place", "tape")
    __array_ufunc__ = None  # arrays leave operations with it to the methods below

    def __init__(self, tape: "Tape", place: int, dtype: Any) -> None:
        self.tape = tape
        self.place = place
        self.dtype = dtype

    def __add__(self, other: Any) -> "Noted":
        return self.tape.note("add", self, other)

    def __sub__(self, other: Any) -> "Noted":
        return self.tape.note("subtract", self, other)

    def __mul__(self, other: Any) -> "Noted":
        return self.tape.note("multiply", self, other)

    def __truediv__(self, other: Any) -> "Noted":
        return self.tape.note("divide", self, other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> "Noted":
        return self.tape.note("subtract", other, self)

    def __rtruediv__(self, other: Any) -> "Noted":
        return self.tape.note("divide", other, self)

    def __iadd__(self, other: Any) -> "Noted":
        return self.tape.change("add", self, other)

    def __isub__(self, other: Any) -> "Noted":
        return self.tape.change("subtract", self, other)

    def __imul__(self, other: Any) -> "Noted":
        return self.tape.change("multiply", self, other)

    def __neg__(self) -> "Noted":
        return self.tape.note("negative", self)

    def __gt__(self, other: Any) -> "Noted":
        return self.tape.compare("greater", self, other)

    def __lt__(self, other: Any) -> "Noted":
        return self.tape.compare("less", self, other)


class Named(float):
    """A number of a step, known to programs by its name: the next step has another in its place."""

    __slots__ = ("name",)
    name: str

    def _refuse(self, other: Any) -> Any:
        """Leave it to what is noted; a rule may not compute with numbers alone."""
        if type(other) is Noted:
            return NotImplemented
        raise TypeError(f"a rule computes with the number {self.name!r}; do so in numbers()")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = _refuse
    __neg__ = __abs__ = None  # type: ignore[assignment]  # refused likewise


def named(name: str, value: Any) -> Any:
    """A number with its name; other values as they are."""
    if type(value) is not float and type(value) is not int:
        return value
    number = Named(value)
    number.name = name
    return number


def likeness(numbers: dict[str, Any]) -> Any:
    """What a rule may decide by: two steps alike in this make the same program.

    None if there are arrays among the numbers.
    """
    kinds: list[Any] = []
    for name, value in numbers.items():
        if type(value) is float or type(value) is int:
            kinds += (name, value == 0, value == 1, value > 0)
        elif value is None or type(value) is bool:
            kinds += (name, value)
        else:
            return None
    return tuple(kinds)


class Tape:
    """Stands for `xp` in a rule: the calls that the rule would make are noted.

    Operands have the places 0, 1, …, what the calls make those behind them, numbers -1, -2, ….
    """

    def __init__(self, xp: Any, dtypes: list[Any]) -> None:
        self.library = xp.library
        self.dtypes = dtypes  # of the operands
        self.numbers: list[Any] = []  # a Named by its name
        self.kinds: list[Any] = []  # the data types of what the calls make
        self.notes: list[tuple[Any, ...]] = []  # name of the function, where to, where from

    def operands(self) -> list[Noted]:
        """What the rule begins with; the tape doesn't keep them, for they refer to it."""
        return [Noted(self, place, dtype) for place, dtype in enumerate(self.dtypes)]

    def _place(self, value: Any) -> int:
        if type(value) is Noted:
            return value.place
        self.numbers.append(value)
        return -len(self.numbers)

    def _made(self, dtype: Any) -> Noted:
        self.kinds.append(dtype)
        return Noted(self, len(self.dtypes) + len(self.kinds) - 1, dtype)

    def _common(self, one: Any, other: Any) -> Any:
        """The data type of an operation; Python's numbers take on that of what they meet."""
        kinds = [getattr(value, "dtype", None) for value in (one, other)]
        if kinds[0] is kinds[1] or kinds[1] is None:
            return kinds[0]
        return kinds[1] if kinds[0] is None else self.library.result_type(*kinds)

    def note(self, name: str, *values: Any) -> Noted:
        """An operation that makes a new value."""
        places = [self._place(value) for value in values]
        made = self._made(self._common(values[0], values[-1]))
        self.notes.append((name, made.place, *places))
        return made

    def change(self, name: str, target: Noted, other: Any) -> Noted:
        """An operation on a value in its place."""
        self.notes.append((name, target.place, target.place, self._place(other)))
        return target

    def compare(self, name: str, one: Any, other: Any) -> Noted:
        """An operation whose results are true or false."""
        places = self._place(one), self._place(other)
        made = self._made(self.library.dtype(bool))
        self.notes.append((name, made.place, *places))
        return made

    def abs(self, value: Any) -> Noted:
        return self.note("absolute", value)

    def sign(self, value: Any) -> Noted:
        return self.note("sign", value)

    def sqrt(self, value: Any) -> Noted:
        return self.note("sqrt", value)

    def maximum(self, one: Any, other: Any) -> Noted:
        return self.note("maximum", one, other)

    def clip(self, value: Any, least: Any, most: Any) -> Noted:
        return self.note("minimum", self.note("maximum", value, least), most)

    def where(self, condition: Any, chosen: Any, other: Any) -> Noted:
        """other, over which what is chosen is then laid."""
        made = self._made(self._common(chosen, other))
        self.notes.append(("positive", made.place, self._place(other)))
        self.notes.append((MASKED, made.place, self._place(chosen), self._place(condition)))
        return made

    def keep(self, place: int, value: Any) -> None:
        """Let an operand become what the rule has answered for it."""
        if not (type(value) is Noted and value.place == place):
            self.notes.append(("positive", place, self._place(value)))

    def finished(self) -> "Program":
        """The calls, with as few rooms for what they make as can be; or one of a loop."""
        noted = (len(self.dtypes), tuple(self.notes))
        numbers = self.numbers[::-1]
        function, written = self._loop(noted)
        if function is not None:
            places = (*range(len(self.dtypes)), *range(-1, -1 - len(numbers), -1), *written)
            made = Program(self.library, [(FUSED, *places)], [], numbers)
            made.calls = [(FUSED, function, itemgetter(*places))]
            made.results = len(written)
        else:
            made = Program(self.library, *arranged(self.notes, self.kinds, noted[0]), numbers)
        made.noted = noted
        return made

    def _loop(self, noted: Any) -> tuple[Any, list[int]]:
        """The loop of the wheel that does all of this, and what it writes; None if none does."""
        first = self.dtypes[0]
        plain = self.library is numpy_backend.xp.library and first in (F32, F64)
        if not plain or any(kind != first for kind in self.dtypes):
            return None, []
        return loops().get(noted, (None, []))


@cache
def loops() -> dict[Any, tuple[Any, list[int]]]:
    """The loops that the wheel has of rules, and what they write, by the notes of a tape."""
    module = compiled()
    if module is None:
        return {}
    table = marshal.loads(module.table)[2]  # noqa: S302  of this very package
    return {notes: (module.loops[name], written) for notes, name, written in table}


def arranged(
    notes: list[tuple[Any, ...]], kinds: list[Any], operands: int
) -> tuple[list[tuple[Any, ...]], list[Any]]:
    """The same notes with a room in place of each value made, and the data types of the rooms.

    A room is used again when nobody reads what lies in it, by the very call that reads it last.
    """
    last = {place: i for i, note in enumerate(notes) for place in note[1:]}
    rooms: list[Any] = []
    free: list[int] = []
    home: dict[int, int] = {}
    calls = []
    for i, (name, out, *sources) in enumerate(notes):
        found = [home.get(place, place) for place in sources]
        over = [place for place in set(sources) if place in home and last[place] == i]
        free += [home.pop(place) for place in over]
        if out >= operands and out not in home:
            kind = kinds[out - operands]
            fitting = [room for room in free if rooms[room - operands] == kind]
            home[out] = fitting[-1] if fitting else operands + len(rooms)
            if fitting:
                free.remove(home[out])
            else:
                rooms.append(kind)
        calls.append((name, *found, home.get(out, out)))
    return calls, rooms


class Program:
    """A rule as a list of calls, to be made on any arrays of one kind, with any numbers."""

    def __init__(self, library: Any, calls: Any, rooms: Any, numbers: list[Any]) -> None:
        self.calls: list[tuple[str, Any, Any]] = [
            (name, None if name in (MASKED, FUSED) else getattr(library, name), itemgetter(*places))
            for name, *places in calls
        ]
        self.wiring: list[tuple[int, ...]] = [tuple(places) for _, *places in calls]
        self.positive = library.positive
        self.rooms = rooms
        self.numbers = numbers
        self.names = {value.name for value in numbers if type(value) is Named}
        self.noted: Any = None  # of what notes it was made: how many operands, and the notes
        self.results = 0  # how many operands the one call of a loop writes
        self.kernel: Any = None  # does all of it on a GPU, for many parameters at once
        own = (*BY_NAME, MASKED, FUSED)
        self.plain = not any(name in own for name, *_ in calls)
        self.reading = [number for number, call in enumerate(calls) if GRAD in call]

    def places(self, operands: list[Any], numbers: dict[str, Any], spare: "Spare") -> list[Any]:
        """What its calls are made with: operands, rooms and numbers."""
        like = operands[0]
        rooms = [spare.room(number, kind, like) for number, kind in enumerate(self.rooms)]
        own = [numbers[value.name] if type(value) is Named else value for value in self.numbers]
        return [*operands, *rooms, *own]

    def ordered(self, numbers: dict[str, Any]) -> list[Any]:
        """The numbers of a step, in the order in which the rule has asked for them."""
        own = [numbers[value.name] if type(value) is Named else value for value in self.numbers]
        return own[::-1]

    def on(
        self, operands: list[Any], numbers: dict[str, Any], spare: "Spare"
    ) -> list[tuple[Any, ...]]:
        """The calls that run it on these arrays."""
        places = self.places(operands, numbers, spare)
        if self.plain:
            return [(function, *get(places)) for _, function, get in self.calls]
        return [self.call(number, places) for number in range(len(self.calls))]

    def computed(self, xp: Any, operands: list[Any], numbers: dict[str, Any]) -> list[Any]:
        """What becomes of operands that can't be changed in place."""
        own = [numbers[value.name] if type(value) is Named else value for value in self.numbers]
        places = [*operands, *[None] * len(self.rooms), *own]
        for (name, function, _), (*sources, out) in zip(self.calls, self.wiring):
            given = [places[source] for source in sources]
            if name == MASKED:
                chosen, condition = given
                places[out] = xp.where(condition, chosen, places[out])
            else:
                places[out] = function(*given)
        return places[: len(operands)]

    def call(self, number: int, places: list[Any]) -> tuple[Any, ...]:
        """One of its calls."""
        name, function, get = self.calls[number]
        values = get(places)
        if name in BY_NAME:
            return (partial(function, out=values[-1]), *values[:-1])
        if name == FUSED:
            given = len(values) - self.results
            return (partial(function, out=values[given:]), *values[:given])
        if name == MASKED:
            chosen, condition, out = values
            return (partial(self.positive, where=condition), chosen, out)
        return (function, *values)


class Cells:
    """The numbers of a program, each in an array of its own, which calls can be made with for good.

    NumPy also takes less time over such an array than over a number.
    """

    def __init__(self, program: Program, xp: Any, kind: Any) -> None:
        self.program = program
        self.kind = kind
        self.arrays = {name: xp.empty((), kind) for name in program.names}

    def fill(self, numbers: dict[str, Any]) -> None:
        """Let them be those of the next step; one that is too large becomes infinite."""
        with quiet():
            for name, array in self.arrays.items():
                array.fill(numbers[name])


class Fitted:
    """A program on arrays that stay the same from step to step, all but the gradient."""

    def __init__(self, cells: Cells, arrays: list[Any], spare: "Spare") -> None:
        self.cells = cells
        self.program = cells.program
        self.parts: list[tuple[list[Any], list[tuple[Any, ...]]]] = []
        for operands in pieces(arrays):
            places = self.program.places(operands, cells.arrays, spare)
            calls = [self.program.call(number, places) for number in range(len(self.program.calls))]
            for number in self.program.reading:
                calls[number] = ()  # no gradient is kept from one step to the next
            places[GRAD] = None
            self.parts.append((places, calls))

    def on(self, grad: Any) -> list[tuple[Any, ...]]:
        """The calls that run it with this gradient."""
        program = self.program
        made: list[tuple[Any, ...]] = []
        start, whole = 0, len(self.parts) == 1
        flat = grad if whole else grad.reshape(-1)
        for fixed, calls in self.parts:
            end = start + fixed[0].size
            places = [fixed[0], grad if whole else flat[start:end], *fixed[GRAD + 1 :]]
            before = len(made)
            made += calls
            for number in program.reading:
                made[before + number] = program.call(number, places)
            start = end
        return made


class Spare:
    """Memory for what programs make on the way, kept from step to step."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}
        self.shown: dict[Any, Any] = {}  # parts of it, by their shapes

    def room(self, number: int, kind: Any, like: Any) -> Any:
        """Room for a value of this data type in the shape of an array, where that array is."""
        shape = like.shape
        where = "" if type(like) is NDARRAY else str(backend_of(like).device(like))
        shown = self.shown.get((number, kind, where, shape))
        if shown is not None:
            return shown
        flat = self.kept.get((number, kind, where))
        if flat is None or flat.size < like.size:
            # Of a whole block at once: what programs are fitted with needn't be made larger later.
            flat = backend_of(like).xp.empty(max(like.size, BLOCK), kind)
            self.kept[number, kind, where] = flat
            self.shown.clear()
        shown = self.shown[number, kind, where, shape] = flat[: like.size].reshape(shape)
        return shown


def pieces(arrays: list[Any]) -> list[list[Any]]:
    """Arrays of one shape in parts that fit the cache; complex numbers as two reals."""
    first = arrays[0]
    if category_of(first.dtype) == COMPLEX:
        real, imaginary = [a.real for a in arrays], [a.imag for a in arrays]
        return pieces(real) + pieces(imaginary)
    if first.size <= BLOCK:
        return [arrays]
    rows = BLOCK
    if all(array.flags.c_contiguous for array in arrays):
        arrays = [array.reshape(-1) for array in arrays]
    else:
        rows = max(1, BLOCK * len(first) // first.size)
    return [
        [array[start : start + rows] for array in arrays]
        for start in range(0, len(arrays[0]), rows)
    ]
