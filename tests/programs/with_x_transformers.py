"""A small language model of x-transformers, trained for some steps."""

import torch
from beginnings import filled, report
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=17,
        max_seq_len=12,
        attn_layers=Decoder(
            dim=16, depth=2, heads=2, attn_dim_head=8, rotary_pos_emb=True, ff_glu=True
        ),
    )
)
filled(model)
tokens = torch.arange(48).view(4, 12) * 5 % 17
# A small eps makes whole steps of gradients that are mere rounding, in either library.
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, eps=1e-4)
losses = []
for _ in range(6):
    loss = model(tokens)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
prompt = torch.tensor([[1, 6], [3, 8]])
report(
    losses=losses, generated=model.generate(prompt, 5, temperature=0.0), logits=model.net(tokens)
)
