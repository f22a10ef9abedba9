"""Minima under constraints: multipliers that are learned, by two kinds of optimisers."""

import cooper
import torch
from beginnings import normal, report


class Problem(cooper.ConstrainedMinimizationProblem):
    """The point nearest to another, whose sum is 1 and whose first coordinate is small."""

    def __init__(self):
        super().__init__()
        dense = cooper.multipliers.DenseMultiplier
        kinds = cooper.ConstraintType
        self.small = cooper.Constraint(kinds.INEQUALITY, multiplier=dense(num_constraints=1))
        self.sum = cooper.Constraint(kinds.EQUALITY, multiplier=dense(num_constraints=1))

    def compute_cmp_state(self, point):
        """The distance, and by how much each constraint is missed."""
        missed = {self.small: point[:1] + 0.2, self.sum: point.sum(0, keepdim=True) - 1}
        states = {
            each: cooper.ConstraintState(violation=violation) for each, violation in missed.items()
        }
        loss = (point - normal(3)).pow(2).sum()
        return cooper.CMPState(loss=loss, observed_constraints=states)


found = {}
for kind in (cooper.optim.SimultaneousOptimizer, cooper.optim.AlternatingDualPrimalOptimizer):
    point, problem = torch.nn.Parameter(normal(3, seed=1)), Problem()
    optimizer = kind(
        primal_optimizers=torch.optim.SGD([point], lr=0.1, momentum=0.5),
        dual_optimizers=torch.optim.SGD(problem.dual_parameters(), lr=0.3, maximize=True),
        cmp=problem,
    )
    losses = [
        optimizer.roll(compute_cmp_state_kwargs={"point": point}).loss.detach() for _ in range(8)
    ]
    multipliers = [problem.small.multiplier(), problem.sum.multiplier()]
    found[kind.__name__] = [losses, point, multipliers]

for kind in (cooper.optim.ExtraSGD, cooper.optim.ExtraAdam, cooper.optim.nuPI):
    weight = torch.nn.Parameter(normal(4, seed=2))
    options = {"lr": 0.1} | ({"Kp": 0.1, "Ki": 1.0} if kind is cooper.optim.nuPI else {})
    optimizer = kind([weight], **options)
    for _ in range(3):
        for step in ("extrapolation", "step"):
            if hasattr(optimizer, step):
                optimizer.zero_grad()
                weight.pow(4).sum().backward()
                getattr(optimizer, step)()
    found[kind.__name__] = weight.detach().clone()
report(**found)
