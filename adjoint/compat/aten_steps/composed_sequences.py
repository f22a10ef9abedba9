"""Layers of recurrent networks over whole sequences, composed as PyTorch does."""

import itertools
import math
from functools import partial
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
from adjoint.ops.arranging.shape import cat, narrow, reshape, stack, t, transpose, unbind
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


def _parts(layer: Any, weights: Any) -> list[Any]:
    """Both weights, both biases or None, and the projection if there is one."""
    w_ih, w_hh, *more = weights
    return [w_ih, w_hh, *([] if layer.bias else [None, None]), *more]


def _by_steps(layer: Any, input: Any, states: Any, weights: Any, back: bool) -> Any:
    w_ih, w_hh, b_ih, b_hh, *more = _parts(layer, weights)
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


def _by_one(
    layer: Any, input: Any, states: Any, weights: Any, back: bool, batch_first: bool
) -> Any:
    """In the one operation that PyTorch has of oneDNN."""
    w_ih, w_hh, *biases = weights
    if not biases:
        with asking() as ask:
            biases = [
                ask("zeros", list(w.shape), dtype=w.dtype, layout=strided, device=w.device)
                for w in (w_hh, w_ih)
            ][::-1]
    facts = (2, layer.hidden_size, layer.num_layers, layer.bias, layer.bidirectional)
    rest = (*facts, batch_first, layer.training)
    output, *last = _RNN_LAYER(input, w_ih, w_hh, *biases, *states, back, [], *rest)
    return output, last


def _in_turn(function: Any, *states: Any) -> list[Any]:
    """A function of all states of one kind, of cells before others as PyTorch has it."""
    return [function(parts) for parts in list(zip(*states, strict=True))[::-1]][::-1]


# ---- packed sequences ----


def _packed(sizes: list[int]) -> Any:
    """The same of steps of which each has as many rows as sequences go on."""

    def run(layer: Any, input: Any, states: Any, weights: Any, back: bool) -> Any:
        w_ih, w_hh, b_ih, b_hh, *more = _parts(layer, weights)
        rows = affine(input, w_ih, b_ih)
        starts = [0, *itertools.accumulate(sizes)]
        first, count = states, sizes[-1] if back else sizes[0]
        if back:
            states = _narrowed(first, 0, count)
        ended, outputs = [], []
        for size, start in list(zip(sizes, starts, strict=False))[:: -1 if back else 1]:
            if size > count:  # backwards, some begin here
                states = _in_turn(cat, states, _narrowed(first, count, size - count))
            step = narrow(rows, 0, start, size)
            if size < count:
                ended.append(_narrowed(states, size, count - size))
                states = _narrowed(states, 0, size)
            count = size
            states = _STEPS[layer.mode](step, states, w_hh, b_hh, *more)
            outputs.append(states[0])
        output = cat(outputs[:: -1 if back else 1])
        if not back:
            states = _in_turn(cat, states, *ended[::-1])
        return output, states

    return run


def _narrowed(states: Any, start: int, length: int) -> list[Any]:
    return _in_turn(lambda parts: narrow(parts[0], 0, start, length), states)


# ---- all layers ----


def along_sequences(layer: Any, input: Any, states: Any, sizes: Any, weights: Any) -> Any:
    """See nn.layers.recurrent; all are of one type, and there are steps."""
    kinds = {each.dtype for each in (input, *states, *[w for part in weights for w in part])}
    if kinds not in ({float32}, {float64}) or not math.prod(input.shape):
        return NotImplemented
    counts = None if sizes is None else sizes.tolist()
    if counts is not None and layer.mode != "LSTM":
        int(sizes[0])  # to which PyTorch compares the state
    is_fast = layer.mode == "LSTM" and not layer.proj_size and kinds == {float32}
    if is_fast and input.device.type == "cpu" and (counts is None or len({*counts}) == 1):
        return _in_one(layer, input, states, counts, weights)
    turned = layer.batch_first and counts is None
    input = transpose(input, 0, 1) if turned else input
    firsts = zip(*[unbind(each, 0) for each in states], strict=True)
    one, last_dim = (_by_steps, 2) if counts is None else (_packed(counts), -1)
    output, final = _layers(layer, input, zip(firsts, weights, strict=True), one, last_dim)
    if turned:
        output = transpose(output, 0, 1) if layer.mode == "LSTM" else output.transpose_(0, 1)
    return output, final


def _in_one(layer: Any, input: Any, states: Any, counts: Any, weights: Any) -> Any:
    """By the operation of oneDNN's; sequences may be packed, if they have one length."""
    turned = layer.batch_first and counts is None
    if counts is not None:
        input = reshape(input, (len(counts), counts[0], input.shape[-1]))
    input = contiguous(transpose(input, 0, 1) if turned else input)
    one = partial(_by_one, batch_first=turned)
    turns = zip(_selected(states, len(weights)), weights, strict=True)
    output, final = _layers(layer, input, turns, one, -1)
    if counts is not None:
        output = reshape(output, (sum(counts), output.shape[-1]))
    return transpose(output, 0, 1) if turned else output, final


def _layers(layer: Any, input: Any, turns: Any, one: Any, last_dim: int) -> Any:
    """One layer after the other; turns are the first states and weights of each direction."""
    ended = []
    for number in range(layer.num_layers):
        found = []
        for back in (False, True)[: 1 + layer.bidirectional]:
            output, last = one(layer, input, *next(turns), back)
            found.append(output)
            ended.append(last)
        input = cat(found, last_dim) if layer.bidirectional else output
        if layer.dropout and layer.training and number < layer.num_layers - 1:
            input = dropout(input, layer.dropout, True)
    return input, tuple(_in_turn(stack, *ended))


def _selected(states: Any, count: int) -> Any:
    """The first states of each direction of each layer, taken when they are needed."""
    return ([each[place] for each in states] for place in range(count))
