"""A GPT of microgpt's, trained on a short text for some steps; then it goes on by itself."""

import torch
from beginnings import filled, report
from microgpt.model import MicroGPT, MicroGPTConfig

config = MicroGPTConfig(
    block_size=16, vocab_size=29, n_layer=2, n_head=2, n_embd=16, dropout=0.0, bias=True
)
model = filled(MicroGPT(config))
letters = [
    ord(letter) % 29 for letter in "a chain of many small steps leads back to where it began"
]
tokens = torch.tensor(letters)
inputs = torch.stack([tokens[i : i + 16] for i in (0, 10, 20, 30)])
targets = torch.stack([tokens[i + 1 : i + 17] for i in (0, 10, 20, 30)])
optimizer = model.configure_optimizers(0.1, 1e-2, (0.9, 0.95), "cpu")
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
losses = []
for _ in range(8):
    logits, loss = model(inputs, targets)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
report(losses=losses, logits=logits, continued=model.eval().generate(inputs[:1, :4], 6, top_k=1))
