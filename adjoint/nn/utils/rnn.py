"""Sequences of different lengths in one tensor: padded to the longest, or packed step by step."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from adjoint.creation.factories import full_like, tensor
from adjoint.ops.arranging.arrange import pad
from adjoint.ops.arranging.indexing import index_select
from adjoint.ops.arranging.shape import cat, narrow, stack, transpose


class _Fields(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None


def _cast(name: str) -> Any:
    """A method that converts data as the method of a tensor of that name does."""

    def cast(self: "PackedSequence") -> "PackedSequence":
        return self.to(getattr(self.data, name)().dtype)

    cast.__name__ = name
    cast.__doc__ = f"With data converted by its method {name}()."
    return cast


class PackedSequence(_Fields):
    """Sequences, the longest first, without what pads them: all first steps, all second ones, ….

    `batch_sizes` says how many sequences have each step.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Any = None,
        sorted_indices: Any = None,
        unsorted_indices: Any = None,
    ) -> "PackedSequence":
        """The fields, with the order undone where only the order is given."""
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                f"batch_sizes should always be on CPU, got one on {batch_sizes.device}"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same with data, and the order, converted or moved."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        where = {"device": data.device}
        order = [None if i is None else i.to(**where) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *order)

    def cpu(self) -> "PackedSequence":
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """On a GPU."""
        return self.to("cuda", *args, **kwargs)

    def pin_memory(self) -> "PackedSequence":
        """The same: no memory is kept for quick copies to a GPU."""
        return self

    def is_pinned(self) -> bool:
        """Whether copies to a GPU are quick from it."""
        return False

    double = _cast("double")
    float = _cast("float")
    half = _cast("half")
    long = _cast("long")
    int = _cast("int")
    short = _cast("short")
    char = _cast("char")
    byte = _cast("byte")

    @property
    def is_cuda(self) -> bool:
        """Whether data is on a GPU."""
        return bool(self.data.device.type == "cuda")


def invert_permutation(permutation: Any) -> Any:
    """The permutation that undoes one."""
    if permutation is None:
        return None
    places = permutation.new_zeros(permutation.shape)
    return places.scatter_(0, permutation, permutation.new_tensor(range(len(permutation))))


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences, (steps, batch, …), packed by their lengths."""
    if input.numel() == 0:
        raise RuntimeError(f"cannot pack an empty tensor, got one of shape {list(input.shape)}")
    numbers = [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]
    order = None
    if not enforce_sorted:
        ranked = sorted(range(len(numbers)), key=lambda i: -numbers[i])
        order = tensor(ranked, device=input.device)
        input = index_select(input, 0 if batch_first else 1, order)
        numbers = [numbers[i] for i in ranked]
    steps = transpose(input, 0, 1) if batch_first else input
    if len(numbers) != steps.shape[1]:
        raise RuntimeError(
            f"pack_padded_sequence(): expected {steps.shape[1]} lengths, one a sequence, got "
            f"{len(numbers)}"
        )
    if not numbers or min(numbers) <= 0:
        raise RuntimeError(
            "pack_padded_sequence(): the length of all samples has to be greater than 0"
        )
    if numbers != sorted(numbers, reverse=True):
        raise RuntimeError(
            "pack_padded_sequence(): lengths must be sorted in decreasing order; give "
            "enforce_sorted=False to have it done"
        )
    sizes = [sum(n > step for n in numbers) for step in range(numbers[0])]
    data = cat([narrow(steps[step], 0, 0, size) for step, size in enumerate(sizes)])
    return PackedSequence(data, tensor(sizes), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: Any = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """The sequences padded to the longest, or to total_length; and their lengths."""
    sizes = sequence.batch_sizes.tolist()
    if not sizes:
        raise RuntimeError("pad_packed_sequence(): there are no steps: batch_sizes is empty")
    total = len(sizes) if total_length is None else total_length
    if total < len(sizes):
        raise ValueError(
            f"pad_packed_sequence(): total_length, {total}, is below the longest, {len(sizes)}"
        )
    rest = [0, 0] * (sequence.data.ndim - 1)
    parts = []
    for part in sequence.data.split(sizes):
        parts.append(pad(part, [*rest, 0, sizes[0] - part.shape[0]], value=padding_value))
    parts += [full_like(parts[0].detach(), padding_value)] * (total - len(sizes))
    steps = stack(parts)
    if batch_first:
        steps = transpose(steps, 0, 1)
    lengths = tensor([sum(size > i for size in sizes) for i in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        steps = index_select(steps, 0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices.cpu()]
    return steps, lengths


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Sequences, (steps, …) each, padded to the longest and stacked."""
    if padding_side not in ("left", "right"):
        raise ValueError(
            f"pad_sequence(): padding_side must be left or right, got {padding_side!r}"
        )
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence(): expected an iterable of tensors, got {type(sequences).__name__}"
        )
    listed = list(sequences)
    longest = max(len(sequence) for sequence in listed)
    padded = []
    for sequence in listed:
        lack = longest - len(sequence)
        sides = [0, lack] if padding_side == "right" else [lack, 0]
        padded.append(pad(sequence, [*[0, 0] * (sequence.ndim - 1), *sides], value=padding_value))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of a padded tensor, each at its own length."""
    rows = padded_sequences if batch_first else transpose(padded_sequences, 0, 1)
    return [narrow(row, 0, 0, int(n)) for row, n in zip(rows, lengths)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences of different lengths, packed."""
    listed = list(sequences)
    lengths = [len(sequence) for sequence in listed]
    return pack_padded_sequence(pad_sequence(listed), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences of a packed tensor, each at its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
