"""PyTorch's private and old spellings of torch.autograd and torch._C."""

import gc
import logging

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree._C._functions import DelayedError, UndefinedGrad


def leaf(*values):
    return compat.tensor(values, requires_grad=True)


def test_every_tensor_is_a_variable():
    Variable = compat.autograd.Variable
    x = compat.ones(2)
    assert isinstance(x, Variable)
    assert not isinstance(2.0, Variable)
    made = Variable(x, requires_grad=True)
    assert made.requires_grad
    assert not x.requires_grad
    assert made.data_ptr() == x.data_ptr()
    assert Variable(leaf(1.0) * 2).grad_fn is None
    assert Variable().shape == (0,)


def test_callbacks_run_at_the_end_of_the_pass():
    engine = compat.autograd.Variable._execution_engine
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 3

    def hook(grad):
        engine.queue_callback(lambda: seen.append(x.grad is not None))
        seen.append("hook")

    y.register_hook(hook)
    y.sum().backward()
    assert seen == ["hook", True]


def test_callbacks_need_a_pass():
    with pytest.raises(RuntimeError):
        compat.autograd.Variable._execution_engine.queue_callback(lambda: None)


def test_is_checkpoint_valid_tells_a_restricted_pass():
    engine = compat.autograd.Variable._execution_engine
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: seen.append(engine.is_checkpoint_valid()))
    y.backward(retain_graph=True)
    compat.autograd.grad(y, x)
    assert seen == [True, False]
    assert engine.is_checkpoint_valid() and compat.autograd._is_checkpoint_valid()


def test_delayed_error():
    x = leaf(1.0)
    y = DelayedError("at last", 1)(x * 2)
    assert y.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="at last"):
        y.backward()
    assert x.grad is None


def test_undefined_grad():
    x = leaf(1.0)
    first, second = UndefinedGrad()(x * 2, x * 3)
    (first + second).backward()
    assert x.grad is None


def test_weak_tensor_reference():
    x = compat.ones(2)
    reference = compat._C._WeakTensorRef(x)
    assert not reference.expired()
    del x
    gc.collect()
    assert reference.expired()


def test_version_counters_can_be_set():
    x = compat.ones(2)
    x.add_(1)
    with compat.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
        assert x._version == 2
    assert x._version == 1
    compat._C._autograd._unsafe_set_version_counter((x,), (7,))
    assert x._version == 7
    with pytest.raises(RuntimeError, match="-1"):
        compat._C._autograd._unsafe_set_version_counter((x,), (-1,))
    assert x._version == 7


def test_switches_set_and_restore():
    is_enabled = compat.autograd.is_view_replay_enabled
    switch = compat.autograd._force_original_view_tracking
    assert not is_enabled()
    with switch(True):
        assert is_enabled()
    assert not is_enabled()

    @switch(True)
    def ask():
        return is_enabled()

    assert not is_enabled()
    assert ask()
    switch(True)
    assert is_enabled()
    switch(False)
    assert not is_enabled()


def test_cached_tensors():
    x = compat.ones(2)
    compat._C._set_cached_tensors_enabled(True)
    compat._C._add_cached_tensor(x)
    assert compat._C._is_cached_tensor(x)
    assert not compat._C._is_cached_tensor(compat.ones(2))
    compat._C._remove_cached_tensor(x)
    assert not compat._C._is_cached_tensor(x)


def test_hooks_of_a_tensor_as_a_dictionary():
    x = leaf(1.0)
    assert x._backward_hooks is None
    y = x * 1
    for tensor in (x, y):
        handle = tensor.register_hook(lambda grad: grad * 10)
        assert list(tensor._backward_hooks) == [handle.id]
    y.backward()
    assert x.grad.tolist() == [100.0]
    x._backward_hooks = {}
    (x * 1).backward()
    assert x.grad.tolist() == [101.0]
    for name in ("_backward_hooks", "_grad_fn"):
        with pytest.raises(RuntimeError):
            delattr(x, name)


