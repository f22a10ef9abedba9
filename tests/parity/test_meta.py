"""Tensors on the device meta look, combine and refuse as PyTorch's do."""

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import adjoint

META = "meta"


def empty(lib: Any, *shape: int, **options: Any) -> Any:
    return lib.empty(shape, device=META, **options)


def whole(lib: Any, *shape: int) -> Any:
    return lib.empty(shape, dtype=lib.int64, device=META)


def mask(lib: Any, *shape: int) -> Any:
    return lib.empty(shape, dtype=lib.bool, device=META)


def inside(lib: Any, make: Callable[[], Any]) -> Any:
    with lib.device(META):
        return make()


def look(value: Any) -> Any:
    """What a result is: of tensors shape, type, strides and device; of others, the value."""
    if isinstance(value, (tuple, list)):
        return [look(each) for each in value]
    if not hasattr(value, "stride"):
        return value
    steps = tuple(0 if n == 1 else s for n, s in zip(value.shape, value.stride()))
    kind = str(value.dtype).rpartition(".")[2]
    return tuple(value.shape), kind, steps, value.device.type, value.requires_grad


def clipped(lib: Any) -> Any:
    parameter = lib.nn.Parameter(empty(lib, 3))
    parameter.grad = empty(lib, 3)
    return lib.nn.utils.clip_grad_norm_([parameter], 1.0), parameter.grad


