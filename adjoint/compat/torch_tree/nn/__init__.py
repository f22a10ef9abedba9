"""torch.nn: layers for several devices, on one, and how layers are told what to be made of."""

from typing import Any

from adjoint.compat.torch_tree.nn.parallel import DataParallel as DataParallel

_MADE_OF = {"device", "dtype", "memory_format"}


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The device and type that a layer's arguments name, themselves or as `factory_kwargs`."""
    given = dict(kwargs or {})
    found = dict(given.pop("factory_kwargs", {}))
    unknown = {*given} - _MADE_OF
    if unknown:
        raise TypeError(f"factory_kwargs: there is no {', '.join(map(repr, sorted(unknown)))}")
    twice = given.keys() & found.keys()
    if twice:
        raise TypeError(f"factory_kwargs: {', '.join(sorted(twice))} is given twice")
    return {**found, **given}
