"""torch._subclasses.fake_tensor: tensors that have all but values, on a device they only name.

A fake tensor holds one of the device `meta`, on which its operations run; its class says which
device it would be on. A mode makes all tensors of its block fake.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

from adjoint.compat.aten_steps.asking import unseen
from adjoint.compat.private_functions import OF_TYPES
from adjoint.compat.tags import Tag
from adjoint.compat.torch_tree.utils._python_dispatch import (
    TorchDispatchMode,
    make_wrapper_subclass,
)
from adjoint.creation.factories import empty_strided
from adjoint.device import device as as_device, get_default_device
from adjoint.nn.parameter import Parameter
from adjoint.pytree import tree_map
from adjoint.tensors.tensor import Tensor

_META: Final = as_device("meta")
_VALUE: Final = "_local_scalar_dense"
_FRESH: Final = ("lift_fresh", "lift_fresh_copy")


class UnsupportedFakeTensorException(RuntimeError):  # noqa: N818  # PyTorch's name
    """What fake tensors can't answer."""


class DynamicOutputShapeException(RuntimeError):  # noqa: N818  # PyTorch's name
    """The shape of a result depends on values, which are not there."""

    def __init__(self, func: Any) -> None:
        super().__init__(f"{func}: the shape of its result depends on values")
        self.func = func


class DataDependentOutputException(RuntimeError):  # noqa: N818  # PyTorch's name
    """A result depends on values, which are not there."""

    def __init__(self, func: Any) -> None:
        super().__init__(f"{func}: its result depends on values")
        self.func = func


class FakeTensorDeviceMismatchError(RuntimeError):
    """Tensors of one call would be on several devices."""


def _is_tensor_constructor(func: Any) -> bool:
    """Whether an operation of torch.ops makes a tensor of none."""
    schema = func._schema  # noqa: SLF001  # PyTorch's name of it
    made = [kind.type for kind in schema.returns]
    return made == ["Tensor"] and not any(each.kind.is_tensor for each in schema.arguments)