OPS: dict[str, Callable[[Any], Any]] = {
    "add": lambda t: empty(t, 3, 1) + empty(t, 4),
    "add 0-d of the cpu": lambda t: empty(t, 3) + t.tensor(2.0),
    "0-d of the cpu first": lambda t: t.tensor(2.0) * empty(t, 3),
    "types": lambda t: empty(t, 3, dtype=t.float16) + empty(t, 3, dtype=t.bfloat16),
    "integers divided": lambda t: whole(t, 3) / 2,
    "number of another kind": lambda t: empty(t, 3, dtype=t.uint8) + 1.5,
    "order": lambda t: empty(t, 2, 3, 4).permute(2, 0, 1) * 2,
    "compared": lambda t: empty(t, 3) == empty(t, 3),
    "chosen": lambda t: t.where(mask(t, 3), empty(t, 3), 0.0),
    "sum": lambda t: empty(t, 2, 3, 4).permute(2, 0, 1).sum(1),
    "mean": lambda t: empty(t, 2, 3).mean(1, keepdim=True),
    "argmax": lambda t: empty(t, 2, 3).argmax(1),
    "max": lambda t: tuple(empty(t, 2, 3).max(1)),
    "cumsum": lambda t: empty(t, 3, 2).t().cumsum(0),
    "sort": lambda t: tuple(empty(t, 3, 2).sort(0)),
    "topk": lambda t: tuple(empty(t, 3, 5).topk(2)),
    "median": lambda t: empty(t, 5).median(),
    "quantile": lambda t: empty(t, 3, 4).quantile(empty(t, 2), 1),
    "histc": lambda t: t.histc(empty(t, 9), 5),
    "matmul": lambda t: empty(t, 5, 1, 2, 3) @ empty(t, 4, 3, 6),
    "dot": lambda t: empty(t, 3) @ empty(t, 3),
    "einsum": lambda t: t.einsum("bij,bjk->bik", empty(t, 2, 3, 4), empty(t, 2, 4, 5)),
    "cat": lambda t: t.cat([empty(t, 2, 3), empty(t, 4, 3)]),
    "stack": lambda t: t.stack([empty(t, 3, 2).t()] * 3, 1),
    "split": lambda t: empty(t, 5, 2).split([2, 3]),
    "repeat": lambda t: empty(t, 2, 3).repeat(2, 1, 2),
    "repeat_interleave": lambda t: t.repeat_interleave(empty(t, 3), whole(t, 3), output_size=7),
    "pad": lambda t: t.nn.functional.pad(empty(t, 2, 3), (1, 2)),
    "roll": lambda t: empty(t, 3, 2).t().roll(1, 0),
    "index": lambda t: empty(t, 4, 5)[whole(t, 2), 1:3],
    "index of the cpu": lambda t: empty(t, 4, 5)[:, t.tensor([0, 2])],
    "mask of the cpu": lambda t: empty(t, 3, 2)[t.tensor([True, False, True])],
    "beyond, unseen": lambda t: empty(t, 3)[[7]],
    "view": lambda t: empty(t, 2, 3, 4)[1:, :, ::2].transpose(0, 1),
    "reshape": lambda t: empty(t, 3, 2).t().reshape(-1),
    "expand": lambda t: empty(t, 3, 1).expand(2, 3, 4),
    "as_strided": lambda t: empty(t, 4, 5).as_strided((2, 2), (5, 2), 3),
    "unfold": lambda t: empty(t, 7).unfold(0, 3, 2),
    "diagonal": lambda t: empty(t, 3, 4).diagonal(1),
    "real": lambda t: t.view_as_real(empty(t, 2, 3, dtype=t.complex64)),
    "as another type": lambda t: empty(t, 2, 4).view(t.int16),
    "contiguous": lambda t: empty(t, 2, 3).t().contiguous(),
    "channels last": lambda t: empty(t, 2, 3, 4, 5).to(memory_format=t.channels_last),
    "clone": lambda t: empty(t, 2, 3, 4).permute(1, 2, 0).clone(),
    "to a type": lambda t: empty(t, 3, 2).t().to(t.float64),
    "gather": lambda t: empty(t, 3, 4).gather(1, whole(t, 3, 2)),
    "scatter": lambda t: empty(t, 3, 4).scatter_add(1, whole(t, 3, 2), empty(t, 3, 2)),
    "index_add": lambda t: empty(t, 3).index_add(0, whole(t, 2), empty(t, 2)),
    "masked_fill": lambda t: empty(t, 3).masked_fill(mask(t, 3), 0),
    "masked_scatter": lambda t: empty(t, 3).masked_scatter(mask(t, 3), empty(t, 3)),
    "index_put by a mask": lambda t: empty(t, 3, 4).index_put((mask(t, 3),), empty(t, 4)),
    "nonzero_static": lambda t: t.nonzero_static(empty(t, 3, 4), size=5).shape == (5, 2),
    "one_hot": lambda t: t.nn.functional.one_hot(whole(t, 3), 5),
    "svd": lambda t: t.linalg.svd(empty(t, 5, 4, 3))[1],
    "eig": lambda t: t.linalg.eigvals(empty(t, 3, 3)),
    "inv": lambda t: t.linalg.inv_ex(empty(t, 2, 3, 3))[1],
    "det": lambda t: t.linalg.det(empty(t, 2, 3, 3)),
    "matrix_exp": lambda t: t.matrix_exp(empty(t, 3, 3)),
    "fft": lambda t: t.fft.rfft(empty(t, 4, 6)),
    "irfft": lambda t: t.fft.irfft(empty(t, 4, dtype=t.complex64)),
    "stft": lambda t: t.stft(empty(t, 40), 8, return_complex=True, window=empty(t, 8)),
    "conv2d": lambda t: t.nn.functional.conv2d(
        empty(t, 2, 4, 9, 9), empty(t, 6, 2, 3, 3), stride=2, padding=1, groups=2
    ),
    "conv_transpose2d": lambda t: t.nn.functional.conv_transpose2d(
        empty(t, 2, 4, 5, 5), empty(t, 4, 3, 3, 3), stride=2
    ),
    "max_pool2d": lambda t: t.nn.functional.max_pool2d(empty(t, 1, 2, 8, 8), 3, 2, 1),
    "interpolate": lambda t: t.nn.functional.interpolate(
        empty(t, 1, 2, 4, 4), size=(7, 3), mode="bicubic"
    ),
    "grid_sample": lambda t: t.nn.functional.grid_sample(
        empty(t, 1, 2, 8, 8), empty(t, 1, 3, 5, 2), align_corners=False
    ),
    "cross_entropy": lambda t: t.nn.functional.cross_entropy(empty(t, 3, 4), whole(t, 3)),
    "ctc_loss": lambda t: t.nn.functional.ctc_loss(
        empty(t, 5, 2, 3), whole(t, 2, 2), [5, 5], [2, 2]
    ),
    "embedding_bag": lambda t: t.nn.functional.embedding_bag(
        whole(t, 6), empty(t, 9, 3), whole(t, 2), mode="max"
    ),
    "attention": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[empty(t, 1, 2, 3, 4)] * 3
    ),
    "segment_reduce": lambda t: t.segment_reduce(empty(t, 4), "sum", lengths=whole(t, 2)),
    "multinomial": lambda t: t.multinomial(empty(t, 3, 4), 2),
    "bernoulli": lambda t: t.bernoulli(empty(t, 3)),
    "normal": lambda t: t.normal(empty(t, 3, 1), empty(t, 4)),
    "dropout": lambda t: t.nn.functional.dropout(empty(t, 3)),
    "randn": lambda t: t.randn(10**12, device=META),
    "randperm": lambda t: t.randperm(10**12, device=META),
    "arange": lambda t: t.arange(0.5, 10**10, 0.25, device=META),
    "linspace": lambda t: t.linspace(0, 1, 10**12, device=META),
    "tril_indices": lambda t: t.tril_indices(6, 4, -3, device=META),
    "triu_indices": lambda t: t.triu_indices(4, 6, 2, device=META),
    "eye": lambda t: t.eye(10**6, device=META),
    "full": lambda t: t.full((2,), 3, device=META),
    "hann_window": lambda t: t.hann_window(8, device=META),
    "kaiser_window": lambda t: t.kaiser_window(8, device=META),
    "tensor": lambda t: t.tensor([[1, 2], [3, 4]], device=META),
    "as_tensor": lambda t: t.as_tensor([1.5], device=META),
    "empty_strided": lambda t: t.empty_strided((2, 3), (1, 4), device=META),
    "zeros_like": lambda t: t.zeros_like(t.ones(2, 3, 4).permute(2, 0, 1), device=META),
    "memory like it": lambda t: t.zeros_like(empty(t, 2, 3, 4).permute(2, 0, 1), device="cpu"),
    "channels last from the start": lambda t: t.empty(
        2, 3, 4, 5, device=META, memory_format=t.channels_last
    ),
    "like it, channels last": lambda t: t.zeros_like(
        empty(t, 2, 3, 4, 5), memory_format=t.channels_last
    ),
    "like it, in order": lambda t: t.ones_like(
        empty(t, 2, 3, 4).permute(2, 0, 1), memory_format=t.contiguous_format
    ),
    "memory, channels last": lambda t: t.empty(2, 3, 4, 5, memory_format=t.channels_last),
    "new_zeros": lambda t: empty(t, 3, dtype=t.float64).new_zeros(2),
    "new_tensor": lambda t: empty(t, 3).new_tensor([1, 2]),
    "moved there": lambda t: t.ones(2, 3).t().to(META),
    "inside": lambda t: inside(t, lambda: t.ones(3)),
    "inside, elsewhere": lambda t: inside(t, lambda: t.ones(3, device="cpu")),
    "inside, data": lambda t: inside(t, lambda: t.tensor([1.0])),
    "overwritten": lambda t: empty(t, 3).copy_(t.ones(3)),
    "filled": lambda t: empty(t, 3).fill_(t.tensor(2.0)),
    "rows": lambda t: list(empty(t, 2, 3)),
    "offset": lambda t: empty(t, 2, 3)[1, 1:].storage_offset(),
    "address": lambda t: (empty(t, 3).data_ptr(), empty(t, 3, 4)[1].data_ptr()),
    "questions": lambda t: (empty(t, 3).is_meta, empty(t, 3).get_device(), len(empty(t, 3))),
    "deepcopy": lambda t: copy.deepcopy(empty(t, 3, 4).t()),
    "pickle": lambda t: pickle.loads(pickle.dumps(empty(t, 3, 4).t())),
    "clipped gradients": lambda t: clipped(t),
    "nothing clipped": lambda t: t.nn.utils.clip_grad_norm_(
        t.nn.Linear(2, 3, device=META).parameters(), 1
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPS)
def test_results(torch: Any, name: str) -> None:
    assert look(OPS[name](adjoint)) == look(OPS[name](torch))


