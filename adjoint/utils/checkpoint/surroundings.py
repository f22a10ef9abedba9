"""What a recomputation must find as the first run did: random numbers, settings, arguments."""

from collections.abc import Callable
from typing import Any

from adjoint.autograd.saved_tensors import SavedTensor, check_version, pack
from adjoint.call.context import Scope, Settings, current, replaced
from adjoint.random import get_rng_state, set_rng_state
from adjoint.tensors.tensor import Tensor


class KeptArgument:
    """A tensor that a region was called with, saved as an op would save it."""

    def __init__(self, tensor: Tensor) -> None:
        tensor.up_to_date()
        self.counter = tensor.counter()
        self.version = self.counter.value
        self.value: Any = pack(_as_it_is(tensor), current().saved_hooks)

    def restored(self) -> Any:
        """The tensor again, unless it was changed in place since."""
        if isinstance(self.value, SavedTensor):
            return self.value.unpack()
        check_version(None, "an argument of checkpoint", self.version, self.counter)
        return self.value


def _as_it_is(tensor: Tensor) -> Tensor:
    """The tensor, or, since it may be changed in place, one like it that keeps its node.

    Otherwise an argument that its own region changes would lead back to the region that keeps it.
    """
    if tensor.node is None or tensor.special:
        return tensor
    alias = tensor.shared()
    alias.node, alias.output_number = tensor.node, tensor.output_number
    alias.needs_grad = True
    return alias


def keep(value: Any) -> Any:
    """An argument for later; what is no tensor is kept as it is."""
    return KeptArgument(value) if isinstance(value, Tensor) else value


def restored(value: Any) -> Any:
    """An argument as it was given."""
    if not isinstance(value, KeptArgument):
        return value
    tracing = current().tracing
    return value.restored() if tracing is None else tracing.apart(value.restored())


def of_region(watchers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those watchers that change what is computed, and must see it again."""
    return tuple(w for w in watchers if getattr(w, "of_region", False))


class Surroundings:
    """The settings and the random numbers with which a region runs.

    All devices draw from one generator, so its state is that of every backend. It is only set back
    for a region that drew from it, so that others may recompute on several threads at once.
    """

    def __init__(self, preserve_rng_state: bool) -> None:
        self.settings = current()
        self.random = get_rng_state() if preserve_rng_state else None

    def forget_unused(self) -> None:
        """After the region: its random state is not needed if it drew no numbers."""
        if self.random is None or current().tracing is not None:
            return
        if self.random.tolist() == get_rng_state().tolist():
            self.random = None

    def again(
        self,
        region: Callable[[], Any],
        hooks: tuple[Any, ...] = (),
        guards: tuple[Any, ...] = (),
        watchers: tuple[Any, ...] = (),
    ) -> Any:
        """Run a region as it ran first, but for grad mode, which is on, and `hooks` on saving.

        `guards` are told of each tensor that is changed in place. Watchers belong to the run, not
        to the region, since those of the first have seen it; but such as autocast say otherwise.
        Those given see a call after these, and before those of the run.
        """
        scope = Again(self.settings, hooks, guards, watchers)
        if self.random is None:
            with scope:
                return region()
        before = get_rng_state()
        try:
            set_rng_state(self.random)
            with scope:
                return region()
        finally:
            try:
                set_rng_state(before)
            except BaseException:  # a signal that is heard as the call begins
                set_rng_state(before)
                raise


class Again(Scope):
    """Inside, the settings are those of a first run, but for what belongs to running it again."""

    def __init__(
        self,
        first: Settings,
        hooks: tuple[Any, ...],
        guards: tuple[Any, ...],
        watchers: tuple[Any, ...],
    ) -> None:
        self.first = first
        self.hooks = hooks
        self.guards = guards
        self.watchers = watchers

    def _inside(self, outer: Settings) -> Settings:
        """See Scope."""
        first = self.first
        values = {
            "grad_enabled": True,
            "beneath": False,
            "saved_hooks": self.hooks,
            "hooks_refusal": None,
            "guards": (*first.guards, *self.guards),
            "watchers": (*outer.watchers, *self.watchers, *of_region(first.watchers)),
            "modes": outer.modes,
        }
        return replaced(first, values)

    def _outside(self, now: Settings, outer: Settings) -> Settings:
        """See Scope; what the region has set is nobody else's."""
        return outer


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random states that devices have of their own: none, they all draw from one generator."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Set back what get_device_states returned; states of other kinds are refused."""
    if len(devices) or len(states):
        raise RuntimeError(
            f"set_device_states: got {len(states)} states, but no device has one of its own; "
            "random.set_rng_state sets the one that all draw from"
        )
