"""Old backward hooks of modules: on the last node of a call."""

import warnings

import pytest

import adjoint.compat.torch as compat


def module_of(library, function):
    module = library.nn.Module()
    module.forward = function
    return module


def shapes(grads):
    return [None if grad is None else tuple(grad.shape) for grad in grads]


FUNCTIONS = [
    lambda x, y: x * y,
    lambda x, y: (x * y).exp(),
    lambda x, y: (x * 2, y * 3),
    lambda x, y: {"out": x * y},
    lambda x, y: [x * y],
    lambda x, y: x.detach(),
    lambda x, y: x.chunk(2),
]


def events(library, function):
    """What a hook sees, the gradients after it, and the warnings on the way."""
    module = module_of(library, function)
    seen = []

    def hook(owner, grad_input, grad_output):
        seen.append((owner is module, shapes(grad_input), shapes(grad_output)))
        return tuple(None if grad is None else grad * 10 for grad in grad_input)

    module.register_backward_hook(hook)
    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = library.tensor([3.0, 4.0], requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        output = module(x * 1, y * 1)
    values = output.values() if isinstance(output, dict) else output
    total = sum(value.sum() for value in values)
    if total.requires_grad:
        total.backward()
    grads = [None if leaf.grad is None else leaf.grad.tolist() for leaf in (x, y)]
    return seen, grads, [warning.category for warning in caught]


@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_as_pytorch(torch, function):
    assert events(compat, function) == events(torch, function)


def test_hooks_of_all_modules():
    seen = []
    handle = compat.nn.modules.module.register_module_backward_hook(
        lambda module, grad_input, grad_output: seen.append(shapes(grad_output))
    )
    module = module_of(compat, lambda x: x.exp())
    module(compat.ones(2, requires_grad=True).clone()).sum().backward()
    handle.remove()
    module(compat.ones(2, requires_grad=True).clone()).sum().backward()
    assert seen == [[(2,)]]


def test_a_hook_can_be_removed():
    module = module_of(compat, lambda x: x.exp())
    handle = module.register_backward_hook(lambda *args: pytest.fail("it was removed"))
    handle.remove()
    module(compat.ones(2, requires_grad=True)).sum().backward()


def test_not_beside_full_hooks():
    module = module_of(compat, lambda x: x)
    module.register_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="full"):
        module.register_backward_hook(print)
    assert not module._forward_hooks


def test_private_tables_tell_how_hooks_were_registered():
    module = compat.nn.Linear(1, 1)
    handles = [
        module.register_forward_hook(lambda *_: None, with_kwargs=True),
        module.register_forward_hook(lambda *_: None, always_call=True),
        module.register_forward_pre_hook(lambda *_: None, with_kwargs=True),
        module.register_forward_hook(lambda *_: None),
    ]
    tables = [
        module._forward_hooks_with_kwargs,
        module._forward_hooks_always_called,
        module._forward_pre_hooks_with_kwargs,
    ]
    ids = [handle.id for handle in handles]
    assert [list(table) for table in tables] == [[ids[0]], [ids[1]], [ids[2]]]
    assert handles[3].id not in tables[0]
    assert tables[1][handles[1].id]
    for handle in handles:
        handle.remove()
    assert [len(table) for table in tables] == [0, 0, 0]


def test_hooks_of_all_modules_go_when_their_table_is_replaced():
    home = compat.nn.modules.module
    seen = []
    home.register_module_forward_hook(lambda *_: seen.append("hook"), always_call=True)
    assert len(home._global_forward_hooks_always_called) == 1
    compat.nn.Linear(1, 1)(compat.ones(1))
    home._global_forward_hooks = {}
    assert len(home._global_forward_hooks_always_called) == 0
    compat.nn.Linear(1, 1)(compat.ones(1))
    assert seen == ["hook"]
