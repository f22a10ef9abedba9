"""Composites ask tensors for shape and type, and ops for values: few touch the array itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjoint

ROOT = Path(adjoint.__file__).parent

# Where a tensor's array is taken, and why neither an op nor `concrete` will do.
ALLOWED = {
    "nn/gates.py:stand_in": "it shows the very memory of the tensor it stands for",
    "nn/gates.py:write_back": "what was done to a stand-in's memory is done to a tensor's",
    "ops/sparse/layers.py:take_over": "it has no memory, but an array that looks like it",
    "ops/arranging/conversion.py:following": "how a tensor lies in memory, its array says",
    "ops/op.py:recorded": "results that are known go into the graph as they are",
    "nn/utils/clip_grad.py:_scale": "hundreds of small gradients, at half the time of an op each",
    "nn/utils/clip_grad.py:_plain": "the same",
    "nn/utils/clip_grad.py:_euclidean": "the same",
}


def functions(node: ast.AST, name: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every node of a module, with the name of the innermost function around it."""
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef) else name
        yield inner, child
        yield from functions(child, inner)


def takes_array(node: ast.AST) -> bool:
    """Whether an expression takes a tensor's array; xp.array and np.array make one instead."""
    if isinstance(node, ast.Attribute) and node.attr == "array":
        return not (isinstance(node.value, ast.Name) and node.value.id in ("xp", "np", "host"))
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and isinstance(node.args[1], ast.Constant)
        and node.args[1].value == "array"
    )


def taken(folder: str) -> Iterator[tuple[str, int]]:
    """Where the modules of a folder take arrays: the file and function, and the line."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for name, node in functions(tree):
            if takes_array(node):
                yield f"{path.relative_to(ROOT).as_posix()}:{name}", getattr(node, "lineno", 0)


@pytest.mark.parametrize("folder", ["ops", "nn", "distributions"])
def test_arrays_stay_inside_tensors(folder: str) -> None:
    """Batches, tangents and traces have no array to give, but a shape and a data type."""
    for where, line in taken(folder):
        assert where in ALLOWED, (
            f"{where}, line {line}, takes .array: ask the tensor for its shape or dtype, use ops, "
            "or adjoint.tensors.concrete"
        )


def test_list_is_up_to_date() -> None:
    """Every exception is still made use of."""
    found = {where for folder in ("ops", "nn", "distributions") for where, _ in taken(folder)}
    assert set(ALLOWED) - found == set()
