"""The graphs of the sweep that only adjoint has: made-up devices, arrays of other types."""

from typing import Any

import numpy as np

from adjoint import Tensor, backends
from adjoint.backends.numpy import NumpyBackend, NumpyNamespace
from adjoint.compat import torch
from adjoint.device import device
from adjoint.tensors.tensor import AS_IS
from tests.backends.test_workers import First, MadeUpBackend, Second, moved
from tests.faults.program import Kit, graph

ALLOCATING = ("empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "array")


class Probed(np.ndarray):
    """An array whose sums are events: those that make an array, and those into a `.grad`."""

    at: Any = staticmethod(lambda kind: None)

    def __add__(self, other: Any) -> Any:
        Probed.at("accumulate")
        return np.add(np.asarray(self), np.asarray(other)).view(Probed)

    __radd__ = __add__

    def __iadd__(self, other: Any) -> Any:
        Probed.at("commit")
        target = np.asarray(self)
        target += np.asarray(other)
        return self


class ProbedNamespace(NumpyNamespace):
    """NumPy's functions, all results probed, and new arrays an event."""

    def __init__(self) -> None:
        super().__init__(np)
        copied = [k for k, v in vars(self).items() if callable(v) and not isinstance(v, type)]
        for name in (*copied, "total", "relu", "power", "broadcast_to"):
            setattr(self, name, self.placed(getattr(self, name), name in ALLOCATING))

    def placed(self, function: Any, allocates: bool) -> Any:
        """A function with its result probed."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if allocates:
                Probed.at("allocation")
            return np.asarray(function(*args, **kwargs)).view(Probed)

        return call


class ProbedBackend(NumpyBackend):
    """NumPy under another name."""

    name = "probed"
    device_type = "meta"
    array_type = Probed
    xp = ProbedNamespace()

    def asarray(self, value: Any, numpy_dtype: Any = None) -> Any:
        return np.asarray(value, dtype=numpy_dtype).view(Probed)

    def device(self, array: Any) -> device:
        return device("meta", 7)

    def copy(self, array: Any) -> Any:
        Probed.at("allocation")
        return np.array(np.asarray(array), order="C").view(Probed)


def known(*made: tuple[Any, type]) -> Any:
    """Make backends known; the function that is answered forgets them."""
    before = dict(backends._by_device)
    for backend, kind in made:
        backends.register(backend, kind)

    def forget() -> None:
        for _, kind in made:
            backends.BY_TYPE.pop(kind, None)
        backends._by_device.clear()
        backends._by_device.update(before)

    return forget


def placed(kit: Kit, kind: type, *shape: int) -> Tensor:
    """A leaf whose array is of this type."""
    made = Tensor(kit.array(*shape).view(kind), AS_IS).requires_grad_()
    kit.leaves.append(made)
    return made


def devices(kit: Kit) -> None:
    """Two made-up devices, each with a thread of its own."""
    kit.teardown.append(known((MadeUpBackend(First, 0), First), (MadeUpBackend(Second, 1), Second)))


@graph("adjoint", threads=True)
def on_a_device(kit: Kit) -> Any:
    devices(kit)
    x, w = kit.leaf(3), placed(kit, First, 3)

    def run() -> None:
        there = kit.watch(moved(x * 2.0, First))
        there.register_hook(kit.hook)
        worked = kit.watch(there * w)
        worked.register_hook(kit.hook)
        back = moved(worked * worked, np.ndarray)
        kit.finish((back * x).sum())

    return run


@graph("adjoint", whole=True, threads=True)
def on_two_devices(kit: Kit) -> Any:
    devices(kit)
    a, b, c = placed(kit, First, 3), placed(kit, Second, 3), kit.leaf(3)

    def run() -> None:
        outputs = [kit.watch(leaf * factor) for leaf, factor in ((a, 2.0), (b, 3.0), (c, 4.0))]
        for output in outputs:
            output.register_hook(kit.hook)
        mixed = moved(moved(outputs[0], Second) * outputs[1], np.ndarray)
        kit.lib.autograd.backward([*(output.sum() for output in outputs), (mixed * c).sum()])

    return run


def probes(kit: Kit) -> None:
    """Arrays whose sums and copies are events."""
    Probed.at = kit.at
    kit.teardown.append(known((ProbedBackend(), Probed)))


@graph("adjoint")
def probed_arrays(kit: Kit) -> Any:
    probes(kit)
    x, w, v = placed(kit, Probed, 3), placed(kit, Probed, 3), placed(kit, Probed, 3)

    def run() -> None:
        y = kit.watch(x * w)
        kit.finish((y * x + y * v + w * v).sum())

    return run


@graph("adjoint")
def probed_and_hooked(kit: Kit) -> Any:
    probes(kit)
    x, w = placed(kit, Probed, 3), placed(kit, Probed, 3)
    x.register_hook(kit.hook)
    node = kit.lib.autograd.graph.get_gradient_edge(w).node
    node.register_hook(kit.hook)

    def hook(grad):
        kit.at("hook")
        with kit.lib.enable_grad():
            (x * w).sum().backward()

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(hook)
        kit.finish((y * x + y * w).sum())
        assert node is not None  # it holds the hook

    return run


@graph("adjoint")
def hooks_on_every_node(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        with kit.lib.autograd.graph.node_hooks(pre=kit.hook, post=kit.hook):
            y = kit.watch(x * w)
            loss = (y.exp() * x).sum()
        y.register_hook(kit.hook, name="mine", once=True)
        kit.finish(loss)

    return run


class Seen(Tensor):
    """A tensor without memory of its own, whose class answers each call on what it holds."""

    @staticmethod
    def __new__(cls: type, inner: Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        def held(value: Any) -> Any:
            return value.inner if isinstance(value, cls) else value

        answer = function(*map(held, args), **(kwargs or {}))
        return cls(answer) if isinstance(answer, Tensor) else answer


@graph("adjoint", whole=True)
def answered_by_a_class(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(Seen(w.detach()) * (x * 2.0))
        found = kit.lib.autograd.grad(y.tanh().sum() * 0.5, x)[0]
        kit.results.append(found.inner if isinstance(found, Seen) else found)
        kit.finish((x * w).sum())

    return run


@graph("jax")
def jax_arrays(kit: Kit) -> Any:
    from jax import numpy as jnp

    x, w = (
        Tensor(jnp.asarray(kit.array(3).astype("float32")), AS_IS).requires_grad_()
        for _ in range(2)
    )
    kit.leaves.extend([x, w])

    def run() -> None:
        y = kit.watch(x * w)
        y.register_hook(kit.hook)
        kit.finish((y * x).sum())

    return run
