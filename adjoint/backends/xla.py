"""Programs of XLA: what a function of arrays did on JAX's tracers, compiled and run again.

Inputs are asked for while the function runs, when it first meets what they stand for; what the
host has to do in between parts the program into pieces (docs/notes/compile.md).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import jax
import jax.extend.core
import numpy as np

from adjoint.backends.jax import jax_backend, under_way
from adjoint.backends.meshes import is_spread
from adjoint.backends.xla_equations import is_literal, needed, read, untransposed

_jax: Any = jax  # for its functions without type hints
_core: Any = jax.extend.core

ALIGNMENT: Final = 64  # bytes: where XLA takes memory as it lies
_READS: Final = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
_CPP: Final = type(_jax.jit(lambda: None))
WIDE: Final = 8  # bytes of a number of 64 bits
LARGE: Final = 1 << 17  # bytes: from here on, looking at XLA's memory is cheaper than a copy

Spec = tuple[tuple[int, ...], Any]  # shape and data type


# ---- what stands in a trace ----

_input: Any = _core.Primitive("adjoint_input")
_host: Any = _core.Primitive("adjoint_host")
_host.multiple_results = True


def _input_spec(*, index: int, shape: Any, dtype: Any) -> Any:
    return _jax.core.ShapedArray(shape, dtype)


def _host_specs(*values: Any, index: int, specs: Any) -> Any:
    return [_jax.core.ShapedArray(shape, dtype) for shape, dtype in specs]


_input.def_abstract_eval(_input_spec)
_host.def_abstract_eval(_host_specs)


def new_input(index: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """A tracer that stands for an input of the program under way."""
    return _input.bind(index=index, shape=tuple(shape), dtype=np.dtype(dtype))


def call_on_host(index: int, arrays: Sequence[Any], specs: Sequence[Spec]) -> list[Any]:
    """Tracers for what the host makes of these arrays, each time the program comes here."""
    found: list[Any] = _host.bind(*arrays, index=index, specs=tuple(specs))
    return found


def barrier(arrays: list[Any]) -> list[Any]:
    """The same values, which XLA can't find to be the same: it computes with them once more."""
    found: list[Any] = _jax.lax.optimization_barrier(arrays)
    return found


def branch(pred: Any, bodies: list[Callable[[list[Any]], list[Any]]], arrays: list[Any]) -> Any:
    """What the first function makes of arrays if pred is true, else the second."""
    one, other = bodies
    return _jax.lax.cond(_jax.numpy.reshape(pred, ()) != 0, one, other, arrays)


def repeat(
    test: Callable[[list[Any]], list[Any]],
    body: Callable[[list[Any]], list[Any]],
    arrays: list[Any],
) -> Any:
    """What a function has made of arrays, again and again, when the test fails."""
    return _jax.lax.while_loop(
        lambda carried: _jax.numpy.reshape(test(carried)[0], ()), body, arrays
    )


def scan(
    step: Callable[[list[Any]], list[Any]], init: list[Any], xs: list[Any], reverse: bool
) -> list[Any]:
    """The arrays carried along the first dimension of xs in the end, and all that was made."""

    def call(carry: list[Any], x: list[Any]) -> Any:
        found = step([*carry, *x])
        return found[: len(init)], found[len(init) :]

    carry, made = _jax.lax.scan(call, init, xs, reverse=reverse)
    return [*carry, *made]


def constant(array: Any) -> Any:
    """An array with values of its own inside a trace."""
    with _jax.ensure_compile_time_eval():
        return _jax.device_put(np.array(array))


def is_traced(array: Any) -> bool:
    """Whether an array has no values yet."""
    return isinstance(array, jax.core.Tracer)


def wide() -> Any:
    """A context in which JAX has the data types of 64 bits that NumPy has."""
    return _jax.enable_x64(True)


def is_wide() -> bool:
    """Whether JAX is set to have data types of 64 bits here and now."""
    return bool(_jax.config.jax_enable_x64)


def value_was_read(error: BaseException | None) -> bool:
    """Whether among the causes of an error JAX complains that a value was asked for."""
    while error is not None:
        if isinstance(error, _READS):
            return True
        error = error.__cause__ or error.__context__
    return False


# ---- from a run on tracers to a program ----

XLA: Final = -1  # in place of the number of a call on the host: the piece is XLA's
REST: Final = -2  # the program rests here, until it is told the gradients of its results


