"""torch.distributed with one process."""

import pytest

from adjoint.compat import torch

distributed = torch.distributed
nn = torch.nn


@pytest.fixture
def group():
    distributed.init_process_group("gloo", rank=0, world_size=1)
    yield distributed.group.WORLD
    distributed.destroy_process_group()


def test_without_a_group():
    assert distributed.is_available() and not distributed.is_initialized()
    assert distributed.is_gloo_available() and not distributed.is_nccl_available()
    calls = (
        distributed.get_rank,
        distributed.get_world_size,
        distributed.barrier,
        lambda: distributed.all_reduce(torch.ones(1)),
        lambda: nn.parallel.DistributedDataParallel(nn.Linear(1, 1)),
        lambda: distributed.init_device_mesh("cpu", (1,)),
    )
    for call in calls:
        with pytest.raises(ValueError, match="init_process_group"):
            call()
    with pytest.raises(AssertionError):
        distributed.destroy_process_group()


def test_a_group_of_one(group):
    assert distributed.is_initialized() and distributed.GroupMember.WORLD is group
    assert (distributed.get_rank(), distributed.get_world_size(), distributed.get_backend()) == (
        0,
        1,
        distributed.Backend("GLOO"),
    )
    other = distributed.new_group([0])
    assert distributed.get_process_group_ranks(other) == [0] and distributed.get_rank(other) == 0
    distributed.destroy_process_group(other)
    assert distributed.is_initialized()


def test_exchanges_with_itself(group):
    tensor = torch.ones(2)
    assert isinstance(distributed.ReduceOp.SUM, distributed.ReduceOp)
    assert distributed.all_reduce(tensor, op=distributed.ReduceOp.SUM) is None
    work = distributed.all_reduce(tensor, async_op=True)
    assert work.wait() and work.get_future().wait()[0] is tensor
    assert distributed.broadcast(tensor, 0) is None and distributed.barrier() is None
    assert tensor.tolist() == [1.0, 1.0]
    exchanges = (
        lambda out, value: distributed.all_gather([out], value),
        distributed.all_gather_into_tensor,
        lambda out, value: distributed.reduce_scatter(out, [value]),
        distributed.reduce_scatter_tensor,
        lambda out, value: distributed.all_to_all([out], [value]),
        distributed.all_to_all_single,
        lambda out, value: distributed.gather(value, [out], 0),
        lambda out, value: distributed.scatter(out, [value], 0),
    )
    for number, exchange in enumerate(exchanges):
        out = torch.zeros(2)
        assert exchange(out, torch.full((2,), float(number + 1))) is None
        assert out.tolist() == [number + 1.0] * 2
    for exchange in (
        distributed.all_gather_object,
        lambda out, value: distributed.gather_object(value, out, 0),
    ):
        objects = [None]
        exchange(objects, {"a": 1})
        assert objects == [{"a": 1}]


def test_what_a_group_of_one_refuses(group):
    with pytest.raises(ValueError, match="twice"):
        distributed.init_process_group("gloo", rank=0, world_size=1)
    with pytest.raises(RuntimeError, match="rank 1"):
        distributed.broadcast(torch.ones(1), 1)
    with pytest.raises(RuntimeError, match="1 tensor"):
        distributed.all_gather([torch.ones(1)] * 2, torch.ones(1))
    with pytest.raises(RuntimeError, match="sizes"):
        distributed.all_gather([torch.ones(2)], torch.ones(1))
    with pytest.raises(ValueError, match="int32"):
        distributed.all_gather([torch.ones(1, dtype=torch.int32)], torch.ones(1))
    with pytest.raises(ValueError, match="gather_list"):
        distributed.gather(torch.ones(1))
    with pytest.raises(TypeError, match="ReduceOp"):
        distributed.all_reduce(torch.ones(1), "SUM")
    with pytest.raises(ValueError, match="nobody"):
        distributed.send(torch.ones(1), 1)
    with pytest.raises(ValueError, match="ranks"):
        distributed.new_group([1])


def test_gradients_pass_through_exchanges(group):
    functional = torch.distributed.nn.functional
    tensor = torch.ones(2, requires_grad=True)
    found = functional.all_reduce(tensor) + functional.all_gather(tensor)[0] * 2
    found.sum().backward()
    assert tensor.grad.tolist() == [3.0, 3.0]


def test_a_module_in_one_process(group):
    module = nn.Linear(2, 1)
    parallel = nn.parallel.DistributedDataParallel(module, find_unused_parameters=True)
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    with parallel.no_sync():
        assert not parallel.require_backward_grad_sync
        parallel(torch.ones(3, 2)).sum().backward()
    assert parallel.require_backward_grad_sync
    assert module.weight.grad.tolist() == [[3.0, 3.0]]
    with pytest.raises(RuntimeError, match="no parameter"):
        nn.parallel.DistributedDataParallel(nn.ReLU())
    with pytest.raises(ValueError, match="CPU"):
        nn.parallel.DistributedDataParallel(module, device_ids=[0])
    with pytest.raises(NotImplementedError, match="register_post_accumulate_grad_hook"):
        parallel.register_comm_hook(None, lambda state, bucket: None)


def test_a_sampler_asks_the_group(group):
    sampler = torch.utils.data.DistributedSampler(range(3), shuffle=False)
    assert (list(sampler), sampler.num_replicas, sampler.rank) == ([0, 1, 2], 1, 0)
    assert torch.utils.data.distributed.DistributedSampler is type(sampler)


def test_a_sampler_without_a_group_is_told_whom_it_is_for():
    assert list(torch.utils.data.DistributedSampler(range(4), 2, 1, shuffle=False)) == [1, 3]
    with pytest.raises(ValueError, match="init_process_group"):
        torch.utils.data.DistributedSampler(range(3))


def test_a_mesh_of_one(group):
    mesh = distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    assert repr(mesh) == "DeviceMesh((data=1, model=1), 'cpu', stride=((), ()))"
    assert (mesh.shape, mesh.ndim, mesh.size(), mesh.get_coordinate()) == ((1, 1), 2, 1, (0, 0))
    assert mesh["data"].mesh_dim_names == ("data",) and mesh["data"].get_group() is group
    with pytest.raises(KeyError, match="other"):
        mesh["other"]
    with pytest.raises(RuntimeError, match="mesh_dim"):
        mesh.get_group()
    with pytest.raises(RuntimeError, match="one process"):
        distributed.init_device_mesh("cpu", (2,))
    with pytest.raises(RuntimeError, match="2 names for 1"):
        distributed.init_device_mesh("cpu", (1,), mesh_dim_names=("a", "b"))


def test_placements_are_values():
    from adjoint.compat.torch.distributed.tensor import Partial, Replicate, Shard

    assert Shard(1) == Shard(1) != Shard(0) and repr(Shard(1)) == "Shard(dim=1)"
    assert Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Replicate().is_replicate()
    assert Partial("avg").is_partial() and repr(Partial()) == "Partial(sum)"


def test_a_join_calls_what_is_joined():
    from adjoint.compat.torch.distributed.algorithms.join import Join, Joinable, JoinHook

    seen = []

    class Counting(Joinable):
        def join_hook(self, **options):
            class Hook(JoinHook):
                def post_hook(self, is_last_joiner):
                    seen.append(is_last_joiner)

            return Hook()

    counting = Counting()
    with Join([counting]):
        Join.notify_join_context(counting)
    assert seen == [True]


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
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert distributed.get_node_local_rank() == 3
    monkeypatch.delenv("LOCAL_RANK")
    with pytest.raises(RuntimeError, match="LOCAL_RANK"):
        distributed.get_node_local_rank()
