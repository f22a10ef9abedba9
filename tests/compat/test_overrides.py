"""`__torch_function__`: of classes that are no tensors, of subclasses, and of modes."""

import contextlib
import importlib
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree import overrides

F = compat.nn.functional


class Named:
    """Takes part in calls, and says which."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func.__name__, types, args, kwargs


NAMED = Named()
TENSOR = compat.ones(2, 2)
CALLS = {
    "relu": lambda: compat.relu(NAMED),
    "add": lambda: compat.add(TENSOR, NAMED),
    "sum": lambda: compat.sum(NAMED, dim=1),
    "cat": lambda: compat.cat([TENSOR, NAMED]),
    "where": lambda: compat.where(TENSOR > 0, NAMED, TENSOR),
    "einsum": lambda: compat.einsum("ij->i", [NAMED]),
    "zeros": lambda: compat.zeros(NAMED),
    "zeros_like": lambda: compat.zeros_like(NAMED),
    "relu_": lambda: compat.relu_(NAMED),
    "mul": lambda: TENSOR * NAMED,
    "lt": lambda: TENSOR < NAMED,
    "dropout": lambda: F.dropout(NAMED, 0.5),
    "linear": lambda: compat.nn.Linear(2, 2)(NAMED),
    "conv2d": lambda: compat.nn.Conv2d(1, 1, 1)(NAMED),
    "cross_entropy": lambda: compat.nn.CrossEntropyLoss()(NAMED, TENSOR),
    "layer_norm": lambda: compat.nn.LayerNorm(2)(NAMED),
    "embedding": lambda: compat.nn.Embedding(2, 2)(NAMED),
}


OPTIONS = {
    "relu": lambda torch, x: torch.nn.functional.relu(x),
    "torch.relu": lambda torch, x: torch.relu(x),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x, 0.5),
    "softmax": lambda torch, x: torch.nn.functional.softmax(x, -1),
    "torch.softmax": lambda torch, x: torch.softmax(x, -1),
    "cross_entropy": lambda torch, x: torch.nn.functional.cross_entropy(x, x, reduction="sum"),
    "layer_norm": lambda torch, x: torch.nn.functional.layer_norm(x, (2,)),
    "linear": lambda torch, x: torch.nn.functional.linear(x, x),
    "norm": lambda torch, x: torch.norm(x),
    "meshgrid": lambda torch, x: torch.meshgrid(x[0], x[1]),
    "split": lambda torch, x: torch.split(x, 1),
    "unique": lambda torch, x: x.unique(),
    "lu": lambda torch, x: x.lu(),
    "normal_": lambda torch, x: torch.nn.init.normal_(x),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.filterwarnings("ignore")
def test_functions_show_their_options_as_pytorch_s_do(torch, name):
    logs = []
    for library in (compat, torch):
        log = []

        class Kind(library.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, log=log):
                log.append((func.__name__, len(args), [*kwargs] if kwargs else []))
                return super().__torch_function__(func, types, args, kwargs)

        OPTIONS[name](library, library.eye(2).as_subclass(Kind))
        logs.append(log)
    assert logs[0] == logs[1]


@pytest.mark.parametrize("name", CALLS)
def test_a_class_that_is_no_tensor_answers_the_functions_it_is_given_to(name):
    found, types, _, _ = CALLS[name]()
    assert found == name
    assert types == (Named,)


def test_a_tuple_with_names_may_be_such_a_class():
    class Scaled(NamedTuple):
        value: object
        scale: float

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types

    scaled = Scaled(TENSOR, 2.0)
    for call in (
        lambda: compat.nn.Conv2d(1, 1, 1)(scaled),
        lambda: compat.add(scaled, 1),
        lambda: compat.cat([scaled, TENSOR]),
        lambda: compat.flatten(scaled, 1),
        lambda: F.linear(TENSOR, TENSOR, bias=scaled),
    ):
        assert call()[1] == (Scaled,)


def test_arguments_are_those_of_the_call():
    assert compat.sum(NAMED, dim=1)[2:] == ((NAMED,), {"dim": 1})
    assert compat.sum(NAMED, 1)[2:] == ((NAMED, 1), {})


def test_the_class_derived_is_asked_first_and_one_after_the_other():
    asked = []

    class Base:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(cls)
            return NotImplemented

    class Derived(Base):
        pass

    with pytest.raises(TypeError, match="no implementation of add for the types Derived, Base"):
        compat.add(Base(), Derived())
    assert asked == [Derived, Base]


def test_an_operator_is_left_to_the_other_side_if_nobody_answers():
    class Reflecting:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

        def __radd__(self, other):
            return "reflected"

    assert TENSOR + Reflecting() == "reflected"


# ---- subclasses ----


class Logged(compat.Tensor):
    log: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


def test_a_subclass_passes_through_layers_as_in_pytorch(torch):
    def network(library):
        nn = library.nn
        layers = [nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Dropout(0.1), nn.Linear(4, 2)]
        return nn.Sequential(*layers, nn.Softmax(-1))

    class Theirs(torch.Tensor):
        log: ClassVar[list[str]] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    Logged.log.clear()
    ours = network(compat)(compat.ones(2, 3).as_subclass(Logged))
    theirs = network(torch)(torch.ones(2, 3).as_subclass(Theirs))
    assert type(ours) is Logged
    assert type(theirs) is Theirs
    assert Logged.log == Theirs.log


LAYERS = {
    "conv": lambda x: compat.nn.Conv1d(2, 3, 1)(x),
    "embedding": lambda x: compat.nn.Embedding(3, 2)(x.long()),
    "recurrent": lambda x: compat.nn.LSTM(2, 3)(x)[0],
    "attention": lambda x: compat.nn.MultiheadAttention(2, 1)(x, x, x)[0],
    "batch_norm": lambda x: compat.nn.BatchNorm1d(2)(x),
    "zeros_like": compat.zeros_like,
    "new_zeros": lambda x: x.new_zeros(2),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_results_are_instances_of_the_subclass(layer):
    class Plain(compat.Tensor):
        pass

    assert type(LAYERS[layer](compat.ones(2, 2).as_subclass(Plain))) is Plain


def test_a_parameter_of_a_subclass_stays_one():
    class Plain(compat.Tensor):
        pass

    parameter = compat.nn.Parameter(compat.ones(2, 2).as_subclass(Plain))
    assert isinstance(parameter, compat.nn.Parameter)
    assert isinstance(parameter, Plain)
    found = F.linear(compat.ones(1, 2), parameter)
    assert type(found) is Plain
    found.sum().backward()
    assert parameter.grad is not None


# ---- modes ----


class Log(overrides.TorchFunctionMode):
    def __init__(self):
        self.log = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_functions_factories_and_methods():
    with Log() as mode:
        x = compat.zeros(2)
        y = compat.ones(2) + x
        F.relu(y, inplace=True)
        compat.tensor([1.0]).mul_(2)
        F.dropout(y, 0.5)
        y.sum()
    compat.zeros(2)
    wanted = ["zeros", "ones", "add", "relu", "tensor", "mul_", "dropout", "sum"]
    assert mode.log == wanted


OF_PYTHON = {
    "len": len,
    "bool": lambda x: bool(x[0, 0]),
    "float": lambda x: float(x[0, 0]),
    "index": lambda x: [1, 2][x[0, 0].long()],
    "repr": repr,
    "format": lambda x: f"{x[0, 0]:.2f}",
    "contains": lambda x: 1.0 in x,
    "reversed": lambda x: reversed(x),
    "array": lambda x: np.asarray(x),
    "dir": dir,
    "for": lambda x: [row + 1 for row in x],
    "unpack": lambda x: dict([x]),
    "of none": lambda x: [row + 1 for row in x[0, 0]],
}


@pytest.mark.parametrize("name", OF_PYTHON)
@pytest.mark.parametrize("kind", ["mode", "class"])
def test_what_python_does_with_a_tensor_is_seen_by_the_names_that_pytorch_has(torch, kind, name):
    logs = []
    for library in (compat, torch):
        log = []

        class Mode(library.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None, log=log):
                log.append((func.__name__, len(args)))
                return func(*args, **(kwargs or {}))

        class Kind(library.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None, log=log):
                log.append((func.__name__, len(args)))
                return super().__torch_function__(func, types, args, kwargs or {})

        x = library.ones(2, 2)
        with Mode() if kind == "mode" else contextlib.nullcontext(), contextlib.suppress(TypeError):
            OF_PYTHON[name](x if kind == "mode" else x.as_subclass(Kind))
        logs.append(log)
    assert logs[0] == logs[1] != []


@pytest.mark.parametrize("name", ["uniform_", "normal_", "constant_", "kaiming_uniform_"])
def test_a_mode_is_given_the_functions_of_init_themselves(torch, name):
    for library in (compat, torch):
        overrides = importlib.import_module(f"{library.__name__}.overrides")
        seen = []

        class Mode(overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None, seen=seen):
                seen.append(func)
                return func(*args, **(kwargs or {}))

        function = getattr(library.nn.init, name)
        with Mode():
            filled = function(library.empty(2, 2), *([1.0] if name == "constant_" else []))
        assert function in seen and not filled.requires_grad
        assert overrides.resolve_name(function) == f"torch.nn.init.{name}"


def test_modes_are_asked_from_the_inside_out():
    with Log() as outer, Log() as inner:
        compat.zeros(1).relu()
    assert outer.log == inner.log == ["zeros", "relu"]


def test_a_mode_may_answer_by_itself():
    class Refuse(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "answer"

    with Refuse():
        assert compat.zeros(1) == "answer"
        assert TENSOR.exp() == "answer"


# ---- names ----


@pytest.mark.parametrize(
    "name",
    ["torch.add", "torch.nn.functional.relu", "torch.linalg.norm", "torch.fft.fft", "torch.zeros"],
)
def test_names_are_resolved(name):
    found = compat
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    assert overrides.resolve_name(found) == name


def test_what_may_be_overridden_is_listed():
    listed = overrides.get_overridable_functions()
    assert compat.add in listed[compat]
    assert F.dropout in listed[F]
    assert compat.Tensor.view in listed[compat.Tensor]
    ignored = overrides.get_ignored_functions()
    assert {compat.zeros, compat.is_autocast_enabled, F.upsample, compat.Tensor.new} <= ignored
    assert not any(function in ignored for functions in listed.values() for function in functions)


def test_a_function_mode_may_leave_calls_to_classes():
    class Leaves(compat.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(len(types))
            return NotImplemented if types else func(*args, **(kwargs or {}))

    class Answers:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "answered"

    seen = []
    with Leaves():
        assert compat.neg(Answers()) == "answered"
        assert compat.neg(compat.ones(1)).tolist() == [-1.0]
    assert seen[0] == 1


def test_a_function_mode_that_is_a_classmethod_is_refused():
    class Wrong(compat.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Wrong():
        pass


def test_writing_elements_is_answered_as_setitem():
    class Place:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append(func)

    asked = []
    x = compat.tensor([5])
    x[Place()] = 1
    x[0, Place()] = 1
    x[0] = Place()
    assert asked == [compat.Tensor.__setitem__] * 3
    assert x.tolist() == [5]


class Bound:
    """Answers by a method, and counts."""

    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append(func.__name__)
        return args[0]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pad", lambda bound: F.pad(TENSOR, [1, bound, 0, 0])),
        ("stack", lambda bound: compat.stack([bound, bound])),
        ("layer_norm", lambda bound: F.layer_norm(TENSOR, [2, bound])),
        ("__getitem__", lambda bound: TENSOR[0, (bound, bound)]),
        ("handled", lambda bound: handled(bound)),
    ],
)
def test_a_method_of_an_instance_may_answer(name, call):
    bound = Bound()
    call(bound)
    assert bound.calls == [name]


@overrides.wrap_torch_function(lambda value: (value,))
def handled(value):
    return value


def test_grad_hands_over_tuples():
    _, _, args, _ = compat.autograd.grad(NAMED, [NAMED])
    assert args == ((NAMED,), (NAMED,))


def test_sparse_factories_are_seen_by_modes():
    with Log() as log:
        compat.sparse_coo_tensor([[0], [1]], [1.0], (2, 2))
    assert log.log[0] == "sparse_coo_tensor"


def test_disabled_blocks_ask_neither_classes_nor_modes_and_enabled_ones_do():
    value = TENSOR.as_subclass(Logged)
    core = compat._C
    with Log() as log:
        with core.DisableTorchFunction():
            assert core._is_torch_function_all_disabled()
            assert type(compat.sum(value)) is compat.Tensor
            assert not log.log
            with overrides._enable_torch_function():
                assert not core._is_torch_function_all_disabled()
                assert type(compat.sum(value)) is Logged
            assert log.log
        assert core._get_function_stack_at(0) is log
    with core.DisableTorchFunctionSubclass():
        assert not core._is_torch_function_all_disabled()
        again = core._EnableTorchFunction()
        assert type(compat.sum(value)) is Logged
        del again
        assert type(compat.sum(value)) is compat.Tensor


def test_every_overridable_function_has_a_name_and_a_dummy():
    dummies = overrides.get_testing_overrides()
    for functions in overrides.get_overridable_functions().values():
        for function in functions:
            assert eval(overrides.resolve_name(function), {"torch": compat}) == function
            assert function in dummies
    assert dummies[compat.cat]([TENSOR], dim=0) == -1
    with pytest.raises(TypeError):
        dummies[compat.cat]([TENSOR], nonsense=0)


def test_a_class_left_to_itself_is_not_asked_again():
    seen = []

    class Picky(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(types)
            return NotImplemented if types else func(*args, **(kwargs or {}))

    class Kept(compat.Tensor):
        pass

    value = TENSOR.as_subclass(Kept)
    with Picky():
        assert type(compat.neg(value)) is Kept
    assert seen == [(Kept,), ()]


METHODS = {
    "detach": lambda x: x.detach(),
    "size": lambda x: (x.size(), x.size(0)),
    "dim": lambda x: x.dim(),
    "stride": lambda x: x.stride(),
    "requires_grad_": lambda x: x.requires_grad_(),
    "is_contiguous": lambda x: x.is_contiguous(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "len": lambda x: len(x),
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x.sum()),
    "register_hook": lambda x: x.requires_grad_().register_hook(lambda grad: grad),
    "sum": lambda x: x.sum(),
}


def methods_seen(library, use):
    """The names of what a class is asked about, and the results of what it leaves to others."""
    seen = []

    class Asked(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            assert func is getattr(library.Tensor, func.__name__) or func is library.sum
            return super().__torch_function__(func, types, args, kwargs or {})

    answer = use(library.ones(2, 3).as_subclass(Asked))
    return seen, type(answer).__name__


@pytest.mark.parametrize("name", METHODS)
def test_a_class_is_asked_about_methods_that_are_no_ops(torch, name):
    assert methods_seen(compat, METHODS[name]) == methods_seen(torch, METHODS[name])


def test_a_class_keeps_the_methods_of_its_bases():
    class Own:
        def size(self):
            return "own"

    class Asked(compat.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    class First(Own, Asked):
        pass

    class Second(Asked, Own):
        pass

    class Unasked(compat.Tensor):
        def size(self):
            return "unasked"

    class Third(Asked, Unasked):
        pass

    x = compat.ones(2)
    assert x.as_subclass(First).size() == "own"
    assert x.as_subclass(Second).size() == (2,)
    assert x.as_subclass(Third).size() == "unasked"
    assert x.as_subclass(Third).dim() == 1


def test_the_bias_of_a_layer_is_given_by_position():
    class Doubled(compat.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is not F.linear:
                return super().__torch_function__(func, types, args, kwargs or {})
            inputs, weight, *rest = args
            return F.linear(inputs, 2 * weight.as_subclass(compat.Tensor), *rest)

    layer = compat.nn.Linear(3, 2)
    x = compat.ones(4, 3)
    wanted = F.linear(x, 2 * layer.weight, layer.bias)
    layer.weight = compat.nn.Parameter(layer.weight.detach().as_subclass(Doubled))
    assert layer(x).tolist() == wanted.tolist()


def test_what_a_parameter_does_with_calls():
    parameter = compat.nn.Parameter(TENSOR)
    handler = compat.nn.Parameter.__torch_function__
    assert handler is compat._C._disabled_torch_function_impl
    assert type(handler(compat.neg, (), (parameter,))) is compat.Tensor
    assert not overrides.has_torch_function((parameter,))
    assert type(compat.neg(parameter)) is compat.Tensor


def test_a_class_is_told_of_out():
    seen = []

    class Told(compat.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append((func.__name__, [type(each) for each in args], type(kwargs["out"])))
            return super().__torch_function__(func, types, args, kwargs)

    plain, told = compat.ones(2), compat.zeros(2).as_subclass(Told)
    compat.add(told, 1, out=told)
    compat.add(plain, 1, out=told)
    compat.exp(told, out=plain)
    assert seen == [
        ("add", [Told, int], Told),
        ("add", [compat.Tensor, int], Told),
        ("exp", [Told], compat.Tensor),
    ]


def test_a_mode_is_told_of_out():
    seen = []

    class Log(compat.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    numbers, room = compat.ones(2), compat.empty(2)
    with Log():
        compat.add(numbers, 1, out=room)
        compat.cumsum(numbers, 0, out=room)
    assert seen == [("add", ["out"]), ("cumsum", ["out"])]
    assert room.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("name", "count", "rest"),
    [
        ("batch_norm", 5, (True, 0.1, 1e-5, True)),
        ("instance_norm", 5, (True, 0.1, 1e-5, True)),
        ("binary_cross_entropy_with_logits", 4, (1,)),
        ("triplet_margin_loss", 3, ()),
        ("convolution", 3, ([1], [0], [1], False, [0], 1)),
        ("gru", 2, ([NAMED], True, 1, 0.1, True, True, True)),
        ("frobenius_norm", 1, (0,)),
        ("native_channel_shuffle", 1, (2,)),
        ("get_device", 1, ()),
        ("result_type", 2, ()),
        ("sym_max", 2, ()),
        ("sym_ite", 3, ()),
    ],
)
def test_functions_with_other_arguments_are_asked_about_by_themselves(torch, name, count, rest):
    args = (NAMED,) * count + rest
    for library in (torch, compat):
        found = getattr(library, name)(*args)
        assert found[:3] == (name, (Named,), args) and not found[3]


OTHERS = """
    __complex__ __dir__ __dlpack__ __dlpack_device__ __index__ __invert__ _indices _nnz _values
    bernoulli_ coalesce crow_indices dense_dim dim_order exponential_ indices is_pinned is_shared
    normal_ pin_memory random_ share_memory_ sparse_dim storage to_dense to_sparse uniform_ values
"""


@pytest.mark.parametrize("method", OTHERS.split())
def test_methods_that_are_no_functions_are_asked_about(torch, method):
    for library in (torch, compat):

        class Answering(library.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func

        asked = getattr(library.ones(2).as_subclass(Answering), method)()
        assert asked == getattr(library.Tensor, method)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_over_sequences_are_one_call(torch, kind):
    found, log = [], []
    for library in (torch, compat):

        class Logging(library.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func.__name__ in ("lstm", "gru", "rnn_tanh", "lstm_gates", "gru_gates"):
                    given = [each for each in args if isinstance(each, (bool, int, float))]
                    log.append((func.__name__, len(args), *given))
                return func(*args, **(kwargs or {}))

        log.clear()
        layer = getattr(library.nn, kind)(4, 2, 2, bidirectional=True).eval()
        input = library.ones(3, 2, 4)
        packed = library.nn.utils.rnn.pack_padded_sequence(input, [3, 2])
        plain = layer(input), layer(packed)
        with Logging():
            seen = layer(input), layer(packed)
        assert library.equal(seen[0][0], plain[0][0])
        assert library.equal(seen[1][0][0], plain[1][0].data)
        found.append(log[:])
    assert found[0] == found[1] and len(log) == 2
