"""An exact Gaussian process trained and asked, and a variational one."""

import gpytorch
import torch
from beginnings import normal, report

x = torch.linspace(0, 1, 20)
y = torch.sin(x * 6) + normal(20, scale=0.1)


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(likelihood)
marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
model.train()
likelihood.train()
losses = []
for _ in range(8):
    optimizer.zero_grad()
    loss = -marginal(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
model.eval()
likelihood.eval()
with torch.no_grad():
    answer = likelihood(model(torch.linspace(0, 1, 7) + 0.02))
results = {"exact": [losses, answer.mean, answer.variance]}


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self):
        points = torch.linspace(0, 1, 5)
        distribution = gpytorch.variational.CholeskyVariationalDistribution(5)
        super().__init__(gpytorch.variational.VariationalStrategy(self, points, distribution))
        self.mean_module = gpytorch.means.ZeroMean()
        self.covar_module = gpytorch.kernels.MaternKernel(nu=1.5)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


model, likelihood = Variational(), gpytorch.likelihoods.GaussianLikelihood()
bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=20)
model.variational_strategy.variational_params_initialized.fill_(1)
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
losses = []
for _ in range(5):
    optimizer.zero_grad()
    loss = -bound(model(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss)
results["variational"] = losses
report(**results)
