"""Layers whose sizes the first input tells.

Their parameters and buffers have no shape until then. The first call gives them one, after which
the layer is one of the usual class: a LazyLinear becomes a Linear.
"""

from typing import Any, ClassVar

from adjoint.nn.layers.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from adjoint.nn.layers.linear import Linear
from adjoint.nn.layers.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from adjoint.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from adjoint.tensors.tensor import Tensor


class LazyModuleMixin:
    """Lets the first call of a module, or a state dict, tell the shapes of its members.

    Put it before Module among the bases, register `UninitializedParameter` and
    `UninitializedBuffer`, and define `initialize_parameters`. After the first call the module is a
    `cls_to_become`, where the class names one.
    """

    cls_to_become: ClassVar[type | None] = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give shapes and values to all members, from what forward is about to be given."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}; define it to "
            "materialize the parameters from the arguments of forward"
        )

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer of the module itself has no shape yet."""
        return any(map(is_lazy, [*self._parameters.values(), *self._buffers.values()]))

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """Before the first forward: initialise, and be lazy no longer."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {type(module).__name__} has not been fully initialized: its "
                "initialize_parameters leaves parameters or buffers without a shape"
            )
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _lazy_load_hook(
        self: Any, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        """Before loading: take the shapes of what is loaded."""
        for name, member in [*self._parameters.items(), *self._buffers.items()]:
            value = state_dict.get(prefix + name)
            if is_lazy(member) and isinstance(value, Tensor) and not is_lazy(value):
                member.materialize(value.shape)

    def _replicate_for_data_parallel(self) -> Any:
        raise RuntimeError(
            f"{type(self).__name__} has uninitialized parameters, of which there can't be "
            "replicas; run its forward once before"
        )


class _LazyLayer(LazyModuleMixin):
    """A layer one size of which, the first argument of its usual class, the input tells."""

    size: ClassVar[str]  # the attribute that has this size, and is 0 as long as it is not known

    def __init__(self: Any, *args: Any) -> None:
        super().__init__(0, *args)
        for members, kind in (
            (self._parameters, UninitializedParameter),
            (self._buffers, UninitializedBuffer),
        ):
            for name in self._shapes().keys() & members.keys():
                made = members[name]
                if made is not None:
                    members[name] = kind(made.requires_grad, made.device, made.dtype)

    def _size_of(self, input: Any) -> int:
        """The size that an input tells; refuses what forward would refuse."""
        raise NotImplementedError

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters and buffers, as far as sizes are known."""
        raise NotImplementedError

    def reset_parameters(self: Any) -> None:
        """As in the usual class, once the size is known."""
        if not self.has_uninitialized_params() and getattr(self, self.size) != 0:
            super().reset_parameters()  # type: ignore[misc]  # of the usual class

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:
        """Take the size from input, and draw the parameters unless they have been loaded."""
        if getattr(self, self.size) != 0:
            return
        size = self._size_of(input)
        members = {**self._parameters, **self._buffers}
        lazy = {name for name, member in members.items() if is_lazy(member)}
        settled = {name for name in self._shapes() if members[name] is not None} - lazy
        if lazy and settled:
            raise RuntimeError(
                f"{type(self).__name__}: {sorted(settled)} have been loaded and {sorted(lazy)} "
                "have not; load a whole state dict, or none"
            )
        setattr(self, self.size, size)
        for name in lazy:
            members[name].materialize(self._shapes()[name])
        if lazy:
            self.reset_parameters()


class LazyLinear(_LazyLayer, Linear):
    """A Linear that takes in_features from its first input."""

    cls_to_become = Linear
    size = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(out_features, bias, device, dtype)

    def _size_of(self, input: Any) -> int:
        size: int = input.shape[-1]
        if not is_lazy(self.weight) and self.weight.shape[-1] != size:
            raise AssertionError(
                f"LazyLinear: the loaded weight takes {self.weight.shape[-1]} features, the input "
                f"has {size}"
            )
        return size

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}


# ---- convolutions ----


class _LazyConvolution(_LazyLayer):
    """Convolutions that take in_channels from their first input."""

    size = "in_channels"

    def _size_of(self: Any, input: Any) -> int:
        if input.ndim not in (self.count + 1, self.count + 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected {self.count + 1}D (unbatched) or "
                f"{self.count + 2}D (batched) input, got input of size {list(input.shape)}"
            )
        size: int = input.shape[-self.count - 1]
        if size % self.groups:
            raise ValueError(
                f"{type(self).__name__}: in_channels, {size} by the input, must be divisible by "
                f"groups, {self.groups}"
            )
        return size

    def _shapes(self: Any) -> dict[str, tuple[int, ...]]:
        return {"weight": self._weight_shape(), "bias": (self.out_channels,)}


class _LazyStraight(_LazyConvolution):
    """Convolutions from many places to one."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (groups, bias, padding_mode, device, dtype)
        super().__init__(out_channels, kernel_size, stride, padding, dilation, *options)


class _LazyTransposed(_LazyConvolution):
    """Convolutions from one place to many."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        options = (groups, bias, dilation, padding_mode, device, dtype)
        super().__init__(out_channels, kernel_size, stride, padding, output_padding, *options)


# ---- normalisation ----


class _LazyNorm(_LazyLayer):
    """Normalisation that takes num_features from its first input."""

    size = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _size_of(self: Any, input: Any) -> int:
        self._check_input_dim(input)
        channels: int = self._channels(input)
        return channels

    def _shapes(self: Any) -> dict[str, tuple[int, ...]]:
        names = ("weight", "bias", "running_mean", "running_var")
        return dict.fromkeys(names, (self.num_features,))


class LazyConv1d(_LazyStraight, Conv1d):
    """A Conv1d that takes in_channels from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyStraight, Conv2d):
    """A Conv2d that takes in_channels from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyStraight, Conv3d):
    """A Conv3d that takes in_channels from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose3d


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d that takes num_features from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d that takes num_features from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d that takes num_features from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d that takes num_features from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d that takes num_features from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d that takes num_features from its first input."""

    cls_to_become = InstanceNorm3d
