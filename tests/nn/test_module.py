"""Module: members, calls, the stack of calls, loading; see also tests/parity/test_module.py."""

import gc
import types
import weakref

import pytest

import adjoint
from adjoint import nn, ones, zeros
from adjoint.nn.module import current_module_path, current_modules


class Layer(nn.Module):
    """One parameter, one buffer."""

    def __init__(self, size=2):
        super().__init__()
        self.weight = nn.Parameter(ones(size))
        self.register_buffer("count", zeros(()))

    def forward(self, x):
        return x * self.weight


class Tracing(nn.Module):
    """Notes where it is called."""

    def __init__(self, log, inner=None):
        super().__init__()
        self.log = log
        self.inner = inner

    def forward(self, x):
        self.log.append((current_module_path(), current_modules()[-1] is self))
        return x if self.inner is None else self.inner(x)


def test_path_of_the_module_being_called():
    log = []
    net = nn.Sequential(Tracing(log), nn.ModuleDict({"a": Tracing(log, Tracing(log))})["a"])
    assert current_modules() == ()
    assert current_module_path() == ""
    net(1)
    assert log == [("0", True), ("1", True), ("1.inner", True)]
    assert current_modules() == ()


def test_path_with_hooks_in_hooks_and_of_strangers():
    log = []
    stranger = Tracing(log)

    class Calls(nn.Module):
        def forward(self, x):
            return stranger(x)

    net = nn.Sequential(Calls())
    net[0].register_forward_hook(lambda *args: log.append(current_module_path()))
    net(1)
    assert log == [("0.<Tracing>", True), "0"]


def test_a_forward_of_the_instance_is_called():
    layer = Layer()
    layer.forward = types.MethodType(lambda self, x: x * 5, layer)
    assert layer(2) == 10
    layer.register_forward_hook(lambda m, args, out: out + 1)
    assert layer(2) == 11


def test_calls_can_be_replaced_for_all_modules(monkeypatch):
    calls = []
    original = nn.Module.__call__
    monkeypatch.setattr(
        nn.Module, "__call__", lambda self, *args: calls.append(self) or original(self, *args)
    )
    net = nn.Sequential(Layer())
    net(ones(2))
    assert calls == [net, net[0]]


def test_compile_takes_the_options_of_pytorch():
    pytest.importorskip("jax")
    layer = Layer()
    assert layer.compile(mode="reduce-overhead", fullgraph=True) is None
    assert layer(ones(2)).tolist() == [1.0, 1.0]


def test_modules_are_freed_at_once():
    layer = nn.Sequential(Layer())
    layer.register_load_state_dict_pre_hook(lambda *args: None)
    gone = weakref.ref(layer)
    gc.disable()
    try:
        del layer
        assert gone() is None
    finally:
        gc.enable()


def test_load_hook_of_a_module_that_is_gone():
    layer = Layer()
    layer.register_load_state_dict_pre_hook(print)
    hook = next(iter(layer._load_state_dict_pre_hooks.values()))
    del layer
    with pytest.raises(RuntimeError, match=r"module of hook 'print' is gone"):
        hook()


def test_bound_methods_as_state_dict_hooks():
    class Noting(Layer):
        seen = ()

        def note(self, module, state_dict, prefix, local_metadata):
            self.seen = list(state_dict)

    layer = Noting()
    layer.register_state_dict_post_hook(layer.note)
    layer.state_dict()
    assert layer.seen == ["weight", "count"]


def test_register_buffer_overridden_without_persistent():
    class Old(nn.Module):
        def register_buffer(self, name, tensor):
            super().register_buffer(name, tensor)

    module = Old()
    module.register_buffer("mean", ones(1))
    module.mean = zeros(1)
    assert module.mean.item() == 0.0


def test_assigning_leaves_a_module_unchanged_if_it_fails():
    layer = Layer()
    before = dict(layer._parameters), dict(layer._buffers), dict(layer._modules)
    for name, value in (("weight", 5), ("count", 5), ("training", nn.Parameter(ones(1)) * 2)):
        if name == "training":
            layer.training = value
            continue
        with pytest.raises(TypeError, match=name):
            setattr(layer, name, value)
    assert before == (dict(layer._parameters), dict(layer._buffers), dict(layer._modules))


def test_errors_say_the_way_out():
    class Early(nn.Module):
        def __init__(self):
            self.weight = nn.Parameter(ones(1))

    with pytest.raises(AttributeError, match=r"begin Early.__init__ with super\(\).__init__\(\)"):
        Early()
    with pytest.raises(NotImplementedError, match='Module .Module. .*"forward"'):
        nn.Module()(1)
    layer = Layer()
    with pytest.raises(RuntimeError, match=r'(?s)for Layer:\n\tMissing key.*"weight".*Unexp.*"x"'):
        layer.load_state_dict({"x": ones(1), "count": ones(())})
    with pytest.raises(RuntimeError, match="size mismatch for weight"):
        layer.load_state_dict({"weight": ones(3), "count": ones(())})


def test_assign_does_not_stay_with_the_state_dict():
    """The metadata of a state dict that was assigned once is as it was."""
    state = Layer().state_dict()
    Layer().load_state_dict(state, assign=True)
    other = Layer()
    weight = other.weight
    other.load_state_dict(state)
    assert other.weight is weight


def test_conversion_frees_the_accumulators_of_other_types():
    layer = Layer()
    out = layer(ones(2)).sum()
    layer.double()
    layer(ones(2, dtype=adjoint.float64)).sum().backward()
    assert layer.weight.grad.dtype is adjoint.float64
    del out


def test_replica_has_members_of_its_own():
    layer = Layer()
    replica = layer._replicate_for_data_parallel()
    assert list(replica.parameters()) == []
    replica.count = ones(())
    assert layer.count.item() == 0.0


def test_share_memory_returns_the_module():
    layer = Layer()
    assert layer.share_memory() is layer
