"""Attributions of a small network's output to its inputs, layers and neurons."""

import torch
from beginnings import filled, normal, report
from captum.attr import (
    LRP,
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NeuronGradient,
    Occlusion,
    Saliency,
)


class Network(torch.nn.Module):
    """Convolution, pooling and two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
        self.relu1 = torch.nn.ReLU()
        self.pool = torch.nn.MaxPool2d(2)
        self.linear1 = torch.nn.Linear(3 * 3 * 3, 8)
        self.relu2 = torch.nn.ReLU()
        self.linear2 = torch.nn.Linear(8, 4)

    def forward(self, x):
        x = self.pool(self.relu1(self.conv(x)))
        return self.linear2(self.relu2(self.linear1(x.flatten(1))))


model = filled(Network()).eval()
x, baseline = normal(2, 1, 6, 6), torch.zeros(2, 1, 6, 6)
target = torch.tensor([1, 3])
attributions, delta = IntegratedGradients(model).attribute(
    x, baseline, target=target, n_steps=20, return_convergence_delta=True
)
report(
    integrated=attributions,
    delta=delta,
    saliency=Saliency(model).attribute(x.clone().requires_grad_(), target=target),
    input_x_gradient=InputXGradient(model).attribute(x.clone().requires_grad_(), target=target),
    guided=GuidedBackprop(model).attribute(x.clone().requires_grad_(), target=target),
    deep_lift=DeepLift(model).attribute(x, baseline, target=target),
    relevance=LRP(model).attribute(x, target=target),
    grad_cam=LayerGradCam(model, model.conv).attribute(x, target=target),
    conductance=LayerConductance(model, model.linear1).attribute(x, target=target, n_steps=10),
    neuron=NeuronGradient(model, model.linear1).attribute(x.clone().requires_grad_(), 2),
    ablation=FeatureAblation(model).attribute(x[:1], target=1),
    occlusion=Occlusion(model).attribute(x[:1], (1, 3, 3), target=1),
)
