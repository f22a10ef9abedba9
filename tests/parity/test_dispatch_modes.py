"""What a mode below autograd sees of a program: PyTorch's operations, overloads and arguments."""

import contextlib
import importlib

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat import pytorch_names
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from tests.parity import (
    dispatch_functions,
    dispatch_losses,
    dispatch_matrices,
    dispatch_sequences,
)
from tests.parity.dispatch_programs import DERIVED, DRAWN, SAMPLED, VALUED
from tools import aten_forms


def shown(library, value):
    """An argument as text: of a tensor its shape."""
    if isinstance(value, library.Tensor) and value.dtype is library.uint8:
        return "bytes"  # memory of oneDNN, of a size of its own
    if isinstance(value, library.Tensor):
        return f"T{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(shown(library, each) for each in value)}]"
    if type(value).__name__ in ("ScriptObject", "record_function"):
        return "a range"
    if type(value) is int:
        value = float(value)  # some of adjoint's defaults are 1.0 where PyTorch's are 1
    return str(value).replace("adjoint.", "torch.")


def logged(library, mode, program):
    """The calls that a mode sees of a program."""
    log = []

    class Log(mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            given = [shown(library, value) for value in args]
            given += [f"{name}={shown(library, value)}" for name, value in (kwargs or {}).items()]
            log.append(f"{func}({', '.join(given)})")
            return func(*args, **(kwargs or {}))

    x = library.tensor([[0.1, 0.2, 0.3], [0.5, 0.7, 0.9]], requires_grad=True)
    y = library.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    library.manual_seed(0)
    with Log():
        program(library, x, y)
    return log


def arithmetic(torch, x, y):
    return [
        x + y,
        x * 2,
        2 * x,
        x - 1.5,
        2 - x,
        x / y,
        1 / x,
        x**2,
        x**y,
        2**x,
        -x,
        torch.add(x, y, alpha=2),
        x // 1,
        x % 2,
        x > y,
        x == 1,
        torch.maximum(x, y),
        torch.div(x, y, rounding_mode="floor"),
        torch.where(x > 0.3, x, 0.0),
        x.clamp(0, 1),
        x.clamp(min=0.2),
        x.square(),
        torch.atan2(x, y),
        torch.lerp(x, y, 0.5),
        torch.addcmul(x, x, y, value=2),
    ]


def unary(torch, x, y):
    names = "sin cos exp log tanh sigmoid relu abs sqrt rsqrt reciprocal round floor sign erf"
    functional = torch.nn.functional
    extra = [functional.gelu(x), functional.silu(x), functional.softplus(x)]
    return [getattr(x, name)() for name in names.split()] + extra


def reductions(torch, x, y):
    return [
        x.sum(),
        x.sum(1),
        x.sum((0, 1), keepdim=True),
        x.sum(dtype=torch.float64),
        x.mean(),
        x.mean(0),
        x.max(),
        x.max(1),
        x.min(0),
        x.amax(1),
        x.argmax(),
        x.argmax(1),
        x.var(),
        x.std(0),
        x.var(1, correction=0),
        x.prod(),
        x.prod(1),
        x.norm(),
        x.norm(dim=1),
        x.cumsum(0),
        x.logsumexp(1),
        (x > 0).all(),
        (x > 0).any(1),
        x.median(),
        x.sort(1),
        x.topk(2),
        x.softmax(1),
        x.log_softmax(0),
    ]


def views(torch, x, y):
    return [
        x.view(3, 2),
        x.reshape(6),
        x.reshape(-1, 2),
        x.t().reshape(6),
        x.t(),
        x.transpose(0, 1),
        x.permute(1, 0),
        x[0],
        x[-1],
        x[:, 1],
        x[:, :2],
        x[:, 1:],
        x[:],
        x[:2],
        x[:, :3],
        x.narrow(0, 0, 2),
        x[0:1, ::2],
        x[..., None],
        x[None],
        x.unsqueeze(0).squeeze(0),
        x.expand(2, 2, 3),
        x.flatten(),
        x.T,
        x.mT,
        x.select(0, 1),
        x.narrow(1, 0, 2),
        x.chunk(2),
        x.split(1),
        x.split([1, 2], 1),
        x.unbind(0),
        x.diagonal(),
        x.squeeze(),
        x.as_strided((2,), (1,)),
    ]


def indices(torch, x, y):
    with torch.no_grad():
        places = torch.tensor([0, 1])
    mask = x > 0.3
    return [
        x[places],
        x[places, places],
        x[mask],
        x[:, places],
        x[0, places],
        x.gather(1, places.view(2, 1)),
        x.index_select(1, places),
        x.masked_fill(mask, 0.0),
        x.scatter(1, places.view(2, 1), 1.0),
        x.scatter_add(1, places.view(2, 1), x),
        x.index_add(0, places, x),
        torch.nn.functional.embedding(places, x),
    ]


def changes(torch, x, y):
    a, b = x.detach().clone(), y.detach()
    a.add_(1)
    a.mul_(b)
    a.zero_()
    a.copy_(b)
    a[0] = 1
    a[:, 1] += 2
    a[0] = b[1]
    a.fill_(3.0)
    a.clamp_(min=0)
    a[b > 0.3] = 0.0
    a.t_()
    a.sub_(b.t(), alpha=2)
    a.div_(2)
    a.exp_()
    a += 1
    a *= b.t()
    a.masked_fill_(a > 1, 0)
    a.unsqueeze_(0)
    a.normal_()


def recorded_changes(torch, x, y):
    functional = torch.nn.functional
    (x * 1).mul_(y)
    (x * 1).mul_(2)
    (x * 1).div_(y.detach())
    torch.ones(2, 3).div_(y)
    (x * 1).pow_(2)
    (x * 1).sin_()
    (x * 1).exp_()
    (x * 1).atan2_(y)
    (x * 1).addcmul_(x, y)
    (x * 1).masked_fill_(x > 0.3, 0.0)
    for name in ("silu", "celu", "relu6", "leaky_relu", "relu"):
        getattr(functional, name)(x * 1, inplace=True)


def creation(torch, x, y):
    torch.tensor([1.0, 2.0])
    torch.tensor(3)
    torch.as_tensor([1, 2])
    torch.from_numpy(np.ones(2))
    torch.tensor([1.0], requires_grad=True)
    x.new_tensor([1.0])
    torch.zeros(2)
    torch.ones(2, 3, dtype=torch.int64)
    torch.full((2,), 3.0)
    torch.arange(3)
    torch.arange(1, 5, 2)
    torch.linspace(0, 1, 3)
    torch.eye(2)
    torch.empty(2)
    torch.randn(2)
    torch.rand(2, 2)
    torch.randint(0, 5, (2,))
    torch.randperm(3)
    torch.zeros_like(x)
    torch.full_like(x, 2.0)
    torch.randn_like(x)
    x.new_zeros(2)
    x.new_full((2,), 1.0)
    torch.normal(0.0, 1.0, (2,))
    torch.bernoulli(x)


def conversions(torch, x, y):
    x.double()
    x.to(torch.float64)
    x.to(torch.float32)
    x.clone()
    x.contiguous()
    x.t().contiguous()
    x.long()
    x.half()
    x.sum().item()
    float(x.sum())
    bool(x.sum() > 0)


def products(torch, x, y):
    row, batch = torch.ones(3), torch.ones(2, 2, 3)
    return [
        x @ y.t(),
        x.mm(y.t()),
        row @ row,
        x @ row,
        row @ y.t(),
        batch @ y.t(),
        batch @ batch.mT,
        batch @ row,
        torch.addmm(torch.ones(2), x, y.t()),
        torch.mv(x, row),
        torch.nn.functional.linear(x, y),
        torch.nn.functional.linear(x, y, torch.ones(2)),
        torch.nn.functional.linear(batch, y, torch.ones(2)),
    ]


def joined(torch, x, y):
    return [torch.cat([x, y]), torch.stack([x, y], 1), x.repeat(2, 1), x.roll(1), x.flip(0)]


def network(torch, x, y):
    functional = torch.nn.functional
    hidden = functional.layer_norm(functional.relu(x), (3,))
    images = hidden.view(1, 1, 2, 3)
    weight = torch.ones(1, 1, 2, 2)
    out = functional.conv2d(images, weight, padding=1)
    out = functional.max_pool2d(out, 2, 2)
    return functional.mse_loss(out.flatten(1), torch.ones(1, 2))


def backward_of_products(torch, x, y):
    (x.sin() * y).sum().backward()


def backward_of_views(torch, x, y):
    (x.view(3, 2)[0].exp() * y[1, 1:]).sum().backward()


def backward_of_activations(torch, x, y):
    (x.relu() * y.tanh()).sum().backward()


def backward_of_an_index(torch, x, y):
    (x[torch.tensor([0, 1])] * y).sum().backward()


def backward_of_written_views(torch, x, y):
    a = x * 1
    a[:, 1:].mul_(y[:, 1:])
    a[0].copy_(y[1])
    whole = x.new_empty((2, 5))
    whole[:, 1:4].copy_(y)
    (a.sum() + whole[:, 1:4].sum()).backward()


def round_borders(torch, x, y):
    image = y[None, None] * 1
    padded = torch.nn.functional.pad(image, (2, 1, 0, 1), mode="circular")
    padded.sum().backward()


def types_of_numbers(torch, x, y):
    torch.can_cast(torch.float32, torch.int64)
    torch.promote_types(torch.float32, torch.int64)
    torch.result_type(x, 1.5)  # which is not shown
    assert torch.ops.aten.can_cast(torch.int64, torch.float32)


def ranges(torch, x, y):
    with torch.profiler.record_function("of a block"):
        x.sin()
    with torch.autograd.profiler.record_function("of a call", "and its arguments"):
        y.sin()
    torch.profiler.record_function("of a function")(lambda: x + y)()
    record = torch.ops.profiler._record_function_enter_new("by hand")
    torch.ops.profiler._record_function_exit(record)


def loading(torch, x, y):
    list(torch.utils.data.DataLoader([1.0, 2.0, 3.0], batch_size=2))


def attention(torch, x, y):
    """A stack of layers, of which a mask is found to be the causal one."""
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2)
    sequences, later = torch.ones(2, 3, 4), torch.ones(3, 3).triu(1).bool()
    padding = torch.zeros(2, 3).bool()
    for masks in ({}, {"mask": later}, {"src_key_padding_mask": padding}):
        encoder(sequences, **masks)
    encoder(sequences, later, padding)
    heads = torch.nn.MultiheadAttention(4, 2)
    heads(*[torch.ones(3, 4)] * 3)
    heads(*[torch.ones(3, 2, 4)] * 3, average_attn_weights=False)