def gradients(lib: Any, function: Callable[[Any], Any]) -> Any:
    x = empty(lib, 4, 6, requires_grad=True)
    result = function(x)
    result.backward(lib.empty_like(result))
    return look(x.grad)


BACKWARD: dict[str, Callable[[Any, Any], Any]] = {
    "exp": lambda t, x: x.exp(),
    "broadcast": lambda t, x: x * empty(t, 2, 1, 6),
    "view": lambda t, x: x.t()[1:, ::2].reshape(-1) * 2,
    "softmax": lambda t, x: x.softmax(1),
    "index": lambda t, x: x[whole(t, 3)],
    "matmul": lambda t, x: x @ empty(t, 6, 2),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (6,)),
    "changed": lambda t, x: (x * 2).mul_(3).t().add_(1),
    "row written": lambda t, x: (x * 2).index_fill_(0, whole(t, 1), 1),
    "svd": lambda t, x: t.linalg.svdvals(x),
    "cumprod": lambda t, x: x.cumprod(0),
    "sort": lambda t, x: x.sort(1)[0],
}


@pytest.mark.parametrize("name", BACKWARD)
def test_gradients(torch: Any, name: str) -> None:
    found, expected = (gradients(t, lambda x, t=t: BACKWARD[name](t, x)) for t in (adjoint, torch))
    assert found == expected


