"""torch._functorch.autograd_function: what rules for batches of Functions are made of."""

from typing import Any

from adjoint.func.batching import vmap
from adjoint.ops.arranging.shape import expand, movedim, unsqueeze
from adjoint.ops.reducing.reduction import sum_to_size

_RESERVED = ("_pt_reserved_attrs", "_pt_inner_ctx", "_pt_new_saved_tensors")


class WrappedCtx:
    """A ctx that passes on what is asked of it and set on it."""

    _pt_reserved_attrs = _RESERVED

    def __init__(self, ctx: Any) -> None:
        if not isinstance(ctx, WrappedCtx):
            for name in _RESERVED:
                if hasattr(ctx, name):
                    raise RuntimeError(
                        f"the field {name} of ctx is reserved; give yours another name, to avoid "
                        "a name collision"
                    )
        self._pt_inner_ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pt_inner_ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _RESERVED:
            self.__dict__[name] = value
        else:
            setattr(self._pt_inner_ctx, name, value)


class CtxWithSavedTensors(WrappedCtx):
    """A ctx with other saved tensors."""

    def __init__(self, ctx: Any, new_saved_tensors: Any) -> None:
        super().__init__(ctx)
        self._pt_new_saved_tensors = new_saved_tensors

    @property
    def saved_tensors(self) -> Any:
        """What was given instead."""
        return self._pt_new_saved_tensors


def reductify_leaf(
    grad_input: Any,
    grad_input_bdim: int | None,
    input_bdim: int | None,
    batch_size: int,
    target_shape_without_bdim_to_reduce_to: Any = None,
) -> Any:
    """A gradient with its batch where its input has it, summed over what the input has not."""
    if grad_input is None:
        return None
    if input_bdim is None:
        return grad_input if grad_input_bdim is None else grad_input.sum(grad_input_bdim)
    if grad_input_bdim is None:
        one = unsqueeze(grad_input, input_bdim)
        shape = list(one.shape)
        shape[input_bdim] = batch_size
        grad_input, grad_input_bdim = expand(one, shape), input_bdim
    if target_shape_without_bdim_to_reduce_to is None:
        return movedim(grad_input, grad_input_bdim, input_bdim)
    summed = vmap(sum_to_size, in_dims=(grad_input_bdim, None), out_dims=input_bdim)
    return summed(grad_input, tuple(target_shape_without_bdim_to_reduce_to))
