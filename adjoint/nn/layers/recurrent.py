"""Recurrent networks: cells, and layers that run cells along sequences in one or two directions."""

import math
import warnings
from numbers import Real
from typing import Any, ClassVar

from adjoint.call.context import current
from adjoint.call.overriding import answered_elsewhere, offered
from adjoint.creation.factories import empty, zeros
from adjoint.nn import init
from adjoint.nn.functional import dropout
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.nn.utils.rnn import PackedSequence
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import cat, narrow, reshape, stack, unbind, unsqueeze
from adjoint.ops.elementwise.activation import relu
from adjoint.ops.elementwise.trigonometry import tanh
from adjoint.ops.neural.linear import linear
from adjoint.ops.neural.recurrent import (
    gru_cell,
    gru_gates,
    lstm_cell,
    lstm_gates,
    rnn_relu_cell,
    rnn_tanh_cell,
)
from adjoint.tensors.upper import upper

# ---- what a step does: (projected input, states, recurrent weight and bias) → states ----

States = tuple[Any, ...]


def _plain(function: Any) -> Any:
    def step(projected: Any, states: States, weight: Any, bias: Any) -> States:
        return (function(projected + linear(states[0], weight, bias)),)

    return step


def _gru(projected: Any, states: States, weight: Any, bias: Any) -> States:
    return (gru_gates(projected, linear(states[0], weight, bias), states[0]),)


def _lstm(projected: Any, states: States, weight: Any, bias: Any) -> States:
    found = lstm_gates(projected + linear(states[0], weight, bias), states[1])
    return found[0], found[1]


_STEPS = {"RNN_TANH": _plain(tanh), "RNN_RELU": _plain(relu), "GRU": _gru, "LSTM": _lstm}
_GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}


def _casters() -> list[Any]:
    """Who casts arguments here: autocast, if it is on."""
    watchers = current().watchers
    return [each for each in watchers if hasattr(each, "cast_all") and each.enabled]


def _run(step: Any, steps: list[Any], states: States, weights: dict[str, Any], back: bool) -> Any:
    """The outputs of all steps, and the last states.

    Steps may have ever fewer rows, those of sequences that have not ended.
    """
    outputs: list[Any] = [None] * len(steps)
    finished: list[States] = []
    first = states
    count = steps[-1 if back else 0].shape[0]
    states = tuple(narrow(state, 0, 0, count) for state in states) if back else states
    for place in reversed(range(len(steps))) if back else range(len(steps)):
        rows = steps[place].shape[0]
        if rows < count:  # some sequences have ended before this step
            finished.append(tuple(narrow(s, 0, rows, count - rows) for s in states))
            states = tuple(narrow(s, 0, 0, rows) for s in states)
        elif rows > count:  # backwards, some begin with it
            more = (narrow(s, 0, count, rows - count) for s in first)
            states = tuple(cat([s, new]) for s, new in zip(states, more))
        count = rows
        states = step(steps[place], states, weights["weight_hh"], weights.get("bias_hh"))
        if "weight_hr" in weights:
            states = (linear(states[0], weights["weight_hr"]), *states[1:])
        outputs[place] = states[0]
    for ended in reversed(finished):
        states = tuple(cat([s, e]) for s, e in zip(states, ended))
    return outputs, states


def along_sequences(layer: "RNNBase", input: Any, states: States, sizes: Any = None) -> Any:
    """Outputs and last states from others, or in steps that they see; else NotImplemented.

    The input is packed if there are sizes, those of its steps.
    """
    weights = [weight for weights in layer.all_weights for weight in weights]
    if upper.recurrent is not None and answered_elsewhere((input, *states, weights), {}):
        args = [input, states if layer.mode == "LSTM" else states[0], weights]
        args += [layer.bias, layer.num_layers, float(layer.dropout), layer.training]
        args += [layer.bidirectional, layer.batch_first]
        if sizes is not None:
            args = [input, sizes, *args[1:-1]]
        found = offered(upper.recurrent(layer.mode.lower()), tuple(args), {})
        return found[0], tuple(found[1:])
    if upper.composed is None:
        return NotImplemented
    given = (layer, input, states, sizes, layer.all_weights)
    return upper.composed(along_sequences, given, {})


# ---- layers ----


