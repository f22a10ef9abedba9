"""Networks inside vmap: every composite and module against a loop, and what is built of them."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.nn.functional as F
from adjoint import nn
from adjoint.func import (
    functional_call,
    grad,
    jvp,
    stack_module_state,
    vmap,
)
from adjoint.ops.composites import COMPOSITES
from adjoint.pytree import tree_leaves
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.testing import (
    as_array,
    assert_close,
    flatten,
    is_differentiable,
    map_arrays,
    samples_of,
)
from adjoint.utils.checkpoint import checkpoint

SIZE = 3
MOST = 4  # samples of a composite that are looked at

# What they answer follows from memory, from chance, or has a shape that values decide.
LEFT_OUT = {
    "argwhere", "nonzero", "nonzero_static", "repeat_interleave", "unique", "unique_consecutive",
    "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter", "bernoulli", "binomial",
    "dropout", "dropout_", "masked_select", "native_dropout", "segment_reduce",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Loops are told of elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "vmap calls")
        yield


def tensors_of(arrays: list[Any]) -> list[Tensor]:
    """Tensors on copies of arrays."""
    return [Tensor(a.copy("K"), AS_IS) for a in arrays]


@pytest.mark.parametrize("name", sorted(COMPOSITES.keys() - LEFT_OUT))
@pytest.mark.filterwarnings("ignore")
def test_composites(name: str) -> None:
    """A function made of ops takes a batch of its first argument, of its last and of all."""
    seen = 0
    for sample in samples_of(name):
        whole = [list(sample.args), dict(sample.kwargs)]
        first: list[Any] = []
        map_arrays(first.append, whole)
        if not sample.compare_values or not first or seen >= MOST:
            continue

        def call(*tensors: Any, whole: Any = whole) -> list[Any]:
            left = iter(tensors)
            args, kwargs = map_arrays(lambda _: next(left), whole)
            found = flatten(COMPOSITES[name](*args, **kwargs))
            return [result for result in found if isinstance(result, Tensor)]

        second = [a * a.dtype.type(0.875) if is_differentiable(a) else a for a in first]
        try:
            expected = [call(*tensors_of(first)), call(*tensors_of(second))]
        except (RuntimeError, ValueError, IndexError, TypeError):
            continue  # samples of errors, and probabilities that don't add up to 1 any more
        if not expected[0]:
            continue
        seen += 1
        others = (None,) * (len(first) - 1)
        for dims in {(0,) * len(first), (0, *others)} | ({(*others, 0)} - inplace(name)):
            rows = [[b if d == 0 else a for a, b, d in zip(first, second, dims)]]
            given = [
                Tensor(np.stack([a, b]) if d == 0 else a.copy("K"), AS_IS)
                for a, b, d in zip(first, second, dims)
            ]
            found = vmap(call, dims)(*given)
            for result, one, other in zip(found, expected[0], call(*tensors_of(rows[0]))):
                both = np.stack([as_array(one), as_array(other)])
                assert_close(result, both, 1e-6, 1e-6)


def inplace(name: str) -> set[tuple[Any, ...]]:
    """Patterns in which a function that works in place has nothing to hold a batch in."""
    return {(None,) * n + (0,) for n in range(1, 6)} if name.endswith("_") else set()


def image(*shape: int) -> Any:
    """Numbers for a module, with a batch in front."""
    return np.random.default_rng(len(shape)).normal(size=(SIZE, *shape)).astype("float32")


def integers(high: int, *shape: int) -> Any:
    """Class numbers for a module, with a batch in front."""
    return np.random.default_rng(high).integers(0, high, size=(SIZE, *shape))


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "Linear": (lambda: nn.Linear(3, 2), (image(4, 3),)),
    "Bilinear": (lambda: nn.Bilinear(3, 2, 4), (image(4, 3), image(4, 2))),
    "Conv1d": (lambda: nn.Conv1d(2, 4, 3, padding=1, groups=2), (image(2, 2, 5),)),
    "Conv2d": (lambda: nn.Conv2d(2, 3, 2, stride=2), (image(2, 2, 5, 5),)),
    "Conv2d of one image": (lambda: nn.Conv2d(2, 3, 2), (image(2, 5, 5),)),
    "Conv3d": (lambda: nn.Conv3d(1, 2, 2), (image(1, 1, 3, 3, 3),)),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 3, 2), (image(2, 2, 4),)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 2, 2, groups=2), (image(1, 2, 3, 3),)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), (image(2, 2, 4, 4),)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2, padding=1), (image(2, 2, 4, 4),)),
    "LPPool2d": (lambda: nn.LPPool2d(2, 2), (image(2, 2, 4, 4),)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d((2, 3)), (image(1, 2, 5, 4),)),
    "AdaptiveMaxPool1d": (lambda: nn.AdaptiveMaxPool1d(2), (image(1, 2, 5),)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3, track_running_stats=False), (image(4, 3),)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2).eval(), (image(2, 2, 3, 3),)),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(2, affine=True), (image(2, 2, 4),)),
    "LayerNorm": (lambda: nn.LayerNorm((2, 3)), (image(4, 2, 3),)),
    "RMSNorm": (lambda: nn.RMSNorm(3), (image(4, 3),)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (image(2, 4, 3),)),
    "LocalResponseNorm": (lambda: nn.LocalResponseNorm(2), (image(1, 3, 4),)),
    "Embedding": (lambda: nn.Embedding(5, 2, padding_idx=1), (integers(5, 4),)),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(5, 2), (integers(5, 2, 3),)),
    "EmbeddingBag max": (lambda: nn.EmbeddingBag(5, 2, mode="max"), (integers(5, 2, 3),)),
    "RNN": (lambda: nn.RNN(3, 2, 2), (image(4, 2, 3),)),
    "LSTM": (lambda: nn.LSTM(3, 2, bidirectional=True), (image(4, 2, 3),)),
    "GRU": (lambda: nn.GRU(3, 2, batch_first=True), (image(2, 4, 3),)),
    "LSTMCell": (lambda: nn.LSTMCell(3, 2), (image(4, 3),)),
    "GRUCell": (lambda: nn.GRUCell(3, 2), (image(4, 3),)),
    "MultiheadAttention": (lambda: nn.MultiheadAttention(4, 2), (image(3, 2, 4),) * 3),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
        (image(3, 2, 4),),
    ),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (image(1, 2, 3, 3),)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (image(1, 4, 2, 2),)),
    "Unfold": (lambda: nn.Unfold(2), (image(1, 2, 3, 3),)),
    "Fold": (lambda: nn.Fold((3, 3), 2), (image(1, 8, 4),)),
    "PReLU": (lambda: nn.PReLU(2), (image(2, 2, 3),)),
    "Softmax": (lambda: nn.Softmax(1), (image(2, 3),)),
    "CrossEntropyLoss": (nn.CrossEntropyLoss, (image(4, 3), integers(3, 4))),
    "NLLLoss": (lambda: nn.NLLLoss(reduction="sum"), (image(4, 3), integers(3, 4))),
    "MSELoss": (nn.MSELoss, (image(4, 3), image(4, 3) * 2)),
    "HuberLoss": (nn.HuberLoss, (image(4, 3), image(4, 3) * 2)),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, (image(4), image(4) > 0)),
    "CosineEmbeddingLoss": (
        nn.CosineEmbeddingLoss,
        (image(4, 3), image(4, 3) * 2, integers(2, 4) * 2 - 1),
    ),
    "Flatten": (nn.Flatten, (image(2, 3, 2),)),
}


def made(name: str) -> tuple[nn.Module, list[Tensor]]:
    """A module, and its arguments with a batch in front."""
    adjoint.manual_seed(0)
    build, arrays = MODULES[name]
    given = [Tensor(a.copy(), AS_IS) for a in arrays]
    if name == "BCEWithLogitsLoss":
        given[1] = given[1].float()
    return build(), given


def total(output: Any) -> Any:
    """One number of all that a module answers."""
    return sum((t * t).sum() for t in flatten(output) if t.is_floating_point())


def compare(found: Any, expected: list[Any]) -> None:
    """What vmap answers against what a loop does."""
    rows = [tree_leaves(row) for row in expected]
    columns = [np.stack([as_array(t) for t in column]) for column in zip(*rows)]
    for one, column in zip(tree_leaves(found), columns, strict=True):
        assert_close(one, column, 1e-4, 1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    """A module on a batch of inputs is the module on each of them; its gradients too."""
    module, given = made(name)
    expected = [module(*[x[k] for x in given]) for k in range(SIZE)]
    compare(vmap(module)(*given), expected)
    parameters = {key: p.detach() for key, p in module.named_parameters()}
    if not parameters:
        return

    def loss(values: Any, *x: Any) -> Any:
        return total(functional_call(module, values, x))

    dims = (None, *[0] * len(given))
    compare(
        vmap(grad(loss), dims)(parameters, *given),
        [grad(loss)(parameters, *[x[k] for x in given]) for k in range(SIZE)],
    )


@pytest.mark.parametrize("name", MODULES)
def test_ensembles(name: str) -> None:
    """Modules stacked by stack_module_state answer, and learn, as each of them does."""
    models = [made(name)[0] for _ in range(SIZE)]
    given = made(name)[1]
    if not list(models[0].parameters()):
        return
    for k, model in enumerate(models):
        for parameter in model.parameters():
            with adjoint.no_grad():
                parameter.mul_(1 + k / 8)
    parameters, buffers = stack_module_state(models)

    def run(values: Any, constants: Any, *x: Any) -> Any:
        return functional_call(models[0], (values, constants), x)

    for dims in (0, None):
        data = given if dims == 0 else [x[0] for x in given]
        found = vmap(run, (0, 0, *[dims] * len(data)))(parameters, buffers, *data)
        rows = [[x[k] if dims == 0 else x for x in data] for k in range(SIZE)]
        answers = [model(*row) for model, row in zip(models, rows)]
        compare(found, answers)
        grads = adjoint.autograd.grad(total(found), list(parameters.values()))
        each = [
            adjoint.autograd.grad(total(answer), list(model.parameters()))
            for model, answer in zip(models, answers)
        ]
        compare(grads, each)


# ---- what forward keeps aside ----


def hiding() -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Functions of ops whose forward keeps something aside for its derivative."""
    classes = Tensor(np.array([0, 2, -100]), AS_IS)
    weights = [
        Tensor(image(*s)[0].astype("float64"), AS_IS) for s in ((8, 3), (8, 2), (6, 3), (6, 2))
    ]
    state = Tensor(image(3, 2)[1].astype("float64"), AS_IS)
    x = image(3, 3).astype("float64")
    heads = image(2, 3, 4).astype("float64")
    return {
        "cross_entropy": (lambda x: F.cross_entropy(x, classes), [x]),
        "lstm_cell": (
            lambda x: total(adjoint.lstm_cell(x, (state, state * 0.5), *weights[:2])),
            [x],
        ),
        "gru_cell": (lambda x: total(adjoint.gru_cell(x, state, *weights[2:])), [x]),
        "attention": (
            lambda q, k, v: total(F.scaled_dot_product_attention(q, k, v, is_causal=True)),
            [heads, heads * 0.5, heads - 1],
        ),
        "masked attention": (
            lambda q, k, v: total(F.scaled_dot_product_attention(q, k, v, q @ k.mT)),
            [heads, heads * 0.5, heads - 1],
        ),
    }


