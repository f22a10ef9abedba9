"""Graphs of CUDA that hooks part, on a recorder of NumPy's calls."""

from pathlib import Path

from tests.interpreter import ROOT, fresh_python

PROGRAM = Path(__file__).with_name("graph_program.py")
START = "import runpy, sys; sys.path.append(sys.argv[1]); runpy.run_path(sys.argv[2])"


def test_steps_with_hooks_of_all_kinds_without_jax(tmp_path):
    printed = fresh_python("-W", "ignore", "-c", START, ROOT, PROGRAM, cwd=tmp_path)
    assert printed.strip() == "as eager"


def test_capturing_and_all_it_needs_import_no_jax(tmp_path):
    """What is shared with XLA's part stands apart from it."""
    names = ("watching", "host", "optimizers", "escapes", "guards", "public")
    text = "".join(f"import adjoint.compiling.{name}\n" for name in names)
    text += "import sys; print([n for n in sys.modules if n.startswith(('jax', 'cupy'))])"
    assert fresh_python("-c", text, cwd=tmp_path).strip() == "[]"
