"""Parameters computed from others: `module.weight` becomes a function of what is learned.

A parametrized tensor is a property of a class made for the module, `ParametrizedLinear` for a
Linear. Reading it runs the parametrizations on what `module.parametrizations.weight` has under
`original`, or `original0`, `original1`, …; assigning to it runs their inverses, last one first.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are where parameters are

import copy
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from adjoint.autograd.grad_mode import ContextDecorator, no_grad
from adjoint.backends import NoValuesError
from adjoint.call.held import Held
from adjoint.nn.containers import ModuleDict, ModuleList
from adjoint.nn.conversion import get_swap_module_params_on_conversion
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import upper
from adjoint.utils.swapping import swap_tensors

# Inside cached(): the values computed so far, by the module's id and the name. It keeps the
# modules too, so that no id is given away again meanwhile.
_Cache = dict[tuple[int, str], tuple[Module, Any]]
_caches: ContextVar[tuple[_Cache, ...]] = ContextVar("adjoint_parametrize_cache", default=())


class cached(ContextDecorator, Held):
    """Inside, in the calling context, each parametrized tensor is computed once."""

    def clone(self) -> Any:
        """See ContextDecorator."""
        return cached()

    def _variable(self) -> Any:
        """See Held."""
        return _caches

    def _inside(self, before: Any) -> Any:
        """See Held; within another, what was computed is known already."""
        return (*before, before[-1] if before else {})


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first one first, and the tensors they start from."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules, got none")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, kind = original.shape, original.dtype
        with no_grad():
            start = _inverted(self, original)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        before = original if start is original else _kept(original)
        if self.is_tensor:
            self._start_from_one(original, start)
        else:
            self._start_from_several(original, start)
        if unsafe:
            return
        try:
            _check_kept(self(), shape, kind, "Registering a parametrization")
        except Exception:
            _set(original, before)
            raise

    def _start_from_one(self, original: Tensor, start: Tensor) -> None:
        """Keep the tensor itself, with another value: optimizers go on knowing it."""
        for what in ("dtype", "device"):
            wanted, got = getattr(original, what), getattr(start, what)
            if wanted != got:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}: the "
                    f"original has {wanted}, right_inverse answers {got}"
                )
        _set(original, start)
        _register(self, "original", original)

    def _start_from_several(self, original: Tensor, start: Sequence[Any]) -> None:
        _check_tensors(start)
        for number, part in enumerate(start):
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            part.requires_grad_(original.requires_grad)
            _register(self, f"original{number}", part)

    def originals(self) -> list[Any]:
        """The tensors that the parametrizations start from."""
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{number}") for number in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Change the originals so that the parametrizations make `value` of them."""
        with no_grad():
            start: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse, so nothing can be assigned to the tensor"
                    )
                start = module.right_inverse(start)
            if self.is_tensor:
                if not isinstance(start, Tensor):
                    raise ValueError(
                        f"`right_inverse` should return a tensor, got {type(start).__name__}"
                    )
                start = [start]
            self._check_like_originals(start)
            for original, part in zip(self.originals(), start):
                _set(original, part)

    def _check_like_originals(self, start: Any) -> None:
        if not isinstance(start, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors, got {type(start).__name__}"
            )
        if len(start) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}, got one of length {len(start)}"
            )
        _check_tensors(start)
        for number, (original, part) in enumerate(zip(self.originals(), start)):
            if part.dtype != original.dtype:
                raise ValueError(
                    f"tensor {number} of what `right_inverse` returned has dtype {part.dtype}, the "
                    f"original has dtype {original.dtype}"
                )

    def forward(self) -> Any:
        """The parametrized tensor."""
        first, *rest = self
        value = first(*self.originals())
        for module in rest:
            value = module(value)
        return value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer of a module be what parametrization makes of it.

    A tensor that is parametrized already goes through the new one last. Unless `unsafe`, shape and
    data type must stay what they are.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(getattr(module, tensor_name), parametrization)
        known: Any = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"module '{module}' has no parameter, buffer or parametrized tensor named "
            f"'{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    kind = type_before_parametrizations(module)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    module.__class__ = _parametrized_class(kind, list(module.parametrizations))
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of a module is parametrized; without a name, whether any is."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parametrized tensor a plain one, with the value it has now.

    If not `leave_parametrized`, with the value of the original, which must be one tensor.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"module '{module}' has no parametrization on '{tensor_name}'")
    known: Any = module.parametrizations[tensor_name]
    if known.is_tensor:
        tensor = known.original
        if leave_parametrized:
            with no_grad():
                _set(tensor, getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)  # recorded: whether it needs a gradient matters
        tensor = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            f"'{tensor_name}' is computed from a sequence of {known.ntensors} tensors, none of "
            "which could stand for it: leave_parametrized=False is not possible"
        )
    kind = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    if is_parametrized(module):
        kind = _parametrized_class(kind, list(module.parametrizations))
    else:
        del module.parametrizations
    module.__class__ = kind
    _register(module, tensor_name, tensor)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module, or the one it had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another and the tensors they start from.

    Those of one tensor, or of all; what the module lacks is made. Both then share them.
    """
    if not is_parametrized(from_module):
        return to_module
    known: Any = from_module.parametrizations
    for name in list(known) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for parametrization in known[name]:
            register_parametrization(to_module, name, parametrization)
        made: Any = to_module.parametrizations[name]
        places = ["original"] if known[name].is_tensor else _numbered(known[name].ntensors)
        for place in places:
            setattr(made, place, getattr(known[name], place))
    return to_module


def _numbered(count: int) -> list[str]:
    return [f"original{number}" for number in range(count)]


def _register(module: Module, name: str, tensor: Any) -> None:
    """Add a tensor as what it is: a parameter or a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _set(target: Any, source: Any) -> None:
    """Let a tensor show the memory of another, of whatever shape, and stay the object it is.

    One whose class alone knows its values is swapped with the other, all are if that is asked for.
    """
    if target is source:
        return
    if get_swap_module_params_on_conversion() or _is_known_to_its_class(target):
        if isinstance(target, Parameter) and not isinstance(source, Parameter):
            source = Parameter(source, target.requires_grad)
        swap_tensors(target, source)
    elif upper.seen_below is None or upper.seen_below("set_", target, source) is NotImplemented:
        target.data = source
        target.counter().bump()


