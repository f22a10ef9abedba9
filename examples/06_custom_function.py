"""A derivative of one's own: a Function for a program, an operator for a library."""

import adjoint
from adjoint import Tensor, library
from adjoint.autograd import Function
from adjoint.autograd.function import once_differentiable


# forward runs unrecorded. What it saves, backward gets back.
class Softplus(Function):
    """log(1 + e^(sharpness x)) / sharpness."""

    @staticmethod
    def forward(ctx, x, sharpness):
        result = (x * sharpness).exp().log1p() / sharpness
        ctx.save_for_backward(x)
        ctx.sharpness = sharpness
        return result

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x * ctx.sharpness).sigmoid(), None  # one answer for each argument


x = adjoint.tensor([-1.0, 0.0, 2.0], dtype=adjoint.float64, requires_grad=True)
y = Softplus.apply(x, 3.0)
(slope,) = adjoint.autograd.grad(y.sum(), [x], create_graph=True)
(curvature,) = adjoint.autograd.grad(slope.sum(), [x])
print(y.grad_fn.name(), "slope", slope.tolist())
print("curvature", curvature.tolist())


# A backward that works on arrays can't be differentiated; it says so, and so will adjoint.
class Median(Function):
    """The middle one of the elements."""

    @staticmethod
    def forward(ctx, x):
        order = x.argsort()
        ctx.middle, ctx.shape = int(order[len(x) // 2]), x.shape
        return x[ctx.middle].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        answer = adjoint.zeros(ctx.shape, dtype=grad.dtype)
        answer[ctx.middle] = grad
        return answer


Median.apply(x).backward()
print("gradient of the median", x.grad.tolist())


# An operator has a name and a schema, which is read from the type hints.
@library.custom_op("examples::cumulative_product", mutates_args=())
def cumulative_product(x: Tensor) -> Tensor:
    """Any code may stand here; this is NumPy's."""
    return adjoint.from_numpy(x.detach().numpy().cumprod())


def setup_context(ctx, inputs, output):
    """Keep what backward needs."""
    ctx.save_for_backward(*inputs, output)


def backward(ctx, grad):
    """Each element has its part in all that follow."""
    x, output = ctx.saved_tensors
    return (grad * output).flip(0).cumsum(0).flip(0) / x


cumulative_product.register_autograd(backward, setup_context=setup_context)
cumulative_product.register_fake(adjoint.empty_like)

z = adjoint.tensor([1.5, 2.0, -3.0], dtype=adjoint.float64, requires_grad=True)
print(cumulative_product.schema, cumulative_product(z).tolist())
for check, outcome in library.opcheck(cumulative_product, (z,)).items():
    print(f"{check:28}{outcome}")
