"""What is timed: each builder gets a package with PyTorch's names and answers a Work to step.

Freeing the graph belongs to the backward. The arrays are the same for every package.
"""

import importlib
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, thread_time
from typing import Any

import numpy as np

SIZES = (64, 128, 128, 10)
BATCH = 32
RATE = 0.01
CLOCKS = {"wall": perf_counter, "processor": thread_time}


class Work:
    """A step to time, and the leaves whose gradients two packages must agree on."""

    clock: Callable[[], float] = staticmethod(perf_counter)

    def __init__(self, loss: Callable[[], Any], leaves: list[Any]) -> None:
        self.loss = loss
        self.leaves = leaves

    def step(self) -> tuple[float, float]:
        """The seconds that one forward and one backward take."""
        for leaf in self.leaves:
            leaf.grad = None
        begin = self.clock()
        loss = self.loss()
        middle = self.clock()
        self.backward(loss)
        del loss
        return middle - begin, self.clock() - middle

    def backward(self, loss: Any) -> None:
        """What follows the forward."""
        loss.backward()

    def gradients(self) -> list[np.ndarray]:
        """The gradients of one step."""
        self.step()
        return [leaf.grad.numpy() for leaf in self.leaves]


class Training(Work):
    """The step of an optimiser belongs to the work."""

    def __init__(self, package: Any, loss: Callable[[], Any], leaves: list[Any]) -> None:
        super().__init__(loss, leaves)
        self.no_grad = package.no_grad

    def backward(self, loss: Any) -> None:
        loss.backward()
        with self.no_grad():
            for leaf in self.leaves:
                leaf.sub_(leaf.grad, alpha=RATE)


class Inference(Work):
    """A forward where nothing is recorded; its result stands for gradients."""

    def __init__(self, package: Any, result: Callable[[], Any]) -> None:
        super().__init__(result, [])
        self.no_grad = package.no_grad

    def step(self) -> tuple[float, float]:
        begin = self.clock()
        self.gradients()
        return self.clock() - begin, 0.0

    def gradients(self) -> list[np.ndarray]:
        with self.no_grad():
            return [self.loss().numpy()]


class HessianVector(Work):
    """The derivative of a derivative along a direction."""

    def __init__(
        self, package: Any, loss: Callable[[], Any], leaves: list[Any], directions: list[Any]
    ) -> None:
        super().__init__(loss, leaves)
        self.grad = package.autograd.grad
        self.directions = directions
        self.products: tuple[Any, ...] = ()

    def backward(self, loss: Any) -> None:
        first = self.grad(loss, self.leaves, create_graph=True)
        self.products = self.grad(first, self.leaves, self.directions)

    def gradients(self) -> list[np.ndarray]:
        self.step()
        return [product.numpy() for product in self.products]


def _leaf(package: Any, array: Any) -> Any:
    return package.from_numpy(np.asarray(array, np.float32)).requires_grad_()


def _chain(package: Any, size: int, rounds: int) -> Work:
    """mul, add and tanh in turn: the cost of one call and of one node."""
    x = _leaf(package, np.linspace(0.1, 0.3, size))
    scale = package.from_numpy(np.full(size, 1.01, np.float32))
    shift = package.from_numpy(np.full(size, 0.001, np.float32))
    tanh = package.tanh

    def loss() -> Any:
        h = x
        for _ in range(rounds):
            h = h * scale
            h = h + shift
            h = tanh(h)
        return h.sum()

    return Work(loss, [x])


def tiny_1(package: Any) -> Work:
    """1,000 small ops on 1 element."""
    return _chain(package, 1, 333)


def tiny_8(package: Any) -> Work:
    """1,000 small ops on 8 elements."""
    return _chain(package, 8, 333)


def nograd(package: Any) -> Work:
    """The same under no_grad, forward alone."""
    return Inference(package, tiny_8(package).loss)


def rosenbrock(package: Any) -> Work:
    """Rosenbrock's function of 10 variables."""
    x = _leaf(package, np.linspace(-1, 1, 10))

    def loss() -> Any:
        a, b = x[:-1], x[1:]
        return (100.0 * (b - a**2) ** 2 + (1.0 - a) ** 2).sum()

    return Work(loss, [x])


def deep(package: Any) -> Work:
    """A chain of 100,000 nodes."""
    x = _leaf(package, [0.5])
    scale = package.from_numpy(np.full(1, 0.99999, np.float32))
    shift = package.from_numpy(np.full(1, 1e-5, np.float32))

    def loss() -> Any:
        h = x
        for _ in range(50_000):
            h = h * scale
            h = h + shift
        return h.sum()

    return Work(loss, [x])


def wide(package: Any) -> Work:
    """10,000 leaves, multiplied and added in a tree."""
    leaves = [_leaf(package, [value]) for value in np.linspace(0.48, 0.52, 10_000)]

    def loss() -> Any:
        level, product = list(leaves), True
        while len(level) > 1:
            pairs = list(zip(level[::2], level[1::2], strict=False))
            rest = level[len(pairs) * 2 :]
            level = [a * b if product else a + b for a, b in pairs] + rest
            product = not product
        return level[0].sum()

    return Work(loss, leaves)


