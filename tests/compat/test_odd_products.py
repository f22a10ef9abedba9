"""Products that few programs ask for, and batches spread over devices, compared with PyTorch's."""

import warnings

import pytest

import adjoint.compat.torch as compat


def answer(function, *args, **kwargs):
    """What a call answers, in parts that can be compared, or the class of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = function(*args, **kwargs)
        except Exception as error:
            return type(error)
    if not getattr(found, "is_sparse", False):
        return getattr(found, "tolist", lambda: found)()
    parts = (found._indices(), found._values())
    return [list(found.shape), *[each.tolist() for each in parts]]


def matrices(library):
    """Two sparse matrices, one of them with a place twice, and dense ones."""
    s = library.sparse_coo_tensor([[0, 0, 2], [1, 1, 0]], [1.0, 2.0, 3.0], (3, 2))
    i = library.sparse_coo_tensor([[1, 0], [1, 0]], [5.0, 6.0], (3, 2))
    return {"s": s, "i": i, "d": library.arange(4.0).reshape(2, 2) + 1, "torch": library}


CALLS = [
    "torch.smm(s, d)",
    "torch.smm(i, d)",
    "torch.smm(s.coalesce(), d)",
    "torch.hspmm(s, d)",
    "torch.hsmm(s, d)",
    "torch.sspaddmm(i, s, d)",
    "torch.sspaddmm(i, s, d, beta=2, alpha=3)",
    "torch.saddmm(i, s, d)",
    "torch.dsmm(s, d)",
    "torch.dsmm(d, d)",
    "torch.smm(d, d)",
    "torch.smm(s, d.double())",
    "torch.smm(s, torch.ones(3, 2))",
    "torch.smm(s, s)",
    "torch.sspaddmm(d, s, d)",
    "torch.values_copy(s.to_sparse_csr())",
    "torch.crow_indices_copy(s.to_sparse_csr())",
    "torch.col_indices_copy(s.to_sparse_csr())",
    "torch.ccol_indices_copy(s.to_sparse_csc())",
    "torch.row_indices_copy(s.to_sparse_csc())",
    "torch.values_copy(s)",
    "torch.crow_indices_copy(d)",
    "torch.affine_grid_generator(torch.ones(1, 2, 3), [1, 1, 2, 2], False)",
]


@pytest.mark.parametrize("call", CALLS)
def test_sparse_products_and_parts(call, torch):
    torch.sparse.check_sparse_tensor_invariants.disable()  # which it warns to say
    first, second = (answer(eval, call, matrices(library)) for library in (compat, torch))
    assert first == second


def flat(tree):
    """The numbers of a nested list."""
    return [x for part in tree for x in flat(part)] if isinstance(tree, list) else [tree]


def groups(library, first, second, ends, kind="float32", **options):
    """A product of groups of matrices of these shapes."""
    made = []
    for shape in (first, second):
        count = 1
        for length in shape:
            count *= length
        made.append(
            (library.arange(float(count)) / count).reshape(shape).to(getattr(library, kind))
        )
    if "out_dtype" in options:
        options["out_dtype"] = getattr(library, options["out_dtype"])
    if "bias" in options:
        options["bias"] = library.ones(8)
    offs = None if ends is None else library.tensor(ends, dtype=library.int32)
    return library.nn.functional.grouped_mm(*made, offs=offs, **options)


GROUPS = [
    ((4, 8), (2, 8, 8), [1, 4]),
    ((4, 8), (3, 8, 8), [1, 1, 4]),
    ((2, 4, 8), (2, 8, 8), None),
    ((2, 4, 8), (8, 16), [8, 16]),
    ((4, 8), (8, 16), [4, 8]),
    ((4, 8), (2, 8, 8), None),
    ((4, 8), (2, 8, 8), [1, 2, 4]),
    ((2, 4, 8), (2, 8, 8), [1, 2]),
    ((4, 8), (2, 4, 8), [1, 4]),
    ((8,), (2, 8, 8), [1, 4]),
]


@pytest.mark.parametrize("case", GROUPS)
def test_products_of_groups_of_matrices(case, torch):
    first, second = (answer(groups, library, *case) for library in (compat, torch))
    if isinstance(second, type):
        assert first is second
    else:
        assert flat(first) == pytest.approx(flat(second), rel=1e-5)


@pytest.mark.parametrize(
    "options", [{"kind": "float64"}, {"kind": "int32"}, {"out_dtype": "bfloat16"}, {"bias": 1}]
)
def test_what_groups_do_not_take(options, torch):
    for library in (compat, torch):
        assert answer(groups, library, *GROUPS[0], **options) is RuntimeError
    with pytest.raises(RuntimeError, match="rise"):
        groups(compat, (4, 8), (2, 8, 8), [3, 1])


def test_products_of_groups_have_gradients():
    x = compat.ones(4, 8, requires_grad=True)
    weights = compat.ones(2, 8, 8, requires_grad=True)
    ends = compat.tensor([1, 3], dtype=compat.int32)
    found = compat.nn.functional.grouped_mm(x, weights, offs=ends)
    found.sum().backward()
    assert found[3].tolist() == [0.0] * 8  # of no group
    assert x.grad.sum(1).tolist() == [64.0, 64.0, 64.0, 0.0]
    assert weights.grad[:, 0, 0].tolist() == [1.0, 2.0]


WITHOUT_GPU = pytest.mark.skipif(compat.cuda.is_available(), reason="says what there is without")


@WITHOUT_GPU
def test_batches_are_not_spread_without_gpus(torch):
    def asked(library):
        parallel, x, net = library.nn.parallel, library.ones(4, 2), library.nn.Linear(2, 2)
        spread = parallel.scatter_gather
        return [
            answer(parallel.scatter, 3, [0, 1]),
            answer(parallel.scatter, "a", [-1, -1]),
            answer(parallel.scatter, x, ["cpu"]),
            answer(parallel.gather, [x, x], "cpu"),
            answer(parallel.replicate, net, []),
            answer(parallel.replicate, net, ["cpu"]),
            answer(parallel.parallel_apply, [net, net], [x, x]),
            answer(parallel.parallel_apply, [net], []),
            answer(parallel.parallel_apply, [net], [x], devices=["cpu"]),
            answer(spread.scatter_kwargs, (), None, [0, 1]),
            answer(spread.scatter_kwargs, (1,), {"a": 2}, [0]),
        ]

    assert asked(compat) == asked(torch)
    with pytest.raises(RuntimeError, match="one process for each"):
        compat.nn.parallel.scatter(compat.ones(2), [0, 1])


def test_modules_of_parallel_have_what_is_there():
    from adjoint.compat.torch.nn.parallel.data_parallel import DataParallel, data_parallel
    from adjoint.compat.torch.nn.parallel.parallel_apply import get_a_var, parallel_apply
    from adjoint.compat.torch.nn.parallel.replicate import replicate

    assert DataParallel is compat.nn.DataParallel and callable(data_parallel)
    assert replicate is compat.nn.parallel.replicate
    assert parallel_apply is compat.nn.parallel.parallel_apply
    x = compat.ones(1)
    assert get_a_var({"a": [1, x]}) is x and get_a_var([1]) is None
    assert data_parallel(compat.nn.Identity(), x) is x
