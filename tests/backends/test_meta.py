"""The device meta: every op gives the shapes, types and strides of NumPy, and no values."""

import copy
import io
import pickle
import warnings
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import adjoint
from adjoint import Tensor, nn
from adjoint.autograd.entry_points import grad
from adjoint.backends import NoValuesError, backend_for, backend_of, layouts
from adjoint.backends.meta_array import MetaArray
from adjoint.backends.turning import in_its_order
from adjoint.device import device
from adjoint.tensors.tensor import AS_IS
from adjoint.testing import (
    Sample,
    all_functions,
    flatten,
    function_of,
    map_arrays,
    open_call,
    samples_of,
)
from tests.backends import exceptions

META = backend_for(device("meta"))


def as_is(array: Any) -> Tensor:
    """The same array as a tensor."""
    return Tensor(array, AS_IS)


def on_meta(array: Any) -> Tensor:
    """A tensor that looks like an array."""
    return Tensor(META.from_numpy(array, device("meta")), AS_IS)


def meta(*shape: int, **options: Any) -> Tensor:
    return adjoint.empty(shape, device="meta", **options)


def look(value: Any, strides: bool = True) -> Any:
    """Shape, type and strides of a tensor; a dimension of size one may have any stride."""
    if not isinstance(value, Tensor):
        return value
    steps = tuple(0 if n == 1 else s for n, s in zip(value.shape, value.stride()))
    return tuple(value.shape), value.dtype.name, steps if strides else None


# ---- every op ----


class Refused(Exception):
    """A sample that the device meta refused, rightly or not."""


def run(name: str, sample: Sample) -> None:
    """Compare a sample with NumPy, forward and backward; Refused where values are needed."""
    call, arrays = open_call(function_of(name), sample)
    call_meta, _ = open_call(function_of(name), sample, on_meta)
    needed = sample.differentiate
    ours = [Tensor(in_its_order(a), AS_IS).requires_grad_(needed) for a in arrays]
    theirs = [on_meta(a).requires_grad_(needed) for a in arrays]
    expected = call(*ours)
    found = asked(call_meta, *theirs)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, Tensor):
            assert not arrays or a.is_meta, "the result left the device"
            assert a.requires_grad == b.requires_grad
        if name in exceptions.META_ROOMY:
            assert a.ndim == b.ndim and all(n >= m for n, m in zip(a.shape, b.shape))
        else:
            assert look(a) == look(b)
    pairs = [(a, b) for a, b in zip(found, expected) if isinstance(b, Tensor) and b.requires_grad]
    if not pairs:
        return
    ones = [np.ones(b.shape, b.array.dtype) for _, b in pairs]
    try:
        starts = [Tensor(one, AS_IS) for one in ones]
        slopes = grad([b for _, b in pairs], ours, starts, allow_unused=True)
    except NotImplementedError:  # it has no derivative
        return
    shown = asked(
        grad, [a for a, _ in pairs], theirs, [on_meta(o) for o in ones], allow_unused=True
    )
    strides = name not in exceptions.META_STRIDES
    assert [look(a, strides) for a in shown] == [look(b, strides) for b in slopes]


