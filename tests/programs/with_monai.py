"""monai: a network for volumes, losses for segmentation, inference by windows."""

from beginnings import filled, normal, report
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, DiceLoss, FocalLoss, TverskyLoss
from monai.metrics import compute_iou
from monai.networks.nets import UNet

network = filled(
    UNet(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8), strides=(2,))
).eval()
volume = normal(1, 1, 8, 8, 8)
target = (normal(1, 1, 8, 8, 8, seed=1) > 0).float()
results = {}
for loss_class in (DiceLoss, DiceCELoss, FocalLoss, TverskyLoss):
    options = {"to_onehot_y": True}
    if loss_class is not FocalLoss:
        options["softmax"] = True
    network.zero_grad()
    loss = loss_class(**options)(network(volume), target)
    loss.backward()
    results[loss_class.__name__] = [loss, [each.grad.norm() for each in network.parameters()]]
results["windows"] = sliding_window_inference(volume, (4, 4, 4), 2, network).mean((2, 3, 4))
found = (network(volume).softmax(1)[:, 1:] > 0.5).float()
results["overlap"] = compute_iou(found, target, include_background=True)
report(**results)
