"""Dropout and cells of recurrent networks, composed as PyTorch does."""

import math
from typing import Any, Final

from adjoint.compat.aten_steps.answering import asking
from adjoint.compat.aten_steps.recorded import Operation
from adjoint.dtypes import FLOAT, category_of
from adjoint.ops.arranging.conversion import contiguous_format
from adjoint.ops.arranging.shape import t
from adjoint.ops.elementwise.activation import relu, sigmoid
from adjoint.ops.elementwise.arithmetic import add, mul, sub
from adjoint.ops.elementwise.trigonometry import tanh
from adjoint.ops.matrices.added_products import addmm
from adjoint.ops.matrices.matmul import mm
from adjoint.ops.sampling.random import drawn_as_mask
from adjoint.tensors.changes import apply_inplace

# ---- dropout ----

_FLOOR: Final = -1.7580993408473766  # see ops/neural/dropout.py


def _is_drawn(input: Any, p: float, train: bool) -> bool:
    """Whether there is chance in it; the rest is said, or refused, elsewhere."""
    floats = category_of(input.dtype) >= FLOAT
    return bool(train and 0 < p < 1 and floats and math.prod(input.shape))


def _mask(ask: Any, input: Any, p: float, channels: bool) -> Any:
    """1 where an element, or a channel, is kept, else 0; a seed gives what it gives elsewhere."""
    if channels:
        sizes = [*input.shape[:2], *[1] * (input.ndim - 2)]
        mask = ask("new_empty", input, sizes)
    else:
        mask = ask("empty_like", input)
    with drawn_as_mask(p):
        return ask("bernoulli_.float", mask, *[] if p == 0.5 else [1 - p])


def _factor(input: Any, p: float, channels: bool) -> Any:
    with asking() as ask:
        return ask("div_.Scalar", _mask(ask, input, p, channels), 1 - p)


def _dropout(input: Any, p: float = 0.5, train: bool = True) -> Any:
    if not _is_drawn(input, p, train):
        return NotImplemented
    return mul(input, _factor(input, p, False))


def _dropout_in_place(input: Any, p: float = 0.5, train: bool = True) -> Any:
    if not _is_drawn(input, p, train):
        return NotImplemented
    return apply_inplace(mul, [input, _factor(input, p, False)])


def _feature_dropout(input: Any, p: float = 0.5, train: bool = False) -> Any:
    if not _is_drawn(input, p, train) or input.ndim < 2:
        return NotImplemented
    return mul(input, _factor(input, p, True))


def _keeping_variance(input: Any, p: float, train: bool, channels: bool) -> Any:
    if not _is_drawn(input, p, train) or (channels and input.ndim < 2):
        return NotImplemented
    stretch = 1 / math.sqrt((_FLOOR * _FLOOR * p + 1) * (1 - p))
    with asking() as ask:
        mask = _mask(ask, input, p, channels)
        shift = ask("add.Scalar", mask, -1)
        shift = ask("mul_.Scalar", shift, -_FLOOR * stretch)
        shift = ask("add_.Scalar", shift, -_FLOOR * stretch * p)
        mask = ask("mul_.Scalar", mask, stretch)
    return apply_inplace(add, [mul(input, mask), shift, 1])


def _alpha_dropout(input: Any, p: float = 0.5, train: bool = False) -> Any:
    return _keeping_variance(input, p, train, False)


def _feature_alpha_dropout(input: Any, p: float = 0.5, train: bool = False) -> Any:
    return _keeping_variance(input, p, train, True)


# ---- slopes by chance ----


def _by_noise(ask: Any, wanted: Any, args: Any, results: Any, grad: Any, **named: Any) -> Any:
    return (ask("rrelu_with_noise_backward", grad, *args, False),)


_NOISY: Final = Operation("rrelu_with_noise", (0,), _by_noise)


def _rrelu(
    input: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    if category_of(input.dtype) != FLOAT or not lower <= upper < math.inf:
        return NotImplemented
    with asking() as ask:
        noise = ask("empty_like", input, memory_format=contiguous_format)
    named = {} if generator is None else {"generator": generator}
    return _NOISY(input, noise, lower, upper, training, **named)


# ---- cells ----


def _is_wide(*tensors: Any) -> bool:
    """Whether all are of one type, and of two dimensions or one."""
    given = [each for each in tensors if each is not None]
    return len({each.dtype for each in given}) == 1 and given[0].ndim == 2


def _changed(op: Any, target: Any, *more: Any) -> Any:
    return apply_inplace(op, [target, *more, *op.defaults[1 + len(more) :]])


def affine(rows: Any, weight: Any, bias: Any) -> Any:
    """A linear layer of a matrix, whose weight is turned over in a node of its own."""
    turned = t(weight)
    return mm(rows, turned) if bias is None else addmm(bias, rows, turned)


def lstm_following(from_input: Any, from_state: Any, cell: Any) -> tuple[Any, Any]:
    """The next state and cell, of what input and state contribute to the gates."""
    gates = _changed(add, from_state, from_input).unsafe_chunk(4, 1)
    entering, kept = _changed(sigmoid, gates[0]), _changed(sigmoid, gates[1])
    new, shown = _changed(tanh, gates[2]), _changed(sigmoid, gates[3])
    following = _changed(add, mul(kept, cell), mul(entering, new))
    return mul(shown, tanh(following)), following


def _lstm_cell(
    input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    state, cell = hx
    if not _is_wide(input, state, cell, w_ih, w_hh, b_ih, b_hh):
        return NotImplemented
    from_state = affine(state, w_hh, b_hh)
    return lstm_following(affine(input, w_ih, b_ih), from_state, cell)


def gru_following(from_input: Any, state: Any, w_hh: Any, b_hh: Any) -> Any:
    """The next state, of what input contributes to the gates."""
    entering = from_input.unsafe_chunk(3, 1)
    staying = affine(state, w_hh, b_hh).unsafe_chunk(3, 1)
    reset = _changed(sigmoid, _changed(add, staying[0], entering[0]))
    update = _changed(sigmoid, _changed(add, staying[1], entering[1]))
    new = _changed(tanh, add(entering[2], _changed(mul, staying[2], reset)))
    return _changed(add, _changed(mul, sub(state, new), update), new)


def _gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    if not _is_wide(input, hx, w_ih, w_hh, b_ih, b_hh):
        return NotImplemented
    return gru_following(affine(input, w_ih, b_ih), hx, w_hh, b_hh)


def rnn_following(activation: Any, from_input: Any, from_state: Any) -> Any:
    """The next state, of what input and state contribute to it."""
    return activation(_changed(add, from_state, from_input))


def _rnn_cell(activation: Any) -> Any:
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        if not _is_wide(input, hx, w_ih, w_hh, b_ih, b_hh):
            return NotImplemented
        from_state = affine(hx, w_hh, b_hh)
        return rnn_following(activation, affine(input, w_ih, b_ih), from_state)

    return cell


FUNCTIONS: Final[dict[str, Any]] = {
    "rrelu": _rrelu,
    "dropout": _dropout,
    "dropout_": _dropout_in_place,
    "feature_dropout": _feature_dropout,
    "alpha_dropout": _alpha_dropout,
    "feature_alpha_dropout": _feature_alpha_dropout,
    "lstm_cell": _lstm_cell,
    "gru_cell": _gru_cell,
    "rnn_tanh_cell": _rnn_cell(tanh),
    "rnn_relu_cell": _rnn_cell(relu),
}
