"""Weights of 8 and fewer bits as subclasses of Tensor that answer operations, saved and trained."""

import copy
import io

import torch
import torchao.optim
import torchao.quantization as quantization
from beginnings import filled, normal, report
from torchao.quantization.qat import IntxFakeQuantizeConfig, QATConfig


def network():
    layers = (torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32))
    return filled(torch.nn.Sequential(*layers))


def quantized(config):
    model = network()
    quantization.quantize_(model, config)
    weight = model[0].weight
    answers = [model(normal(4, 64)), copy.deepcopy(model)(normal(4, 64, seed=2))]
    return [*answers, type(weight).__name__, list(weight.shape)]


def loaded():
    model = network()
    quantization.quantize_(model, quantization.Int8WeightOnlyConfig())
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    with torch.device("meta"):
        empty = torch.nn.Sequential(
            torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32)
        )
    empty.load_state_dict(torch.load(file, weights_only=True), assign=True)
    return empty(normal(4, 64))


def trained(kind):
    model = network()
    optimizer = kind(model.parameters(), lr=1e-2)
    for step in range(2):
        optimizer.zero_grad()
        model(normal(4, 64, seed=step)).pow(2).sum().backward()
        optimizer.step()
    return [parameter.flatten()[:6] for parameter in model.parameters()]


def rounded_in_training():
    model = network()
    config = IntxFakeQuantizeConfig(torch.int8, group_size=32)
    quantization.quantize_(model, QATConfig(weight_config=config, step="prepare"))
    answer = model(normal(4, 64))
    answer.pow(2).sum().backward()
    return [answer, model[0].weight.grad.norm()]


report(
    weights=quantized(quantization.Int8WeightOnlyConfig()),
    both=quantized(quantization.Int8DynamicActivationInt8WeightConfig()),
    groups=quantized(quantization.Int8DynamicActivationIntxWeightConfig()),
    loaded=loaded(),
    eight_bits=trained(torchao.optim.AdamW8bit),
    four_bits=trained(torchao.optim.AdamW4bit),
    training=rounded_in_training(),
)
