"""Tensors as sums of products and as cores with factors, found by alternating least squares."""

import tensorly
from beginnings import normal, report
from tensorly.decomposition import non_negative_parafac, parafac, tucker

tensorly.set_backend("pytorch")
tensor = normal(4, 5, 6).double()
parts = parafac(tensor, rank=2, init="svd", n_iter_max=5)
cores = tucker(tensor, rank=[2, 2, 2], n_iter_max=3)
positive = non_negative_parafac(tensor.abs(), rank=2, init="svd", n_iter_max=3)
factors = [normal(size, 2, seed=size).requires_grad_() for size in (3, 4, 5)]
length = tensorly.norm(tensorly.cp_to_tensor((None, factors)), 2)
length.backward()
report(
    weights=parts.weights,
    rest=tensorly.norm(tensorly.cp_to_tensor(parts) - tensor),
    core=tensorly.norm(tensorly.tucker_to_tensor(cores)),
    positive=tensorly.norm(tensorly.cp_to_tensor(positive)),
    length=length,
    gradients=[factor.grad for factor in factors],
    product=tensorly.tenalg.khatri_rao([normal(3, 2), normal(4, 2)]),
    unfolded=tensorly.unfold(tensor, 1)[0],
)