ERRORS: dict[str, Callable[[Any], Any]] = {
    "item": lambda t: empty(t).item(),
    "item of several": lambda t: empty(t, 3).item(),
    "bool": lambda t: bool(empty(t)),
    "float": lambda t: float(empty(t)),
    "int": lambda t: int(empty(t)),
    "complex": lambda t: complex(empty(t)),
    "index": lambda t: empty(t).__index__(),
    "contains": lambda t: 3 in empty(t, 3),
    "tolist": lambda t: empty(t, 3).tolist(),
    "numpy": lambda t: empty(t, 3).numpy(),
    "numpy by force": lambda t: empty(t, 3).numpy(force=True),
    "format": lambda t: f"{empty(t):.2f}",
    "cpu": lambda t: empty(t, 3).cpu(),
    "to": lambda t: empty(t, 3).to("cpu", t.float64),
    "copied out": lambda t: t.ones(3).copy_(empty(t, 3)),
    "nonzero": lambda t: empty(t, 3).nonzero(),
    "where": lambda t: t.where(mask(t, 3)),
    "masked_select": lambda t: t.masked_select(empty(t, 3), mask(t, 3)),
    "mask": lambda t: empty(t, 3)[mask(t, 3)],
    "unique": lambda t: t.unique(empty(t, 3)),
    "unique_consecutive": lambda t: t.unique_consecutive(empty(t, 3)),
    "bincount": lambda t: t.bincount(whole(t, 3)),
    "histogram": lambda t: t.histogram(empty(t, 3), 3),
    "equal": lambda t: t.equal(empty(t, 3), empty(t, 3)),
    "allclose": lambda t: t.allclose(empty(t, 3), empty(t, 3)),
    "is_nonzero": lambda t: t.is_nonzero(empty(t)),
    "one_hot": lambda t: t.nn.functional.one_hot(whole(t, 3)),
    "repeat_interleave": lambda t: t.repeat_interleave(empty(t, 3), whole(t, 3)),
    "full": lambda t: t.full((3,), empty(t), device=META),
    "mixed": lambda t: empty(t, 3) + t.ones(3),
    "mixed, the other way": lambda t: t.ones(3) + empty(t, 3),
    "0-d of meta": lambda t: t.ones(3) + empty(t),
    "joined": lambda t: t.cat([empty(t, 3), t.ones(3)]),
    "multiplied": lambda t: empty(t, 2, 3) @ t.ones(3),
    "layer here, input there": lambda t: t.nn.Linear(2, 3)(empty(t, 1, 2)),
    "layer there, input here": lambda t: t.nn.Linear(2, 3, device=META)(t.ones(1, 2)),
    "out here": lambda t: t.add(empty(t, 3), 1, out=t.ones(3)),
    "out there": lambda t: t.add(t.ones(3), 1, out=empty(t, 3)),
    "history from here": lambda t: t.ones(3, requires_grad=True).to(META).sum().backward(),
    "distribution": lambda t: t.distributions.Normal(empty(t, 3), empty(t, 3)),
    "shapes": lambda t: empty(t, 2, 3) + empty(t, 4),
    "inner sizes": lambda t: empty(t, 3) @ empty(t, 4),
    "sizes to join": lambda t: t.cat([empty(t, 2, 3), empty(t, 2, 4)]),
    "view": lambda t: empty(t, 2, 3).t().view(6),
    "view of another size": lambda t: empty(t, 3).view(2, 2),
    "number beyond": lambda t: empty(t, 3)[5],
    "dim beyond": lambda t: empty(t, 2, 3).sum(5),
    "no square": lambda t: t.linalg.inv(empty(t, 2, 3)),
    "channels": lambda t: t.nn.functional.conv2d(empty(t, 2, 3, 8, 8), empty(t, 4, 2, 3, 3)),
    "module": lambda t: t.nn.Linear(2, 3, device=META).to("cpu"),
    "loaded": lambda t: t.nn.Linear(2, 3).load_state_dict(
        t.nn.Linear(2, 3, device=META).state_dict()
    ),
    "leaf changed": lambda t: empty(t, 3, requires_grad=True).add_(1),
    "dlpack": lambda t: empty(t, 3).__dlpack__(),
}


def raised(lib: Any, name: str) -> type[BaseException]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            ERRORS[name](lib)
    return caught.type


@pytest.mark.parametrize("name", ERRORS)
def test_refusals(torch: Any, name: str) -> None:
    """Whoever catches PyTorch's error catches ours."""
    assert issubclass(raised(adjoint, name), raised(torch, name))


