"""pennylane: circuits of qubits with parameters that are tensors, and their gradients."""

import pennylane as qml
import torch
from beginnings import normal, report

device = qml.device("default.qubit", wires=2)


@qml.qnode(device, interface="torch", diff_method="backprop")
def circuit(angles, x):
    """Two qubits, turned and entangled."""
    qml.AngleEmbedding(x, wires=[0, 1])
    for layer in angles:
        qml.RY(layer[0], wires=0)
        qml.RX(layer[1], wires=1)
        qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(0)), qml.probs(wires=1)


angles = normal(3, 2).double().requires_grad_()
x = torch.tensor([0.3, -0.7], dtype=torch.float64)
expected, chances = circuit(angles, x)
(expected + chances[0] ** 2).backward()
gradient = angles.grad.clone()


@qml.qnode(device, interface="torch", diff_method="parameter-shift")
def shifted(angles):
    """The same, differentiated by shifted runs."""
    qml.RY(angles[0, 0], wires=0)
    qml.RX(angles[0, 1], wires=1)
    qml.CNOT(wires=[0, 1])
    return qml.expval(qml.PauliZ(1))


angles.grad = None
shifted(angles).backward()
layer = qml.qnn.TorchLayer(
    qml.QNode(
        lambda inputs, weights: [
            qml.AngleEmbedding(inputs, wires=[0, 1]),
            qml.BasicEntanglerLayers(weights, wires=[0, 1]),
            qml.expval(qml.PauliZ(0)),
        ][-1],
        device,
        interface="torch",
    ),
    {"weights": (2, 2)},
)
with torch.no_grad():
    layer.weights.copy_(normal(2, 2, seed=1))
model = torch.nn.Sequential(torch.nn.Linear(2, 2), layer)
with torch.no_grad():
    model[0].weight.copy_(normal(2, 2, seed=2))
    model[0].bias.zero_()
loss = model(normal(3, 2, seed=3)).square().mean()
loss.backward()
report(
    expected=expected,
    chances=chances,
    gradient=gradient,
    shifted=angles.grad,
    loss=loss,
    weights=layer.weights.grad,
    first=model[0].weight.grad,
)
