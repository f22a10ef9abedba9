"""torch._jit_internal: decorators and annotations for a compiler that is not there."""

from collections.abc import Callable
from typing import Any

from adjoint.compat.no_compiler import never, unchanged
from adjoint.compat.torch_tree.jit import ignore as ignore

export = unused = unchanged
_copy_to_script_wrapper = _overload = _overload_method = unchanged
is_scripting = never


class BroadcastingListCls:
    """A list of so many numbers, or one number for all: for annotations, which nobody reads."""

    def __getitem__(self, types: Any) -> None:
        """Nothing is kept of it."""


_any_length = BroadcastingListCls()
globals().update({f"BroadcastingList{count}": _any_length for count in range(1, 7)})


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """One of two functions, chosen by an argument of the call that both take."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        placed = args[arg_index] if arg_index < len(args) else default
        chosen = if_true if kwargs.get(arg_name, placed) else if_false
        return chosen(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn
