"""kornia's filters, geometry, colours and losses, with gradients."""

import kornia
import torch
from beginnings import normal, report

image = (normal(1, 3, 12, 12).sigmoid()).requires_grad_()
points = torch.tensor([[[0.0, 0.0], [11.0, 0.0], [11.0, 11.0], [0.0, 11.0]]])
moved = points + torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]])
transform = kornia.geometry.get_perspective_transform(points, moved)
results = {
    "blur": kornia.filters.gaussian_blur2d(image, (3, 3), (1.0, 1.0)),
    "sobel": kornia.filters.sobel(image),
    "median": kornia.filters.median_blur(image, (3, 3)),
    "hsv": kornia.color.rgb_to_hsv(image),
    "lab": kornia.color.rgb_to_lab(image),
    "warp": kornia.geometry.warp_perspective(image, transform, (12, 12)),
    "transform": transform,
    "turned": kornia.geometry.rotate(image, torch.tensor([20.0])),
    "ssim": kornia.losses.ssim_loss(image, image.flip(-1), 5),
    "variation": kornia.losses.total_variation(image),
    "harris": kornia.feature.harris_response(image),
    "axis": kornia.geometry.axis_angle_to_rotation_matrix(torch.tensor([[0.1, 0.2, 0.3]])),
    "eroded": kornia.morphology.erosion(image, torch.ones(3, 3)),
}
total = sum(value.square().mean() for name, value in results.items() if value.requires_grad)
total.backward()
report(**results, grad=image.grad)
