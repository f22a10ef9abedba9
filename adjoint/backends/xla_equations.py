"""Equations of a trace of JAX's: which of them are needed, what they read, and how products do."""

from typing import Any

import jax
import jax.extend.core

_jax: Any = jax  # for its functions without type hints
_core: Any = jax.extend.core


def is_literal(var: Any) -> bool:
    """Whether a variable of an equation is a number written there."""
    return isinstance(var, _core.Literal)


def needed(equations: Any, outputs: list[Any], host: Any) -> list[Any]:
    """The equations that an output, or a call on the host, needs."""
    wanted = {var for var in outputs if not is_literal(var)}
    kept: list[Any] = []
    for equation in reversed(equations):
        used = not wanted.isdisjoint(equation.outvars)
        if used or equation.primitive is host or equation.effects:
            kept.append(equation)
            wanted.update(var for var in equation.invars if not is_literal(var))
    return kept[::-1]


def untransposed(equations: Any) -> list[Any]:
    """Equations whose products read matrices as they lie, not transposed.

    XLA compiles a transposition by itself as a loop of its own: a third of the time of small nets.
    """
    turned: dict[Any, Any] = {}  # what a transposition makes, by its variable
    found = []
    for equation in equations:
        if equation.primitive is _jax.lax.transpose_p:
            turned[equation.outvars[0]] = equation
        elif equation.primitive is _jax.lax.dot_general_p:
            equation = _reading_as_it_lies(equation, turned)
        found.append(equation)
    return found


def _reading_as_it_lies(product: Any, turned: dict[Any, Any]) -> Any:
    """A product of what was transposed, if the dimensions that stay keep their order."""
    contracted, batch = (list(each) for each in product.params["dimension_numbers"])
    sides = list(product.invars)
    for n, side in enumerate(sides):
        before = None if is_literal(side) else turned.get(side)
        if before is None:
            continue
        order = before.params["permutation"]
        bound = {*contracted[n], *batch[n]}
        staying = [dim for at, dim in enumerate(order) if at not in bound]
        if staying == sorted(staying):
            sides[n] = before.invars[0]
            contracted[n] = tuple(order[at] for at in contracted[n])
            batch[n] = tuple(order[at] for at in batch[n])
    if sides == product.invars:
        return product
    numbers = (tuple(contracted), tuple(batch))
    params = {**product.params, "dimension_numbers": numbers}
    return product.replace(invars=sides, params=params)


def read(equations: list[Any]) -> set[Any]:
    """The variables that equations read."""
    return {var for e in equations for var in e.invars if not is_literal(var)}