class Step:
    """A piece that XLA runs, or a call on the host: which values it takes, and which it makes."""

    __slots__ = ("call", "host", "made", "taken")

    def __init__(self, call: Any, host: int, taken: list[int], made: list[int]) -> None:
        self.call = call
        self.host = host
        self.taken = taken
        self.made = made


class Program:
    """The pieces of a traced function, in order, with the inputs that are really used."""

    def __init__(self, inputs: list[int], fixed: list[Any], steps: list[Step]) -> None:
        self.inputs = inputs  # the numbers of those that are used, in the order they are given
        self.fixed = fixed  # constants that the host is called with, whose places come next
        self.steps = steps
        self.outputs: list[int] = []  # the places of the outputs
        self.size = 0
        self.kinds: list[Any] = []  # data types of the inputs of a program of one piece
        self.ready: Any = None
        self.quick: Any = None  # what is called where that needs no code of Python's
        self.only: Any = steps[0].call if len(steps) == 1 and steps[0].host == XLA else None

    def take_words(self, kinds: dict[int, Any]) -> None:
        """Take inputs of these data types, at these positions, in words: see `words`."""
        function = self.only.__wrapped__

        def unpacked(*arrays: Any) -> Any:
            given = list(arrays)
            for position, kind in kinds.items():
                given[position] = _jax.lax.bitcast_convert_type(arrays[position], kind)
            return function(*given)

        self.only = _jit(unpacked)

    def results(self, arrays: list[Any]) -> list[Any]:
        """The outputs of a program of one piece."""
        with wide():
            found: list[Any] = self.only(*arrays)
        return found

    def results_at_once(self, arrays: list[Any]) -> list[Any]:
        """The same for arrays of JAX's own, all of them, which needs less preparation."""
        if self.quick is None:
            self._prepare(arrays)
        found: list[Any] = _run(self.ready, arrays) if self.quick is None else self.quick(*arrays)
        return found

    def _prepare(self, arrays: list[Any]) -> None:
        if self.ready is None:
            with wide():
                self.ready = self.only.lower(*arrays).compile()
        self.quick = quick(self.ready)


class Taking:
    """A program of one piece whose results take over memory: of inputs, and of spare arrays.

    Spare arrays come after the inputs, and are not read. JAX gives the memory of arrays to results
    of their kind in the order of both, so that results which take over come first, in that order.
    """

    def __init__(self, program: Program, taken: dict[int, int], count: int) -> None:
        self.program = program
        self.positions = sorted(taken)  # of what is taken over, the spare arrays last
        first = [taken[position] for position in self.positions]
        self.order = [*first, *(n for n in range(count) if n not in set(first))]
        self.places = sorted(range(count), key=self.order.__getitem__)  # of each result
        self.ready: Any = None

    def _prepare(self, arrays: list[Any]) -> None:
        function, reading = self.program.only.__wrapped__, len(self.program.inputs)

        def ordered(*given: Any) -> Any:
            found = function(*given[:reading])
            return [found[number] for number in self.order]

        with wide():
            made = _jit(ordered, donate_argnums=self.positions, keep_unused=True)
            self.ready = made.lower(*arrays).compile()

    def results(self, arrays: list[Any]) -> list[Any]:
        """The outputs of the program, which take over copies."""
        arrays = arrays.copy()
        for position, copied in zip(self.positions, self.copies(arrays)):
            arrays[position] = copied
        if self.ready is None:
            self._prepare(arrays)
        found = _run(self.ready, arrays)
        return [found[place] for place in self.places]

    def copies(self, arrays: list[Any]) -> list[Any]:
        """Copies of the arrays whose memory results take over."""
        found: list[Any] = _copied([arrays[each] for each in self.positions])
        return found

    def call(self) -> Any:
        """The call that takes over memory, of C++ alone; None before a first call has prepared it.

        Python code would hear signals between the program's end and what is done with its results.
        """
        return quick(self.ready)


def _run(ready: Any, arrays: list[Any]) -> Any:
    """The results of a compiled program; functions of the host that it calls get all 64 bits."""
    call = getattr(getattr(ready, "_executable", None), "unsafe_call", None)
    if not getattr(call, "has_host_callbacks", True):
        return ready(*arrays)
    with wide():
        return ready(*arrays)


def _copies(arrays: list[Any]) -> list[Any]:
    return [_jax.numpy.array(each, copy=True) for each in arrays]


_copied: Final = _jax.jit(_copies)  # one program: copies take long to be asked for one by one


