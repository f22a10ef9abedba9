"""What programs meet by the way: sizes of NumPy's, constructors on arrays, names of nodes."""

import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.compat.torch as compat

ONE = np.int64(1)
SIZES = {
    "avg_pool2d": lambda t: t.nn.functional.avg_pool2d(t.ones(1, 2, 4, 4), 2 * ONE),
    "conv2d": lambda t: t.nn.Conv2d(2 * ONE, ONE, 3 * ONE, ONE, ONE)(t.ones(1, 2, 4, 4)),
    "conv_transpose2d": lambda t: t.nn.ConvTranspose2d(2, 2, 2 * ONE)(t.ones(1, 2, 3, 3)),
    "interpolate": lambda t: t.nn.functional.interpolate(t.ones(1, 1, 2, 2), size=4 * ONE),
    "max_pool2d": lambda t: t.nn.MaxPool2d(2 * ONE)(t.ones(1, 2, 4, 4)),
    "unfold": lambda t: t.nn.functional.unfold(t.ones(1, 2, 4, 4), 2 * ONE),
}


@pytest.mark.parametrize("name", SIZES)
def test_integers_of_numpy_are_sizes(torch: Any, name: str) -> None:
    """A kernel size, stride, padding or size of NumPy's means what Python's does."""
    assert tuple(SIZES[name](adjoint).shape) == tuple(SIZES[name](torch).shape)


ARRAYS = [
    np.array([1.5, -2.5]),
    np.array([[1, 2], [3, 4]]),
    np.array([True, False]),
    np.array(3.5),
    np.zeros((2, 0)),
    np.array([1 + 2j]),
    np.arange(6.0).reshape(2, 3).T,
]


@pytest.mark.parametrize("name", ["Tensor", "FloatTensor", "LongTensor", "BoolTensor"])
@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_constructors_convert_arrays(torch: Any, name: str, array: Any) -> None:
    """Tensor(array) and its like have their own data type, and memory of their own."""
    if np.iscomplexobj(array) and name != "Tensor":
        pytest.skip("PyTorch warns of it, and adjoint refuses it")
    theirs, ours = (getattr(library, name)(array) for library in (torch, compat))
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    assert ours.tolist() == theirs.tolist()
    assert not np.shares_memory(ours.numpy(), array) and ours.is_contiguous()


def test_constructors_take_integers_of_numpy_for_sizes(torch: Any) -> None:
    """As PyTorch: NumPy's integers are sizes, its floats are refused."""
    for library in (torch, compat):
        for kind in (library.Tensor, library.FloatTensor, library.LongTensor):
            assert tuple(kind(np.int64(3)).shape) == tuple(kind(np.array(3)).shape) == (3,)
            assert tuple(kind(np.int64(2), 4).shape) == (2, 4)
            with pytest.raises(TypeError):
                kind(np.float64(2.5))


def test_subclasses_convert_arrays(torch: Any) -> None:
    """A subclass of Tensor is made of an array as Tensor is."""
    for library in (torch, compat):
        kind = type("Mine", (library.Tensor,), {})
        made = kind(np.array([1.5, 2.5]))
        assert type(made) is kind and made.dtype == library.float32 and made.tolist() == [1.5, 2.5]


WRITES = {
    "places": lambda t, z: z.__setitem__(t.tensor([0]), t.ones(1, dtype=t.float64)),
    "a number": lambda t, z: z.__setitem__(t.tensor([0, 1]), t.tensor(1.0, dtype=t.float64)),
    "a list": lambda t, z: z.__setitem__([0, 1], t.ones(2, dtype=t.float64)),
    "a mask": lambda t, z: z.__setitem__(z > -1, t.ones(3, dtype=t.float64)),
    "integers": lambda t, z: z.__setitem__(t.tensor([0]), t.ones(1, dtype=t.int64)),
}
CASTS = {
    "a slice": lambda t, z: z.__setitem__(slice(2), t.ones(2, dtype=t.float64)),
    "one element": lambda t, z: z.__setitem__(0, t.tensor(1.0, dtype=t.float64)),
    "a filled mask": lambda t, z: z.__setitem__(z > -1, t.tensor(2.0, dtype=t.float64)),
    "a plain number": lambda t, z: z.__setitem__(t.tensor([0]), 1),
}