@pytest.mark.parametrize("name", hiding())
def test_what_forward_keeps_aside(name: str) -> None:
    """Gradients inside and outside vmap, and their own derivatives, are right without it."""
    function, arrays = hiding()[name]
    whole = [Tensor(a, AS_IS) for a in arrays]
    numbers = tuple(range(len(whole)))
    slope = grad(function, numbers)
    compare(vmap(slope)(*whole), [slope(*[x[k] for x in whole]) for k in range(SIZE)])

    def outside(*x: Any) -> Any:
        return vmap(function)(*x).sum()

    compare(grad(outside, numbers)(*whole), stacked_rows(slope, whole))

    def along(*x: Any) -> Any:
        return jvp(slope, x, tuple([t * 2 + 1 for t in x]))[1]

    compare(vmap(along)(*whole), [along(*[x[k] for x in whole]) for k in range(SIZE)])
    pushed = jvp(lambda *x: vmap(slope)(*x), tuple(whole), tuple([t * 2 + 1 for t in whole]))[1]
    compare(pushed, [along(*[x[k] for x in whole]) for k in range(SIZE)])


def stacked_rows(function: Any, whole: list[Tensor]) -> list[Any]:
    """What a function answers for each element."""
    return [function(*[x[k] for x in whole]) for k in range(SIZE)]


