"""torch.ops: operations by namespace, name and overload, as torch.ops.aten.sin.default.

adjoint's own operations have no overloads: each of PyTorch's is the same operation under another
name. Custom ops have those that were defined, as namespace::name.overload.
"""

import functools
from collections.abc import Iterator
from typing import Any, NoReturn

from adjoint import fft
from adjoint.autograd.profiler import record_function
from adjoint.call.overriding import answered_elsewhere, offered
from adjoint.compat import aten_forms, pytorch_names
from adjoint.compat.aten import PRIVATE
from adjoint.compat.aten_forms import fits
from adjoint.compat.dispatch_keys import DispatchKey
from adjoint.compat.higher_order import OPERATORS
from adjoint.compat.missing_names import missing
from adjoint.compat.private_functions import OF_TYPES
from adjoint.compat.tags import Tag, of_aten
from adjoint.creation import factories, windows
from adjoint.library.custom_op import REGISTRY, CustomOpDef
from adjoint.library.registration import KEYS
from adjoint.ops import PUBLIC
from adjoint.ops.arranging.conversion import typename
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.foreach import FOREACH
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import TABLE
from adjoint.tensors.tensor import Tensor

# PyTorch's names for what adjoint has under another, or as one case of an operation.
_CASES = {
    "mm": "matmul",
    "bmm": "matmul",
    "mv": "matmul",
    "_unsafe_view": "view_shape",
}

# What is no operation in adjoint, and one in PyTorch.
_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(factories, name) for name in factories.__all__},
    **{name: getattr(windows, name) for name in windows.__all__},
    **{name: getattr(Tensor, name) for name in factories.METHODS},
    **FOREACH,
    **OF_TYPES,
    "fft_fftfreq": fft.fftfreq,
    "fft_rfftfreq": fft.rfftfreq,
    "_local_scalar_dense": Tensor.item,
    "detach": Tensor.detach,
    "sym_size": Tensor.size,  # type: ignore[attr-defined]  # given by the tables
    "sym_numel": Tensor.numel,  # type: ignore[attr-defined]
    "sym_stride": Tensor.stride,  # type: ignore[attr-defined]
    "sym_is_contiguous": Tensor.is_contiguous,  # type: ignore[attr-defined]
}
_OF_NAMESPACES: dict[str, dict[str, Any]] = {
    "prim": {  # what PyTorch's compiler asks of a tensor as if it were an operation
        "device": lambda tensor: tensor.device,
        "dtype": lambda tensor: tensor.dtype,
        "layout": lambda tensor: tensor.layout,
    },
    "profiler": {
        "_record_function_enter_new": lambda *given: record_function(*given).__enter__(),
        "_record_function_exit": lambda entered: entered.__exit__(None, None, None),
    },
}


# Operations that PyTorch makes of others before a class or a mode is asked.
_MADE_OF_OTHERS = """
    batch_norm chunk conv1d conv2d conv3d cross_entropy_loss dropout einsum flatten group_norm
    instance_norm layer_norm linear log_softmax.int matmul reshape scaled_dot_product_attention
    softmax.int square
"""
_OF_OTHERS = frozenset(_MADE_OF_OTHERS.split())


