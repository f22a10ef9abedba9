"""Small parts of PyTorch that its packages use: futures, line searches, bases, wrappers."""

import threading

import pytest

import adjoint.compat.torch as compat
from adjoint import nn
from adjoint.compat.torch.functorch.experimental import control_flow
from adjoint.compat.torch.futures import Future, collect_all, wait_all
from tests.interpreter import fresh_python


def test_futures():
    first, second = Future(), compat.Future()
    doubled = first.then(lambda done: done.wait() * 2)
    both = collect_all([first, second])
    with pytest.raises(RuntimeError, match="no value yet"):
        first.value()
    threading.Thread(target=first.set_result, args=(3,)).start()
    assert doubled.wait() == 6 and not both.done()
    second.set_exception(KeyError("lost"))
    assert [future.done() for future in both.wait()] == [True, True]
    with pytest.raises(KeyError, match="lost"):
        wait_all([first, second])
    with pytest.raises(ZeroDivisionError):
        first.then(lambda done: 1 / 0).wait()
    with pytest.raises(RuntimeError, match="already"):
        first.set_result(4)
    assert collect_all([]).wait() == []


def test_data_parallel_calls_the_module():
    module = compat.nn.Linear(2, 1)
    wrapped = compat.nn.DataParallel(module)
    x = compat.ones(3, 2)
    assert wrapped(x).tolist() == module(x).tolist()
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(NotImplementedError, match="several devices"):
        compat.nn.DataParallel(module, device_ids=[0, 1])


def test_a_subclass_with_a_new_of_its_own_takes_its_arguments():
    class Marked(compat.Tensor):
        def __new__(cls, data, *, mark):
            made = compat.Tensor._make_subclass(cls, data)
            made.mark = mark
            return made

    class Derived(Marked):
        pass

    class Own(compat.Tensor):
        def __init__(self, data):
            self.seen = True

    for kind in (Marked, Derived):
        made = kind(compat.ones(2), mark="a")
        assert (made.tolist(), made.mark) == ([1.0, 1.0], "a")
    assert Own([1.0, 2.0]).seen


def test_subclasses_that_want_to_see_nothing():
    class Plain(compat.Tensor):
        __torch_function__ = compat._C._disabled_torch_function_impl

    x = compat.ones(2).as_subclass(Plain)
    assert type(x + 1) is compat.Tensor and (x + 1).tolist() == [2.0, 2.0]
    with compat._C.DisableTorchFunctionSubclass():
        assert type(x * 2) is compat.Tensor


def test_the_line_search_of_lbfgs():
    from adjoint.compat.torch.optim.lbfgs import _cubic_interpolate, _strong_wolfe

    def evaluate(x, t, d):
        at = x + t * d
        return float((at**2).sum()), 2 * at

    x, d = compat.tensor([2.0]), compat.tensor([-1.0])
    loss, grad, t, count = _strong_wolfe(evaluate, x, 1.0, d, 4.0, 2 * x, (2 * x).dot(d))
    assert loss <= 1.0 and abs(grad.item()) <= 0.9 * 4 and count >= 1
    assert evaluate(x, t, d)[0] == loss
    low = _cubic_interpolate(0.0, 4.0, compat.tensor(-4.0), 3.0, 1.0, compat.tensor(2.0))
    assert float(low) == pytest.approx(2.0)
    with pytest.raises(NotImplementedError, match="c1 and c2"):
        _strong_wolfe(evaluate, x, 1.0, d, 4.0, 2 * x, (2 * x).dot(d), c1=0.5)


def test_bases_of_layers():
    from adjoint.compat.torch.nn.modules.batchnorm import _BatchNorm
    from adjoint.compat.torch.nn.modules.conv import _ConvNd
    from adjoint.compat.torch.nn.modules.loss import _Loss, _WeightedLoss

    assert isinstance(compat.nn.BatchNorm2d(2), _BatchNorm)
    assert isinstance(compat.nn.Conv1d(1, 1, 1), _ConvNd)
    assert not isinstance(compat.nn.Linear(1, 1), _ConvNd)
    assert isinstance(compat.nn.MSELoss(), _Loss)

    class Squares(_WeightedLoss):
        def forward(self, input, target):
            return (self.weight * (input - target) ** 2).sum()

    loss = Squares(compat.tensor([1.0, 2.0]))
    assert loss(compat.ones(2), compat.zeros(2)).item() == 3.0
    assert loss.reduction == "mean" and list(loss.state_dict()) == ["weight"]


def test_a_process_alone():
    assert not compat.distributed.is_initialized()
    if not compat.distributed.is_available():
        with pytest.raises(ValueError, match="no group of processes"):
            compat.distributed.get_rank()


def test_places_of_layers():
    """Lazy modules, the adaptive softmax and the kernels of attention are where PyTorch's are."""
    from adjoint.compat.torch.nn.attention import SDPBackend
    from adjoint.compat.torch.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
    from adjoint.compat.torch.nn.modules.lazy import LazyModuleMixin

    assert SDPBackend is nn.attention.SDPBackend
    assert AdaptiveLogSoftmaxWithLoss is nn.AdaptiveLogSoftmaxWithLoss
    assert issubclass(nn.LazyLinear, LazyModuleMixin)


