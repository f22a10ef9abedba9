"""What must be as it was when a run has failed: gradients, tensors, modes, threads and locks."""

import contextvars
import gc
import sys
import threading
from typing import Any

import numpy as np

from tests.faults.program import Kit


def bits(tensor: Any) -> Any:
    """A tensor's values, bit for bit."""
    if tensor is None:
        return None
    if tensor.is_sparse:
        with_places = tensor.detach().coalesce()
        return bits(with_places.indices()), bits(with_places.values())
    if hasattr(tensor, "array"):  # adjoint's, on any device
        return np.asarray(tensor.array).tobytes()
    return tensor.detach().numpy().tobytes()


def gradient(leaf: Any) -> Any:
    """Which object a `.grad` is, its values and its version."""
    grad = leaf.grad
    return None if grad is None else (id(grad), bits(grad), grad._version, grad.requires_grad)


def gradients(tensors: list[Any]) -> list[Any]:
    """The same for several."""
    return [gradient(tensor) for tensor in tensors]


def own(tensor: Any) -> Any:
    """A tensor's values, its version, and what it is to autograd."""
    return bits(tensor), tensor._version, tensor.requires_grad, tensor.is_leaf


def modes(kit: Kit) -> Any:
    """All that a context may have set."""
    if kit.is_adjoint:  # grad mode, anomaly, hooks, watchers, NumPy's error state: all are there
        return dict(contextvars.copy_context().items())
    lib = kit.lib
    return {
        "grad": lib.is_grad_enabled(),
        "inference": lib.is_inference_mode_enabled(),
        "anomaly": lib.is_anomaly_enabled(),
        "autocast": lib.is_autocast_enabled("cpu"),
        "saved": lib._C._autograd._top_saved_tensors_default_hooks(True) is None,
        "task": lib._C._current_graph_task_id(),
    }


def difference(before: dict[Any, Any], after: dict[Any, Any]) -> str:
    """Which modes differ, by name."""
    names = {
        getattr(key, "name", key)
        for key in before.keys() | after.keys()
        if before.get(key) is not after.get(key) and before.get(key) != after.get(key)
    }
    return ", ".join(sorted(map(str, names)))


_LOCK = type(threading.Lock())
_RLOCK = type(threading.RLock())


def all_locks() -> list[Any]:
    """The locks of the package that there are now, wherever they are held."""
    found: dict[int, Any] = {}
    values: dict[int, Any] = {}  # each but once: many modules have the same ops and built-ins
    for name, module in list(sys.modules.items()):
        if name == "adjoint" or name.startswith("adjoint."):
            values.update((id(value), value) for value in list(vars(module).values()))
    for value in values.values():
        for each in (value, *_attributes(value)):
            if isinstance(each, (_LOCK, _RLOCK)):
                found[id(each)] = each
            elif isinstance(each, threading.Condition):
                found[id(each)] = each._lock
    return list(found.values())


def _attributes(value: Any) -> list[Any]:
    """What an object of the package refers to; nothing of others."""
    if isinstance(value, dict) or type(value).__module__.startswith("adjoint"):
        first = gc.get_referents(value)
        return [
            *first,
            *(
                each
                for one in first
                if type(one).__module__.startswith("adjoint")
                for each in gc.get_referents(one)
            ),
        ]
    return []


def is_held(lock: Any) -> bool:
    """Whether somebody holds a lock."""
    if isinstance(lock, _RLOCK):
        return bool(lock._is_owned()) or "owner=0" not in repr(lock)
    return bool(lock.locked())


def extra_threads(before: set[Any]) -> list[str]:
    """Threads that were not there; that of a device may stay, and waits for the next pass."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith("adjoint-backward-")
    ]
