"""A network of ONNX's operations made a GraphModule, its output and gradient."""

import numpy as np
import torch
from beginnings import name_torchvision_operators, normal, report
from onnx import TensorProto, helper, numpy_helper

operators = name_torchvision_operators()

from onnx2torch import convert


def constant(name, *shape, seed):
    """A weight in the form of ONNX."""
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


node = helper.make_node
graph = helper.make_graph(
    [
        node("Conv", ["images", "filters"], ["filtered"], kernel_shape=[3, 3]),
        node("Relu", ["filtered"], ["positive"]),
        node("MaxPool", ["positive"], ["small"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["small"], ["flat"]),
        node("Gemm", ["flat", "weight", "bias"], ["scores"]),
        node("Softmax", ["scores"], ["chances"], axis=1),
    ],
    "network",
    [helper.make_tensor_value_info("images", TensorProto.FLOAT, [2, 3, 6, 6])],
    [helper.make_tensor_value_info("chances", TensorProto.FLOAT, [2, 5])],
    [
        constant("filters", 4, 3, 3, 3, seed=0),
        constant("weight", 16, 5, seed=1),
        constant("bias", 5, seed=2),
    ],
)
model = convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))
images = normal(2, 3, 6, 6).requires_grad_()
chances = model(images)
report(
    chances=chances,
    gradient=torch.autograd.grad(chances[:, 0].sum(), images),
    nodes=[each.op for each in model.graph.nodes],
    parameters=[name for name, _ in model.named_parameters()],
)
