"""transformer-lens: a small transformer with hooks at every step, watched and changed."""

import torch
from beginnings import filled, name_torchvision_operators, report

operators = name_torchvision_operators()

from transformer_lens import HookedTransformer, HookedTransformerConfig  # noqa: E402

config = HookedTransformerConfig(
    n_layers=2,
    d_model=16,
    n_ctx=12,
    d_head=8,
    n_heads=2,
    d_mlp=32,
    d_vocab=17,
    act_fn="gelu",
    normalization_type="LN",
    device="cpu",
    seed=0,
)
model = filled(HookedTransformer(config))
tokens = torch.arange(20).reshape(2, 10) % 17
logits, cache = model.run_with_cache(tokens)
loss = model(tokens, return_type="loss")
loss.backward()


def silenced(value, hook):
    value = value.clone()
    value[:, :, 0] = 0
    return value


changed = model.run_with_hooks(
    tokens, return_type="loss", fwd_hooks=[("blocks.0.attn.hook_z", silenced)]
)
gradients = {}
model.zero_grad()
model.add_hook(
    "blocks.1.hook_resid_pre",
    lambda grad, hook: gradients.__setitem__(hook.name, grad.norm()),
    dir="bwd",
)
model(tokens, return_type="loss").backward()
model.reset_hooks()
report(
    logits=logits[0, -1],
    loss=loss,
    changed=changed,
    names=sorted(cache.keys()),
    pattern=cache["pattern", 1][0, 0],
    stream=cache.accumulated_resid(layer=-1, pos_slice=-1).norm(dim=-1),
    gradients=gradients,
)