# ---- what modules do besides ----


def test_running_statistics_are_refused() -> None:
    """A batch can't move statistics that are one for all; the error names ways out."""
    for module in (nn.BatchNorm1d(3), nn.InstanceNorm1d(3, track_running_stats=True)):
        x = Tensor(image(4, 3, 2), AS_IS)
        before = module.running_mean.tolist()
        with pytest.raises(RuntimeError, match="track_running_stats=False"):
            vmap(module)(x)
        assert module.running_mean.tolist() == before


def test_stacked_running_statistics() -> None:
    """Statistics of each element move with it."""
    models = [nn.BatchNorm1d(3) for _ in range(SIZE)]
    parameters, buffers = stack_module_state(models)
    x = Tensor(image(4, 3), AS_IS)

    def run(values: Any, state: Any, x: Any) -> Any:
        out = functional_call(models[0], (values, state), (x,))
        return out, state["running_mean"]

    found = vmap(run)(parameters, {k: v.clone() for k, v in buffers.items()}, x)
    expected = [model(row) for model, row in zip(models, x)]
    compare(found, [(out, model.running_mean) for out, model in zip(expected, models)])


def test_dropout_follows_randomness() -> None:
    """A module with dropout is refused, or drops for all or for each, as vmap says."""
    module, x = nn.Sequential(nn.Dropout(0.5), nn.AlphaDropout(0.5)), adjoint.ones(6, 40)
    with pytest.raises(RuntimeError, match=r"dropout\(\).*randomness='different'"):
        vmap(module)(x)
    same = vmap(module, randomness="same")(x).tolist()
    assert all(row == same[0] for row in same)
    different = vmap(module, randomness="different")(x).tolist()
    assert len({tuple(row) for row in different}) == 6
    assert vmap(module.eval())(x).tolist() == x.tolist()


