"""Every test that docs/reliability.md and SECURITY.md name is there."""

import ast
import re

import pytest

from tests.interpreter import ROOT

NAMED = re.compile(r"\btests/[\w./]*\w(?:::\w+)*")
PAGES = [ROOT / "docs" / "reliability.md", ROOT / "SECURITY.md"]
FOUND = sorted({name for page in PAGES for name in NAMED.findall(page.read_text("utf-8"))})
PROMISES = re.compile(r"^\| promise .*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)


def names_in(path):
    """The names of the tests and classes of a file."""
    tree = ast.parse(path.read_text("utf-8"))
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("name", FOUND)
def test_a_test_that_is_named_exists(name):
    file, *names = name.split("::")
    assert (ROOT / file).exists()
    assert set(names) <= (names_in(ROOT / file) if names else set())


def test_every_promise_names_a_test():
    text = PAGES[0].read_text("utf-8")
    rows = [row.split(" | ") for table in PROMISES.findall(text) for row in table.splitlines()]
    assert len(rows) > 15
    assert [cells[0] for cells in rows if not NAMED.search(cells[-1])] == []