def _is_known_to_its_class(tensor: Any) -> bool:
    return tensor.layer is not None and tensor.layer.wraps and not tensor.layer.sparse


def _kept(tensor: Any) -> Any:
    """What `_set` takes to make a tensor what it is now."""
    kept = tensor.detach()
    return kept.clone() if _is_known_to_its_class(tensor) else kept


def _inverted(modules: Any, original: Tensor) -> Any:
    """What the parametrizations must start from to make `original`."""
    value: Any = original
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            try:
                value = module.right_inverse(value)
            except NoValuesError:  # there is one, and it needs what is not there
                raise
            except NotImplementedError:
                continue  # it then counts as the identity
    if not isinstance(value, Tensor | Sequence):
        raise ValueError(
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple, …), got "
            f"{type(value).__name__}"
        )
    return value


def _check_tensors(values: Sequence[Any]) -> None:
    for number, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple, …), "
                f"got {type(value).__name__} as element {number}"
            )


def _check_kept(value: Any, shape: Any, kind: Any, who: str) -> None:
    """Refuse a value that is no tensor, or of another shape or data type."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{who}: a tensor must be returned, got {type(value).__name__}")
    for what, got, wanted in (("dtype", value.dtype, kind), ("shape", value.shape, shape)):
        if got != wanted:
            raise ValueError(
                f"{who} may not change the {what} of the tensor, unless the `unsafe` flag is "
                f"enabled: it was {wanted} and became {got}"
            )


def _check_next(tensor: Any, parametrization: Any) -> None:
    """Refuse a further parametrization that changes the kind of the tensor, there or back."""
    value = parametrization(tensor)
    _check_kept(value, tensor.shape, tensor.dtype, "Registering a parametrization")
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(value)
        except NoValuesError:
            raise
        except NotImplementedError:
            return
        _check_kept(back, tensor.shape, tensor.dtype, "right_inverse of a further parametrization")


def _parametrized_class(kind: type, names: list[str]) -> type:
    """A class like `kind` in which tensors of these names are properties.

    It is never changed, because copies of a module share it, and may go other ways.
    """
    members: dict[str, Any] = {name: _property(name) for name in names}
    members["__getstate__"] = _refuse_pickle
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deep_copied
    return type(f"Parametrized{kind.__name__}", (kind,), members)


def _deep_copied(self: Any, memo: dict[int, Any]) -> Any:
    """A copy of the same class, whose properties work on whichever instance they are asked of."""
    if id(self) in memo:
        return memo[id(self)]
    made = memo[id(self)] = self.__new__(type(self))
    made.__dict__ = copy.deepcopy(self.__dict__, memo)
    return made


def _refuse_pickle(self: Any) -> Any:
    raise RuntimeError(
        f"Serialization of parametrized modules is only supported through state_dict(): the class "
        f"{type(self).__name__} exists in this process alone. Save state_dict(), and register the "
        "parametrizations again before it is loaded."
    )


def _property(name: str) -> property:
    """What reads and assigns a parametrized tensor."""

    def get(self: Any) -> Any:
        parametrizations = self.parametrizations[name]
        caches = _caches.get()
        if not caches:
            return parametrizations()
        cache, key = caches[-1], (id(self), name)
        if key not in cache:
            cache[key] = (self, parametrizations())
        return cache[key][1]

    def set(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, set)
