"""What a class with `__torch_dispatch__` sees of layers and their gradients, beside PyTorch's."""

import numpy as np
import pytest

import adjoint.compat.torch as compat


def logging_class(library, log):
    """A class whose instances hold a tensor and log the operations on them."""
    tree = library.utils._pytree

    class Logging(library.Tensor):
        @staticmethod
        def __new__(cls, held, requires_grad=False):
            looks = {"strides": held.stride(), "dtype": held.dtype, "device": held.device}
            make = library.Tensor._make_wrapper_subclass
            return make(cls, held.size(), **looks, requires_grad=requires_grad)

        def __init__(self, held, requires_grad=False):
            self.held = held

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args, kwargs = tree.tree_map_only(cls, lambda each: each.held, (args, kwargs or {}))
            answer = func(*args, **kwargs)
            log.append((str(func), type(answer).__name__))
            return tree.tree_map_only(library.Tensor, cls, answer)

    return Logging


def layers(library):
    """A few layers, each parameter with numbers of its own."""
    nn = library.nn
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2))
    with library.no_grad():
        for place, parameter in enumerate(module.parameters()):
            numbers = library.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
            parameter.copy_(numbers * (place + 1))
    return module


def through_layers(library, x):
    module = layers(library)
    module(x).pow(2).mean().backward()
    return [x.grad, *(each.grad for each in module.parameters())]


def of_values_and_places(library, x):
    parts = (x.max(1), x.topk(2), x.sort(), x.cummax(1))
    (grad,) = library.autograd.grad(sum(part[0].sum() for part in parts), x)
    return [grad, *(part[1] for part in parts)]


def in_lists(library, x):
    (grad,) = library.autograd.grad(x.split(1)[1].sum() + x.unbind()[0].sum(), x)
    return [grad]


@pytest.mark.parametrize("program", [through_layers, of_values_and_places, in_lists])
def test_a_class_sees_the_same_operations(torch, program):
    found = []
    for library in (compat, torch):
        log = []
        kind = logging_class(library, log)
        numbers = library.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
        answers = program(library, kind(numbers, requires_grad=True))
        assert all(type(each) is kind for each in answers)
        found.append((log, [each.held.numpy() for each in answers]))
    (ours, mine), (theirs, others) = found
    assert ours == theirs
    for one, other in zip(mine, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def halved_class(library, log):
    """A class that holds half of its numbers, and answers `t` with a plain tensor."""
    tree = library.utils._pytree

    class Halved(library.Tensor):
        @staticmethod
        def __new__(cls, half):
            return library.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)

        def __init__(self, half):
            self.half = half

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            if func is library.ops.aten.detach.default:
                return cls(args[0].half)
            args, kwargs = tree.tree_map_only(cls, lambda each: each.half * 2, (args, kwargs or {}))
            return func(*args, **kwargs)

    return Halved


def test_a_weight_is_asked_for_its_numbers_once(torch):
    """What a class answers to the first step of a linear layer is kept for the backward pass."""
    found = []
    for library in (compat, torch):
        log = []
        weight = halved_class(library, log)(library.ones(2, 3))
        layer = library.nn.Linear(3, 2)
        layer.weight = library.nn.Parameter(weight, requires_grad=False)
        x = library.ones(4, 3, requires_grad=True)
        layer(x).sum().backward()
        found.append((log, x.grad.tolist(), layer.bias.grad.tolist()))
    assert found[0] == found[1]
    assert found[0][0][-1] == "aten.t.default"


def test_attention_by_products_is_counted(torch):
    """sdpa_kernel(MATH) shows modes the products of matrices, which PyTorch makes then."""
    found = []
    for library in (compat, torch):
        from_counter = __import__(f"{library.__name__}.utils.flop_counter", fromlist=["x"])
        attention = __import__(f"{library.__name__}.nn.attention", fromlist=["x"])
        q = library.ones(2, 2, 4, 8, requires_grad=True)
        attend = library.nn.functional.scaled_dot_product_attention
        counts = []
        for kind in (attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION):
            counter = from_counter.FlopCounterMode(display=False)
            with counter, attention.sdpa_kernel(kind):
                allowed = attention._cur_sdpa_kernel_backends()
                attend(q, q, q).sum().backward()
            flash = library.backends.cuda.flash_sdp_enabled()
            counts.append((counter.get_total_flops(), [each.name for each in allowed], flash))
        found.append(counts)
    assert found[0] == found[1]
    assert found[0][0][0] == 6144


def test_formulas_are_registered_once(torch):
    found = []
    for library in (compat, torch):
        module = __import__(f"{library.__name__}.utils.flop_counter", fromlist=["x"])
        with pytest.raises(RuntimeError, match=r"aten\.mm"):
            module.register_flop_formula(library.ops.aten.mm)(lambda *args, **kwargs: 1)
        shown = module.convert_num_with_suffix(1234567, module.get_suffix_str(1234567))
        shapes = (1, 2, 3, 5), (1, 2, 3, 4), (1, 2, 6, 4), (1, 2, 6, 5)
        backward = module.sdpa_backward_flop_count(*shapes)
        found.append((shown, module.convert_to_percent_str(3, 7), backward))
    assert found[0] == found[1]


