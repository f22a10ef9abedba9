"""Transformations of functions, and modules as functions of their parameters."""

from adjoint.func.batching import vmap as vmap
from adjoint.func.effects import (
    debug_unwrap as debug_unwrap,
    functionalize as functionalize,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
)
from adjoint.func.forward import (
    hessian as hessian,
    jacfwd as jacfwd,
    jvp as jvp,
    linearize as linearize,
)
from adjoint.func.per_sample import per_sample_grad as per_sample_grad
from adjoint.func.reverse import (
    grad as grad,
    grad_and_value as grad_and_value,
    jacrev as jacrev,
    vjp as vjp,
)
from adjoint.func.second_order import (
    hessian_diagonal as hessian_diagonal,
    hvp as hvp,
    laplacian as laplacian,
    taylor as taylor,
)
from adjoint.func.sparsity import jacobian as jacobian
from adjoint.func.stateless import (
    functional_call as functional_call,
    stack_module_state as stack_module_state,
)
