"""Which functions classes and modes are asked about, and by which names: PyTorch's."""

import operator

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree import overrides

TWO = "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne and_ or_ xor lshift rshift"
CHANGING = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift"


def after(name):
    return lambda x, y: getattr(operator, name)(x, y)


def of_number(name):
    return lambda x, y: getattr(operator, name)(2, x)


def before(name):
    return lambda x, y: getattr(operator, name)(x)


OPERATORS = {
    **{name: after(name) for name in f"{TWO} {CHANGING}".split()},
    **{f"{name} of a number": of_number(name) for name in TWO.split() if name != "matmul"},
    **{name: before(name) for name in ("neg", "pos", "abs", "invert")},
    "index": lambda x, y: x[0],
}
METHODS = {
    "add": lambda x: x.add(1),
    "add_": lambda x: x.add_(1),
    "clip": lambda x: x.clip(0),
    "multiply": lambda x: x.multiply(2),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "moveaxis": lambda x: x.moveaxis(0, 1),
    "view": lambda x: x.view(-1),
    "unflatten": lambda x: x.unflatten(0, (1, 2)),
    "where": lambda x: x.where(x > 0, 1),
    "max": lambda x: x.max(0),
    "detach": lambda x: x.detach(),
    "size": lambda x: x.size(),
    "tolist": lambda x: x.tolist(),
    "new_tensor": lambda x: x.new_tensor([1]),
    "float": lambda x: x.float(),
}


def heard(library, call, way):
    """What a class or a mode is asked about while a program runs."""
    named = library.overrides.resolve_name
    names = []

    class Hearing(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append((named(func), len(args)))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Mode(library.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append((named(func), len(args)))
            return func(*args, **(kwargs or {}))

    x, y = library.tensor([[3, 2], [1, 4]]), library.tensor([[1, 2], [2, 1]])
    if way == "class":
        call(x.as_subclass(Hearing), y)
    else:
        with Mode():
            call(x, y)
    return names


def attempt(library, call, way):
    try:
        return heard(library, call, way)
    except (RuntimeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("way", ["class", "mode"])
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_has_the_name_it_has_in_pytorch(torch, name, way):
    call = OPERATORS[name]
    assert attempt(compat, call, way) == attempt(torch, call, way)


@pytest.mark.parametrize("way", ["class", "mode"])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_the_name_it_has_in_pytorch(torch, name, way):
    def call(x, y):
        return METHODS[name](x)

    assert heard(compat, call, way) == heard(torch, call, way)


def test_a_method_is_not_the_function():
    assert compat.Tensor.add is compat.Tensor.add
    assert compat.Tensor.add is not compat.add
    assert overrides.resolve_name(compat.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(compat.add) == "torch.add"
    assert compat.Tensor.add(compat.ones(2), 1).tolist() == [2.0, 2.0]


# Names of objects that are something else in adjoint: of Python's own, or functions of another.
ELSEWHERE = {"__class__", "__init_subclass__", "__subclasshook__", "__torch_function__"}
ELSEWHERE |= {"__delattr__", "__getattribute__", "__init__", "__setattr__"}


def named(library, functions):
    found = {library.overrides.resolve_name(function) for function in functions}
    return {name for name in found if name and name.rpartition(".")[2] not in ELSEWHERE}


def shared(torch, names):
    """Those of PyTorch's names that adjoint has something of its own for, no alias."""
    return {name for name in names if overrides.resolve_name(lookup(name)) == name}


def lookup(name):
    found = compat
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def test_what_is_ignored_is_what_pytorch_ignores(torch):
    ours = named(compat, compat.overrides.get_ignored_functions())
    theirs = named(torch, torch.overrides.get_ignored_functions())
    private = {name for name in ours if "_python_dispatch" in name}
    assert ours - theirs - private <= {"torch.set_grad_enabled", "torch.Tensor.data_ptr"}
    assert shared(torch, theirs) - {"torch.qscheme"} <= ours
    assert len(ours) > 140


def test_what_may_be_answered_is_what_pytorch_asks_about(torch):
    ours = named(compat, compat.overrides.get_testing_overrides())
    listed = torch.overrides.get_overridable_functions().values()
    theirs = named(torch, [function for functions in listed for function in functions])
    homes = {name.rpartition(".")[2] for name in theirs}
    homes |= {"__idiv__", "__rdiv__"}  # PyTorch's other names of __itruediv__ and __rtruediv__
    assert {name.rpartition(".")[2] for name in ours} <= homes
    missing = {name for name in shared(torch, theirs) - ours if name.startswith("torch.Tensor.")}
    assert not missing
    assert len(ours) > 1150


def test_every_name_leads_back_to_its_function():
    for functions in overrides.get_overridable_functions().values():
        for function in functions:
            name = overrides.resolve_name(function)
            assert name is not None, function
            assert lookup(name) == function, name


def test_methods_are_told_from_functions(torch):
    for name in dir(torch.Tensor):
        theirs, ours = getattr(torch.Tensor, name), getattr(compat.Tensor, name, None)
        if not callable(theirs) or not callable(ours) or name in ("__abs__", "__neg__", "__pos__"):
            continue
        told = overrides.is_tensor_method_or_property(ours)
        assert told == torch.overrides.is_tensor_method_or_property(theirs), name
    assert not overrides.is_tensor_method_or_property(compat.add)


def scaled(library, log):
    """A function of a program that asks, and a class whose calls inside it are still heard."""

    class Hearing(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append(func.__name__)
            return library.overrides.redispatch_function(func, types, args, kwargs)

    def scaled_product(a, b):
        if library.overrides.has_torch_function((a, b)):
            return library.overrides.handle_torch_function(scaled_product, (a, b), a, b)
        return a * b + 1

    x = library.tensor([3.0]).as_subclass(Hearing)
    return scaled_product(x, x)


def test_one_level_may_be_passed_over(torch):
    ours, theirs = [], []
    assert scaled(compat, ours).tolist() == scaled(torch, theirs).tolist()
    assert ours == theirs == ["scaled_product", "mul"]
