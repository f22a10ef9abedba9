"""Layers of recurrent networks that PyTorch leaves to oneDNN, as torch.ops.aten has them."""

from typing import Any, Final

from adjoint.autograd.entry_points import grad as gradient_of
from adjoint.autograd.grad_mode import recording
from adjoint.call.context import is_recording
from adjoint.dtypes import uint8
from adjoint.ops.arranging.shape import reshape, stack, unbind
from adjoint.ops.neural.linear import linear
from adjoint.ops.neural.recurrent import lstm_gates

_LSTM: Final = 2  # the number of the kind of network


def _along(inputs: Any, has_biases: bool, reverse: bool) -> tuple[Any, Any, Any]:
    """The outputs, and the last state and cell, of one direction of a layer."""
    input, w_ih, w_hh, b_ih, b_hh, first_state, first_cell = inputs
    entering = linear(input, w_ih, b_ih if has_biases else None)
    steps = unbind(entering, 0)
    rows = tuple(first_state.shape[-2:])
    state, cell = reshape(first_state, rows), reshape(first_cell, rows)
    outputs = []
    for step in reversed(steps) if reverse else steps:
        state, cell = lstm_gates(step + linear(state, w_hh, b_hh if has_biases else None), cell)
        outputs.append(state)
    made = stack(outputs[::-1] if reverse else outputs)
    shape = tuple(first_state.shape)
    return made, reshape(state, shape), reshape(cell, shape)


def _check(name: str, mode: int, batch_sizes: Any) -> None:
    if mode != _LSTM:
        raise RuntimeError(f"{name}(): only the LSTM is run, whose mode is {_LSTM}, got {mode}")
    if batch_sizes:
        raise RuntimeError(f"{name}(): sequences have one length, got batch_sizes {batch_sizes}")


def mkldnn_rnn_layer(
    input: Any,
    weight0: Any,
    weight1: Any,
    weight2: Any,
    weight3: Any,
    hx_: Any,
    cx_: Any,
    reverse: bool,
    batch_sizes: Any,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    bidirectional: bool,
    batch_first: bool,
    train: bool,
) -> tuple[Any, Any, Any, Any]:
    """The outputs, last state and cell of one direction of an LSTM, and memory not needed here."""
    _check("mkldnn_rnn_layer", mode, batch_sizes)
    inputs = (input, weight0, weight1, weight2, weight3, hx_, cx_)
    return *_along(inputs, has_biases, reverse), input.new_zeros((0,), dtype=uint8)


def mkldnn_rnn_layer_backward(
    input: Any,
    weight1: Any,
    weight2: Any,
    weight3: Any,
    weight4: Any,
    hx_: Any,
    cx_tmp: Any,
    output: Any,
    hy_: Any,
    cy_: Any,
    grad_output: Any,
    grad_hy: Any,
    grad_cy: Any,
    reverse: bool,
    mode: int,
    hidden_size: int,
    num_layers: int,
    has_biases: bool,
    train: bool,
    bidirectional: bool,
    batch_sizes: Any,
    batch_first: bool,
    workspace: Any,
) -> tuple[Any, ...]:
    """The gradients by input, weights, biases, first state and cell, from those of the results."""
    _check("mkldnn_rnn_layer_backward", mode, batch_sizes)
    given = [input, weight1, weight2, weight3, weight4, hx_, cx_tmp]
    recorded = is_recording()
    if not has_biases:  # what is given in their place is not looked at
        given[3:5] = [weight1.new_zeros((weight1.shape[0],)) for _ in range(2)]
    with recording():
        alone = [
            each.view_as(each) if recorded and each.requires_grad else each.detach()
            for each in given
        ]
        for each in alone:
            each.requires_grad_()
        results = _along(alone, True, reverse)
    pairs = zip(results, (grad_output, grad_hy, grad_cy), strict=True)
    known = [(result, grad) for result, grad in pairs if grad is not None]
    if not known:
        return (None,) * len(alone)
    roots, starts = zip(*known, strict=True)
    return tuple(gradient_of(roots, alone, starts, create_graph=recorded))


RECURRENT: Final = (mkldnn_rnn_layer, mkldnn_rnn_layer_backward)
