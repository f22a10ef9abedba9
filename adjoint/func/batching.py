"""vmap: a function of one element, over a whole batch at once."""

import functools
from collections.abc import Callable
from typing import Any

from adjoint.call.context import current
from adjoint.call.layers import opened
from adjoint.ops.arranging.shape import cat, expand, movedim
from adjoint.pytree import TreeSpec, tree_flatten, tree_unflatten
from adjoint.random import get_rng_state, set_rng_state
from adjoint.tensors.tensor import Tensor
from adjoint.transforms.batches import BatchLevel, layered, value_at

RANDOMNESS = ("error", "different", "same")

# How a library has vmap take its containers apart and together; None: as pytrees.
by_steps: Callable[..., Any] | None = None


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function over batches, from one of a single element of each.

    `in_dims` says along which dimension of each argument the batch lies, None for arguments that
    are the same for all elements; it may be a structure like that of the arguments. `out_dims` says
    where it lies in the results. `randomness` says what random functions do: "error" refuses them,
    "same" draws once for all elements, "different" for each. With `chunk_size` so many elements are
    worked on at once, at most.
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same': got "
            f"{randomness!r}"
        )
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0: got {chunk_size!r}")

    @functools.wraps(func, updated=())
    def batched(*args: Any, **kwargs: Any) -> Any:
        if by_steps is not None and chunk_size is None and current().tracing is None:
            return by_steps(func, in_dims, out_dims, randomness, args, kwargs)
        mapped = Mapped(func, in_dims, out_dims, randomness)
        size = mapped.take(args, kwargs)
        if chunk_size is None or chunk_size >= size:
            return mapped.whole()
        return mapped.in_chunks(chunk_size)

    return batched


def name_of(func: Any) -> str:
    """What a function is called in messages."""
    return str(getattr(func, "__name__", repr(func)))


def no_tensor(name: str, result: Any) -> ValueError:
    """The error for a result that can't lie in a batch."""
    return ValueError(
        f"vmap: `{name}` must only return Tensors, got type {type(result)}; out_dims=None, or a "
        "None in out_dims at its place, passes it on as it is"
    )


