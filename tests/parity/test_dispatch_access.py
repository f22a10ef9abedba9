"""What modes and classes see of calls that read, copy or share a tensor, and of lists of them."""

import copy
import importlib
import io
import pickle

import numpy as np
import pytest


def coordinates(torch, values=(3.0, 4.0, 5.0)):
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], list(values), (2, 3))


def rows(torch):
    return torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csr()


def numbers(torch):
    return torch.arange(6.0).reshape(2, 3)


def joined(torch):
    return coordinates(torch).coalesce()


def columns(torch):
    return torch.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csc()


def one(torch):
    return torch.tensor(2.0)


def storage(torch):
    return numbers(torch).untyped_storage()


def parameters(torch):
    found = [torch.nn.Parameter(torch.ones(n, 2)) for n in (1, 2)]
    found.append(torch.nn.Parameter(torch.ones(2, dtype=torch.float64)))
    for each in found:
        each.grad = torch.full_like(each, 3.0).detach()
    return found


def lists(torch):
    return [torch.ones(2), torch.full((3,), 2.0)]


def file_of(torch):
    file = io.BytesIO()
    torch.save({"a": numbers(torch), "p": torch.nn.Parameter(numbers(torch))}, file)
    return file.getvalue()


def anomaly(torch, x):
    with torch.autograd.set_detect_anomaly(True, True):
        (x * 2).sum().backward()
    return x.grad


def adagrad(torch):
    param = torch.nn.Parameter(torch.ones(2))
    made = torch.optim.Adagrad([param], initial_accumulator_value=0.5)
    return list(made.state[param].values())


