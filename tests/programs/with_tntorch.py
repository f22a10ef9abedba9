"""Tensors in parts: rounded, added, multiplied, and compared."""

import tntorch
from beginnings import normal, report

whole = tntorch.Tensor(normal(4, 4, 4).double())
train = tntorch.Tensor(normal(4, 5, 6).double(), ranks_tt=3)
report(
    train=train.torch(),
    norm=tntorch.norm(train),
    rounded=tntorch.round_tt(whole, rmax=2).torch(),
    product=tntorch.dot(whole, whole),
    sum=(whole + whole).torch(),
    mean=tntorch.mean(whole),
)
