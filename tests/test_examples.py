"""Every example, the engine of docs/from_scratch.py and the benchmark run, at reduced size."""

import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import adjoint
from tests.interpreter import ROOT, fresh_python


@dataclass(frozen=True)
class Training:
    """What an example must reach when it learns for a few steps or epochs."""

    steps: int
    pictures: tuple[str, ...]
    bounds: dict[str, tuple[float, float]]  # how a line begins → of the number at its end
    says: tuple[str, ...] = ()


TRAININGS = {
    "05_train_digits": Training(
        3,
        ("learning_curve.png", "backward_graph.svg", "backward_graph.png"),
        {"test accuracy": (85, 100)},
    ),
    "09_conv_net": Training(2, ("conv_net.png",), {"test accuracy": (90, 100)}),
    "10_char_transformer": Training(
        60, ("char_transformer.png",), {"bits a character as it learned": (1, 4.3)}
    ),
    "11_physics_informed": Training(4, ("physics_informed.png",), {"relative error": (0, 0.05)}),
    "12_neural_ode": Training(
        60,
        ("neural_ode.png",),
        {"relative error": (0, 0.5), "the adjoint method differs": (0, 1e-4)},
    ),
    "13_lstm": Training(
        200,
        ("lstm.png",),
        {"squared error of the mean": (0.1, 1), "squared error learned": (0, 0.05)},
    ),
    "14_saliency": Training(
        2,
        ("saliency.png",),
        {"accuracy without random": (40, 90), "accuracy without gradient": (0, 20)},
        says=("forward hook 'activation'", "full backward hook 'guided'", "removed: 2"),
    ),
    "15_what_went_wrong": Training(
        200,
        ("what_went_wrong.png",),
        {"relative stress": (0, 0.15)},
        says=("it was detached", "changed: file", "returned nan values", "a second time"),
    ),
    "16_poisson_equation": Training(4, (), {"relative error": (0, 0.02)}),
    "17_neural_tangent_kernel": Training(
        0, (), {"both ways differ": (0, 1e-12), "largest error": (0, 0.01)}
    ),
    "18_per_sample_gradients": Training(0, (), {"accuracy": (90, 100)}),
    "19_ensemble": Training(200, (), {"mean loss": (0, 0.01), "outside over inside": (3, 1000)}),
}
PROGRAMS = {path.stem: path for path in sorted((ROOT / "examples").glob("[0-9]*.py"))}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in TRAININGS])
def test_example_runs(name, tmp_path):
    assert fresh_python(PROGRAMS[name], cwd=tmp_path)


@pytest.mark.parametrize(("name", "training"), TRAININGS.items(), ids=TRAININGS)
def test_example_learns_and_draws(name, training, tmp_path):
    for library in ("sklearn", "matplotlib", "tqdm"):
        pytest.importorskip(library)
    printed = fresh_python(PROGRAMS[name], training.steps, cwd=tmp_path)
    for start, (least, most) in training.bounds.items():
        (line,) = [line for line in printed.splitlines() if line.startswith(start)]
        assert least <= float(line.split()[-1].rstrip("%")) <= most, line
    for words in training.says:
        assert words in printed
    for picture in training.pictures:
        assert (tmp_path / "demo_output" / picture).stat().st_size > 1000


FROM_SCRATCH = ROOT / "docs" / "from_scratch.py"


def test_from_scratch_checks_itself(tmp_path):
    printed = fresh_python(FROM_SCRATCH, cwd=tmp_path)
    assert [line.partition(":")[0] for line in printed.splitlines()] == [
        "gradients",
        "order",
        "failure",
    ]


@pytest.mark.parametrize("passes", [1, 2])
def test_from_scratch_does_what_adjoint_does(passes):
    random = np.random.default_rng(0)
    arrays = random.normal(size=(4, 3)), random.normal(size=(3, 1)), random.normal(size=2)
    found = []
    for tensor in (runpy.run_path(str(FROM_SCRATCH))["Tensor"], adjoint.tensor):
        points, weight, bias = (tensor(array, requires_grad=True) for array in arrays)
        seen = []
        bias.register_hook(lambda grad, seen=seen: seen.append("bias"))
        for _ in range(passes):
            early = (points @ weight + bias).tanh()
            late = early * bias
            early.register_hook(lambda grad, seen=seen: seen.append("early") or grad * 3.0)
            late.register_hook(lambda grad, seen=seen: seen.append("late"))
            (early + late).sum().backward()
        found.append((seen, [np.asarray(leaf.grad) for leaf in (points, weight, bias)]))
    (seen, grads), (expected_order, expected) = found
    assert seen == expected_order
    for grad, other in zip(grads, expected, strict=True):
        np.testing.assert_allclose(grad, other, rtol=1e-12)


def test_benchmark_runs_and_compares(tmp_path):
    program = ROOT / "benchmarks" / "run.py"
    short = ("rosenbrock", "--rounds", "1", "--seconds", "0")
    saved = tmp_path / "figures.json"
    printed = fresh_python(program, *short, "--save", saved, cwd=tmp_path)
    assert "rosenbrock" in printed.splitlines()[-1]
    assert saved.exists()
    printed = fresh_python(program, *short, "--baseline", saved, cwd=tmp_path)
    assert "change" in printed
    installed = Path(adjoint.__file__).parents[1]
    printed = fresh_python(program, *short, "--against", installed, cwd=tmp_path)
    assert "the other" in printed
    with pytest.raises(AssertionError, match="no build of adjoint"):
        fresh_python(program, *short, "--against", tmp_path, cwd=tmp_path)


def test_scan_runs_and_saves(torch, tmp_path):
    program = ROOT / "benchmarks" / "scan.py"
    saved = tmp_path / "page.md"
    names = ("add", "conv2d", "half", "relu_back")
    printed = fresh_python(program, *names, "--threads", "1", "--save", saved, cwd=tmp_path)
    assert "1 ops of our own" in printed
    assert "1 thread: 3 ops, median" in printed
    page = saved.read_text(encoding="utf-8")
    assert all(f"| {name} | " in page for name in names[:3])