READS = {
    "indices": (joined, lambda torch, s: s.indices()),
    "_indices": (coordinates, lambda torch, s: s._indices()),
    "_values": (coordinates, lambda torch, s: s._values()),
    "_nnz": (coordinates, lambda torch, s: s._nnz()),
    "_nnz of rows": (rows, lambda torch, s: s._nnz()),
    "is_coalesced": (coordinates, lambda torch, s: s.is_coalesced()),
    "coalesce": (coordinates, lambda torch, s: s.coalesce()),
    "coalesce again": (joined, lambda torch, s: s.coalesce()),
    "_coalesced_": (coordinates, lambda torch, s: s._coalesced_(True).is_coalesced()),
    "sparse_dim": (coordinates, lambda torch, s: s.sparse_dim()),
    "dense_dim": (coordinates, lambda torch, s: s.dense_dim()),
    "sparse_dim of a dense one": (numbers, lambda torch, x: x.sparse_dim()),
    "dense_dim of a dense one": (numbers, lambda torch, x: x.dense_dim()),
    "crow_indices": (rows, lambda torch, s: s.crow_indices()),
    "col_indices": (rows, lambda torch, s: s.col_indices()),
    "ccol_indices": (columns, lambda torch, s: s.ccol_indices()),
    "row_indices": (columns, lambda torch, s: s.row_indices()),
    "data": (numbers, lambda torch, x: x.data),
    "numpy": (numbers, lambda torch, x: x.numpy()),
    "numpy by force": (numbers, lambda torch, x: x.requires_grad_().numpy(force=True)),
    "an array": (numbers, lambda torch, x: np.asarray(x)),
    "format": (one, lambda torch, x: f"{x:.2f} {x}"),
    "as_subclass": (numbers, lambda torch, x: x.as_subclass(torch.Tensor)),
    "is_same_size": (numbers, lambda torch, x: x.is_same_size(x)),
    "is_same_size of complex": (numbers, lambda torch, x: (x + 0j).is_same_size(x)),
    "is_pinned": (numbers, lambda torch, x: x.is_pinned()),
    "is_set_to": (numbers, lambda torch, x: x.is_set_to(x.view(2, 3))),
    "Tensor of one": (numbers, lambda torch, x: torch.Tensor(x)),
    "apply_": (numbers, lambda torch, x: x.apply_(lambda each: each + 1)),
    "map_": (numbers, lambda torch, x: x.map_(x, lambda one, other: one * other)),
    "fftfreq": (one, lambda torch, x: torch.fft.fftfreq(4, 0.5)),
    "rfftfreq": (one, lambda torch, x: torch.fft.rfftfreq(4, dtype=torch.float64)),
    "an anomaly looked for": (numbers, lambda torch, x: anomaly(torch, x.requires_grad_())),
    "the first state of Adagrad": (one, lambda torch, x: adagrad(torch)),
    "untyped_storage": (numbers, lambda torch, x: x.untyped_storage().nbytes()),
    "a new storage": (numbers, lambda torch, x: torch.UntypedStorage(4).nbytes()),
    "a storage's copy": (storage, lambda torch, s: s.clone().tolist()[:1]),
    "a storage's element": (storage, lambda torch, s: s[0]),
    "a storage filled": (storage, lambda torch, s: s.fill_(1)[2]),
    "set_ to a storage": (numbers, lambda torch, x: x.set_(numbers(torch).untyped_storage())),
    "set_ to a pattern": (numbers, lambda torch, x: x.set_(x.untyped_storage(), 1, (2,), (2,))),
    "set_ to a tensor's": (numbers, lambda torch, x: x.set_(x, 1, (2,))),
    "set_ to nothing": (numbers, lambda torch, x: x.set_()),
    "copy": (numbers, lambda torch, x: copy.copy(x)),
    "deepcopy": (numbers, lambda torch, x: copy.deepcopy(x)),
    "deepcopy of a number": (one, lambda torch, x: copy.deepcopy(x)),
    "deepcopy of a view": (numbers, lambda torch, x: copy.deepcopy(x[1])),
    "deepcopy of a leaf": (numbers, lambda torch, x: copy.deepcopy(x.requires_grad_())),
    "deepcopy of a sparse one": (coordinates, lambda torch, s: copy.deepcopy(s)),
    "unpickled": (lambda torch: pickle.dumps(numbers(torch)), lambda torch, b: pickle.loads(b)),
    "loaded": (file_of, lambda torch, b: list(torch.load(io.BytesIO(b)).values())),
}
CHANGES = {
    "clip_grad_norm_": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1.0),
    "of one": lambda torch, p: torch.nn.utils.clip_grad_norm_(p[0], 1.0),
    "of order 3": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1.0, 3),
    "by the greatest": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1.0, float("inf")),
    "one by one": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1.0, foreach=False),
    "of finite ones": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1.0, 2, True),
    "small already": lambda torch, p: torch.nn.utils.clip_grad_norm_(p, 1e6),
    "values": lambda torch, p: torch.nn.utils.clip_grad_value_(p, 1.0),
    "values one by one": lambda torch, p: torch.nn.utils.clip_grad_value_(p, 1.0, foreach=False),
    "get_total_norm": lambda torch, p: torch.nn.utils.get_total_norm([q.grad for q in p]),
    "by a norm": lambda torch, p: torch.nn.utils.clip_grads_with_norm_(p, 1.0, torch.tensor(4.0)),
}
LISTS = {
    "add": lambda torch, a: torch._foreach_add(a, a, alpha=2),
    "add_": lambda torch, a: torch._foreach_add_(a, 2),
    "mul_ by a tensor": lambda torch, a: torch._foreach_mul_(a, torch.tensor(2.0)),
    "div by numbers": lambda torch, a: torch._foreach_div(a, [1.0, 2.0]),
    "sqrt": lambda torch, a: torch._foreach_sqrt(a),
    "norm": lambda torch, a: torch._foreach_norm(a),
    "addcdiv_": lambda torch, a: torch._foreach_addcdiv_(a, a, a, value=2.0),
    "addcmul": lambda torch, a: torch._foreach_addcmul(a, a, a, [1.0, 2.0]),
    "lerp_": lambda torch, a: torch._foreach_lerp_(a, lists(torch), 0.5),
    "copy_": lambda torch, a: torch._foreach_copy_(a, lists(torch)),
    "maximum_": lambda torch, a: torch._foreach_maximum_(a, 1.5),
    "a power": lambda torch, a: torch._foreach_pow(2.0, a),
    "zero_": lambda torch, a: torch._foreach_zero_(a),
}


