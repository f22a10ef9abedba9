"""checkpoint and checkpoint_sequential: which form runs, and with what."""

import warnings
from collections.abc import Callable
from typing import Any

from adjoint.utils.checkpoint.recompute import noop_context_fn, run_recomputed
from adjoint.utils.checkpoint.reentrant import run_reentrant


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """function(*args, **kwargs), which is run again in backward in place of saving its tensors.

    `use_reentrant=False` is the form to use: it works with every way to call backward. `context_fn`
    gives two context managers, for the first run and for later ones; `determinism_check` compares
    shape, dtype and device of what both save ("none" does not); `early_stop` ends a run once it has
    what backward needs; `debug` puts the calls of both runs into the error.
    """
    if use_reentrant is None:
        use_reentrant = _old_default("checkpoint")
    if not use_reentrant:
        return run_recomputed(
            function,
            args,
            kwargs,
            context_fn=context_fn,
            determinism_check=determinism_check,
            debug=debug,
            early_stop=early_stop,
            preserve_rng_state=preserve_rng_state,
        )
    if kwargs:
        raise ValueError(
            f"Unexpected keyword arguments: {', '.join(kwargs)}; functions with keywords need "
            "use_reentrant=False"
        )
    if context_fn is not noop_context_fn or debug:
        raise ValueError("`context_fn` or `debug` is only supported when use_reentrant=False")
    return run_reentrant(function, preserve_rng_state, args)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions one after the other, in `segments` checkpoints; the last one is not dropped."""
    if use_reentrant is None:
        use_reentrant = _old_default("checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}")
    children = getattr(functions, "children", None)
    steps = list(functions if children is None else children())
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            _chain(steps[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
    return _chain(steps[size * (segments - 1) :])(input)


def _chain(steps: list[Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


def _old_default(name: str) -> bool:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. False is recommended; "
        "as in PyTorch, the default is still True.",
        stacklevel=3,
    )
    return True
