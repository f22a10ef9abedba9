"""Calls of a module with other parameters and buffers than its own.

A module is known here by its members alone, because modules lie above this layer.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are where parameters are

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint.call.held import Held
from adjoint.ops.arranging.conversion import typename
from adjoint.ops.arranging.shape import stack
from adjoint.tensors.tensor import Tensor

Tensors = dict[str, Any]

_MISSING: Any = object()


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Tensors | Sequence[Tensors],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """module(*args, **kwargs) with the given tensors in the place of its own, by their paths.

    What the call assigns to one of them goes to the dictionary, and not to the module. Tensors
    that the module has under several names are replaced under all of them, unless `tie_weights` is
    False. If `strict`, every parameter and buffer must be given.
    """
    given = _merged(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, given, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[Tensors, Tensors]:
    """The parameters and the buffers of several models of one class, stacked, by their paths."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode; call "
            "train() or eval() on all of them"
        )
    if len({type(model) for model in models}) > 1:
        kinds = ", ".join(sorted({type(model).__name__ for model in models}))
        raise RuntimeError(
            f"stack_module_state: Expected models to be of the same class, got {kinds}"
        )
    return (
        _stacked([dict(model.named_parameters()) for model in models]),
        _stacked([dict(model.named_buffers()) for model in models]),
    )


def _stacked(members: list[Tensors]) -> Tensors:
    """The tensors of each name as one; a leaf if they need gradients."""
    found: Tensors = {}
    for name in members[0]:
        parts = [one[name] for one in members]
        needed = {part.requires_grad for part in parts}
        if len(needed) > 1:
            raise RuntimeError(
                f"stack_module_state: {name} needs a gradient in some models and not in others"
            )
        whole = stack(parts)
        found[name] = whole.detach().requires_grad_() if needed == {True} else whole
    return found


def _merged(dicts: Any) -> Tensors:
    """One dictionary of the given ones; itself if there is one."""
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence) or not all(isinstance(one, dict) for one in dicts):
        raise ValueError(
            "functional_call: expected parameter_and_buffer_dicts to be a dict, or a list or tuple "
            f"of dicts, got {typename(dicts)}"
        )
    merged: Tensors = {}
    for one in dicts:
        repeated = merged.keys() & one.keys()
        if repeated:
            raise ValueError(
                f"functional_call: {sorted(repeated)} appeared in multiple dictionaries, so which "
                "value is meant is ambiguous"
            )
        merged.update(one)
    return merged


class replaced(Held):
    """Inside, a module has the given tensors in the place of its own, by their paths.

    What is assigned to one of them inside goes to the dictionary.
    """

    def __init__(
        self, module: Any, tensors: Tensors, tie_weights: bool = False, strict: bool = False
    ) -> None:
        self.given = tensors
        self.new = _with_tied(module, tensors) if tie_weights else tensors
        if strict:
            _check_complete(module, self.new)
        known: dict[str, Any] = {}
        # Where each tensor is: its path, the module that has it, and its name there.
        self.places = [
            (path, _owner(module, path, known), _name(path, value))
            for path, value in self.new.items()
        ]
        self.before: list[Any] = []
        self.after: list[Any] = []

    def _variable(self) -> Any:
        """See Held."""
        return self

    def get(self) -> list[Any]:
        """The tensors that the module has now."""
        return [_found(owner, name, path) for path, owner, name in self.places]

    def set(self, tensors: list[Any]) -> None:
        """Let the module have these tensors."""
        for (_, owner, name), value in zip(self.places, tensors):
            _put(owner, name, value)

    def _inside(self, before: Any) -> Any:
        """See Held."""
        self.before = before
        return list(self.new.values())

    def _outside(self, now: Any) -> Any:
        """See Held."""
        self.after = now
        return self.before

    def _left(self) -> None:
        """See Held: what the call has assigned is handed over."""
        for (path, _, _), value in zip(self.places, self.after):
            if path in self.given and value is not _MISSING:
                self.given[path] = value


def _with_tied(module: Any, tensors: Tensors) -> Tensors:
    """The given tensors under all names that the module has for each of them."""
    names: dict[int, list[str]] = {}
    for path, value in _named_tensors(module):
        names.setdefault(id(value), []).append(path)
    complete = dict(tensors)
    for paths in names.values():
        given = [path for path in paths if path in tensors]
        if len(paths) == 1 or not given:
            continue
        if any(tensors[path] is not tensors[given[0]] for path in given):
            raise ValueError(
                f"functional_call got different values for {sorted(paths)}, which are tied; give "
                "the same tensor for all, or consider using tie_weights=False"
            )
        complete.update(dict.fromkeys(paths, tensors[given[0]]))
    return complete


def _named_tensors(module: Any) -> Iterator[tuple[str, Any]]:
    """All parameters and buffers with their paths, under each of their names."""
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def _check_complete(module: Any, tensors: Tensors) -> None:
    own = {path for path, _ in _named_tensors(module)}
    lists = (("Unexpected", tensors.keys() - own), ("Missing", own - tensors.keys()))
    problems = [
        f"{kind} key(s): {', '.join(map(repr, sorted(paths)))}." for kind, paths in lists if paths
    ]
    if problems:
        raise RuntimeError(
            f"functional_call: the tensors given are not those of {type(module).__name__}:\n\t"
            + "\n\t".join(problems)
        )


def _owner(module: Any, path: str, known: dict[str, Any]) -> Any:
    """The module that has the tensor at a path."""
    prefix = path.rpartition(".")[0]
    if prefix not in known:
        found = module
        for name in prefix.split(".") if prefix else ():
            if not hasattr(found, name):
                raise AttributeError(
                    f"functional_call: {type(found).__name__} has no attribute `{name}`, which is "
                    f"on the way to '{path}'"
                )
            found = getattr(found, name)
            if not hasattr(found, "_parameters"):
                raise TypeError(
                    f"functional_call: '{name}', which is on the way to '{path}', is no module but "
                    f"a {typename(found)}"
                )
        known[prefix] = found
    return known[prefix]


def _name(path: str, value: Any) -> str:
    """The last name of a path, to which a tensor may be given."""
    name = path.rpartition(".")[2]
    if name == "":
        raise KeyError(
            f"functional_call: the name at the end of '{path}' can't be the empty string"
        )
    if value is not None and not isinstance(value, Tensor):
        raise TypeError(f"functional_call: expected a Tensor for '{path}', got {typename(value)}")
    return name


def _found(module: Any, name: str, path: str) -> Any:
    """The tensor that a module has under a name, if there is one."""
    if name in module._parameters:
        return module._parameters[name]
    if name in module._buffers:
        return module._buffers[name]
    found = getattr(module, name, _MISSING)
    if found is not _MISSING and found is not None and not isinstance(found, Tensor):
        raise TypeError(f"functional_call: '{path}' is no tensor but a {typename(found)}")
    return found


def _put(module: Any, name: str, value: Any) -> None:
    """Let a module have a tensor, or nothing, under a name."""
    members = module._parameters if name in module._parameters else module._buffers
    if name not in members:
        if value is not _MISSING:
            setattr(module, name, value)
        elif hasattr(module, name):
            delattr(module, name)
    elif value is _MISSING:
        del members[name]
    else:
        members[name] = value
