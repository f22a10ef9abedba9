"""torch.optim._functional: the steps of optimizers as functions of parameters, gradients and state.

Each is also in the module of its optimizer. They make the steps that modes are shown of adjoint's
optimizers, one parameter after the other; what is asked of GPUs alone is refused.
"""

import inspect
from collections.abc import Callable
from typing import Any

from adjoint.compat.aten_steps.optimizers import STEPS
from adjoint.ops.elementwise.complex_numbers import view_as_real
from adjoint.ops.sparse.layers import coordinates, sparse_of
from adjoint.optim import (
    ASGD,
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
)
from adjoint.optim.programs import Spare
from adjoint.optim.sparse_adam import step_in_memory
from adjoint.optim.writes import Writes
from adjoint.tensors.tensor import Tensor

# The arguments: lists with an entry for each parameter, options, and settings given by name.
_FORMS: dict[str, tuple[Any, str]] = {
    "adadelta": (
        Adadelta,
        """
        params grads square_avgs acc_deltas state_steps capturable=False foreach=None
        differentiable=False has_complex=False * lr rho eps weight_decay maximize
        """,
    ),
    "adagrad": (
        Adagrad,
        """
        params grads state_sums state_steps fused=None grad_scale=None found_inf=None
        has_sparse_grad=False foreach=None differentiable=False has_complex=False * lr weight_decay
        lr_decay eps maximize
        """,
    ),
    "adam": (
        Adam,
        """
        params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps foreach=None capturable=False
        differentiable=False fused=None grad_scale=None found_inf=None has_complex=False
        decoupled_weight_decay=False * amsgrad beta1 beta2 lr weight_decay eps maximize
        """,
    ),
    "adamw": (
        Adam,
        """
        params grads exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps foreach=None capturable=False
        differentiable=False fused=None grad_scale=None found_inf=None has_complex=False * amsgrad
        beta1 beta2 lr weight_decay eps maximize
        """,
    ),
    "adamax": (
        Adamax,
        """
        params grads exp_avgs exp_infs state_steps foreach=None maximize=False differentiable=False
        capturable=False has_complex=False * eps beta1 beta2 lr weight_decay
        """,
    ),
    "asgd": (
        ASGD,
        """
        params grads axs mus etas state_steps foreach=None maximize=False differentiable=False
        capturable=False has_complex=False * lambd lr t0 alpha weight_decay
        """,
    ),
    "nadam": (
        NAdam,
        """
        params grads exp_avgs exp_avg_sqs mu_products state_steps decoupled_weight_decay=False
        foreach=None capturable=False differentiable=False has_complex=False maximize=False * beta1
        beta2 lr weight_decay momentum_decay eps
        """,
    ),
    "radam": (
        RAdam,
        """
        params grads exp_avgs exp_avg_sqs state_steps decoupled_weight_decay=False foreach=None
        differentiable=False capturable=False has_complex=False maximize=False * beta1 beta2 lr
        weight_decay eps
        """,
    ),
    "rmsprop": (
        RMSprop,
        """
        params grads square_avgs grad_avgs momentum_buffer_list state_steps foreach=None
        maximize=False differentiable=False capturable=False has_complex=False * lr alpha eps
        weight_decay momentum centered
        """,
    ),
    "rprop": (
        Rprop,
        """
        params grads prevs step_sizes state_steps foreach=None capturable=False maximize=False
        differentiable=False has_complex=False * step_size_min step_size_max etaminus etaplus
        """,
    ),
    "sgd": (
        SGD,
        """
        params d_p_list momentum_buffer_list has_sparse_grad=False foreach=None fused=None
        grad_scale=None found_inf=None * weight_decay momentum lr dampening nesterov maximize
        """,
    ),
    "adafactor": (
        Adafactor,
        """
        params grads row_vars col_vars variances state_steps foreach=None grad_scale=None
        found_inf=None has_complex=False * d lr beta2_decay weight_decay eps1 eps2 maximize
        """,
    ),
}
_DEFAULTS = {"None": None, "False": False}
_PLACE, _NO = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty


def _signature(text: str) -> inspect.Signature:
    """The arguments that a form writes."""
    before, _, settings = text.partition("*")
    parameters = []
    for word in before.split():
        name, _, default = word.partition("=")
        first = _DEFAULTS[default] if default else _NO
        parameters.append(inspect.Parameter(name, _PLACE, default=first))
    named = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY) for n in settings.split()]
    return inspect.Signature([*parameters, *named])


