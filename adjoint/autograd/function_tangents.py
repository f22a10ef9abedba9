"""Forward mode through a Function: the tangents of its outputs, by its jvp."""

from typing import Any

from adjoint.autograd.function_outputs import Outputs, is_view
from adjoint.call.layers import lies_in
from adjoint.tensors.core import is_floating
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.duals import dual, primal_at, take_part, tangent_at, zeros_like


class Tangents:
    """The tangents of one call of a Function: those of its inputs, and what jvp makes of them."""

    def __init__(
        self, level: Any, values: list[Any], below: Outputs, saved: tuple[Any, ...]
    ) -> None:
        self.level = level
        self.values = values
        self.call = below
        self.name = below.name
        self.saved = tuple(primal_at(level, tensor) for tensor in saved)
        zeros = below.node.context.get("materialize_grads", True)
        self.given = [tangent_at(level, value) for value in values]
        self.versions = [t.version() if isinstance(t, Tensor) else 0 for t in self.given]
        self.inputs = [
            zeros_like(primal_at(level, value))
            if tangent is None and zeros and isinstance(value, Tensor) and is_floating(value.array)
            else tangent
            for value, tangent in zip(values, self.given)
        ]

    def duals(self, outputs: list[Any], results: list[Any]) -> list[Any]:
        """The outputs with their tangents, from those that lie below the level."""
        found = self.pushed()
        if len(found) != len(outputs):
            raise RuntimeError(
                f"{self.name}.jvp returned {len(found)} tangents, but forward has {len(outputs)} "
                "outputs; return None for those without one"
            )
        return [
            self.output(i, out, result, tangent)
            for i, (out, result, tangent) in enumerate(zip(outputs, results, found))
        ]

    def pushed(self) -> tuple[Any, ...]:
        """What jvp answers."""
        node = self.call.node
        node.pushing = self.saved
        try:
            answer = node.function.jvp(node.new_ctx(), *self.inputs)
        finally:
            node.pushing = None
        return answer if isinstance(answer, tuple) else (answer,)

    def output(self, i: int, out: Any, result: Any, tangent: Any) -> Any:
        """One output at the level."""
        differentiable = isinstance(out, Tensor) and is_floating(out.array)
        if not differentiable or id(primal_at(self.level, out)) in self.call.constant:
            if tangent is not None:
                raise RuntimeError(
                    f"{self.name}.jvp returned a tangent for output {i}, which is not "
                    "differentiable. You should return None at that position instead."
                )
            return out if not isinstance(out, Tensor) or lies_in(out, self.level) else result
        if tangent is not None:
            self.check(i, result, tangent)
        source = next((j for j, value in enumerate(self.values) if value is out), -1)
        if source < 0:
            if tangent is None and self.level.fades:
                return result
            return dual(self.level, result, tangent)
        if id(primal_at(self.level, out)) in self.call.dirty:
            self.change(out, source, tangent)
        elif tangent is not None:
            self.check_view(tangent, [source])
        return out

    def change(self, out: Any, source: int, tangent: Any) -> None:
        """An input that forward changed in place: so must jvp its tangent."""
        if self.given[source] is None:
            if tangent is None:
                return
            if not lies_in(out, self.level):
                take_part(self.level, out)
            out.layer.tangent = tangent
        elif tangent is not self.given[source] or tangent.version() == self.versions[source]:
            raise RuntimeError(
                f"{self.name}: An inplace custom Function is not modifying the forward mode "
                "gradients inplace. Where forward changes an input in place, the jvp function must "
                "modify the corresponding gradient inplace, and return it."
            )

    def check(self, i: int, result: Any, tangent: Any) -> None:
        """Refuse a tangent that is none for an output."""
        if not isinstance(tangent, Tensor):
            raise RuntimeError(
                f"{self.name}.jvp: expected a Tensor or None as tangent of output {i}, got "
                f"{type(tangent).__name__}"
            )
        if tangent.shape != result.shape:
            raise RuntimeError(
                f"{self.name}.jvp returned a tangent of shape {list(tangent.shape)} for output "
                f"{i}, which has shape {list(result.shape)}"
            )
        if is_view(result) and id(result) not in self.call.dirty:
            shown = [
                j
                for j, value in enumerate(self.values)
                if isinstance(value, Tensor)
                and _root(primal_at(self.level, value)) is _root(result)
            ]
            if shown:
                self.check_view(tangent, shown)

    def check_view(self, tangent: Any, sources: list[int]) -> None:
        """What shows the memory of an input must have a tangent that shows that of its tangent."""
        complaint = (
            f"{self.name}: A custom Function's forward is returning a view (or an input as-is) but "
            "the jvp is not returning a view"
        )
        if not is_view(tangent):
            raise RuntimeError(f"{complaint}; return x.view_as(x) for a tangent x as it is")
        if not any(_root(self.inputs[j]) is _root(tangent) for j in sources):
            raise RuntimeError(
                f"{complaint} of the given tangent: the jvp is not returning a view of the "
                "same base"
            )


def _root(tensor: Any) -> Any:
    """The tensor whose memory a view shows; itself if it is none."""
    return tensor.extras.base if is_view(tensor) else tensor
