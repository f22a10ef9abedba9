"""The generator behind random tensors, and its seed and state.

Random numbers are those of NumPy's generator on every backend, so that one seed gives the same
everywhere: drawn by NumPy and moved to the device, or made there by the same steps (`backends/`
`cupy_chance.py`). They are not the numbers that PyTorch would draw.
"""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from adjoint._base import after_fork
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import current
from adjoint.call.held import Held
from adjoint.device import device as as_device
from adjoint.tensors.tensor import AS_IS, Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

_numpy_random = numpy_backend.xp.random
_FIRST_SEED = 67280421310721  # PyTorch's, for a generator that nobody seeded
_STATE_FIELDS = (("state", 16), ("inc", 16), ("has_uint32", 1), ("uinteger", 4), ("seed", 8))
_STATE_BYTES = sum(width for _, width in _STATE_FIELDS)


class Generator:
    """A stream of random numbers with a seed and a state; safe to share between threads.

    A forked child goes on from the state its parent had, as in PyTorch.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = as_device(device)
        self._lock = threading.Lock()
        self._seed = _FIRST_SEED
        self._stream = _numpy_random.Generator(_numpy_random.PCG64(_FIRST_SEED))
        _alive.add(self)

    @property
    def device(self) -> Any:
        """The device it was made for; numbers for any device can be drawn from it."""
        return self._device

    def draw(self, sample: Callable[[Any], Any]) -> Any:
        """What `sample` makes of NumPy's generator, which no other thread uses meanwhile."""
        with self._lock:
            return sample(self._stream)

    def manual_seed(self, seed: int) -> "Generator":
        """Start over from a seed; negative ones count from the end of 64 bits."""
        tracing = current().tracing
        if tracing is not None:
            tracing.seed(self, seed)
            return self
        if not isinstance(seed, int):
            kind = type(seed).__name__
            raise RuntimeError(f"manual_seed expected an int, but got {kind}")
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"manual_seed: {seed} does not fit into 64 bits")
        with self._lock:
            self._seed = seed % (1 << 64)
            self._stream = _numpy_random.Generator(_numpy_random.PCG64(self._seed))
        return self

    def seed(self) -> int:
        """Start over from a seed of the operating system's choice, which is returned."""
        chosen = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed it started from."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes."""
        tracing = current().tracing
        if tracing is not None:
            state_later: Tensor = tracing.chance_of(self)
            return state_later
        with self._lock:
            state = self._stream.bit_generator.state
            parts = {**state, **state["state"], "seed": self._seed}
        packed = b"".join(
            int(parts[name]).to_bytes(width, "little") for name, width in _STATE_FIELDS
        )
        return Tensor(numpy_backend.xp.frombuffer(packed, dtype="uint8").copy(), AS_IS)

    def set_state(self, new_state: Tensor) -> "Generator":
        """Go on from a state that get_state returned."""
        tracing = current().tracing
        if tracing is not None:
            tracing.set_chance(self, new_state)
            return self
        if not isinstance(new_state, Tensor) or new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a tensor of uint8, as get_state() returns it")
        packed = new_state.numpy_array().tobytes()
        if len(packed) != _STATE_BYTES:
            raise RuntimeError(
                f"RNG state is wrong size: {len(packed)} bytes instead of {_STATE_BYTES}; "
                "only states of adjoint's own generators can be set"
            )
        parts: dict[str, int] = {}
        for name, width in _STATE_FIELDS:
            parts[name] = int.from_bytes(packed[:width], "little")
            packed = packed[width:]
        bits = _numpy_random.PCG64()
        bits.state = {
            "bit_generator": "PCG64",
            "state": {"state": parts["state"], "inc": parts["inc"]},
            "has_uint32": parts["has_uint32"],
            "uinteger": parts["uinteger"],
        }
        with self._lock:
            self._seed = parts["seed"]
            self._stream = _numpy_random.Generator(bits)
        return self

    def clone_state(self) -> "Generator":
        """Another generator with the same seed and state."""
        return Generator(self._device).set_state(self.get_state())

    def __deepcopy__(self, memo: dict[int, Any]) -> "Generator":
        return self.clone_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (str(self._device), self.get_state().numpy_array().tobytes()))

    def renew_locks(self) -> None:
        """In a forked child: whoever held the locks is gone."""
        self._lock = threading.Lock()
        lock: Any = self._stream.bit_generator.lock  # which no other can take the place of
        lock._at_fork_reinit()  # noqa: SLF001


def _restored(where: str, packed: bytes) -> Generator:
    """A generator from its pickle."""
    state = Tensor(numpy_backend.xp.frombuffer(packed, dtype="uint8"), AS_IS)
    return Generator(where).set_state(state)


_alive: "weakref.WeakSet[Generator]" = weakref.WeakSet()
default_generator = Generator()


def _after_fork() -> None:
    for generator in list(_alive):
        generator.renew_locks()


after_fork(_after_fork)


def chosen(generator: Any) -> Generator:
    """The generator a call asked for, or the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be an adjoint.Generator, not {type(generator).__name__}")
    return generator


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator."""
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator by the operating system's choice; the seed is returned."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Let the default generator go on from a state."""
    default_generator.set_state(new_state)


class fork_rng(contextlib.ContextDecorator, Held):
    """Inside, random numbers may be drawn and seeds set; afterwards the state is as before."""

    def __init__(
        self,
        devices: Any = None,
        enabled: bool = True,
        _caller: str = "fork_rng",
        _devices_kw: str = "devices",
        device_type: str = "cuda",
    ) -> None:
        self.enabled = enabled
        self.states: list[Tensor] = []  # before each entry, the innermost last

    def _variable(self) -> Any:
        """See Held."""
        return self

    def _inside(self, before: Any) -> Any:
        """See Held."""
        if self.enabled:
            self.states.append(before)
        return None

    def _outside(self, now: Any) -> Any:
        """See Held."""
        return self.states[-1] if self.enabled else None

    def _left(self) -> None:
        """See Held."""
        del self.states[-1:]

    def get(self) -> Any:
        """The state of the default generator."""
        return get_rng_state() if self.enabled else None

    def set(self, state: Any) -> None:
        """Let it have a state; None: the one that it has."""
        if state is not None:
            set_rng_state(state)
