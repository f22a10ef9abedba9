"""The loops of the examples, compiled: taken from their source, which is what users read."""

import ast
import contextlib
import importlib.util
import re
import sys
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from tests.interpreter import ROOT

STEPS = 10

# Of each example: the sizes it is given in place of its own, and what its loop reads beforehand.
EXAMPLES = {
    "05_train_digits": {},
    "10_char_transformer": {"CONTEXT": 8, "BATCH": 2, "WIDTH": 16},
    "12_neural_ode": {"SPAN": 3},
    "13_lstm": {"LENGTH": 5, "WIDTH": 8},
    "18_per_sample_gradients": {},
    "19_ensemble": {},
}


def _code(name: str, body: list[ast.stmt]) -> CodeType:
    module = ast.fix_missing_locations(ast.Module(body, []))
    return compile(module, str(ROOT / "examples" / f"{name}.py"), "exec")


def _is_for_people(statement: ast.stmt) -> bool:
    """Whether a statement of a loop reads a value to show it."""
    text = ast.unparse(statement)
    return ".item()" in text or text.startswith("progress.")


def _step_of(name: str, sizes: dict[str, int]):
    """An example up to its loop, and the loop's body as a function."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    before: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.For) and "adjoint.no_grad" not in ast.unparse(statement)[:80]:
            loop = statement
            if "looped[name]" not in ast.unparse(loop) and "assert_close" not in ast.unparse(loop):
                break
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in sizes:
            statement.value = ast.Constant(sizes[ast.unparse(statement.targets[0])])
        before.append(statement)
    inner = [s for s in loop.body if isinstance(s, ast.For)]
    of_batches = bool(inner) and ast.unparse(inner[0].iter) == "loader"
    body = [s for s in (inner[0].body if of_batches else loop.body) if not _is_for_people(s)]
    given = ast.unparse(inner[0].target).strip("()") if of_batches else ""
    result = "loss" if any("loss = " in ast.unparse(s) for s in body) else None
    result = result or ("losses.sum()" if name.startswith("19") else "lengths")
    function = ast.parse(f"def step({given}):\n    return {result}").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body[:0] = body
    space = {"__name__": name}
    exec(_code(name, [*before, function]), space)
    return space


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_loop_of_an_example(name, monkeypatch):
    if importlib.util.find_spec("tqdm") is None or importlib.util.find_spec("sklearn") is None:
        pytest.skip("the examples need tqdm and scikit-learn")
    monkeypatch.setattr(sys, "argv", [name])
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    runs = []
    for compiled in (False, True):
        with contextlib.redirect_stdout(None):
            space = _step_of(name, EXAMPLES[name])
        step = adjoint.compile(space["step"]) if compiled else space["step"]
        adjoint.manual_seed(3)
        batches = iter(space["loader"]) if "loader" in space else None
        results = [step(*([] if batches is None else next(batches))) for _ in range(STEPS)]
        runs.append([result.detach().numpy() for result in results])
        if compiled:
            assert step.count == 1
    for eager, other in zip(*runs, strict=True):
        np.testing.assert_allclose(other, eager, 1e-3, 1e-4)


def test_a_closure_of_lbfgs_is_compiled_by_itself():
    x = adjoint.linspace(0, 1, 9)[:, None]

    def trained(compiled):
        adjoint.manual_seed(0)
        model = adjoint.nn.Sequential(
            adjoint.nn.Linear(1, 8), adjoint.nn.Tanh(), adjoint.nn.Linear(8, 1)
        )
        optimizer = adjoint.optim.LBFGS(model.parameters(), max_iter=5)

        def closure():
            optimizer.zero_grad()
            points = x.clone().requires_grad_()
            (slope,) = adjoint.autograd.grad(model(points).sum(), points, create_graph=True)
            loss = (slope - points).square().mean()
            loss.backward()
            return loss

        step = adjoint.compile(closure) if compiled else closure
        return [float(optimizer.step(step)) for _ in range(4)]

    np.testing.assert_allclose(trained(compiled=True), trained(compiled=False), 1e-3)


def test_every_example_with_a_loop_is_here_or_says_why_not():
    reasons = {
        "09_conv_net": "it reads a random number as a distance to roll by",
        "11_physics_informed": "LBFGS decides by values; its closure is compiled above",
        "14_saliency": "it looks at a trained network",
        "15_what_went_wrong": "its loops are there to fail",
        "16_poisson_equation": "it counts steps of a solver that decides by values",
    }
    texts = {p.stem: p.read_text(encoding="utf-8") for p in Path(ROOT, "examples").glob("*.py")}
    found = {name for name, text in texts.items() if re.search(r"range\((STEPS|EPOCHS)", text)}
    assert found - set(EXAMPLES) == set(reasons)