def _key(name: str) -> str:
    """The name that an optimizer's state has for the entries of a list."""
    name = name.removesuffix("_list").removeprefix("state_")
    return name if name == "momentum_buffer" else name.removesuffix("s")


def _group(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The settings, as a group of an optimizer has them."""
    for option in ("grad_scale", "found_inf"):
        if given.get(option) is not None:
            raise RuntimeError(f"{name}: {option} goes with a fused step on a GPU; unscale before")
    if given.get("capturable"):
        raise RuntimeError(f"{name}: capturable=True is for steps on a GPU alone")
    pairs = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus")}
    pairs |= {"step_sizes": ("step_size_min", "step_size_max")}
    pairs |= {"eps": ("eps1", "eps2")} if name == "adafactor" else {}
    joined = {
        pair: tuple(given[n] for n in both) for pair, both in pairs.items() if both[0] in given
    }
    apart = {"decoupled_weight_decay": True} if name == "adamw" else {}
    rate = given.get("lr")
    number = {"lr": rate.item()} if isinstance(rate, Tensor) else {}
    return {**given, **joined, **apart, **number}


def _as_real(value: Any) -> Any:
    return view_as_real(value) if value is not None and value.is_complex() else value


def _check_gradients(name: str, params: list[Any], grads: list[Any]) -> None:
    """Refuse gradients that don't fit, before anything is changed."""
    for param, grad in zip(params, grads, strict=True):
        if sparse_of(grad) is not None:
            raise RuntimeError(f"{name}: a sparse gradient; use the class, or to_dense()")
        if grad.shape != param.shape:
            raise RuntimeError(
                f"{name}: a gradient of shape {tuple(grad.shape)} for a parameter of shape "
                f"{tuple(param.shape)}"
            )


def _factored(param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    """A step of Adafactor, whose rule answers new values."""
    kept = {name: each for name, each in state.items() if each is not None}
    rule: Any = Adafactor.changed  # which looks at no optimizer
    value, new = rule(None, param, grad, kept, group, group["lr"])
    for name, each in new.items():
        state[name].copy_(each)
    param.copy_(value)


def _function(name: str, kind: Any, text: str) -> Callable[..., None]:
    """The step of an optimizer as a function."""
    signature = _signature(text)
    listed = [
        p.name for p in signature.parameters.values() if p.kind is _PLACE and p.default is _NO
    ]
    first, second, *states = listed
    step = _factored if kind is Adafactor else STEPS[kind.update]

    def call(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        group = _group(name, given)
        if not all(isinstance(count, Tensor) for count in given.get("state_steps", ())):
            raise RuntimeError(f"{name}: state_steps must be a list of tensors of one element")
        _check_gradients(name, given[first], given[second])
        for i, (param, grad) in enumerate(zip(given[first], given[second])):
            state = {_key(each): given[each][i] for each in states if given[each]}
            if kind is SGD:  # each operation of its step is the same on complex numbers
                step(param, grad, state, group)
                if state:
                    given[states[0]][i] = state["momentum_buffer"]
                continue
            shown = {key: _as_real(value) for key, value in state.items()}
            step(_as_real(param), _as_real(grad), shown, group)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"A step of {kind.__name__}, on lists with an entry for each parameter."
    vars(call)["__signature__"] = signature
    return call


def sparse_adam(
    params: list[Any],
    grads: list[Any],
    exp_avgs: list[Any],
    exp_avg_sqs: list[Any],
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """A step of SparseAdam, on lists with an entry for each parameter."""
    group = {"betas": (beta1, beta2), "eps": eps, "lr": lr, "maximize": maximize}
    writes = Writes(Spare())
    for *held, grad, count in zip(params, exp_avgs, exp_avg_sqs, grads, state_steps, strict=True):
        layer = sparse_of(grad)
        if layer is None:
            raise RuntimeError("sparse_adam: a gradient is dense; adam takes such")
        step_in_memory(held, coordinates(layer).joined(), group, count, writes)
    writes.run()


FUNCTIONS = {name: _function(name, *form) for name, form in _FORMS.items()}
globals().update(FUNCTIONS)