@pytest.mark.parametrize("name", [*WRITES, *CASTS])
def test_writing_another_type(torch: Any, name: str) -> None:
    """Where index tensors name, a value must have the tensor's type, and elsewhere it is cast."""
    results = []
    for library in (torch, adjoint):
        z = library.zeros(3)
        if name in WRITES:
            with pytest.raises(RuntimeError):
                WRITES[name](library, z)
        else:
            CASTS[name](library, z)
        results.append(z.tolist())
    assert results[0] == results[1]


GRAPHS = {
    "2 * b": lambda t, a, b: 2 * b,
    "1 + b": lambda t, a, b: 1 + b,
    "a ** 2": lambda t, a, b: a**2,
    "a ** b": lambda t, a, b: a**b,
    "2 ** a": lambda t, a, b: 2**a,
    "a ** constant": lambda t, a, b: a ** t.ones(2, 2),
    "sum": lambda t, a, b: a.sum(),
    "sum(0)": lambda t, a, b: a.sum(0),
    "mean": lambda t, a, b: a.mean(),
    "mean(1)": lambda t, a, b: a.mean(1),
    "matrices": lambda t, a, b: a @ b,
    "vector": lambda t, a, b: a @ b.diagonal(),
    "dot": lambda t, a, b: a.diagonal() @ b.diagonal(),
    "batches": lambda t, a, b: t.bmm(a.unsqueeze(0), b.unsqueeze(0)),
    "clamp": lambda t, a, b: a.clamp(0, 1),
    "masked_fill": lambda t, a, b: a.masked_fill(a > 0, 0.0),
    "lerp": lambda t, a, b: t.lerp(a, b, 0.5),
    "loss": lambda t, a, b: ((a @ b - 1) ** 2).mean(),
    "minus": lambda t, a, b: a - 1,
    "number first": lambda t, a, b: 1 - a,
    "no gradient first": lambda t, a, b: a.detach() - b,
    "no gradient last": lambda t, a, b: a - b.detach(),
    "square": lambda t, a, b: a.square(),
    "remainder": lambda t, a, b: a % 2,
    "remainder of tensors": lambda t, a, b: a % b.detach(),
    "fmod": lambda t, a, b: a.fmod(2),
    "fmod of tensors": lambda t, a, b: a.detach().fmod(b),
    "index_fill": lambda t, a, b: a.index_fill(0, t.tensor([0]), 2),
    "copy_": lambda t, a, b: a.clone().copy_(b),
    "new dimension": lambda t, a, b: a[None],
    "new last dimension": lambda t, a, b: a[:, :, None],
    "column": lambda t, a, b: a[:, 0],
    "last column": lambda t, a, b: a[..., -1],
    "columns": lambda t, a, b: a[:, 0:1],
    "squeeze": lambda t, a, b: a.squeeze(),
    "squeeze one": lambda t, a, b: a.squeeze(0),
    "squeeze some": lambda t, a, b: a.squeeze((0, 1)),
}


def drawn(node: Any) -> Any:
    """The names of a graph's nodes, and their edges."""
    if node is None:
        return None
    name = node.name().rpartition("::")[2]
    return [name, *[(drawn(after), number) for after, number in node.next_functions]]


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_as_pytorch_shows_them(torch: Any, name: str) -> None:
    """Names of nodes and their edges, of calls whose nodes depend on the arguments."""
    shown = []
    for library in (torch, adjoint):
        a, b = (library.ones(2, 2, requires_grad=True) for _ in range(2))
        shown.append(drawn(GRAPHS[name](library, a, b).grad_fn))
    assert shown[0] == shown[1]


