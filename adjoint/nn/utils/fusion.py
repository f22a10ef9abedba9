"""Layers with the batch normalisation that follows them folded into their weights."""

import copy
from typing import Any, TypeVar

from adjoint.creation.factories import ones_like, zeros_like
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.ops.elementwise.powers import rsqrt

T_module = TypeVar("T_module", bound=Module)


def fuse_conv_bn_eval(conv: T_module, bn: Module, transpose: bool = False) -> T_module:
    """A convolution that computes what conv and then bn compute; both in eval mode."""
    fused = _copied(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *_statistics(bn), transpose
    )
    return fused  # type: ignore[no-any-return]  # Any because of weight and bias


def fuse_conv_bn_weights(
    conv_w: Any,
    conv_b: Any,
    bn_rm: Any,
    bn_rv: Any,
    bn_eps: float,
    bn_w: Any,
    bn_b: Any,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution followed by batch normalisation."""
    outputs = [1, -1] if transpose else [-1, 1]
    return _fused(
        conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, outputs + [1] * (conv_w.ndim - 2)
    )


def fuse_linear_bn_eval(linear: T_module, bn: Module) -> T_module:
    """A linear layer that computes what linear and then bn compute; both in eval mode."""
    fused = _copied(linear, bn)
    if bn.num_features not in (fused.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1 must hold; "
            f"got out_features={fused.out_features} and num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_statistics(bn))
    return fused  # type: ignore[no-any-return]  # Any because of weight and bias


def fuse_linear_bn_weights(
    linear_w: Any, linear_b: Any, bn_rm: Any, bn_rv: Any, bn_eps: float, bn_w: Any, bn_b: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a linear layer followed by batch normalisation."""
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _copied(layer: Module, bn: Module) -> Any:
    """A copy of a layer that can be fused with bn."""
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval! Call eval() on both layers first.")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(
            "fusion: bn has no running_mean and running_var; it was made with "
            "track_running_stats=False"
        )
    return copy.deepcopy(layer)


def _statistics(bn: Any) -> tuple[Any, Any, Any, Any, Any]:
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def _fused(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, gain: Any, shift: Any, shape: Any
) -> tuple[Parameter, Parameter]:
    """Weight and bias that scale and shift each output as the normalisation would."""
    if bias is None:
        bias, kind = zeros_like(mean), weight.dtype
    else:
        kind = bias.dtype
    gain = ones_like(mean) if gain is None else gain
    shift = zeros_like(mean) if shift is None else shift
    scale = gain * rsqrt(variance + eps)
    fused_weight = (weight * scale.reshape(shape)).to(dtype=weight.dtype)
    fused_bias = ((bias - mean) * scale + shift).to(dtype=kind)
    return (
        Parameter(fused_weight, weight.requires_grad),
        Parameter(fused_bias, bias.requires_grad),
    )
