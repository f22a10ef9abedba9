"""The gradient of each sample of a batch, three ways, and a step of training that hides each one.

In private training the gradients of the samples are cut to one length before they are added, and
noise of that length is mixed in: so no sample can change a step by more than the noise.
"""

import adjoint
from adjoint import func, nn

LENGTH, NOISE, RATE = 1.0, 0.05, 0.5

adjoint.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
inputs = adjoint.randn(48, 4)
targets = inputs[:, :3].argmax(1)
loss_of = nn.functional.cross_entropy

# One line.
gradients = func.per_sample_grad(model, loss_of)(inputs, targets)

# By hand: the gradient of one sample's loss as a function of the parameters, over the batch.
parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}


def loss_of_one(parameters, sample, target):
    """The loss of one sample, which the model sees as a batch of one."""
    output = func.functional_call(model, parameters, sample.unsqueeze(0))
    return loss_of(output, target.unsqueeze(0))


by_hand = func.vmap(func.grad(loss_of_one), in_dims=(None, 0, 0))(parameters, inputs, targets)

# As it was done before: a backward for each sample.
looped = {name: [] for name in parameters}
for sample, target in zip(inputs, targets):
    model.zero_grad()
    loss_of(model(sample.unsqueeze(0)), target.unsqueeze(0)).backward()
    for name, parameter in model.named_parameters():
        looped[name].append(parameter.grad.clone())

for name, gradient in gradients.items():
    adjoint.testing.assert_close(gradient, by_hand[name])
    adjoint.testing.assert_close(gradient, adjoint.stack(looped[name]), rtol=1e-4, atol=1e-6)
print("shapes", {name: list(gradient.shape) for name, gradient in gradients.items()})

# Private training: the mean of gradients of at most one length, and noise.
of_each = func.per_sample_grad(model, loss_of)
for _ in range(60):
    gradients = of_each(inputs, targets)
    lengths = sum(gradient.flatten(1).square().sum(1) for gradient in gradients.values()).sqrt()
    shares = (LENGTH / lengths).clamp(max=1) / len(inputs)
    with adjoint.no_grad():
        for name, parameter in model.named_parameters():
            mean = adjoint.tensordot(shares, gradients[name], 1)
            parameter -= RATE * (mean + NOISE * LENGTH / len(inputs) * adjoint.randn_like(mean))
accuracy = (model(inputs).argmax(1) == targets).double().mean()
print(f"accuracy {100 * accuracy.item():.0f}%")
