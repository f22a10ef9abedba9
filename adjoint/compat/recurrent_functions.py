"""Recurrent layers whose weights are given, as torch and torch._VF have them."""

from typing import Any

from adjoint.func.stateless import functional_call
from adjoint.nn.layers.recurrent import RNNBase
from adjoint.nn.utils.rnn import PackedSequence


def _recurrent(name: str, mode: str) -> Any:
    """A function that runs layers along sequences of one length, or packed ones."""

    def function(*args: Any) -> Any:
        if len(args) != 9:
            raise TypeError(
                f"{name}() takes (input, hx, params, has_biases, num_layers, dropout, train, "
                "bidirectional, batch_first), or (data, batch_sizes, hx, params, has_biases, "
                f"num_layers, dropout, train, bidirectional); got {len(args)} arguments"
            )
        packed = isinstance(args[3], (list, tuple))
        if packed:
            data, sizes, hx, params, *rest, batch_first = *args, False
        else:
            data, hx, params, *rest, batch_first = args
        biased, layers, rate, train, both = rest
        layer = _layer_of(mode, params, (layers, biased, batch_first, rate, both))
        layer.train(train)
        given = dict(zip([each for each, _ in layer.named_parameters()], params, strict=True))
        input = PackedSequence(data, sizes) if packed else data
        found, last = functional_call(layer, given, (input, tuple(hx) if mode == "LSTM" else hx))
        return (found.data if packed else found), *(last if mode == "LSTM" else (last,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The outputs and last states of layers of a network of the kind {mode}."
    return function


def _layer_of(mode: str, params: Any, options: tuple[Any, Any, Any, Any, Any]) -> RNNBase:
    """The layers that such weights are of, without weights of their own."""
    width = params[0].shape[-1]
    hidden = params[0].shape[0] // {"LSTM": 4, "GRU": 3}.get(mode, 1)
    out = params[1].shape[-1]
    projected = out if out != hidden else 0
    return RNNBase(mode, width, hidden, *options, proj_size=projected, device="meta")


lstm = _recurrent("lstm", "LSTM")
gru = _recurrent("gru", "GRU")
rnn_tanh = _recurrent("rnn_tanh", "RNN_TANH")
rnn_relu = _recurrent("rnn_relu", "RNN_RELU")
