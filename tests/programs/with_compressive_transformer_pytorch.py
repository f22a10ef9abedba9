"""A language model that freezes a weight between its forward and its backward."""

import torch
from beginnings import filled, report
from compressive_transformer_pytorch import CompressiveTransformer

model = filled(
    CompressiveTransformer(
        num_tokens=50,
        emb_dim=16,
        dim=16,
        depth=2,
        heads=4,
        seq_len=8,
        mem_len=8,
        cmem_len=2,
        cmem_ratio=4,
        memory_layers=[1, 2],
    )
)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
text = (torch.arange(16) * 7 % 50)[None]
losses = []
for _ in range(2):
    optimizer.zero_grad()
    first, memories, _ = model(text[:, :8])
    second, _, auxiliary = model(text[:, 8:], memories=memories)
    loss = first.pow(2).mean() + second.pow(2).mean() + auxiliary
    loss.backward()
    optimizer.step()
    losses.append(loss)
report(
    losses=losses,
    frozen=[name for name, each in model.named_parameters() if each.grad is None],
    gradients={
        name: each.grad.norm() for name, each in model.named_parameters() if each.grad is not None
    },
)
