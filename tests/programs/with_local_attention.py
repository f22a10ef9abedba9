"""A language model with attention to the neighbourhood."""

import torch
from beginnings import filled, report
from local_attention import LocalTransformer

model = LocalTransformer(
    num_tokens=11, dim=16, depth=2, max_seq_len=16, causal=True, local_attn_window_size=4, heads=2, dim_head=8
)
filled(model)
tokens = torch.arange(32).view(2, 16) * 3 % 11
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(5):
    loss = model(tokens, return_loss=True)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses=losses, logits=model.eval()(tokens))
