"""Where patterns of memory begin: storage offsets count as PyTorch's, whatever shows the memory."""

import numpy as np
import pytest

import adjoint.compat.torch as compat


def twice(library):
    x = library.arange(20.0)
    x.as_strided_((2, 2), (1, 2), 3)
    yield x
    x.as_strided_((2, 2), (1, 2), 1)
    yield x
    x.as_strided_((4,), (1,))
    yield x


def twice_on_a_view(library):
    x = library.arange(20.0)[4:]
    x.as_strided_((2, 2), (1, 2), 3)
    yield x
    x.as_strided_((2,), (1,), 1)
    yield x
    yield x.as_strided((20,), (1,), 0)


def a_view_of_a_tensor_that_shows_a_part(library):
    x = library.arange(20.0)
    x.as_strided_((2, 2), (1, 2), 3)
    yield x[1].as_strided((2,), (1,), 0)
    yield x.detach().as_strided((2,), (1,), 1)
    x.add_(100)
    yield x.as_strided((20,), (1,), 0)


def detached(library):
    x = library.arange(20.0)[4:].detach()
    y = x[2:]
    for each in (y, y.detach(), y.data, library.nn.Parameter(y), y.data[1:]):
        yield each.as_strided((2,), (2,), 1)
        yield each.as_strided((2,), (2,))
    z = library.zeros(3)
    z.data = y
    yield z.as_strided((2,), (2,), 1)
    z.data = library.ones(3)
    yield z.as_strided((2,), (1,), 1)


def in_place_of_several_kinds(library):
    x = library.arange(20.0).reshape(4, 5)
    x.t_()
    yield x
    x.unsqueeze_(0)
    x.as_strided_((3,), (1,), 5)
    yield x
    yield x.squeeze_().as_strided((3,), (1,), 0)


def recorded(library):
    x = library.arange(6.0).requires_grad_()
    y = x * 2
    y.as_strided_((2, 2), (1, 2), 1)
    y.as_strided_((2,), (1,), 0)
    (y * library.tensor([1.0, 10.0])).sum().backward()
    yield x.grad


def a_part_of_an_array(library):
    x = library.from_numpy(np.arange(10.0)[2:6])
    yield x.as_strided(x.size(), x.stride(), x.storage_offset())
    y = x[1:].detach()
    yield y
    yield y.as_strided((2,), (1,), y.storage_offset())


def parts_of_numbers(library):
    x = library.arange(6.0) + 1j * library.arange(6.0)
    yield x[2:].imag
    yield library.view_as_real(x[1:])[1:].as_strided((3,), (1,), 1)
    yield library.arange(8.0)[2:].view(library.float64)
    with library.inference_mode():
        yield library.arange(8.0)[2:][1:].as_strided((2,), (2,), 1)


def in_the_order_of_an_argument(library):
    x = library.floor(library.arange(12.0).reshape(2, 3, 2).permute(1, 2, 0))
    y = x[1:].as_strided((2, 3), (3, 2), 1)
    y.add_(100)
    yield from (x, y, x.unfold(0, 2, 1), x.as_strided((12,), (1,), 0))
    x.as_strided_((4,), (2,), 3)
    yield x


PROGRAMS = [
    in_the_order_of_an_argument,
    twice,
    twice_on_a_view,
    a_view_of_a_tensor_that_shows_a_part,
    detached,
    in_place_of_several_kinds,
    recorded,
    a_part_of_an_array,
    parts_of_numbers,
]


def outcome(program, library):
    return [(x.tolist(), tuple(x.stride()), x.storage_offset()) for x in program(library)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_offsets_are_those_of_pytorch(torch, program):
    assert outcome(program, compat) == outcome(program, torch)


@pytest.mark.parametrize("offset", [3, -1])
def test_no_pattern_reaches_beyond_the_memory_of_the_tensor(offset):
    x = compat.from_numpy(np.arange(10.0)[2:6])
    with pytest.raises(RuntimeError, match="reach beyond the memory"):
        x.as_strided((2,), (1,), offset)
    with pytest.raises(RuntimeError, match="reach beyond the memory"):
        x.as_strided_((2,), (1,), offset)


@pytest.mark.parametrize("given", [(), ((2,),), ((2,), (1,), 0, 0), (2, 1)])
def test_arguments_of_no_pattern(torch, given):
    for library in (compat, torch):
        with pytest.raises(TypeError):
            library.arange(4.0).as_strided_(*given)


@pytest.mark.parametrize("name", ["add_", "mul_", "copysign_"])
def test_an_operand_that_lies_partly_where_a_change_writes(torch, name):
    """Neither is a view: they were detached, and show parts of one memory."""
    for library in (compat, torch):
        x = library.arange(5.0)
        written, read = (x.detach().as_strided_((4,), (1,), offset) for offset in (0, 1))
        with pytest.raises(RuntimeError, match="memory"):
            getattr(written, name)(read)
        assert x.tolist() == [0, 1, 2, 3, 4]
        getattr(written, name)(x.detach().as_strided_((4,), (1,), 0))
        assert written._version == 4


def test_a_storage_begins_where_its_tensor_does():
    x = compat.from_numpy(np.arange(10.0)[2:6])
    assert x[1:].storage().tolist() == [2.0, 3.0, 4.0, 5.0]
    y = compat.empty(0, dtype=compat.float64).set_(
        x[1:].untyped_storage(), x[1:].storage_offset(), (2,), (1,)
    )
    assert y.tolist() == [3.0, 4.0]


def test_a_storage_has_the_order_of_its_memory(torch):
    def storage(library):
        x = library.floor(library.arange(12.0).reshape(2, 3, 2).permute(1, 2, 0))
        return x.storage().tolist(), x.untyped_storage().data_ptr() == x.data_ptr()

    assert storage(compat) == storage(torch)


def test_an_instance_without_memory_begins_where_it_is_said_to():
    class Wrapper(compat.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError

    made = compat.Tensor._make_wrapper_subclass(Wrapper, (2, 2), (1, 3), 5)
    assert (made.stride(), made.storage_offset()) == ((1, 3), 5)


SHOWN = {
    "all": lambda x: x.reshape(4, 3),
    "a part": lambda x: x.reshape(4, 3)[1:],
    "every other": lambda x: x.reshape(2, 6)[:, ::2],
    "transposed": lambda x: x.reshape(3, 4).T,
}


@pytest.mark.parametrize("offset", [None, 0, 3])
@pytest.mark.parametrize("name", SHOWN)
def test_a_pattern_is_written_to_a_copy_of_the_memory(torch, name, offset):
    found = []
    for library in (compat, torch):
        x = SHOWN[name](library.arange(12.0))
        y = library.as_strided_scatter(x, -library.ones(2, 2), (2, 2), (3, 1), offset)
        found.append((y.tolist(), y.stride(), x.tolist()))
    assert found[0] == found[1]