def quick(ready: Any) -> Any:
    """The call of a compiled program that is C++'s alone; None before Python has prepared it."""
    call = getattr(ready, "_call", None)
    return call if type(call) is _CPP else None


def kinds(arrays: list[Any]) -> list[Any]:
    """What JAX tells arrays apart by in a call; of other libraries' arrays None."""
    try:
        # The public name is code of Python's.
        return [each.aval for each in arrays] + [each._committed for each in arrays]  # noqa: SLF001
    except AttributeError:
        return [None] * (2 * len(arrays))


def signatures(call: Any) -> int:
    """How many kinds of arguments C++ knows of a call; for others Python code prepares it first."""
    found: int = call._cache_size()  # noqa: SLF001  there is no public name
    return found


class Run:
    """How far a program has come, and with what."""

    __slots__ = ("at", "host", "program", "values")

    def __init__(self, program: Program, values: list[Any], host: Any) -> None:
        self.program = program
        self.values = values + [None] * (program.size - len(values))
        self.host = host
        self.at = 0

    def go_on(self, given: Sequence[Any] = ()) -> list[Any]:
        """Run from where it rests; the values it was given are what it waited for."""
        values, steps = self.values, self.program.steps
        if self.at:
            for place, value in zip(steps[self.at - 1].made, given):
                values[place] = value
        while self.at < len(steps):
            step = steps[self.at]
            self.at += 1
            taken = [values[place] for place in step.taken]
            if step.host == REST:
                return taken
            if step.host == XLA:
                with wide():
                    made = step.call(*taken)
            else:
                made = self.host(step.host, taken)
            for place, value in zip(step.made, made):
                values[place] = value
        return [values[place] for place in self.program.outputs]

    def keep(self, count: int) -> None:
        """Keep the inputs that are read once more as they are: NumPy's memory may change."""
        later = {place for step in self.program.steps[self.at :] for place in step.taken}
        for place in later:
            if place < count:
                self.values[place] = np.array(self.values[place])

    def again(self) -> "Run":
        """The same, resting where this one rests now."""
        other = Run(self.program, list(self.values), self.host)
        other.at = self.at
        return other


def trace(function: Callable[[], list[Any]], compiling: Any) -> Any:
    """What a function does on tracers; it answers a list of them."""
    outer = under_way.get()
    failed: list[Exception] = []

    def attempt() -> list[Any]:
        try:
            return function()
        except Exception as error:  # not through JAX, which changes its traceback and adds notes
            failed.append(error)
            return []

    try:
        under_way.set(compiling)
        with wide():
            traced = _jax.make_jaxpr(attempt)()
    finally:
        under_way.set(outer)
    if failed:
        raise failed.pop()
    return traced


def built(traced: Any, count: int) -> Program:
    """The program of a trace that has asked for so many inputs."""
    jaxpr = traced.jaxpr
    consts = dict(zip(jaxpr.constvars, traced.consts))
    kept = needed(untransposed(jaxpr.eqns), jaxpr.outvars, _host)
    found = {e.params["index"]: e.outvars[0] for e in kept if e.primitive is _input}
    numbers = [index for index in range(count) if index in found]
    taken = [found[index] for index in numbers]
    work = [equation for equation in kept if equation.primitive is not _input]
    if not any(equation.primitive is _host for equation in work):
        piece = _compiled(jaxpr, consts, work, taken, jaxpr.outvars)
        places = list(range(len(taken)))
        program = Program(numbers, [], [Step(piece, XLA, places, [])])
        program.size = len(taken)
        program.kinds = [var.aval.dtype for var in taken]
        return program
    return _Arrangement(jaxpr, taken, consts, work).program(numbers)


