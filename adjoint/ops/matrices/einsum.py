"""Sums of products over labelled dimensions: einsum, and what is made of it."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from adjoint.call.arguments import conj
from adjoint.call.out import write_out
from adjoint.dtypes import promote_types
from adjoint.ops.annotations import Array, Value
from adjoint.ops.arranging.shape import expand, permute
from adjoint.ops.arranging.strided import diagonal
from adjoint.ops.dims import normal_dim
from adjoint.ops.matrices.matmul import (
    dot,
    same_dtype,
    shapes_of,
)
from adjoint.ops.op import composite, multilinear
from adjoint.ops.reducing.reduction import sum


def _sizes(labels: str, shape: Any) -> dict[str, int]:
    return dict(zip(labels, shape))


def _contracted_each(
    input: Any,
    input_batched: bool,
    other: Any,
    other_batched: bool,
    left: str,
    right: str,
    out: str,
) -> Any:
    """The batch is one more label, of those that have it and of the result."""
    used = {*left, *right}
    label = next(letter for letter in map(chr, itertools.count(256)) if letter not in used)
    left, right = label * input_batched + left, label * other_batched + right
    return contract(input, other, left, right, label + out)


@multilinear(
    input=lambda grad, other, left, right, out: contract(grad, conj(other), out, right, left),
    other=lambda grad, input, left, right, out: contract(conj(input), grad, left, out, right),
    vmap=_contracted_each,
    node_name="EinsumBackward0",
    home=None,
    autocast="narrow",
    ordered=True,
)
def contract(xp: Any, input: Array, other: Array, left: str, right: str, out: str) -> Array:
    """The sum of products of two operands over the labels that `out` lacks.

    No label repeats within an operand, and each one of an operand is also in the other or in `out`;
    so the gradients are contractions of the same kind.
    """
    same_dtype(input, other)
    sizes = _sizes(left, input.shape) | _sizes(right, other.shape)
    batch = [label for label in left if label in right and label in out]
    summed = [label for label in left if label in right and label not in out]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]

    def arranged(array: Any, labels: str, *groups: list[str]) -> Any:
        order = [labels.index(label) for label in [*batch, *groups[0], *groups[1]]]
        shape = [sizes[label] for label in batch]
        shape += [math.prod(sizes[label] for label in group) for group in groups]
        return xp.reshape(xp.transpose(array, order), shape)

    first, second = arranged(input, left, rows, summed), arranged(other, right, summed, columns)
    product = xp.matmul(first, second) if summed else xp.multiply(first, second)
    made = [*batch, *rows, *columns]
    product = xp.reshape(product, [sizes[label] for label in made])
    return xp.transpose(product, [made.index(label) for label in out])


def labels_of(equation: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, one character for each dimension."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    for part in (*parts, right):
        letters = part.replace("...", "", 1)
        whole = "." not in equation.replace("...", "")  # an ellipsis has no spaces within
        if not whole or not all(letter.isascii() and letter.isalpha() for letter in letters):
            raise RuntimeError(
                f"einsum(): subscripts must be letters and at most one ellipsis, got '{part}'"
            )
    if len(parts) != len(operands):
        raise RuntimeError(
            f"einsum(): the equation '{equation}' is for {len(parts)} operands, got {len(operands)}"
        )
    hidden = [operand.ndim - len(part.replace("...", "")) for part, operand in zip(parts, operands)]
    for part, operand, count in zip(parts, operands, hidden):
        if count < 0 or (count and "..." not in part):
            raise RuntimeError(
                f"einsum(): '{part}' does not name the {operand.ndim} dimensions of an operand "
                f"of shape {tuple(operand.shape)}"
            )
    widest = (
        max(count for part, count in zip(parts, hidden) if "..." in part) if ("..." in left) else 0
    )
    covered = "".join(chr(ord("0") + i) for i in range(widest))  # what the ellipsis stands for
    labels = [part.replace("...", covered[widest - count :]) for part, count in zip(parts, hidden)]
    letters = left.replace("...", "").replace(",", "")
    if not arrow:
        return labels, covered + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    out = right.replace("...", covered)
    for label in out:
        if out.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {label} appears more than once")
        if label not in letters and label not in covered:
            raise RuntimeError(f"einsum(): output subscript {label} is in no operand")
    return labels, out


def label_sizes(labels: list[str], operands: Sequence[Any]) -> dict[str, int]:
    """The size of each label; sizes of 1 give way to others."""
    sizes: dict[str, int] = {}
    for part, operand in zip(labels, operands):
        for label, size in zip(part, operand.shape):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} in the operand of shape "
                    f"{tuple(operand.shape)} and {known} in one before"
                )
    return sizes


def _without_repeats(operand: Any, labels: str) -> tuple[Any, str]:
    """The operand's diagonals for labels that it has several times."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            operand = diagonal(operand, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return operand, labels


def _summed_out(operand: Any, labels: str, wanted: set[str]) -> tuple[Any, str]:
    """The operand summed over the labels that nobody else wants."""
    dims = [i for i, label in enumerate(labels) if label not in wanted]
    if dims:
        operand = sum(operand, dims)
    return operand, "".join(label for label in labels if label in wanted)


