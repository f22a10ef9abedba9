"""Selective checkpointing: a policy says of each call whether its result is kept or recomputed.

A kept result takes the place of the computation when the region is run again; the call is recorded
all the same. Views are always made again, since they hold no memory of their own, and so are
in-place changes, since they must be made in every run.
"""

import enum
from collections.abc import Callable
from typing import Any

from adjoint.autograd.graph_task import current_task
from adjoint.backends import backend_of
from adjoint.call.arguments import tensors_in
from adjoint.ops.op import Op
from adjoint.pytree import tree_flatten, tree_unflatten
from adjoint.tensors.tensor import AS_IS, Tensor
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
        leaves, self.spec = tree_flatten(output)
        self.leaves = [_Kept(v, offload) if isinstance(v, Tensor) else v for v in leaves]

    def again(self, op: Op, allow_mutation: bool) -> Any:
        """The result, its tensors without history."""
        kept = [leaf for leaf in self.leaves if isinstance(leaf, _Kept)]
        if not allow_mutation and any(leaf.changed() for leaf in kept):
            raise RuntimeError(
                f"a result of {op.name} kept by selective checkpoint has been mutated in place "
                "since; recompute it, or give allow_cache_entry_mutation=True"
            )
        leaves = [v.tensor() if isinstance(v, _Kept) else v for v in self.leaves]
        return tree_unflatten(leaves, self.spec)


class _Kept:
    """One tensor of a kept result."""

    def __init__(self, tensor: Tensor, offload: bool) -> None:
        self.counter = tensor.counter()
        self.version = tensor.version()
        self.backend = backend_of(tensor.array)
        self.device = self.backend.device(tensor.array)
        self.offload = offload
        self.array = tensor.numpy_array() if offload else tensor.array

    def changed(self) -> bool:
        """Whether the values are others by now."""
        return self.counter.value != self.version

    def tensor(self) -> Tensor:
        """The values where they were."""
        if not self.offload:
            return Tensor(self.array, AS_IS)
        return Tensor(self.backend.from_numpy(self.array, self.device), AS_IS)


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
    """Later runs: kept results in place of computing them."""

    def __init__(self, store: _Store, allow_mutation: bool) -> None:
        super().__init__()
        self.store = store
        self.allow_mutation = allow_mutation

    def watching(self) -> Callable[[Any, list[Any]], Any]:
        """See Watcher; passes of several threads may run the region again at once."""
        return _Rerun(self.store, self.allow_mutation).call


class _Rerun:
    """One later run, which counts its own calls."""

    def __init__(self, store: _Store, allow_mutation: bool) -> None:
        self.store = store
        self.allow_mutation = allow_mutation
        self.counts: dict[Any, int] = {}

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
        output = op.recorded(values, found.again(op, self.allow_mutation))
        task = current_task()
        if task is not None and not task.keep_graph:
            results[index] = None  # this pass is the last to ask
        return output


def _can_keep(op: Any, values: list[Any]) -> bool:
    """Whether a result alone can stand for the call."""
    if not isinstance(op, Op) or not op.stands_for_calls():
        return False
    return not any(tensor.special for tensor in tensors_in(values))


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
