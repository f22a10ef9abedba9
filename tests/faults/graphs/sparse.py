"""Graphs of sparse tensors, whose passes keep Tensors."""

from typing import Any

from tests.faults.program import Kit, graph


@graph()
def sparse_product(kit: Kit) -> Any:
    w = kit.leaf(3, 2)
    matrix = kit.lib.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], dtype=kit.lib.float64).to_sparse()

    def run() -> None:
        y = kit.watch(matrix @ (w * 2.0))
        y.register_hook(kit.hook)
        kit.finish((y.tanh() * 0.5).sum())

    return run


@graph()
def sparse_gradient(kit: Kit) -> Any:
    layer = kit.module(lambda nn: nn.Embedding(4, 2, sparse=True))
    x = kit.leaf(2)
    rows = kit.lib.tensor([1, 3, 1])

    def run() -> None:
        y = kit.watch(layer(rows))
        y.register_hook(kit.hook)
        kit.finish((y * x).exp().sum())

    return run


@graph()
def there_and_back(kit: Kit) -> Any:
    x, w = kit.leaf(2, 3), kit.leaf(3, 2)

    def run() -> None:
        there = kit.watch((x * 2.0).to_sparse())
        y = kit.watch(kit.lib.sparse.mm(there, w))
        kit.finish((y.exp() * 0.5).sum() + kit.lib.sparse.sum(there * 3.0))

    return run
