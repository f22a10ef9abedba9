"""timm's models: a step of training each, and their features."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

import timm  # noqa: E402
from timm.layers import DropPath, PatchEmbed  # noqa: E402
from timm.optim import create_optimizer_v2  # noqa: E402
from timm.scheduler import CosineLRScheduler  # noqa: E402

image = normal(2, 3, 32, 32)
results = {}
settings = {
    "resnet10t": {},
    "mobilenetv3_small_050": {},
    "vit_tiny_patch16_224": {"img_size": 32, "depth": 2},
    "convnext_atto": {},
    "efficientnet_lite0": {},
}
for name, options in settings.items():
    model = filled(timm.create_model(name, num_classes=4, drop_rate=0.0, **options)).eval()
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    loss = torch.nn.functional.cross_entropy(model(image), torch.tensor([1, 3]))
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    results[name] = [loss, norm, next(model.parameters()).flatten()[:4], len(optimizer.param_groups)]

features = filled(timm.create_model("resnet10t", features_only=True)).eval()
results["features"] = [[list(each.shape), each.mean()] for each in features(image)]
embed = filled(PatchEmbed(img_size=16, patch_size=8, embed_dim=6))
results["patches"] = embed(image[:, :, :16, :16])
results["kept"] = DropPath(0.3).eval()(image[:1, 0, :2, :2])
schedule = CosineLRScheduler(optimizer, t_initial=10, warmup_t=2, warmup_lr_init=1e-5)
rates = []
for epoch in range(6):
    schedule.step(epoch)
    rates.append(optimizer.param_groups[0]["lr"])
results["rates"] = rates
report(**results)