# What is done with a tensor of one integer in the place of a number, which PyTorch reads.
AS_NUMBERS = {
    "an index": lambda torch, x, k: x[k],
    "an index of columns": lambda torch, x, k: x[:, k],
    "an end": lambda torch, x, k: x[0:k],
    "select": lambda torch, x, k: x.select(0, k),
    "narrow": lambda torch, x, k: x.narrow(0, k, 1),
    "full": lambda torch, x, k: torch.full((2,), k),
    "mul": lambda torch, x, k: x * k,
    "sum": lambda torch, x, k: x.sum(k),
    "arange": lambda torch, x, k: torch.arange(k),
    "roll": lambda torch, x, k: x.roll(k),
    "zeros": lambda torch, x, k: torch.zeros(2, k),
    "new_zeros": lambda torch, x, k: x.new_zeros(k),
    "reshape": lambda torch, x, k: x.reshape(k, 6),
    "repeat": lambda torch, x, k: x.repeat(k, 1),
    "expand": lambda torch, x, k: x.expand(k, 2, 3),
    "alpha": lambda torch, x, k: torch.add(x, x, alpha=k),
    "alpha in place": lambda torch, x, k: x.add_(x, alpha=k),
    "pow": lambda torch, x, k: x.pow(k),
    "clamp": lambda torch, x, k: x.clamp(k),
    "fill_": lambda torch, x, k: x.fill_(k),
    "masked_fill": lambda torch, x, k: x.masked_fill(x > 2, k),
    "split": lambda torch, x, k: x.split(k),
    "eye": lambda torch, x, k: torch.eye(k),
    "topk": lambda torch, x, k: x.topk(k),
    "cumsum": lambda torch, x, k: x.cumsum(k),
    "permute": lambda torch, x, k: x.permute(k, 0),
    "flip": lambda torch, x, k: x.flip(k),
    "softmax": lambda torch, x, k: torch.softmax(x, k).argmax(1),
    "linspace": lambda torch, x, k: torch.linspace(k, 2, 3),
}
FIRST_STATES = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam")


def shown(library, value):
    """A value as text: tensors by their numbers, storages by their kind."""
    if isinstance(value, library.Tensor):
        value = value.detach()
        value = value if value.layout is library.strided else value.to_dense()
        return [str(value.dtype).rpartition(".")[2], value.tolist()]
    if isinstance(value, (list, tuple)):
        return [shown(library, each) for each in value]
    return "storage" if "Storage" in type(value).__name__ else str(value)