class Mapped:
    """One call of a function that vmap has made."""

    def __init__(self, func: Any, in_dims: Any, out_dims: Any, randomness: str) -> None:
        self.func = func
        self.in_dims = in_dims
        self.out_dims = out_dims
        self.randomness = randomness
        self.leaves: list[Any] = []
        self.dims: list[int | None] = []
        self.specs: list[tuple[TreeSpec | None, int]] = []  # of each argument; None: a Tensor
        self.keywords: dict[str, Any] = {}  # arguments that are the same for all elements
        self.size = 0

    def call_shown(self) -> str:
        """The call, for messages."""
        return f"vmap({name_of(self.func)}, in_dims={self.in_dims}, ...)(<inputs>)"

    # ---- arguments ----

    def take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """Take the arguments apart, and answer the size of the batch; refuse what doesn't fit."""
        self.take_apart(args, kwargs)
        pairs = self.pairs()
        if not pairs:
            raise ValueError(
                f"{self.call_shown()}: at least one Tensor must be mapped over, but all in_dims "
                "are None"
            )
        sizes = [int(leaf.shape[dim]) for leaf, dim in pairs]
        self.size = sizes[0]
        if any(size != self.size for size in sizes):
            raise ValueError(
                f"{self.call_shown()}: Expected all tensors to have the same size in the mapped "
                f"dimension, got sizes {sizes} for the mapped dimension"
            )
        return self.size

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Find all leaves of the arguments, and the dimension of each along which the batch lies.

        Keyword arguments have no batch, as in PyTorch.
        """
        if not isinstance(self.in_dims, (int, tuple)) or isinstance(self.in_dims, bool):
            raise ValueError(
                f"{self.call_shown()}: expected `in_dims` to be int or a (potentially nested) "
                f"tuple matching the structure of inputs, got: {type(self.in_dims)}."
            )
        if not args:
            raise ValueError(
                f"{self.call_shown()}: got no inputs. Maybe you forgot to add inputs, or you are "
                "trying to vmap over a function with no inputs, which can't be done: arguments "
                "given by keyword have no batch."
            )
        self.keywords = kwargs
        dims = [self.in_dims] * len(args) if isinstance(self.in_dims, int) else self.in_dims
        if len(dims) != len(args):
            raise self.misfit(args)
        found: list[Any] = []
        for arg, dim in zip(args, dims):
            if isinstance(arg, Tensor):
                leaves, spec = [arg], None
            else:
                leaves, spec = tree_flatten(arg)
            self.leaves.extend(leaves)
            self.specs.append((spec, len(leaves)))
            own = [dim] * len(leaves) if dim is None or isinstance(dim, int) else spread(dim, arg)
            if own is None:
                raise self.misfit(args)
            found.extend(own)
        for i, (leaf, dim) in enumerate(zip(self.leaves, found)):
            self.dims.append(self.checked(i, leaf, dim))

    def misfit(self, args: tuple[Any, ...]) -> ValueError:
        """The error for in_dims of another structure than the arguments."""
        return ValueError(
            f"{self.call_shown()}: in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {tree_flatten(self.in_dims)[1]} but inputs has structure "
            f"{tree_flatten(args)[1]}."
        )

    def rebuilt(self, leaves: list[Any]) -> list[Any]:
        """The arguments again, from other leaves."""
        given: list[Any] = []
        at = 0
        for spec, count in self.specs:
            part = leaves[at : at + count]
            given.append(part[0] if spec is None else tree_unflatten(part, spec))
            at += count
        return given

    def pairs(self) -> list[tuple[Any, int]]:
        """The arguments that are mapped, and along which dimension."""
        return [(leaf, dim) for leaf, dim in zip(self.leaves, self.dims) if dim is not None]

    def checked(self, i: int, leaf: Any, dim: Any) -> int | None:
        """The dimension of an argument that is mapped, counted from the front."""
        if dim is None:
            return None
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise ValueError(
                f"{self.call_shown()}: Got in_dim={dim!r} for an input but in_dim must be either "
                "an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{self.call_shown()}: Got in_dim={dim} for an input but the input is of type "
                f"{type(leaf)}. We cannot vmap over non-Tensor arguments; use None as its in_dim "
                f"instead (it is argument {i}, counted through all structures)"
            )
        rank = leaf.ndim
        if rank == 0:
            raise ValueError(
                f"{self.call_shown()}: Got in_dim={dim} for some input, but that input is a "
                "Tensor of dimensionality 0, which has no dimension to map over"
            )
        if not -rank <= dim < rank:
            raise ValueError(
                f"{self.call_shown()}: Got in_dim={dim} for some input, but that input is a "
                f"Tensor of dimensionality {rank} so expected in_dim to satisfy "
                f"-{rank} <= in_dim < {rank}."
            )
        return dim % rank

    # ---- the call ----

    def whole(self) -> Any:
        """The results for all elements at once."""
        leaves = [self.in_front(leaf, dim) for leaf, dim in zip(self.leaves, self.dims)]
        outputs, dims, spec = self.run(leaves, self.size)
        placed = [place(value, dim) for value, dim in zip(outputs, dims)]
        return tree_unflatten(placed, spec)

    def in_chunks(self, chunk_size: int) -> Any:
        """The same, so many elements at a time."""
        leaves = [self.in_front(leaf, dim) for leaf, dim in zip(self.leaves, self.dims)]
        rows: list[list[Any]] = []
        state = get_rng_state() if self.randomness == "same" else None
        for start in range(0, self.size, chunk_size):
            if state is not None:  # all chunks draw what the first one has drawn
                set_rng_state(state)
            end = min(start + chunk_size, self.size)
            part = [
                leaf[start:end] if dim is not None else leaf for leaf, dim in zip(leaves, self.dims)
            ]
            outputs, dims, spec = self.run(part, end - start)
            rows.append(outputs)
        joined = [
            column[0] if dim is None else place(cat(list(column), 0), dim)
            for column, dim in zip(zip(*rows), dims)
        ]
        return tree_unflatten(joined, spec)

    def in_front(self, leaf: Any, dim: int | None) -> Any:
        """An argument with its batch along the first dimension."""
        return leaf if dim is None or dim == 0 else movedim(leaf, dim, 0)

    def run(self, leaves: list[Any], size: int) -> tuple[list[Any], list[Any], TreeSpec]:
        """Call the function inside a level: its results, their batches in front, and out_dims."""
        level = BatchLevel(size, self.randomness)
        tracing = current().tracing
        if tracing is not None:  # a layer looks like what the program works on
            tracing.lift_all([leaf for leaf in leaves if isinstance(leaf, Tensor)])
        with opened(level):
            inside = [
                leaf if dim is None else layered(level, leaf, given_dim=dim)
                for leaf, dim in zip(leaves, self.dims)
            ]
            answer = self.func(*self.rebuilt(inside), **self.keywords)
            results, spec = tree_flatten(answer)
            dims = self.placed_dims(answer, results, spec)
            outputs = [self.taken_out(level, r, dim) for r, dim in zip(results, dims)]
        return outputs, dims, spec

    def placed_dims(self, answer: Any, results: list[Any], spec: TreeSpec) -> list[Any]:
        """Where the batch lies in each result; what is no Tensor has none."""
        dims = self.dims_of(answer, results, spec)
        for result, dim in zip(results, dims):
            if dim is not None and not isinstance(result, Tensor):
                raise no_tensor(name_of(self.func), result)
        return dims

    def dims_of(self, answer: Any, results: list[Any], spec: TreeSpec) -> list[Any]:
        """What out_dims says of each result."""
        if isinstance(self.out_dims, int):
            return [self.out_dims] * len(results)
        if isinstance(answer, Tensor) and isinstance(self.out_dims, (tuple, list)):
            single = self.out_dims[0] if len(self.out_dims) == 1 else self.out_dims
            found: Any = [single] if single is None or isinstance(single, int) else None
        else:
            found = (
                [None] * len(results) if self.out_dims is None else spread(self.out_dims, answer)
            )
        if found is None or not all(dim is None or isinstance(dim, int) for dim in found):
            raise ValueError(
                f"vmap({name_of(self.func)}, ..., out_dims={self.out_dims})(<inputs>): out_dims is "
                f"not compatible with the structure of `outputs`. out_dims has structure "
                f"{tree_flatten(self.out_dims)[1]} but outputs has structure {spec}."
            )
        return list(found)

    def taken_out(self, level: BatchLevel, result: Tensor, dim: int | None) -> Tensor:
        """A result as seen from outside; what is the same for all elements is shown to each."""
        value, batched = value_at(level, result)
        if dim is None:
            if batched:
                raise ValueError(
                    f"vmap({name_of(self.func)}, ...): `{name_of(self.func)}` can not return a "
                    "BatchedTensor when out_dim is None"
                )
            return value  # type: ignore[no-any-return]  # a Tensor, as the result is
        return value if batched else expand(value, (level.size, *value.shape))  # type: ignore[no-any-return]


def place(value: Tensor, dim: int | None) -> Tensor:
    """A result with its batch where it was asked for."""
    if dim is None or dim == 0:
        return value
    rank = value.ndim
    if not -rank <= dim < rank:
        raise IndexError(
            f"vmap: out_dim {dim} is out of range (expected to be in range of [-{rank}, "
            f"{rank - 1}]) for a result with {rank - 1} dimensions and its batch"
        )
    return movedim(value, 0, dim)  # type: ignore[no-any-return]  # an op of a Tensor


def spread(prefix: Any, tree: Any) -> list[Any] | None:
    """A value for each leaf of a tree, from one for each leaf or branch; None if they don't fit."""
    leaves, _ = tree_flatten(tree)
    if prefix is None or isinstance(prefix, int):
        return [prefix] * len(leaves)
    if type(prefix) is not type(tree):
        return None
    if isinstance(prefix, (tuple, list)):
        if len(prefix) != len(tree):
            return None
        parts = [spread(p, t) for p, t in zip(prefix, tree)]
    elif isinstance(prefix, dict):
        if prefix.keys() != tree.keys():
            return None
        parts = [spread(prefix[key], tree[key]) for key in tree]
    else:
        return None
    found: list[Any] = []
    for part in parts:
        if part is None:
            return None
        found.extend(part)
    return found
