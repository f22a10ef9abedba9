"""One step of recurrent networks: the gates, each kind in one op."""

from collections.abc import Sequence
from typing import Any

from adjoint.call.arguments import conj, holds_complex
from adjoint.call.half_precision import is_half
from adjoint.call.rule import FRONT
from adjoint.dtypes import float32
from adjoint.ops.annotations import Array, Value, Values
from adjoint.ops.arranging.conversion import to
from adjoint.ops.arranging.shape import cat, chunk
from adjoint.ops.elementwise.activation import relu, sigmoid
from adjoint.ops.elementwise.trigonometry import tanh
from adjoint.ops.neural.linear import linear
from adjoint.ops.op import composite, general
from adjoint.tensors.core import TensorCore


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


def _steep(x: Any) -> Any:
    """The derivative of sigmoid where it is x."""
    return x * (1 - x)


# ---- long short-term memory ----


def _lstm_parts(gates: Any, cell: Any) -> tuple[Any, ...]:
    """The gates open, what is new, and the next cell as it is seen."""
    first, forget, new, out = chunk(gates, 4, -1)
    first, forget, new, out = sigmoid(first), sigmoid(forget), tanh(new), sigmoid(out)
    return first, forget, new, out, tanh(forget * cell + first * new)


def _lstm_rule(grads: Values, gates: Any, cell: Any, hidden: Any, needs: Any) -> Values:
    """From what forward has kept; where it is recorded, from the gates again."""
    on_hidden, on_cell = grads
    if isinstance(on_hidden, TensorCore):
        hidden = _lstm_parts(gates, cell)
    if holds_complex(cell):
        cell, *hidden = conj(cell), *map(conj, hidden)
    first, forget, new, out, seen = hidden
    slope = on_cell + on_hidden * out * (1 - seen * seen)
    parts = [
        slope * new * _steep(first),
        slope * cell * _steep(forget),
        slope * first * (1 - new * new),
        on_hidden * seen * _steep(out),
    ]
    return cat(parts, -1) if needs[0] else None, slope * forget if needs[1] else None


def _lstm_tangent(
    gates: Any, cell: Any, hidden: Any, gates_tangent: Any, cell_tangent: Any
) -> tuple[Any, Any]:
    parts = _lstm_parts(gates, cell) if hidden is None else hidden
    first, forget, new, out, seen = parts
    on_cell = None if cell_tangent is None else forget * cell_tangent
    if gates_tangent is None:
        return out * (1 - seen * seen) * on_cell, on_cell
    on_first, on_forget, on_new, on_out = chunk(gates_tangent, 4, -1)
    moved = (
        _steep(first) * on_first * new
        + first * (1 - new * new) * on_new
        + _steep(forget) * on_forget * cell
    )
    on_cell = moved if on_cell is None else on_cell + moved
    return _steep(out) * on_out * seen + out * (1 - seen * seen) * on_cell, on_cell


@general(
    joint=("gates cell", _lstm_rule),
    returns="hidden cell",
    hides=True,
    wide=True,
    node_name="ThnnFusedLstmCellBackward0",
    batching=FRONT,
    home=None,
    jvp=_lstm_tangent,
)
def lstm_gates(xp: Any, gates: Array, cell: Array) -> tuple[Array, Array]:
    """The next hidden state and cell; gates are input, forget, new and output, side by side."""
    width = cell.shape[-1]
    first, forget, out = (_sigmoid(xp, gates[..., n * width : (n + 1) * width]) for n in (0, 1, 3))
    new = xp.tanh(gates[..., 2 * width : 3 * width])
    following = forget * cell + first * new
    seen = xp.tanh(following)
    return (out * seen, following), (first, forget, new, out, seen)


# ---- gated recurrent unit ----


def _gru_parts(from_input: Any, from_hidden: Any) -> tuple[Any, Any, Any]:
    """The gates open, and what is new."""
    first, more = chunk(from_input, 3, -1), chunk(from_hidden, 3, -1)
    reset, update = sigmoid(first[0] + more[0]), sigmoid(first[1] + more[1])
    return reset, update, tanh(first[2] + reset * more[2])


def _gru_rule(
    grad: Value, from_input: Any, from_hidden: Any, state: Any, hidden: Any, needs: Any
) -> Values:
    """From what forward has kept; where it is recorded, from the gates again."""
    recall = chunk(from_hidden, 3, -1)[2]
    if isinstance(grad, TensorCore):
        hidden = _gru_parts(from_input, from_hidden)
    if holds_complex(state):
        state, recall, *hidden = conj(state), conj(recall), *map(conj, hidden)
    reset, update, new = hidden
    on_new = grad * (1 - update) * (1 - new * new)
    on_reset = on_new * recall * _steep(reset)
    on_update = grad * (state - new) * _steep(update)
    return (
        cat([on_reset, on_update, on_new], -1) if needs[0] else None,
        cat([on_reset, on_update, on_new * reset], -1) if needs[1] else None,
        grad * update if needs[2] else None,
    )


