"""Graphs of modules, and of calls that somebody watches."""

from typing import Any

from tests.faults.program import Kit, graph


@graph()
def linear_layers(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    x, target = kit.constant(2, 3), kit.constant(2, 2)

    def run() -> None:
        kit.finish(kit.lib.nn.functional.mse_loss(kit.watch(module(x)), target))

    return run


@graph()
def convolution(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.MaxPool2d(2)))
    x = kit.leaf(1, 1, 4, 4)

    def run() -> None:
        kit.finish(kit.watch(module(x)).sum())

    return run


@graph()
def normalization(kit: Kit) -> Any:
    norm = kit.module(
        lambda nn: nn.Sequential(
            nn.LayerNorm(4), nn.BatchNorm1d(4, track_running_stats=False), nn.GroupNorm(2, 4)
        )
    )
    x = kit.leaf(3, 4)

    def run() -> None:
        kit.finish((kit.watch(norm(x)) * x).sum())

    return run


@graph()
def attention(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.MultiheadAttention(4, 2, batch_first=True))
    x = kit.leaf(1, 3, 4)

    def run() -> None:
        y, weights = module(x, x, x)
        kit.finish((kit.watch(y) * x).sum() + weights.sum())

    return run


@graph()
def recurrent(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.LSTM(2, 2))
    x = kit.leaf(2, 1, 2)

    def run() -> None:
        y, (hidden, cell) = module(x)
        kit.finish(kit.watch(y).sum() + (hidden * cell).sum())

    return run


@graph()
def embedding(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 4)))
    words, classes = kit.lib.tensor([1, 4, 1]), kit.lib.tensor([0, 3, 2])

    def run() -> None:
        scores = kit.watch(module(words))
        kit.finish(kit.lib.nn.functional.cross_entropy(scores, classes))

    return run


@graph()
def subclass(kit: Kit) -> Any:
    class Named(kit.lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kit.at("function")
            return super().__torch_function__(func, types, args, kwargs or {})

    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch((x * w).as_subclass(Named))
        kit.finish((y.exp() * y).sum())

    return run


@graph()
def autocast(kit: Kit) -> Any:
    module = kit.module(lambda nn: nn.Linear(3, 2))
    module.float()
    x = kit.leaf(2, 3, dtype=kit.lib.float32)

    def run() -> None:
        with kit.lib.autocast("cpu", dtype=kit.lib.bfloat16):
            y = kit.watch(module(x))
            loss = (y * y).float().sum()
        kit.finish(loss)

    return run
