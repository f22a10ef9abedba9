"""quimb: tensor networks contracted and optimised through autograd."""

import numpy as np
import quimb.tensor as qtn
import torch
from beginnings import report

state = qtn.MPS_rand_state(6, bond_dim=3, seed=0, dtype="float64")
target = qtn.MPS_rand_state(6, bond_dim=2, seed=1, dtype="float64")


leaves = [torch.tensor(np.asarray(each.data), requires_grad=True) for each in state]
ours = state.copy()
for each, leaf in zip(ours, leaves, strict=True):
    each.modify(data=leaf)
others = target.copy()
others.apply_to_arrays(lambda data: torch.tensor(np.asarray(data)))
overlap = (ours.H & others).contract(..., optimize="greedy")
(overlap**2).backward()
optimizer = qtn.TNOptimizer(
    state,
    loss_fn=lambda psi, matrix: (psi.H @ psi - 1) ** 2 + (psi.H @ matrix).abs(),
    loss_constants={"matrix": target},
    autodiff_backend="torch",
    optimizer="L-BFGS-B",
    progbar=False,
    device="cpu",
)
optimizer.optimize(3)
report(
    overlap=overlap,
    grads=[leaf.grad.norm() for leaf in leaves],
    losses=[float(each) for each in optimizer.losses],
)
