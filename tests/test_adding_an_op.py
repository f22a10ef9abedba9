"""What docs/adding_an_op.md shows can be pasted into a table, and nothing else need change."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreter import ROOT

HERE = Path(__file__).resolve()
PAGE = ROOT / "docs" / "adding_an_op.md"
TABLE = Path("adjoint", "ops", "elementwise", "powers.py")
NEEDED = ["adjoint", "docs", "examples", "tests", "tools", "README.md", "pyproject.toml"]
# Tests that look at all that is declared, and have no names of ops in their own.
TOGETHER = ["test_declarations", "test_every_op_has_samples", "stubs", "typed_program", "adding_an"]


def declarations() -> str:
    """The functions that the page declares, and what it imports for them."""
    steps = doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8"))
    wanted = ("@", "def ", "from typing", "from adjoint.ops", "from adjoint.call")
    shown = [step.source for step in steps if step.source.startswith(wanted)]
    return "\n\n".join(source for source in shown if "@samples" not in source)


def looking_at_tables() -> list[str]:
    """The files whose tests are made from the tables, and that which runs the page itself."""
    found = [ROOT / "tests" / "test_docs.py"]
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(r"\b(all_functions|TABLE|INPLACE|DECLARED)\b", text) and path != HERE:
            found.append(path)
    return [str(path.relative_to(ROOT)) for path in found]


@pytest.mark.slow
def test_the_page_can_be_pasted_into_a_table(tmp_path: Path) -> None:
    """The tests that are made from the tables pass with the new ops, and are made of them."""
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    pasted = declarations()
    names = re.findall(r"^def (\w+)\((?:xp|input)", pasted, re.MULTILINE)
    assert {"bell", "row_sums", "to_polar", "energy", "bell_width"} == set(names)
    with (tmp_path / TABLE).open("a", encoding="utf-8") as table:
        table.write(f"\n\n{pasted}")
    arguments = ["-q", "-n", "0", "-p", "no:cacheprovider", *looking_at_tables()]
    arguments += ["-k", " or ".join([*names, *TOGETHER])]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0
    for name in names:
        assert f"the stubs lack {name}" in done.stdout or f", {name}" in done.stdout