def test_sequence_number():
    node = leaf(1.0).exp().grad_fn
    node._set_sequence_nr(100)
    assert node._sequence_nr() == 100


def test_foreach():
    x, y = compat.tensor([1.0, 4.0]), compat.tensor([9.0])
    assert [t.tolist() for t in compat._foreach_sqrt([x, y])] == [[1.0, 2.0], [3.0]]
    assert compat._foreach_add_([x, y], [y, x[:1]], alpha=2)[0] is x
    assert (x.tolist(), y.tolist()) == ([19.0, 22.0], [47.0])
    assert [t.tolist() for t in compat._foreach_maximum([x, y], 20.0)] == [[20.0, 22.0], [47.0]]
    compat._foreach_zero_([x, y])
    assert (x.tolist(), y.tolist()) == ([0.0, 0.0], [0.0])
    with pytest.raises(RuntimeError, match="_foreach_add"):
        compat._foreach_add([x, y], [x])


def test_functions_that_are_methods():
    x = compat.tensor([1.0, 4.0])
    assert compat.sqrt_(x) is x
    assert x.tolist() == [1.0, 2.0]
    assert not compat.is_inference(x)
    assert not compat.is_conj(x)
    assert compat.is_nonzero(compat.tensor([2]))


def test_compilers_leave_things_as_they_are():
    def function(x):
        return x

    assert compat.compile(function, disable=True) is function
    assert compat.compile(mode="default", backend="eager")(function) is function
    assert compat.jit.script(function) is function
    assert compat.jit.ignore(function) is function
    assert compat.jit.ignore(drop=True)(function) is function
    assert compat._dynamo.disable(function) is function
    assert compat._dynamo.disable(recursive=False)(function) is function
    assert not compat.jit.is_scripting()
    assert not compat.compiler.is_compiling()
    assert not isinstance(function, compat.jit.ScriptModule)


def test_devices_that_are_not_there():
    assert compat.backends.mps.is_available() is False
    assert compat.xpu.device_count() == 0
    assert compat.accelerator.current_accelerator() is None
    with compat.backends.cudnn.flags(enabled=False):
        pass
    assert isinstance(compat.cuda.is_available(), bool)
    assert compat.cuda.device_count() >= compat.cuda.is_available()
    if not compat.cuda.is_available():
        with pytest.raises(RuntimeError, match="CuPy"):
            compat.cuda.synchronize()