def asked(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except NoValuesError as error:
        raise Refused from error
    except RuntimeError as error:
        if "cannot be called on meta tensors" in str(error):
            raise Refused from error
        raise


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", all_functions())
def test_every_op(name: str) -> None:
    """Shapes, types and strides on meta are NumPy's; what needs values is refused, and listed."""
    refused = 0
    for sample in samples_of(name):
        try:
            run(name, sample)
        except Refused:
            refused += 1
    assert bool(refused) == (name in exceptions.META), exceptions.META.get(name, "refused")


def test_exceptions_are_of_functions() -> None:
    listed = {*exceptions.META, *exceptions.META_ROOMY, *exceptions.META_STRIDES}
    assert listed <= set(all_functions())


@pytest.mark.parametrize("name", ["add", "cat", "matmul", "softmax", "linear", "conv2d", "sum"])
def test_types(name: str) -> None:
    """Results have NumPy's data type in every precision."""
    for kind in ("float16", "float32", "float64", "complex64", "int32", "bool"):
        for sample in samples_of(name)[:4]:

            def cast(array: Any, kind: str = kind) -> Any:
                return np.ones_like(array, kind)

            args, kwargs = map_arrays(cast, (sample.args, sample.kwargs))
            results = []
            for make in (as_is, on_meta):
                given, named = map_arrays(make, (args, kwargs))
                try:
                    found = [look(r) for r in flatten(function_of(name)(*given, **named))]
                except Exception as error:
                    found = [type(error)]
                results.append(found)
            assert results[0] == results[1]


# ---- no work ----


def test_size_costs_nothing() -> None:
    """None of these could be done if anything were proportional to the number of elements."""
    many, wide = 10**12, 10**6
    assert (meta(many) * 2).shape == (many,)
    assert adjoint.arange(many, device="meta").shape == (many,)
    assert adjoint.randperm(many, device="meta").dtype is adjoint.int64
    assert adjoint.tril_indices(wide, wide, device="meta").shape == (2, wide * (wide + 1) // 2)
    weight = meta(wide, wide, requires_grad=True)
    logits = nn.functional.layer_norm(meta(wide, wide) @ weight, (wide,)).cumsum(0)
    nn.functional.cross_entropy(logits, meta(wide, dtype=adjoint.int64)).backward()
    assert look(weight.grad) == look(weight)
    optimizer = adjoint.optim.Adam([weight])
    optimizer.step()
    assert look(optimizer.state[weight]["exp_avg"]) == look(weight)


def test_a_large_network_is_tried_without_memory() -> None:
    with adjoint.device("meta"):
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8192, 64, 32768), 4)
        batch = adjoint.randn(128, 256, 8192)
    assert sum(p.numel() for p in model.parameters()) > 3 * 10**9
    model(batch).sum().backward()
    assert all(p.grad.shape == p.shape and p.grad.is_meta for p in model.parameters())


def test_nothing_is_drawn() -> None:
    before = adjoint.get_rng_state()
    x = meta(3, 4)
    layer = nn.Linear(4, 5, device="meta")
    for fill in (nn.init.normal_, nn.init.xavier_uniform_, nn.init.orthogonal_):
        assert fill(layer.weight) is layer.weight
    drawn = (
        adjoint.rand(3, device="meta"),
        adjoint.randperm(5, device="meta"),
        adjoint.bernoulli(x),
        adjoint.multinomial(x, 2),
        adjoint.poisson(x),
        adjoint.normal(x, 2.0),
        x.clone().uniform_(),
        nn.functional.dropout(x),
    )
    assert all(each.is_meta for each in drawn)
    assert adjoint.get_rng_state().tolist() == before.tolist()


def test_what_is_drawn_is_checked() -> None:
    for wrong in (
        lambda: meta(3).normal_(0, -1),
        lambda: meta(3).uniform_(2, 1),
        lambda: adjoint.randint(3, 3, (2,), device="meta"),
        lambda: adjoint.multinomial(meta(3), 4),
        lambda: adjoint.rand(3, dtype=adjoint.int64, device="meta"),
    ):
        with pytest.raises(RuntimeError):
            wrong()


# ---- values ----