def _next_pair(labels: list[str], out: str, sizes: dict[str, int]) -> tuple[int, int]:
    """Which two operands to contract next: those whose product saves most elements."""

    def count(letters: Any) -> int:
        return math.prod(sizes[label] for label in letters)

    best: tuple[int, int, int] | None = None
    for i in range(len(labels)):
        for j in range(i + 1, len(labels)):
            kept = _kept(labels, i, j, out)
            cost = count(kept) - count(labels[i]) - count(labels[j])
            if best is None or cost < best[0]:
                best = (cost, i, j)
    assert best is not None
    return best[1], best[2]


def _kept(labels: list[str], i: int, j: int, out: str) -> str:
    """The labels of the product of operands i and j that are wanted later."""
    later = set(out).union(*(part for k, part in enumerate(labels) if k not in (i, j)))
    return "".join(label for label in dict.fromkeys(labels[i] + labels[j]) if label in later)


def _from_sublists(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation and operands of einsum(operand, [0, 1], ..., [out])."""

    def letters(sublist: Any) -> str:
        text = ""
        for entry in sublist:
            if entry is not Ellipsis and not 0 <= entry < 52:
                raise ValueError(f"einsum(): subscripts must be from 0 to 51, got {entry}")
            shifted = (
                entry if entry is Ellipsis or entry < 26 else entry + 6
            )  # after 'Z' come 6 others
            text += "..." if entry is Ellipsis else chr(ord("A") + shifted)
        return text

    operands = list(args[: len(args) // 2 * 2 : 2])
    equation = ",".join(letters(sublist) for sublist in args[1::2])
    return (f"{equation}->{letters(args[-1])}" if len(args) % 2 else equation), operands


def equation_of(args: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The equation and operands of a call of einsum, in either form."""
    if len(args) < 2:
        raise ValueError("einsum(): needs an equation and at least one operand")
    if isinstance(args[0], str):
        return args[0], list(args[1:])
    return _from_sublists(args)


@composite(method=False, numpy=True, spreads=True)
def einsum(*args: Any) -> Value:
    """Sums of products of operands, as 'ij,jk->ik' or lists of ints name their dimensions."""
    equation, operands = equation_of(args)
    labels, out = labels_of(equation, operands)
    sizes = label_sizes(labels, operands)
    wide = []  # of each operand, the labels of sizes of its own: sums over others are none
    for i, operand in enumerate(operands):
        own = zip(labels[i], operand.shape, strict=True)
        wide.append({label for label, size in own if size != 1})
        full = tuple(sizes[label] for label in labels[i])
        if tuple(operand.shape) != full:
            operand = expand(operand, full)
        operands[i], labels[i] = _without_repeats(operand, labels[i])
    for i in range(len(operands)):
        others = set(out).union(*(part for k, part in enumerate(labels) if k != i))
        operands[i], labels[i] = _summed_out(operands[i], labels[i], others)
    while len(operands) > 1:
        i, j = _next_pair(labels, out, sizes)
        kept = out if len(operands) == 2 else _kept(labels, i, j, out)
        kinds = operands[i].dtype, operands[j].dtype
        if kinds[0] is not kinds[1] and wide[i] & wide[j] <= set(kept):
            kind = promote_types(*kinds)  # nothing is summed: a product, which mixes types
            operands[i], operands[j] = operands[i].to(kind), operands[j].to(kind)
        operands[i] = contract(operands[i], operands[j], labels[i], labels[j], kept)
        labels[i] = kept
        wide[i] = (wide[i] | wide[j]) & set(kept)
        del operands[j], labels[j], wide[j]
    order = [labels[0].index(label) for label in out]
    return operands[0] if order == sorted(order) else permute(operands[0], order)


@composite(method=False, exact_out=True)
def tensordot(a: Value, b: Value, dims: Any = 2) -> Value:
    """Sums of products over some dimensions of a and of b; the others stay, a's first."""
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0 or dims > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot: can't sum over {dims} dimensions of shapes {shapes_of(a, b)}"
            )
        dims = (range(a.ndim - dims, a.ndim), range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError(f"tensordot: {len(first)} dimensions of a for {len(second)} of b")
    right = [chr(ord("a") + a.ndim + i) for i in range(b.ndim)]
    left = [chr(ord("a") + i) for i in range(a.ndim)]
    for d, e in zip(first, second):
        d, e = normal_dim(d, a.ndim), normal_dim(e, b.ndim)
        if a.shape[d] != b.shape[e] and 1 not in (a.shape[d], b.shape[e]):
            raise RuntimeError(
                f"tensordot: size {a.shape[d]} of a's dimension {d} differs from size "
                f"{b.shape[e]} of b's dimension {e}: {shapes_of(a, b)}"
            )
        right[e] = left[d]
    out = [label for label in left if label not in right]
    out += [label for label in right if label not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", a, b)


@composite(numpy=True)
def inner(input: Value, other: Value, *, out: Value | None = None) -> Value:
    """Sum of products over the last dimension of both; with a scalar, the plain product."""
    if out is not None:  # a plain product is cast, a sum of them is not
        return write_out("inner", inner(input, other), out, bool(input.ndim and other.ndim))
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(f"inner: the last sizes differ: {shapes_of(input, other)}")
    if input.ndim == 1 == other.ndim:
        return dot(input, other)
    return tensordot(input, other, ([-1], [-1]))