class FakeTensor(Tensor):
    """A tensor without values, of a mode, on the device that it names."""

    fake_mode: "FakeTensorMode"
    fake_device: Any
    held: Tensor  # on meta
    constant: Tensor | None  # the number that it was made of

    def __new__(
        cls, fake_mode: "FakeTensorMode", elem: Tensor, device: Any, constant: Any = None
    ) -> "FakeTensor":
        """A fake of a tensor on meta."""
        made: FakeTensor = make_wrapper_subclass(
            cls,
            elem.shape,
            elem.stride(),  # type: ignore[attr-defined]  # given by the tables
            elem.storage_offset(),  # type: ignore[attr-defined]
            dtype=elem.dtype,
            device=_META,
            dispatch_device=True,
        )
        made.held, made.fake_mode, made.constant = elem, fake_mode, constant
        made.fake_device = _numbered(as_device(device))
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """All is done by __new__."""

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        place = "" if self.fake_device.type == "cpu" else f"device='{self.fake_device}', "
        return f"{type(self).__name__}(..., {place}size={tuple(self.shape)})"

    @classmethod
    def __torch_dispatch__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Let the mode of the instances answer."""
        fakes = _fakes((args, kwargs or {}))
        if func.namespace == "prim":
            return fakes[0].fake_device
        modes = {id(fake.fake_mode): fake.fake_mode for fake in fakes}
        if len(modes) > 1:
            raise AssertionError(f"{func}: mixing fake modes: its tensors are of {len(modes)}")
        return next(iter(modes.values())).answer(func, args, dict(kwargs or {}))


def _numbered(device: Any) -> Any:
    """A device with its number, where there may be several."""
    is_one = device.type in ("cpu", "meta") or device.index is not None
    return device if is_one else as_device(device.type, 0)


def _fakes(nest: Any) -> list[FakeTensor]:
    """The fake tensors in a nest, in their order."""
    found: list[FakeTensor] = []
    tree_map(lambda each: found.append(each) if isinstance(each, FakeTensor) else None, nest)
    return found


class FakeTensorMode(TorchDispatchMode):
    """Inside its block, tensors are fake: operations give the looks of results, and no values."""

    supports_higher_order_operators = None

    def __init__(
        self, *, allow_fallback_kernels: bool = True, allow_non_fake_inputs: bool = False
    ) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.known: dict[int, tuple[Tensor, FakeTensor]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "FakeTensorMode":
        made = memo[id(self)] = copy.copy(self)
        made.known = {}
        return made

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None) -> FakeTensor:
        """A fake of a tensor, the same one each time."""
        if isinstance(tensor, FakeTensor):
            return tensor
        found = self.known.get(id(tensor))
        if found is None:
            made: Any = self.fake_of(tensor)
            made = Parameter(made, tensor.requires_grad) if isinstance(tensor, Parameter) else made
            if tensor.requires_grad and not made.requires_grad:
                made.requires_grad_()
            self.known[id(tensor)] = found = (tensor, made)
        return found[1]

    def fake_of(self, tensor: Tensor, constant: Any = None) -> FakeTensor:
        """A fake with the looks of a tensor."""
        place = tensor.device
        looks = (tensor.shape, tensor.stride())  # type: ignore[attr-defined]
        with unseen():
            held = empty_strided(*looks, dtype=tensor.dtype, device=_META)
        return FakeTensor(self, held, place, constant)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """See TorchDispatchMode."""
        return self.answer(func, args, dict(kwargs or {}))

    def answer(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What an operation on fake tensors gives."""
        name = func.overloadpacket.__name__
        if func.namespace == "prim":
            return _fakes((args, kwargs))[0].fake_device
        if func.namespace == "profiler" or name in OF_TYPES:  # no tensors have to do with it
            return func(*args, **kwargs)
        if name in _FRESH and not isinstance(args[0], FakeTensor):
            number = args[0].clone() if args[0].numel() == 1 else None
            return self.fake_of(args[0], number)
        if name == "detach" and not isinstance(args[0], FakeTensor):  # what is loaded or copied
            return self.from_tensor(args[0])
        args, kwargs = tree_map(lambda each: self.taken(func, each), (tuple(args), kwargs))
        fakes = _fakes((args, kwargs))
        if name == _VALUE and fakes[0].constant is not None:
            return fakes[0].constant.item()
        if name == _VALUE or Tag.data_dependent_output in func.tags:
            raise DataDependentOutputException(func)
        if Tag.dynamic_output_shape in func.tags:
            raise DynamicOutputShapeException(func)
        place = _place(func, fakes, kwargs)
        return self.given(func, args, kwargs, fakes, place)

    def taken(self, func: Any, value: Any) -> Any:
        """An argument, which must be fake if it is a tensor."""
        if not isinstance(value, Tensor) or isinstance(value, FakeTensor):
            return value
        if not self.allow_non_fake_inputs:
            raise AssertionError(
                f"{func}: a tensor among fake ones is real; make a fake of it by "
                "FakeTensorMode.from_tensor, or give allow_non_fake_inputs=True"
            )
        return self.from_tensor(value)

    def given(self, func: Any, args: Any, kwargs: Any, fakes: list[FakeTensor], place: Any) -> Any:
        """The results of an operation, computed on meta, as fakes; one that was given is itself."""
        inner, options = tree_map(
            lambda each: each.held if isinstance(each, FakeTensor) else each, (args, kwargs)
        )
        if "device" in options or not fakes:
            options["device"] = _META
        with unseen():
            answer = func(*inner, **options)
        own = {id(fake.held): fake for fake in fakes}

        def fake(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            known = own.get(id(value))
            if known is None or known.shape != value.shape:  # its looks were changed in place
                return FakeTensor(self, value, place)
            known.constant = None
            return known

        return tree_map(fake, answer)


def _place(func: Any, fakes: list[FakeTensor], kwargs: dict[str, Any]) -> Any:
    """The device that results would be on; numbers on the CPU go with all others."""
    if kwargs.get("device") is not None:
        return kwargs["device"]
    if not fakes:
        return get_default_device()
    places = list(dict.fromkeys(fake.fake_device for fake in fakes if fake.ndim))
    if len(places) > 1:
        raise FakeTensorDeviceMismatchError(
            f"{func}: expected all tensors to be on the same device, but found "
            f"{', '.join(map(str, places))}"
        )
    numbers = [fake.fake_device for fake in fakes]
    others = [each for each in numbers if each.type != "cpu"]
    return (places or others or numbers)[0]


def unset_fake_temporarily() -> Any:
    """A context in which tensors are real, whatever mode there is around it."""
    return unseen()


def is_fake(x: Any) -> bool:
    """Whether a value is a fake tensor."""
    return isinstance(x, FakeTensor)