@pytest.mark.parametrize(
    ("ask", "kind", "name"),
    [
        (lambda: meta().item(), RuntimeError, "item"),
        (lambda: bool(meta()), RuntimeError, "item"),
        (lambda: float(meta()), RuntimeError, "item"),
        (lambda: int(meta(1)), RuntimeError, "item"),
        (lambda: adjoint.full((2,), meta()), RuntimeError, "item"),
        (lambda: 3 in meta(3), RuntimeError, "item"),
        (lambda: meta(3).tolist(), NotImplementedError, "no data"),
        (lambda: meta(3).numpy(force=True), NotImplementedError, "no data"),
        (lambda: meta(3).numpy(), TypeError, "meta"),
        (lambda: np.asarray(meta(3)), TypeError, "meta"),
        (lambda: meta(3).cpu(), NotImplementedError, "no data"),
        (lambda: adjoint.ones(3).copy_(meta(3)), NotImplementedError, "no data"),
        (lambda: adjoint.tensor(meta(3), device="cpu"), NotImplementedError, "no data"),
        (lambda: adjoint.add(meta(3), 1, out=adjoint.ones(3)), RuntimeError, "out"),
        (lambda: adjoint.add(adjoint.ones(3), 1, out=meta(3)), RuntimeError, "out"),
        (lambda: meta(3).nonzero(), NotImplementedError, "nonzero"),
        (lambda: meta(3)[meta(3) > 0], NotImplementedError, "mask"),
        (lambda: adjoint.unique(meta(3)), NotImplementedError, "unique"),
        (lambda: meta(3) + adjoint.ones(3), RuntimeError, "add.*meta and cpu"),
        (lambda: adjoint.ones(3).add_(meta(3)), RuntimeError, "add.*cpu and meta"),
        (lambda: adjoint.ones(3) + meta(), RuntimeError, "add.*cpu and meta"),
    ],
)
def test_data_asked_of_it(ask: Any, kind: type, name: str) -> None:
    """An error of PyTorch's type says what asked for values, and where to go instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=name) as caught:
            ask()
    assert "cpu" in str(caught.value)


def test_a_failed_write_changes_nothing() -> None:
    x = adjoint.ones(3)
    for write in (lambda: x.copy_(meta(3)), lambda: x.mul_(meta(3)), lambda: x[0].fill_(meta())):
        with pytest.raises(RuntimeError):
            write()
    assert x.tolist() == [1, 1, 1]
    assert x._version == 0


def test_a_failed_load_changes_nothing() -> None:
    layer = nn.Linear(2, 3)
    before = layer.weight.tolist()
    with pytest.raises(RuntimeError, match='parameter named "weight".*no data'):
        layer.load_state_dict(nn.Linear(2, 3, device="meta").state_dict())
    assert layer.weight.tolist() == before


def test_numbers_of_the_cpu_go_along() -> None:
    number = adjoint.tensor(2.0, requires_grad=True)
    x = meta(3, requires_grad=True)
    y = x * number
    assert y.is_meta
    (slope,) = adjoint.autograd.grad(y.sum(), x)
    assert slope.is_meta
    assert look(meta(4)[adjoint.tensor([True, False, True, True])]) == ((3,), "float32", (1,))
    assert meta(4)[adjoint.tensor([0, 2])].shape == (2,)
    with pytest.raises(NoValuesError):
        adjoint.autograd.grad((x * number).sum(), number)


# ---- memory that there would be ----


def test_views_share_it() -> None:
    x = meta(4, 6)
    row, turned = x[1:, ::2], x.t()
    assert row._base is x and turned._base is x
    assert (row.storage_offset(), row.stride()) == (6, (6, 2))
    assert turned.is_set_to(x.t()) and not turned.is_set_to(x)
    assert x.clone()._base is None
    row.add_(1)
    assert x._version == turned._version == 1
    with pytest.raises(RuntimeError, match="view"):
        turned.view(-1)
    assert turned.reshape(-1)._base is None
    with pytest.raises(RuntimeError, match="single memory location"):
        x[:1].expand(3, 6).add_(1)


def test_autograd_follows_changes() -> None:
    x = meta(3, 4, requires_grad=True)
    y = x * 2
    y[0] = 1
    y[:, 1].mul_(3)
    y.transpose(0, 1).add_(x.t())
    y.sum().backward()
    assert look(x.grad) == look(x)
    saved = x.exp()
    saved.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_hooks_see_gradients() -> None:
    seen = []
    x = meta(3, requires_grad=True)
    x.register_hook(lambda g: seen.append(look(g)))
    (x * x).sum().backward(create_graph=True)
    assert seen == [((3,), "float32", (1,))]
    assert x.grad.requires_grad


def test_transforms() -> None:
    x = meta(5, 3)
    each = adjoint.func.vmap(adjoint.func.grad(lambda row: (row**3).sum()))(x)
    assert look(each) == look(x)
    _, tangent = adjoint.func.jvp(lambda v: v.sin(), (x,), (x,))
    assert look(tangent) == look(x)
    assert adjoint.func.jacrev(lambda v: v.exp())(meta(3)).shape == (3, 3)


shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def arrays(draw: Any) -> Any:
    """An array whose dimensions lie in any order, with gaps, repeated or of size one."""
    shape = draw(shapes)
    array = np.zeros(shape, np.float32)
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    for dim in range(array.ndim):
        kind = draw(st.sampled_from(["whole", "gaps", "repeated", "one"]))
        if kind == "gaps":
            array = array[(slice(None),) * dim + (slice(draw(st.integers(0, 2)), None, 2),)]
        elif kind == "one":
            array = np.expand_dims(array, dim)[(slice(None),) * (dim + 1) + (slice(0, 1),)]
            array = array.reshape(array.shape) if array.size else array
        elif kind == "repeated" and array.shape[dim] == 1:
            sizes = list(array.shape)
            sizes[dim] = 3
            array = np.broadcast_to(array, sizes)
    return array


def described(array: Any) -> MetaArray:
    """The same shape and strides, whether dense or not."""
    steps = tuple(step // array.itemsize for step in array.strides)
    return MetaArray(array.shape, array.dtype, steps)


def strides(array: Any) -> Any:
    """What strides mean: nothing along one element, or where there are none."""
    if not array.size:
        return array.shape
    return [(n, s if n > 1 else 0) for n, s in zip(array.shape, array.strides)]


@hypothesis.given(arrays(), arrays())
def test_new_arrays_lie_as_in_numpy(a: Any, b: Any) -> None:
    """Copies, and results of one or two operands."""
    assert strides(described(a).astype("f8")) == strides(in_its_order(a).astype("f8"))
    assert strides(-described(a)) == strides(-a)
    try:
        expected = a + b
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            described(a) + described(b)
        return
    assert strides(described(a) + described(b)) == strides(np.asarray(expected))


@hypothesis.given(arrays(), shapes)
def test_reshaping_is_numpys(a: Any, shape: Any) -> None:
    try:
        expected = np.reshape(a, shape, copy=False)
    except ValueError as error:
        if "avoid" not in str(error):
            with pytest.raises(ValueError, match="reshape"):
                described(a).reshape(shape)
            return
        assert layouts.reshaped_strides(a.shape, described(a).steps, shape) is None
        return
    assert strides(described(a).reshape(shape)) == strides(expected)


parts = st.one_of(
    st.integers(-5, 4),
    st.none(),
    st.just(Ellipsis),
    st.slices(4),
    st.booleans(),
    st.lists(st.integers(0, 1), max_size=3),
    st.just(np.zeros((2, 1), np.int64)),
    st.lists(st.booleans(), min_size=1, max_size=4).map(np.array),
)


@hypothesis.given(arrays(), st.lists(parts, max_size=4).map(tuple))
def test_indices_are_numpys(a: Any, index: Any) -> None:
    try:
        expected = a[index]
    except IndexError:
        hypothesis.assume(not any(isinstance(p, (list, np.ndarray)) for p in index))
        with pytest.raises(IndexError):
            described(a)[index]
        return
    found = described(a)[index]
    assert found.shape == np.shape(expected)
    if not any(isinstance(part, (bool, list, np.ndarray)) for part in index):
        assert strides(found) == strides(expected)


# ---- modules, files, operators ----


def test_modules_come_to_life() -> None:
    source = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    with adjoint.device("meta"):
        empty = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    assert all(t.is_meta for t in (*empty.parameters(), *empty.buffers()))
    with pytest.raises(NotImplementedError, match=r"no data.*to_empty"):
        empty.to("cpu")
    with pytest.warns(UserWarning, match="no-op.*assign=True"):
        empty.load_state_dict(source.state_dict())
    assert empty[0].weight.is_meta
    parameters = list(empty.parameters())
    empty.to_empty(device="cpu").load_state_dict(source.state_dict())
    assert empty[0].weight.tolist() == source[0].weight.tolist()
    assert not any(a is b for a, b in zip(empty.parameters(), parameters))  # as in PyTorch


def test_data_goes_to_the_device_around() -> None:
    array, there = np.ones(2), adjoint.ones(2)
    makers = (adjoint.tensor, adjoint.as_tensor, adjoint.asarray)
    with adjoint.device("meta"):
        for make in makers:
            assert make(array).is_meta and make([1.0, 2.0]).is_meta
            assert make(there.detach()).is_meta
            assert not make(array, device="cpu").is_meta
        assert not adjoint.from_numpy(array).is_meta
        coordinates = adjoint.zeros(1, 2, dtype=adjoint.int64, device="cpu")
        assert not adjoint.sparse_coo_tensor(coordinates, there, (3,)).is_meta
    far = meta(2)
    assert adjoint.as_tensor(far).is_meta
    with adjoint.device("cpu"), pytest.raises(NoValuesError):
        adjoint.as_tensor(far)


def test_a_parametrization_that_needs_values_is_not_registered() -> None:
    layer = nn.Linear(2, 2, device="meta")
    with pytest.raises(NoValuesError):
        nn.utils.parametrizations.orthogonal(layer)
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert type(layer) is nn.Linear


def test_assigned_state_is_shared() -> None:
    source, empty = nn.Linear(2, 3), nn.Linear(2, 3, device="meta").requires_grad_(False)
    state = source.state_dict()
    empty.load_state_dict(state, assign=True)
    assert isinstance(empty.weight, nn.Parameter)
    assert empty.weight.data_ptr() == source.weight.data_ptr()
    assert not empty.weight.requires_grad


def test_skip_init_draws_nothing() -> None:
    before = adjoint.get_rng_state().tolist()
    made = nn.utils.skip_init(nn.Linear, 3, 4)
    assert made.weight.device.type == "cpu" and made.weight.requires_grad
    assert adjoint.get_rng_state().tolist() == before


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_memory_is_given_in_the_same_order(order: tuple[int, ...]) -> None:
    x = meta(2, 3, 4).permute(order)
    there = adjoint.empty_like(x, device="cpu")
    assert look(there) == look(x)
    assert look(there.to("meta")) == look(x)
    assert adjoint.zeros_like(x, device="cpu").sum().item() == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles(copied: Any) -> None:
    for x in (meta(3, 4).t(), nn.Parameter(meta(3)), meta(2, 6)[:, ::2]):
        found = copied(x)
        assert type(found) is type(x) and found.is_meta
        assert found.shape == x.shape and found.requires_grad == x.requires_grad
        assert found.is_contiguous() or x.stride() == found.stride()
    assert copied(nn.Linear(2, 3, device="meta")).weight.is_meta
    shared = copy.copy(meta(3))
    assert shared.is_meta


def test_files() -> None:
    weight = nn.Parameter(meta(2, 3, dtype=adjoint.float64))
    file = io.BytesIO()
    adjoint.save({"a": weight, "b": weight, "c": meta(3, 4).t(), "d": adjoint.ones(2)}, file)
    file.seek(0)
    found = adjoint.load(file)
    assert found["a"] is found["b"] and isinstance(found["a"], nn.Parameter)
    assert look(found["a"]) == look(weight)
    assert look(found["c"]) == ((4, 3), "float32", (1, 4))
    assert found["d"].tolist() == [1, 1]


def test_files_are_not_trusted() -> None:
    from adjoint.saving.objects import Reader

    def text(**said: Any) -> Any:
        return {"version": 1, "tensors": [{"meta": said}], "tree": {"tensor": 0}}

    good = Reader(text(dtype="float32", shape=[2], stride=[1])).object({})
    assert look(good) == ((2,), "float32", (1,))
    for shape, stride in (([-1], [1]), ([2], [-1]), ([2], []), ([2.5], [1]), (["2"], [1])):
        with pytest.raises(ValueError, match="don't fit"):
            Reader(text(dtype="float32", shape=shape, stride=stride)).object({})


def test_optimizers() -> None:
    for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam"):
        layer = nn.Linear(2, 3, device="meta")
        optimizer = getattr(adjoint.optim, name)(layer.parameters(), lr=0.1)
        before = layer.weight._version
        for _ in range(2):
            optimizer.zero_grad()
            layer(meta(4, 2)).sum().backward()
            optimizer.step()
        assert layer.weight.is_meta and layer.weight._version == before + 2


def test_custom_operators() -> None:
    library = adjoint.library

    @library.custom_op("meta_tests::doubled", mutates_args=())
    def doubled(x: Tensor) -> Tensor:
        raise AssertionError("a kernel that needs values")

    with pytest.raises(NotImplementedError, match="meta_tests::doubled.*register_fake"):
        doubled(meta(3))
    doubled.register_fake(lambda x: x.new_empty(2 * x.shape[0]))
    doubled.register_autograd(lambda ctx, g: g[: g.shape[0] // 2])
    x = meta(3, requires_grad=True)
    y = doubled(x)
    assert look(y) == ((6,), "float32", (1,))
    y.sum().backward()
    assert look(x.grad) == look(x)
    doubled.register_fake(lambda x: 3)
    with pytest.raises(RuntimeError, match="returned a int where a Tensor is due"):
        doubled(meta(3))


def test_custom_operators_of_unknown_sizes() -> None:
    library = adjoint.library

    @library.custom_op("meta_tests::found", mutates_args=())
    def found(x: Tensor) -> Tensor:
        return x.nonzero()

    @found.register_fake
    def _(x: Any) -> Any:
        return x.new_empty((library.get_ctx().new_dynamic_size(), 1))

    with pytest.raises(NotImplementedError, match="meta_tests::found.*size.*depends on values"):
        found(meta(3))

    @library.custom_op("meta_tests::changes", mutates_args={"x"})
    def changes(x: Tensor) -> None:
        x.add_(1)

    x = meta(3)
    changes(x)
    assert x._version == 1


def test_it_is_shown_without_values() -> None:
    assert repr(meta(2, 3)) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(meta(dtype=adjoint.int64)).startswith("tensor(..., device='meta', size=(), dtype=")
    assert f"{meta()}" == "tensor(..., device='meta', size=())"
    assert "requires_grad=True" in repr(nn.Parameter(meta(3)))
    assert backend_of(meta(1).array).xp.address(meta(1).array) == meta(1).data_ptr() == 0
