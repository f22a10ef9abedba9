"""The sessions of docs/notes/hooks.md print the same with PyTorch under the name of adjoint."""

from tests.interpreter import ROOT, fresh_python

PAGE = ROOT / "docs" / "notes" / "hooks.md"
OURS_ALONE = "## Where adjoint is stricter than PyTorch"


def as_pytorch(page):
    """The page as someone would write it who knows PyTorch by the name of adjoint."""
    renamed = page.replace(">>> import adjoint\n", ">>> import torch as adjoint\n")
    return renamed.replace("from adjoint.", "from torch.")


def test_sessions_are_those_of_pytorch(tmp_path):
    shared, heading, _ = PAGE.read_text(encoding="utf-8").partition(OURS_ALONE)
    assert heading, "the part of the page that PyTorch can't run has another heading"
    page = tmp_path / "hooks.md"
    page.write_text(as_pytorch(shared), encoding="utf-8")
    printed = fresh_python(ROOT / "tests" / "run_page.py", page, cwd=tmp_path)
    assert printed.splitlines()[-1] == str(shared.count("```python\n")) != "0"
