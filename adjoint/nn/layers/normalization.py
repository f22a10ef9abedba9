"""Normalisation as layers."""

import warnings
from numbers import Integral
from typing import Any, ClassVar

from adjoint.call.context import current
from adjoint.creation.factories import arange, empty, ones, tensor, zeros
from adjoint.dtypes import int64
from adjoint.nn import functional, init
from adjoint.nn.layers.base import REQUIRED, Stateless, taking
from adjoint.nn.module import Module
from adjoint.nn.parameter import Parameter


class _Scaled(Module):
    """Layers with a weight that starts as ones and a bias that starts as zeros."""

    def _add_parameters(self, shape: Any, affine: bool, bias: bool, options: Any) -> None:
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            made = Parameter(empty(shape, **options)) if wanted else None
            self.register_parameter(name, made)

    def reset_parameters(self) -> None:
        """Start with ones and zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


# ---- statistics of channels ----


class RunningNorm(_Scaled):
    """Channels normalised by their own statistics, or by those of batches seen before."""

    _version = 2
    ranks: ClassVar[tuple[int, ...]]  # how many dimensions an input may have

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self._add_parameters(num_features, affine, bias, options)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, **options) if tracked else None)
        self.register_buffer("running_var", ones(num_features, **options) if tracked else None)
        count = tensor(0, dtype=int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start with ones and zeros, and forget what was seen."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim not in self.ranks:
            wanted = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(
                f"{type(self).__name__}: expected {wanted} input (got {input.ndim}D input)"
            )

    def _channels(self, input: Any) -> int:
        """How many channels an input has."""
        channels: int = input.shape[1]
        return channels

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            own = self.num_batches_tracked  # checkpoints before version 2 have none
            state_dict[key] = tensor(0) if own is None or own.is_meta else own
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    def extra_repr(self) -> str:
        """The fields and their values."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm(RunningNorm):
    """Statistics of the whole batch."""

    def forward(self, input: Any) -> Any:
        """input, each channel normalised."""
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches
                count = self.num_batches_tracked
                share = 1.0 / (float(count) if current().tracing is None else count)
        own = self.training or (self.running_mean is None and self.running_var is None)
        kept = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if kept else None,
            self.running_var if kept else None,
            self.weight,
            self.bias,
            own,
            share,
            self.eps,
        )


class BatchNorm1d(BatchNorm):
    """Each channel of a batch of vectors or sequences with mean 0 and variance 1."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Each channel of a batch of images with mean 0 and variance 1."""

    ranks = (4,)


class BatchNorm3d(BatchNorm):
    """Each channel of a batch of volumes with mean 0 and variance 1."""

    ranks = (5,)


class SyncBatchNorm(BatchNorm):
    """Statistics of the batches of all processes; there is one here, so those of its batch."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        options = (affine, track_running_stats, device, dtype, bias)
        super().__init__(num_features, eps, momentum, *options)
        self.process_group = process_group

    def _check_input_dim(self, input: Any) -> None:
        if input.ndim < 2:
            raise ValueError(f"SyncBatchNorm: expected at least 2D input (got {input.ndim}D input)")
        if not input.shape[1]:
            raise ValueError("SyncBatchNorm: the number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """A module with a SyncBatchNorm of the same tensors in the place of each BatchNorm.

        It is module itself, changed, unless that is a BatchNorm.
        """
        made = module
        if isinstance(module, BatchNorm):
            made = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name, member in (*module._parameters.items(), *module._buffers.items()):  # noqa: SLF001
                setattr(made, name, member)
            made.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class InstanceNorm(RunningNorm):
    """Statistics of each sample."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        options = (affine, track_running_stats, device, dtype, bias)
        super().__init__(num_features, eps, momentum, *options)

    def _channels(self, input: Any) -> int:
        channels: int = input.shape[input.ndim - self.ranks[0]]  # a single sample has no batch
        return channels

    def forward(self, input: Any) -> Any:
        """input, each channel of each sample normalised."""
        self._check_input_dim(input)
        single, channels = input.ndim == self.ranks[0], self._channels(input)
        if channels != self.num_features:
            told = f"{type(self).__name__}: got {channels} channels, expected {self.num_features}"
            if self.affine:
                raise ValueError(told)
            warnings.warn(f"{told}, which is not used because affine=False", stacklevel=2)
        out = functional.instance_norm(
            input.unsqueeze(0) if single else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return out.squeeze(0) if single else out


class InstanceNorm1d(InstanceNorm):
    """Each channel of each sequence with mean 0 and variance 1."""

    ranks = (2, 3)


class InstanceNorm2d(InstanceNorm):
    """Each channel of each image with mean 0 and variance 1."""

    ranks = (3, 4)


class InstanceNorm3d(InstanceNorm):
    """Each channel of each volume with mean 0 and variance 1."""

    ranks = (4, 5)


class GroupNorm(_Scaled):
    """Each group of channels of a sample with mean 0 and variance 1."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        options = {"device": device, "dtype": dtype}
        self._add_parameters(num_channels, affine, bias, options)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """input, each group normalised."""
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The fields and their values."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


# ---- statistics of the last dimensions ----


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class LayerNorm(_Scaled):
    """The last dimensions with mean 0 and variance 1."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        options = {"device": device, "dtype": dtype}
        self._add_parameters(self.normalized_shape, elementwise_affine, bias, options)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """input, normalised."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The fields and their values."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(_Scaled):
    """The last dimensions with mean square 1."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = empty(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(made) if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Any) -> Any:
        """x, scaled."""
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The fields and their values."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


# ---- neighbours ----


class LocalResponseNorm(Stateless):
    """input divided by a power of the mean square over neighbouring channels."""

    fields = taking(size=REQUIRED, alpha=1e-4, beta=0.75, k=1.0)
    function = functional.local_response_norm

    def extra_repr(self) -> str:
        """The fields and their values, but for the name of the first."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Stateless):
    """input divided by a power of the mean square over neighbouring channels of images.

    As in PyTorch, whose results these are, channel 0 counts for all further channels, not just for
    its neighbours. The gradient is that of the result; PyTorch's own differs from it.
    """

    fields = taking(size=REQUIRED, alpha=1e-4, beta=0.75, k=1)

    def forward(self, input: Any) -> Any:
        """input / (k + alpha / size * the sum of squares nearby) ** beta."""
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead")
        places: Any = arange(input.shape[1], device=input.device)
        reach = (self.size - 1) // 2
        apart = (places - places.reshape(-1, 1)).abs()
        counted = ((apart <= reach) | ((places == 0) & (apart > reach))).to(input.dtype)
        squares = (counted @ input.square().flatten(2)).reshape(input.shape)
        return input * (squares * (self.alpha / self.size) + self.k) ** -self.beta

    extra_repr = LocalResponseNorm.extra_repr
