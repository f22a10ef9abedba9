"""A differential equation, solved by a network that is trained on its second derivatives."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde
import numpy as np
import torch
from beginnings import filled, report


def residual(x, y):
    """How far y is from a solution."""
    return deepxde.grad.hessian(y, x) + np.pi**2 * torch.sin(np.pi * x)


line = deepxde.geometry.Interval(-1, 1)
ends = deepxde.icbc.DirichletBC(line, lambda x: 0, lambda x, on_boundary: on_boundary)
data = deepxde.data.PDE(line, residual, ends, 16, 2, train_distribution="uniform", num_test=20)
network = filled(deepxde.nn.FNN([1, 10, 10, 1], "tanh", "Glorot uniform"))
model = deepxde.Model(data, network)
model.compile("adam", lr=1e-2, verbose=0)
history, _ = model.train(iterations=5, display_every=1, verbose=0)
points = np.linspace(-1, 1, 5)[:, None].astype("float32")
report(
    losses=np.asarray(history.loss_train).astype(float).tolist(),
    found=model.predict(points).tolist(),
)
