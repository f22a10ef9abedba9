"""Parameters and buffers: tensors that a module takes as its own when they are assigned to it."""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

from typing import Any

from adjoint.creation.factories import empty
from adjoint.ops.arranging.conversion import clone, preserve_format
from adjoint.tensors.concrete import concrete
from adjoint.tensors.pickling import METHODS as PICKLING, rebuilt
from adjoint.tensors.subclass import as_subclass, make_subclass, plain, unhandled
from adjoint.tensors.tensor import AS_IS, Tensor


class _Marked(type):
    """Lets instances of other classes count as parameters or buffers by a mark they carry."""

    mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("mark")  # a subclass is known by its class alone
        return mark is not None and isinstance(instance, Tensor) and hasattr(instance, mark)


class Parameter(Tensor, metaclass=_Marked):
    """A leaf that a module lists among its parameters.

    A tensor of a class of its own keeps that class, and counts as a parameter all the same.
    """

    mark = "_is_param"
    __torch_function__ = unhandled  # operations see a plain tensor

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """A leaf on the memory of data."""
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter(data): expected a Tensor, got {type(data).__name__}; "
                "make one with adjoint.tensor(data)"
            )
        if type(data) is Tensor or type(data) is Parameter:
            return make_subclass(cls, data, requires_grad)
        leaf: Any = data.detach()
        kept = type(leaf) is type(data)
        if not kept:
            raise RuntimeError(
                f"Parameter(data): detach() of a {type(data).__name__} answers a "
                f"{type(leaf).__name__}, so it can't stay what it is as a parameter; let detach() "
                "keep the class"
            )
        leaf.requires_grad_(requires_grad)
        leaf._is_param = True
        return leaf

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is left to do: `__new__`, of a subclass too, knows what the arguments mean."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        made = type(self)(clone(self.detach(), memory_format=preserve_format), self.requires_grad)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As for any tensor, but hooks are left behind without a warning."""
        extras, hooks = self.extras, None
        if extras is not None:
            hooks, extras.hooks = extras.hooks, None
        try:
            return PICKLING["__reduce_ex__"](self, protocol)
        finally:
            if extras is not None:
                extras.hooks = hooks

    def __repr__(self) -> str:
        if type(self) is not Parameter:
            return f"Parameter containing:\nParameter({Tensor.__repr__(self)})"
        return f"Parameter containing:\n{self.shared().requires_grad_(self.requires_grad)!r}"


class Buffer(Tensor, metaclass=_Marked):
    """A tensor that a module lists among its buffers when it is assigned to it.

    It is data itself, or a tensor on its memory, marked; the class does not change.
    """

    mark = "_is_buffer"
    __torch_function__ = unhandled

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """A tensor on the memory of data, part of state_dict if `persistent`."""
        marked: Any = empty(0) if data is None else data.detach()
        if data is not None:
            marked.requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


_ALLOWED = (
    "_to_copy bfloat16 char copy_ cpu cuda double float get_device half int is_complex "
    "is_floating_point long short to transfer type"
)
_NEED_A_SHAPE = (
    "numel",
    "nelement",
    "dim",
    "stride",
    "element_size",
    "data_ptr",
    "is_contiguous",
    "tolist",
    "item",
    "contiguous",
    "ndimension",
    "numpy",
    "__len__",
)


def _refusing(name: str) -> Any:
    """A method that says that the tensor has no shape yet."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.refuse(name)

    return method


class UninitializedTensor:
    """What parameters and buffers have in common whose shape is not known yet."""

    becomes: type
    # Conversions, being loaded, and questions about the data type.
    allowed = frozenset(_ALLOWED.split())

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Get a shape, and memory; from now on it is a parameter or buffer as any other."""
        self.data = empty(
            shape,
            device=self.device if device is None else device,
            dtype=self.dtype if dtype is None else dtype,
        )
        self.__class__ = self.becomes
        self.special = False

    @property
    def shape(self) -> Any:
        """Not known yet."""
        raise RuntimeError(
            "the shape of an uninitialized parameter or buffer is not known; run the module's "
            "forward once before it is asked for"
        )

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name: Any = getattr(func, "name", None) or getattr(func, "__name__", repr(func))
        if name not in cls.allowed:
            cls.refuse(name)
        with plain():
            result = func(*args, **(kwargs or {}))
        if issubclass(cls, Parameter) or not isinstance(result, Tensor):
            return result
        return as_subclass(result, cls)

    @staticmethod
    def refuse(name: str) -> None:
        """Say that a function can't take it yet."""
        raise ValueError(
            f"{name}(): attempted to use an uninitialized parameter or buffer; run the module's "
            "forward once, so that it learns its shape"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        where = str(self.device)
        shown: Any = Tensor(concrete(self), AS_IS)
        return rebuilt, (type(self), concrete(shown.cpu()), where, self.requires_grad, {})


for _name in _NEED_A_SHAPE:
    setattr(UninitializedTensor, _name, _refusing(_name))


class UninitializedParameter(UninitializedTensor, Parameter):  # type: ignore[misc]  # sees calls
    """A parameter whose shape the first call of its module tells."""

    becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        """A parameter of no elements yet."""
        return make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing is left to do: `__new__` has made it."""


class UninitializedBuffer(UninitializedTensor, Tensor):
    """A buffer whose shape the first call of its module tells."""

    becomes = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        """A buffer of no elements yet."""
        made = make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        """Nothing is left to do: `__new__` has made it."""


def is_lazy(param: Any) -> bool:
    """Whether the shape of a parameter or buffer is not known yet."""
    return isinstance(param, UninitializedTensor)
