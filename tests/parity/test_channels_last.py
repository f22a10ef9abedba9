"""Where PyTorch's functions keep channels_last memory, these do, with the same values."""

import numpy as np
import pytest

import adjoint.compat.torch as compat

IMAGES = np.random.default_rng(0).normal(size=(2, 4, 6, 6)).astype("float32")
VOLUMES = np.random.default_rng(1).normal(size=(2, 4, 5, 5, 5)).astype("float32")
FILTERS = np.random.default_rng(2).normal(size=(8, 4, 3, 3)).astype("float32")
DEEP = np.random.default_rng(3).normal(size=(8, 4, 3, 3, 3)).astype("float32")


def functional(name, *args, **kwargs):
    return lambda torch, x: getattr(torch.nn.functional, name)(x, *args, **kwargs)


def convolved(name, filters, **kwargs):
    def call(torch, x):
        return getattr(torch.nn.functional, name)(x, torch.tensor(filters), **kwargs)

    return call


def standardized(training):
    def call(torch, x):
        statistics = (torch.zeros(4), torch.ones(4))
        return torch.nn.functional.batch_norm(
            x, *statistics, torch.ones(4), torch.zeros(4), training
        )

    return call


def with_filters_last(torch, x):
    filters = torch.tensor(FILTERS).to(memory_format=torch.channels_last)
    return torch.nn.functional.conv2d(x.contiguous(), filters)


def unpooled(torch, x):
    F = torch.nn.functional
    return F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)


OF_IMAGES = {
    "conv2d": convolved("conv2d", FILTERS),
    "conv2d of strides": convolved("conv2d", FILTERS, stride=2, padding=1),
    "conv2d of its filters": with_filters_last,
    "conv2d of each channel": convolved("conv2d", FILTERS[:4, :1], groups=4),
    "conv_transpose2d": convolved("conv_transpose2d", FILTERS.transpose(1, 0, 2, 3)),
    "batch_norm": standardized(True),
    "batch_norm that is known": standardized(False),
    "group_norm": functional("group_norm", 2),
    "instance_norm": functional("instance_norm"),
    "layer_norm": functional("layer_norm", (6,)),
    "local_response_norm": functional("local_response_norm", 2),
    "max_pool2d": functional("max_pool2d", 2),
    "places": lambda torch, x: torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1],
    "max_unpool2d": unpooled,
    "avg_pool2d": functional("avg_pool2d", 2),
    "adaptive_avg_pool2d": functional("adaptive_avg_pool2d", 3),
    "adaptive_avg_pool2d of odd windows": functional("adaptive_avg_pool2d", 4),
    "adaptive_max_pool2d": functional("adaptive_max_pool2d", 3),
    "lp_pool2d": functional("lp_pool2d", 2, 2),
    "pad": functional("pad", (1, 1, 1, 1)),
    "reflected": functional("pad", (1, 1, 1, 1), mode="reflect"),
    "replicated": functional("pad", (1, 1, 1, 1), mode="replicate"),
    "circular": functional("pad", (1, 1, 1, 1), mode="circular"),
    "channel_shuffle": functional("channel_shuffle", 2),
    "relu": functional("relu"),
    "interpolate": functional("interpolate", scale_factor=2),
    "interpolate a part": lambda torch, x: torch.nn.functional.interpolate(x[..., ::2], size=5),
    "interpolate of means": functional("interpolate", size=3, mode="area"),
    "interpolate of bytes": lambda torch, x: torch.nn.functional.interpolate(
        (x * 10).relu().to(torch.uint8), size=4, mode="bilinear"
    ),
    "pixel_shuffle": lambda torch, x: torch.nn.functional.pixel_shuffle(torch.cat([x, x], 1), 2),
    "pixel_unshuffle": functional("pixel_unshuffle", 2),
    "cat": lambda torch, x: torch.cat([x, x], 1),
    "cat of both": lambda torch, x: torch.cat([x, x.contiguous()], 1),
    "roll": lambda torch, x: x.roll(1, 2),
    "zeros_like": lambda torch, x: torch.zeros_like(x),
    "in order": lambda torch, x: torch.zeros_like(x, memory_format=torch.contiguous_format),
}
OF_VOLUMES = {
    "conv3d": convolved("conv3d", DEEP),
    "conv_transpose3d": convolved("conv_transpose3d", DEEP.transpose(1, 0, 2, 3, 4)),
    "batch_norm": standardized(True),
    "group_norm": functional("group_norm", 2),
    "instance_norm": functional("instance_norm"),
    "max_pool3d": functional("max_pool3d", 2),
    "avg_pool3d": functional("avg_pool3d", 2),
    "pad": functional("pad", (1, 1)),
    "replicated": functional("pad", (1, 1, 1, 1, 1, 1), mode="replicate"),
    "cat": lambda torch, x: torch.cat([x, x], 1),
}
DRAWN = {
    "dropout": functional("dropout"),
    "dropout2d": functional("dropout2d"),
    "alpha_dropout": functional("alpha_dropout", training=True),
    "rand_like": lambda torch, x: torch.rand_like(x),
    "randn_like": lambda torch, x: torch.randn_like(x),
    "randint_like": lambda torch, x: torch.randint_like(x, 5),
    "rand_like in order": lambda torch, x: torch.rand_like(
        x, memory_format=torch.contiguous_format
    ),
    "empty_like": lambda torch, x: torch.empty_like(x),
}


def result(torch, call, array, last=True):
    x = torch.tensor(array)
    if last:
        x = x.to(memory_format=torch.channels_last if x.ndim == 4 else torch.channels_last_3d)
    return call(torch, x.requires_grad_())


def compared(torch, call, array):
    ours, theirs = result(compat, call, array), result(torch, call, array)
    assert ours.stride() == theirs.stride()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-4, 1e-5)
    in_order = result(compat, call, array, last=False)
    np.testing.assert_allclose(ours.detach().numpy(), in_order.detach().numpy(), 1e-5, 1e-6)
    assert in_order.stride() == result(torch, call, array, last=False).stride()


@pytest.mark.parametrize("name", OF_IMAGES)
def test_images_keep_their_memory_where_pytorch_keeps_it(torch, name):
    compared(torch, OF_IMAGES[name], IMAGES)


@pytest.mark.parametrize("name", OF_VOLUMES)
def test_volumes_keep_their_memory_where_pytorch_keeps_it(torch, name):
    compared(torch, OF_VOLUMES[name], VOLUMES)


@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_lies_as_what_it_imitates(torch, name):
    call = DRAWN[name]
    compat.manual_seed(0)
    ours = result(compat, call, IMAGES)
    assert ours.stride() == result(torch, call, IMAGES).stride()
    if name != "empty_like":
        compat.manual_seed(0)
        in_order = result(compat, call, IMAGES, last=False)
        np.testing.assert_array_equal(ours.detach().numpy(), in_order.detach().numpy())


def test_a_network_keeps_it_from_end_to_end(torch):
    def network(library):
        nn = library.nn
        layers = [nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Dropout(0.0), nn.Conv2d(8, 4, 1), nn.GroupNorm(2, 4), nn.Upsample(4)]
        return nn.Sequential(*layers).to(memory_format=library.channels_last)

    for library in (compat, torch):
        x = library.tensor(IMAGES).to(memory_format=library.channels_last)
        out = network(library)(x)
        assert out.is_contiguous(memory_format=library.channels_last)
        out.sum().backward()