@pytest.mark.parametrize("name", ["norm", "eigh", "cholesky", "pinv", "matrix_norm", "cond"])
def test_matrices_are_called_input_too(torch: Any, name: str) -> None:
    """Functions of linalg whose argument is shown as A take input and x."""
    for library in (torch, adjoint):
        for word in ("input", "x"):
            getattr(library.linalg, name)(**{word: library.eye(2)})


def fuses(torch: Any, shape: Any, kind: Any) -> bool:
    """Whether PyTorch's product of a grid of this shape rounds a product and its sum once."""
    tiny = 2.0 ** -(np.finfo(kind).nmant // 2 + 1)
    left, right = np.zeros((*shape[:2], shape[2] + 1), kind), np.zeros((*shape[::2], shape[2] + 1))
    left[..., 0], left[..., 1] = -(1 + 2 * tiny), 1 + tiny
    right[..., 0], right[..., 1] = 1, 1 + tiny
    right = torch.from_numpy(right.astype(kind)).transpose(1, 2)
    return bool((torch.from_numpy(left).bmm(right) != 0).any())


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("size", [(2, 1, 5, 7), (4, 1, 31, 17), (1, 3, 33, 100), (2, 2, 3, 16, 31)])
def test_affine_grids_to_the_last_bit(torch: Any, size: Any, align: bool, kind: Any) -> None:
    """Grids are rounded as PyTorch's are, but where its product is fused, as on some processors."""
    count = len(size) - 2
    theta = np.random.default_rng(0).normal(size=(size[0], count, count + 1)).astype(kind)
    theirs, ours = (
        library.nn.functional.affine_grid(library.from_numpy(theta), size, align_corners=align)
        for library in (torch, adjoint)
    )
    if fuses(torch, (size[0], math.prod(size[2:]), count), kind):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 0, 8 * np.finfo(kind).eps)
    else:
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no wider numbers to round once")
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("steps", [2, 3, 7, 10, 24, 101, 1000])
def test_spaced_numbers_to_the_last_bit(torch: Any, steps: int, kind: str) -> None:
    for start, end in ((0, 1), (0.1, 10), (-4.7, 0.3), (3, -3.3), (1e-3, 1e3)):
        ours = adjoint.linspace(start, end, steps, dtype=getattr(adjoint, kind)).numpy()
        theirs = torch.linspace(start, end, steps, dtype=getattr(torch, kind)).numpy()
        np.testing.assert_array_equal(ours, theirs)


def test_saving_into_a_folder_that_is_not_there(torch: Any, tmp_path: Any) -> None:
    """PyTorch raises a RuntimeError that names the folder."""
    for library in (torch, compat):
        with pytest.raises(RuntimeError, match="Parent directory .*none does not exist"):
            library.save({}, tmp_path / "none" / "file.pt")
    assert not (tmp_path / "none").exists()


def test_sizes_are_joined_to_tuples_alone(torch):
    for library in (adjoint, torch):
        size = library.Size([1])
        assert type(size + (2,)) is type((2,) + size) is library.Size
        assert (2,) + size == (2, 1)
        with pytest.raises(TypeError):
            size + [2]


def test_results_with_names_are_printed_a_line_each(torch):
    for call in ("max(1)", "sort(1)", "median(1)", "kthvalue(1, 1)", "cummax(1)"):
        ours, theirs = (
            repr(eval(f"x.{call}", {"x": library.arange(6).view(2, 3)}))
            for library in (adjoint, torch)
        )
        assert ours == theirs.replace("torch.", "adjoint.")
    for library in (adjoint, torch):
        assert isinstance(library.ones(2, 3).max(1), library.return_types.max)


@pytest.mark.filterwarnings("ignore:.*is deprecated:UserWarning")
def test_results_with_names_are_made_of_one_sequence(torch):
    for library in (torch, compat):
        kind, parts = library.return_types.max, [library.ones(2), library.tensor([0, 1])]
        assert type(kind(parts)) is kind
        assert kind(parts).indices is parts[1]
        assert kind(tuple(parts)) + (1,) == (*parts, 1)
        assert (kind.n_fields, kind.n_sequence_fields, kind.n_unnamed_fields) == (2, 2, 0)
        with pytest.raises(TypeError):
            kind(parts[:1])


