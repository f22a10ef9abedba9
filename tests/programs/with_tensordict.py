"""tensordict: nests of tensors with a batch, and modules that read and write them."""

import torch
from beginnings import filled, normal, report
from tensordict import TensorDict
from tensordict.nn import TensorDictModule, TensorDictSequential

data = TensorDict(
    {"a": normal(4, 3), "inner": {"b": normal(4, 2, seed=1), "c": torch.arange(4)}}, batch_size=[4]
)
first = TensorDictModule(filled(torch.nn.Linear(3, 2)), in_keys=["a"], out_keys=["hidden"])
second = TensorDictModule(
    lambda hidden, b: (hidden * b, hidden.sum(-1)),
    in_keys=["hidden", ("inner", "b")],
    out_keys=["product", ("inner", "total")],
)
network = TensorDictSequential(first, second)
out = network(data.clone())
loss = out["product"].square().sum() + out["inner", "total"].sum()
loss.backward()
stacked = torch.stack([data, data], 0)
report(
    keys=sorted(map(str, out.keys(include_nested=True, leaves_only=True))),
    loss=loss,
    grads=[parameter.grad for parameter in network.parameters()],
    shapes=[list(stacked.shape), list(stacked["inner", "b"].shape)],
    sliced=data[1:3]["inner"].to_dict(),
    scaled=(data.select("a") * 2 + 1)["a"],
    flat=sorted(data.flatten_keys(".").keys()),
    viewed=list(data.view(2, 2)["a"].shape),
    catted=torch.cat([data, data], 0)["inner", "c"],
    mapped=data.apply(lambda x: x.float().mean(0, keepdim=True).expand_as(x))["a"],
    masked=data[data["inner", "c"] > 1]["a"],
    permuted=list(stacked.permute(1, 0).shape),
)
