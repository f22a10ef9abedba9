"""Give ops and rules the loops that the wheel has of them."""

import marshal
from typing import Any

from adjoint.backends.loops import compiled
from adjoint.call.rule import ARRAY, EITHER, EXACTLY, NUMBER, TEXT, Fused, Loop
from adjoint.ops.op import TABLE, Op, take_loop
from adjoint.ops.pushing import FORWARD, PUSH, pushing


def attach_loops() -> None:
    """Attach the loops for this machine; in the pure package there are none."""
    module = compiled()
    if module is None:
        return
    users: list[Any] = marshal.loads(module.table)  # noqa: S302  of this very package
    for name, place, key, order, conditions, loop in users:
        op = TABLE[name]
        kinds = [_kind(op, place, i, kind) for i, kind in enumerate(key)]
        made = Loop(module.loops[loop], kinds, list(key), list(order), list(conditions))
        if place == FORWARD:
            op.fused = op.fused or Fused()
            op.fused.add(made)
            continue
        if place == PUSH:
            op.push = op.push or pushing(op)
        rule = op.push if place == PUSH else op.rules[place]
        assert rule is not None
        rule.fused = rule.fused or Fused()
        rule.fused.add(made)
        rule.whole = rule.fused.whole()
    for op in TABLE.values():
        if op.fused is not None:
            _shorten(op)


def _shorten(op: Op) -> None:
    """Let calls with the defaults of all options take the short form, if one loop does them."""
    assert op.fused is not None
    for loop in op.fused.loops:
        if loop.order == list(range(op.required)) == list(range(len(loop.kinds))):
            take_loop(op, loop.function)


def _kind(op: Op, place: int, argument: int, kind: Any) -> int:
    """What an argument must be: see Loop; a forward takes numbers for arrays that mix."""
    if kind == "array":
        return EITHER if place == FORWARD and argument in op.promotes else ARRAY
    if kind == "number":
        return NUMBER
    return TEXT if kind == "" else EXACTLY
