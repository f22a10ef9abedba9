"""An image classifier of mlp-mixer-pytorch, trained for some steps."""

import torch
from beginnings import filled, normal, report
from mlp_mixer_pytorch import MLPMixer

model = filled(MLPMixer(image_size=8, channels=1, patch_size=4, dim=12, depth=2, num_classes=3))
images, labels = normal(6, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
losses = []
for _ in range(6):
    loss = torch.nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses=losses, output=model(images))
