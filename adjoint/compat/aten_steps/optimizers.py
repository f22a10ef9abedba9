"""The steps of optimizers as PyTorch makes them, parameter by parameter: modes are shown these."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from adjoint.autograd.grad_mode import no_grad
from adjoint.compat.aten_steps.asking import unseen
from adjoint.creation.factories import full_like, ones, tensor, zeros, zeros_like
from adjoint.dtypes import float32
from adjoint.ops.arranging.conversion import clone, preserve_format
from adjoint.ops.elementwise.selection import maximum
from adjoint.optim.adam import Adam, Adamax, NAdam, RAdam
from adjoint.optim.adaptive import Adadelta, Adagrad, RMSprop, Rprop
from adjoint.optim.elementwise import refuse_sparse_state
from adjoint.optim.optimizer import scalar_dtype
from adjoint.optim.plans import check_shapes, check_writable
from adjoint.optim.sgd import ASGD, SGD
from adjoint.optim.writes import Writes
from adjoint.tensors.core import F32, F64
from adjoint.tensors.tensor import Tensor

Group = dict[str, Any]
State = dict[str, Any]
# What changes a parameter: its gradient, its state, and the settings of its group.
Step = Callable[[Any, Any, State, Group], None]


def _downhill(grad: Any, group: Group) -> Any:
    return -grad if group["maximize"] else grad


def _penalized(param: Any, grad: Any, group: Group) -> Any:
    decay = group["weight_decay"]
    return grad if decay == 0 else grad.add(param, alpha=decay)


def _decayed(param: Any, grad: Any, group: Group) -> Any:
    """The gradient with weight decay, or as it is if the parameter itself decays, here."""
    if not group["decoupled_weight_decay"] or group["weight_decay"] == 0:
        return _penalized(param, grad, group)
    param.mul_(1 - group["lr"] * group["weight_decay"])
    return grad


def _sgd(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    momentum = group["momentum"]
    grad = _penalized(param, grad, group)
    if momentum != 0:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    param.add_(grad, alpha=-group["lr"])


def _moments(grad: Any, state: State, group: Group) -> tuple[Any, Any]:
    """The running means of gradients and of their squares."""
    beta1, beta2 = group["betas"]
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    return mean, square


def _adam(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    beta1, beta2 = group["betas"]
    state["step"].add_(1)
    grad = _decayed(param, grad, group)
    mean, square = _moments(grad, state, group)
    step = state["step"].item()
    size = group["lr"] / (1 - beta1**step)
    if group["amsgrad"]:
        greatest = state["max_exp_avg_sq"]
        square = maximum(greatest, square, out=greatest)
    root = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
    param.addcdiv_(mean, root, value=-size)


def _nadam(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    beta1, beta2 = group["betas"]
    state["step"].add_(1)
    step = state["step"].item()
    grad = _decayed(param, grad, group)
    decay = group["momentum_decay"]
    mu, following = (beta1 * (1.0 - 0.5 * 0.96 ** (at * decay)) for at in (step, step + 1))
    product = state["mu_product"]
    product.mul_(mu)
    mean, square = _moments(grad, state, group)
    root = square.div(1 - beta2**step).sqrt()
    ahead = product.item() * following
    root.add_(group["eps"])
    param.addcdiv_(grad, root, value=-group["lr"] * (1.0 - mu) / (1.0 - product.item()))
    param.addcdiv_(mean, root, value=-group["lr"] * following / (1.0 - ahead))


def _radam(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    beta1, beta2 = group["betas"]
    state["step"].add_(1)
    step = state["step"].item()
    grad = _decayed(param, grad, group)
    mean, square = _moments(grad, state, group)
    correction = 1 - beta2**step
    scaled = mean / (1 - beta1**step)
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction
    moved = scaled * group["lr"]
    if length > 5.0:
        adaptive = math.sqrt(correction) / square.sqrt().add_(group["eps"])
        rest = (longest - 4) * (longest - 2) * length
        moved = moved * adaptive * math.sqrt((length - 4) * (length - 2) * longest / rest)
    param.add_(moved, alpha=-1.0)


def _adamax(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    beta1, beta2 = group["betas"]
    state["step"].add_(1)
    grad = _penalized(param, grad, group)
    mean, peak = state["exp_avg"], state["exp_inf"]
    mean.lerp_(grad, 1 - beta1)
    maximum(peak.mul_(beta2), grad.abs().add_(group["eps"]), out=peak)
    correction = 1 - beta1 ** state["step"].item()
    param.addcdiv_(mean, peak, value=-(group["lr"] / correction))


def _rmsprop(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    alpha = group["alpha"]
    state["step"].add_(1)
    grad = _penalized(param, grad, group)
    square = state["square_avg"]
    square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if group["centered"]:
        mean = state["grad_avg"]
        mean.lerp_(grad, 1 - alpha)
        root = square.addcmul(mean, mean, value=-1).sqrt_()
    else:
        root = square.sqrt()
    root = root.add_(group["eps"])
    if group["momentum"] > 0:
        buffer = state["momentum_buffer"]
        buffer.mul_(group["momentum"]).addcdiv_(grad, root)
        param.add_(buffer, alpha=-group["lr"])
    else:
        param.addcdiv_(grad, root, value=-group["lr"])


def _adagrad(param: Any, grad: Any, state: State, group: Group) -> None:
    state["step"].add_(1)
    step = state["step"].item()
    grad = _penalized(param, _downhill(grad, group), group)
    size = group["lr"] / (1 + (step - 1) * group["lr_decay"])
    state["sum"].addcmul_(grad, grad)
    root = state["sum"].sqrt().add_(group["eps"])
    param.addcdiv_(grad, root, value=-size)


def _adadelta(param: Any, grad: Any, state: State, group: Group) -> None:
    rho, eps = group["rho"], group["eps"]
    state["step"].add_(1)
    grad = _penalized(param, _downhill(grad, group), group)
    square, steps = state["square_avg"], state["acc_delta"]
    square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    root = square.add(eps).sqrt_()
    delta = steps.add(eps).sqrt_().div_(root).mul_(grad)
    steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
    param.add_(delta, alpha=-group["lr"])


def _rprop(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    shrink, grow = group["etas"]
    state["step"].add_(1)
    previous, size = state["prev"], state["step_size"]
    factor = grad.mul(previous).sign()
    factor[factor.gt(0)] = grow
    factor[factor.lt(0)] = shrink
    factor[factor.eq(0)] = 1
    size.mul_(factor).clamp_(*group["step_sizes"])
    grad = grad.clone(memory_format=preserve_format)
    grad[factor.eq(shrink)] = 0
    param.addcmul_(grad.sign(), size, value=-1)
    previous.copy_(grad)


def _asgd(param: Any, grad: Any, state: State, group: Group) -> None:
    grad = _downhill(grad, group)
    lr, lambd = group["lr"], group["lambd"]
    state["step"].add_(1)
    grad = _penalized(param, grad, group)
    eta = state["eta"].item()
    param.mul_(1 - lambd * eta)
    param.add_(grad, alpha=-eta)
    mean, mu = state["ax"], state["mu"]
    if mu.item() == 1:
        mean.copy_(param)
    else:
        mean.add_(param.sub(mean).mul_(mu))
    step = state["step"].item()
    new = lr / ((1 + lambd * lr * step) ** group["alpha"])
    state["eta"].copy_(new if isinstance(new, Tensor) else tensor(new))
    mu.copy_(tensor(1 / max(1, step - group["t0"])))


# By the rule of a class: those that only have other settings are the same.
STEPS: Final[dict[Any, Step]] = {
    SGD.update: _sgd,
    ASGD.update: _asgd,
    Adam.update: _adam,
    Adamax.update: _adamax,
    NAdam.update: _nadam,
    RAdam.update: _radam,
    Adagrad.update: _adagrad,
    Adadelta.update: _adadelta,
    RMSprop.update: _rmsprop,
    Rprop.update: _rprop,
}
_WITH_ZEROS: Final = (ASGD, Adadelta, RMSprop, Rprop)  # whose counters are not made from numbers


def stepped(optimizer: Any, params: list[Any], group: Group, writes: Writes) -> bool:
    """See tensors.upper; complex numbers and those of 16 bits are left to adjoint's rules."""
    steps = STEPS.get(optimizer.update)
    if steps is None or group.get("capturable") or not all(map(_is_plain, params)):
        return False
    if any(isinstance(beta, Tensor) for beta in group.get("betas", ())):
        return False
    held: list[Any] = list(params)
    tables: list[State] = [optimizer.state]
    for param in params:
        own = optimizer.state.get(param, {})
        refuse_sparse_state(param, own)
        names = [name for name in optimizer.arrays(group) if own.get(name) is not None]
        arrays = [own[name].array for name in names]
        check_shapes([param.array, param.grad.array, *arrays], names)
        check_writable([param.array, *arrays])
        held += [each for each in own.values() if isinstance(each, Tensor)]
        tables.append(own)
    writes.change(partial(_step, steps, optimizer, params, group), held, tables)
    return True


