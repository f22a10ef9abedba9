"""The loops of the examples, compiled: taken from their source, which is what users read."""

import ast
import contextlib
import importlib.util
import sys
import textwrap
from itertools import takewhile
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

pytest.importorskip("jax")

import adjoint
from tests.interpreter import ROOT

STEPS = 10

# Of each example with a loop: the values it is given in place of its own.
EXAMPLES = {
    "05_train_digits": {},
    "09_conv_net": {"shift": 1},  # which it draws and reads, at each step
    "10_char_transformer": {"CONTEXT": 8, "BATCH": 2, "WIDTH": 16},
    "12_neural_ode": {"SPAN": 3},
    "13_lstm": {"LENGTH": 5, "WIDTH": 8},
    "14_saliency": {},
    "18_per_sample_gradients": {},
    "19_ensemble": {},
}

# Of the others: values in place of their own, how the statement begins that they are left at, and a
# step in their names.
STATEMENTS = {
    "01_backward": (
        {},
        "y = ",
        """
        h = 0.1 * x * w
        h.register_hook(lambda grad: grad.clamp(-1, 1))
        y = adjoint.tanh(h)
        return adjoint.autograd.grad((100 * y * y).sum(), [x, w])
        """,
    ),
    "02_views_and_inplace": (
        {},
        "y = ",
        """
        y = x * 10
        left = y[:2]
        left *= 2
        y[1] = x[3] * 5
        return y, *adjoint.autograd.grad((y * y).sum(), [x])
        """,
    ),
    "03_second_order": (
        {},
        "for step",
        """
        slope, curvature = hessian(x)
        with adjoint.no_grad():
            x.sub_(adjoint.linalg.solve(curvature, slope))
        return x, slope
        """,
    ),
    "04_adding_an_op": (
        {},
        "loss = ",
        "return adjoint.autograd.grad(total(squared_distance(squash(x), y)), [x, y])",
    ),
    "06_custom_function": (
        {},
        "z = ",
        """
        y = cumulative_product(Softplus.apply(x, 3.0))
        (slope,) = adjoint.autograd.grad(y.sum(), [x], create_graph=True)
        with adjoint.no_grad():
            x.sub_(0.01 * slope)
        return y.detach(), x
        """,
    ),
    "07_checkpoint": (
        {"(LAYERS, WIDTH)": (2, 8)},
        "peaks = ",
        """
        found = []
        for form in forms.values():
            x = adjoint.ones(6, WIDTH)
            for w in weights:
                x = form(x, w)
            found += adjoint.autograd.grad((x * x).mean(), weights)
        return found
        """,
    ),
    "08_profile": (
        {},
        "def main",
        """
        loss = model(eye, [eye, eye]).square().mean()
        return adjoint.autograd.grad(loss, eye)
        """,
    ),
    "16_poisson_equation": (
        {},
        "for _",
        """
        loss = closure()
        with adjoint.no_grad():
            for parameter in model.parameters():
                parameter.sub_(1e-4 * parameter.grad)
        return loss, *model.parameters()
        """,
    ),
    "17_neural_tangent_kernel": (
        {},
        "points = ",
        """
        points = adjoint.linspace(-2, 2, 3).unsqueeze(1)
        return kernel(points, points), kernel_without_jacobians(points, points)
        """,
    ),
}


def _code(name: str, body: list[ast.stmt]) -> CodeType:
    module = ast.fix_missing_locations(ast.Module(body, []))
    return compile(module, str(ROOT / "examples" / f"{name}.py"), "exec")


def _is_for_people(statement: ast.stmt) -> bool:
    """Whether a statement of a loop reads a value to show it."""
    text = ast.unparse(statement)
    return ".item()" in text or text.startswith("progress.")


def _replace(statement: ast.stmt, values: dict[str, object]) -> None:
    """Let a name be given another value, if a statement gives it one."""
    if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in values:
        statement.value = ast.Constant(values[ast.unparse(statement.targets[0])])


def _work_of(name: str):
    """An example up to a statement, and work in its names as a function."""
    values, end, text = STATEMENTS[name]
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    for statement in tree.body:
        _replace(statement, values)
    before = list(takewhile(lambda each: not ast.unparse(each).startswith(end), tree.body))
    assert 2 < len(before) < len(tree.body)
    function = ast.parse("def step():\n" + textwrap.indent(textwrap.dedent(text), "    ")).body
    space = {"__name__": name, "eye": adjoint.eye(1, requires_grad=True)}
    exec(_code(name, [*before, *function]), space)
    return space["step"]


@pytest.fixture
def _usual_type():
    before = adjoint.get_default_dtype()
    yield
    adjoint.set_default_dtype(before)


@pytest.mark.slow
@pytest.mark.usefixtures("_usual_type")
@pytest.mark.parametrize("name", STATEMENTS)
def test_the_work_of_an_example(name, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    runs = []
    for wrap in (lambda step: step, adjoint.compile):
        adjoint.set_default_dtype(adjoint.float32)
        adjoint.manual_seed(3)
        with contextlib.redirect_stdout(None):
            step = wrap(_work_of(name))
        runs.append([[part.detach().numpy().copy() for part in step()] for _ in range(STEPS)])
        if wrap is adjoint.compile:
            assert step.count == 1
    for eager, other in zip(*runs, strict=True):
        for one, another in zip(eager, other, strict=True):
            np.testing.assert_allclose(another, one, 1e-4, 1e-5)


def _step_of(name: str, sizes: dict[str, int]):
    """An example up to its loop, and the loop's body as a function."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    before: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, ast.For) and "adjoint.no_grad" not in ast.unparse(statement)[:80]:
            loop = statement
            if "looped[name]" not in ast.unparse(loop) and "assert_close" not in ast.unparse(loop):
                break
        _replace(statement, sizes)
        before.append(statement)
    inner = [s for s in loop.body if isinstance(s, ast.For)]
    of_batches = bool(inner) and ast.unparse(inner[0].iter) == "loader"
    body = [s for s in (inner[0].body if of_batches else loop.body) if not _is_for_people(s)]
    for statement in body:
        _replace(statement, sizes)
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


def test_every_example_is_here_or_says_why_not():
    reasons = {
        "11_physics_informed": "LBFGS decides by values; its closure is compiled above",
        "15_what_went_wrong": "it is there to fail",
        "digits": "it is data for others",
    }
    found = {path.stem for path in Path(ROOT, "examples").glob("*.py")}
    assert found == {*EXAMPLES, *STATEMENTS, *reasons}
