"""Eight networks trained at once by vmap, and what they say of what they don't know.

Their parameters are stacked, a network along the first dimension; one function of one network's
parameters, mapped over that dimension, is all of them. The optimizer sees stacked tensors, too.
"""

import sys

import adjoint
from adjoint import func, nn, optim

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 300

adjoint.manual_seed(0)
networks = [nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1)) for _ in range(8)]
parameters, buffers = func.stack_module_state(networks)
skeleton = networks[0]

x = adjoint.rand(40, 1) * 4 - 2
y = (2 * x).sin() + 0.05 * adjoint.randn_like(x)
chosen = adjoint.randint(40, (8, 40))  # each network learns from a draw of its own


def output_of_one(parameters, buffers, inputs):
    """One network's outputs."""
    return func.functional_call(skeleton, (parameters, buffers), inputs)


def loss_of_one(parameters, buffers, inputs, targets):
    """One network's loss on its own draw."""
    return nn.functional.mse_loss(output_of_one(parameters, buffers, inputs), targets)


losses_of_all = func.vmap(loss_of_one)  # parameters, buffers and data: all have the networks first
optimizer = optim.Adam(parameters.values(), lr=0.02)
for _ in range(STEPS):
    losses = losses_of_all(parameters, buffers, x[chosen], y[chosen])
    optimizer.zero_grad()
    losses.sum().backward()  # no network's loss depends on another's parameters
    optimizer.step()
print(f"mean loss {losses.mean().item():.4f}")

# They agree where there were data, and differ where there were none.
places = adjoint.tensor([[0.0], [1.0], [5.0]])
with adjoint.no_grad():
    answers = func.vmap(output_of_one, in_dims=(0, 0, None))(parameters, buffers, places)
spreads = answers.std(0)[:, 0].tolist()
for place, spread in zip(places[:, 0].tolist(), spreads):
    print(f"at {place} the networks' answers spread by {spread:.3f}")
print(f"outside over inside {spreads[-1] / spreads[0]:.1f}")
