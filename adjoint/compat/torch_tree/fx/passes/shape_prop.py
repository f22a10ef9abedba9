"""torch.fx.passes.shape_prop: what the results of nodes look like, found by running a graph."""

from typing import Any, NamedTuple

from adjoint.compat.torch_tree.fx.interpreter import Interpreter
from adjoint.compat.torch_tree.fx.node import Node, map_aggregate
from adjoint.ops.arranging.conversion import channels_last, channels_last_3d, contiguous_format
from adjoint.tensors.tensor import Tensor


class TensorMetadata(NamedTuple):
    """What a tensor looks like, without its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    """What a tensor looks like."""
    kept = None
    for layout in (contiguous_format, channels_last, channels_last_3d):
        if kept is None and include_contiguity and _lies_in(result, layout):
            kept = layout
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), kept, False, {}
    )


def _lies_in(tensor: Any, layout: Any) -> bool:
    dims = {channels_last: 4, channels_last_3d: 5}.get(layout)
    fits = dims is None or tensor.ndim == dims
    return fits and bool(tensor.is_contiguous(memory_format=layout))


class ShapeProp(Interpreter):
    """Runs a graph and notes at each node, in meta["tensor_meta"], what its result looks like."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError(
                "ShapeProp: fake_mode would need a fake of the module; give it real tensors"
            )

    def run_node(self, n: Node) -> Any:
        """See Interpreter."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found: list[Tensor] = []

        def look(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on arguments."""
        return super().run(*args)
