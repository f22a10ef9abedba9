"""Graphs of operations."""

import functools
from typing import Any

from tests.faults.program import Kit, graph


@graph()
def chain(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        y = kit.watch((x.exp() * 2.0).tanh())
        kit.finish(kit.watch((y.sin() + y * x).sum()))

    return run


@graph()
def shared_leaves(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * w + x)
        z = kit.watch(y * x - w / y)
        kit.finish((z + z * w + x).sum())

    return run


@graph()
def broadcasting(kit: Kit) -> Any:
    a, b, c = kit.leaf(2, 3), kit.leaf(3), kit.leaf(2, 1)

    def run() -> None:
        y = kit.watch(a * b + c)
        kit.finish(kit.watch((y / (c * c + b)).exp()).mean())

    return run


@graph()
def products(kit: Kit) -> Any:
    a, b = kit.leaf(2, 3), kit.leaf(3, 2)

    def run() -> None:
        y = kit.watch(a @ b)
        kit.finish(kit.watch((y.T @ a) @ b).trace())

    return run


@graph()
def reductions(kit: Kit) -> Any:
    x = kit.leaf(2, 3)

    def run() -> None:
        y = kit.watch(x.var(1) + x.mean(1) + x.prod(1))
        kit.finish((y * x.amax(1)).sum() + x.logsumexp(0).sum())

    return run


@graph()
def views(kit: Kit) -> Any:
    x = kit.leaf(4, 3)

    def run() -> None:
        y = kit.watch(x * 1.5)
        z = kit.watch(y.reshape(3, 4).transpose(0, 1)[1:3])
        kit.finish((z.select(0, 1) * y.view(-1)[::4] + z.diagonal().sum()).sum())

    return run


@graph()
def in_place(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * 2.0)
        y.add_(w).mul_(w)
        y.sub_(1.0)
        kit.finish(kit.watch(y * y).sum())

    return run


@graph()
def in_place_through_views(kit: Kit) -> Any:
    x, w = kit.leaf(2, 3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * 1.0)
        y[0] = w * 2.0
        kit.watch(y[1]).mul_(w)
        y.view(-1)[1:3].add_(1.0)
        kit.finish((y * y).sum())

    return run


@graph()
def several_outputs(kit: Kit) -> Any:
    x = kit.leaf(4, 3)

    def run() -> None:
        first, second = kit.watch(x * x).split(2)
        a, b, c = first.unbind(1)
        kit.finish((a * b).sum() + (c * second.chunk(3, 1)[0].sum()).sum())

    return run


@graph()
def sorting(kit: Kit) -> Any:
    x = kit.leaf(3, 4)

    def run() -> None:
        best, _ = kit.watch(x * 2.0).topk(2)
        ordered, _ = x.sort(1)
        kit.finish(best.sum() + (ordered * x.max(1, keepdim=True)[0]).sum() + x.median())

    return run


@graph()
def linear_algebra(kit: Kit) -> Any:
    a, b = kit.leaf(3, 3), kit.leaf(3, 1)

    def run() -> None:
        m = kit.watch(a @ a.T + kit.lib.eye(3, dtype=kit.lib.float64) * 3.0)
        values, vectors = kit.lib.linalg.eigh(m)
        solved = kit.lib.linalg.solve(m, b)
        kit.finish(solved.sum() + values.sum() + (vectors * vectors).sum())

    return run


@graph()
def lists(kit: Kit) -> Any:
    a, b = kit.leaf(2, 3), kit.leaf(2, 3)

    def run() -> None:
        joined = kit.watch(kit.lib.cat([a, b, a], 0))
        stacked = kit.watch(kit.lib.stack([a, b * 2.0, joined[:2]]))
        kit.finish((stacked.sum(0) * a).sum() + joined.sum())

    return run


@graph()
def long_list(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        kit.finish((kit.watch(kit.lib.stack([x * float(i) for i in range(12)])) ** 2).sum())

    return run


@graph()
def indexing(kit: Kit) -> Any:
    x, w = kit.leaf(4, 3), kit.leaf(2, 3)
    rows = kit.lib.tensor([0, 2])

    def run() -> None:
        y = kit.watch(x * 2.0)
        picked = kit.watch(y[rows] + y.index_select(0, rows))
        y = y.index_add(0, rows, w)
        y = y.scatter(0, rows.view(1, 2), w[:1, :2])
        kit.finish((picked * y.gather(0, rows.view(2, 1).expand(2, 3))).sum())

    return run


@graph()
def choices(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(kit.lib.where(x > 1.0, x * w, w.exp()))
        kit.finish((y.clamp(0.6, 2.0) + y.relu() + y.masked_fill(x < 0.8, 0.0)).sum())

    return run


@graph()
def complex_numbers(kit: Kit) -> Any:
    x, w = kit.leaf(3), kit.leaf(3)

    def run() -> None:
        z = kit.watch(kit.lib.complex(x, w))
        kit.finish((z * z.conj() + z.exp()).abs().sum())

    return run


@graph()
def data_types(kit: Kit) -> Any:
    x, w = kit.leaf(3, dtype=kit.lib.float32), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x * w)
        kit.finish((y.float() * x + w.to(kit.lib.float32)).double().sum())

    return run


@graph()
def wide(kit: Kit) -> Any:
    x = kit.leaf(3)

    def run() -> None:
        made = [kit.watch((x * float(i)).exp()) for i in range(6)]
        kit.finish(functools.reduce(lambda a, b: a + b, made).sum())

    return run


@graph()
def expanded_and_missing(kit: Kit) -> Any:
    x, w, unused = kit.leaf(3), kit.leaf(2, 3), kit.leaf(3)

    def run() -> None:
        y = kit.watch(x.expand(2, 3))
        first, second, _ = kit.watch(w * 1.0).unbind(1)
        kit.finish(y.sum() + first.sum() + (unused.detach() * x).sum())

    return run
