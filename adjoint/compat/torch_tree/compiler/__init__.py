"""torch.compiler: how compiled functions are called, and advice to a compiler that is not there."""

import functools
from collections.abc import Callable
from typing import Any, NoReturn

from adjoint.backends.numpy import numpy_backend
from adjoint.compat.missing_names import missing
from adjoint.compat.no_compiler import (
    compile as compile,
    get_default_backend as get_default_backend,
    never,
    nothing,
    set_default_backend as set_default_backend,
    unchanged,
)
from adjoint.compiling import stance as stances
from adjoint.compiling.public import EAGER_BACKENDS, GRAPH_BACKENDS, XLA_BACKENDS
from adjoint.creation.from_memory import as_tensor
from adjoint.pytree import tree_map
from adjoint.tensors.tensor import Tensor

allow_in_graph = assume_constant_result = disable = substitute_in_graph = unchanged
nested_compile_region = unchanged
cudagraph_mark_step_begin = reset = nothing
save_cache_artifacts = load_cache_artifacts = nothing
is_compiling = is_dynamo_compiling = is_exporting = never

_FOR_TESTS = ("aot_eager", *EAGER_BACKENDS)  # which PyTorch lists only if it is asked for all


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names of backends that torch.compile takes: XLA stands in for all but the eager one."""
    names = {*XLA_BACKENDS, *EAGER_BACKENDS}
    return sorted(names.difference(_FOR_TESTS if exclude_tags else ()))


def _as_array(value: Any) -> Any:
    tensor: Any = value
    return tensor.numpy() if isinstance(value, Tensor) else value


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors; it is not differentiated."""
    array = numpy_backend.xp.ndarray

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = tree_map(_as_array, (args, kwargs))
        found = fn(*given[0], **given[1])
        return tree_map(lambda x: as_tensor(x) if isinstance(x, array) else x, found)

    return call


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Whether processes were to agree before each call: there is one."""
    before, _collectives.enabled = _collectives.enabled, enabled
    return before


class _Collectives:
    enabled = False


_collectives = _Collectives()


def _never_asked(name: str) -> Callable[..., NoReturn]:
    """A choice of guards, which can be handed to torch.compile: there are none to choose from."""

    def choose(*args: Any, **kwargs: Any) -> NoReturn:
        raise missing(f"compiler.{name}")

    choose.__name__ = choose.__qualname__ = name
    return choose


_GUARD_FILTERS = """
    keep_portable_guards_unsafe keep_tensor_guards_unsafe skip_all_guards_unsafe
    skip_guard_on_all_nn_modules_unsafe skip_guard_on_globals_unsafe
    skip_guard_on_inbuilt_nn_modules_unsafe
"""
globals().update({name: _never_asked(name) for name in _GUARD_FILTERS.split()})


# ---- stances ----

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
