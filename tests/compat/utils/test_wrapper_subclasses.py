"""Classes with __torch_dispatch__: they answer calls below autograd, forward and backward."""

import io
import pickle
from typing import ClassVar

import pytest

import adjoint.compat.torch as compat
from adjoint.call.context import is_recording
from adjoint.compat.torch.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
)
from adjoint.compat.torch.utils._pytree import tree_map_only

aten = compat.ops.aten


class Holding(compat.Tensor):
    """Holds a tensor, and notes what is asked of it."""

    calls: ClassVar[list] = []

    @staticmethod
    def __new__(cls, held, requires_grad=False):
        made = compat.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=held.device,
            requires_grad=requires_grad,
        )
        made.held = held
        return made

    def __repr__(self):
        return f"Holding({self.held.tolist()})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        assert not is_recording()
        assert all(issubclass(kind, compat.Tensor) for kind in types)
        args, kwargs = tree_map_only(cls, lambda one: one.held, (args, kwargs or {}))
        answer = func(*args, **kwargs)
        return tree_map_only(compat.Tensor, cls, answer)


@pytest.fixture(autouse=True)
def no_calls():
    Holding.calls.clear()


def holding(*numbers, requires_grad=False):
    return Holding(compat.tensor(numbers, dtype=compat.float64), requires_grad=requires_grad)


def test_it_looks_like_what_it_holds():
    held = compat.zeros(2, 3, dtype=compat.float64).t()
    x = Holding(held)
    assert (x.shape, x.stride(), x.dtype) == (held.shape, held.stride(), held.dtype)
    assert Holding(x).stride() == held.stride()
    assert str(holding(1.0)) == repr(holding(1.0)) == "Holding([1.0])"


def test_it_answers_forward_and_backward():
    x = holding(1.0, 2.0, requires_grad=True)
    y = (x * x).sum()
    assert [str(f) for f in Holding.calls] == ["aten.mul.Tensor", "aten.sum.default"]
    assert Holding.calls[0] == aten.mul.Tensor
    y.backward()
    assert isinstance(x.grad, Holding)
    assert x.grad.held.tolist() == [2.0, 4.0]
    assert aten.ones_like.default in Holding.calls


def test_it_meets_plain_tensors_on_either_side():
    x, w = holding(1.0, 2.0, requires_grad=True), compat.ones(2, requires_grad=True)
    (w * x * w).sum().backward()
    assert x.grad.held.tolist() == [1.0, 1.0]
    assert w.grad.held.tolist() == [2.0, 4.0]


def test_second_derivatives():
    x = holding(1.0, 2.0, requires_grad=True)
    (first,) = compat.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = compat.autograd.grad(first.sum(), x)
    assert second.held.tolist() == [6.0, 12.0]
    assert compat.autograd.gradcheck(lambda x: x.sin() * x, x)
    assert compat.autograd.gradgradcheck(lambda x: x.sin() * x, x)


def test_in_place_calls_are_seen_as_such_and_recorded():
    x = holding(1.0, 2.0, requires_grad=True)
    y = x * 2
    held = y.held
    assert y.mul_(y) is y
    assert aten.mul_.Tensor in Holding.calls
    assert y.held is held and held.tolist() == [4.0, 16.0]
    y.exp_().sum().backward()
    expected = [8.0 * held[0].item(), 16.0 * held[1].item()]
    assert x.grad.held.tolist() == pytest.approx(expected)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x.add_(1)


def test_views_share_history():
    x = holding(1.0, 2.0, 3.0, requires_grad=True)
    y = x * 1
    y.view(3, 1)[0].mul_(5)
    assert y.held.tolist() == [5.0, 2.0, 3.0]
    y.sum().backward()
    assert x.grad.held.tolist() == [5.0, 1.0, 1.0]


