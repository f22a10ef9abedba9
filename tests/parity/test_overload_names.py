"""Names that PyTorch's overloads give to arguments, and functions that stand under torch alone."""

import numpy as np
import pytest

import adjoint.compat.torch as compat

CALLS = {
    "swapaxes": lambda torch, x: torch.swapaxes(x, axis0=0, axis1=1),
    "isin an element": lambda torch, x: torch.isin(x, test_element=2.0),
    "an element isin": lambda torch, x: torch.isin(element=2.0, test_elements=x),
    "tensor_split at": lambda torch, x: torch.tensor_split(x, indices=(1, 2), dim=1),
    "tensor_split into": lambda torch, x: x.tensor_split(sections=2, dim=1),
    "tensor_split by": lambda torch, x: x.tensor_split(
        tensor_indices_or_sections=torch.tensor([1]), dim=1
    ),
    "hsplit": lambda torch, x: x.hsplit(sections=2),
    "vsplit": lambda torch, x: torch.vsplit(x, indices=[1]),
    "split": lambda torch, x: x.split(split_size=1),
    "result_type": lambda torch, x: torch.ones(2, dtype=torch.result_type(tensor=x, other=2)),
    "promote_types": lambda torch, x: torch.ones(
        2, dtype=torch.promote_types(type1=torch.float64, type2=torch.int8)
    ),
    "cholesky_solve": lambda torch, x: torch.cholesky_solve(torch.eye(2), input2=torch.eye(2)),
    "nuclear_norm": lambda torch, x: torch.nuclear_norm(x),
    "frobenius_norm": lambda torch, x: torch.frobenius_norm(x, (0, 1)),
    "convolution": lambda torch, x: torch.convolution(
        x[None], x[None, :, :2], None, [1], [0], [1], False, [0], 1
    ),
    "_VF": lambda torch, x: torch._VF.norm(x, 2),
}


def values(library, answer):
    parts = answer if isinstance(answer, (tuple, list)) else [answer]
    return [
        (tuple(each.shape), str(each.dtype).rpartition(".")[2], each.tolist()) for each in parts
    ]


@pytest.mark.filterwarnings("ignore:at..:UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_arguments_have_the_names_of_overloads(torch, name):
    found = [
        values(library, CALLS[name](library, library.tensor([[1.0, 2, 3, 4], [5, 6, 7, 9]])))
        for library in (compat, torch)
    ]
    if name == "nuclear_norm":
        np.testing.assert_allclose(found[0][0][2], found[1][0][2], rtol=1e-6)
    else:
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: compat.sum(x, dim=0, axis=1),
        lambda x: x.split(split_size=1, split_size_or_sections=1),
    ],
)
def test_two_names_of_one_argument_are_refused(call):
    with pytest.raises(TypeError):
        call(compat.ones(2, 2))


KINDS = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}


def as_ours(value):
    """PyTorch's tensors as those of adjoint, in lists too."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(as_ours, value))
    if hasattr(value, "detach"):
        return compat.tensor(value.detach().numpy(), requires_grad=value.requires_grad)
    return value


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_recurrent_layers_take_weights(torch, name, biased, both, packed):
    options = {"bidirectional": both, "bias": biased}
    if name == "rnn_relu":
        options["nonlinearity"] = "relu"
    torch.manual_seed(0)
    layer = getattr(torch.nn, KINDS[name])(3, 4, 2, **options)
    weights = [each.detach().requires_grad_() for each in layer._flat_weights]
    state = torch.randn(2 + 2 * both, 2, 4)
    hx = [state, state * 0.5] if name == "lstm" else state
    rest = (hx, weights, biased, 2, 0.0, False, both)
    data = torch.randn(5, 2, 3)
    if packed:
        given = torch.nn.utils.rnn.pack_padded_sequence(data, [5, 3])
        args = (given.data, given.batch_sizes, *rest)
    else:
        args = (data, *rest, False)
    ours = as_ours(args)
    expected, found = getattr(torch, name)(*args), getattr(compat._VF, name)(*ours)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), atol=1e-6)
    expected[0].sum().backward()
    found[0].sum().backward()
    given = ours[3 if packed else 2]
    for one, other in zip(given, weights, strict=True):
        np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), atol=2e-5)


def test_a_recurrent_layer_with_too_few_arguments_says_what_it_takes():
    with pytest.raises(TypeError, match=r"lstm\(\) takes \(input, hx, params, has_biases"):
        compat.lstm(compat.ones(1, 1, 1))