def test_strides_beyond_63_bits_are_refused(torch):
    sizes = [0, 4, 2**61]
    for library in (torch, compat):
        for make in (library.empty, library.zeros, library.ones, library.tensor(1.0).new_empty):
            with pytest.raises(RuntimeError, match="overflow"):
                make(sizes)
        with pytest.raises(RuntimeError, match="overflow"):
            library.tensor(1.0).resize_(sizes)


def test_windows_that_cannot_be_added_up_are_refused(torch):
    for library in (torch, compat):
        windows = library.ones(2, 3)
        with pytest.raises(ValueError, match="step"):
            library.ops.aten.unfold_backward(windows, [6], 0, 3, 0)
        with pytest.raises(RuntimeError, match="must be >= 0"):
            library.ops.aten.unfold_backward(windows, [6], 0, -1, 1)


def test_results_of_composed_functions_are_of_named_types(torch):
    calls = ["svd(a)", "qr(a)", "slogdet(a)", "linalg.lstsq(a, b)", "linalg.lu(a)"]
    calls += [
        "linalg.lu_factor_ex(a)",
        "lu_unpack(*l.linalg.lu_factor(a))",
        "linalg.solve_ex(a, b)",
    ]
    calls += ["linalg.cholesky_ex(a)", "linalg.ldl_factor(a)", "linalg.ldl_factor_ex(a)"]
    calls += ["triangular_solve(b, a)", "histogram(b.view(-1), 2)", "histogramdd(a, 2)"]
    for call in calls:
        names = []
        for library in (adjoint, torch):
            given = {"l": library, "a": library.eye(2) * 2, "b": library.ones(2, 1)}
            answer = eval(f"l.{call}", given)
            names.append(type(answer).__name__)
            assert isinstance(answer, getattr(library.return_types, names[-1]))
            assert repr(answer).startswith(f"{library.__name__}.return_types.{names[-1]}(\n")
            assert type(pickle.loads(pickle.dumps(answer))) is type(answer)
        assert names[0] == names[1], call
    assert adjoint.return_types.max_out is adjoint.return_types.max


@pytest.mark.parametrize("kind", ["bilinear", "nearest"])
@pytest.mark.parametrize("mode", ["zeros", "border", "reflection"])
def test_grid_sample_of_places_that_are_nowhere(torch, mode, kind):
    found = []
    for library in (adjoint, torch):
        grid = library.tensor([[[[math.nan, 0.0], [math.inf, 0.0], [0.0, math.inf], [0.3, -0.2]]]])
        images = library.arange(9.0).view(1, 1, 3, 3)
        sample = library.nn.functional.grid_sample
        found.append(sample(images, grid, kind, padding_mode=mode, align_corners=False).numpy())
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_names_of_types_in_short(torch):
    for name in ("float32", "bfloat16", "float16", "int64", "uint8", "bool", "complex64"):
        assert getattr(adjoint, name).abbr == getattr(torch, name).abbr


def test_broadcast_to_takes_sizes_one_by_one(torch):
    for library in (adjoint, torch):
        row = library.ones(3)
        assert row.broadcast_to(2, 3).shape == row.broadcast_to((2, 3)).shape == (2, 3)


def test_what_is_refused_as_in_pytorch(torch):
    for library in (adjoint, torch):
        with pytest.raises(RuntimeError):
            library.device("cpu", -2)
        with pytest.raises(RuntimeError):
            library.nn.functional.cosine_embedding_loss(
                library.ones(1, 3), library.ones(3), library.ones(1)
            )
        for sizes in (library.ones(3), [2.0], 3):
            with pytest.raises(TypeError):
                library.Size(sizes)
        with pytest.raises(TypeError):
            library.ones(3, 2).topk(4, True)


