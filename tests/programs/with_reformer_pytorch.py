"""A language model of reversible layers, whose backward is a Function that runs them again."""

import torch
from beginnings import filled, report
from reformer_pytorch import ReformerLM

options = {"dim": 16, "depth": 2, "max_seq_len": 32, "heads": 2, "bucket_size": 8, "n_hashes": 1}
model = filled(ReformerLM(num_tokens=20, causal=True, use_full_attn=True, **options))
out = model(torch.arange(32)[None] % 20)
out.pow(2).mean().backward()
gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
report(out=out, gradients=gradients)