def test_hooks_inside() -> None:
    """Module hooks and hooks on saved tensors run at the level, and may change what passes."""
    module, x = nn.Linear(3, 2).requires_grad_(False), Tensor(image(3), AS_IS)
    seen: list[Any] = []
    module.register_forward_hook(lambda m, args, out: seen.append(tuple(out.shape)) or out * 2)

    def packed(x: Any) -> Any:
        seen.append(tuple(x.shape))
        return x

    def slope(x: Any) -> Any:
        with adjoint.autograd.graph.saved_tensors_hooks(packed, lambda x: x):
            return grad(lambda x: (module(x) ** 2).sum())(x)

    found = vmap(slope)(x)
    assert (2,) in seen
    assert set(seen) <= {(3,), (2,), (2, 3)}
    compare(found, [slope(row) for row in x])


@pytest.mark.parametrize("reentrant", [False])
def test_checkpoint_inside(reentrant: bool) -> None:
    """A checkpointed function is computed again at the level of its tensors."""
    module, x = nn.Sequential(nn.Linear(3, 4), nn.Tanh()), Tensor(image(3), AS_IS)

    def slope(x: Any) -> Any:
        return grad(lambda x: checkpoint(module, x, use_reentrant=reentrant).sum())(x)

    compare(vmap(slope)(x), [grad(lambda x: module(x).sum())(row) for row in x])
