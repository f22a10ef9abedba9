"""torch.fx.experimental.optimization: networks made quicker for those who only ask them."""

import copy
from typing import Any

from adjoint.compat.torch_tree.fx import GraphModule, symbolic_trace
from adjoint.nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d
from adjoint.nn.utils.fusion import fuse_conv_bn_eval

_PAIRS = {BatchNorm1d: Conv1d, BatchNorm2d: Conv2d, BatchNorm3d: Conv3d}


def fuse(model: Any, inplace: bool = False, no_trace: bool = False) -> Any:
    """A network whose convolutions do what the normalisations right after them did, as a graph."""
    if not inplace:
        model = copy.deepcopy(model)
    traced: Any = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for node in list(graph.nodes):
        before = node.args[0] if node.op == "call_module" and node.args else None
        if before is None or getattr(before, "op", "") != "call_module" or len(before.users) > 1:
            continue
        norm, layer = modules[node.target], modules[before.target]
        if type(layer) is not _PAIRS.get(type(norm)) or not norm.track_running_stats:
            continue
        fused = modules[before.target] = fuse_conv_bn_eval(layer, norm)
        parent, _, name = before.target.rpartition(".")
        setattr(modules[parent], name, fused)
        node.replace_all_uses_with(before)
        graph.erase_node(node)
    return GraphModule(traced, graph)
