"""torch.utils.flop_counter: programs cost what PyTorch says they do."""

import importlib

import pytest

import adjoint.compat.torch as compat


def convolutions(torch):
    F = torch.nn.functional
    x = torch.ones(2, 3, 8, 8, requires_grad=True)
    y = F.conv2d(x, torch.ones(4, 3, 3, 3, requires_grad=True), stride=2, padding=1)
    F.conv_transpose2d(y, torch.ones(4, 2, 3, 3, requires_grad=True)).sum().backward()


def network(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3, bias=False))
    model(torch.ones(5, 4, requires_grad=True)).sum().backward()


def products(torch):
    torch.addmm(torch.ones(4), torch.ones(2, 3), torch.ones(3, 4))
    torch.einsum("bij,bkj->bik", torch.ones(5, 2, 3), torch.ones(5, 4, 3))
    torch.bmm(torch.ones(5, 2, 3), torch.ones(5, 3, 4)).sum()


@pytest.mark.parametrize("program", [convolutions, network, products])
def test_costs_are_those_of_pytorch(program, torch):
    counts = []
    for name, library in (("adjoint.compat.torch", compat), ("torch", torch)):
        counting = importlib.import_module(f"{name}.utils.flop_counter")
        with counting.FlopCounterMode(display=False) as counter:
            program(library)
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1] > 0


def nothing(torch):
    torch.ones(3) + 1


def beside(torch):
    torch.ones(30, 40) @ torch.ones(40, 50)
    network(torch)


@pytest.mark.parametrize("program", [convolutions, network, products, nothing, beside])
@pytest.mark.parametrize("depth", [None, 0, 1, 2])
def test_tables_are_those_of_pytorch(program, depth, torch):
    pytest.importorskip("tabulate")  # which PyTorch's are made with
    tables = []
    for name, library in (("adjoint.compat.torch", compat), ("torch", torch)):
        counting = importlib.import_module(f"{name}.utils.flop_counter")
        with counting.FlopCounterMode(display=False, depth=depth) as counter:
            program(library)
        tables.append(counter.get_table())
    assert tables[0] == tables[1]


def test_modules_have_their_own_counts():
    with compat.utils.flop_counter.FlopCounterMode(display=False) as counter:
        network(compat)
    counts = counter.get_flop_counts()
    assert sum(counts["Sequential.0"].values()) == 3 * 2 * 5 * 4 * 8
    assert "Sequential.0" in counter.get_table(2)
    assert "Sequential.0" not in counter.get_table(1)


def test_a_custom_op_may_say_what_it_costs():
    counting = compat.utils.flop_counter

    @compat.library.custom_op("counted::foo", mutates_args=())
    def foo(x: compat.Tensor) -> compat.Tensor:
        return x.sin()

    with pytest.raises(ValueError, match="OpOverloadPacket"):
        counting.register_flop_formula(compat.ops.counted.foo.default)(len)
    counting.register_flop_formula(compat.ops.counted.foo)(lambda shape, out_shape: 10 * shape[0])
    with counting.FlopCounterMode(display=False) as counter:
        foo(compat.ones(3))
    assert counter.get_total_flops() == 30
