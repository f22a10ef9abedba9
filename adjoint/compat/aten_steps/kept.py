"""What PyTorch's steps of a backward pass find in a node."""

from collections.abc import Callable
from typing import Any

from adjoint.autograd.node import AccumulateGrad
from adjoint.autograd.saved_tensors import SavedTensor
from adjoint.call.context import is_recording
from adjoint.compat.aten_steps.asking import Steps
from adjoint.ops.arranging.conversion import strided

# Operations of PyTorch whose first result is kept, apart from it; or which of several.
_FIRST = """_cdist_forward _ctc_loss _euclidean_dist _linalg_det _linalg_slogdet _linalg_solve_ex
_log_softmax _pdist_forward _safe_softmax _scaled_dot_product_flash_attention_for_cpu _softmax
amax amin celu_ cholesky cholesky_inverse cholesky_solve copysign cumprod dist elu_ exp
exp2 expm1 hypot index_reduce ldexp leaky_relu_ linalg_cholesky_ex linalg_householder_product
linalg_inv_ex linalg_lstsq linalg_lu_factor_ex linalg_lu_solve linalg_pinv linalg_solve_triangular
linalg_vector_norm logcumsumexp logsumexp max.default median.default min.default nanmedian.default
norm ormqr polar pow.Scalar pow.Tensor_Tensor pow_.Tensor prod reciprocal relu rrelu_with_noise_
rsqrt scatter_reduce segment_reduce sgn sigmoid special_erfcx special_i0e special_i1 special_i1e
special_log_ndtr special_ndtri sqrt std std_mean tan tanh triangular_solve"""
_KEPT: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(_FIRST.split(), (0,)),
    "_linalg_eigh": (0, 1),
    "_linalg_svd": (1, 0, 2),
    "aminmax": (1, 0),
    "linalg_eig": (0, 1),
    "linalg_lu": (1, 2),
    "linalg_qr": (0, 1),
    "mkldnn_rnn_layer": (0, 1, 2),
    "native_group_norm": (1, 2),
}


def kept_results(full: str) -> tuple[int, ...]:
    """Which results of an operation its node keeps in PyTorch, where that shows as a detach."""
    full = full.removeprefix("aten.")
    name = full.partition(".")[0]
    for each in (full, name, name.removesuffix("_")):
        if each in _KEPT:
            return _KEPT[each]
    return ()


class TooLittleKeptError(Exception):
    """A node does not keep what PyTorch's steps need; its own rules do without."""


def _listed(kept: Any) -> Any:
    """What is kept, as a list."""
    return kept if isinstance(kept, (list, tuple)) else [kept]


def check_no_zeros(tensor: Any) -> None:
    """Leave zeros to the rules where PyTorch's steps are recorded, which lose the derivative."""
    if is_recording() and tensor.layer is None and (tensor.array == 0).any():
        raise TooLittleKeptError


class Kept:
    """What a node keeps, by the places of the op's parameters, and which inputs are wanted."""

    def __init__(self, node: Any, wanted: list[bool]) -> None:
        self.node = node
        self.wanted = wanted
        self.shown = () if node.watched is None else node.watched.shown  # to modes, of results
        self.found: dict[int, Any] = {}  # results by numbers below zero
        self.opened: list[tuple[SavedTensor, Any]] = []  # what hooks have unpacked, first of all
        for place in range(len(node.op.parameters)):
            self._open(node.kept(place), self.option, place)
        for number, result in enumerate(_listed(node.result)):
            self._open(result, self.result, number)

    def _open(self, kept: Any, value: Callable[[int], Any], number: int) -> None:
        """Unpack what is kept, if hooks have taken it."""
        if any(isinstance(each, SavedTensor) for each in _listed(kept)):
            pairs = zip(_listed(kept), _listed(value(number)), strict=True)
            self.opened += [pair for pair in pairs if isinstance(pair[0], SavedTensor)]

    def by_rules(self, grads: list[Any]) -> list[Any]:
        """The gradients by the node's own rules, for which nothing is unpacked once more."""
        try:
            for saved, tensor in self.opened:
                saved.opened = tensor
            found: list[Any] = self.node.by_rules(grads, True, self.wanted)
            return found
        finally:
            for saved, _ in self.opened:
                saved.opened = None

    def option(self, place: int) -> Any:
        """An argument, which may be None."""
        if place not in self.found:
            self.found[place] = self.node.value(place, True)
        return self.found[place]

    def input(self, place: int) -> Any:
        """An input of the op, which may be None; a leaf is found behind its edge."""
        found = self.option(place)
        if found is None:
            edge, _ = self.node.edges()[self.node.op.inputs.index(place)]
            found = edge.variable if isinstance(edge, AccumulateGrad) else None
        return found

    def value(self, place: int) -> Any:
        """An argument that must be there."""
        found = self.input(place) if place in self.node.op.inputs else self.option(place)
        if found is None:
            raise TooLittleKeptError
        return found

    def result(self, number: int = 0) -> Any:
        """A result of the call."""
        if ~number not in self.found:
            self.found[~number] = self.node.result_value(number, True)
        return self.found[~number]

    def shape(self, place: int) -> tuple[int, ...]:
        """The sizes of an argument, if it is kept or derived."""
        if place in self.node.op.inputs:
            edge, _ = self.node.edges()[self.node.op.inputs.index(place)]
            found = self.option(place) if edge is None else None
            if found is not None:
                return tuple(found.shape)
            if edge is None:
                raise TooLittleKeptError
        return tuple(self.node.shape(place))


def beside(tensor: Any) -> dict[str, Any]:
    """How PyTorch asks for a tensor beside another."""
    return {"dtype": tensor.dtype, "layout": strided, "device": tensor.device}


def zeros_beside(ask: Steps, grad: Any, shape: Any) -> Any:
    """Zeros that are a whole gradient: of the same class as another one."""
    if grad.layer is not None:
        return ask("new_zeros", grad, list(shape))
    return ask("zeros", list(shape), **beside(grad))


def from_front(dim: Any, ndim: int) -> list[int]:
    """Dimensions, one or several, counted from the first."""
    return [each % max(ndim, 1) for each in ([dim] if isinstance(dim, int) else dim)]


def unreduced(ask: Steps, tensor: Any, dims: list[int]) -> Any:
    """A tensor with the dimensions that a reduction has left out."""
    for dim in sorted(dims):
        tensor = ask("unsqueeze", tensor, dim)
    return tensor