def test_overrides():
    class Seen(compat.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types

    def function(a, b):
        return compat.overrides.handle_torch_function(function, (a, b), a, b)

    x, y = compat.ones(1), compat.ones(1).as_subclass(Seen)
    assert compat.overrides.has_torch_function((x, y))
    assert not compat.overrides.has_torch_function_unary(x)
    assert function(x, y) == ("function", (Seen,))
    assert compat.overrides.is_tensor_like(x)
    assert compat.overrides.is_tensor_like(type(x))  # a class has the method, too

    class Unwilling:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Unwilling"):
        function(x, Unwilling())


def test_weak_keys_are_tensors_by_identity():
    table = compat.utils.weak.WeakTensorKeyDictionary()
    x, y = compat.ones(2), compat.ones(2)
    table[x], table[y] = "x", "y"
    assert (table[x], table[y], len(table)) == ("x", "y", 2)
    assert x in table
    del x
    gc.collect()
    assert [key is y for key in table] == [True]
    del table[y]
    assert len(table) == 0


def test_operations_by_overload():
    aten = compat.ops.aten
    assert aten.sin.default is aten.sin.default == compat.sin
    assert compat.sin in {aten.sin.default, aten.exp.default}
    assert compat.cos not in {aten.sin.default, aten.exp.default}
    assert str(aten.mul.Tensor) == "aten.mul.Tensor" and str(aten.sin.default) == "aten.sin.default"
    assert aten.mul.Tensor.name() == "aten::mul.Tensor" and aten.sin.default.name() == "aten::sin"
    assert aten.sin.default.__name__ == "sin.default" and str(aten.sin) == "aten.sin"
    assert aten.mm.default == compat.matmul
    assert aten.mm(compat.ones(1, 2), compat.ones(2, 1)).tolist() == [[2.0]]
    assert aten.add.Tensor(compat.ones(1), 2).tolist() == [3.0]
    assert aten.sin_(compat.zeros(1)).tolist() == [0.0]
    with pytest.raises(AttributeError, match=r"has no attribute .no_such.: nor has PyTorch"):
        aten.no_such  # noqa: B018
    with pytest.raises(AttributeError, match=r"torch\.ops\.mine\.op is not in adjoint"):
        compat.ops.mine.op  # noqa: B018
    with compat.library._scoped_library("mine", "FRAGMENT") as library:
        library.define("op(Tensor x) -> Tensor")
        library.impl("op", lambda x: x + 1)
        assert compat.ops.mine.op.default(compat.ones(1)).tolist() == [2.0]
    assert not hasattr(compat.ops.mine, "op")


def test_what_arrives_at_a_node():
    node = (leaf(1.0, 2.0) * 2).grad_fn
    (metadata,) = node._input_metadata
    assert metadata.shape == (2,)
    assert metadata.dtype is compat.float32


def test_is_the_graph_kept():
    ask = compat._C._autograd._get_current_graph_task_keep_graph
    seen = [ask()]
    y = leaf(1.0) * 2
    y.register_hook(lambda grad: seen.append(ask()))
    y.backward(retain_graph=True)
    y.backward()
    assert seen == [True, True, False]


def test_the_pass_under_way():
    ask = compat._C
    x, y = leaf(1.0), leaf(1.0)
    out = x.exp() * y
    seen = []

    def hook(grad):
        seen.append(ask._current_graph_task_id() >= 0)
        seen.append([node.name() for node in ask._current_graph_task_execution_order()])
        seen.extend(ask._will_engine_execute_node(node) for node, _ in out.grad_fn.next_functions)

    out.grad_fn.register_prehook(lambda grads: seen.append(ask._current_autograd_node().name()))
    out.register_hook(hook)
    compat.autograd.grad(out, x)
    assert seen == [
        True,
        ["MulBackward0", "ExpBackward0", "AccumulateGrad"],
        True,
        False,
        "MulBackward0",
    ]
    assert ask._current_graph_task_id() == -1


def test_places_of_saved_tensors():
    SavedTensor = compat._C._autograd.SavedTensor
    assert compat.autograd.SavedTensor is SavedTensor
    x = leaf(1.0)
    assert isinstance(x.exp().grad_fn._raw_saved_result, SavedTensor)
    assert not isinstance(x, SavedTensor)
    with pytest.raises(RuntimeError, match="forbidden"):
        SavedTensor()
    with compat.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t + 1):
        saved = compat._C._autograd._make_saved_tensor(x, is_output=False)
    assert saved.unpack().tolist() == [3.0]


def test_hooks_on_saving_can_be_asked_about():
    ask = compat._C._autograd._saved_tensors_hooks_is_enabled
    assert ask()
    with compat.autograd.graph.disable_saved_tensors_hooks("not here"):
        assert not ask()
    assert ask()


def test_tables_of_a_mutation_context():
    with compat.autograd.graph.allow_mutation_on_saved_tensors() as context:
        x = leaf(1.0).clone()
        out = (x**2).sum()
        assert len(context.tid_to_weakhandle) == 1
        assert len(context.sid_to_tid) == 1
        out.backward()


def test_logs_are_heard_under_pytorch_s_names(caplog):
    caplog.set_level(logging.DEBUG, logger="torch.autograd")
    heard = []
    listener = logging.Handler()
    listener.emit = lambda record: heard.append(record.getMessage())
    logging.getLogger("torch.autograd").addHandler(listener)
    try:
        compat._logging.set_logs(autograd=logging.DEBUG)
        leaf(1.0).exp().backward()
        compat._logging.set_logs()
        leaf(1.0).sin().backward()
    finally:
        logging.getLogger("torch.autograd").removeHandler(listener)
    assert len(heard) == 2
    assert "ExpBackward0" in heard[0]
    assert "AccumulateGrad" in heard[1]


