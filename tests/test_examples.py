"""Every example and the benchmark run, at reduced size."""

import pytest

from tests.interpreter import ROOT, fresh_python

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DEMO = ROOT / "examples" / "05_train_digits.py"


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e != DEMO], ids=lambda path: path.stem)
def test_example_runs(example, tmp_path):
    assert fresh_python(example, cwd=tmp_path)


def test_demo_learns_and_draws(tmp_path):
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    pytest.importorskip("tqdm")
    printed = fresh_python(DEMO, 3, cwd=tmp_path)
    (accuracy,) = [line for line in printed.splitlines() if line.startswith("test accuracy")]
    assert float(accuracy.split()[-1].rstrip("%")) > 85
    for name in ("learning_curve.png", "backward_graph.svg", "backward_graph.png"):
        assert (tmp_path / "demo_output" / name).stat().st_size > 1000


def test_benchmark_runs_and_compares(tmp_path):
    program = ROOT / "benchmarks" / "run.py"
    short = ("rosenbrock", "--rounds", "1", "--seconds", "0")
    saved = tmp_path / "figures.json"
    printed = fresh_python(program, *short, "--save", saved, cwd=tmp_path)
    assert "rosenbrock" in printed.splitlines()[-1]
    assert saved.exists()
    printed = fresh_python(program, *short, "--baseline", saved, cwd=tmp_path)
    assert "change" in printed
