"""autocast and GradScaler: types, nesting, gradients, and what they do without a GPU."""

import math

import numpy as np
import pytest

import adjoint
from adjoint import backends
from adjoint.amp import GradScaler, custom_bwd, custom_fwd, is_autocast_available
from adjoint.nn import functional as F


def half(*shape):
    return adjoint.ones(*shape, dtype=adjoint.float16)


def test_products_run_in_the_narrow_type():
    x, w = adjoint.ones(2, 3), adjoint.ones(3, 3, requires_grad=True)
    with adjoint.autocast("cpu", dtype=adjoint.float16) as mode:
        assert mode.fast_dtype is adjoint.float16
        product = x @ w
        assert product.dtype is F.linear(x, w).dtype is adjoint.float16
        assert (x + x).dtype is product.to(adjoint.float32).dtype is adjoint.float32
        assert F.mse_loss(product, half(2, 3)).dtype is adjoint.float32
        assert adjoint.prod(product).dtype is adjoint.float32
        assert adjoint.cat([product, x]).dtype is adjoint.float32
        assert (x.double() @ w.double()).dtype is adjoint.float64
        product.sum().backward()
    assert (x @ w).dtype is adjoint.float32
    assert w.grad.dtype is adjoint.float32
    assert w.grad.tolist() == [[2.0] * 3] * 3


def test_nested_blocks_and_decorators():
    x = adjoint.ones(2, 2)
    ask = adjoint.is_autocast_enabled
    with adjoint.autocast("cpu", adjoint.float16):
        assert ask("cpu") and not ask("cuda")
        assert adjoint.get_autocast_dtype("cpu") is adjoint.float16
        with adjoint.autocast("cpu", enabled=False):
            assert not ask("cpu") and (x @ x).dtype is adjoint.float32
        with pytest.raises(ValueError), adjoint.autocast("cpu", enabled=False):
            raise ValueError
        assert (x @ x).dtype is adjoint.float16
    assert not ask("cpu")

    @adjoint.autocast("cpu", dtype=adjoint.float16)
    def product():
        return x @ x

    assert product().dtype is adjoint.float16 and (x @ x).dtype is adjoint.float32


def test_the_default_type():
    assert adjoint.get_autocast_dtype("cpu") is (adjoint.bfloat16 or adjoint.float16)
    assert adjoint.get_autocast_dtype("cuda") is adjoint.float16
    assert is_autocast_available("cuda") and not is_autocast_available("meta")
    x = adjoint.ones(2, 2)
    with adjoint.autocast("cpu"):
        assert (x @ x).dtype is adjoint.get_autocast_dtype("cpu")


@pytest.mark.skipif(
    backends.is_available(adjoint.device("cuda")), reason="says what there is without a GPU"
)
def test_without_a_gpu_autocast_for_it_is_off():
    with pytest.warns(UserWarning, match="no cuda device"):
        mode = adjoint.autocast("cuda")
    with mode:
        assert not adjoint.is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="disabled"):
        assert not GradScaler().is_enabled()


def test_a_device_stands_for_its_kind():
    x = adjoint.ones(2, 2)
    with adjoint.autocast("cpu:0"):
        assert adjoint.is_autocast_enabled("cpu") and adjoint.is_autocast_enabled("cpu:1")
        assert (x @ x).dtype is adjoint.get_autocast_dtype("cpu:0") is not x.dtype
    assert is_autocast_available("xla") and not is_autocast_available("meta")


def test_it_is_off_on_kinds_of_devices_that_are_not_there():
    for kind in ("hpu", "ipu", "maia", "mps", "mtia", "privateuseone", "xpu"):
        assert not adjoint.is_autocast_enabled(kind)


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="'abacus'"):
        adjoint.autocast("abacus")
    for asked in (is_autocast_available, adjoint.is_autocast_enabled):
        with pytest.raises(RuntimeError, match="'abacus'"):
            asked("abacus")
    with pytest.raises(ValueError, match="must be a str"):
        adjoint.autocast(adjoint.device("cpu"))
    with pytest.raises(TypeError, match="decorates functions, got a Tensor"):
        adjoint.autocast("cpu")(adjoint.ones(2))
    with pytest.warns(UserWarning, match="float32 is no narrow type"):
        mode = adjoint.autocast("cpu", dtype=adjoint.float32)
    with mode:
        assert not adjoint.is_autocast_enabled("cpu")


