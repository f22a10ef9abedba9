"""The largest eigenvalue of a loss's Hessian by power iteration, from a fixed start."""

import torch
from beginnings import filled, normal, report
from pyhessian import hessian
from pyhessian.utils import get_params_grad, hessian_vector_product, normalization

model = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)))
data = (normal(6, 3), torch.tensor([0, 1, 0, 1, 1, 0]))
found = hessian(model, torch.nn.CrossEntropyLoss(), data=data, cuda=False)
eigenvalues, _ = found.eigenvalues(maxIter=300, tol=1e-7, top_n=1)
parameters, gradients = get_params_grad(model)
start = normalization([normal(*p.shape, seed=i) for i, p in enumerate(parameters)])
product = hessian_vector_product(found.gradsH, found.params, start)
report(eigenvalue=eigenvalues, product=product)
