"""torch.fx.passes.fake_tensor_prop: the results of nodes as fakes, found without computing."""

from typing import Any

from adjoint.compat.torch_tree._subclasses.fake_tensor import FakeTensorMode
from adjoint.compat.torch_tree.fx.interpreter import Interpreter
from adjoint.compat.torch_tree.fx.node import Node
from adjoint.tensors.tensor import Tensor


class FakeTensorProp(Interpreter):
    """Runs a graph on fakes of its arguments, and notes results at nodes, in meta["val"]."""

    def __init__(self, module: Any, mode: FakeTensorMode | None = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def run_node(self, n: Node) -> Any:
        """See Interpreter."""
        result = super().run_node(n)
        n.meta["val"] = result
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on fakes of arguments."""
        fakes = [
            self._mode.from_tensor(each) if isinstance(each, Tensor) else each for each in args
        ]
        return self.propagate_dont_convert_inputs(*fakes)

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """The same with arguments that are fakes."""
        with self._mode:
            return super().run(*args)
