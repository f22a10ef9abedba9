"""torch.library as programs for PyTorch call it: on overloads of torch.ops, and in older forms."""

import contextlib
import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

from adjoint import library
from adjoint.compat.aten_steps import kernels
from adjoint.compat.dispatch_keys import DispatchKey, DispatchKeySet
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
        """Give an op of this namespace a kernel, which may want the set of dispatch keys first."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found {fn!r}")
        op_name = self._own_name(op_name)
        key = dispatch_key or self.dispatch_key
        if self.dispatch_key and key != self.dispatch_key:
            raise RuntimeError(
                f"{op_name}: the key {key} is inconsistent with the dispatch key of the Library, "
                f"{self.dispatch_key}"
            )
        if fn is fallthrough_kernel:
            self._pass_over(op_name, key)
            return
        if with_keyset:
            fn = functools.partial(fn, DispatchKeySet([DispatchKey[key]] if key else []))
        if self.ns == "aten":
            name = op_name.name() if isinstance(op_name, OpOverload) else str(op_name)
            self.undone.append(kernels.registered(name.removeprefix("aten::"), fn, key))
            return
        found = operation_of(op_name)
        if not allow_override:
            known = REGISTRY.get(f"{self.ns}::{found}") if isinstance(found, str) else found
            if known is not None and key in known.registered.keys:
                raise RuntimeError(
                    f"{known.name} has a kernel for {key or 'all devices'} already; leave out "
                    "allow_override=False to replace it"
                )
        super().impl(found, fn, key)

    def _own_name(self, op_name: Any) -> Any:
        """The name of an op without the namespace of this Library, or the op or overload itself."""
        if not isinstance(op_name, (str, OpOverload, CustomOpDef)):
            raise RuntimeError(
                f"impl({op_name!r}, ...): expected the name of an op or an overload of torch.ops, "
                f"got {type(op_name)}"
            )
        if not isinstance(op_name, str) or "::" not in op_name:
            return op_name
        namespace, _, own = op_name.partition("::")
        if namespace != self.ns:
            raise RuntimeError(
                f"impl({op_name!r}, ...): the Library is of the namespace {self.ns}; make one of "
                f"{namespace}"
            )
        return own

    def _register_fake(
        self, op_name: Any, fn: Any, _stacklevel: int = 1, *, allow_override: bool = True
    ) -> None:
        """See adjoint.library.register_fake, for an op of this namespace."""
        name = self._own_name(op_name)
        found = f"{self.ns}::{name}" if isinstance(name, str) else operation_of(name)
        library.register_fake(found, fn, lib=self)

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

    def __init__(self, name: str, find: Callable[[], Any]) -> None:
        self.name = name
        self.find = find
        self.function = find()

    def call_boxed(self, keyset: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Call it; it answers by itself, whichever keys are left to be asked."""
        if self.find() is not self.function:
            raise RuntimeError(f"the kernel of {self.name} has been invalidated: it was replaced")
        return self.function(*args, **kwargs)


def get_kernel(op: Any, dispatch_key: Any) -> Kernel:
    """The kernel that is registered for an op and a dispatch key."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(
            f"get_kernel({op!r}, ...): expected the name of an op or an overload of torch.ops, got "
            f"{type(op)}"
        )
    key = str(getattr(dispatch_key, "name", dispatch_key))
    if key not in DispatchKey.__members__:
        raise ValueError(f"get_kernel({op}, {key!r}): there is no such dispatch key, as CPU is one")
    name = op.name() if isinstance(op, OpOverload) else str(getattr(op, "name", op))
    if name.startswith("aten::"):
        return Kernel(name, functools.partial(kernels.found, name.removeprefix("aten::"), key))
    found = REGISTRY.get(name.removesuffix(".default"))
    if found is None:
        raise RuntimeError(f"get_kernel({name!r}, ...): the operator does not exist")
    device_type = KEYS.get(key, key.lower())
    if device_type not in found.registered.kernels:
        raise RuntimeError(f"no kernel for {key} for {found.name}")
    return Kernel(found.name, lambda: found.registered.kernels.get(device_type))


def triton_op(name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None) -> Any:
    """An op whose kernel calls kernels of Triton's: here one like any other, made of ops."""

    def define(function: Any) -> CustomOpDef:
        made: CustomOpDef = library.custom_op(
            name, function, mutates_args=mutates_args, schema=schema
        )
        made.register_fake(function)
        return made

    return define if fn is None else define(fn)


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
    """See adjoint.library.register_fake, for a name or an overload of torch.ops."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"register_fake({op!r}): got unexpected type for op: {type(op)}")
    return library.register_fake(operation_of(op), func, lib=lib)


def impl_abstract(qualname: str, func: Any = None, *, lib: Any = None, _stacklevel: int = 1) -> Any:
    """register_fake under its older name."""
    return register_fake(qualname, func, lib=lib)


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
