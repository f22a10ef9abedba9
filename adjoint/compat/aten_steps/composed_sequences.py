"""Layers of recurrent networks over whole sequences, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.composed_cells import (
    affine,
    gru_following,
    lstm_following,
    rnn_following,
)
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import float32, float64
from adjoint.nn.functional import dropout
from adjoint.ops.arranging.conversion import contiguous, strided
from adjoint.ops.arranging.shape import cat, reshape, stack, t, transpose, unbind
from adjoint.ops.elementwise.activation import relu
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.elementwise.trigonometry import tanh
from adjoint.ops.matrices.matmul import matmul

# ---- one direction of a layer: its outputs, and its last states ----


def _lstm(from_input: Any, states: Any, w_hh: Any, b_hh: Any, projection: Any = None) -> Any:
    state, cell = lstm_following(from_input, affine(states[0], w_hh, b_hh), states[1])
    return (state if projection is None else affine(state, projection, None)), cell


def _gru(from_input: Any, states: Any, w_hh: Any, b_hh: Any) -> Any:
    return (gru_following(from_input, states[0], w_hh, b_hh),)


def _rnn(activation: Any) -> Any:
    def step(from_input: Any, states: Any, w_hh: Any, b_hh: Any) -> Any:
        return (rnn_following(activation, from_input, affine(states[0], w_hh, b_hh)),)

    return step


_STEPS: Final = {"LSTM": _lstm, "GRU": _gru, "RNN_TANH": _rnn(tanh), "RNN_RELU": _rnn(relu)}


def _projected(input: Any, weight: Any, bias: Any) -> Any:
    """What the inputs of all steps contribute."""
    if bias is None:
        return matmul(input, t(weight))
    if not input.is_contiguous():
        return add(matmul(input, t(weight)), bias)
    steps, count, width = input.shape
    rows = affine(reshape(input, (steps * count, width)), weight, bias)
    return reshape(rows, (steps, count, weight.shape[0]))


def _by_steps(layer: Any, input: Any, states: Any, weights: Any, back: bool) -> Any:
    w_ih, w_hh, *more = weights
    b_ih, b_hh = (more.pop(0), more.pop(0)) if layer.bias else (None, None)
    steps = unbind(_projected(input, w_ih, b_ih), 0)
    outputs = []
    for step in reversed(steps) if back else steps:
        states = _STEPS[layer.mode](step, states, w_hh, b_hh, *more)
        outputs.append(states[0])
    return stack(outputs[::-1] if back else outputs), states


def _of_rnn_layer(ask: Any, wanted: Any, args: Any, results: Any, *grads: Any) -> Any:
    reverse, batch_sizes, mode, hidden, layers, biases, two, batch_first, train = args[7:]
    facts = (reverse, mode, hidden, layers, biases, train, two, batch_sizes, batch_first)
    return ask("mkldnn_rnn_layer_backward", *args[:7], *results[:3], *grads, *facts, results[3])


_RNN_LAYER: Final = Operation(
    "mkldnn_rnn_layer", (0, 1, 2, 3, 4, 5, 6), _of_rnn_layer, outputs=(0, 1, 2)
)


def _by_one(layer: Any, input: Any, states: Any, weights: Any, back: bool) -> Any:
    """In the one operation that PyTorch has of oneDNN."""
    w_ih, w_hh, *biases = weights
    if not biases:
        with asking() as ask:
            biases = [
                ask("zeros", list(w.shape), dtype=w.dtype, layout=strided, device=w.device)
                for w in (w_hh, w_ih)
            ][::-1]
    facts = (2, layer.hidden_size, layer.num_layers, layer.bias, layer.bidirectional)
    rest = (*facts, layer.batch_first, layer.training)
    output, *last = _RNN_LAYER(input, w_ih, w_hh, *biases, *states, back, [], *rest)
    return output, last


# ---- all layers ----


def along_sequences(layer: Any, input: Any, states: Any, weights: Any) -> Any:
    """See nn.layers.recurrent; all are of one type, and there are steps."""
    kinds = {each.dtype for each in (input, *states, *[w for part in weights for w in part])}
    if kinds not in ({float32}, {float64}) or not math.prod(input.shape):
        return NotImplemented
    in_one = layer.mode == "LSTM" and not layer.proj_size
    in_one = in_one and kinds == {float32} and input.device.type == "cpu"
    if layer.batch_first:
        input = transpose(input, 0, 1)
    if in_one:
        input = contiguous(input)
        firsts = _selected(states, len(weights))
    else:
        firsts = zip(*[unbind(each, 0) for each in states], strict=True)
    one = _by_one if in_one else _by_steps
    turns = zip(firsts, weights, strict=True)
    ended = []
    for number in range(layer.num_layers):
        found = []
        for back in (False, True)[: 1 + layer.bidirectional]:
            first, given = next(turns)
            output, last = one(layer, input, first, given, back)
            found.append(output)
            ended.append(last)
        input = cat(found, -1 if in_one else 2) if layer.bidirectional else output
        if layer.dropout and layer.training and number < layer.num_layers - 1:
            input = dropout(input, layer.dropout, True)
    # PyTorch stacks cells before states
    final = tuple(stack(parts) for parts in list(zip(*ended, strict=True))[::-1])[::-1]
    if not layer.batch_first:
        return input, final
    return transpose(input, 0, 1) if layer.mode == "LSTM" else input.transpose_(0, 1), final


def _selected(states: Any, count: int) -> Any:
    """The first states of each direction of each layer, taken when they are needed."""
    return ([each[place] for each in states] for place in range(count))
