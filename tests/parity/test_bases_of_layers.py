"""What programs derive from layers, and call of them, against PyTorch."""

import importlib
import inspect

import numpy as np
import pytest

import adjoint.compat.torch as compat

torch = pytest.importorskip("torch")


def numbers(library, *shape, seed=0):
    """A tensor of numbers that depend on the seed alone."""
    return library.from_numpy(np.random.default_rng(seed).normal(size=shape))


def filled(library, module):
    """The module in float64, with parameters that do not depend on a library's random numbers."""
    module.double()
    with library.no_grad():
        for place, parameter in enumerate(module.parameters()):
            parameter.copy_(numbers(library, *parameter.shape, seed=place))
    return module


def both(scenario):
    """A scenario answers the same numbers, or other values, in both libraries."""
    mine, theirs = scenario(compat), scenario(torch)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        if isinstance(b, torch.Tensor):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9)
        else:
            assert a == b


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_a_programs_own(transposed):
    def scenario(library):
        conv, functional = library.nn.modules.conv, library.nn.functional

        class Own(conv._ConvTransposeNd if transposed else conv._ConvNd):
            def __init__(self, *channels):
                sizes = ((3, 2), (1, 1), (1, 2), (1, 1))
                mode = "zeros" if transposed else "circular"
                super().__init__(*channels, *sizes, transposed, (0, 0), 2, True, mode)

            def forward(self, x):
                if transposed:
                    return functional.conv_transpose2d(x, self.weight, self.bias, groups=2)
                x = functional.pad(x, self._reversed_padding_repeated_twice, self.padding_mode)
                return functional.conv2d(x, self.weight, self.bias, groups=self.groups)

        own = filled(library, Own(4, 6))
        return [
            own(numbers(library, 1, 4, 5, 5)),
            own.transposed,
            tuple(own.weight.shape),
            tuple(own._reversed_padding_repeated_twice),
        ]

    both(scenario)


def test_padding_that_a_program_says_anew():
    def scenario(library):
        layer = filled(library, library.nn.Conv1d(1, 2, 3, padding="same", padding_mode="reflect"))
        usual = layer(numbers(library, 1, 1, 6))
        layer._reversed_padding_repeated_twice = [0, 2]
        return [usual, layer(numbers(library, 1, 1, 6))]

    both(scenario)


@pytest.mark.parametrize("size", [None, [10, 9], [1, 3, 10, 9]])
def test_output_padding(size):
    def scenario(library):
        layer = library.nn.ConvTranspose2d(2, 3, 3, stride=2)
        sizes = ([2, 2], [0, 0], [3, 3], 2, [1, 1])
        return [list(layer._output_padding(library.ones(1, 2, 4, 4), size, *sizes))]

    both(scenario)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_blocks_of_transformers(norm_first, training):
    def scenario(library):
        seen = []

        def noted(name, kind):
            def block(self, *args, **kwargs):
                seen.append((name, len(args), sorted(kwargs)))
                return 2 * getattr(super(kind, self), name)(*args, **kwargs)

            setattr(kind, name, block)

        class Encoder(library.nn.TransformerEncoderLayer):
            pass

        class Decoder(library.nn.TransformerDecoderLayer):
            pass

        for kind in (Encoder, Decoder):
            for name in ("_sa_block", "_mha_block", "_ff_block"):
                if hasattr(kind, name):
                    noted(name, kind)
        options = {"dropout": 0.0, "norm_first": norm_first}
        encoder = filled(library, Encoder(4, 2, 8, **options)).train(training)
        decoder = filled(library, Decoder(4, 2, 8, **options)).train(training)
        x, memory = numbers(library, 3, 2, 4), numbers(library, 5, 2, 4, seed=1)
        return [encoder(x), decoder(x, memory), seen]

    both(scenario)


@pytest.mark.parametrize("name", ["Embedding", "EmbeddingBag"])
def test_the_row_of_padding_is_filled_by_a_programs_own_drawing(name):
    def scenario(library):
        class Own(getattr(library.nn, name)):
            def reset_parameters(self):
                library.nn.init.ones_(self.weight)
                self._fill_padding_idx_with_zero()

        return [Own(3, 2, padding_idx=1).weight, Own(3, 2).weight]

    both(scenario)


def test_calls_of_a_programs_own():
    def scenario(library):
        class Doubled(library.nn.Identity):
            def _call_impl(self, *args, **kwargs):
                return 2 * super()._call_impl(*args, **kwargs)

        class Below(Doubled):
            pass

        x = library.ones(2)
        hooked = Below()
        hooked.register_full_backward_hook(lambda *given: None)
        hooked.register_full_backward_pre_hook(lambda *given: None)
        full, old = hooked._get_backward_hooks()
        counts = [len(full), len(old), len(hooked._get_backward_pre_hooks())]
        plain = library.nn.Identity()
        return [
            Doubled()(x),
            hooked(x),
            plain._wrapped_call_impl(x),
            plain._slow_forward(x),
            counts,
        ]

    both(scenario)


MODULES = (
    "activation adaptive batchnorm channelshuffle conv distance dropout flatten fold instancenorm "
    "linear loss normalization padding pixelshuffle pooling rnn sparse transformer upsampling"
)
# Lazy layers, of which PyTorch says that they are none of what they become, are not compared.
NOT_COMPARED = ("_ConvTransposeMixin", "LinearCrossEntropyLoss")


def layers(name):
    """The classes of one of PyTorch's modules of layers, and ours of the same names."""
    theirs = importlib.import_module(f"torch.nn.modules.{name}")
    ours = importlib.import_module(f"adjoint.compat.torch.nn.modules.{name}")
    for kind in [kind for kind in vars(theirs).values() if inspect.isclass(kind)]:
        named = kind.__name__
        if kind.__module__ == theirs.__name__ and named not in NOT_COMPARED and "Lazy" not in named:
            yield getattr(ours, named), kind


@pytest.mark.parametrize("name", MODULES.split())
def test_constants_and_bases(name):
    pairs = [*layers(name)]
    for ours, theirs in pairs:
        assert getattr(ours, "__constants__", []) == getattr(theirs, "__constants__", [])
        for our_base, base in pairs:
            assert issubclass(ours, our_base) is issubclass(theirs, base), (theirs, base)
