"""The README and every page of docs/ run, and their links lead somewhere."""

import importlib.util
import re

import pytest

from tests.interpreter import ROOT, fresh_python

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@BY_NAME
def test_page_runs(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    if "import jax" in text and importlib.util.find_spec("jax") is None:
        pytest.skip("the page shows JAX, which is not installed")
    blocks = text.count("```python\n")
    printed = fresh_python(ROOT / "tests" / "run_page.py", page, cwd=tmp_path)
    assert printed.splitlines()[-1] == str(blocks)


@BY_NAME
def test_links_exist(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_readme_is_one_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 80