class OpOverload:
    """An operation as torch.ops.aten.sin.default; equal to the operation itself."""

    def __init__(self, operation: Any, packet: "OpOverloadPacket", overload: str) -> None:
        self.operation = operation
        self.overloadpacket = self._overloadpacket = packet
        self.namespace = packet.namespace
        self._opname = packet.__name__
        self.overload = self._overloadname = overload
        self._defined_in_python = isinstance(operation, CustomOpDef)
        self.__name__ = f"{self._opname}.{self.overload}"
        self.__module__ = f"torch._ops.{self.namespace}"

    @functools.cached_property
    def tags(self) -> list[Any]:
        """What is said of it."""
        if not self._defined_in_python:
            return of_aten(self.__name__)
        own = list(self.operation.tags)
        made_of_hints = self.operation.origin is not None and Tag.pt2_compliant_tag not in own
        return [Tag.pt2_compliant_tag, *own] if made_of_hints else own

    @functools.cached_property
    def form(self) -> Any:
        """What it takes and gives, where that is known of PyTorch's; None of a custom op."""
        aten = self.namespace == "aten" and not self._defined_in_python
        return aten_forms.form(self._opname, self.overload) if aten else None

    @property
    def _schema(self) -> Any:
        """What it takes and gives."""
        if self._defined_in_python:
            return self.operation.schema
        if self.form is None:
            raise AttributeError(f"{self}: adjoint has a signature of it, and no schema")
        return self.form.schema()

    @property
    def is_view(self) -> bool:
        """Whether a result shows the memory of an argument, and none is written."""
        if self.form is None and not self._defined_in_python:  # one that writes to out=
            return False
        aliases = [each.alias_info for each in self._schema.arguments if each.alias_info]
        return bool(aliases) and not any(alias.is_write for alias in aliases)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(self, args, kwargs)
        if self.form is None:
            answer = self.operation(*args, **kwargs)
            return tuple(answer) if hasattr(answer, "_fields") else answer
        args = self._taken(args, kwargs)
        try:
            answer = self.operation(*args, **kwargs)
        except (AttributeError, TypeError):
            self._refuse_others(args, kwargs)
            raise
        if isinstance(answer, tuple):
            return list(answer) if self.form.gives_list else tuple(answer)
        return answer

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """What the operations answer that it stands for; NotImplemented if it is one itself."""
        if self.has_kernel_for_dispatch_key(DispatchKey["CompositeImplicitAutograd"]):
            return self(*args, **kwargs)
        return NotImplemented

    def _refuse_others(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse arguments of kinds that the operation does not take, which it has met."""
        given = {**dict(zip(self.form.taking[0], args, strict=False)), **kwargs}
        for argument in self.form.arguments:
            if argument.name in given and not fits(argument.kind, given[argument.name]):
                raise RuntimeError(
                    f"{self}: {argument.name} is a {typename(given[argument.name])}, where the "
                    f"schema has {argument.kind}: {self.form.schema()}"
                ) from None

    def _taken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position, and those by name that come next; refused if they don't fit.

        adjoint's names of arguments may be others than PyTorch's, and out= is another overload's.
        """
        by_place, needed, known = self.form.taking
        missing_names = []
        if kwargs:
            while len(args) < len(by_place) and by_place[len(args)] in kwargs:
                args = (*args, kwargs.pop(by_place[len(args)]))
            missing_names = [name for name in kwargs if name not in known]
        if missing_names:
            what = f"it takes no argument {missing_names[0]!r}"
        elif len(args) > len(by_place):
            what = f"it takes {len(by_place)} arguments by position, not {len(args)}"
        elif len(args) + len(kwargs) < needed:
            what = f"it needs {needed} arguments, not {len(args) + len(kwargs)}"
        else:
            return args
        raise RuntimeError(f"{self}: {what}: {self.form.schema()}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.namespace, self._opname, self.overload)

    def name(self) -> str:
        """Namespace, name and overload: aten::mul.Tensor, and aten::sin for the default one."""
        rest = "" if self.overload == "default" else f".{self.overload}"
        return f"{self.namespace}::{self._opname}{rest}"

    @property
    def _name(self) -> str:
        """The same under PyTorch's private name."""
        return self.name()

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether there is a kernel of its own for a key."""
        return has_kernel(self.name(), str(getattr(key, "name", key)))

    def has_kernel_for_any_dispatch_key(self, keys: Any) -> bool:
        """Whether there is one for any key of a set."""
        return any(map(self.has_kernel_for_dispatch_key, keys.keys))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OpOverload):
            return self.name() == other.name() and self.operation is other.operation
        return operation_of(other) is self.operation

    def __hash__(self) -> int:
        return hash(self.operation)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self.overload}')>"


def _own_overload(operation: CustomOpDef) -> str:
    """The overload that a custom op was defined as."""
    return operation.name.partition(".")[2] or "default"


class OpOverloadPacket:
    """An operation under all of its overloads' names; called, it is the operation."""

    def __init__(self, operation: Any, namespace: str, name: str) -> None:
        self.operation = operation
        self.namespace = namespace
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self._overloads: dict[str, OpOverload] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(self, args, kwargs)
        return self.operation(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        if overload.startswith("__"):
            raise AttributeError(overload)
        found = self.__dict__["_overloads"].get(overload)
        if found is not None:
            return found
        known = overload in self.overloads()
        if not known and not self._works_on_numbers(overload):
            raise missing(f"ops.{self.namespace}.{self.__name__}.{overload}")
        found = self._overloads[overload] = OpOverload(self.operation, self, overload)
        return found

    def _works_on_numbers(self, overload: str) -> bool:
        """Whether it is one of arithmetic for Python's numbers, which PyTorch's compiler has."""
        pair = getattr(self.operation, "promotes", ())
        return overload in ("int", "float", "complex") and len(pair) > 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.namespace, self.__name__, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def overloads(self) -> list[str]:
        """The names of its overloads."""
        return pytorch_names.overloads(self.__name__, self.namespace) or ["default"]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self.namespace}.{self.__name__}')>"


class CustomPacket(OpOverloadPacket):
    """The custom ops of one name; called, it is the first that takes the arguments."""

    def __init__(self, operations: dict[str, CustomOpDef], namespace: str, name: str) -> None:
        super().__init__(next(iter(operations.values())), namespace, name)
        self.operations = operations
        self._overloads = {o: OpOverload(each, self, o) for o, each in operations.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(self, args, kwargs)
        *others, last = self.operations.values()
        for operation in others:
            try:
                operation.bind(args, kwargs)
            except RuntimeError:
                continue
            return operation(*args, **kwargs)
        return last(*args, **kwargs)

    def __getattr__(self, overload: str) -> Any:
        found = self.__dict__.get("_overloads", {}).get(overload)
        if found is None:
            raise missing(f"ops.{self.namespace}.{self.__name__}.{overload}")
        return found

    def overloads(self) -> list[str]:
        """The names of its overloads."""
        return list(self._overloads)


class _Absent:
    """An operation of PyTorch's that is not there: it can be named, as in a table, not called."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self.name = namespace, name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise missing(f"ops.{self.namespace}.{self.name}")


def _is_absent(operation: Any) -> bool:
    """Whether an operation is there by name alone."""
    return isinstance(operation, _Absent)


def _only_refuses(method: Any) -> bool:
    """Whether a method says of itself that it never answers."""
    return getattr(method, "__annotations__", {}).get("return") is NoReturn


class Namespace:
    """The operations of one namespace; those of aten are adjoint's own."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = f"torch.ops.{name}"

    def __dir__(self) -> list[str]:
        own = [op.name.partition("::") for op in REGISTRY.values()]
        return [
            *super().__dir__(),
            *{name.partition(".")[0] for ns, _, name in own if ns == self.name},
        ]

    def __getattr__(self, name: str) -> Any:
        own = _OF_NAMESPACES.get(self.name, {})
        if name in own:
            packet = vars(self)[name] = OpOverloadPacket(own[name], self.name, name)
            return packet
        if self.name == "higher_order" and name in OPERATORS:
            return OPERATORS[name]
        if self.name != "aten":
            return self._custom(name)
        known = _CASES.get(name, name)
        top = PUBLIC["adjoint"]  # of two functions of a name, PyTorch's own is that at the top
        tables: tuple[dict[str, Any], ...]
        tables = (PRIVATE, TABLE, INPLACE, top, COMPOSITES, _FUNCTIONS)
        found = next((table[known] for table in tables if known in table), None)
        if found is None and name.startswith("special_"):
            found = PUBLIC["special"].get(name.removeprefix("special_"))
        if found is None and not pytorch_names.overloads(name):
            raise missing(f"ops.{self.name}.{name}")
        method = getattr(Tensor, name, None)
        if found is None and callable(method) and not _only_refuses(method):
            found = method
        operation = _Absent("aten", name) if found is None else found
        packet = vars(self)[name] = OpOverloadPacket(operation, self.name, name)
        return packet

    def _custom(self, name: str) -> OpOverloadPacket:
        """The custom ops of a name, which may be defined anew; or one that PyTorch has."""
        whole = f"{self.name}::{name}"
        found = {
            _own_overload(op): op for op in REGISTRY.values() if op.name.partition(".")[0] == whole
        }
        if not found:
            if not pytorch_names.overloads(name, self.name):
                raise missing(f"ops.{self.name}.{name}")
            return absent_packet(self.name, name)
        packet = _packets.get(whole)
        if packet is None or packet.operations != found:
            packet = _packets[whole] = CustomPacket(found, self.name, name)
        return packet

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


@functools.cache
def absent_packet(namespace: str, name: str) -> OpOverloadPacket:
    """An operation of a namespace that is PyTorch's own."""
    return OpOverloadPacket(_Absent(namespace, name), namespace, name)


_namespaces: dict[str, Namespace] = {}
_unnamed: dict[Any, OpOverloadPacket] = {}
_packets: dict[str, CustomPacket] = {}  # as they were last shown: an overload is itself again


loaded_libraries: set[str] = set()  # of operations compiled against PyTorch, of which are none


def load_library(path: Any) -> NoReturn:
    """Refused: libraries of operations are compiled against PyTorch."""
    raise OSError(
        f"torch.ops.load_library: {path} needs PyTorch's own library; see adjoint.library"
    )


def __getattr__(name: str) -> Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _namespaces.setdefault(name, Namespace(name))


def _found(namespace: str, name: str, overload: str | None) -> Any:
    """An operation that was pickled, by its names."""
    packet = getattr(__getattr__(namespace), name)
    return packet if overload is None else getattr(packet, overload)


def operation_of(value: Any) -> Any:
    """adjoint's own operation of an overload or packet; anything else as it is."""
    return value.operation if isinstance(value, (OpOverload, OpOverloadPacket)) else value


def overload_of(operation: Any) -> Any:
    """torch.ops' name for an operation, where the arguments do not say which overload it is."""
    if isinstance(operation, CustomOpDef):
        namespace, _, name = operation.name.partition("::")
        packet = getattr(__getattr__(namespace), name.partition(".")[0])
        return getattr(packet, _own_overload(operation))
    if operation.name in TABLE or operation.name in INPLACE:
        return named(operation.name)
    if operation not in _unnamed:  # it is a part of one with a name, or its in-place form
        _unnamed[operation] = OpOverloadPacket(operation, "aten", operation.name)
    packet = _unnamed[operation]
    return getattr(packet, packet.overloads()[0])


def named(name: str, overload: str | None = None) -> Any:
    """torch.ops.aten's overload of a name; the plainest one if none is said."""
    packet = getattr(__getattr__("aten"), name)
    if overload is None:
        known = [each for each in packet.overloads() if not each.endswith("out")]
        overload = next((each for each in ("default", "Tensor") if each in known), known[0])
    return getattr(packet, overload)


def has_kernel(name: str, key: str = "") -> bool:
    """Whether an operation, as aten::sin or space::name, has a kernel of its own for a key."""
    namespace, _, own = name.partition("::")
    if namespace == "aten":
        plain = own.partition(".")[0]
        of_others = not _OF_OTHERS.isdisjoint((own, plain))
        if key == "CompositeImplicitAutograd":
            return of_others
        return is_there(plain) and (not key or (key in ("CPU", "Meta") and not of_others))
    found = REGISTRY.get(name.removesuffix(".default"))
    if found is None or not key:
        return found is not None
    known = found.registered
    formed = known.formula is not None and key.startswith("Autograd")
    faked = known.fake is not None and key == "Meta"
    device = KEYS.get(key)
    return formed or faked or key in known.keys or (device is not None and device in known.kernels)


def is_there(name: str) -> bool:
    """Whether torch.ops.aten has an operation of this name that can be called here."""
    aten = __getattr__("aten")
    return bool(pytorch_names.overloads(name)) and not _is_absent(getattr(aten, name).operation)