TEXTS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda t: empty(t, 3),
    "0-d": lambda t: empty(t),
    "nothing": lambda t: empty(t, 0),
    "matrix": lambda t: empty(t, 2, 3, requires_grad=True),
    "numbers": lambda t: whole(t, 2),
    "result": lambda t: empty(t, 3, requires_grad=True).exp(),
    "parameter": lambda t: t.nn.Parameter(empty(t, 3)),
    "module": lambda t: t.nn.Linear(2, 3, device=META),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(torch: Any, name: str) -> None:
    found, expected = ((repr(TEXTS[name](t)), f"{TEXTS[name](t)}") for t in (adjoint, torch))
    assert tuple(text.replace("adjoint.", "torch.") for text in found) == expected


MODULES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "linear": lambda t: (t.nn.Linear(4, 5), t.empty(3, 4)),
    "conv": lambda t: (t.nn.Conv2d(3, 4, 3, padding=1), t.empty(2, 3, 8, 8)),
    "conv transposed": lambda t: (t.nn.ConvTranspose1d(3, 4, 3), t.empty(2, 3, 8)),
    "batch norm": lambda t: (t.nn.BatchNorm2d(3), t.empty(2, 3, 4, 4)),
    "layer norm": lambda t: (t.nn.LayerNorm(4), t.empty(2, 3, 4)),
    "group norm": lambda t: (t.nn.GroupNorm(2, 4), t.empty(2, 4, 5)),
    "instance norm": lambda t: (t.nn.InstanceNorm1d(3, affine=True), t.empty(2, 3, 5)),
    "embedding": lambda t: (t.nn.Embedding(10**9, 8), t.zeros(3, 2, dtype=t.int64)),
    "bags": lambda t: (t.nn.EmbeddingBag(10, 8), t.zeros(3, 2, dtype=t.int64)),
    "lstm": lambda t: (t.nn.LSTM(3, 4, 2, bidirectional=True), t.empty(5, 2, 3)),
    "gru": lambda t: (t.nn.GRU(3, 4), t.empty(5, 2, 3)),
    "cell": lambda t: (t.nn.LSTMCell(3, 4), t.empty(2, 3)),
    "encoder": lambda t: (t.nn.TransformerEncoderLayer(8, 2, 16), t.empty(5, 2, 8)),
    "prelu": lambda t: (t.nn.PReLU(4), t.empty(2, 4)),
    "lazy": lambda t: (t.nn.LazyLinear(4), t.empty(2, 3)),
    "pools": lambda t: (
        t.nn.Sequential(t.nn.MaxPool2d(2), t.nn.AdaptiveAvgPool2d(3), t.nn.Flatten()),
        t.empty(2, 3, 9, 9, requires_grad=True),
    ),
    "dropout": lambda t: (t.nn.Dropout(0.5), t.empty(3, requires_grad=True)),
    "upsample": lambda t: (t.nn.Upsample(scale_factor=2), t.empty(1, 2, 3, requires_grad=True)),
}


def tried(lib: Any, name: str) -> Any:
    """What a module made inside the device answers, and the gradients of its parameters."""
    module, given = inside(lib, lambda: MODULES[name](lib))
    result = module(given)
    first = result[0] if isinstance(result, tuple) else result
    first.sum().backward()
    state = [(key, look(value)) for key, value in module.state_dict().items()]
    slopes = [None if p.grad is None else look(p.grad) for p in module.parameters()]
    return look(result), state, slopes


@pytest.mark.parametrize("name", MODULES)
def test_modules(torch: Any, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tried(adjoint, name) == tried(torch, name)


def loaded(lib: Any, target: str, source: str, assign: bool) -> Any:
    module = lib.nn.Linear(2, 3, device=target)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module.load_state_dict(lib.nn.Linear(2, 3, device=source).state_dict(), assign=assign)
    return [warning.category for warning in seen], look(module.weight), type(module.weight).__name__


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize(("target", "source"), [("meta", "cpu"), ("meta", "meta"), ("cpu", "meta")])
def test_state_dicts(torch: Any, target: str, source: str, assign: bool) -> None:
    if (target, source, assign) != ("cpu", "meta", False):
        assert loaded(adjoint, target, source, assign) == loaded(torch, target, source, assign)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Rprop", "RAdam"])
def test_optimizers(torch: Any, name: str) -> None:
    def states(lib: Any) -> Any:
        layer = lib.nn.Linear(2, 3, device=META)
        optimizer = getattr(lib.optim, name)(layer.parameters(), lr=0.1)
        layer(empty(lib, 4, 2)).sum().backward()
        optimizer.step()
        state = optimizer.state[layer.weight]
        return {key: look(value) for key, value in state.items() if hasattr(value, "shape")}

    assert states(adjoint) == states(torch)
