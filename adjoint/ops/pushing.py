"""The tangent of a call with several tangents as one rule: `jvp=`, or the sum of all rules."""

from typing import Any, Final

from adjoint.call.rule import GRAD, TANGENT, Rule
from adjoint.ops.op import Op

# The places of what a loop may stand for, besides the rule of an input.
FORWARD: Final = -1
PUSH: Final = -2
JOINT: Final = -3


class Terms:
    """The sum of what an op's rules make of the tangents of all its inputs."""

    def __init__(self, rules: list[Rule], sources: list[tuple[int, int]]) -> None:
        self.rules = rules
        self.sources = sources  # of the arguments: the tangents come first

    def __call__(self, *args: Any) -> Any:
        """The tangent of the result."""
        given = dict(zip(self.sources, args))
        total: Any = None
        for rule, tangent in zip(self.rules, args):
            named = [tangent if kind == GRAD else given[kind, i] for kind, i in rule.sources]
            term = rule.function(*named)
            total = term if total is None else total + term
        return total


def pushing(op: Op) -> Rule | None:
    """The rule for tangents of all inputs; None if those of single inputs do."""
    if op.jvp is not None or op.joint is not None or len(op.rules) < 2:
        return op.jvp
    rules = [rule for rule in op.rules if rule is not None]
    if len(rules) < len(op.inputs):
        return None
    named = [(TANGENT, parameter) for parameter in op.inputs]
    for rule in rules:
        named += [s for s in rule.sources if s[0] != GRAD and s not in named]
    return Rule(Terms(rules, named), named)
