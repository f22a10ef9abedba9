"""Four kinds of adapters, trained, left out and merged."""

import torch
from beginnings import filled, name_torchvision_operators, report
from torch import nn

operators = name_torchvision_operators()

from peft import IA3Config, LoHaConfig, LoraConfig, get_peft_model


class Net(nn.Module):
    """An embedding and two layers."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 8)
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 2)

    def forward(self, words):
        return self.second(self.first(self.embedding(words)).relu())


adapters = {
    "lora": LoraConfig(r=2, target_modules=["first", "embedding"], lora_alpha=4),
    "dora": LoraConfig(r=2, target_modules=["first"], use_dora=True),
    "ia3": IA3Config(target_modules=["first", "second"], feedforward_modules=["second"]),
    "loha": LoHaConfig(r=2, target_modules=["first"]),
}
words, found = torch.tensor([[1, 2], [3, 4]]), {}
for name, adapter in adapters.items():
    model = filled(get_peft_model(filled(Net()), adapter))
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-2)
    losses = []
    for _ in range(3):
        loss = model(words).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    with model.disable_adapter():
        before = model(words)
    found[name] = [losses, before, model.merge_and_unload()(words)]
report(**found)
