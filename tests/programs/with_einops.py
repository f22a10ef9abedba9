"""Patches, pooling and attention written with einops, and their gradients."""

import torch
from beginnings import filled, normal, report
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce

images = normal(2, 3, 8, 8).requires_grad_()
patches = rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
pooled = reduce(images, "b c (h 2) (w 2) -> b c h w", "max")
queries = repeat(patches.mean(1), "b d -> b n d", n=3)
scores = einsum(queries, patches, "b i d, b j d -> b i j").softmax(-1)
packed, shapes = pack([pooled, images], "b c *")
parts = unpack(packed, shapes, "b c *")

model = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2),
    EinMix("b n d -> b n e", weight_shape="d e", bias_shape="e", d=12, e=5),
    torch.nn.GELU(),
    Reduce("b n e -> b e", "mean"),
)
output = filled(model)(images)
loss = output.pow(2).sum() + scores.log().sum() + sum(part.sin().sum() for part in parts)
loss.backward()
report(
    scores=scores,
    output=output,
    loss=loss,
    gradient=images.grad,
    weights=[parameter.grad for parameter in model.parameters()],
)
