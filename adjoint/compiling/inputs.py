"""What goes into a program at each call: memory of tensors, arguments, and what events make."""

import sys
from typing import Any

from adjoint.backends import xla
from adjoint.backends.meshes import placed
from adjoint.compiling.errors import OutdatedError
from adjoint.compiling.places import Lifted, Place
from adjoint.compiling.watching import PATIENCE, TURN
from adjoint.tensors.core import NDARRAY, show

FEW = 1 << 10  # bytes, which are compared sooner than sent


class Inputs:
    """The inputs that a program uses, in its order."""

    def __init__(self, tracing: Any, program: xla.Program) -> None:
        numbers = program.inputs
        self.arrays: list[Any] = [None] * len(numbers)  # as the program takes them
        self.specs: list[Any] = [None] * len(numbers)
        self.fixed: list[tuple[int, Any]] = []  # tensors that are the same at every call
        self.known: list[Any] = []  # their arrays at the last call
        self.handed: set[int] = set()  # those whose memory XLA can't take as it lies
        self.taken = 0  # how often a tensor came with another array than at the last call
        self.rooms: dict[int, Any] = {}  # memory for copies of others, and XLA's view of it
        self.moving: list[tuple[int, Place]] = []  # arguments and gradients
        self.places: dict[int, int] = {}  # of what events make, by their ids
        # Copies for XLA are of use where it can read them, and nobody else gets to see them.
        self.copying = tracing.device.type != "xla" and program.only is not None
        self.spread = tracing.spread is not None  # over the devices of a mesh
        # XLA reads the memory of NumPy's arrays, unless its own are elsewhere: on a GPU.
        self.viewing = tracing.device.type != "xla" or xla.is_beside_numpy()
        # What events make is handed over at each call; where it stays the same, XLA keeps a copy.
        self.sending = tracing.device.type == "xla" and not self.spread and program.only is not None
        self.given: dict[int, tuple[Any, bytes]] = {}  # at the last call, and its values
        self.shardings: dict[int, Any] = {}
        wide: dict[int, Any] = {}
        for position, number in enumerate(numbers):
            source = tracing.inputs[number]
            if not isinstance(source, Lifted):
                self.places[id(source)] = position
                if self.sending and program.kinds[position].itemsize == xla.WIDE:
                    wide[position] = program.kinds[position]
                continue
            self.specs[position] = (tuple(source.array.shape), source.array.dtype)
            if self.spread:
                self.shardings[position] = source.sharding(tracing.spread)
            if type(source.place) is Place:
                self.fixed.append((position, source.place.tensor))
                self.known.append(None)
            else:
                self.moving.append((position, source.place))
        if wide:
            program.take_words(wide)
        self.tensors = [tensor for _, tensor in self.fixed]

    def gather(self, arguments: list[Any]) -> list[Any]:
        """The arrays, but for what events make."""
        if not self.moving and show(self.tensors, self.known):
            return self.arrays
        inputs, known = self.arrays, self.known
        for number, (position, tensor) in enumerate(self.fixed):
            if tensor.array is not known[number]:
                self._take(number, position, tensor)
        for position, place in self.moving:
            array = place.found(arguments).current_array()
            self._compare(position, array)
            if self.spread:
                inputs[position] = placed(array, self.shardings[position])
            else:
                inputs[position] = self._copied(position, xla.handed(array))
        return inputs

    def place(self, tensor: Any) -> tuple[int, int]:
        """The number of a tensor that stays among those, and the position of its array."""
        for number, (position, each) in enumerate(self.fixed):
            if each is tensor:
                return number, position
        return -1, -1

    def _compare(self, position: int, array: Any) -> None:
        shape, dtype = self.specs[position]
        if array.shape != shape or array.dtype != dtype:
            raise OutdatedError(
                f"an array of {dtype}{list(shape)} has become one of {array.dtype}"
                f"{list(array.shape)}"
            )

    def _take(self, number: int, position: int, tensor: Any) -> None:
        """Take the array of a tensor that stays: from then on XLA reads its memory."""
        self.taken += 1
        array = tensor.current_array()
        if xla.is_traced(array) and TURN.acquire(timeout=PATIENCE):  # by another thread
            TURN.release()
            array = tensor.current_array()
        self._compare(position, array)
        if self.spread:
            self.arrays[position] = placed(array, self.shardings[position])
            self.known[number] = None if type(array) is NDARRAY else array
            return
        if type(array) is not NDARRAY:
            self.arrays[position] = self.known[number] = array
            self.handed.discard(position)
            return
        if not self.viewing:
            self.arrays[position], self.known[number] = self._copied(position, array), None
            return
        alone = sys.getrefcount(array) <= 3 and array.base is None  # here, the tensor, the call
        if alone and array.flags.writeable and not xla.is_aligned(array):
            array = xla.aligned(array)
            if xla.is_aligned(array):
                tensor.array = array
        if xla.is_aligned(array):
            self.arrays[position], self.known[number] = xla.shown(array), array
            self.handed.discard(position)
        else:
            self.arrays[position], self.known[number] = self._copied(position, array), None

    def give(self, event: Any, made: Any) -> None:
        """Take what an event has made, if it is used."""
        position = self.places.get(id(event))
        if position is None:
            return
        if not self.sending or type(made) is not NDARRAY:
            self.arrays[position] = self._copied(position, made)
            return
        last, now = self.given.get(position), self.arrays[position]
        if last is not None and last[0] is made and type(now) is not NDARRAY:
            return
        values = made.tobytes() if made.nbytes <= FEW else b""
        self.given[position] = (made, values)
        if last is None or last[1] != values or not values:
            self.arrays[position] = xla.words(made)
        elif type(now) is NDARRAY:
            self.arrays[position] = xla.sent(now)
        if type(now) is not type(self.arrays[position]):
            self.taken += 1

    def _copied(self, position: int, array: Any) -> Any:
        """A copy where XLA reads it again at each call; of a large array itself."""
        if type(array) is not NDARRAY:
            return array
        found = self.rooms.get(position)
        if found is None:
            small = self.copying and not self.spread and array.nbytes < xla.LARGE
            room = xla.aligned(array) if small else array
            if not small or not xla.is_aligned(room):
                self.handed.add(position)
                return array
            found = self.rooms[position] = (room, xla.shown(room))
        found[0][...] = array
        return found[1]