class _Arrangement:
    """Equations in pieces between the calls on the host, and the place of each value."""

    def __init__(
        self, jaxpr: Any, taken: list[Any], consts: dict[Any, Any], equations: list[Any]
    ) -> None:
        self.jaxpr = jaxpr
        self.consts = consts
        self.outputs = outputs = list(jaxpr.outvars)
        self.places = {var: place for place, var in enumerate(taken)}
        self.fixed: list[Any] = []
        self.fixed_places: dict[int, int] = {}  # of literals, by id
        self.pieces: list[list[Any]] = []
        for equation in equations:
            apart = equation.primitive is _host
            if apart or not self.pieces or self.pieces[-1][-1].primitive is _host:
                self.pieces.append([])
            self.pieces[-1].append(equation)
        for piece in self.pieces:
            if piece[0].primitive is _host:
                for var in piece[0].invars:
                    self._fix(var)
        for var in outputs:
            self._fix(var)

    def _fix(self, var: Any) -> None:
        """Give a constant that is needed by itself a place."""
        if is_literal(var):
            if id(var) not in self.fixed_places:
                self.fixed_places[id(var)] = len(self.places) + len(self.fixed_places)
                self.fixed.append(np.asarray(var.val, var.aval.dtype))
        elif var in self.consts and var not in self.places:
            self.places[var] = len(self.places) + len(self.fixed_places)
            self.fixed.append(self.consts[var])

    def _place(self, var: Any) -> int:
        return self.fixed_places[id(var)] if is_literal(var) else self.places[var]

    def program(self, numbers: list[int]) -> Program:
        """The program that takes the inputs of these numbers."""
        steps: list[Step] = []
        later = [{var for var in self.outputs if not is_literal(var)}]
        for piece in reversed(self.pieces):
            later.append(later[-1] | read(piece))
        for piece, wanted in zip(self.pieces, later[-2::-1]):
            steps.append(self._step(piece, wanted))
        program = Program(numbers, self.fixed, steps)
        program.outputs = [self._place(var) for var in self.outputs]
        program.size = len(self.places) + len(self.fixed_places)
        return program

    def _step(self, piece: list[Any], later: set[Any]) -> Step:
        """A piece as a step; what it makes for later gets its places."""
        first, call = piece[0], None
        if first.primitive is _host:
            host, taken, made = first.params["index"], list(first.invars), list(first.outvars)
        else:
            own = {var for equation in piece for var in equation.outvars}
            host = XLA
            taken = sorted(
                (v for v in read(piece) - own if v in self.places), key=self.places.__getitem__
            )
            made = [v for e in piece for v in e.outvars if v in later]
            call = _compiled(self.jaxpr, self.consts, piece, taken, made)
        for var in made:
            self.places[var] = len(self.places) + len(self.fixed_places)
        return Step(call, host, [self._place(v) for v in taken], [self.places[v] for v in made])


def _compiled(
    jaxpr: Any, consts: dict[Any, Any], equations: list[Any], taken: list[Any], made: list[Any]
) -> Any:
    """Equations of a trace as a function of the variables they take, that XLA compiles."""
    used = read(equations)
    used.update(var for var in made if not is_literal(var))
    own = {var: value for var, value in consts.items() if var in used and var not in taken}
    piece = jaxpr.replace(constvars=list(own), invars=taken, outvars=made, eqns=equations)
    return _jit(_core.jaxpr_as_fun(_core.ClosedJaxpr(piece, list(own.values()))))


def _jit(function: Any, **options: Any) -> Any:
    """What XLA compiles a function to; beside NumPy, rounded to 16 bits where eager code rounds."""
    if is_beside_numpy():
        options["compiler_options"] = {"xla_allow_excess_precision": False}
    return _jax.jit(function, **options)


# ---- NumPy's memory and XLA's ----


def aligned(array: Any) -> Any:
    """A copy of an array of NumPy where XLA can take it as it lies."""
    raw = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    made = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def is_aligned(array: Any) -> bool:
    """Whether XLA can take an array of NumPy as it lies."""
    flags = array.flags
    return bool(
        flags.c_contiguous
        and flags.writeable
        and array.size
        and array.ctypes.data % ALIGNMENT == 0
        and array.dtype.isbuiltin == 1
        and array.dtype.kind != "b"
    )


def is_beside_numpy() -> bool:
    """Whether XLA's arrays are in the memory that NumPy's are in, where nothing else is said."""
    return bool(_jax.default_backend() == "cpu")


def shown(array: Any) -> Any:
    """XLA's view of an aligned array: it reads what is there when a program runs."""
    with wide():
        return _jax.dlpack.from_dlpack(array)


def words(array: Any) -> Any:
    """An array of NumPy in words of 32 bits where its numbers have 64.

    JAX takes those without looking whether it is set to numbers of 64 bits, and without Python.
    """
    if array.dtype.itemsize != WIDE:
        return array
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint32)


def sent(array: Any) -> Any:
    """A copy of an array of NumPy in XLA's memory."""
    with wide():
        return _jax.device_put(array)


