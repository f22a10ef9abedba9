"""torchrl: estimates of advantage by a vmap over containers, losses of two agents, a buffer."""

import torch
from beginnings import filled, normal, report
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import LazyTensorStorage, OneHot, ReplayBuffer
from torchrl.modules import (
    MLP,
    NormalParamExtractor,
    ProbabilisticActor,
    QValueActor,
    TanhNormal,
    ValueOperator,
)
from torchrl.objectives import ClipPPOLoss, DQNLoss
from torchrl.objectives.value import GAE

network = filled(
    nn.Sequential(MLP(in_features=3, out_features=4, num_cells=[8]), NormalParamExtractor())
)
actor = ProbabilisticActor(
    TensorDictModule(network, in_keys=["observation"], out_keys=["loc", "scale"]),
    in_keys=["loc", "scale"],
    distribution_class=TanhNormal,
    return_log_prob=True,
)
critic = filled(
    ValueOperator(MLP(in_features=3, out_features=1, num_cells=[8]), in_keys=["observation"])
)
ended = torch.zeros(5, 1, dtype=torch.bool)
after = {
    "observation": normal(5, 3, seed=5),
    "reward": normal(5, 1, seed=6),
    "done": ended,
    "terminated": ended,
}
steps = TensorDict(
    {
        "observation": normal(5, 3),
        "action": normal(5, 2, scale=0.3).tanh(),
        "action_log_prob": normal(5, seed=4),
        "next": after,
    },
    [5],
)
results = {}
GAE(gamma=0.99, lmbda=0.95, value_network=critic)(steps)
results["advantage"] = steps["advantage"]
loss = ClipPPOLoss(actor, critic, entropy_bonus=False)
found = loss(steps)
(found["loss_objective"] + found["loss_critic"]).backward()
results["ppo"] = [found["loss_objective"], found["loss_critic"]]
results["gradients"] = [parameter.grad for parameter in loss.parameters()]

choices = filled(MLP(in_features=3, out_features=2, num_cells=[8]))
steps["action"] = torch.eye(2)[torch.tensor([0, 1, 0, 1, 0])].long()
loss = DQNLoss(
    QValueActor(choices, in_keys=["observation"], spec=OneHot(2)), action_space="one-hot"
)
loss.make_value_estimator(gamma=0.9)
results["dqn"] = loss(steps)["loss"]
buffer = ReplayBuffer(storage=LazyTensorStorage(10), batch_size=2)
buffer.extend(steps)
results["buffer"] = [len(buffer), buffer[1:3]["observation"]]
report(**results)