def test_old_initialisers_warn_and_fill():
    weight = compat.empty(3, 4)
    with pytest.warns(FutureWarning, match="constant_"):
        assert compat.nn.init.constant(weight, 2.0) is weight
    assert weight.tolist() == [[2.0] * 4] * 3
    assert compat.nn.init._calculate_fan_in_and_fan_out(weight) == (4, 3)
    assert compat.nn.init._calculate_correct_fan(weight, "fan_out") == 3


def test_tools_of_layers():
    tools = compat.nn.modules.utils
    assert (tools._pair(3), tools._triple([1, 2]), tools._single("ab")) == (
        (3, 3),
        (1, 2),
        ("a", "b"),
    )
    assert tools._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    wrapped = compat.nn.DataParallel(compat.nn.Sequential(compat.nn.Linear(2, 1)))
    state = wrapped.state_dict()
    tools.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    wrapped.module.load_state_dict(state)


def test_conditions_that_programs_state():
    compat._assert(True, "unseen")
    compat._check(True)
    with pytest.raises(AssertionError, match="said"):
        compat._assert(False, "said")
    with pytest.raises(RuntimeError, match="said"):
        compat._check(False, lambda: "said")
    with pytest.raises(IndexError):
        compat._check_index(False)


def test_many_tensors_as_one():
    tensors = [compat.arange(4.0).reshape(2, 2), compat.ones(3)]
    flat = compat._utils._flatten_dense_tensors(tensors)
    assert flat.tolist() == [0, 1, 2, 3, 1, 1, 1]
    apart = compat._utils._unflatten_dense_tensors(flat, tensors)
    assert [part.tolist() for part in apart] == [tensor.tolist() for tensor in tensors]


def test_settings_of_cuda_are_remembered():
    cuda = compat.backends.cuda
    cuda.matmul.allow_tf32 = True
    assert cuda.matmul.allow_tf32
    assert cuda.flash_sdp_enabled()
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    assert cuda.flash_sdp_enabled()
    cuda.enable_math_sdp(False)
    assert not cuda.math_sdp_enabled()
    cuda.enable_math_sdp(True)
    cuda.matmul.allow_tf32 = False


def test_what_packages_say_when_they_are_imported():
    def function():
        return 3

    assert compat.onnx.symbolic_helper.parse_args("v", "i")(function)() == 3
    assert compat.library.register_fake("absent_library::operation")(function)() == 3
    with pytest.raises(OSError, match="PyTorch's own library"):
        compat.ops.load_library("extension.so")


def test_cuda_is_no_way_to_another_device():
    for movable in (compat.ones(1), compat.nn.Linear(1, 1)):
        with pytest.raises(RuntimeError, match="must be cuda device"):
            movable.cuda("cpu")


def test_events_of_a_profile_by_hand():
    from adjoint.compat.torch.autograd.profiler_util import (
        EventList,
        FunctionEvent,
        FunctionEventAvg,
    )

    times = [(1, 0, 9), (1, 1, 4), (1, 2, 3), (1, 5, 12), (2, 2, 3)]
    events = EventList(
        FunctionEvent(id=number, name="op", thread=thread, start_us=start, end_us=end, node_id=0)
        for number, (thread, start, end) in enumerate(times)
    )
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [
        [1],
        [2],
        [],
        [],
        [],
    ]
    assert events[0].self_cpu_time_total == 6
    total = FunctionEventAvg()
    total.add(events[0]).add(events[4])
    total.add(total)
    assert (total.key, total.count, total.cpu_time_total, total.cpu_time) == ("op", 4, 20, 5)
    assert total.device_time_total == 0
    with compat.autograd.profiler.profile() as profile:
        compat.ones(2).exp()
    assert all(isinstance(event, FunctionEvent) for event in profile.function_events)


def test_adjoint_itself_has_what_programs_ask_before_they_begin():
    script = (
        "import adjoint as torch\n"
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "model = torch.compile(torch.nn.Linear(2, 2)).to(device)\n"
        "@torch.jit.script\n"
        "def double(x): return x * 2\n"
        "with torch.amp.autocast(device):\n"
        "    print(double(model(torch.ones(1, 2, device=device))).dtype)\n"
    )
    found = fresh_python("-c", script, cwd=".")
    assert found in {"adjoint.bfloat16\n", "adjoint.float16\n"}


@pytest.mark.parametrize("pred", [True, compat.tensor(True), compat.ones(1) > 0])
def test_cond_calls_one_of_two_functions(pred):
    x = compat.ones(2, requires_grad=True)
    for function, slope in ((compat.cond, 2.0), (control_flow.cond, 3.0)):
        x.grad = None
        function(pred, lambda x, k: x * k, lambda x, k: x / k, (x, slope)).sum().backward()
        assert x.grad.tolist() == [slope, slope]
    assert compat.cond(False, lambda: 1, lambda: 2) == 2


def test_cond_wants_one_element():
    with pytest.raises(RuntimeError, match="one element"):
        compat.cond(compat.tensor([True, False]), lambda: 1, lambda: 2)