def seen(library, made, function):
    """The calls that a mode sees, their sizes too, and the answer."""
    dispatch = importlib.import_module(f"{library.__name__}.utils._python_dispatch")
    log = []

    def sizes(value):
        if isinstance(value, library.Tensor):
            return list(value.shape)
        return [sizes(each) for each in value] if isinstance(value, (list, tuple)) else None

    class Log(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((str(func), [sizes(each) for each in args]))
            return func(*args, **(kwargs or {}))

    given = made(library)
    with Log():
        answer = function(library, given)
    return log, shown(library, answer), given


@pytest.fixture(name="compat")
def _compat():
    return importlib.import_module("adjoint.compat.torch")


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning", "ignore:TypedStorage:UserWarning")
@pytest.mark.parametrize("name", READS)
def test_a_mode_sees_the_same(torch, compat, name):
    (ours, found, _), (theirs, expected, _) = (seen(each, *READS[name]) for each in (compat, torch))
    if name == "a storage's copy":  # PyTorch reads a list element by element
        theirs = theirs[: len(ours)]
    assert (ours, found) == (theirs, expected)


@pytest.mark.parametrize("name", CHANGES)
def test_a_mode_sees_gradients_clipped(torch, compat, name):
    (ours, found, left), (theirs, expected, right) = (
        seen(each, parameters, CHANGES[name]) for each in (compat, torch)
    )
    assert ours == theirs
    grads = [[each.grad.tolist() for each in side] for side in (left, right)]
    np.testing.assert_allclose(
        np.concatenate([np.ravel(each) for each in grads[0]]),
        np.concatenate([np.ravel(each) for each in grads[1]]),
        rtol=1e-6,
    )
    assert (found == "None") == (expected == "None")


@pytest.mark.parametrize("name", AS_NUMBERS)
def test_a_mode_sees_a_tensor_read_as_a_number(torch, compat, name):
    def made(library):
        return numbers(library), library.tensor(1)

    def function(library, given):
        return AS_NUMBERS[name](library, *given)

    (ours, found, _), (theirs, expected, _) = (
        seen(each, made, function) for each in (compat, torch)
    )
    assert (ours, found) == (theirs, expected)


@pytest.mark.parametrize("name", FIRST_STATES)
def test_a_mode_sees_the_first_state_of_an_optimizer(torch, compat, name):
    def made(library):
        param = parameters(library)[0]
        return getattr(library.optim, name)([param])

    logs = [seen(each, made, lambda _, given: given.step())[0] for each in (compat, torch)]
    ours, theirs = (
        [call for call in log if "like" in call[0] or "lift" in call[0]] for log in logs
    )
    assert ours == theirs


def test_a_mode_sees_what_is_drawn(compat):
    """A seed of samplers and zeros of init: drawn as without a mode."""
    data = importlib.import_module("adjoint.compat.torch.utils.data")
    draws = {
        "random_": lambda torch, x: list(data.RandomSampler(range(5))),
        "randperm": lambda torch, x: torch.nn.init.sparse_(torch.empty(3, 2), 0.5).tolist(),
    }
    for name, draw in draws.items():
        compat.manual_seed(3)
        log, found, _ = seen(compat, one, draw)
        assert any(name in call for call, _ in log)
        compat.manual_seed(3)
        assert shown(compat, draw(compat, None)) == found


def test_a_mode_sees_a_parametrized_weight_set(torch, compat):
    def made(library):
        return library.nn.utils.parametrizations.weight_norm(library.nn.Linear(3, 2))

    def function(library, module):
        module.weight = library.ones(2, 3)

    logs = [seen(each, made, function)[0] for each in (compat, torch)]
    ours, theirs = ([call for call in log if "set_" in call[0]] for log in logs)
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("name", LISTS)
def test_a_mode_sees_lists_as_one(torch, compat, name):
    (ours, found, left), (theirs, expected, right) = (
        seen(each, lists, LISTS[name]) for each in (compat, torch)
    )
    assert ours == theirs
    if not name.split(" ")[0].endswith("_"):  # in place PyTorch answers the list, or nothing
        np.testing.assert_allclose(
            np.concatenate([np.ravel(each) for _, each in found]),
            np.concatenate([np.ravel(each) for _, each in expected]),
            rtol=1e-6,
        )
    assert [each.tolist() for each in left] == [each.tolist() for each in right]


@pytest.mark.parametrize("name", [*CHANGES])
def test_a_mode_that_fails_leaves_all_gradients(compat, name):
    """Whichever of the calls it refuses, before it or after."""
    dispatch = importlib.import_module("adjoint.compat.torch.utils._python_dispatch")

    class Fails(dispatch.TorchDispatchMode):
        def __init__(self, left):
            super().__init__()
            self.left = left

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            self.left -= 1
            if not self.left:
                raise ValueError("refused")
            return answer

    calls = len(seen(compat, parameters, CHANGES[name])[0])
    for number in range(1, calls + 1):
        given = parameters(compat)
        before = [each.grad.tolist() for each in given]
        with Fails(number), pytest.raises(ValueError, match="refused"):
            CHANGES[name](compat, given)
        assert [each.grad.tolist() for each in given] == before


def wrapper(library):
    """A class that holds a tensor, and notes what it is asked."""
    log = []

    class Holder(library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            inner = [each.inner if isinstance(each, Holder) else each for each in args]
            found = func(*inner, **(kwargs or {}))
            return Holder(found) if isinstance(found, library.Tensor) else found

    return Holder, log


HELD = (
    *("indices", "_indices", "_values", "_nnz", "is_coalesced", "_coalesced_", "sparse_dim"),
    *("dense_dim", "crow_indices", "col_indices", "data", "is_same_size", "is_pinned", "deepcopy"),
)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize("name", HELD)
def test_a_class_is_asked_the_same(torch, compat, name):
    answers = []
    for library in (compat, torch):
        made, function = READS[name]
        holder, log = wrapper(library)
        held = holder(made(library))
        found = function(library, held)
        found = found.inner if isinstance(found, holder) else found
        answers.append((log, shown(library, found)))
    assert answers[0] == answers[1]


def test_what_a_mode_answers_is_what_the_caller_gets(torch, compat):
    def answers(library):
        dispatch = importlib.import_module(f"{library.__name__}.utils._python_dispatch")

        class More(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                found = func(*args, **(kwargs or {}))
                if isinstance(found, library.Tensor):
                    return found + 1
                return not found if isinstance(found, bool) else found + 7

        x, s, version = library.ones(2), joined(library), library.ones(2)
        with More():
            found = [x.numpy().tolist(), x.data, s.indices(), s._nnz(), s.is_coalesced()]
            found += [s.sparse_dim(), x.is_same_size(x), x.is_pinned(), version.data, f"{x[0]:.1f}"]
        return shown(library, [*found, version._version])

    assert answers(compat) == answers(torch)


def test_loading_under_a_fake_mode_gives_fakes(torch, compat):
    def kinds(library):
        fakes = importlib.import_module(f"{library.__name__}._subclasses.fake_tensor")
        saved = file_of(library)
        with fakes.FakeTensorMode(allow_non_fake_inputs=True) as mode:
            loaded = library.load(io.BytesIO(saved))
            made = copy.deepcopy(mode.from_tensor(library.ones(2)))
        return [(type(each).__name__, list(each.shape)) for each in (*loaded.values(), made)]

    assert kinds(compat) == kinds(torch)