def test_sizes_are_ints(torch):
    for library in (adjoint, torch):
        made = library.Size([library.tensor(2), 3])
        assert [type(n) for n in made] == [int, int] and made == (2, 3)
        assert library.Size(library.tensor([2, 3])) == (2, 3)
        assert not hasattr(library.Size, "__orig_bases__")  # what checks types knows it as a tuple


EMPTY_BATCHES = {
    "RNN": lambda nn, ones: nn.RNN(3, 4)(ones(5, 0, 3))[0],
    "LSTM": lambda nn, ones: nn.LSTM(3, 4, bidirectional=True)(ones(5, 0, 3))[0],
    "GRU": lambda nn, ones: nn.GRU(3, 4, batch_first=True)(ones(0, 5, 3))[0],
    "attention": lambda nn, ones: nn.MultiheadAttention(4, 2)(*[ones(3, 0, 4)] * 3)[0],
    "its weights": lambda nn, ones: nn.MultiheadAttention(4, 2)(*[ones(3, 0, 4)] * 3)[1],
    "no weights": lambda nn, ones: nn.MultiheadAttention(4, 2)(
        *[ones(3, 0, 4)] * 3, need_weights=False
    )[0],
    "Transformer": lambda nn, ones: nn.Transformer(4, 2, 1, 1)(ones(3, 0, 4), ones(2, 0, 4)),
}


@pytest.mark.parametrize("name", EMPTY_BATCHES)
def test_batches_of_nothing(torch, name):
    ours, theirs = (EMPTY_BATCHES[name](each.nn, each.ones) for each in (adjoint, torch))
    assert tuple(ours.shape) == tuple(theirs.shape)


OLD_AND_RARE = {
    "__div__": lambda t: t.ones(2).__div__(4),
    "__rdiv__": lambda t: t.ones(2).__rdiv__(4),
    "__idiv__": lambda t: t.ones(2).__idiv__(4),
    "new of complex numbers": lambda t: t.ones(2, dtype=t.complex64).new([1, 2]),
    "dim_order": lambda t: t.ones(2, 3, 4).permute(2, 0, 1).dim_order(),
    "dim_order of ones": lambda t: t.ones(2, 1, 4).dim_order(),
    "dim_order of images": lambda t: (
        t.ones(2, 3, 4, 5).to(memory_format=t.channels_last).dim_order(ambiguity_check=True)
    ),
    "new of a size": lambda t: tuple(t.ones(2).new(size=(2, 3)).shape),
    "fftn of a dimension": lambda t: t.fft.fftn(t.ones(2, 3), s=2, dim=0).real,
    "fftfreq": lambda t: t.fft.fftfreq(5, out=t.empty(5, dtype=t.float64)),
    "rfftfreq": lambda t: t.fft.rfftfreq(4, 0.5, out=t.empty(3)),
    "bytes of elements": lambda t: t.ones(3).storage()._untyped_storage.nbytes(),
    "memory of others": lambda t: t.ones(3).storage().is_shared(),
    "memory as found": lambda t: t.utils.deterministic.fill_uninitialized_memory,
}


@pytest.mark.parametrize("name", OLD_AND_RARE)
def test_old_and_rare_names(torch, name):
    ours, theirs = (OLD_AND_RARE[name](library) for library in (compat, torch))
    if isinstance(theirs, torch.Tensor):
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        ours, theirs = ours.tolist(), theirs.tolist()
    assert ours == theirs


def test_an_order_that_is_not_the_only_one_is_refused(torch):
    for library in (compat, torch):
        both = [library.contiguous_format, library.channels_last]
        for wanted in (True, both):
            with pytest.raises(RuntimeError):
                library.ones(2, 1, 4, 5).dim_order(ambiguity_check=wanted)