PROGRAMS = [
    attention,
    types_of_numbers,
    ranges,
    loading,
    arithmetic,
    unary,
    reductions,
    views,
    indices,
    changes,
    recorded_changes,
    creation,
    conversions,
    products,
    joined,
    network,
    backward_of_products,
    backward_of_views,
    backward_of_activations,
    backward_of_an_index,
    backward_of_written_views,
    round_borders,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_mode_sees_what_it_sees_in_pytorch(torch, program):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    ours = logged(compat, TorchDispatchMode, program)
    theirs = logged(torch, Theirs, program)
    assert ours == theirs
    assert ours


def gradients_and_steps(torch, program):
    """Steps and gradients of both libraries."""
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    found = []

    def derived(library, x, y):
        loss = program(library, x, y)
        found.append(library.autograd.grad(loss, [x, y], allow_unused=True))

    steps = logged(compat, TorchDispatchMode, derived), logged(torch, Theirs, derived)
    return steps, found


STEPPED = DERIVED | dispatch_matrices.DERIVED | dispatch_losses.DERIVED


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.filterwarnings("ignore:torch")  # PyTorch's, of what has another name today
def test_a_mode_sees_the_same_steps_of_a_backward_pass(torch, name):
    program = STEPPED[name]
    (ours, theirs), found = gradients_and_steps(torch, program)
    assert ours == theirs
    if "layers" not in name and "a layer" not in name:  # whose weights are drawn
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", dispatch_losses.RECORDED)
def test_a_mode_sees_the_same_steps_of_a_recorded_pass(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    program, found = dispatch_losses.RECORDED[name], []

    def derived(library, x, y):
        out = program(library, x)
        start = library.ones_like(out).requires_grad_()
        grads = library.autograd.grad(out, x, start, create_graph=True)
        second = library.autograd.grad(grads, [start, x], y, allow_unused=True)
        found.append([grads[0].detach().numpy(), second[0].numpy()])

    assert logged(compat, TorchDispatchMode, derived) == logged(torch, Theirs, derived)
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


NAMED = dispatch_matrices.NAMED | dispatch_functions.NAMED | dispatch_losses.NAMED
MADE = dispatch_matrices.MADE | dispatch_functions.MADE


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.filterwarnings("ignore:index_reduce")  # PyTorch's, that it may change
def test_a_mode_sees_steps_of_the_same_names(torch, name):
    (ours, theirs), found = gradients_and_steps(torch, NAMED[name])
    assert [step.partition("(")[0] for step in ours] == [step.partition("(")[0] for step in theirs]
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", MADE)
def test_a_mode_sees_the_same_steps_where_nothing_is_derived(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    found = []

    def made(library, x, y):
        with library.no_grad():
            answer = MADE[name](library, x, y)
        found.append(answer if isinstance(answer, tuple) else (answer,))

    names = [
        [step.partition("(")[0] for step in logged(*pair, made)]
        for pair in ((compat, TorchDispatchMode), (torch, Theirs))
    ]
    assert names[0] == names[1]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-4)


def unknown_names(program, kind, recorded):
    """The names that a mode sees of a program and its gradients, and PyTorch has not."""
    seen = set()

    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.add(str(func))
            return func(*args, **(kwargs or {}))

    numbers = [[0.1, 0.2, 0.3], [0.5, 0.7, 0.9]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    x, y = (compat.tensor(each, dtype=kind, requires_grad=True) for each in numbers)
    with Looking():
        loss = (program(compat, x, y) ** 2).sum()
        grads = compat.autograd.grad(loss, [x, y], create_graph=recorded, allow_unused=True)
        slopes = [grad for grad in grads if grad is not None and grad.requires_grad]
        if slopes:
            compat.autograd.grad(slopes[0].sum(), [x, y], allow_unused=True)
    assert seen
    names = [each.split(".")[1:] for each in seen]
    return [name for name, overload in names if overload not in pytorch_names.overloads(name)]


ALL = dispatch_functions.NAMED | dispatch_functions.KNOWN


@pytest.mark.parametrize("name", ALL)
def test_a_mode_sees_no_names_but_pytorchs(name):
    assert unknown_names(ALL[name], compat.float32, False) == []
    if name not in dispatch_functions.ONCE:
        assert unknown_names(ALL[name], compat.float32, True) == []
    if name in dispatch_functions.NARROW:
        assert unknown_names(ALL[name], compat.bfloat16, False) == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_mode_sees_the_same_steps_of_what_is_drawn(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    def program(library, x, y):
        library.autograd.grad(DRAWN[name](library, x), x)

    assert logged(compat, TorchDispatchMode, program) == logged(torch, Theirs, program)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_mode_sees_distributions_and_their_checks_in_the_same_steps(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    def names(library, mode):
        log = logged(library, mode, lambda library, x, y: SAMPLED[name](library, x.detach()))
        return [line.partition("(")[0] for line in log]

    assert names(compat, TorchDispatchMode) == names(torch, Theirs)


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_draws_the_same_under_a_mode(name):
    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    found = []
    for mode in (None, Looking()):
        x = compat.linspace(1, 2, 40).reshape(8, 5).requires_grad_()
        compat.manual_seed(3)
        with mode or compat.enable_grad():
            grad = compat.autograd.grad(DRAWN[name](compat, x), x)[0]
        found.append(grad.numpy())
    np.testing.assert_allclose(found[0], found[1], 1e-6)
    assert len(set(found[0].ravel().tolist())) > 1


@pytest.mark.parametrize("name", VALUED)
def test_gradients_under_a_mode_are_pytorchs(torch, name):
    found = []

    def derived(library, x, y):
        found.append(library.autograd.grad(VALUED[name](library, x), x)[0].numpy())

    logged(compat, TorchDispatchMode, derived)
    derived(torch, torch.tensor([[0.1, 0.2, 0.3], [0.5, 0.7, 0.9]], requires_grad=True), None)
    np.testing.assert_allclose(*found, rtol=1e-3, atol=2e-5)


def gradients_of_sequences(sequences, x, y, create_graph=False):
    """The loss of a layer over sequences, and its gradients by two matrices and the weights."""
    loss, wanted = sequences(x, y), [x, y, *sequences.layer.parameters()]
    options = {"allow_unused": True, "create_graph": create_graph}
    return [loss, *sequences.library.autograd.grad(loss, wanted, **options)]


@pytest.mark.parametrize("name", dispatch_sequences.LAYERS)
@pytest.mark.filterwarnings("ignore:LSTM with projections")  # PyTorch's, of oneDNN
def test_a_mode_sees_the_same_steps_of_layers_over_sequences(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    both = {each: dispatch_sequences.Sequences(each, name) for each in (compat, torch)}
    found = []

    def derived(library, x, y):
        answer = gradients_of_sequences(both[library], x, y)
        found.append([None if each is None else each.detach().numpy() for each in answer])

    assert logged(compat, TorchDispatchMode, derived) == logged(torch, Theirs, derived)
    compat.manual_seed(0)
    derived(
        compat,
        compat.tensor([[0.1, 0.2, 0.3], [0.5, 0.7, 0.9]], requires_grad=True),
        compat.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True),
    )
    drawn = both[compat].layer.dropout > 0  # PyTorch's seeds give other numbers
    for ours, theirs, alone in zip(*found, strict=True):
        for other in [alone] if drawn else [theirs, alone]:
            assert (ours is None) == (other is None)
            if ours is not None:
                np.testing.assert_allclose(ours, other, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", ["LSTM", "LSTM of two layers in both directions", "GRU", "RNN"])
def test_layers_over_sequences_have_pytorchs_second_gradients_under_a_mode(torch, name):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    both = {each: dispatch_sequences.Sequences(each, name) for each in (compat, torch)}
    found = []

    def twice(library, x, y):
        _, first, _, *others = gradients_of_sequences(both[library], x, y, create_graph=True)
        total = (first**2).sum() + sum((each**2).sum() for each in others)
        found.append(library.autograd.grad(total, [x, *both[library].layer.parameters()]))

    logged(compat, TorchDispatchMode, twice)
    logged(torch, Theirs, twice)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-3, atol=1e-5)


TWICE = [
    "sqrt",
    "softmax",
    "var",
    "mm",
    "conv2d",
    "mse_loss",
    "lu",
    "lu_unpack",
    "cov",
    "renorm",
]
TWICE += ["lstsq of a tall matrix", "ormqr", "householder_product", "cdist by products", "kron"]
TWICE += ["triangular_solve", "lu_solve from the right", "cosine_similarity"]


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.filterwarnings("ignore:torch")
def test_a_recorded_backward_pass_has_pytorchs_values_under_a_mode(torch, name):
    found = []
    program = DERIVED.get(name) or dispatch_matrices.DERIVED[name]

    def twice(library, x, y):
        wanted = [x, y]
        first = library.autograd.grad(
            program(library, x, y), wanted, create_graph=True, allow_unused=True
        )
        first = next(grad for grad in first if grad is not None)
        second = library.autograd.grad((first**2).sum(), [x, y], allow_unused=True)
        found.append([None if each is None else each.numpy() for each in second])

    logged(compat, TorchDispatchMode, twice)
    logged(torch, importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode, twice)
    for one, other in zip(*found, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(
                one, other, rtol=1e-3, atol=1e-3 * np.abs(other).max() + 1e-6
            )


def test_the_list_of_overloads_is_pytorchs(torch):
    """A newer PyTorch, or another operation, asks for `python -m tools.aten_forms`."""
    assert aten_forms.FILE.read_text(encoding="utf-8") == aten_forms.text()
    assert aten_forms.TAGS.read_text(encoding="utf-8") == aten_forms.tags()


def test_schemas_and_tags_are_pytorchs(torch):
    for name, overload in (("contiguous", "default"), ("add", "Tensor"), ("fill", "Tensor_out")):
        ours, theirs = (getattr(getattr(t.ops.aten, name), overload) for t in (compat, torch))
        assert {tag.name for tag in ours.tags} == {tag.name for tag in theirs.tags}
    ours, theirs = (t.ops.aten.contiguous.default._schema.arguments[1] for t in (compat, torch))
    assert ours.default_value == theirs.default_value
    assert str(ours.type) == str(theirs.type)


class _Kept:
    """Programs in which results are kept for the backward pass, each given a library and a leaf."""

    @staticmethod
    def of(library):
        class Exp(library.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                y, z = x.exp(), x * 2
                ctx.save_for_backward(x, y, z)
                return y, z

            @staticmethod
            def backward(ctx, of_y, of_z):
                _, y, _ = ctx.saved_tensors
                return of_y * y + of_z * 2

        def hooked(pack, unpack, function):
            def program(x):
                with library.autograd.graph.saved_tensors_hooks(pack, unpack):
                    return function(x)

            return program

        same, copied = (lambda t: t), (lambda t: t.clone())
        return {
            "a Function": lambda x: sum(each.sum() for each in Exp.apply(x)),
            "a Function with hooks": hooked(same, same, lambda x: Exp.apply(x)[0].sum()),
            "hooks": hooked(same, same, lambda x: (x * 1).tanh().exp().sum()),
            "hooks that copy results": hooked(copied, copied, lambda x: x.exp().sum()),
            "hooks on arguments": hooked(same, same, lambda x: ((x * 1) * (x + 1)).sum()),
            "hooks of a reduction": hooked(same, same, lambda x: x.amax(0).sum()),
            "hooks of indices": hooked(same, same, lambda x: (x * 1).max(0)[0].sum()),
            "in place": lambda x: (x * 1).sigmoid_().sum(),
            "under no_grad": lambda x: (x.exp().detach() * x).sum(),
            "several": lambda x: sum(e.abs().sum() for e in library.linalg.qr(x)),
            "checked": lambda x: library.linalg.inv(x @ x.T).sum(),
            "of a divisor": lambda x: (1 / x).sum(),
            "twice": lambda x: x.exp().exp().sum(),
        }


@pytest.mark.parametrize(
    ("name", "recorded"),
    # A division of a number is one node here, and two in PyTorch, which take what is kept twice.
    [(n, r) for n in _Kept.of(compat) for r in (False, True) if n != "of a divisor" or not r],
)
def test_a_mode_sees_what_is_kept_of_results(torch, name, recorded):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    def derived(library, x, y):
        program = _Kept.of(library)[name]
        if recorded:
            first = library.autograd.grad(program(x), x, create_graph=True)
            if first[0].requires_grad:
                library.autograd.grad(first[0].sum(), x)
        else:
            loss = program(x)
            loss.backward(retain_graph=True)
            loss.backward()

    both = logged(compat, TorchDispatchMode, derived), logged(torch, Theirs, derived)
    if recorded:  # whose second gradients are in other steps: what is kept counts
        both = tuple([step for step in each if "detach" in step] for each in both)
    assert both[0] == both[1]


@pytest.mark.parametrize("reduction", ["amax", "logsumexp", "prod", "std"])
def test_hooks_unpack_once_under_a_mode(reduction):
    class Looking(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    counts = []
    for mode in (contextlib.nullcontext(), Looking()):
        calls = []

        def pack(tensor, calls=calls):
            calls.append("pack")
            return tensor

        def unpack(tensor, calls=calls):
            calls.append("unpack")
            return tensor

        x = compat.tensor([[0.1, 0.2], [0.5, 0.7]], requires_grad=True)
        dims = (0,) if reduction == "logsumexp" else ()
        with mode:
            with compat.autograd.graph.saved_tensors_hooks(pack, unpack):
                loss = getattr(x, reduction)(*dims).sum()
            loss.backward()
        counts.append((calls.count("pack"), calls.count("unpack")))
    assert counts[0] == counts[1]
    assert counts[0][0] == counts[0][1] > 0


def grad_modes(library, mode):
    """What a mode hears of grad mode, and what is recorded inside it, of several programs."""
    heard = []

    class Hearing(mode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            is_enabled = library.is_grad_enabled
            own = [str(func), is_enabled()]
            leaf = library.ones(2, requires_grad=True)
            with library.no_grad():
                own.append(is_enabled())
            with library.enable_grad():
                own += [is_enabled(), (leaf * 2).requires_grad]
                answer = func(*args, **(kwargs or {}))
            with library.set_grad_enabled(False):
                own.append(is_enabled())
            library.set_grad_enabled(own[1])
            heard.append([*own, is_enabled(), (leaf * 2).requires_grad, answer.requires_grad])
            return answer

    class Double(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            heard.append(library.is_grad_enabled())
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            heard.append(library.is_grad_enabled())
            return grad * 2

    x = library.ones(2, requires_grad=True)
    with Hearing(), Hearing():
        (x * 3).sum().backward()
        library.autograd.grad((x * x).sum(), x, create_graph=True)
        Double.apply(x).sum().backward()
        with library.no_grad():
            x * 4
        with library.inference_mode():
            x * 5
    assert library.is_grad_enabled() and (x * 2).requires_grad
    return heard


def test_a_mode_hears_of_grad_mode_and_records_nothing(torch):
    from torch.utils._python_dispatch import TorchDispatchMode as Theirs

    assert grad_modes(compat, TorchDispatchMode) == grad_modes(torch, Theirs)


def test_a_reentrant_call_is_recorded():
    from adjoint.compat.torch.overrides import enable_reentrant_dispatch

    found = []

    class Again(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            leaf = compat.ones(2, requires_grad=True)
            with enable_reentrant_dispatch():
                (leaf * 3).sum().backward()
            found.append(leaf.grad.tolist())
            return func(*args, **(kwargs or {}))

    with Again():
        compat.ones(2) + 1
    assert found == [[3, 3], [3, 3]]
