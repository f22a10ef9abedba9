"""Give ops and rules the loops that the wheel has of them."""

import itertools
import marshal
from typing import Any

from adjoint.backends.loops import compiled
from adjoint.call.fused import (
    ARRAY,
    COLUMN,
    EITHER,
    EXACTLY,
    MADE,
    NONE,
    NUMBER,
    TEXT,
    Fused,
    Loop,
    RowLoop,
    Rows,
)
from adjoint.ops.op import TABLE, Op, take_loop
from adjoint.ops.pushing import FORWARD, JOINT, PUSH, pushing


def attach_loops() -> None:
    """Attach the loops for this machine; in the pure package there are none."""
    module = compiled()
    if module is None:
        return
    users, of_rows, _, of_pairs = marshal.loads(module.table)  # noqa: S302  of this very package
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
    for name, place, key, order, answers, loop in of_rows:
        _attach_rows(TABLE[name], place, key, order, answers, module.loops[loop])
    for name, moved, loop in of_pairs:
        TABLE[name].pairs[moved] = module.loops[loop]


def _attach_rows(op: Op, place: int, key: Any, order: Any, answers: Any, function: Any) -> None:
    """Attach a loop over rows to a forward or a rule."""
    numbers = itertools.count(MADE)
    found = [NONE if a is None else next(numbers) if a == "computed" else a for a in answers]
    kinds = [{"array": ARRAY, "column": COLUMN, "number": NUMBER}.get(k, EXACTLY) for k in key]
    several = op.outputs is not None if place == FORWARD else place == JOINT
    made = RowLoop(function, kinds, list(key), list(order), found, several)
    if place == FORWARD:
        rows = op.fused = op.fused or Rows()
    else:
        rule = op.joint if place == JOINT else op.rules[place]
        assert rule is not None
        rows = rule.fused = rule.fused or Rows()
    assert isinstance(rows, Rows)
    rows.over_rows.append(made)


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
    return TEXT if isinstance(kind, str) and not kind else EXACTLY
