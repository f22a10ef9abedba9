"""Linear attention of performer-pytorch, with fixed features."""

import torch
from beginnings import filled, normal, report
from performer_pytorch import PerformerLM

model = PerformerLM(
    num_tokens=13,
    max_seq_len=10,
    dim=16,
    depth=2,
    heads=2,
    dim_head=8,
    causal=False,
    nb_features=12,
)
filled(model)
with torch.no_grad():
    for i, (name, buffer) in enumerate(model.named_buffers()):
        if "projection_matrix" in name:
            buffer.copy_(normal(*buffer.shape, seed=i))
tokens = torch.arange(20).view(2, 10) * 7 % 13
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(5):
    logits = model(tokens)
    loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses=losses, logits=logits)
