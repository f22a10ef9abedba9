"""segmentation-models-pytorch: decoders on encoders, losses and metrics."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

import segmentation_models_pytorch as smp  # noqa: E402

image = normal(2, 3, 32, 32)
target = (normal(2, 1, 32, 32, seed=1) > 0).long()
results = {}
for name in ("Unet", "FPN", "Linknet", "DeepLabV3Plus"):
    model = getattr(smp, name)("resnet18", encoder_weights=None, classes=1)
    model = filled(model).eval()
    logits = model(image)
    loss = smp.losses.DiceLoss("binary")(logits, target)
    loss = loss + smp.losses.FocalLoss("binary")(logits, target)
    loss.backward()
    results[name] = [loss, next(model.parameters()).grad.norm(), logits.mean((2, 3))]
counts = smp.metrics.get_stats(logits.sigmoid(), target, mode="binary", threshold=0.5)
results["counts"] = [each.sum() for each in counts]
results["score"] = smp.metrics.iou_score(*counts, reduction="micro")
others = [smp.losses.JaccardLoss("binary"), smp.losses.TverskyLoss("binary")]
others += [smp.losses.LovaszLoss("binary"), smp.losses.SoftBCEWithLogitsLoss()]
results["others"] = [each(logits.detach(), target.float()) for each in others]
report(**results)
