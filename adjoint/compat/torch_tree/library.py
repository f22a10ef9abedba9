"""torch.library as programs for PyTorch call it: on overloads of torch.ops, and in older forms."""

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

from adjoint import library
from adjoint.compat.aten_steps import kernels
from adjoint.compat.no_compiler import unchanged
from adjoint.compat.tags import Tag as Tag
from adjoint.compat.torch_tree.ops import OpOverload, operation_of
from adjoint.library import scoped
from adjoint.library.custom_op import REGISTRY, CustomOpDef
from adjoint.library.registration import KEYS


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Registered for a key, it says that there is no kernel for it: the next key is asked."""
    raise NotImplementedError("fallthrough_kernel() stands for no kernel, and is never called")


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
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found {fn!r}")
        key = dispatch_key or self.dispatch_key
        if self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f"{op_name}: the key {key} is inconsistent with the dispatch key of the Library, "
                f"{self.dispatch_key}"
            )
        if fn is fallthrough_kernel:
            self._pass_over(op_name, key)
            return
        if self.ns == "aten":
            name = op_name.name() if isinstance(op_name, OpOverload) else str(op_name)
            self.undone.append(kernels.registered(name.removeprefix("aten::"), fn, key))
            return
        super().impl(operation_of(op_name), fn, key)

    def _pass_over(self, op_name: Any, key: str) -> None:
        """Have an op make no use of a key: no kernel of a device, no casts of autocast's."""
        if self.ns == "aten":
            name = op_name.name() if isinstance(op_name, OpOverload) else str(op_name)
            self.undone.append(kernels.passed_over(name.removeprefix("aten::"), key))
            return
        op = library.lookup(f"{self.ns}::{op_name}") if isinstance(op_name, str) else op_name
        found = operation_of(op)
        self.remember(found)
        found.registered.kernels.pop(KEYS.get(key, key.lower()), None)


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


_CHECKS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


def opcheck(
    op: Any,
    args: Any,
    kwargs: Any = None,
    *,
    test_utils: Any = _CHECKS,
    raise_exception: bool = True,
) -> dict[str, Any]:
    """See adjoint.library, whose own checks are more: a program reads the outcome of each."""
    found = operation_of(op)
    return library.opcheck(
        found, args, kwargs, test_utils=test_utils, raise_exception=raise_exception
    )


register_autocast = _on_operation(library.register_autocast)
register_autograd = _on_operation(library.register_autograd)
register_kernel = _on_operation(library.register_kernel)
register_vmap = _on_operation(library.register_vmap)
register_torch_dispatch = _on_operation(library.register_torch_dispatch)
# What PyTorch logs about kernels, it logs there.
logging.getLogger("adjoint.library").parent = logging.getLogger("torch._library.custom_ops")


class Kernel:
    """The kernel of an op for a key, as get_kernel finds it; it ends with its registration."""

    def __init__(self, op: CustomOpDef, device_type: str | None) -> None:
        self.op = op
        self.device_type = device_type
        self.function: Any = op.registered.kernels[device_type]

    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        """Call it; which keys are left to be asked, it is not told."""
        found = self.op.registered.kernels.get(self.device_type)
        if found is None or found is not self.function:
            raise RuntimeError(
                f"the kernel of {self.op.name} has been invalidated: it was replaced"
            )
        return found(*args, **kwargs)


def get_kernel(op: Any, dispatch_key: Any) -> Kernel:
    """The kernel that is registered for an op and a dispatch key."""
    key = str(getattr(dispatch_key, "name", dispatch_key))
    found = operation_of(op)
    if not isinstance(found, CustomOpDef):
        found = library.lookup(op)
    device_type = KEYS.get(key, key.lower())
    if device_type not in found.registered.kernels:
        device_type = None if key in KEYS and KEYS[key] is None else device_type
    if device_type not in found.registered.kernels:
        raise RuntimeError(f"no kernel for {key} for {found.name}")
    return Kernel(found, device_type)


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """An op whose kernel calls kernels of Triton's: here one like any other."""
    return library.custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(kernel: Any) -> Any:
    """A kernel of Triton's inside such an op: called as it is."""
    return kernel


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
