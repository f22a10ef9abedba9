"""Pruning: parameters of which a mask lets only some elements through.

A pruned `weight` is kept whole as the parameter `weight_orig`, its mask as the buffer
`weight_mask`; a hook multiplies them before each call. A tensor may be pruned several times: each
method chooses among what the ones before have left.
"""

# ruff: noqa: SLF001  the members that PyTorch calls private are what programs rely on

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, TypeVar

from adjoint.autograd.hooks import traceable
from adjoint.creation.factories import ones_like, rand, rand_like, zeros_like
from adjoint.nn.module import Module
from adjoint.nn.utils.convert_parameters import parameters_to_vector
from adjoint.ops.dims import normal_dim
from adjoint.ops.elementwise.arithmetic import abs
from adjoint.ops.reducing.norms import norm
from adjoint.ops.reducing.sorting import topk
from adjoint.tensors.tensor import Tensor

T_module = TypeVar("T_module", bound=Module)
Amount = int | float


@traceable
class BasePruningMethod(ABC):
    """A way to choose what is pruned: a subclass defines compute_mask and PRUNING_TYPE.

    The type says what compute_mask is given of a tensor that was pruned before: "unstructured": the
    elements that are left, "structured": the slices along `dim` that are left, "global": all.
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        """As a hook: compute the pruned tensor."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """A mask for a tensor of scores: default_mask with more zeros."""

    def apply_mask(self, module: Module) -> Any:
        """The pruned tensor of a module."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        whole = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=whole.dtype) * whole

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> "BasePruningMethod":
        """Prune a parameter by what cls(*args, **kwargs) chooses; if that fails nothing changes.

        The choice is made by the scores, of the parameter's shape, or else by the parameter.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        whole = getattr(module, name)
        scores = _scores_of(whole, importance_scores, f"parameter {name} of {module}")
        found = _pruning_hook(module, name)
        if found is None:
            mask = method.compute_mask(scores, default_mask=ones_like(whole))
            module.register_parameter(f"{name}_orig", whole)
            del module._parameters[name]
        else:
            key, before = found
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            earlier = container._pruning_methods
            container.add_pruning_method(method)
            try:
                left = getattr(module, f"{name}_mask").detach().clone()
                mask = container.compute_mask(scores, default_mask=left)
            except BaseException:
                container._pruning_methods = earlier
                raise
            method = container
            del module._forward_pre_hooks[key]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """A tensor times the mask chosen for it."""
        scores = _scores_of(t, importance_scores, "tensor t")
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Module) -> None:
        """Make the parameter of a module a plain one, as it is pruned now."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        whole: Any = module._parameters.pop(f"{name}_orig")
        whole.data = pruned.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, whole)


class PruningContainer(BasePruningMethod):
    """Several methods, each of which chooses among what the ones before have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            if not hasattr(self, "_tensor_name"):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same tensor."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"this PruningContainer is for the parameter named '{self._tensor_name}': a method "
                f"for '{method._tensor_name}' can't be added to it"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """default_mask with what the last method prunes of the rest."""
        method: Any = self._pruning_methods[-1]
        part = _left_for(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype, copy=True)
        chosen = method.compute_mask(t[part], default_mask=default_mask[part])
        mask[part] = chosen.to(dtype=mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask, of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _Amount(BasePruningMethod):
    """A method that prunes a number, or a fraction, of what there is."""

    amount: Any

    def __init__(self, amount: Amount) -> None:
        if not isinstance(amount, Real):
            raise TypeError(f"amount must be an int or a float, got {type(amount).__name__}")
        if amount < 0 or (amount > 1 and not isinstance(amount, Integral)):
            raise ValueError(
                f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
                "integer"
            )
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of so many to prune."""
        amount = self.amount
        count = int(amount) if isinstance(amount, Integral) else round(amount * size)
        if count > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune, {size}"
            )
        return count