def test_pixels_in_another_order_have_memory_of_their_own(torch):
    for library in (adjoint, torch):
        images = library.zeros(1, 4, 2, 2)
        for name in ("pixel_shuffle", "pixel_unshuffle"):
            getattr(library.nn.functional, name)(images, 1).fill_(1.0)
        library.nn.functional.interpolate(images.to(library.uint8), size=2, mode="bilinear").add_(1)
        assert not images.any()


def test_bools_are_all_or_some_true(torch):
    for name in ("_is_all_true", "_is_any_true"):
        for library in (compat, torch):
            function = getattr(library, name)
            for bools in ([True, False], [True, True], [False, False]):
                expected = getattr(torch, name)(torch.tensor(bools)).item()
                assert function(library.tensor(bools)).item() is expected
            with pytest.raises(RuntimeError):
                function(library.ones(2))


def test_the_node_a_pass_is_at_has_the_name_of_its_function(torch):
    found = []
    for library in (compat, torch):
        names = []

        def note(grad, library=library, names=names):
            names.append(type(library._C._current_autograd_node()).__name__)

        x = library.ones(2, requires_grad=True)
        product = x * 2
        product.register_hook(note)
        product.exp().sum().backward()
        found.append(names)
    assert found[0] == found[1]


def test_programs_may_filter_the_warning_about_graphs_of_gradients(torch):
    for library in (compat, torch):
        x = library.ones(2, requires_grad=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", r"Using backward\(\) with create_graph=True")
            (x * x).sum().backward(create_graph=True)
        x.grad = None


@pytest.mark.parametrize("shape", [(2, 1, 3, 3), (2, 3, 1, 1), (1, 1, 1, 1), (2, 3, 4, 5)])
def test_a_layout_that_strides_do_not_tell_is_made(torch, shape):
    """A tensor that lies in two orders at once is the one of its strides alone."""
    found = []
    for library in (compat, torch):
        plain = library.ones(shape)
        last = plain.to(memory_format=library.channels_last)
        found.append(
            [
                last is plain,
                tuple(last.stride()),
                last.to(memory_format=library.channels_last) is last,
                last.to(memory_format=library.contiguous_format) is last,
                plain.to(memory_format=library.preserve_format) is plain,
                plain.contiguous(memory_format=library.channels_last) is plain,
            ]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["bool", "uint8", "int64", "float32", "complex64"])
def test_tensors_are_made_for_tests(torch, kind):
    for options in ({}, {"low": 0, "high": 2}, {"noncontiguous": True}, {"exclude_zero": True}):
        looks: list[Any] = []
        ends: list[Any] = []
        for library in (compat, torch):
            dtype = getattr(library, kind)
            library.manual_seed(0)
            made = library.testing.make_tensor((40, 5), dtype=dtype, device="cpu", **options)
            parts = library.view_as_real(made) if kind == "complex64" else made
            ends.append((parts.double().min().item(), parts.double().max().item()))
            zeros = bool((made == 0).any()) if "exclude_zero" in options else None
            looks.append((tuple(made.shape), made.is_contiguous(), zeros))
        assert looks[0] == looks[1]
        assert ends[0] == pytest.approx(ends[1], abs=1)
    with pytest.raises(ValueError, match="low must be below high"):
        compat.testing.make_tensor(2, dtype=compat.float32, device="cpu", low=1, high=0)


def test_sparse_tensors_are_compared(torch):
    for library in (compat, torch):
        close = library.testing.assert_close
        sparse = library.eye(3).to_sparse()
        twice = library.sparse_coo_tensor([[0, 1, 2, 2], [0, 1, 2, 2]], [1.0, 1.0, 0.5, 0.5])
        close(sparse, sparse.clone())
        close(sparse.to_sparse_csr(), library.eye(3).to_sparse_csr())
        close(sparse, library.eye(3), check_layout=False)
        for other in (sparse * 2, twice, library.eye(3), library.eye(3).flip(0).to_sparse()):
            with pytest.raises(AssertionError):
                close(sparse, other)


@pytest.mark.parametrize("mode", ["max", "sum", "mean"])
def test_bags_of_nothing(torch, mode):
    for library in (adjoint, torch):
        weight = library.ones(3, 2, requires_grad=True)
        nothing = library.tensor([], dtype=library.int64)
        bags = library.nn.functional.embedding_bag(
            nothing, weight, library.tensor([0, 0]), mode=mode
        )
        bags.sum().backward()
        assert bags.tolist() == [[0.0, 0.0]] * 2
        assert not weight.grad.any()


def test_sparse_gradients_of_no_rows(torch):
    for library in (adjoint, torch):
        layer = library.nn.Embedding(0, 0, sparse=True)
        layer(library.tensor([], dtype=library.int64)).sum().backward()
        assert tuple(layer.weight.grad.shape) == (0, 0)


def test_memory_of_storages_is_nobodys() -> None:
    storage = compat.ones(3).untyped_storage()
    assert storage.share_memory_() is storage and storage.to(device="cpu") is storage
    assert storage.is_pinned() is False and storage.filename is None
    packed = compat.nn.utils.rnn.pack_sequence([compat.ones(3), compat.ones(2)])
    assert packed.pin_memory() is packed and not packed.is_pinned()


def test_storages_name_the_file_that_they_change(torch: Any, tmp_path: Any) -> None:
    for lib in (compat, torch):
        for shared in (True, False):
            path = str(tmp_path / "elements")
            storage = lib.UntypedStorage.from_file(path, shared, 16)
            assert storage.filename == (path if shared else None)


def test_results_of_private_functions_as_out(torch: Any) -> None:
    for lib in (compat, torch):
        matrix, out = lib.ones(32, 32, dtype=lib.int8), lib.empty(32, 32, dtype=lib.int32)
        assert lib._int_mm(matrix, matrix, out=out) is out and int(out[0, 0]) == 32
        for wrong in (lib.empty(32, 32), lib.empty(3, 3, dtype=lib.int32)):
            with pytest.raises(RuntimeError):
                lib._int_mm(matrix, matrix, out=wrong)
        norm = lib.empty(1, 1)
        assert lib.nuclear_norm(lib.eye(3), True, out=norm) is norm and norm.tolist() == [[3.0]]


@pytest.mark.parametrize("name", ["rand", "randn"])
@pytest.mark.parametrize("kind", ["int64", "bool"])
@pytest.mark.parametrize("size", [(0,), (2, 0), (2,)])
def test_random_numbers_of_integer_types(torch: Any, name: str, kind: str, size: Any) -> None:
    found: list[Any] = []
    for lib in (adjoint, torch):
        try:
            found.append(tuple(getattr(lib, name)(size, dtype=getattr(lib, kind)).shape))
        except NotImplementedError:
            found.append("refused")
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
@pytest.mark.parametrize("statistics", ["float32", "float64", "float16"])
@pytest.mark.parametrize("training", [True, False])
def test_instance_norm_with_statistics_of_any_type(
    torch: Any, kind: str, statistics: str, training: bool
) -> None:
    found: list[Any] = []
    for lib in (adjoint, torch):
        input = lib.arange(24.0).reshape(2, 3, 4).to(getattr(lib, kind))
        mean, variance = (each.to(getattr(lib, statistics)) for each in (lib.zeros(3), lib.ones(3)))
        out = lib.nn.functional.instance_norm(input, mean, variance, use_input_stats=training)
        assert out.dtype is input.dtype
        found.append([each.float().tolist() for each in (out, mean, variance)])
    for ours, theirs in zip(*found):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("shape", [(0, 3), (2, 3, 0), (0, 3, 2, 2)])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("training", [True, False])
def test_a_batch_of_nothing_is_normalised(
    torch: Any, shape: Any, kind: str, training: bool
) -> None:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lib in (adjoint, torch):
            layer = lib.nn.BatchNorm2d(3) if len(shape) == 4 else lib.nn.BatchNorm1d(3)
            input = lib.ones(shape, dtype=getattr(lib, kind), requires_grad=True)
            out = layer.train(training)(input)
            out.sum().backward()
            assert out.dtype is input.dtype is input.grad.dtype and tuple(out.shape) == shape
            kept = (layer.weight.grad, layer.bias.grad, layer.running_mean, layer.running_var)
            found.append([each.tolist() for each in kept])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["bool", "int8", "int32", "float32"])