class RNNBase(Module):
    """Layers of cells, run along sequences in one or two directions."""

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = dropout
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check()
        for layer in range(num_layers):
            for direction in self._directions():
                for name, shape in self._shapes(layer).items():
                    made = Parameter(empty(shape, device=device, dtype=dtype))
                    self.register_parameter(f"{name}_l{layer}{direction}", made)
        self.reset_parameters()

    def _check(self) -> None:
        for name in ("input_size", "hidden_size", "num_layers"):
            value = getattr(self, name)
            # PyTorch wants Python's own for the first two; range() takes others for the third.
            if not (hasattr(value, "__index__") if name == "num_layers" else type(value) is int):
                raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero, got {value}")
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {getattr(self, name)!r}")
        rate = self.dropout
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 <= rate <= 1:
            raise ValueError(f"dropout should be a number in range [0, 1], got {rate!r}")
        if rate and self.num_layers == 1:
            warnings.warn(
                f"dropout={rate} has no effect: it comes between layers, and num_layers is 1",
                stacklevel=4,
            )
        if not 0 <= self.proj_size < self.hidden_size:
            raise ValueError(
                f"proj_size has to be smaller than hidden_size, {self.hidden_size}, and not "
                f"negative, got {self.proj_size}"
            )
        if self.proj_size and self.mode != "LSTM":
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")

    def _directions(self) -> tuple[str, ...]:
        return ("", "_reverse") if self.bidirectional else ("",)

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The parameters of one direction of a layer."""
        gates = _GATES[self.mode] * self.hidden_size
        width = self.proj_size or self.hidden_size
        inputs = width * len(self._directions()) if layer else self.input_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, inputs),
            "weight_hh": (gates, width),
        }
        if self.bias:
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly, within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each direction of each layer."""
        return [
            [getattr(self, f"{name}_l{layer}{direction}") for name in self._shapes(layer)]
            for layer in range(self.num_layers)
            for direction in self._directions()
        ]

    def flatten_parameters(self) -> None:
        """Nothing: parameters need no common memory here."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of the last layer at each step, and the last states of all layers."""
        packed = isinstance(input, PackedSequence)
        data = input.data if packed else input
        self._check_input(data, packed)
        if packed:
            return self._forward_packed(input, hx)
        single = data.ndim == 2
        batch = 0 if self.batch_first else 1
        data = unsqueeze(data, batch) if single else data
        states = self._first_states(hx, data.shape[batch], single, None, data)
        data, states = self._cast(data, states)
        found = along_sequences(self, data, states)
        if found is NotImplemented:
            outputs, last = self._layers(unbind(data, 1 - batch), states)
            found = stack(outputs, 1 - batch), last
        made, last = found
        if single:
            made = made.squeeze(batch)
            last = tuple(state.squeeze(1) for state in last)
        return made, last if self.mode == "LSTM" else last[0]

    def _forward_packed(self, input: PackedSequence, hx: Any) -> Any:
        """The same of sequences of several lengths."""
        sizes, first = input.batch_sizes.tolist(), input.batch_sizes[0]
        rows = first if hx is None and current().modes else sizes[0]
        states = self._first_states(hx, rows, False, input.sorted_indices, input.data)
        data, states = self._cast(input.data, states)
        found = along_sequences(self, data, states, input.batch_sizes)
        if found is NotImplemented:
            outputs, last = self._layers(list(data.split(sizes)), states)
            found = cat(outputs), last
        output, last = found
        back = input.unsorted_indices
        if back is not None:
            last = tuple(index_select(state, 1, back) for state in last)
        made = PackedSequence(output, *input[1:])
        return made, last if self.mode == "LSTM" else last[0]

    def _check_input(self, data: Any, packed: bool) -> None:
        if data.ndim not in ((2,) if packed else (2, 3)):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {data.ndim}D instead"
            )
        if data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {data.shape[-1]}"
            )
        kind = self.weight_ih_l0.dtype
        if data.dtype is not kind and not _casters():
            raise ValueError(
                f"{type(self).__name__}: input dtype ({data.dtype}) does not match weight dtype "
                f"({kind}); convert one with .to()"
            )

    def _cast(self, data: Any, states: States) -> tuple[Any, States]:
        """What autocast makes of the arguments: a cell of an LSTM is narrow as a whole."""
        for caster in _casters() if self.mode == "LSTM" else ():
            (data, states), _ = caster.cast_all("narrow", (data, states), {})
        return data, states

    def _widths(self) -> tuple[int, ...]:
        """The sizes of the states of a cell."""
        width = self.proj_size or self.hidden_size
        return (width, self.hidden_size) if self.mode == "LSTM" else (width,)

    def _first_states(self, hx: Any, rows: Any, single: bool, order: Any, like: Any) -> States:
        """The states before the first step: (layers * directions, batch, width) each."""
        count = self.num_layers * len(self._directions())
        if hx is None and current().modes:  # which see PyTorch's steps
            options = {"dtype": like.dtype, "device": like.device}
            return tuple(zeros((count, int(rows), width), **options) for width in self._widths())
        shapes = [(count, rows, width) for width in self._widths()]
        if hx is None:
            return tuple(like.new_zeros(shape) for shape in shapes)
        given = tuple(hx) if self.mode == "LSTM" else (hx,)
        if single:
            given = tuple(unsqueeze(state, 1) for state in given)
        for state, shape in zip(given, shapes):
            if tuple(state.shape) != shape:
                raise RuntimeError(
                    f"{type(self).__name__}: Expected hidden size {shape}, got {list(state.shape)}"
                )
        return given if order is None else tuple(index_select(s, 1, order) for s in given)

    def _layers(self, steps: Any, states: States) -> tuple[list[Any], States]:
        """All layers, one after the other."""
        last: list[States] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                steps = [dropout(step, self.dropout, True) for step in steps]
            found = []
            for number, direction in enumerate(self._directions()):
                weights = {
                    name: getattr(self, f"{name}_l{layer}{direction}")
                    for name in self._shapes(layer)
                }
                projected = self._projected(steps, weights)
                place = layer * len(self._directions()) + number
                first = tuple(state[place] for state in states)
                outputs, ended = _run(_STEPS[self.mode], projected, first, weights, bool(direction))
                found.append(outputs)
                last.append(ended)
            steps = [cat(parts, -1) for parts in zip(*found)] if len(found) > 1 else found[0]
        return list(steps), tuple(stack(parts) for parts in zip(*last))

    def _projected(self, steps: Any, weights: dict[str, Any]) -> list[Any]:
        """What the inputs of all steps contribute, in one product."""
        sizes = [step.shape[0] for step in steps]
        rows = linear(cat(list(steps)), weights["weight_ih"], weights.get("bias_ih"))
        if len(set(sizes)) == 1:
            return list(unbind(reshape(rows, (len(sizes), sizes[0], rows.shape[-1])), 0))
        return list(rows.split(sizes))

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != usual:
                parts.append(f"{name}={value}")
        return ", ".join(parts)


