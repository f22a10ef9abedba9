"""Less memory for more computing: what a region saves for backward is computed again."""

import functools
import tracemalloc

import adjoint
from adjoint.utils.checkpoint import (
    checkpoint,
    checkpoint_scope,
    create_selective_checkpoint_contexts,
)

LAYERS, WIDTH = 12, 128
weights = [(adjoint.randn(WIDTH, WIDTH) / WIDTH**0.5).requires_grad_() for _ in range(LAYERS)]


def layer(x, w):
    """A residual layer that saves half a dozen tensors of the size of x."""
    return x + adjoint.nn.functional.gelu(adjoint.tanh(x @ w) * adjoint.sigmoid(x))


def in_scope(x, w):
    """A block is no function, yet its calls are known: they are made again for backward."""
    with checkpoint_scope():
        return layer(x, w)


products = functools.partial(create_selective_checkpoint_contexts, [adjoint.matmul])
forms = {
    "plain": layer,
    "checkpoint": functools.partial(checkpoint, layer, use_reentrant=False),
    "products kept": functools.partial(checkpoint, layer, use_reentrant=False, context_fn=products),
    "scope": in_scope,
}

peaks = {}
gradients = {}
for name, form in forms.items():
    x = adjoint.ones(256, WIDTH)
    tracemalloc.start()
    for w in weights:
        x = form(x, w)
    gradients[name] = adjoint.autograd.grad((x * x).mean(), weights)
    _, peaks[name] = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{name:14} {peaks[name] / 1e6:5.1f} MB at most")

for name, found in gradients.items():
    assert all(adjoint.allclose(a, b) for a, b in zip(found, gradients["plain"])), name
assert peaks["checkpoint"] < peaks["products kept"] < peaks["plain"]
