"""torchvision's models, transforms and losses that need none of its compiled operators."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

from torchvision import models, ops  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

image = normal(2, 3, 32, 32)
results = {}
for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"):
    model = filled(getattr(models, name)(weights=None, num_classes=5)).eval()
    loss = model(image).square().mean()
    loss.backward()
    first = next(model.parameters())
    results[name] = [loss, first.grad.norm(), first.grad.flatten()[:5]]

boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 5.0, 6.0], [2.0, 0.0, 3.0, 9.0]])
results["boxes"] = [
    ops.box_iou(boxes, boxes),
    ops.generalized_box_iou(boxes, boxes),
    ops.box_convert(boxes, "xyxy", "cxcywh"),
    ops.clip_boxes_to_image(boxes, (5, 5)),
]
logits = normal(4, 3).requires_grad_()
ops.sigmoid_focal_loss(logits, torch.ones(4, 3), reduction="mean").backward()
results["focal"] = logits.grad
block = filled(ops.Conv2dNormActivation(3, 4)).eval()
results["block"] = block(image[:, :, :6, :6])
prepare = v2.Compose(
    [v2.Resize((16, 16)), v2.CenterCrop(12), v2.Normalize([0.1] * 3, [0.9] * 3), v2.Grayscale()]
)
results["transformed"] = prepare(image)
results["blurred"] = v2.functional.gaussian_blur(image[:1, :, :8, :8], [3, 3], [0.8, 0.8])
results["rotated"] = v2.functional.rotate(image[:1, :, :8, :8], 30.0)
report(**results)
