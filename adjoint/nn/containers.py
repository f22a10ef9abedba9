"""Modules that hold modules or parameters, as lists and dictionaries do."""

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain
from typing import Any, Self

from adjoint.nn.module import Module, enclosed, indented
from adjoint.nn.parameter import Parameter
from adjoint.ops.arranging.conversion import typename
from adjoint.tensors.tensor import Tensor


def _pairs(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values of a mapping or of an iterable of pairs."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            f"{type(values).__name__}"
        )
    if isinstance(values, (Mapping, ModuleDict, ParameterDict)):
        yield from values.items()
        return
    for place, pair in enumerate(values):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{name} update sequence element #{place} should be Iterable; is "
                f"{type(pair).__name__}"
            )
        elements = list(pair)
        if len(elements) != 2:
            raise ValueError(
                f"{name} update sequence element #{place} has length {len(elements)}; 2 is required"
            )
        key, value = elements
        yield key, value


class _Numbered(Module):
    """What lists of modules or parameters have in common: members named by their numbers."""

    def __len__(self) -> int:
        return len(self._modules)

    def _number(self, idx: Any) -> int:
        """An index counted from the beginning."""
        number = operator.index(idx)
        if not -len(self) <= number < len(self):
            raise IndexError(f"index {number} is out of range for {len(self)} elements")
        return number % len(self)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class _ModuleSequence(_Numbered):
    """What Sequential and ModuleList have in common."""

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _name(self, idx: Any) -> str:
        return list(self._modules)[self._number(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._name(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        names = list(self._modules)[idx] if isinstance(idx, slice) else [self._name(idx)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self))

    def _renumber(self, modules: list[Any]) -> None:
        """Hold these modules, under their numbers."""
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"{type(self).__name__}.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key: Any) -> Any:
        """Remove the module at an index, or those of a slice, and return it."""
        found = self[key]
        del self[key]
        return found

    def __getitem__(self, idx: Any) -> Any:
        raise NotImplementedError


class Sequential(_ModuleSequence):
    """Calls its modules one after the other, each on what the one before answered."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Any = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """The answer of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return self._modules[self._name(idx)]

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before that at an index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be an nn.Module, got {typename(module)}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def __add__(self, other: Any) -> "Sequential":
        self._check_addend(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        self._check_addend(other)
        return self.extend(other)

    def _check_addend(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {typename(other)} is "
                "given"
            )

    def __mul__(self, other: int) -> "Sequential":
        return Sequential(*self._repeated(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(self._repeated(other)[len(self) :])

    def _repeated(self, times: Any) -> list[Module]:
        if not isinstance(times, int):
            raise TypeError(
                f"unsupported operand type(s) for *: {type(self).__name__} and "
                f"{type(times).__name__}"
            )
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for a Sequential")
        return list(self) * times


class ModuleList(_ModuleSequence):
    """A list of modules."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self)[idx])
        return self._modules[str(self._number(idx))]

    def insert(self, index: int, module: Module) -> None:
        """Put a module before that at an index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """As of any module, but neighbours that look alike are told once."""
        runs: list[tuple[str, int, int]] = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][0] == text:
                runs[-1] = (text, runs[-1][1], i)
            else:
                runs.append((text, i, i))
        lines = [
            indented(
                f"({first}): {text}"
                if first == last
                else f"({first}-{last}): {last - first + 1} x {text}"
            )
            for text, first, last in runs
        ]
        return enclosed(self._get_name(), lines)


class ModuleDict(Module):
    """A dictionary of modules, in the order of their insertion."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove the module under a key and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._modules.keys()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def items(self) -> ItemsView[str, Any]:
        """The keys and modules."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping or of an iterable of pairs."""
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _as_parameter(value: Any) -> Any:
    """Tensors become parameters; anything else is kept as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(name: Any, value: Any, kind: str) -> str:
    """One line of the text of a ParameterList or ParameterDict."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    what = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(n) for n in value.shape)
    where = f" ({value.device})" if value.device.type == "cuda" else ""
    return f"  ({name}): {what} containing: [{kind} of size {size}{where}]"


class ParameterList(_Numbered):
    """A list of parameters; tensors put into it become parameters, other objects stay."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(*idx.indices(len(self))))
        return getattr(self, str(self._number(idx)))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(self._number(idx)), _as_parameter(param))

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[len(self) - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def extra_repr(self) -> str:
        """The type and size of each."""
        return "\n".join(
            _described(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters; tensors put into it become parameters, other objects stay."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"the keys of a ParameterDict are strings, got {type(key).__name__}")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        """The parameters."""
        return (self[key] for key in self._keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """The keys and parameters."""
        return ((key, self[key]) for key in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter under a key, or the default."""
        return self[key] if key in self else default  # noqa: SIM401  it is get itself

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The parameter under a key; the default is put there if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all parameters."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove the parameter under a key and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the parameter that came last and return it with its key."""
        if not self._keys:
            raise KeyError("popitem(): the ParameterDict is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """A new dictionary with the same value under all keys."""
        return ParameterDict((key, default) for key in keys)

    def copy(self) -> "ParameterDict":
        """A new dictionary with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def update(self, parameters: Any) -> None:
        """Add the parameters of a mapping, a plain one in the order of keys, or of pairs."""
        pairs = _pairs("ParameterDict", parameters)
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = iter(sorted(pairs, key=operator.itemgetter(0)))
        for key, value in pairs:
            self[key] = value

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: "ParameterDict") -> "ParameterDict":
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: "ParameterDict") -> Self:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        """The type and size of each."""
        return "\n".join(_described(key, value, typename(value)) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