class _Unstructured(_Amount):
    """Prunes single elements."""

    PRUNING_TYPE = "unstructured"

    def _scores(self, t: Any) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            lowest = topk(self._scores(t).reshape(-1), k=count, largest=False).indices
            mask.view(-1)[lowest] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    def _scores(self, t: Any) -> Any:
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the elements of lowest absolute value."""

    def _scores(self, t: Any) -> Any:
        return abs(t)

    @classmethod
    def apply(  # type: ignore[override]  # scores may go by position
        cls, module: Module, name: str, amount: Amount, importance_scores: Any = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Prunes whole slices along a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def _scores(self, t: Any) -> Any:
        raise NotImplementedError

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if t.ndim < 2:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors, got one of "
                f"shape {t.shape}"
            )
        if self.dim >= t.ndim:
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        index: list[Any] = [slice(None)] * t.ndim
        index[self.dim] = topk(self._scores(t), k=size - count, largest=True).indices
        mask = zeros_like(t)
        mask[tuple(index)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _scores(self, t: Any) -> Any:
        return rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Prunes the slices of lowest norm of order n."""

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n = n
        self.dim = dim

    def _scores(self, t: Any) -> Any:
        kept = normal_dim(self.dim, t.ndim)
        return norm(t, self.n, [dim for dim in range(t.ndim) if dim != kept])

    @classmethod
    def apply(  # type: ignore[override]  # scores may go by position
        cls,
        module: Module,
        name: str,
        amount: Amount,
        n: Any,
        dim: int,
        importance_scores: Any = None,
    ) -> BasePruningMethod:
        scores = importance_scores
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is zero."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"custom_from_mask: the mask has shape {self.mask.shape}, the tensor "
                f"{default_mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: T_module, name: str) -> T_module:
    """Make a parameter pruned by a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: T_module, name: str, amount: Amount) -> T_module:
    """Prune elements of a parameter at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: T_module, name: str, amount: Amount, importance_scores: Any = None
) -> T_module:
    """Prune the elements of a parameter of lowest absolute value, or score."""
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: T_module, name: str, amount: Amount, dim: int) -> T_module:
    """Prune slices along dim of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: T_module, name: str, amount: Amount, n: Any, dim: int, importance_scores: Any = None
) -> T_module:
    """Prune the slices along dim of a parameter of lowest norm of order n."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: Any = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters, given as (module, name), as if they were one.

    `pruning_method` is a class of unstructured methods, made with the further arguments;
    `importance_scores` a dictionary from (module, name) to scores.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError(
            f"global_unstructured: parameters is not an Iterable but {type(parameters).__name__}"
        )
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError(
            "global_unstructured: importance_scores must be of type dict, got "
            f"{type(scores).__name__}"
        )
    places = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'global_unstructured: only "unstructured" methods choose among single elements; '
            f'{pruning_method.__name__} is "{method.PRUNING_TYPE}"'
        )
    tensors = [getattr(module, name) for module, name in places]
    chosen_by = [scores.get(place, tensor) for place, tensor in zip(places, tensors)]
    masks = [getattr(module, f"{name}_mask", None) for module, name in places]
    before = [ones_like(tensor) if mask is None else mask for tensor, mask in zip(tensors, masks)]
    method._tensor_name = "all"
    mask: Any = PruningContainer(method).compute_mask(
        parameters_to_vector(chosen_by), parameters_to_vector(before)
    )
    start = 0
    for (module, name), tensor in zip(places, tensors):
        stop = start + tensor.numel()
        custom_from_mask(module, name, mask[start:stop].view_as(tensor))
        start = stop


def custom_from_mask(module: T_module, name: str, mask: Tensor) -> T_module:
    """Prune a parameter where a mask is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: T_module, name: str) -> T_module:
    """Make a pruned parameter a plain one, as it is pruned now."""
    found = _pruning_hook(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    key, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of one within it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for one in module.modules()
        for hook in one._forward_pre_hooks.values()
    )


def _pruning_hook(module: Module, name: str) -> tuple[int, BasePruningMethod] | None:
    """The key and the hook that prunes a parameter of a module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


def _scores_of(tensor: Any, scores: Any, what: str) -> Any:
    """The given scores, or the tensor itself."""
    if scores is None:
        return tensor
    if scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} for "
            f"{tensor.shape}"
        )
    return scores


def _left_for(method: Any, t: Any, mask: Any) -> Any:
    """The index of what a method may choose from."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return (slice(None),) * t.ndim
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind!r} of {type(method).__name__}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
            f"defined; {type(method).__name__} has none"
        )
    kept = normal_dim(method.dim, t.ndim)
    others = [dim for dim in range(t.ndim) if dim != kept]
    index: list[Any] = [slice(None)] * t.ndim
    index[kept] = mask.sum(dim=others) != 0
    return tuple(index)