def handed(array: Any) -> Any:
    """An array as a program takes it; other libraries' than NumPy's and JAX's are refused."""
    if type(array) is np.ndarray or isinstance(array, jax.Array):
        return array
    raise TypeError(f"an array of {type(array).__module__} can't go into a program of XLA")


class _Memory:
    """XLA's memory of a result, which nobody else has, as NumPy may take it."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "shape": owner.shape,
            "typestr": owner.dtype.str,
            "data": (owner.unsafe_buffer_pointer(), False),
            "version": 3,
        }


def received(array: Any) -> Any:
    """A result of XLA as an array of NumPy that may be changed; a large one is not copied."""
    if type(array) is np.ndarray:
        return array  # of a packing, which nobody else has
    foreign = is_spread(array) or array.device.platform != "cpu"
    if _is_small(array) or array.dtype.isbuiltin != 1 or foreign:
        return np.array(array)
    return _unshared(array)


def _is_small(array: Any) -> bool:
    return bool(array.size * array.dtype.itemsize < LARGE)


def _unshared(array: Any) -> Any:
    """XLA's memory of a result as an array of NumPy that may be changed."""
    array.block_until_ready()
    return np.asarray(_Memory(array))


def _as_it_is(array: Any) -> Any:
    return array


def looked_at(array: Any) -> Any:
    """A result of XLA as an array of NumPy that is only read: it is copied next."""
    return array if type(array) is np.ndarray else np.asarray(array)


class Packing:
    """Small outputs of a program joined into one of each data type: fewer are fetched.

    Those `copied` are written to memory that there is, and those `staying` are XLA's from call to
    call; the others become arrays of their own. Where a program is long, none are joined.
    """

    def __init__(self, arrays: list[Any], copied: set[int], staying: set[int], joins: bool) -> None:
        kinds: dict[Any, list[int]] = {}
        for number, array in enumerate(arrays):
            if joins and array.size and _is_small(array) and number not in staying:
                kinds.setdefault((number in copied, array.dtype), []).append(number)
        self.joined = [numbers for numbers in kinds.values() if len(numbers) > 1]
        inside = {number for numbers in self.joined for number in numbers}
        self.apart = [number for number in range(len(arrays)) if number not in inside]
        self.rooms: list[Any] = []  # for those that are copied next: memory that stays; else None
        self.standing: dict[int, Any] = {}  # their parts of it, by their numbers
        self.pieces: list[list[tuple[int, slice, Any]]] = []
        for numbers in self.joined:
            ends = np.cumsum([arrays[number].size for number in numbers]).tolist()
            pieces = [
                (number, slice(start, end), tuple(arrays[number].shape))
                for number, start, end in zip(numbers, [0, *ends[:-1]], ends)
            ]
            room = np.empty(ends[-1], arrays[numbers[0]].dtype) if numbers[0] in copied else None
            if room is not None:
                self.standing.update((n, room[part].reshape(shape)) for n, part, shape in pieces)
            self.rooms.append(room)
            self.pieces.append(pieces)
        self.found = [self.standing.get(number) for number in range(len(arrays))]
        self.receiving = [
            _as_it_is
            if number in inside or number in staying
            else np.array
            if _is_small(array)
            else received
            for number, array in enumerate(arrays)
        ]

    def packed(self, arrays: list[Any]) -> list[Any]:
        """The outputs of the program for these, in a trace."""
        joined = [
            _jax.numpy.concatenate([_jax.numpy.reshape(arrays[n], -1) for n in numbers])
            for numbers in self.joined
        ]
        return [*joined, *[arrays[number] for number in self.apart]]

    def unpacked(self, outputs: list[Any]) -> list[Any]:
        """What the outputs of a run stand for: arrays of NumPy, if they were joined."""
        if outputs and isinstance(outputs[-1], jax.Array):  # a hook's answer is one of NumPy
            outputs[-1].block_until_ready()  # a program makes all at once, and this waits quickly
        if not self.joined:
            return outputs
        found = self.found.copy()
        for pieces, output, room in zip(self.pieces, outputs, self.rooms):
            if room is not None:
                room[...] = looked_at(output)
                continue
            flat = np.array(output)
            for number, part, shape in pieces:
                found[number] = flat[part].reshape(shape)
        for number, output in zip(self.apart, outputs[len(self.joined) :]):
            found[number] = output
        return found


def ready(arrays: list[Any]) -> list[Any]:
    """The same arrays, when the program has made them all."""
    found: list[Any] = _jax.block_until_ready(arrays)
    return found


backend = jax_backend