def _is_plain(param: Any) -> bool:
    parts = (param, param.grad)
    kinds = {part.array.dtype for part in parts}
    return all(part.layer is None for part in parts) and len(kinds) == 1 and kinds <= {F32, F64}


def _step(steps: Step, optimizer: Any, params: list[Any], group: Group) -> None:
    """The state of all parameters of a group is made first."""
    with no_grad():
        for param in params:
            _begin(optimizer, param, group)
        for param in params:
            kept = bool(optimizer.counts(group) or optimizer.arrays(group))
            steps(param, param.grad, optimizer.state[param] if kept else {}, group)


def _begin(optimizer: Any, param: Any, group: Group) -> None:
    """Give a parameter the state that it lacks."""
    counts, arrays = optimizer.counts(group), optimizer.arrays(group)
    if not counts:
        return  # a buffer begins as the first gradient
    state = optimizer.state[param]
    for name, first in counts.items():
        if name not in state:
            state[name] = _kept(partial(_counter, optimizer, name, first, group))
    for name, first in arrays.items():
        if state.get(name) is None:
            zero = partial(zeros_like, param, memory_format=preserve_format)
            state[name] = _kept(partial(full_like, param, first) if first else zero)


def _counter(optimizer: Any, name: str, first: Any, group: Group) -> Any:
    kind = float32 if group.get("fused") else scalar_dtype()
    if name == "eta":
        return clone(tensor(first, dtype=kind)).detach()
    if group.get("fused") or isinstance(optimizer, _WITH_ZEROS):
        return ones((), dtype=kind) if first else zeros((), dtype=kind)
    return tensor(first, dtype=kind)


def _kept(make: Callable[[], Any]) -> Any:
    """A new state as modes answer it, if that has memory to be kept."""
    seen = make()
    if seen.layer is None:
        return seen
    with unseen():
        return make()
