"""Programs of XLA over several devices: how their inputs are spread over a mesh of them."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import jax
import numpy as np

_jax: Any = jax  # for its functions without type hints
_NAMES = ("data", "model")  # of the axes of a mesh that is given by its shape


class Spread:
    """A mesh of devices, and the rule by which tensors are spread over its axes.

    Arguments are spread along their first dimension over the first axis, all else is on every
    device; `rule` answers for a tensor from outside the axis of each dimension, or None.
    """

    def __init__(self, mesh: Any, rule: Callable[[Any], Any] | None) -> None:
        if rule is not None and not callable(rule):
            raise TypeError(
                f"compile: shard must be a function of a tensor, got {type(rule).__name__}"
            )
        self.mesh = _made(mesh)
        self.rule = rule
        self.sizes: dict[str, int] = dict(self.mesh.shape)

    def of_argument(self, array: Any) -> Any:
        """How an argument is spread: as a batch, if its elements can be shared out evenly."""
        axis, size = next(iter(self.sizes.items()))
        if not array.shape or array.shape[0] % size:
            return self.everywhere()
        return self._sharding((axis,))

    def of_state(self, tensor: Any) -> Any:
        """How a tensor from outside is spread."""
        axes = None if self.rule is None else self.rule(tensor)
        if axes is None:
            return self.everywhere()
        shape = tuple(tensor.shape)
        named = axes if isinstance(axes, (tuple, list)) else None
        if named is None or len(named) > len(shape):
            raise ValueError(
                f"compile: shard= must answer None or a tuple with an axis, or None, for each "
                f"dimension of {list(shape)}; got {axes!r}"
            )
        for length, axis in zip(shape, named):
            if axis is not None and axis not in self.sizes:
                raise ValueError(f"compile: the mesh has the axes {list(self.sizes)}, not {axis!r}")
            if axis is not None and length % self.sizes[axis]:
                raise ValueError(
                    f"compile: {length} elements of a tensor of shape {list(shape)} can't be "
                    f"shared out to the {self.sizes[axis]} devices of axis {axis!r}"
                )
        return self._sharding(tuple(named))

    def everywhere(self) -> Any:
        """All devices have all of it."""
        return self._sharding(())

    def _sharding(self, axes: tuple[Any, ...]) -> Any:
        return _jax.sharding.NamedSharding(self.mesh, _jax.sharding.PartitionSpec(*axes))


def _made(mesh: Any) -> Any:
    """A mesh of JAX's, from one, or from sizes of axes by name or in order."""
    if isinstance(mesh, jax.sharding.Mesh):
        # As JAX's compiler spreads what is not said, whichever way its user chose for his own code.
        return _jax.sharding.Mesh(mesh.devices, mesh.axis_names)
    if isinstance(mesh, Mapping):
        names, sizes = tuple(mesh), tuple(mesh.values())
    else:
        sizes = tuple(mesh) if isinstance(mesh, (tuple, list)) else (mesh,)
        names = _NAMES[: len(sizes)]
    if not sizes or len(names) != len(sizes) or not all(type(n) is int and n > 0 for n in sizes):
        raise ValueError(
            f"compile: mesh must be a jax.sharding.Mesh, one or two sizes, or sizes by the names "
            f"of axes; got {mesh!r}"
        )
    known = jax.devices()
    if prod(sizes) > len(known):
        raise ValueError(
            f"compile: a mesh of {prod(sizes)} devices was asked for, and JAX has {len(known)}; on "
            "a CPU the variable XLA_FLAGS=--xla_force_host_platform_device_count=8 makes eight"
        )
    return _jax.sharding.Mesh(np.array(known[: prod(sizes)]).reshape(sizes), names)


def placed(array: Any, sharding: Any) -> Any:
    """An array on the devices of a mesh; itself, if it is there."""
    if isinstance(array, jax.Array) and array.sharding == sharding:
        return array
    with _jax.enable_x64(True):
        return _jax.device_put(array, sharding)


def pinned(array: Any, sharding: Any) -> Any:
    """In a trace: the same values, spread like that when the program ends."""
    return _jax.lax.with_sharding_constraint(array, sharding)


def is_spread(array: Any) -> bool:
    """Whether an array lies on several devices."""
    return isinstance(array, jax.Array) and len(array.sharding.device_set) > 1