CALLS = {
    "a text for a tensor": lambda aten, x: aten.add.Tensor("x", 2),
    "a text for sizes": lambda aten, x: aten.sum.dim_IntList(x, "x"),
    "a list for a tensor": lambda aten, x: aten.sin.default([1.0]),
    "a text for a number": lambda aten, x: aten.mul.Scalar(x, "2"),
    "a number for sizes": lambda aten, x: aten.view.default(x, 2.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_overload_refuses_other_kinds(torch, name):
    with pytest.raises(RuntimeError):
        CALLS[name](torch.ops.aten, torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="where the schema has"):
        CALLS[name](compat.ops.aten, compat.ones(2, 3))


def facts(library):
    aten = library.ops.aten
    kinds = [aten.convolution, aten.randn, aten._foreach_add, aten._to_copy, aten.index]
    types = [
        [(str(each.type), each.type.kind()) for each in getattr(packet, overload)._schema.arguments]
        for packet, overload in zip(
            kinds, ("default", "generator", "ScalarList", "default", "Tensor"), strict=True
        )
    ]
    key = library._C.DispatchKey
    x = library.ones(1, 2)
    return (
        types,
        str(aten.convolution.default._schema.arguments[3].type.getElementType()),
        aten.add.Tensor._opname,
        isinstance(aten.add.Tensor._schema, library.FunctionSchema),
        isinstance(aten.add.Tensor._schema.arguments[0], library.Argument),
        type(aten.add.Tensor).__name__,
        type(aten.add).__name__,
        aten.silu.default.decompose(x) is NotImplemented,
        aten.linear.default.decompose(x, x).tolist(),
        aten.linear.default.has_kernel_for_dispatch_key(key.CompositeImplicitAutograd),
        library._C._dispatch_has_kernel_for_dispatch_key("aten::add.Tensor", "CPU"),
        type(aten.split.Tensor(x, 1)).__name__,
        type(aten.max.dim(x, 1)).__name__,
    )


def test_what_operations_say_of_themselves(torch):
    assert facts(compat) == facts(torch)


ANSWERS = (None, "x", 3, 2.5, [1], (), {}, int)


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_to_whether(torch, answer):
    """A mode's answer to `equal` is a truth: numbers count as one, and nothing else is taken."""
    found = []
    for library in (compat, torch):
        dispatch = __import__(f"{library.__name__}.utils._python_dispatch", fromlist=["x"])

        class Answering(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return answer

        x = library.ones(2)
        try:
            with Answering():
                found.append(library.equal(x, x))
        except RuntimeError:
            found.append("refused")
    if answer is None:  # False in PyTorch
        assert found[0] == "refused"
    else:
        assert found[0] == found[1]
        assert type(found[0]) is type(found[1])


def of_memory_class(library, log):
    """A class whose instances have memory, which makes calls where nobody is asked."""
    tree = library.utils._pytree

    class OfMemory(library.Tensor):
        @staticmethod
        def __new__(cls, data, requires_grad=False):
            return library.Tensor._make_subclass(cls, data, requires_grad)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append(str(func))
            with library._C._DisableTorchDispatch():
                answer = func(*args, **(kwargs or {}))
            wrap = lambda each: each if isinstance(each, cls) else cls(each)
            return tree.tree_map_only(library.Tensor, wrap, answer)

    return OfMemory


def test_a_class_with_memory_gets_gradients_of_its_own(torch):
    found = []
    for library in (compat, torch):
        log = []
        kind = of_memory_class(library, log)
        x = kind(library.arange(3.0), requires_grad=True)
        (x * 2).sum().backward()
        assert type(x.grad) is kind
        found.append((list(log), type(x.detach()).__name__, x.grad.sum().item()))
        x.data = library.ones(2)
        assert x.shape == (2,)
    assert found[0] == found[1]


def trained(library, log):
    """Three steps of parameters that hold tensors, through a checkpoint and a functional call."""
    kind = logging_class(library, log)
    module = library.nn.Linear(3, 2)
    numbers = {"weight": library.arange(6.0).reshape(2, 3) / 6, "bias": library.ones(2)}
    parameters = {name: kind(each, requires_grad=True) for name, each in numbers.items()}
    module_of = __import__(f"{library.__name__}.utils.checkpoint", fromlist=["x"])
    x = library.ones(4, 3)

    def loss(given):
        return library.func.functional_call(module, parameters, given).sin().sum()

    for _ in range(2):
        module_of.checkpoint(loss, x, use_reentrant=False).backward()
    return [each.grad.held.tolist() for each in parameters.values()]


def test_parameters_of_a_class_through_a_checkpoint(torch):
    found = [trained(library, []) for library in (compat, torch)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def made_anew(library, x):
    """Factories beside an instance, whose class is asked with PyTorch's arguments."""
    made = [library.ones_like(x), x.new_zeros(2), x.new_zeros((2, 1)), library.full_like(x, 2.0)]
    made += [library.zeros_like(x, dtype=library.float64), x.new_full((2,), 1), x.new_ones(1, 2)]
    (grad,) = library.autograd.grad(x.sum(), x)
    return [*made, grad]


def test_a_class_is_asked_for_new_tensors_as_in_pytorch(torch):
    found = []
    for library in (compat, torch):
        log = []
        kind = logging_class(library, [])
        answered = kind.__torch_dispatch__.__func__

        def dispatch(cls, func, types, args=(), kwargs=None):
            plain = [each for each in args if not isinstance(each, library.Tensor)]  # noqa: B023
            named = {key: str(each) for key, each in (kwargs or {}).items()}
            log.append((str(func), plain, named))  # noqa: B023  # of this turn
            return answered(cls, func, types, args, kwargs)  # noqa: B023

        kind.__torch_dispatch__ = classmethod(dispatch)
        made = made_anew(library, kind(library.ones(2), requires_grad=True))
        shown = [(name, plain, sorted(named)) for name, plain, named in log]
        found.append((shown, [each.held.tolist() for each in made]))
    assert found[0] == found[1]
