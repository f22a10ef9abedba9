"""torch.utils.data.graph: which datasets a dataset is made of."""

from typing import Any

from adjoint.compat.torch_tree.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from adjoint.pytree import tree_leaves

Graph = dict[int, tuple[Any, Any]]


def traverse_dps(datapipe: Any) -> Graph:
    """The dataset by its id, with those that it is made of in the same form."""
    return _traversed(datapipe, set())


def _traversed(datapipe: Any, above: set[int]) -> Graph:
    found: Graph = {}
    if id(datapipe) in above:  # it refers to one above it
        return found
    inner = [
        leaf for leaf in tree_leaves(vars(datapipe)) if isinstance(leaf, IterDataPipe | MapDataPipe)
    ]
    for each in inner:
        found.update(_traversed(each, {*above, id(datapipe)}))
    return {id(datapipe): (datapipe, found)}