def test_functions_with_a_backward_of_their_own():
    seen = []

    class Product(adjoint.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu")
        def forward(ctx, x):
            ctx.save_for_backward(x)
            seen.append((x @ x).dtype)
            return x * 2

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append((x @ x).dtype)
            return grad * 2

    class Wide(adjoint.autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", cast_inputs=adjoint.float32)
        def forward(ctx, x):
            seen.append((x @ x).dtype)
            return x.clone()

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    x = adjoint.ones(2, 2, requires_grad=True)
    with adjoint.autocast("cpu", adjoint.float16):
        output = Product.apply(x)
        Wide.apply(half(2, 2))
    output.sum().backward()
    assert seen == [adjoint.float16, adjoint.float32, adjoint.float16]
    assert x.grad.tolist() == [[2.0, 2.0]] * 2


def test_a_scaler_finds_overflow_and_goes_on():
    weight = adjoint.nn.Parameter(adjoint.tensor([1.0]))
    optimizer = adjoint.optim.SGD([weight], lr=0.5)
    scaler = GradScaler("cpu", init_scale=8.0, growth_interval=2)
    for factor, scale, value in (
        (1.0, 8.0, 0.5),
        (math.inf, 4.0, 0.5),
        (1.0, 4.0, 0.0),
        (1.0, 8.0, -0.5),
    ):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (scaler.get_scale(), weight.item()) == (scale, value)
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 8.0
    assert other.get_growth_interval() == 2
    for name, value in (("growth_factor", 3.0), ("backoff_factor", 0.25), ("growth_interval", 7)):
        getattr(other, f"set_{name}")(value)
        assert other.state_dict()[name] == getattr(other, f"get_{name}")() == value


def test_a_scaler_says_what_is_missing():
    weight = adjoint.nn.Parameter(adjoint.tensor([1.0]))
    optimizer = adjoint.optim.SGD([weight], lr=0.5)
    scaler = GradScaler("cpu")
    with pytest.raises(AssertionError, match=r"has a \.grad"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="no gradients were unscaled"):
        scaler.update()
    weight.grad = adjoint.ones(1)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    with pytest.raises(ValueError, match="growth_factor"):
        GradScaler("cpu", growth_factor=1.0)


@pytest.mark.parametrize(
    "name",
    [
        "matmul",
        "mm",
        "bmm",
        "addmm",
        "einsum",
        "conv2d",
        "conv_transpose2d",
        "linear",
        "linalg.vecdot",
        "prod",
        "softmax",
        "layer_norm",
        "mse_loss",
        "cross_entropy",
        "exp",
        "sum",
        "add",
        "relu",
        "cat",
    ],
)
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_results_have_the_types_of_pytorch(torch, name, kind):
    """Types of results under autocast in float16, function by function."""
    found, wanted = (_result_type(library, name, kind) for library in (adjoint, torch))
    assert found == wanted


def _result_type(library, name, kind):
    made = library.eye(4, dtype=library.float32).to(getattr(library, kind))
    batch, image = made[None], made.view(1, 1, 4, 4)
    functional = library.nn.functional
    target = library.tensor([0, 1, 2, 3])
    arguments = {
        "matmul": (made, made),
        "mm": (made, made),
        "bmm": (batch, batch),
        "addmm": (made, made, made),
        "einsum": ("ij,jk->ik", made, made),
        "conv2d": (image, image),
        "conv_transpose2d": (image, image),
        "linear": (made, made),
        "linalg.vecdot": (made, made),
        "softmax": (made, -1),
        "layer_norm": (made, (4,)),
        "mse_loss": (made, made),
        "cross_entropy": (made, target),
        "add": (made, made),
        "cat": ([made, made.to(library.float32)],),
    }.get(name, (made,))
    home = functional if hasattr(functional, name) else library
    if "." in name:
        home, name = library.linalg, name.removeprefix("linalg.")
    with library.autocast("cpu", dtype=library.float16):
        result = getattr(home, name)(*arguments)
    return str(result.dtype).rpartition(".")[2]


def test_how_a_scale_changes_can_be_read_and_set():
    scaler = GradScaler("cpu", init_scale=8.0)
    found = scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()
    assert found == (2.0, 0.5, 2000)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.25)
    scaler.set_growth_interval(1)
    weight = adjoint.ones(1, requires_grad=True)
    optimizer = adjoint.optim.SGD([weight], 0.1)
    scales = []
    for factor in (1.0, float("inf")):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    assert scales == [24.0, 6.0]


PAIRS = {"l1_loss", "mse_loss", "huber_loss", "kl_div", "poisson_nll_loss", "soft_margin_loss"}
TRIPLES = {"margin_ranking_loss", "triplet_margin_loss"}
OTHERS = {"hinge_embedding_loss", "cosine_embedding_loss", "cdist", "prelu"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(PAIRS | TRIPLES | OTHERS))
@pytest.mark.parametrize("narrow", ["bfloat16", "float16"])
def test_functions_of_several_steps_cast_as_pytorch(torch, name, narrow):
    found = []
    for library in (torch, adjoint):
        made = (library.arange(6.0).reshape(2, 3) / 8).to(getattr(library, narrow))
        leaf = made.clone().requires_grad_()
        rest = {"cosine_embedding_loss": (made, library.ones(2)), "prelu": (library.ones(1),)}
        given = rest.get(name, (made,) * (2 if name in TRIPLES else 1))
        function = getattr(library if name == "cdist" else library.nn.functional, name)
        with library.autocast("cpu", dtype=getattr(library, narrow)):
            out = function(leaf, *given)
        out.sum().backward()
        found.append((str(out.dtype).partition(".")[2], str(leaf.grad.dtype).partition(".")[2]))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("given", [None, "float32", "bfloat16"])
@pytest.mark.parametrize("narrow", [True, False])
def test_recurrent_layers_take_what_narrow_layers_give(torch, kind, given, narrow):
    """Types and values of outputs and states, and gradients of weights."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(3, 2, 4)).astype("float32")
    weights = [generator.normal(size=s) / 3 for s in [(20, 4), (20, 5), (20,), (20,)]]
    found = []
    for library in (adjoint, torch):
        layer = getattr(library.nn, kind)(4, 5)
        for own, value in zip(layer.parameters(), weights, strict=True):
            own.data = library.tensor(value[: own.shape[0]], dtype=library.float32)
        data = library.tensor(x).to(library.bfloat16 if narrow else library.float32)
        with library.autocast("cpu", dtype=library.bfloat16):
            state = None if given is None else library.zeros(1, 2, 5, dtype=getattr(library, given))
            output, last = layer(data, (state, state) if kind == "LSTM" and given else state)
            output.float().sum().backward()
        last = last if isinstance(last, tuple) else (last,)
        kinds = [str(each.dtype).split(".")[1] for each in (output, *last)]
        numbers = (output, *last, *[own.grad for own in layer.parameters()])
        found.append((kinds, [each.detach().float().numpy() for each in numbers]))
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(found[0][1], found[1][1], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.05, rtol=0.05)


def test_recurrent_layers_of_packed_sequences_under_autocast(torch):
    for library in (adjoint, torch):
        pack = library.nn.utils.rnn.pack_padded_sequence
        with library.autocast("cpu", dtype=library.bfloat16):
            narrow = library.nn.Linear(4, 4)(library.ones(3, 2, 4))
            output, _ = library.nn.LSTM(4, 5)(pack(narrow, [3, 2]))
        assert output.data.dtype is library.bfloat16
    with pytest.raises(ValueError, match="does not match weight dtype"):
        adjoint.nn.LSTM(4, 5)(narrow_input := adjoint.ones(3, 2, 4).to(adjoint.bfloat16))
    assert narrow_input.dtype is adjoint.bfloat16
