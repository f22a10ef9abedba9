"""Selective checkpointing: a policy says of each call whether its result is kept or recomputed.

A kept result takes the place of the computation when the region is run again; the call is recorded
all the same. Views are always made again, since they hold no memory of their own, and so are
in-place changes, since they must be made in every run.
"""

import enum
from collections.abc import Callable
from typing import Any

from adjoint import dispatch
from adjoint.autograd.graph_task import current_task
from adjoint.backends import backend_of
from adjoint.backends.numpy import numpy_backend
from adjoint.ops.op import Op
from adjoint.promotion import common_backend
from adjoint.utils.checkpoint.recompute import CheckpointError
from adjoint.utils.checkpoint.trace import Watcher

SAC_IGNORED_OPS: set[Any] = set()  # which no policy is asked about


class CheckpointPolicy(enum.Enum):
    """What becomes of a call's result; MUST and PREFER differ only for compilers."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_KEPT = {CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE}
_OFFLOADED = {CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD}


class SelectiveCheckpointContext:
    """What a policy learns of a call besides its arguments; it is asked in the first run only."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


class _Result:
    """The kept result of one call: its arrays, on the host if offloaded, and their versions."""

    def __init__(self, output: Any, offload: bool) -> None:
        self.several = isinstance(output, tuple)
        tensors = output if isinstance(output, tuple) else (output,)
        self.counters = [(tensor.counter(), tensor.version()) for tensor in tensors]
        self.devices = [backend_of(t.array).device(t.array) for t in tensors]
        self.backends = [backend_of(t.array) for t in tensors]
        self.offload = offload
        self.arrays = [t.numpy_array() if offload else t.array for t in tensors]

    def again(self, op: Op, allow_mutation: bool) -> Any:
        """The arrays as op's forward would answer them."""
        for counter, version in self.counters:
            if counter.value != version and not allow_mutation:
                raise RuntimeError(
                    f"a result of {op.name} kept by selective checkpoint has been mutated in place "
                    "since; recompute it, or give allow_cache_entry_mutation=True"
                )
        arrays = self.arrays
        if self.offload:
            places = zip(self.backends, arrays, self.devices)
            arrays = [backend.from_numpy(array, where) for backend, array, where in places]
        return tuple(arrays) if self.several else arrays[0]


class _Store:
    """The kept results of a region, by op and by how often it was called before."""

    def __init__(self) -> None:
        self.results: dict[Any, list[_Result | None]] = {}


class _Keeping(Watcher):
    """The first run: ask the policy about every call."""

    def __init__(self, policy: Callable[..., Any], store: _Store) -> None:
        super().__init__()
        self.policy = policy
        self.store = store

    def call(self, op: Any, values: list[Any]) -> Any:
        """See Watcher."""
        output = op.run(values)
        if op in SAC_IGNORED_OPS:
            return output
        args, kwargs = op.spelled(values)
        context = SelectiveCheckpointContext(is_recompute=False, op_output=output)
        answer = self.policy(context, op, *args, **kwargs)
        if isinstance(answer, bool):
            answer = CheckpointPolicy.MUST_SAVE if answer else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(answer, CheckpointPolicy):
            raise TypeError(
                f"the policy must answer a CheckpointPolicy or a bool for {op.name}, "
                f"got {type(answer).__name__}"
            )
        kept = (answer in _KEPT or answer in _OFFLOADED) and _can_keep(op, values)
        found = _Result(output, answer in _OFFLOADED) if kept else None
        self.store.results.setdefault(op, []).append(found)
        return output


class _Reusing(Watcher):
    """A later run: kept results in place of computing them."""

    def __init__(self, store: _Store, allow_mutation: bool) -> None:
        super().__init__()
        self.store = store
        self.allow_mutation = allow_mutation
        self.counts: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.counts = {}
        return super().__enter__()

    def call(self, op: Any, values: list[Any]) -> Any:
        """See Watcher."""
        if op in SAC_IGNORED_OPS:
            return op.run(values)
        index = self.counts.get(op, 0)
        self.counts[op] = index + 1
        results = self.store.results.get(op, [])
        if index >= len(results):
            raise CheckpointError(
                f"{op.name} invocation index {index} of the recomputation was not found in "
                f"storage: the first run called it {len(results)} times"
            )
        found = results[index]
        if found is None:
            return op.run(values)
        output = _recorded(op, values, found.again(op, self.allow_mutation))
        task = current_task()
        if task is not None and not task.keep_graph:
            results[index] = None  # this pass is the last to ask
        return output


def _can_keep(op: Any, values: list[Any]) -> bool:
    """Whether a result alone can stand for the call."""
    return isinstance(op, Op) and not (
        op.view or op.hides or any(t.special for t in dispatch.tensors_in(values))
    )


def _recorded(op: Op, values: list[Any], out: Any) -> Any:
    """A call whose result is known, recorded like any other."""
    tensors = dispatch.tensors_in(values)
    for tensor in tensors:
        tensor.up_to_date()
    backend = common_backend(op, tensors)
    if backend is not numpy_backend:
        values = dispatch.beside(values, tensors, backend)
    return dispatch.wrap(op, values, backend, out)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """The two contexts for checkpoint's context_fn.

    A policy function gets (context, op, *args, **kwargs) and answers a CheckpointPolicy; a list of
    ops, such as [adjoint.matmul], keeps their results and recomputes all others.
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not hasattr(op, "spelled"):  # an op, its in-place form, or a custom one
                raise ValueError(
                    f"Expected op in `op_list` to be an op of adjoint, such as adjoint.matmul, but "
                    f"got {op!r} of type {type(op).__name__}; functions made of several ops are not"
                )
        chosen = set(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
            return op in chosen

    elif not callable(policy_fn_or_list):
        raise TypeError(
            "policy_fn_or_list must be either a function or a list of ops, got "
            f"{type(policy_fn_or_list).__name__}"
        )
    store = _Store()
    return _Keeping(policy, store), _Reusing(store, allow_cache_entry_mutation)
