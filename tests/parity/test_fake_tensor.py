"""torch._subclasses.FakeTensorMode: the looks of results, without values, as in PyTorch."""

import copy
import importlib
import io

import pytest

import adjoint.compat.torch as compat


def fakes(library):
    return importlib.import_module(f"{library.__name__}._subclasses.fake_tensor")


PROGRAMS = {
    "new": lambda t: [t.ones(2, 3), t.randn(2, dtype=t.float64), t.empty(10**12)],
    "views": lambda t: [t.ones(2, 3).t(), t.ones(2, 3).view(6), t.ones(2, 3)[0]],
    "products": lambda t: [t.ones(3) @ t.ones(3, 2), t.einsum("ij,kj->ik", *[t.ones(2, 3)] * 2)],
    "changes": lambda t: [t.ones(2, 3).add_(1), t.ones(2, 3).unsqueeze_(0), t.ones(2, 3).t_()],
    "several": lambda t: [*t.ones(2, 3).topk(2), *t.ones(4).split(2)],
    "types": lambda t: [t.ones(2).double(), t.ones(2).long(), t.ones(2) > 0],
    "layers": lambda t: [
        t.nn.Linear(3, 4)(t.ones(2, 3)),
        t.nn.Conv2d(3, 4, 3)(t.ones(1, 3, 8, 8)),
        t.nn.BatchNorm1d(3)(t.ones(2, 3)),
        t.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(t.ones(2, 5, 8)),
    ],
}


def looks(tensor):
    return (
        type(tensor).__name__,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        str(tensor.dtype).rpartition(".")[2],
        str(tensor.device),
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_look_as_pytorchs(torch, name):
    found = []
    for library in (compat, torch):
        with fakes(library).FakeTensorMode():
            found.append([looks(each) for each in PROGRAMS[name](library)])
    assert found[0] == found[1]


def test_devices_are_only_named(torch):
    found = []
    for library in (compat, torch):
        module = fakes(library)
        with module.FakeTensorMode():
            far = library.ones(2, device="cuda")
            found.append((str((far + 1).device), str((far + library.tensor(1.0)).device)))
            with pytest.raises(module.FakeTensorDeviceMismatchError):
                far + library.ones(2)
    assert found[0] == found[1] == ("cuda:0", "cuda:0")


def test_a_backward_pass_gives_fake_gradients(torch):
    for library in (compat, torch):
        with fakes(library).FakeTensorMode():
            layer = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4))
            layer(library.ones(2, 3)).sum().backward()
        assert looks(layer[0].weight.grad)[:2] == ("FakeTensor", (4, 3))
        assert isinstance(layer[0].weight, library.nn.Parameter)


def test_values_are_refused(torch):
    for library in (compat, torch):
        module = fakes(library)
        with module.FakeTensorMode():
            x = library.ones(2, 3)
            assert library.tensor(3.0).item() == 3.0  # which is known
            for ask in (lambda x: x.sum().item(), lambda x: bool(x.sum() > 0)):
                with pytest.raises(module.DataDependentOutputException):
                    ask(x)
            with pytest.raises(module.DynamicOutputShapeException):
                x.nonzero()
            with pytest.raises(RuntimeError):
                x.numpy()


def test_a_tensor_has_one_fake_and_no_other_may_take_part(torch):
    for library in (compat, torch):
        mode, real = fakes(library).FakeTensorMode(), library.ones(2, requires_grad=True)
        fake = mode.from_tensor(real)
        assert mode.from_tensor(real) is fake and fake.fake_mode is mode and fake.requires_grad
        assert repr(fake * 2).startswith("FakeTensor(..., size=(2,)")
        assert isinstance(mode.from_tensor(library.nn.Parameter(real)), library.nn.Parameter)
        with pytest.raises(AssertionError):
            fake + real
        with fakes(library).FakeTensorMode(allow_non_fake_inputs=True):
            assert type(real + 1).__name__ == "FakeTensor"


def test_operations_are_counted_inside(torch):
    found = []
    for library in (compat, torch):
        counter = importlib.import_module(f"{library.__name__}.utils.flop_counter").FlopCounterMode
        with fakes(library).FakeTensorMode():
            net = library.nn.Sequential(library.nn.Conv2d(3, 8, 3), library.nn.BatchNorm2d(8))
            with counter(display=False) as counted:
                net(library.randn(4, 3, 8, 8)).sum().backward()
        found.append(counted.get_total_flops())
    assert found[0] == found[1] > 0


def test_what_makes_no_tensors_is_answered(torch):
    for library in (compat, torch):
        with fakes(library).FakeTensorMode(), library.profiler.record_function("a range"):
            assert library.can_cast(library.int64, library.float32)
            assert library.promote_types(library.int8, library.float32) is library.float32


def test_what_is_loaded_or_copied_under_a_mode_is_fake():
    torch = pytest.importorskip("torch")
    seen = []
    for library in (compat, torch):
        file, mode = io.BytesIO(), fakes(library).FakeTensorMode
        library.save({"one": library.ones(2, 3), "two": library.tensor(4.0)}, file)
        file.seek(0)
        with mode():
            made = library.load(file)
            made["copy"] = copy.deepcopy(library.zeros(2))
        seen.append({k: (type(v).__name__, str(v.device), tuple(v.shape)) for k, v in made.items()})
    assert seen[0] == seen[1]
