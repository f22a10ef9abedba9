"""Recurrent layers over whole sequences, of which modes see every step as PyTorch makes it."""

import math
from typing import Any

_BOTH = {"num_layers": 2, "bidirectional": True}
# The options of each kind of layer, and besides: "shape" of the input, "states" if some are given,
# "lengths" if it is packed, "eval", and "double".
_WAYS: dict[str, dict[str, Any]] = {
    "": {},
    " in evaluation": {"eval": True},
    " of a batch": {"shape": (1, 2, 3)},
    " of one sequence": {"shape": (2, 3)},
    " of one sequence, its states given": {"shape": (2, 3), "states": (1, 2)},
    " of two layers": {"num_layers": 2},
    " in both directions": {"bidirectional": True},
    " of two layers in both directions": _BOTH,
    ", the batch first": {"batch_first": True},
    ", a batch of one first": {"batch_first": True, "shape": (1, 2, 3)},
    " of everything, the batch first": {**_BOTH, "batch_first": True, "shape": (1, 2, 3)},
    " without biases": {"bias": False},
    " of everything without biases": {**_BOTH, "bias": False, "batch_first": True},
    ", states given": {"states": (1, 1, 2)},
    " of two layers, states given": {"num_layers": 2, "states": (2, 1, 2)},
    " in float64": {"double": True},
    " of everything in float64": {**_BOTH, "batch_first": True, "double": True},
    " of packed sequences": {"lengths": [4, 2, 1]},
    " of packed sequences, states given": {"lengths": [1, 4, 2], "states": (1, 3, 2)},
    " of everything packed": {**_BOTH, "lengths": [1, 4, 2], "batch_first": True, "dropout": 0.5},
    " of packed sequences of one length": {**_BOTH, "lengths": [2, 2], "bias": False},
    " of packed sequences in float64": {"lengths": [4, 2, 1], "double": True},
    " with dropout": {"num_layers": 2, "dropout": 0.3},
    " of everything with dropout": {**_BOTH, "dropout": 0.5, "batch_first": True},
}
LAYERS: dict[str, dict[str, Any]] = {
    f"{kind}{name}": {"kind": kind, **way}
    for kind in ("RNN", "GRU", "LSTM")
    for name, way in _WAYS.items()
}
LAYERS["RNN with relu"] = {"kind": "RNN", "nonlinearity": "relu", "num_layers": 2}
LAYERS["LSTM with a projection"] = {"kind": "LSTM", "proj_size": 1}
LAYERS["LSTM of everything with a projection"] = {"kind": "LSTM", "proj_size": 1, **_BOTH}
LAYERS["LSTM of everything packed, with a projection"] = {
    "kind": "LSTM",
    "proj_size": 1,
    "lengths": [1, 4, 2],
    **_BOTH,
}


class Sequences:
    """A layer of one of the libraries, whose weights are the same in both."""

    def __init__(self, library: Any, name: str) -> None:
        self.library = library
        options = dict(LAYERS[name])
        self.shape = options.pop("shape", (2, 1, 3))
        self.states = options.pop("states", None)
        self.lengths = options.pop("lengths", None)
        self.double = options.pop("double", False)
        kind, evaluated = options.pop("kind"), options.pop("eval", False)
        options["dtype"] = library.float64 if self.double else library.float32
        self.layer = getattr(library.nn, kind)(3, 2, **options)
        self.layer.train(not evaluated)
        for number, weight in enumerate(self.layer.parameters()):
            numbers = library.linspace(-0.5, 0.4 + 0.02 * number, weight.numel())
            weight.data.copy_(numbers.reshape(weight.shape))

    def _input(self, x: Any) -> Any:
        if self.lengths is None:
            return x.view(self.shape)
        rows = sum(self.lengths)
        sizes = [sum(length > n for length in self.lengths) for n in range(max(self.lengths))]
        order = sorted(range(len(self.lengths)), key=lambda place: -self.lengths[place])
        back = sorted(order, key=order.__getitem__)
        return self.library.nn.utils.rnn.PackedSequence(
            x.repeat(rows, 1)[:rows], *[self.library.tensor(each) for each in (sizes, order, back)]
        )

    def __call__(self, x: Any, y: Any) -> Any:
        """A loss of all results; the input is of x, the states are of y."""
        if self.double:  # the conversion's gradient is not meant
            x, y = x.detach().double(), y.detach().double()
        first: Any = None
        if self.states is not None:
            first = y.flatten()[: math.prod(self.states)].view(self.states)
            first = (first, first * 2) if isinstance(self.layer, self.library.nn.LSTM) else first
        output, last = self.layer(self._input(x), first)
        output = output if self.lengths is None else output.data
        last = last if isinstance(last, tuple) else (last,)
        ends = [(state**power).sum() for power, state in enumerate(last, 2)]
        return sum(ends, (output * output.detach().cos()).sum())
