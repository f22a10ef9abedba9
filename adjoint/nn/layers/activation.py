"""Activations as layers."""

from typing import Any

from adjoint.creation.factories import empty
from adjoint.nn import functional, init
from adjoint.nn.layers.base import REQUIRED, Stateless, taking
from adjoint.nn.parameter import Parameter
from adjoint.ops.elementwise.activation import relu
from adjoint.tensors.tensor import Tensor

# ---- with an option to overwrite the input ----


class ReLU(Stateless):
    """input where it is positive, else 0."""

    fields = taking(inplace=False)

    def forward(self, input: Any) -> Any:
        """relu(input)."""
        if type(input) is not Tensor:  # who answers for it is asked about this function
            return functional.relu(input, self.inplace)
        return functional.relu_(input) if self.inplace else relu(input)


class RReLU(Stateless):
    """input where it is positive, else times a slope that is drawn in training."""

    fields = taking(lower=1 / 8, upper=1 / 3, inplace=False)

    def forward(self, input: Any) -> Any:
        """rrelu(input)."""
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Threshold(Stateless):
    """input where it is above threshold, else value."""

    function = functional.threshold
    fields = taking(threshold=REQUIRED, value=REQUIRED, inplace=False)


class Hardtanh(Stateless):
    """input, but at least min_val and at most max_val."""

    function = functional.hardtanh
    fields = taking(min_val=-1.0, max_val=1.0, inplace=False)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """Bounds in their order."""
        if given["max_val"] <= given["min_val"]:
            raise AssertionError(
                f"Hardtanh: max_val={given['max_val']} must be above min_val={given['min_val']}"
            )
        return given


class ReLU6(Hardtanh):
    """input, but at least 0 and at most 6."""

    fields = taking(inplace=False)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The bounds, too."""
        return {"min_val": 0.0, "max_val": 6.0, **given}

    @classmethod
    def passed_on(cls) -> tuple[str, ...]:
        """What the function takes besides input."""
        return ("min_val", "max_val", "inplace")


class ELU(Stateless):
    """input where it is positive, else alpha * (exp(input) - 1)."""

    function = functional.elu
    fields = taking(alpha=1.0, inplace=False)


class CELU(Stateless):
    """input where it is positive, else alpha * (exp(input / alpha) - 1)."""

    function = functional.celu
    fields = taking(alpha=1.0, inplace=False)


class LeakyReLU(Stateless):
    """input where it is positive, else negative_slope * input."""

    function = functional.leaky_relu
    fields = taking(negative_slope=0.01, inplace=False)


class SELU(Stateless):
    """elu scaled so that deep networks keep mean 0 and variance 1."""

    function = functional.selu
    fields = taking(inplace=False)


class SiLU(Stateless):
    """input * sigmoid(input)."""

    function = functional.silu
    fields = taking(inplace=False)


class Mish(Stateless):
    """input * tanh(softplus(input))."""

    function = functional.mish
    fields = taking(inplace=False)


class Hardswish(Stateless):
    """input * hardsigmoid(input)."""

    function = functional.hardswish
    fields = taking(inplace=False)
    unshown = frozenset({"inplace"})


class Hardsigmoid(Stateless):
    """input / 6 + 1/2, but at least 0 and at most 1."""

    function = functional.hardsigmoid
    fields = taking(inplace=False)
    unshown = frozenset({"inplace"})


# ---- without ----


class Sigmoid(Stateless):
    """1 / (1 + exp(-input))."""

    function = functional.sigmoid


class Tanh(Stateless):
    """The hyperbolic tangent."""

    function = functional.tanh


class LogSigmoid(Stateless):
    """log(sigmoid(input))."""

    function = functional.logsigmoid


class Softsign(Stateless):
    """input / (1 + |input|)."""

    function = functional.softsign


class Tanhshrink(Stateless):
    """input - tanh(input)."""

    function = functional.tanhshrink


class GELU(Stateless):
    """input times the part of a standard normal distribution below it."""

    function = functional.gelu
    fields = taking(approximate="none")


class GLU(Stateless):
    """The first half along dim times the sigmoid of the second."""

    function = functional.glu
    fields = taking(dim=-1)


class Softplus(Stateless):
    """log(1 + exp(beta * input)) / beta."""

    function = functional.softplus
    fields = taking(beta=1.0, threshold=20.0)


class _Shrink(Stateless):
    """What two layers with a bound, shown without its name, have in common."""

    fields = taking(lambd=0.5)

    def extra_repr(self) -> str:
        """The bound."""
        return str(self.lambd)


class Hardshrink(_Shrink):
    """input, and 0 where it is at most lambd away from 0."""

    function = functional.hardshrink


class Softshrink(_Shrink):
    """input moved by lambd towards 0, and 0 where it is nearer."""

    function = functional.softshrink


class _AlongDim(Stateless):
    """What the softmax layers have in common."""

    fields = taking(dim=None)

    def forward(self, input: Any) -> Any:
        """The function along dim."""
        return type(self).function(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        """The dimension."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(input), scaled to sum to 1 along dim."""

    function = functional.softmax


class LogSoftmax(_AlongDim):
    """The logarithm of softmax."""

    function = functional.log_softmax


class Softmin(_AlongDim):
    """softmax of -input."""

    function = functional.softmin


class Softmax2d(Stateless):
    """softmax over the channels of images."""

    def forward(self, input: Any) -> Any:
        """softmax(input) over the third dimension from the last."""
        if input.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D (got {input.ndim}D instead)"
            )
        return functional.softmax(input, -3)


class PReLU(Stateless):
    """input where it is positive, else times a weight that is learnt."""

    fields = taking(num_parameters=1, init=0.25, device=None, dtype=None)

    def adjusted(self, given: dict[str, Any]) -> dict[str, Any]:
        """The weight."""
        options = {name: given.pop(name) for name in ("device", "dtype")}
        self.weight = Parameter(empty(given["num_parameters"], **options))
        self.num_parameters, self.init = given["num_parameters"], given["init"]
        self.reset_parameters()
        return {}

    def reset_parameters(self) -> None:
        """Give the weight its starting value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """prelu(input)."""
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of weights."""
        return f"num_parameters={self.num_parameters}"
