"""Old constructors, types, storages and assert_close do what PyTorch's do."""

import pickle
import weakref

import numpy as np
import pytest

import adjoint.compat.torch as compat


def outcome(call):
    """What a call gives, in terms that both libraries share; the type of its error if it fails."""
    try:
        result = call()
    except (TypeError, RuntimeError, ValueError, AssertionError) as error:
        return type(error).__name__
    if hasattr(result, "dtype"):
        return str(result.dtype).rpartition(".")[2], tuple(result.shape), result.tolist()
    return result


CALLS = [
    lambda t: t.FloatTensor([1, 2]),
    lambda t: t.FloatTensor((2, 3)),
    lambda t: t.LongTensor([1.5, 2]),
    lambda t: t.BoolTensor([1, 0]),
    lambda t: t.FloatTensor(),
    lambda t: t.FloatTensor(3.5),
    lambda t: t.FloatTensor(t.ones(2)),
    lambda t: t.FloatTensor(t.ones(2).storage()),
    lambda t: t.DoubleTensor(t.ones(2).storage()),
    lambda t: t.DoubleTensor(t.ones(2).untyped_storage()),
    lambda t: t.zeros(1).new(t.ones(2).storage()),
    lambda t: t.ones(2).int().type(t.Tensor),
    lambda t: t.FloatTensor(t.ones(2).double()),
    lambda t: tuple(t.FloatTensor(2, 3).shape),
    lambda t: tuple(t.DoubleTensor(t.Size([4])).shape),
    lambda t: tuple(t.IntTensor(size=(4,)).shape),
    lambda t: isinstance(t.ones(2), t.FloatTensor),
    lambda t: isinstance(t.ones(2), t.LongTensor),
    lambda t: isinstance(t.ones(2), t.cuda.FloatTensor),
    lambda t: isinstance(2.0, t.FloatTensor),
    lambda t: repr(t.FloatTensor),
    lambda t: t.ones(2).type(),
    lambda t: t.ones(2).bool().type(),
    lambda t: t.ones(2).type(t.LongTensor),
    lambda t: t.ones(2).type("torch.DoubleTensor"),
    lambda t: t.ones(2).type(t.int16),
    lambda t: t.ones(2).double().new([1, 2]),
    lambda t: tuple(t.ones(2).new(3, 4).shape),
    lambda t: t.ones(2).new(t.ones(3).double()),
    lambda t: t.ones(2).new(3.5),
    lambda t: t.arange(6).view(2, 3)[1].storage().tolist(),
    lambda t: len(t.arange(6.0)[2:4].storage()),
    lambda t: t.arange(6.0)[2:4].untyped_storage().nbytes(),
    lambda t: t.arange(6).storage()[2],
    lambda t: t.is_storage(t.ones(2).untyped_storage()),
    lambda t: len({part.storage().data_ptr() for part in t.ones(3).chunk(3)}),
    lambda t: t.FloatStorage([1, 2]).tolist(),
    lambda t: t.LongStorage(3).size(),
    lambda t: t.LongStorage(np.int16(3)).size(),
    lambda t: t.DoubleStorage([1, 2]).float().type(),
    lambda t: t.UntypedStorage(4).nbytes(),
    lambda t: t.TypedStorage([1, 2], dtype=t.int16).untyped().tolist(),
    lambda t: isinstance(t.ones(2).storage(), t.FloatStorage),
    lambda t: isinstance(t.ones(2).storage(), t.DoubleStorage),
    lambda t: t.ones(2).storage_type().__name__,
    lambda t: t.arange(4).storage().clone().fill_(7).tolist(),
    lambda t: t.arange(4.0).storage().copy_(t.ones(4).storage()).tolist(),
    lambda t: t.storage._dtype_to_storage_type_map()[t.int64],
    lambda t: t.zeros(0).set_(t.arange(4.0).storage()),
    lambda t: t.zeros(0).set_(t.arange(4.0).untyped_storage()),
    lambda t: t.zeros(0).set_(t.arange(4).storage()),
    lambda t: t.zeros(0).set_(t.arange(6.0), 1, (2, 2), (1, 2)),
    lambda t: t.zeros(0).set_(t.arange(6.0).storage(), 2, (2, 2)),
    lambda t: t.ones(3).set_(),
    lambda t: t.tensor(t.arange(4.0).storage()),
    lambda t: t.tensor(t.arange(4.0).storage(), dtype=t.float64),
    lambda t: t.tensor(t.arange(4.0).untyped_storage(), dtype=t.float32),
    lambda t: t.as_tensor(t.arange(3.0).untyped_storage(), dtype=t.float64),
    lambda t: t.asarray(t.arange(3.0).untyped_storage(), dtype=t.int16),
    lambda t: t.tensor(t.arange(3.0).untyped_storage()),
    lambda t: t.ones(1).new_tensor(t.arange(3.0).untyped_storage()),
    lambda t: t.Tensor(t.arange(4.0).storage()),
    lambda t: t.ones(2).storage().complex_double().type(),
    lambda t: t._utils._element_size(t.int16),
    lambda t: t.ones(120).resize_(1, 2, 3, 20, memory_format=t.channels_last).stride(),
    lambda t: (
        t.ones(60)
        .resize_as_(
            t.ones(1, 3, 4, 5).to(memory_format=t.channels_last), memory_format=t.preserve_format
        )
        .stride()
    ),
    lambda t: t.arange(4.0).resize_(2),
    lambda t: t.arange(4.0).resize_(2, 2),
    lambda t: tuple(t.arange(4.0).resize_((3, 2)).shape),
    lambda t: t.ones(2, requires_grad=True).resize_(3),
    lambda t: t.arange(4.0).set_(t.ones(3)),
    lambda t: [part.tolist() for part in t.arange(4.0).unsafe_chunk(2)],
    lambda t: t.ones(2).is_conj(),
    lambda t: [r.tolist() for r in t._unique(t.tensor([2, 1, 2]), return_inverse=True)],
    lambda t: [r.tolist() for r in t._unique2(t.tensor([2, 1, 2]), True, True, True)],
    lambda t: t.set_float32_matmul_precision("lowest"),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_as_pytorch(torch, call):
    assert outcome(lambda: call(compat)) == outcome(lambda: call(torch))


def test_default_tensor_type():
    compat.set_default_tensor_type(compat.DoubleTensor)
    try:
        assert compat.ones(1).dtype is compat.float64
    finally:
        compat.set_default_tensor_type("torch.FloatTensor")
    assert compat.ones(1).dtype is compat.float32

    with pytest.raises(TypeError, match="FloatTensor"):
        compat.set_default_tensor_type("FloatTensor")


def test_resizing_counts_as_a_change():
    x = compat.ones(1)
    x.resize_((1, 2))
    assert x._version == 1
    x.resize_((1, 2))
    assert x._version == 1


def test_volatile_warns():
    with pytest.warns(UserWarning, match="volatile"):
        assert compat.ones(1).volatile is False


def test_memory_is_resized(torch):
    """Without elements a tensor has no values; another size gives it memory again."""

    def outcome(library):
        x = library.arange(6.0).reshape(2, 3).clone()
        storage = x.untyped_storage()
        sizes = [storage.size()]
        for size in (32, 24, 0):
            storage.resize_(size)
            sizes.append((storage.size(), x.untyped_storage().size(), x.storage().size()))
        storage.resize_(24)
        x.copy_(library.ones(2, 3))
        typed = library.ones(2).storage()
        typed.resize_(3)
        plain = library.UntypedStorage(4)
        plain.resize_(8)
        return str(sizes), x.tolist(), x.stride(), typed.size(), plain.nbytes()

    assert outcome(compat) == outcome(torch)


def test_values_without_memory():
    x = compat.ones(2, 3, requires_grad=True)
    y = x * 2
    y.untyped_storage().resize_(0)
    assert y.shape == (2, 3) and y.array.strides == (0, 0)
    y.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_memory_that_others_show_is_not_resized():
    x = compat.ones(2, 3)
    with pytest.raises(NotImplementedError, match="resize_"):
        x[0].untyped_storage().resize_(0)
    assert x.tolist() == [[1.0] * 3] * 2


CLOSE = [
    lambda t: (t.ones(2), t.ones(2)),
    lambda t: (t.ones(2), t.ones(2) + 1e-7),
    lambda t: (t.ones(2), t.ones(2) + 1e-4),
    lambda t: (t.ones(2), t.ones(2).double()),
    lambda t: (t.ones(2), t.ones(3)),
    lambda t: (t.tensor([float("nan")]), t.tensor([float("nan")])),
    lambda t: (t.tensor([1, 2]), t.tensor([1, 3])),
    lambda t: ([t.ones(1), 2.0], [t.ones(1), 2.0]),
    lambda t: ([t.ones(1)], [t.ones(1), t.ones(1)]),
    lambda t: ({"a": t.ones(1)}, {"a": t.ones(1)}),
    lambda t: ({"a": t.ones(1)}, {"b": t.ones(1)}),
    lambda t: (1.0, 1.0 + 1e-9),
    lambda t: (1.0, 1.1),
    lambda t: (None, None),
    lambda t: (t.ones(1), None),
    lambda t: (t.zeros(0), t.zeros(0)),
    lambda t: (t.tensor([True]), t.tensor([False])),
    lambda t: (t.ones(2, device="meta"), t.zeros(2, device="meta")),
    lambda t: (t.ones(2, device="meta"), t.zeros(3, device="meta")),
]
OPTIONS = [{}, {"equal_nan": True}, {"check_dtype": False}, {"rtol": 0.1, "atol": 0.1}, {"rtol": 1}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("pair", CLOSE, ids=range(len(CLOSE)))
def test_assert_close(torch, pair, options):
    def ask(library):
        return outcome(lambda: library.testing.assert_close(*pair(library), **options))

    assert ask(compat) == ask(torch)


def test_assert_close_says_where_and_what():
    with pytest.raises(AssertionError, match=r"1 of 2 .*\['a'\] \[0\].*\(1,\): 1.0 and 2.0"):
        compat.testing.assert_close({"a": [compat.ones(2)]}, {"a": [compat.tensor([1.0, 2.0])]})
    with pytest.raises(AssertionError, match="^mine$"):
        compat.testing.assert_close(1, 2, msg="mine")
    with pytest.raises(AssertionError, match="^before: .*differ"):
        compat.testing.assert_close(1, 2, msg=lambda text: f"before: {text}")


@pytest.mark.parametrize("bounds", [(1, 4), (0, 1, 0.25), (5, 1, -2), (0, 4, 3)])
def test_range_ends_with_its_end(torch, bounds):
    with pytest.warns(UserWarning, match="deprecated"):
        found = compat.range(*bounds)
    with pytest.warns(UserWarning, match="deprecated"):
        wanted = torch.range(*bounds)
    assert found.dtype is compat.float32 and found.tolist() == wanted.tolist()
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="deprecated"):
        compat.range(3, 1)


def test_tensors_of_a_storage_show_its_memory():
    x = compat.arange(3.0)
    bytes_of = x.untyped_storage()
    made = (
        compat.FloatTensor(x.storage()),
        x.new(bytes_of),
        compat.tensor(bytes_of, dtype=x.dtype),
    )
    for shown in made:
        before = x.tolist()
        shown.add_(1)
        assert x.tolist() == [value + 1 for value in before]


def test_storages_write_to_the_tensor():
    tensor = compat.arange(4.0)
    storage = tensor[1:].storage()
    storage[1] = 7
    storage[2:] = [8, 9]
    assert tensor.tolist() == [0, 7, 8, 9]
    assert storage[1:3].tolist() == [7, 8] and list(storage) == tensor.tolist()
    assert storage == tensor.storage() and storage != storage.clone()
    shown = compat.zeros(0).set_(storage)
    shown.fill_(1)
    assert tensor.tolist() == [1, 1, 1, 1]


def test_a_class_with_an_array_of_its_own(torch):
    """Programs see the class's, and everything else works as without it."""

    def outcome(library):
        class Held(library.Tensor):
            @property
            def array(self):
                return self.as_subclass(library.Tensor).numpy()

            @array.setter
            def array(self, values):
                self.data = library.as_tensor(values)

        class Named(library.Tensor):
            array = "a name"

        held = library.arange(4.0).as_subclass(Held)
        doubled = (held * 2)[1:].reshape(3, 1).clone()
        log = [type(doubled).__name__, doubled.array.tolist(), held.sum().item()]
        held.array = np.ones((2, 2), np.float32)
        held.add_(1)
        named = library.ones(2).as_subclass(Named)
        return [*log, held.tolist(), held.array.shape, named.array, (named + 1).tolist()]

    assert outcome(compat) == outcome(torch)


def test_a_storage_is_one_for_all_that_show_its_memory():
    x = compat.ones(4)
    storage = x.untyped_storage()
    assert all(each.untyped_storage() is storage for each in (x, x[1:], x.view(2, 2), x.detach()))
    assert x.clone().untyped_storage() is not storage
    storage.resize_(0)
    assert x.untyped_storage() is storage
    fake = compat.empty(3, device="meta")
    assert fake.untyped_storage() is fake[1:].untyped_storage()
    assert fake.untyped_storage() is not compat.empty(3, device="meta").untyped_storage()


def test_a_storage_lives_as_long_as_a_tensor_that_was_asked_for_it():
    x = compat.ones(4)
    known = weakref.ref(x[1:].untyped_storage())
    x.untyped_storage().mark = "kept"
    assert x.untyped_storage().mark == "kept"
    assert known() is x.untyped_storage()
    del x
    assert known() is None
    alone = compat.tensor([1, 2], dtype=compat.uint8).untyped_storage()
    assert alone.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(alone)).tolist() == [1, 2]
