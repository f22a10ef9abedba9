"""Calls as PyTorch's functions in Python show them to who answers: every option, by its name.

Functions that PyTorch has in C show their calls as they are made.
"""

import functools
import importlib
import inspect
from typing import Any

from adjoint.compat.pytorch_names import is_known
from adjoint.nn import functional, init
from adjoint.tensors.tensor import Tensor

# Of nn.functional those that PyTorch has in C; all that end in a dash are.
_AS_CALLED = (
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear channel_shuffle conv1d conv2d "
    "conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity gelu "
    "hardshrink linear logsigmoid one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle "
    "prelu scaled_dot_product_attention softplus softshrink"
)
# Others that it has in Python.
_IN_PYTHON = (
    "lobpcg lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive"
)
_METHODS = ("lu", "norm", "split", "stft", "unique", "unique_consecutive")
_ALL_BY_NAME = ("constant_", "kaiming_uniform_", "normal_", "uniform_")  # of nn.init


@functools.cache
def _signatures() -> dict[Any, tuple[inspect.Signature, bool]]:
    """The signatures of such functions, and whether they show what has no default by name, too."""
    found = [
        function
        for name, function in vars(functional).items()
        if callable(function) and not isinstance(function, type)
        if is_known(f"nn.functional.{name}") and not name.startswith("_")
        if not name.endswith("_") and name not in _AS_CALLED.split()
    ]
    torch = importlib.import_module("adjoint.compat.torch")
    found += [getattr(torch, name) for name in _IN_PYTHON.split()]
    named = [getattr(init, name) for name in _ALL_BY_NAME]
    known = {each: (inspect.signature(each), each in named) for each in (*found, *named)}
    unshown = {getattr(Tensor, name): "out" for name in _METHODS} | {functional.l1_loss: "weight"}
    for function, name in unshown.items():
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.name != name]
        known[function] = (signature.replace(parameters=own), False)
    return known


def shown(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a call as they are shown."""
    known = _signatures().get(function)
    if known is None:
        return args, kwargs
    signature, all_by_name = known
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # other words for its parameters
        return args, kwargs
    bound.apply_defaults()
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            given.extend(value)
        elif parameter.default is parameter.empty and not all_by_name:
            given.append(value)
        elif name != "out" or value is not None or parameter.kind is not parameter.KEYWORD_ONLY:
            named[name] = value
    return tuple(given), named
