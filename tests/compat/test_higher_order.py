"""torch.ops.higher_order: branches and loops that a mode is asked about."""

import pytest

from adjoint.compat import torch
from adjoint.compat.torch._higher_order_ops import while_loop
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode
from adjoint.compat.torch.utils._traceback import CapturedTraceback
from adjoint.compat.torch.utils.flop_counter import FlopCounterMode


class Log(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_is_asked_about_a_branch():
    chosen = torch.tensor(True)
    x = torch.ones(2)
    with Log() as log:
        torch.cond(chosen, lambda x: x.sin(), lambda x: x.cos(), (x,))
        torch.cond(True, lambda x: x.sin(), lambda x: x.cos(), (x,))
    assert log.seen == ["cond", "aten.sin.default"]


def test_a_mode_is_asked_about_a_loop():
    start = torch.zeros(())
    with Log() as log:
        (last,) = while_loop(lambda x: x < 3, lambda x: (x + 1,), (start,))
    assert log.seen == ["while_loop"]
    assert last.item() == 3


def test_a_mode_may_answer():
    class Ones(Log):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return torch.ones(3, 3) if func is torch.ops.higher_order.cond else NotImplemented

    chosen, x = torch.tensor(True), torch.ones(2)
    with Ones():
        assert torch.cond(chosen, lambda x: x, lambda x: x, (x,)).shape == (3, 3)


def test_a_mode_that_knows_no_branches_refuses():
    class Plain(Log):
        supports_higher_order_operators = False

    chosen, x = torch.tensor(True), torch.ones(2)
    with Plain(), pytest.raises(NotImplementedError, match="cond calls functions, and Plain"):
        torch.cond(chosen, lambda x: x, lambda x: x, (x,))


def test_products_in_a_branch_are_counted():
    chosen, x = torch.tensor(True), torch.ones(2, 2)
    with FlopCounterMode(display=False) as counter:
        torch.cond(chosen, lambda x: x @ x, lambda x: x, (x,))
    assert counter.get_total_flops() == 16


def test_where_a_program_was():
    def inside():
        return CapturedTraceback.extract(), CapturedTraceback.extract(skip=1)

    here, above = inside()
    assert here.summary()[-1].name == "inside"
    assert above.summary()[-1].name == "test_where_a_program_was"
    assert CapturedTraceback.format_all([above]) == [above.format()]