def _gru_tangent(
    from_input: Any,
    from_hidden: Any,
    state: Any,
    from_input_tangent: Any,
    from_hidden_tangent: Any,
    state_tangent: Any,
    hidden: Any,
) -> Any:
    parts = _gru_parts(from_input, from_hidden) if hidden is None else hidden
    reset, update, new = parts
    total = None if state_tangent is None else update * state_tangent
    if from_input_tangent is None and from_hidden_tangent is None:
        return total
    pushed = from_input_tangent if from_hidden_tangent is None else from_hidden_tangent
    if from_input_tangent is not None and from_hidden_tangent is not None:
        pushed = from_input_tangent + from_hidden_tangent
    on_reset, on_update, _ = chunk(pushed, 3, -1)
    on_new = _steep(reset) * on_reset * chunk(from_hidden, 3, -1)[2]
    if from_input_tangent is not None:
        on_new = on_new + chunk(from_input_tangent, 3, -1)[2]
    if from_hidden_tangent is not None:
        on_new = on_new + reset * chunk(from_hidden_tangent, 3, -1)[2]
    moved = (1 - update) * (1 - new * new) * on_new + _steep(update) * on_update * (state - new)
    return moved if total is None else total + moved


@general(
    joint=("from_input from_hidden state", _gru_rule),
    hides=True,
    wide=True,
    node_name="ThnnFusedGruCellBackward0",
    batching=FRONT,
    home=None,
    jvp=_gru_tangent,
)
def gru_gates(xp: Any, from_input: Array, from_hidden: Array, state: Array) -> Any:
    """The next hidden state; gates are reset, update and new, side by side."""
    width = state.shape[-1]
    reset, update = (
        _sigmoid(xp, from_input[..., part] + from_hidden[..., part])
        for part in (slice(width), slice(width, 2 * width))
    )
    new = xp.tanh(from_input[..., 2 * width :] + reset * from_hidden[..., 2 * width :])
    return new + update * (state - new), (reset, update, new)


# ---- whole steps ----


def _rounded_once(step: Any, *args: Any) -> Any:
    """A step of 16-bit numbers, computed in float32."""
    kind = args[0].dtype
    found = step(*[_widened(each, kind) for each in args])
    return tuple(to(each, kind) for each in found) if isinstance(found, tuple) else to(found, kind)


def _widened(value: Any, kind: Any) -> Any:
    """Tensors of one type in float32; others are for the step to refuse."""
    if isinstance(value, (tuple, list)):
        return tuple(_widened(each, kind) for each in value)
    return to(value, float32) if value is not None and value.dtype is kind else value


def _is_half(input: Any, *others: Any) -> bool:
    """Whether all are of one 16-bit type."""
    return is_half(input.dtype.numpy_dtype) and all(
        other is None or other.dtype is input.dtype for other in others
    )


@composite(method=False)
def lstm_cell(
    input: Value,
    hx: Sequence[Value],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> tuple[Value, Value]:
    """The next hidden state and cell of a long short-term memory."""
    state, cell = hx
    if _is_half(input, state, cell, w_ih, w_hh, b_ih, b_hh):
        hidden, following = _rounded_once(lstm_cell, input, hx, w_ih, w_hh, b_ih, b_hh)
        return hidden, following
    found = lstm_gates(linear(input, w_ih, b_ih) + linear(state, w_hh, b_hh), cell)
    return found[0], found[1]


@composite(method=False)
def gru_cell(
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """The next hidden state of a gated recurrent unit."""
    if _is_half(input, hx, w_ih, w_hh, b_ih, b_hh):
        return _rounded_once(gru_cell, input, hx, w_ih, w_hh, b_ih, b_hh)
    return gru_gates(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)


@composite(method=False)
def rnn_tanh_cell(
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """The next hidden state of a plain recurrent network with tanh."""
    if _is_half(input, hx, w_ih, w_hh, b_ih, b_hh):
        return _rounded_once(rnn_tanh_cell, input, hx, w_ih, w_hh, b_ih, b_hh)
    return tanh(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


@composite(method=False)
def rnn_relu_cell(
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Value:
    """The next hidden state of a plain recurrent network with relu."""
    if _is_half(input, hx, w_ih, w_hh, b_ih, b_hh):
        return _rounded_once(rnn_relu_cell, input, hx, w_ih, w_hh, b_ih, b_hh)
    return relu(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))