def test_the_names_of_a_tensor_are_there():
    x = compat.ones(2, 2)
    names = set(dir(x)) - {"imag", "__dict__", "__weakref__"}  # of which compiled objects have none
    assert {"shape", "grad_fn", "sin"} <= names
    assert [name for name in names if not hasattr(x, name)] == []


def test_a_view_on_another_base():
    base, other = compat.arange(12.0).view(3, 4), compat.zeros(3, 4)
    view = base.clone()[1:].select(1, 2)
    assert view._view_func(other + 5).tolist() == [5.0, 5.0]
    for wrong, words in ((compat.zeros(4, 3), r"float32\[4, 3\]"), (other.double(), "float64")):
        with pytest.raises(RuntimeError, match=words):
            view._view_func(wrong)
    with pytest.raises(RuntimeError, match="no view"):
        compat.ones(2)._view_func(other)


def test_modes_and_trees_of_arguments():
    from adjoint.compat.torch.utils._mode_utils import all_same_mode
    from adjoint.compat.torch.utils._pytree import arg_tree_leaves

    first, second = object(), object()
    assert all_same_mode([first, first])
    assert not all_same_mode([first, second])
    assert arg_tree_leaves([1, (2,)], a=3) == [1, 2, 3]
    assert not compat._C._dispatch_isTensorSubclassLike(compat.ones(2))


def test_branches_and_loops():
    ops = compat._higher_order_ops
    assert ops.cond is compat.cond
    assert ops.while_loop is compat.while_loop
    last, sums = ops.scan(lambda c, x: (c + x, c * x), compat.zeros(()), compat.arange(4.0))
    assert last == 6
    assert sums.tolist() == [0.0, 0.0, 2.0, 9.0]


def test_the_node_of_a_tensor_is_found():
    library = compat
    x = library.ones(2, requires_grad=True)
    find = library.autograd.graph._get_grad_fn_or_grad_acc
    assert find(x * 2).name() == "MulBackward0"
    assert find(x).variable is x
    assert find(library.autograd.graph.get_gradient_edge(x)) is find(x)
    with pytest.raises(RuntimeError):
        find(library.ones(2))


def answers_of_absent_devices(torch):
    """What those functions answer that programs call without asking whether there is a device."""
    found = []
    for kind in (torch.xpu, torch.mtia):
        found += [kind.is_initialized(), kind.manual_seed(0), kind.manual_seed_all(0)]
        found += [
            kind.seed(),
            kind.seed_all(),
            kind.max_memory_allocated(),
            kind.memory_allocated(),
        ]
        found += [dict(kind.memory_stats()), kind.get_rng_state_all(), kind.device_count()]
        for name in ("init", "initial_seed", "get_rng_state"):
            with pytest.raises(AssertionError):
                getattr(kind, name)()
    xpu = torch.xpu
    found += [torch.mps.manual_seed(0), xpu.empty_cache(), xpu.memory_reserved()]
    found += [xpu.get_arch_list(), xpu.default_generators, xpu.memory_snapshot()]
    return found


def test_devices_that_are_not_there_answer_as_pytorchs(torch):
    assert answers_of_absent_devices(compat) == answers_of_absent_devices(torch)
    for name in dir(torch.mps):
        assert name.startswith("_") or hasattr(compat.mps, name) or name in UNCALLED, name


UNCALLED = ("TYPE_CHECKING", "Any", "Event", "Tensor", "Union", "event", "profiler", "torch")


@pytest.mark.skipif(compat.cuda.is_available(), reason="there is a GPU, whose memory counts")
def test_memory_of_a_gpu_that_is_not_there(torch):
    def answers(cuda):
        found = [dict(cuda.memory_stats()), cuda.memory_stats_as_nested_dict(), cuda.seed()]
        found += [dict(cuda.host_memory_stats()), cuda.host_memory_stats_as_nested_dict()]
        return [*found, cuda.seed_all(), cuda.max_memory_cached(), cuda.default_generators]

    if not torch.cuda.is_available():
        assert answers(compat.cuda) == answers(torch.cuda)
    assert "0 bytes" in compat.cuda.memory_summary()


