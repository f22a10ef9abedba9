"""torch.fx._pytree: nests taken apart as a spec says."""

from typing import Any


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """What lies in a nest in the places of a spec's leaves.

    The nest is asked for its parts one by one, so that what stands for it in a trace can answer.
    """
    if spec.type is None:
        return [pytree]
    keys: Any = spec.context if isinstance(spec.context, (list, tuple)) else None
    if keys is None or len(keys) != len(spec.children_specs) or issubclass(spec.type, tuple):
        keys = range(len(spec.children_specs))
    if isinstance(pytree, (tuple, list, dict)) and len(pytree) != len(spec.children_specs):
        raise ValueError(
            f"a {spec.type.__name__} of {len(spec.children_specs)} was traced, one of "
            f"{len(pytree)} came"
        )
    found = []
    for key, child in zip(keys, spec.children_specs, strict=True):
        found += tree_flatten_spec(pytree[key], child)
    return found
