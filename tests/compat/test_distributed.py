"""torch.distributed with one process."""

import pytest

from adjoint.compat import torch

distributed = torch.distributed


@pytest.fixture
def group():
    distributed.init_process_group("gloo", rank=0, world_size=1)
    yield distributed.group.WORLD
    distributed.destroy_process_group()


def test_without_a_group():
    assert not distributed.is_initialized()
    for call in (distributed.get_rank, distributed.get_world_size, distributed.barrier):
        with pytest.raises(ValueError, match="init_process_group"):
            call()
    with pytest.raises(AssertionError):
        distributed.destroy_process_group()


def test_a_group_of_one(group):
    assert distributed.is_initialized() and distributed.is_available()
    assert (distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()) == (
        0,
        1,
        "gloo",
    )
    tensor = torch.ones(2)
    assert distributed.all_reduce(tensor, op=distributed.ReduceOp.SUM) is None
    assert distributed.all_reduce(tensor, async_op=True).wait()
    assert distributed.broadcast(tensor, 0) is None and distributed.barrier() is None
    places = [torch.zeros(2)]
    distributed.all_gather(places, tensor)
    assert places[0].tolist() == tensor.tolist() == [1.0, 1.0]
    objects = [None]
    distributed.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]


def test_what_a_group_of_one_refuses(group):
    with pytest.raises(ValueError, match="twice"):
        distributed.init_process_group("gloo", rank=0, world_size=1)
    with pytest.raises(RuntimeError, match="rank 1"):
        distributed.broadcast(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="1 tensor"):
        distributed.all_gather([torch.ones(1)] * 2, torch.ones(1))
    with pytest.raises(ValueError, match="nobody"):
        distributed.send(torch.ones(1), 1)


def test_numbers_of_the_environment(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match="WORLD_SIZE"):
        distributed.init_process_group("gloo")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="one process"):
        distributed.init_process_group("gloo")
    assert not distributed.is_initialized()