@pytest.mark.parametrize("count", [None, 0, 6])
def test_powers_of_small_integers_do_not_wrap(torch: Any, kind: str, count: Any) -> None:
    found = []
    for lib in (adjoint, torch):
        powers = lib.vander(lib.tensor([1, 3, 7], dtype=getattr(lib, kind)), count)
        found.append((str(powers.dtype).partition(".")[2], powers.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("kind", "count"),
    [("uint8", 256), ("uint8", 257), ("int8", 129), ("float16", 2049), ("float16", 2050)]
    + [("bfloat16", 258), ("bool", 2), ("int64", 0)],
)
def test_orders_of_more_than_a_type_can_count(torch: Any, kind: str, count: int) -> None:
    found: list[Any] = []
    for lib in (adjoint, torch):
        try:
            found.append(tuple(lib.randperm(count, dtype=getattr(lib, kind)).shape))
        except RuntimeError as error:
            found.append(type(error))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [("float64", -1.7e308, 1.7e308), ("float64", -math.inf, 0), ("float32", 0, math.nan)]
    + [("float32", 1e39, 1.1e39), ("float16", 7e4, 8e4), ("bfloat16", -1.0, 1.0)],
)
def test_ranges_that_a_type_can_hold(torch: Any, kind: str, low: float, high: float) -> None:
    found: list[Any] = []
    for lib in (adjoint, torch):
        try:
            found.append(tuple(lib.empty(3, dtype=getattr(lib, kind)).uniform_(low, high).shape))
        except RuntimeError:
            found.append("refused")
    assert found[0] == found[1]


