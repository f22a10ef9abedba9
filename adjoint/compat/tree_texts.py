"""The shapes of trees as texts, in PyTorch's protocol: treespec_dumps and treespec_loads.

A text names the classes of containers by what they were registered as. Nothing is imported for it:
a member of an enum, or what makes the values of a default dict, is found in loaded modules alone.
"""

import enum
import json
import sys
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any, Final

from adjoint.pytree import LEAF, TreeSpec

PROTOCOL: Final = 1
_TUPLE_WITH_NAMES: Final = "collections.namedtuple"
_DEFAULTS: Final = "collections.defaultdict"


@dataclass(frozen=True)
class Known:
    """How a class of containers is named in a text, and its context is written and read."""

    name: str
    written: Any = None
    read: Any = None


_known: dict[Any, Known] = {
    tuple: Known("builtins.tuple"),
    list: Known("builtins.list"),
    dict: Known("builtins.dict"),
    OrderedDict: Known("collections.OrderedDict"),
    deque: Known("collections.deque"),
}
_with_names: dict[Any, str] = {}  # classes of named tuples


def remember(cls: Any, name: str | None, written: Any, read: Any) -> None:
    """Note how a class that is registered appears in texts; without a name it can't."""
    if (written is None) != (read is None):
        raise ValueError(
            f"{cls}: a context that is written otherwise must be read otherwise: "
            "to_dumpable_context and from_dumpable_context are given both, or none"
        )
    if name is not None:
        _known[cls] = Known(name, written, read)


def remember_tuple(cls: Any, name: str) -> None:
    """Note the name of a class of named tuples."""
    _with_names[cls] = name


def forget(cls: Any) -> None:
    """Leave a class without a name."""
    _known.pop(cls, None)
    _with_names.pop(cls, None)


# ---- written ----


def dumps(treespec: Any, protocol: int | None = None) -> str:
    """The shape of a tree as a text."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(): expected the shape of a tree, a TreeSpec, got {type(treespec)}"
        )
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"treespec_dumps(): protocol {protocol} is unknown; there is {PROTOCOL}")
    return json.dumps([PROTOCOL, _written(treespec)], default=_shown)


def _written(spec: TreeSpec) -> dict[str, Any]:
    name, context = (None, None) if spec.is_leaf() else _node(spec)
    children = [_written(child) for child in spec.children_specs]
    return {"type": name, "context": context, "children_spec": children}


def _node(spec: TreeSpec) -> tuple[str, Any]:
    """The name of a container's class, and its context as it is written."""
    if spec.type is defaultdict:
        factory, keys = spec.context
        made = {
            "default_factory_module": getattr(factory, "__module__", None),
            "default_factory_name": getattr(factory, "__qualname__", None),
            "dict_context": list(keys),
        }
        return _DEFAULTS, made
    if spec.type in _with_names:
        return _TUPLE_WITH_NAMES, _with_names[spec.type]
    known = _known.get(spec.type)
    if known is None:
        how = "_register_namedtuple" if hasattr(spec.type, "_fields") else "register_pytree_node"
        raise NotImplementedError(
            f"treespec_dumps(): {spec.type} has no name in texts; give it one by {how}(..., "
            "serialized_type_name=...)"
        )
    if known.written is not None:
        return known.name, known.written(spec.context)
    try:
        return known.name, json.dumps(spec.context, default=_shown)
    except TypeError as error:
        raise TypeError(
            f"treespec_dumps(): the context of {spec.type} can't be written: {error}; register it "
            "with to_dumpable_context and from_dumpable_context"
        ) from error


def _shown(value: Any) -> Any:
    """A member of an enum in JSON, which has none."""
    if isinstance(value, enum.Enum):
        kind = type(value)
        path = f"{kind.__module__}:{kind.__qualname__}"
        return {"__enum__": True, "fqn": path, "name": value.name}
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


# ---- read ----


def loads(serialized: str) -> TreeSpec:
    """The shape of a tree from its text."""
    protocol, spec = json.loads(serialized)
    if protocol != PROTOCOL:
        raise ValueError(f"treespec_loads(): protocol {protocol} is unknown; there is {PROTOCOL}")
    return _read(spec)


def _read(found: dict[str, Any]) -> TreeSpec:
    name, context = found["type"], found["context"]
    if name is None:
        return LEAF
    children = [_read(child) for child in found["children_spec"]]
    if name == _DEFAULTS:
        factory = _factory(context["default_factory_module"], context["default_factory_name"])
        return TreeSpec(defaultdict, [factory, context["dict_context"]], children)
    if name == _TUPLE_WITH_NAMES:
        kind = next((each for each, own in _with_names.items() if own == context), None)
        if kind is None:
            raise NotImplementedError(
                f"treespec_loads(): no named tuple is registered as {context}; see "
                "_register_namedtuple"
            )
        return TreeSpec(kind, kind, children)
    kind, known = next(
        ((each, own) for each, own in _known.items() if own.name == name), (None, None)
    )
    if known is None:
        raise NotImplementedError(f"treespec_loads(): no class is registered as {name}")
    if known.read is not None:
        return TreeSpec(kind, known.read(context), children)
    return TreeSpec(kind, json.loads(context, object_hook=_recognized), children)


def _recognized(value: dict[str, Any]) -> Any:
    """A member of an enum, where JSON has one."""
    if value.get("__enum__") is not True:
        return value
    module, _, path = value["fqn"].partition(":")
    kind = _found(module, path)
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        raise TypeError(f"treespec_loads(): {value['fqn']} is no enum")
    return kind[value["name"]]


def _factory(module: str | None, path: str | None) -> Any:
    """What makes the values of a default dict: a class, or nothing."""
    if module is None or path is None:
        return None
    found = _found(module, path)
    if not isinstance(found, type):
        raise TypeError(f"treespec_loads(): {module}.{path} makes no values: it is no class")
    return found


def _found(module: str, path: str) -> Any:
    """A class of a module that is loaded."""
    home: Any = sys.modules.get(module)
    if home is None:
        raise ImportError(f"treespec_loads(): {module} is not loaded; import it before")
    for part in path.split("."):
        home = getattr(home, part)
    return home
