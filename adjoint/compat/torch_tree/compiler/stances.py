"""torch.compiler.set_stance: what calls of compiled functions do for a while."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.compiling import stance as stances
from adjoint.compiling.public import EAGER_BACKENDS, GRAPH_BACKENDS, XLA_BACKENDS

# Those that let a call run eagerly before it is compiled do as adjoint.compile does by itself.
_STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)


def _known(stance: Any, backend: Any) -> str:
    """The stance that is meant; what isn't known is refused."""
    if stance not in _STANCES:
        raise RuntimeError(f"set_stance: expected one of {', '.join(_STANCES)}, got {stance!r}")
    if backend is None:
        return str(stance)
    if stance != "default":
        raise RuntimeError(f"set_stance: force_backend goes with 'default', not with {stance!r}")
    if backend in EAGER_BACKENDS:
        return stances.EAGER
    if backend not in (*XLA_BACKENDS, *GRAPH_BACKENDS):
        raise RuntimeError(f"set_stance: there is no backend {backend!r:.60}; 'eager' is one")
    return "default"  # what was compiled for one backend is not compiled again for another


class set_stance:
    """Called, it sets the stance; as a context or around a function it holds that long."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        self.stance = _known(stance, force_backend)
        self.before = stances.stance.name
        stances.take(self.stance)

    def __enter__(self) -> None:
        stances.take(self.stance)

    def __exit__(self, *exc: object) -> None:
        stances.take(self.before)

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A function inside which the stance is this one; outside it is again what it was."""
        stances.take(self.before)

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return call