class Numbered:
    """Has a length, and elements by their number."""

    def __init__(self, *elements: Any) -> None:
        self.elements = elements

    def __len__(self) -> int:
        return len(self.elements)

    def __getitem__(self, index: int) -> Any:
        return self.elements[index]


def test_what_has_elements_by_number_is_a_sequence(torch: Any) -> None:
    for lib in (adjoint, torch):
        assert lib.tensor(Numbered(1.0, 2.0)).tolist() == [1.0, 2.0]
        assert lib.tensor([Numbered(1, 2), Numbered(3, 4)]).tolist() == [[1, 2], [3, 4]]
        assert lib.tensor(Numbered()).shape == (0,)


def test_nothing_is_joined_along_any_dimension(torch: Any) -> None:
    for lib in (adjoint, torch):
        assert lib.cat([lib.empty(0), lib.empty(0)], dim=1).shape == (0,)
        assert lib.cat([lib.empty(0), lib.ones(2, 3)], dim=1).shape == (2, 3)


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int64", "float16", "complex64"])
@pytest.mark.parametrize(
    "bounds",
    [(-2, 2), (None, None), (250, 400), (-1, 1), (0.5, 1.5), (3, 3), (2, 3), (-5, -1),
     (float("nan"), 1), (-1e9, 1e9)],
    ids=str,
)  # fmt: skip
def test_made_numbers_are_such_as_the_type_holds(torch, name, bounds):
    seen = []
    for library in (compat, torch):
        options = dict(zip(("low", "high"), bounds))
        kind = getattr(library, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch's of bounds that are equal
            try:
                made = library.testing.make_tensor(50, dtype=kind, device="cpu", **options)
            except (ValueError, RuntimeError) as error:
                seen.append(type(error))
                continue
        parts = library.view_as_real(made) if made.is_complex() else made
        values = parts.flatten().tolist()
        low = -9 if bounds[0] is None else bounds[0]
        assert all(value >= min(low, 2) for value in values)
        seen.append(made.dtype is kind and made.shape == (50,))
    assert seen[0] == seen[1]
