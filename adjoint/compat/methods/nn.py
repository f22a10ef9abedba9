"""Old and private members of modules."""

from typing import Any

from adjoint.autograd.hooks import RemovableHandle
from adjoint.compat import no_compiler
from adjoint.compat.torch_tree.nn.modules.module import BackwardHook, Chosen, LastNodeHook
from adjoint.nn.module_call import hooks_of
from adjoint.nn.module_hooks import BACKWARD, BACKWARD_PRE


def register_backward_hook(self: Any, hook: BackwardHook) -> RemovableHandle:
    """Call hook(module, grad_input, grad_output) when the last node of each call has run."""
    if self._backward_hooks:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks on a single Module: "
            "this one has full ones"
        )
    handle: RemovableHandle = self.register_forward_hook(LastNodeHook(hook))
    return handle


def _chosen(table: str, option: str) -> property:
    return property(lambda module: Chosen(getattr(module, table), option))


def compile(self: Any, **options: Any) -> None:
    """Compile the calls of this module, with the options of `torch.compile`."""
    fields = self.__dict__
    fields["_compiled_call_impl"] = fields["forward"] = no_compiler.compile(self.forward, **options)


# ---- the parts of a call, of which programs make calls of their own ----


def _slow_forward(self: Any, *input: Any, **kwargs: Any) -> Any:
    """What forward computes: there is no tracing around it."""
    return self.forward(*input, **kwargs)


def _wrapped_call_impl(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The call, compiled if the module is."""
    return self._call_impl(*args, **kwargs)


def _get_backward_hooks(self: Any) -> tuple[list[Any], list[Any]]:
    """The hooks of backward, of all modules and this one; those on last nodes are forward's."""
    return hooks_of(BACKWARD, self._backward_hooks), []


def _get_backward_pre_hooks(self: Any) -> list[Any]:
    """The hooks before backward, of all modules and this one."""
    return hooks_of(BACKWARD_PRE, self._backward_pre_hooks)


def _maybe_warn_non_full_backward_hook(self: Any, inputs: Any, result: Any, grad_fn: Any) -> None:
    """Say what hooks on the last node will not see: they say it themselves."""


MODULE_REPLACED: dict[str, Any] = {"compile": compile}
MODULE: dict[str, Any] = {
    "_compiled_call_impl": None,
    "_get_backward_hooks": _get_backward_hooks,
    "_get_backward_pre_hooks": _get_backward_pre_hooks,
    "_maybe_warn_non_full_backward_hook": _maybe_warn_non_full_backward_hook,
    "_slow_forward": _slow_forward,
    "_wrapped_call_impl": _wrapped_call_impl,
    "register_backward_hook": register_backward_hook,
    "_forward_hooks_with_kwargs": _chosen("_forward_hooks", "with_kwargs"),
    "_forward_hooks_always_called": _chosen("_forward_hooks", "always_call"),
    "_forward_pre_hooks_with_kwargs": _chosen("_forward_pre_hooks", "with_kwargs"),
}


# ---- layers ----


def _get_no_batch_dim(self: Any) -> int:
    """How many dimensions a single sample has."""
    ranks: tuple[int, int] = self.ranks
    return ranks[0]


def _flat_weights(self: Any) -> list[Any]:
    """The weights of all directions of all layers."""
    return [weight for weights in self.all_weights for weight in weights]


def _all_weights(self: Any) -> list[list[str]]:
    """The names of the weights of each direction of each layer."""
    return [
        [f"{name}_l{layer}{direction}" for name in self._shapes(layer)]
        for layer in range(self.num_layers)
        for direction in self._directions()
    ]


def _flat_weights_names(self: Any) -> list[str]:
    """The names of the weights of all directions of all layers."""
    return [name for names in _all_weights(self) for name in names]


def _get_abs_string_index(self: Any, idx: Any) -> str:
    """The name of a member, by an index that may count from the end."""
    return str(self._number(idx))


def _get_item_by_idx(self: Any, iterator: Any, idx: Any) -> Any:
    """What an iterator over the members has at an index."""
    return list(iterator)[self._number(idx)]


LIST: dict[str, Any] = {"_get_abs_string_index": _get_abs_string_index}
SEQUENTIAL: dict[str, Any] = {"_get_item_by_idx": _get_item_by_idx}
INSTANCE_NORM: dict[str, Any] = {"_get_no_batch_dim": _get_no_batch_dim}
RNN_BASE: dict[str, Any] = {
    "_flat_weights": property(_flat_weights),
    "_flat_weights_names": property(_flat_weights_names),
    "_all_weights": property(_all_weights),
}
