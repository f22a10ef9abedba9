"""botorch: Gaussian processes fitted by SciPy, acquisition functions and their gradients."""

import torch
from beginnings import normal, report
from botorch.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    UpperConfidenceBound,
    qExpectedImprovement,
)
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.sampling import SobolQMCNormalSampler  # noqa: F401  # imported as users do
from botorch.sampling.base import MCSampler
from botorch.utils.multi_objective import is_non_dominated
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.set_default_dtype(torch.float64)
x = (normal(8, 2).double().sigmoid() * 4).detach()
y = (x.sin().sum(1, keepdim=True) + 0.1 * x[:, :1]).detach()
model = SingleTaskGP(
    x, y, input_transform=Normalize(2), outcome_transform=Standardize(1)
)
likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
fit_gpytorch_mll(likelihood)
candidates = (normal(3, 1, 2, seed=1).double().sigmoid() * 4).requires_grad_()


class Fixed(MCSampler):
    """Samples from base samples that both libraries have."""

    def forward(self, posterior):
        shape = self._get_extended_base_sample_shape(posterior)
        base = normal(*shape, seed=2).double()
        return posterior.rsample_from_base_samples(self.sample_shape, base)


functions = {
    "improvement": ExpectedImprovement(model, best_f=y.max()),
    "logarithm": LogExpectedImprovement(model, best_f=y.max()),
    "bound": UpperConfidenceBound(model, beta=2.0),
    "sampled": qExpectedImprovement(model, best_f=y.max(), sampler=Fixed(torch.Size([16]))),
}
results = {}
for name, function in functions.items():
    value = function(candidates)
    (gradient,) = torch.autograd.grad(value.sum(), candidates)
    results[name] = [value, gradient]
posterior = model.posterior(candidates[:, 0].detach())
report(
    **results,
    mean=posterior.mean,
    variance=posterior.variance,
    best=is_non_dominated(torch.cat([y, -x[:, :1]], 1)),
)