def test_values_are_read_by_asking():
    x = holding(1.0, 2.0)
    assert x.sum().item() == 3.0
    assert bool((x > 0).all())
    assert aten._local_scalar_dense.default in Holding.calls
    with pytest.raises(RuntimeError, match="Holding has no memory"):
        x.tolist()


def test_several_results_keep_their_names():
    values, indices = found = compat.max(holding(1.0, 3.0), 0)
    assert found.values is values
    assert (values.item(), indices.item()) == (3.0, 1)


def test_factories_that_imitate_ask_the_class():
    x = holding(1.0, 2.0)
    made = [
        compat.zeros_like(x),
        compat.full_like(x, 3),
        compat.rand_like(x),
        compat.randn_like(x),
        compat.randint_like(x, 3),
        x.new_zeros(2),
        x.new_full((2,), 5),
    ]
    assert all(isinstance(one, Holding) for one in made)
    assert made[1].held.tolist() == [3.0, 3.0]
    assert compat.ones_like(x, requires_grad=True).requires_grad


def test_transforms_lie_above_it():
    x = holding(1.0, 2.0)
    assert compat.func.vmap(lambda t: t * 2 + 1)(x).held.tolist() == [3.0, 5.0]
    assert compat.func.grad(lambda t: (t**3).sum())(x).held.tolist() == [3.0, 12.0]
    out, tangent = compat.func.jvp(lambda t: t**2, (x,), (compat.ones(2, dtype=x.dtype),))
    assert tangent.held.tolist() == [2.0, 4.0]
    hessian = compat.func.hessian(lambda t: (t**3).sum())(x)
    assert hessian.held.tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_a_function_may_unwrap_and_wrap():
    class Unwrap(compat.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.held * 1

        @staticmethod
        def backward(ctx, grad):
            return Holding(grad)

    x = holding(1.0, 2.0, requires_grad=True)
    out = Unwrap.apply(x * 3)
    assert type(out) is compat.Tensor
    (out * 2).sum().backward()
    assert x.grad.held.tolist() == [6.0, 6.0]


def test_a_mode_sees_calls_first():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert types == (Holding,)
            order.append("mode")
            answer = func(*args, **(kwargs or {}))
            order.append(len(Holding.calls))
            return answer

    order = []
    x = holding(1.0)
    with Seen():
        x.sin()
    assert order == ["mode", 1]


def test_a_class_on_memory_of_its_own():
    class Counted(compat.Tensor):
        seen = 0

        def __new__(cls, data):
            return compat.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            cls.seen += 1
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    x = Counted(compat.ones(2)).requires_grad_()
    (x * 3).sum().backward()
    assert Counted.seen == 1
    assert x.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [3.0, 3.0]
    with compat._C._DisableTorchDispatch():
        x.detach().add_(1)
    assert x.tolist() == [2.0, 2.0]


def test_torch_function_comes_before():
    class Both(Holding):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    order = []
    x = Both(compat.ones(2), requires_grad=True)
    y = x.sin()
    assert order == ["sin"] and str(Holding.calls[-1]) == "aten.sin.default"
    assert y.grad_fn is not None


def test_refusals():
    class Silent(compat.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Without(compat.Tensor):
        pass

    silent = compat.Tensor._make_wrapper_subclass(Silent, (2,))
    with pytest.raises(TypeError, match="Multiple dispatch failed for aten.sin.default"):
        silent.sin()
    with pytest.raises(TypeError, match="Without must define __torch_dispatch__"):
        compat.Tensor._make_wrapper_subclass(Without, (2,))
    with pytest.raises(TypeError, match="subclass of Tensor"):
        compat.Tensor._make_wrapper_subclass(int, (2,))


def test_two_that_are_one():
    class Pair(compat.Tensor):
        @staticmethod
        def __new__(cls, left, right):
            return compat.Tensor._make_wrapper_subclass(cls, left.size(), dtype=left.dtype)

        def __init__(self, left, right):
            self.left, self.right = left, right

        def __tensor_flatten__(self):
            return ["left", "right"], None

        @staticmethod
        def __tensor_unflatten__(parts, context, size, stride):
            return Pair(parts["left"], parts["right"])

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            left = func(*tree_map_only(cls, lambda one: one.left, args), **kwargs)
            right = func(*tree_map_only(cls, lambda one: one.right, args), **kwargs)
            return return_and_correct_aliasing(func, args, kwargs, cls(left, right))

    pair = Pair(compat.ones(2), compat.zeros(2))
    assert is_traceable_wrapper_subclass(pair)
    assert not is_traceable_wrapper_subclass(pair.left)
    changed = pair.add_(1)
    assert changed is pair
    assert (pair.left.tolist(), pair.right.tolist()) == ([2.0, 2.0], [1.0, 1.0])
    doubled = pair * 2
    assert (doubled.left.tolist(), doubled.right.tolist()) == ([4.0, 4.0], [2.0, 2.0])


def test_backward_is_seen_by_torch_function():
    class Lazy(Holding):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is compat.autograd.backward:
                (roots,) = args
                asked.append((types, kwargs["retain_graph"]))
                return func([root.held for root in roots], **kwargs)
            if func is compat.Tensor.backward:
                asked.append((types, kwargs["retain_graph"]))
                return func(args[0].held, **kwargs)
            return super().__torch_function__(func, types, args, kwargs)

    asked = []
    x = compat.ones(2, requires_grad=True)
    compat.autograd.backward(Lazy(x * 2), compat.ones(2), retain_graph=True)
    Lazy((x * 3).sum(), requires_grad=True).backward()
    assert asked == [((Lazy,), True), ((Lazy,), None)]
    assert x.grad.tolist() == [5.0, 5.0]


def test_a_handler_may_record_and_call_unseen():
    class Counted(compat.Tensor):
        def __new__(cls, data):
            return compat.Tensor._make_subclass(cls, data)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with compat.overrides.enable_reentrant_dispatch():
                recorded.append(compat.ones(1, requires_grad=True).exp().grad_fn is not None)
            with compat.utils._mode_utils.no_dispatch():
                return func(*args, **(kwargs or {}))

    recorded = []
    assert (Counted(compat.ones(2)) + 1).tolist() == [2.0, 2.0]
    assert recorded == [True]


def test_modules_take_it_and_a_plain_parameter_takes_its_gradient():
    layer = compat.nn.Linear(2, 1).double()
    plain = compat.nn.Linear(2, 1).double()
    plain.load_state_dict(layer.state_dict())
    layer(holding(1.0, 2.0)).sum().backward()
    plain(compat.tensor([1.0, 2.0], dtype=compat.float64)).sum().backward()
    assert isinstance(layer.weight.grad, Holding)
    for each in (layer, plain):
        compat.optim.SGD(each.parameters(), 0.1).step()
    for parameter, other in zip(layer.parameters(), plain.parameters()):
        assert parameter.tolist() == other.tolist()


# ---- instances that Tensor's own constructor makes, and answers that are none ----


class Passing(compat.Tensor):
    """Answers by the memory of its instances, and notes what."""

    log: ClassVar[list[str]] = []

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append(str(func))
        return super().__torch_dispatch__(func, types, args, kwargs or {})


def test_the_constructor_makes_instances_whose_class_is_asked():
    Passing.log.clear()
    made = Passing(compat.ones(2))
    assert (made + 1).tolist() == [2.0, 2.0]
    made.data = compat.zeros(2)
    assert (made + 1).tolist() == [1.0, 1.0]
    assert Passing.log == ["aten.add.Tensor"] * 2


@pytest.mark.parametrize("call", [lambda t: t.neg(), lambda t: t.detach()])
def test_nonsense_is_refused(call):
    class Nonsense(compat.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return "nonsense"

    with pytest.raises(RuntimeError, match="returned a str, not a Tensor"):
        call(Nonsense(compat.ones(1)))


def test_a_method_of_an_instance_may_answer():
    class Bound(Holding):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(self.held)

    assert type(Bound(compat.ones(2)).clone()) is compat.Tensor


@pytest.mark.parametrize("careful", [True, False])
def test_instances_without_memory_are_saved_with_what_they_hold(careful):
    kept = Holding(compat.arange(3))
    file = io.BytesIO()
    compat.save({"kept": kept}, file)
    file.seek(0)
    with compat.serialization.safe_globals([Holding]):
        read = compat.load(file, weights_only=careful)["kept"]
    for copy in (read, pickle.loads(pickle.dumps(kept))):
        assert type(copy) is Holding
        assert copy.dtype is compat.int64
        assert copy.held.tolist() == [0, 1, 2]
        assert (copy + 1).held.tolist() == [1, 2, 3]


class Another(compat.Tensor):
    """A class that answers nothing."""


@pytest.mark.parametrize(
    "make",
    [
        Another,
        lambda held: held.as_subclass(Another),
        lambda held: compat.Tensor._make_subclass(Another, held),
    ],
)
def test_an_instance_can_not_become_one_of_another_class(make):
    with pytest.raises(RuntimeError, match="Another"):
        make(Holding(compat.ones(2)))
    assert type(make(compat.ones(2))) is Another


@pytest.mark.parametrize(
    "touch",
    [
        lambda storage: storage.data_ptr(),
        lambda storage: storage.resize_(0),
        lambda storage: storage.copy_(storage),
        lambda storage: storage.fill_(0),
        lambda storage: storage.clone(),
        lambda storage: storage.tolist(),
        lambda storage: storage[0],
    ],
)
def test_the_storage_of_what_has_no_memory_can_not_be_touched(touch):
    storage = Holding(compat.ones(2)).untyped_storage()
    assert storage.nbytes() == 8
    with pytest.raises(RuntimeError, match="Holding"):
        touch(storage)
    touch(compat.ones(2).untyped_storage())


class Tripled(compat.nn.Module):
    """A parametrization, of whose inverse the class of the parameter is asked too."""

    def forward(self, weight):
        return weight * 3

    def right_inverse(self, weight):
        return weight / 3


def test_a_parameter_of_such_a_class_is_parametrized():
    parametrize = compat.nn.utils.parametrize
    layer = compat.nn.Module()
    layer.weight = compat.nn.Parameter(holding(3.0, 6.0))
    parametrize.register_parametrization(layer, "weight", Tripled())
    assert type(layer.weight) is Holding
    assert layer.weight.held.tolist() == [3, 6]
    assert layer.parametrizations.weight.original.held.tolist() == [1, 2]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
    assert layer.weight.held.tolist() == [3, 6]


def test_a_parametrization_that_fails_leaves_such_a_parameter():
    class Failing(Tripled):
        def forward(self, weight):
            raise KeyError("no")

    layer = compat.nn.Module()
    layer.weight = compat.nn.Parameter(holding(3.0, 6.0))
    with pytest.raises(KeyError):
        compat.nn.utils.parametrize.register_parametrization(layer, "weight", Failing())
    assert layer.weight.held.tolist() == [3, 6]


class Below(compat.Tensor):
    """Makes each call on the memory of instances, where nobody is asked."""

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        with compat._C._DisableTorchDispatch():
            return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: compat.complex(x, x).conj().real,
        lambda x: compat.nn.functional.conv1d(x[None], x[:, :, None]).sum(),
        lambda x: compat.nn.functional.adaptive_avg_pool1d(x, 1),
        lambda x: compat.ops.aten._safe_softmax(x, 0),
        lambda x: compat.special.entr(x),
    ],
)
def test_calls_on_memory_alone_end(call):
    plain = compat.tensor([[0.5, 2.0], [1.0, 3.0]])
    found = call(compat.Tensor._make_subclass(Below, plain))
    assert found.tolist() == call(plain).tolist()
