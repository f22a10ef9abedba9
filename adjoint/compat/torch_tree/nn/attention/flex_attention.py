"""torch.nn.attention.flex_attention: attention whose scores and masks a function says, by place.

A function of scalars is called once inside `vmap` over samples, heads, queries and keys. A mask in
blocks says which are empty and which full; what is computed is masked by its function.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from adjoint.call.half_precision import is_half
from adjoint.creation.factories import arange, zeros
from adjoint.dtypes import bool_, float32, int32
from adjoint.func.batching import vmap
from adjoint.ops.arranging.arrange import pad, repeat_interleave
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.elementwise.selection import where
from adjoint.ops.matrices.matmul import matmul, mT
from adjoint.ops.reducing.reduction import logsumexp
from adjoint.ops.reducing.sorting import argsort
from adjoint.ops.same_dtype import same_kind
from adjoint.tensors.tensor import Tensor

_DEFAULT_SPARSE_BLOCK_SIZE: Final = 128
_RANK: Final = 4  # samples, heads, places, features
_PLACES: Final = (
    (None, None, None, 0),
    (None, None, 0, None),
    (None, 0, None, None),
    (0, None, None, None),
)

Mask = Callable[[Any, Any, Any, Any], Any]


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """True everywhere."""
    return batch.new_ones(size=(), dtype=bool_, device=batch.device)


def and_masks(*mask_mods: Mask) -> Mask:
    """Where all masks are True."""

    def both(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        found = b.new_ones((), dtype=bool_)
        for each in mask_mods:
            found = found & each(b, h, q_idx, kv_idx)
        return found

    return both


def or_masks(*mask_mods: Mask) -> Mask:
    """Where one of several masks is True."""

    def either(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        found = b.new_zeros((), dtype=bool_)
        for each in mask_mods:
            found = found | each(b, h, q_idx, kv_idx)
        return found

    return either


def _everywhere(function: Any, sizes: Any, device: Any, *scores: Any) -> Any:
    """What a function says of each place."""
    for dims in _PLACES:
        function = vmap(function, in_dims=((0,) * len(scores) + dims))
    return function(*scores, *[arange(size, device=device) for size in sizes])


def create_mask(
    mod_fn: Any, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Any:
    """A mask as a tensor, of all places."""
    return _everywhere(mod_fn, (B or 1, H or 1, Q_LEN, KV_LEN), device)


# ---- masks in blocks ----


class BlockMask:
    """Which blocks of queries and keys a mask leaves: partly, and those it leaves whole."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any,
        full_kv_indices: Any,
        BLOCK_SIZE: tuple[int, int],
        mask_mod: Mask,
    ) -> None:
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod
        self.q_num_blocks, self.q_indices = _turned(kv_num_blocks, kv_indices)
        self.full_q_num_blocks = self.full_q_indices = None
        if full_kv_num_blocks is not None:
            turned = _turned(full_kv_num_blocks, full_kv_indices)
            self.full_q_num_blocks, self.full_q_indices = turned

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Any,
        kv_indices: Any,
        full_kv_num_blocks: Any = None,
        full_kv_indices: Any = None,
        BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Mask | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> "BlockMask":
        """From how many blocks of keys each block of queries has, and which, the first ones."""
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be given both, or neither"
            )
        sizes = _pair(BLOCK_SIZE)
        rows, columns = kv_indices.shape[-2:]
        lengths = seq_lengths or (rows * sizes[0], columns * sizes[1])
        full = (full_kv_num_blocks, full_kv_indices)
        return cls(lengths, kv_num_blocks, kv_indices, *full, sizes, mask_mod or noop_mask)

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many places there are."""
        return math.prod(self.shape)

    def to_dense(self) -> Any:
        """1 for each block that is not empty."""
        partial = _spread(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None:
            return partial
        return partial | _spread(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self) -> float:
        """How many of a hundred places lie in blocks that are empty."""
        count = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            count += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - count * math.prod(self.BLOCK_SIZE) / self.numel())

    def __getitem__(self, index: Any) -> "BlockMask":
        return self.changed(lambda part: part[index])

    def to(self, device: Any) -> "BlockMask":
        """The same on another device."""
        return self.changed(lambda part: part.to(device))

    def changed(self, change: Callable[[Any], Any]) -> "BlockMask":
        """The same with something done to its tensors."""
        counts, indices = change(self.kv_num_blocks), change(self.kv_indices)
        full: tuple[Any, Any] = (None, None)
        if self.full_kv_num_blocks is not None:
            full = change(self.full_kv_num_blocks), change(self.full_kv_indices)
        return BlockMask(self.seq_lengths, counts, indices, *full, self.BLOCK_SIZE, self.mask_mod)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


def _listed(dense: Any) -> tuple[Any, Any]:
    """How many blocks of each row are set, and all of them, those first."""
    wide = dense.to(int32)
    order = argsort(wide, dim=-1, descending=True, stable=True)
    return wide.sum(-1).to(int32), order.to(int32)


def _spread(counts: Any, indices: Any) -> Any:
    """Blocks by place, 1 for those that are listed."""
    size = indices.shape[-1]
    listed = arange(size, device=indices.device) < counts.unsqueeze(-1)
    empty: Any = zeros(tuple(indices.shape), dtype=int32, device=indices.device)
    return empty.scatter(-1, indices.long(), listed.to(int32))


def _turned(counts: Any, indices: Any) -> tuple[Any, Any]:
    """The same by blocks of keys."""
    return _listed(mT(_spread(counts, indices)))


def create_block_mask(
    mask_mod: Mask,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """The blocks that a mask leaves."""
    sizes = _pair(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    more = [-length % size for length, size in zip((Q_LEN, KV_LEN), sizes, strict=True)]
    wide = pad(mask.to(int32), (0, more[1], 0, more[0]))
    rows, columns = (wide.shape[-2] // sizes[0], wide.shape[-1] // sizes[1])
    cut = reshape(wide, (*wide.shape[:2], rows, sizes[0], columns, sizes[1]))
    counts = cut.sum((3, 5))
    full = counts == math.prod(sizes)
    partial = (counts > 0) & ~full
    parts = (*_listed(partial), *_listed(full))
    return BlockMask((Q_LEN, KV_LEN), *parts, sizes, mask_mod)


# ---- attention ----


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: Any, enable_gqa: bool) -> None:
    if not query.ndim == key.ndim == value.ndim == _RANK:
        raise NotImplementedError(
            "flex_attention(): query, key and value must have 4 dimensions, got "
            f"{query.ndim}, {key.ndim} and {value.ndim}"
        )
    same_kind("flex_attention", query, key=key, value=value)
    heads, known = query.shape[1], key.shape[1]
    if heads != known and not (enable_gqa and heads % known == 0):
        raise ValueError(
            f"flex_attention(): {heads} heads of queries for {known} of keys; enable_gqa=True lets "
            "several share one, where they divide"
        )
    if block_mask is not None:
        lengths = (query.shape[-2], key.shape[-2])
        if tuple(block_mask.seq_lengths) != lengths:
            raise ValueError(
                f"flex_attention(): block_mask was made for {block_mask.seq_lengths} queries and "
                f"keys, got {lengths}"
            )


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: Any = None,
) -> Any:
    """softmax(score_mod(query @ key.T * scale)) @ value, where block_mask holds."""
    if return_aux is not None:
        raise NotImplementedError("flex_attention(): return_aux; ask for return_lse=True")
    _check(query, key, value, block_mask, enable_gqa)
    repeats = query.shape[1] // key.shape[1]
    if repeats > 1:
        key, value = (repeat_interleave(each, repeats, 1) for each in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    kind = query.dtype
    wide = [each.to(float32) if is_half(kind.numpy_dtype) else each for each in (query, key, value)]
    scores = matmul(wide[0], mT(wide[1])) * factor
    sizes = tuple(scores.shape)
    if score_mod is not None:
        scores = _everywhere(score_mod, sizes, scores.device, scores).to(scores.dtype)
    if block_mask is not None:
        mask = _everywhere(block_mask.mask_mod, sizes, scores.device)
        scores = where(mask, scores, -math.inf)
    total = logsumexp(scores, -1)
    shut = total == -math.inf
    weights = (scores - where(shut, 0.0, total).unsqueeze(-1)).exp()
    out = matmul(weights, wide[2]).to(kind)
    return (out, total) if return_lse else out
