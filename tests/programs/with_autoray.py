"""autoray: functions by the name of the library that an array is from, and lazy ones."""

import autoray as ar
import torch
from autoray import do, lazy
from beginnings import normal, report

x = normal(4, 4).requires_grad_()


def norms(array):
    """Written for no library in particular."""
    q, r = do("linalg.qr", array)
    mixed = do("einsum", "ij,kj->ik", q, array)
    stacked = do("stack", (mixed, do("transpose", array)))
    return do("sum", do("tanh", stacked) ** 2) + do("linalg.norm", do("reshape", r, (-1,)))


value = norms(x)
value.backward()
late = lazy.array(x.detach())
traced = do("sum", do("exp", late @ late) / 10.0)
report(
    backend=ar.infer_backend(x),
    parameter=ar.infer_backend(torch.nn.Parameter(torch.ones(1))),
    value=value,
    grad=x.grad,
    late=traced.compute(),
    made=do("linspace", 0.0, 1.0, 5, like=x),
    dtype=ar.get_dtype_name(do("astype", x, "float64")),
    numpy=ar.to_numpy(x.detach()).tolist(),
    shape=list(do("shape", do("concatenate", (x, x), axis=1))),
    padded=do("pad", x.detach(), ((1, 0), (0, 1)), "constant"),
)
