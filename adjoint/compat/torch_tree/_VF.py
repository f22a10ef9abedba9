"""torch._VF: private and old spellings of operations that adjoint has under a public name."""

from typing import Any

from adjoint.compat.aten_parts import convolution as convolution
from adjoint.dtypes import bool_
from adjoint.func.stateless import functional_call
from adjoint.nn.layers.recurrent import RNNBase
from adjoint.nn.utils.rnn import PackedSequence
from adjoint.ops.elementwise.activation import relu
from adjoint.ops.elementwise.arithmetic import add
from adjoint.ops.matrices.matrix_norms import linalg_matrix_norm
from adjoint.ops.neural.resampling import channel_shuffle
from adjoint.ops.reducing.reduction import all, any
from adjoint.ops.reducing.sorting import unique
from adjoint.tensors.tensor import Tensor


def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Any, Any, Any]:
    """unique with all three results, whether they are wanted or not."""
    found: tuple[Any, Any, Any] = unique(input, sorted, return_inverse=True, return_counts=True)
    return found


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Any, Any]:
    """unique with two results."""
    return _unique2(input, sorted)[:2]


def unique_dim(
    input: Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Any, Any, Any]:
    """unique over a dimension, with all three results."""
    found: tuple[Any, Any, Any] = unique(
        input, sorted, return_inverse=True, return_counts=True, dim=dim
    )
    return found


def _add_relu(input: Tensor, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:
    """The sum, or zero where it is negative."""
    total: Tensor = relu(add(input, other, alpha=alpha))
    if out is not None:
        total = out.copy_(total)
    return total


def _add_relu_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """In-place form of _add_relu."""
    return _add_relu(input, other, alpha=alpha, out=input)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """channel_shuffle."""
    shuffled: Tensor = channel_shuffle(input, groups)
    return shuffled


def _is_all_true(input: Tensor) -> Tensor:
    """all, of bools alone."""
    _require_bools("_is_all_true", input)
    found: Tensor = all(input)
    return found


def _is_any_true(input: Tensor) -> Tensor:
    """any, of bools alone."""
    _require_bools("_is_any_true", input)
    found: Tensor = any(input)
    return found


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values."""
    return _matrix_norm(input, "nuc", dim, keepdim)


def frobenius_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The root of the sum of all squares."""
    return _matrix_norm(input, "fro", dim, keepdim)


def _matrix_norm(input: Tensor, kind: str, dim: Any, keepdim: bool) -> Tensor:
    found: Tensor = linalg_matrix_norm(input, kind, dim, keepdim)
    return found


# ---- recurrent layers, whose weights are given ----


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


def _require_bools(name: str, input: Tensor) -> None:
    if input.dtype is not bool_:
        raise RuntimeError(f"{name}(): expected a tensor of bools, got {input.dtype.name}")
