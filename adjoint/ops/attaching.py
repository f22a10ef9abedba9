"""Give ops and rules the loops that the wheel has of them, and the kernels of a GPU."""

import itertools
import marshal
from functools import partial
from typing import Any

from adjoint.backends.error_state import ufunc_of
from adjoint.backends.loops import compiled
from adjoint.call.dispatch import run_forward
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
    Kernels,
    Loop,
    RowLoop,
    Rows,
)
from adjoint.ops.op import TABLE, Op, take_loop
from adjoint.ops.pushing import FORWARD, JOINT, PUSH, pushing
from adjoint.tensors.upper import upper


def attach_loops() -> None:
    """Attach the loops for this machine; in the pure package there are none."""
    module = compiled()
    if module is None:
        return
    users, of_rows, _, of_pairs = marshal.loads(module.table)  # noqa: S302  of this very package
    for name, place, key, order, conditions, limited, loop in users:
        op = TABLE[name]
        kinds = [_kind(op, place, i, kind) for i, kind in enumerate(key)]
        function = module.loops[loop]
        narrows = not limited and bool(op.wide)
        made = Loop(function, kinds, list(key), list(order), list(conditions), narrows)
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
    for op in TABLE.values():
        direct = None if op.looped else ufunc_of(op.direct)
        if op.diagonal and op.wide and direct is not None:
            op.fused = op.fused or Fused()
            op.fused.direct, op.fused.defaults = direct, op.defaults
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


# ---- kernels of a GPU ----


class _Stand:
    """Stands for an array, to find the kernel of a call with defaults."""


def attach_kernels(op: Op, backend: Any) -> None:
    """Trace an op for the GPU, and give it and its rules what was found; at its first call."""
    from adjoint.backends.loops.cuda import Printed, UnprintableError
    from adjoint.ops.tracing import Traced, traced  # loaded where something is traced

    made = Kernels(backend.array_type)
    by_rule: dict[int, Kernels] = {}
    found = list(traced(op)) if op.family == "elementwise" else []
    for each in found:
        if not isinstance(each, Traced) or each.results[0].function == "array":
            continue  # what answers an argument as it is needs no kernel
        arrays = [each.names[i] for i in each.arrays]
        numbers = [each.names[i] for i in each.numbers]
        try:
            texts = {str(r.graph.kind): Printed(r, arrays, numbers) for r in each.results}
        except UnprintableError:
            continue
        kinds = [_kind(op, each.place, i, kind) for i, kind in enumerate(each.key)]
        order = [*each.arrays, *each.numbers]
        conditions = list(each.conditions)
        loop = Loop(backend.kernel(texts), kinds, list(each.key), order, conditions, True)
        if each.place == FORWARD:
            made.add(loop)
        elif each.place != PUSH:
            by_rule.setdefault(each.place, Kernels(backend.array_type)).add(loop)
    if op.family != "elementwise":
        made.forward = partial(_forward, op, backend.xp)
    elif not op.ordered:
        made.brief = _brief(op, made)
    for place, kernels in by_rule.items():
        rule = op.rules[place]
        assert rule is not None
        rule.fused = rule.fused or Fused()
        rule.fused.kernels = kernels
    op.kernels = made


def _forward(op: Op, xp: Any, *args: Any) -> Any:
    """The forward of an op on arrays of a library, with the defaults of all options."""
    return run_forward(op, xp, [*args, *op.defaults[op.required :]])


def _brief(op: Op, kernels: Kernels) -> Any:
    """The kernel of a call with the defaults of all options, of its arguments in their order."""
    args = [*[_Stand() for _ in range(op.required)], *op.defaults[op.required :]]
    for loop in kernels.loops:
        if loop.order == list(range(op.required)) and loop.fits(args, _Stand):
            return loop.function
    return None


upper.attach_kernels = attach_kernels
