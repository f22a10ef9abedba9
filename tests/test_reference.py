"""The reference has an entry for every public name, and the site's links lead from page to page."""

import importlib
import posixpath
import re
import types
from collections import Counter

import pytest

import adjoint
from tests.interpreter import ROOT
from tests.test_docs import FENCED
from tools import reference, site_pages

PAGES = site_pages.pages()
ENTRIES = Counter(re.findall(r"^### .* { #(.*) }$", "\n".join(PAGES.values()), re.MULTILINE))
SOURCES = pytest.mark.skipif(adjoint.__compiled__, reason="compiled functions tell nothing")
NAMES = [(path, name) for path, names in reference.namespaces().items() for name in names]


def expected_of(path):
    """What users can reach: what a package offers, what any other module defines, or its list."""
    module = importlib.import_module(path)
    if hasattr(module, "__all__"):
        return set(module.__all__)
    own = "adjoint" if hasattr(module, "__path__") else path
    found = set()
    for name in dir(module):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or type(value).__module__
        is_hidden = name.startswith("_") or isinstance(value, (types.ModuleType, *reference.TYPING))
        if not is_hidden and f"{home}.".startswith(f"{own}."):
            found.add(name)
    return found


def test_every_public_name_has_an_entry():
    expected = {f"{path}.{name}" for path in reference.offered() for name in expected_of(path)}
    assert len(expected) > 1000
    assert expected - ENTRIES.keys() == set()


@pytest.mark.parametrize("name", ["nn", "nn.init", "autograd.graph", "pi", "newaxis", "float32"])
def test_modules_and_constants_have_entries(name):
    assert f"adjoint.{name}" in ENTRIES


def test_no_entry_is_there_twice():
    assert [entry for entry, count in ENTRIES.items() if count > 1] == []


@SOURCES
def test_what_can_be_called_is_documented():
    values = {(path, name): reference.value_of(path, name) for path, name in NAMES}
    bare = [at for at, value in values.items() if callable(value) and not reference.doc_of(value)]
    assert bare == []


@SOURCES
def test_signatures_are_shown():
    for called in (r"adjoint\.add\(\s*input\b[^)]*other\b[^)]*alpha", r"adjoint\.exp_\(\s*input\b"):
        assert re.search(called, PAGES["reference/adjoint.md"])
    assert "adjoint.nn.ReLU(inplace=False)" in PAGES["reference/adjoint.nn.md"]
    assert re.search(r"Tensor\.add\(other\b", PAGES["reference/adjoint.Tensor.md"])


def test_no_address_of_an_object_is_shown():
    reference_pages = [text for uri, text in PAGES.items() if uri.startswith("reference/")]
    assert [text for text in reference_pages if re.search(r"\bat 0x[0-9a-f]+", text)] == []


def test_docstrings_become_markdown():
    doc = "A *b* of `c_d`, <e>; see docs/notes/views.md.\n\n>>> f_(1)\n2\n\nMore_."
    assert reference.as_markdown(doc) == (
        "A \\*b\\* of `c_d`, &lt;e>; see [notes/views.md](../notes/views.md).\n\n"
        "```pycon\n>>> f_(1)\n2\n```\n\nMore\\_."
    )


def test_long_calls_are_broken():
    signature = "(" + ", ".join(f"name{i}: dict[str, int] = {{}}" for i in range(9)) + ") -> int"
    lines = reference.call_text("f", signature, first=1).splitlines()
    assert lines[1] == "    name1: dict[str, int] = {},"
    assert lines[-1] == ") -> int"
    assert len(lines) == 10


# ---- the site ----


def navigated(nav):
    """The pages that a navigation names."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [name for part in inner for name in navigated(part)]


def test_every_page_of_docs_has_one_place_in_the_navigation():
    named = Counter(navigated(site_pages.navigation(list(PAGES))))
    assert set(named) <= set(PAGES)
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.*")]
    pages = [site_pages.uri_of(path) for path in files if path.endswith((".md", ".py"))]
    pages += [uri for uri in PAGES if uri.startswith("reference/")]
    assert {page: named[page] for page in pages} == dict.fromkeys(pages, 1)


@pytest.mark.parametrize("uri", PAGES)
def test_links_lead_from_page_to_page(uri):
    for link in site_pages.LINK.findall(FENCED.sub("", PAGES[uri])):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(uri), link))
        assert target in PAGES, link


def test_programs_become_text_and_code():
    program = '"""What it is.\n\nMore."""\n\nimport math\n\n# ---- Part ----\n\n'
    program += "# Some\n# words.\n\n\n# about x\nx = math.pi\n"
    assert site_pages.code_page("docs/some_thing.py", program) == (
        "# Some thing\n\nWhat it is.\n\nMore.\n\n```python\nimport math\n```\n\n## Part\n\n"
        "Some\nwords.\n\n```python\n# about x\nx = math.pi\n```\n\nThis is `docs/some_thing.py`.\n"
    )