def test_a_compiled_module_is_a_module():
    class Doubling(compat.jit.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = compat.nn.Parameter(compat.tensor([2.0]))

        @compat.jit.script_method
        def forward(self, x):
            return self.weight * x

    assert Doubling()(compat.tensor([3.0])).tolist() == [6.0]
    assert not compat.jit.onednn_fusion_enabled()
    before = compat.jit.set_fusion_strategy([("STATIC", 1)])
    assert compat.jit.set_fusion_strategy(before) == [("STATIC", 1)]


STATE = {
    "step": lambda torch: torch.tensor(3.0),
    "mean": lambda torch: torch.ones(2),
    "count": lambda torch: torch.ones(2, dtype=torch.int64),
}


@pytest.mark.parametrize("key", STATE)
@pytest.mark.parametrize("fused", [False, True])
def test_the_type_of_a_loaded_state(torch, key, fused):
    found = []
    for library in (compat, torch):
        kind = library.optim.Optimizer
        parameter = library.ones(2, dtype=library.float16)
        groups = [{"params": [7], "fused": False}, {"params": [0], "fused": fused}]
        give = kind._process_value_according_to_param_policy
        found.append(str(give(parameter, STATE[key](library), 0, groups, key=key).dtype))
        lists = [[library.ones(1), library.ones(1).double()], [None, library.ones(2)]]
        sorted_lists = kind._group_tensors_by_device_and_dtype(lists)
        found[-1] = found[-1].split(".")[1], len(sorted_lists)
    assert found[0] == found[1]


def test_devices_as_contexts():
    from adjoint.compat.torch.utils._device import DeviceContext, set_device

    with DeviceContext(compat.device("meta")):
        assert compat.ones(2).device.type == "meta"
        assert compat.nn.Linear(2, 2).weight.device.type == "meta"
    assert set_device("meta")(compat.zeros)(2).device.type == "meta"
    assert compat.ones(2).device.type == "cpu"


def test_types_of_schemas_that_are_tensors(torch):
    from torch._library.utils import is_tensor_like_type as theirs

    from adjoint.compat.torch._library.utils import is_tensor_like_type as ours

    found = []
    for library, is_tensor in ((compat, ours), (torch, theirs)):
        arguments = library.ops.aten.convolution.default._schema.arguments
        found.append([is_tensor(each.type) for each in arguments])
    assert found[0] == found[1]
    assert any(found[0]) and not all(found[0])


def test_a_mode_is_not_told_of_parameters(torch):
    """Parameter answers no calls, so that a mode finds no class of them among the types."""
    found = []
    for library in (compat, torch):
        seen = []

        class Looking(library.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append((func.__name__, list(types)))  # noqa: B023  # of this turn
                return func(*args, **(kwargs or {}))

        layer, x = library.nn.Linear(2, 2), library.ones(1, 2)
        with Looking():
            library.nn.functional.linear(x, layer.weight, layer.bias)
        found.append(seen)
    assert found[0] == found[1] == [("linear", [])]


class _InSlots:
    __slots__ = ("__dict__", "kept")


def test_states_of_objects(torch):
    """What a class's own `__setstate__` calls in files of subclasses."""
    for library in (compat, torch):
        made = _InSlots()
        made.kept, made.named = 1, 2
        state = library._utils._get_obj_state(made)
        assert state == ({"named": 2}, {"kept": 1})
        again = library._utils._set_obj_state(_InSlots(), state)
        assert (again.kept, again.named) == (1, 2)
        assert library._utils._set_obj_state(_InSlots(), {"named": 3}).named == 3
        with pytest.raises(RuntimeError, match="state"):
            library._utils._set_obj_state(_InSlots(), (1, 2, 3))