def _classifier(package: Any, activation: str) -> tuple[list[Any], Callable[..., Any]]:
    """The parameters of a small classifier, and its loss on one batch."""
    functional = importlib.import_module(f"{package.__name__}.nn.functional")
    active = getattr(package, activation)
    rng = np.random.default_rng(0)
    leaves = []
    for inputs, outputs in pairwise(SIZES):
        leaves.append(_leaf(package, rng.normal(0, inputs**-0.5, (outputs, inputs))))
        leaves.append(_leaf(package, rng.normal(0, 0.1, outputs)))
    x = package.from_numpy(rng.normal(size=(BATCH, SIZES[0])).astype(np.float32))
    labels = package.from_numpy(rng.integers(0, SIZES[-1], BATCH))

    def loss(watch: Callable[[Any], Any] = lambda value: value) -> Any:
        h = x
        for i in range(0, len(leaves) - 2, 2):
            h = watch(functional.linear(h, leaves[i], leaves[i + 1]))
            h = watch(active(h))
        h = watch(functional.linear(h, leaves[-2], leaves[-1]))
        return watch(functional.cross_entropy(h, labels))

    return leaves, loss


def mlp_small(package: Any) -> Work:
    """A training step of a small classifier (32 x 64-128-128-10, SGD)."""
    leaves, loss = _classifier(package, "relu")
    return Training(package, loss, leaves)


def hooks(package: Any) -> Work:
    """The small classifier with a hook on each activation and each parameter."""
    leaves, loss = _classifier(package, "relu")
    for leaf in leaves:
        leaf.register_post_accumulate_grad_hook(lambda leaf: None)

    def watch(value: Any) -> Any:
        value.register_hook(lambda grad: None)
        return value

    return Work(lambda: loss(watch), leaves)


def module_hooks(package: Any) -> Work:
    """The small classifier of modules, a forward and a full backward hook on each."""
    leaves, _ = _classifier(package, "relu")
    nn = importlib.import_module(f"{package.__name__}.nn")
    layers = []
    for i, (inputs, outputs) in enumerate(pairwise(SIZES)):
        layer = nn.Linear(inputs, outputs)
        layer.weight, layer.bias = nn.Parameter(leaves[2 * i]), nn.Parameter(leaves[2 * i + 1])
        layers += [layer, nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    for module in model.modules():
        module.register_forward_hook(lambda module, args, output: None)
        module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    rng = np.random.default_rng(0)
    x = _leaf(package, rng.normal(size=(BATCH, SIZES[0])))  # or both warn at every call
    labels = package.from_numpy(rng.integers(0, SIZES[-1], BATCH))
    return Work(lambda: nn.functional.cross_entropy(model(x), labels), list(model.parameters()))


def hvp(package: Any) -> Work:
    """A Hessian-vector product of the small classifier."""
    leaves, loss = _classifier(package, "tanh")
    rng = np.random.default_rng(1)
    directions = [
        package.from_numpy(rng.normal(size=tuple(leaf.shape)).astype(np.float32)) for leaf in leaves
    ]
    return HessianVector(package, loss, leaves, directions)


def big(package: Any) -> Work:
    """sum(tanh(x*y + z) * exp(-x*x)) of 10,000,000 elements."""
    rng = np.random.default_rng(0)
    x, y, z = (_leaf(package, rng.standard_normal(10_000_000, np.float32)) for _ in range(3))
    tanh, exp = package.tanh, package.exp
    return Work(lambda: (tanh(x * y + z) * exp(-x * x)).sum(), [x, y, z])


def transformer(package: Any) -> Work:
    """A training step of one transformer block (8 x 128 x 256, 8 heads, pre-norm, GELU)."""
    functional = importlib.import_module(f"{package.__name__}.nn.functional")
    rng = np.random.default_rng(0)
    batch, length, width, heads = 8, 128, 256, 8

    def parameter(*shape: int) -> Any:
        scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.1
        return _leaf(package, rng.normal(len(shape) == 1, scale, shape).astype(np.float32))

    shapes = [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,)]
    shapes += [(width,), (width,), (4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    leaves = [parameter(*shape) for shape in shapes]
    given = package.tensor(rng.standard_normal((batch, length, width), np.float32))

    def loss() -> Any:
        norm1, shift1, wide, wide_bias, out, out_bias, norm2, shift2, up, up_bias, down, end = (
            leaves
        )
        x = functional.layer_norm(given, (width,), norm1, shift1)
        x = functional.linear(x, wide, wide_bias).reshape(batch, length, 3, heads, width // heads)
        queries, keys, values = x.permute(2, 0, 3, 1, 4).unbind(0)
        x = functional.scaled_dot_product_attention(queries, keys, values)
        x = x.permute(0, 2, 1, 3).reshape(batch, length, width)
        x = given + functional.linear(x, out, out_bias)
        y = functional.linear(functional.layer_norm(x, (width,), norm2, shift2), up, up_bias)
        x = x + functional.linear(functional.gelu(y, approximate="tanh"), down, end)
        return (x * x).mean()

    return Training(package, loss, leaves)


WORKLOADS: dict[str, Callable[[Any], Work]] = {
    build.__name__: build
    for build in (
        tiny_1,
        tiny_8,
        nograd,
        rosenbrock,
        deep,
        wide,
        mlp_small,
        hooks,
        module_hooks,
        hvp,
        transformer,
        big,
    )
}