class RNN(RNNBase):
    """A plain recurrent network."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity {nonlinearity!r}. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("GRU", *args, **kwargs)


# ---- cells ----


class RNNCellBase(Module):
    """The parameters of one step."""

    gates: ClassVar[int]
    states: ClassVar[int] = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name in ("weight_ih", "weight_hh"):
            self.register_parameter(
                name, Parameter(empty(shapes[name], device=device, dtype=dtype))
            )
        for name in ("bias_ih", "bias_hh"):
            made = Parameter(empty(rows, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly, within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _stepped(self, function: Any, input: Any, hx: Any) -> Any:
        """One step, for a batch or a single input."""
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        single = input.ndim == 1
        several = self.states > 1
        batch = unsqueeze(input, 0) if single else input
        if hx is None:
            zeros = batch.new_zeros((batch.shape[0], self.hidden_size))
            given: Any = (zeros,) * self.states
        else:
            given = tuple(hx) if several else (hx,)
            for state in given:
                if state.ndim not in (1, 2):
                    raise ValueError(
                        f"{type(self).__name__}: Expected a hidden state to be 1D or 2D, got "
                        f"{state.ndim}D instead"
                    )
            given = tuple(unsqueeze(state, 0) for state in given) if single else given
        self._check_sizes(batch, given)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        found = function(batch, given if several else given[0], *weights)
        if single:
            found = tuple(s.squeeze(0) for s in found) if several else found.squeeze(0)
        return found

    def _check_sizes(self, batch: Any, states: Any) -> None:
        """Refuse what would be broadcast."""
        name = type(self).__name__
        if batch.shape[1] != self.input_size:
            raise RuntimeError(
                f"{name}: input has inconsistent input_size: got {batch.shape[1]}, expected "
                f"{self.input_size}"
            )
        wanted = (batch.shape[0], self.hidden_size)
        for state in states:
            if tuple(state.shape) != wanted:
                raise RuntimeError(
                    f"{name}: a hidden state of shape {wanted} is expected, got "
                    f"{tuple(state.shape)}"
                )

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of a plain recurrent network."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state."""
        cells = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}
        if self.nonlinearity not in cells:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._stepped(cells[self.nonlinearity], input, hx)


class _GatedCell(RNNCellBase):
    """A cell whose gates are a fixed number."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, self.gates, device, dtype)


class LSTMCell(_GatedCell):
    """One step of long short-term memory."""

    gates = 4
    states = 2

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state and cell."""
        return self._stepped(lstm_cell, input, hx)


class GRUCell(_GatedCell):
    """One step of a gated recurrent unit."""

    gates = 3

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next hidden state."""
        return self._stepped(gru_cell, input, hx)
