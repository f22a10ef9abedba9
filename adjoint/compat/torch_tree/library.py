"""torch.library as programs for PyTorch call it: on overloads of torch.ops, and in older forms."""

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from adjoint import library
from adjoint.compat.no_compiler import unchanged
from adjoint.compat.torch_tree.ops import operation_of
from adjoint.library import scoped
from adjoint.library.custom_op import REGISTRY


class Library(library.Library):
    """A Library that takes overloads of torch.ops too."""

    def impl(
        self,
        op_name: Any,
        fn: Any,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Give an op of this namespace a kernel; sets of dispatch keys there are none."""
        if with_keyset:
            raise NotImplementedError(f"{op_name}: there are no sets of dispatch keys to pass on")
        super().impl(operation_of(op_name), fn, dispatch_key)


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A Library; what is defined or registered inside, through it or beside it, is undone."""
    with scoped(), Library(ns, kind, dispatch_key) as made:
        yield made


def _on_operation(function: Any) -> Any:
    """A function of library that takes an overload of torch.ops where it takes an op."""

    @functools.wraps(function)
    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        return function(operation_of(op), *args, **kwargs)

    return call


opcheck = _on_operation(library.opcheck)
register_autograd = _on_operation(library.register_autograd)
register_kernel = _on_operation(library.register_kernel)
register_vmap = _on_operation(library.register_vmap)


def register_fake(
    op: Any,
    func: Any = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """See adjoint.library.register_fake; nothing is done for an op of a library that is not there.

    Packages with compiled ops say so when they are imported, before anyone needs them.
    """
    if isinstance(op, str) and not any(
        name.startswith(f"{op.partition('::')[0]}::") for name in REGISTRY
    ):
        return unchanged(func)
    return library.register_fake(operation_of(op), func, lib=lib)


def triton_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any,
    schema: str | None = None,
) -> Any:
    """A custom op: there is no compiler that would look inside."""
    return library.custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """The kernel as it is."""
    return triton_kernel


def define(*args: Any, **kwargs: Any) -> Any:
    """See adjoint.library.define; with a Library first, the schema decorates the only kernel."""
    if not isinstance(args[0], library.Library):
        return library.define(*args, **kwargs)
    owner, schema = args[:2]
    name = owner.define(schema, **kwargs)
    return _decorator(owner, name, "CompositeImplicitAutograd")


def impl(*args: Any, **kwargs: Any) -> Any:
    """See adjoint.library.impl; with a Library first, it decorates the kernel of an op of it."""
    if not isinstance(args[0], library.Library):
        return library.impl(operation_of(args[0]), *args[1:], **kwargs)
    return _decorator(*args, **kwargs)


def _decorator(owner: library.Library, name: str, dispatch_key: str = "") -> Callable[[Any], Any]:
    def register(kernel: Any) -> Any:
        owner.impl(name, kernel, dispatch_key)
        return kernel

    return register


class Tag(enum.Enum):
    """What may be said of an operation for PyTorch's compilers; adjoint only remembers it."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19
