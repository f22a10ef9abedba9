"""`__torch_function__` of a subclass is asked about attributes, and nobody else pays for it."""

import warnings
from typing import ClassVar

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.asking_methods import ATTRIBUTES
from adjoint.compat.torch_tree import overrides
from adjoint.tensors.tensor import Tensor
from adjoint.testing import all_functions, function_of, map_arrays, samples_of


def logging(library, base=None):
    """A subclass of a library's tensors that writes down what it is asked."""

    class Asked(library.Tensor if base is None else base):
        log: ClassVar[list] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.log.append((library.overrides.resolve_name(func), len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Asked


def looked_at(library):
    """What is asked about each attribute that is read, set and deleted, and what comes out."""
    kind = logging(library)
    x = library.ones(2, 3).as_subclass(kind)
    seen = []

    def note(name, function):
        kind.log.clear()
        try:
            answer = type(function()).__name__
        except (AttributeError, RuntimeError) as error:
            answer = type(error).__name__
        seen.append((name, answer, [entry for entry in kind.log if entry[0] is not None]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ATTRIBUTES:
            note(name, lambda name=name: getattr(x, name))
        values = {
            "grad": library.ones(2, 3),
            "requires_grad": True,
            "data": library.zeros(2, 3),
            "grad_dtype": library.float32,
            "_backward_hooks": None,
            "shape": (3, 2),
            "is_leaf": False,
        }
        for name, value in values.items():
            note(name, lambda name=name, value=value: setattr(x, name, value))
            if name != "grad_dtype":  # which ends PyTorch's process
                note(name, lambda name=name: delattr(x, name))
    return seen


def test_each_attribute_is_asked_about_as_in_pytorch(torch):
    assert looked_at(compat) == looked_at(torch)


def test_the_function_that_is_asked_about_is_that_of_tensor():
    asked = []

    class Answering(compat.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            asked.append((func, types, args))
            if func == compat.Tensor.shape.__get__:
                return "no shape"
            return super().__torch_function__(func, types, args, kwargs or {})

    x = compat.ones(2).as_subclass(Answering)
    assert x.shape == "no shape"
    function, types, args = asked[0]
    assert function == compat.Tensor.shape.__get__
    assert types == (Answering,)
    assert args[0] is x
    assert type(function).__name__ == "method-wrapper"
    assert overrides.resolve_name(compat.Tensor.grad.__set__) == "torch.Tensor.grad.__set__"
    assert function in overrides.get_testing_overrides()
    assert overrides.is_tensor_method_or_property(function)


def test_nobody_is_asked_inside_of_a_block_without_classes():
    kind = logging(compat)
    x = compat.ones(2).as_subclass(kind)
    with compat._C.DisableTorchFunctionSubclass():
        assert x.shape == (2,)
        x.grad = None
        assert type(x.data) is compat.Tensor
    assert kind.log == []


def test_a_mode_sees_the_attributes_of_such_an_instance():
    seen = []

    class Mode(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    x = compat.ones(2).as_subclass(logging(compat))
    with Mode():
        assert x.ndim == 1
    assert seen == ["torch.Tensor.ndim.__get__"]


def test_members_that_a_class_defines_are_its_own():
    class Own(compat.Tensor):
        shape = "its own"

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs or {})

    class Derived(Own):
        ndim = 7

    assert compat.ones(2).as_subclass(Own).shape == "its own"
    derived = compat.ones(2).as_subclass(Derived)
    assert (derived.shape, derived.ndim, derived.is_leaf) == ("its own", 7, True)


def test_gradients_stay_plain_and_what_shares_memory_keeps_the_class():
    class Kept(compat.Tensor):
        pass

    leaf = compat.nn.Parameter(compat.ones(2).as_subclass(Kept))
    (leaf * 2).sum().backward()
    assert type(leaf.grad) is compat.Tensor
    assert type(leaf.data) is Kept
    assert type(leaf.detach()) is Kept
    assert overrides.get_default_nowrap_functions() >= {compat.Tensor.grad.__get__}


def test_plain_tensors_have_the_attributes_that_they_had():
    logging(compat)
    assert all(name not in vars(Tensor) or name in dir(Tensor) for name in ATTRIBUTES)
    assert type(vars(Tensor)["shape"]).__name__ in ("property", "getset_descriptor")


class Wrapping(compat.nn.Parameter):
    """A parameter whose values are those of a tensor that it holds, as hypll's are."""

    def __new__(cls, data):
        return super().__new__(cls)

    def __init__(self, data):
        self.held = compat.nn.Parameter(data)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if type(func).__name__ == "method-wrapper" or func == compat.Tensor.copy_:
            return func(*[a.held if isinstance(a, Wrapping) else a for a in args])
        raise TypeError(f"{func.__name__} is not for it")


def test_a_parameter_may_answer_for_a_tensor_that_it_holds():
    param = Wrapping(compat.ones(2, 3))
    assert param.shape == (2, 3)
    assert param.requires_grad
    assert param.grad is None
    (param.held * 2).sum().backward()
    assert param.grad is param.held.grad
    param.grad = None
    assert param.held.grad is None
    module = compat.nn.Module()
    module.weight = param
    module.load_state_dict({"weight": compat.zeros(2, 3)})
    assert param.held.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("name", ["SGD", "Adam", "Muon"])
def test_an_optimizer_reads_its_gradient_and_does_not_pass_it_by(name):
    param = Wrapping(compat.ones(2, 3))
    optimizer = getattr(compat.optim, name)([param], lr=0.1)
    optimizer.step()
    (param.held * 2).sum().backward()
    with pytest.raises(TypeError, match="is not for it"):
        optimizer.step()
    optimizer.zero_grad()
    assert param.held.grad is None


def test_a_step_of_parameters_that_are_asked_is_that_of_others():
    steps = []
    for kind in (logging(compat, compat.nn.Parameter), compat.nn.Parameter):
        param = kind(compat.ones(2))
        optimizer = compat.optim.Adam([param], lr=0.1)
        (param * compat.tensor([1.0, 3.0])).sum().backward()
        optimizer.step()
        steps.append(param.detach().tolist())
    assert steps[0] == steps[1]


def test_functions_are_asked_about_before_anything_is_read_of_their_arguments():
    kind = logging(compat)
    read = []
    for name in all_functions():
        if name in ("getitem", "setitem_", "detach_"):  # operators ask first; and no view is one
            continue
        for sample in samples_of(name)[:2]:
            args, kwargs = map_arrays(
                lambda array: compat.as_tensor(array).as_subclass(kind),
                (sample.args, sample.kwargs),
            )
            kind.log.clear()
            function_of(name)(*args, **kwargs)
            read += [(name, asked) for asked, _ in kind.log if asked and "__get__" in asked]
    assert read == []
