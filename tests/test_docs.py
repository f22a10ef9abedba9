"""The README, its neighbours and every page of docs/ run, and their links lead somewhere."""

import importlib.util
import re

import pytest

from tests.interpreter import ROOT, fresh_python

README = ROOT / "README.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MAP = re.compile(r"^```\nadjoint/\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BY_NAME = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@BY_NAME
def test_page_runs(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    if "import jax" in text and importlib.util.find_spec("jax") is None:
        pytest.skip("the page shows JAX, which is not installed")
    blocks = text.count("```python\n")
    printed = fresh_python(ROOT / "tests" / "run_page.py", page, cwd=tmp_path)
    assert printed.splitlines()[-1] == str(blocks)


def prose(page):
    """A page without its blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """The headings of a page, as links name them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@BY_NAME
def test_links_lead_somewhere(page):
    for link in LINK.findall(prose(page)):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_reached_from_the_readme():
    reached, waiting = set(), [README]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            links = [link.partition("#")[0] for link in LINK.findall(prose(page))]
            waiting += [(page.parent / link).resolve() for link in links if link.endswith(".md")]
    assert set(PAGES) <= reached


def test_map_names_what_there_is_and_all_of_it():
    package = ROOT / "adjoint"
    (drawing,) = MAP.findall(README.read_text(encoding="utf-8"))
    named = set(re.findall(r"\w+\.py|\w+/", drawing))
    files = {path.name for path in package.rglob("*.py")}
    folders = {f"{path.parent.name}/" for path in package.rglob("*.py")}
    assert named <= files | folders
    public = [path for path in package.iterdir() if not path.name.startswith("_")]
    top = {path.name for path in public if path.suffix == ".py"}
    top |= {f"{path.name}/" for path in public if (path / "__init__.py").exists()}
    assert top - {"version.py"} <= named


def test_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110
