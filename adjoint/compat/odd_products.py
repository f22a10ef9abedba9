"""Products of matrices that few programs ask for: sparse ones that stay sparse, and of groups."""

from typing import Any

from adjoint.creation.factories import arange, zeros
from adjoint.creation.sparse import sparse_coo_tensor
from adjoint.ops.arranging.conversion import clone, sparse_coo, strided
from adjoint.ops.arranging.shape import cat, stack
from adjoint.ops.composites import overridable
from adjoint.ops.matrices.matmul import bmm, mm
from adjoint.ops.sparse import products
from adjoint.ops.sparse.parts import elements_of


@overridable
def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse matrix and a dense one; of it, the rows that the sparse one has."""
    rows, values = _rows("hspmm", mat1, mat2)
    return sparse_coo_tensor(rows.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]))


@overridable
def smm(input: Any, mat: Any) -> Any:
    """The same, element by element."""
    rows, values = _rows("smm", input, mat)
    columns = mat.shape[1]
    numbers: Any = arange(columns)
    places = stack([rows.repeat_interleave(columns), numbers.repeat(len(rows))])
    return sparse_coo_tensor(places, values.flatten(), (input.shape[0], columns))


@overridable
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: complex = 1, alpha: complex = 1) -> Any:
    """A sparse matrix and such a product, elements beside elements."""
    _check("sspaddmm", mat1, mat2)
    added = smm(mat1, mat2)
    if input.layout is not sparse_coo or input.shape != added.shape:
        raise RuntimeError(
            f"sspaddmm: expected a sparse matrix of shape {list(added.shape)} to add to, got "
            f"one of {list(input.shape)} and layout {input.layout.name}"
        )
    if input.requires_grad:
        input = input.coalesce()  # a place has one gradient
    parts = [(input, beta), (added, alpha)]
    values = [elements_of(each) * factor for each, factor in parts]
    places = cat([each._indices() for each, _ in parts], 1)  # noqa: SLF001  # PyTorch's name
    return sparse_coo_tensor(places, cat(values), tuple(added.shape))


def _rows(name: str, mat1: Any, mat2: Any) -> tuple[Any, Any]:
    """The rows that the sparse matrix has, and what the product has in them."""
    _check(name, mat1, mat2)
    rows = mat1.detach().coalesce().indices()[0].unique()
    return rows, products.mm(mat1, mat2)[rows]


def _check(name: str, mat1: Any, mat2: Any) -> None:
    """Refuse what is no product of a sparse and a dense matrix."""
    if mat1.layout is not sparse_coo or mat2.layout is not strided:
        raise RuntimeError(
            f"{name}: expected a sparse_coo and a dense matrix, got {mat1.layout.name} and "
            f"{mat2.layout.name}"
        )
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"{name}: {list(mat1.shape)} and {list(mat2.shape)} have no product")
    if mat1.dtype is not mat2.dtype:
        raise RuntimeError(f"{name}: expected one type, got {mat1.dtype.name}, {mat2.dtype.name}")


def _copy_of(name: str) -> Any:
    """A copy of what a sparse matrix is made of."""

    def copied(input: Any) -> Any:
        if input.layout is sparse_coo:
            raise NotImplementedError(f"{name}_copy: a matrix in coordinates; coalesce it first")
        return clone(getattr(input, name)())

    copied.__name__ = copied.__qualname__ = f"{name}_copy"
    return overridable(copied)


_PARTS = "values crow_indices col_indices ccol_indices row_indices"
AT_THE_TOP: dict[str, Any] = {
    **{f"{name}_copy": _copy_of(name) for name in _PARTS.split()},
    **{each.__name__: each for each in (hspmm, smm, sspaddmm)},
    "dsmm": mm,
    "hsmm": hspmm,
    "saddmm": sspaddmm,
}


def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """Products of many matrices; where two dimensions hold all of them, `offs` says where they end.

    Of two such, the inner dimension is parted, else the outer one.
    """
    _check_groups(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return bmm(mat_a, mat_b)
    ends: list[int] = offs.tolist()
    inner = mat_a.shape[-1] if mat_a.ndim == mat_b.ndim else None
    whole = inner or (mat_a.shape[0] if mat_a.ndim == 2 else mat_b.shape[1])
    if ends != sorted(ends) or (ends and not 0 <= ends[0] <= ends[-1] <= whole):
        raise RuntimeError(f"grouped_mm: offs must rise from 0 to {whole} at most, got {ends}")
    spans = [slice(*pair) for pair in zip([0, *ends], ends)]
    if mat_a.ndim == mat_b.ndim:
        return stack([mat_a[:, span] @ mat_b[span] for span in spans])
    rest = whole - (ends[-1] if ends else 0)
    if mat_a.ndim == 2:
        made = [mat_a[span] @ each for span, each in zip(spans, mat_b)]
        return cat([*made, zeros(rest, mat_b.shape[2], dtype=mat_a.dtype, device=mat_a.device)])
    made = [each @ mat_b[:, span] for span, each in zip(spans, mat_a)]
    left = zeros(mat_a.shape[1], rest, dtype=mat_a.dtype, device=mat_a.device)
    return cat([*made, left], 1)


def _check_groups(mat_a: Any, mat_b: Any, offs: Any, bias: Any, out_dtype: Any) -> None:
    """Refuse what grouped_mm does not take."""
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype.name not in ("float32", "bfloat16", "float16"):
            raise RuntimeError(
                f"grouped_mm: {name} is float32, bfloat16 or float16, not {matrix.dtype.name}"
            )
        if matrix.ndim not in (2, 3):
            raise RuntimeError(f"grouped_mm: {name} has 2 or 3 dimensions, not {matrix.ndim}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            f"grouped_mm: {list(mat_a.shape)} and {list(mat_b.shape)} have no products"
        )
    if (offs is None) is not (mat_a.ndim == mat_b.ndim == 3):
        raise RuntimeError("grouped_mm: offs goes with a matrix of 2 dimensions, and with no other")
    if offs is not None and offs.dtype.name != "int32":
        raise RuntimeError(f"grouped_mm: offs must be int32, got {offs.dtype.name}")
    groups = {len(each) for each in (mat_a, mat_b) if each.ndim == 3}
    groups |= set() if offs is None else {len(offs)}
    if len(groups) > 1:
        raise RuntimeError(f"grouped_mm: numbers of matrices differ: {sorted(groups)}")
    if bias is not None:
        raise RuntimeError("grouped_mm: there is no bias; add it to the result")
    if mat_a.dtype is not mat_b.dtype or out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("grouped_mm: matrices and result are of one type")
