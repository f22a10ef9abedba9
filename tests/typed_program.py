"""A program as users write it, with types: it runs, and mypy --strict has nothing to say."""

from collections.abc import Iterable

import adjoint
from adjoint import Tensor, nn, optim
from adjoint.autograd import Function
from adjoint.autograd.graph import saved_tensors_hooks
from adjoint.nn import functional
from adjoint.utils.checkpoint import checkpoint
from adjoint.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(3, width)
        self.scale = nn.Parameter(adjoint.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.first(x)
        return functional.relu(hidden) * self.scale


class Double(Function):
    @staticmethod
    def forward(ctx: Function, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Function, grad: Tensor) -> Tensor:
        return grad * 2


class Named(Tensor):
    name: str

    def __new__(cls, data: Tensor, name: str) -> "Named":
        made: Named = super().__new__(cls, data)
        made.name = name
        return made

    def __init__(self, data: Tensor, name: str) -> None:
        self.length = len(name)


def energy(x: Tensor, weights: Iterable[Tensor]) -> Tensor:
    return adjoint.exp(-x).sum() + adjoint.stack([w.pow(2).sum() for w in weights]).mean()


@adjoint.no_grad()
def descend(model: nn.Module, rate: float) -> int:
    for parameter in model.parameters():
        if parameter.grad is not None:
            parameter -= rate * parameter.grad
            parameter.grad.zero_()
            parameter.grad = None
    return next(model.parameters()).shape[0]


@adjoint.no_grad()
def largest(x: Tensor, count: int) -> Tensor:
    return x.topk(count).values


def tensors() -> None:
    x = adjoint.ones(3, requires_grad=True)
    y = x.sin().sum()
    y.backward()
    assert x.grad is not None
    rows: int = x.reshape(3, 1).shape[0] + x.size(0) + x.numel()
    flags: bool = x.is_leaf and x.is_floating_point() and x.allclose(x)
    total = (2 * x + 1 - x / 3) @ x.detach().clone() ** 2
    values, places = x.sort(descending=True)
    parts: tuple[Tensor, ...] = x.split(1)
    for part in [*parts, *x, x[1:], x.T, total, values, places, x == 1, abs(-x), x.grad.abs()]:
        print(part.tolist(), part.dtype, part.device, rows, flags)
    with adjoint.no_grad():
        x.add_(1, alpha=2).clamp_(min=0)
    x.data = x.data.to(adjoint.float64).view(3)
    print(x.permute(dims=(0,)), x.unsqueeze(-1).mT, adjoint.cat([x, x], dim=0), largest(x, 2))
    print(adjoint.linalg.norm(x), adjoint.fft.fft(x).real, adjoint.special.expit(x)[0].item())


def derivatives() -> None:
    x = adjoint.linspace(0, 1, 3, dtype=adjoint.float64).requires_grad_()
    handle = x.register_hook(lambda grad: grad * 2, name="twice")
    with handle, saved_tensors_hooks(lambda t: t, lambda t: t):
        (slope,) = adjoint.autograd.grad(energy(x, [x]), [x], create_graph=True)
    double: Tensor = Double.apply(x)
    named = Named(double, "twice")
    print(named.name, named.length, (named + 1).sum().item())
    print(slope, double.grad_fn, adjoint.autograd.gradcheck(adjoint.sin, (x,)))


def training() -> None:
    model = Net(4)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1)
    data = TensorDataset(adjoint.rand(8, 3), adjoint.zeros(8, 4))
    for inputs, targets in DataLoader(data, batch_size=4):
        loss = functional.mse_loss(checkpoint(model, inputs, use_reentrant=False), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(descend(model, 0.1), model.scale.grad)
    noise = adjoint.distributions.Normal(0.0, 1.0).rsample((2,))
    print(noise.shape, {name: parameter.norm() for name, parameter in model.named_parameters()})


if __name__ == "__main__":
    tensors()
    derivatives()
    training()
