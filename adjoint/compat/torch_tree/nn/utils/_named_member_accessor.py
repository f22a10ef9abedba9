"""torch.nn.utils._named_member_accessor: a module's tensors and modules by their whole names."""

from collections.abc import Iterable, Iterator
from typing import Any

from adjoint.nn import Module
from adjoint.tensors.tensor import Tensor

_MISSING: Any = object()


def _home(module: Module, name: str) -> dict[str, Any]:
    """The table of a module that holds a name, or would hold a tensor of it."""
    if not isinstance(module, Module):
        raise TypeError(f"{module!r:.100} is not a module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if not name:
        raise KeyError('tensor name can\'t be empty string ""')
    fields: dict[str, Any] = vars(module)
    for table in ("_parameters", "_buffers"):
        if name in fields[table]:
            return fields[table]  # type: ignore[no-any-return]  # a table of tensors
    return fields


def _absent(module: Module, name: str) -> AttributeError:
    return AttributeError(f"{type(module).__name__} has no attribute `{name}`")


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of one, which is returned, whatever its shape and class."""
    home = _home(module, name)
    if tensor is not _MISSING and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor!r:.100} is no Tensor")
    before = home[name] if home is not vars(module) else getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise _absent(module, name)
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}` is {before!r:.100}, no tensor")
    if home is not vars(module):
        if tensor is _MISSING:
            del home[name]
        else:
            home[name] = tensor
    elif tensor is _MISSING:
        if before is not _MISSING:
            delattr(module, name)
    else:
        setattr(module, name, tensor)
    return before


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Put a tensor where one is, or none was."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor!r:.100} is no Tensor")
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of one, which is returned."""
    children: dict[str, Any] = vars(module)["_modules"]
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule!r:.100} is no Module")
    if name not in children:
        raise KeyError(f"{type(module).__name__} has no submodule {name!r}")
    before = children[name]
    children[name] = submodule
    return before  # type: ignore[no-any-return]  # of a table of modules


class NamedMemberAccessor:
    """Reads and changes what a module has, by names such as `layer.weight`."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def get_submodule(self, name: str) -> Module:
        """The module of a name."""
        found = self.module
        for part in name.split(".") if name else ():
            children: dict[str, Any] = vars(found)["_modules"]
            if part not in children:
                raise _absent(found, part)
            found = children[part]
        return found

    def _split(self, name: str) -> tuple[Module, str]:
        prefix, _, own = name.rpartition(".")
        return self.get_submodule(prefix), own

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put a module in the place of one, which is returned."""
        return swap_submodule(*self._split(path), value)

    def get_tensor(self, name: str) -> Any:
        """The tensor of a name."""
        module, own = self._split(name)
        found = getattr(module, own, _MISSING)
        if found is _MISSING:
            raise _absent(module, name)
        if not isinstance(found, Tensor):
            raise TypeError(f"{found!r:.100} is no Tensor")
        return found

    def set_tensor(self, name: str, value: Any) -> None:
        """Put a tensor where one is, or none was."""
        set_tensor(*self._split(name), value)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Put a tensor in the place of one, which is returned."""
        return swap_tensor(*self._split(name), value, allow_missing)

    def del_tensor(self, name: str) -> None:
        """Remove a tensor."""
        self.get_tensor(name)
        swap_tensor(*self._split(name), _MISSING)

    def get_tensors(self, names: Iterable[str]) -> list[Any]:
        """The tensors of some names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Any]) -> None:
        """Put each tensor where one is, or none was."""
        self.set_tensors_dict(dict(zip(names, values, strict=True)))

    def set_tensors_dict(self, named_tensors: dict[str, Any]) -> None:
        """The same, of a dict."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove some tensors."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Any], allow_missing: bool = False
    ) -> list[Any]:
        """Put tensors in the places of others, which are returned."""
        pairs = zip(names, values, strict=True)
        return [self.swap_tensor(*pair, allow_missing) for pair in pairs]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Any], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """The same, of a dict; and the names of which there was none. A failure takes all back."""
        before: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing)
        except Exception:
            for name, value in before.items():
                swap_tensor(*self._split(name), value, allow_missing=True)
            raise
        return before, [name for name, value in before.items() if value is _MISSING]

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Which names are not among the keys, and which keys are no names, in order."""
        given, there = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(there - given), sorted(given - there)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The parameters of the module and of those in it."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """The buffers."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:
        """Both."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """The module and those in it."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
