"""Two small U-nets and an autoencoder, a step of training, and two ways of sampling."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report

operators = name_torchvision_operators()

from diffusers import (
    AutoencoderKL,
    DDIMScheduler,
    DDPMScheduler,
    EulerDiscreteScheduler,
    UNet2DConditionModel,
    UNet2DModel,
)

sizes = {
    "sample_size": 8,
    "layers_per_block": 1,
    "block_out_channels": (8, 16),
    "norm_num_groups": 4,
    "attention_head_dim": 4,
}
model = filled(
    UNet2DModel(
        in_channels=3,
        out_channels=3,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        **sizes,
    )
)
images, noise, times = normal(2, 3, 8, 8), normal(2, 3, 8, 8, seed=1), torch.tensor([3, 20])
noisy = DDPMScheduler(num_train_timesteps=50).add_noise(images, noise, times)
loss = torch.nn.functional.mse_loss(model(noisy, times).sample, noise)
loss.backward()
gradients = [parameter.grad.abs().sum() for parameter in model.parameters()]

implicit = DDIMScheduler(num_train_timesteps=50)
implicit.set_timesteps(5)
euler = EulerDiscreteScheduler(num_train_timesteps=50)
euler.set_timesteps(3)
with torch.no_grad():
    first, second = noise, noise * euler.init_noise_sigma
    for time in implicit.timesteps:
        first = implicit.step(model(first, time).sample, time, first).prev_sample
    for time in euler.timesteps:
        guess = model(euler.scale_model_input(second, time), time).sample
        second = euler.step(guess, time, second).prev_sample

conditioned = filled(
    UNet2DConditionModel(
        in_channels=4,
        out_channels=4,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=6,
        **sizes,
    )
)
coder = filled(
    AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2, sample_size=8)
)
report(
    loss=loss,
    gradients=gradients,
    implicit=first,
    euler=second,
    conditioned=conditioned(normal(1, 4, 8, 8), torch.tensor(3), normal(1, 5, 6)).sample,
    code=coder.encode(images).latent_dist.mean,
)
