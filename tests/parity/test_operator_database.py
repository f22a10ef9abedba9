"""PyTorch's databases of operators, modules and optimizers, run against adjoint.

Every record is right in all checks, or its difference is listed.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's databases import

from tests.parity.module_records import MODULES, ModuleTrial
from tests.parity.operator_differences import DIFFERENCES
from tests.parity.operator_records import RECORDS, Trial
from tests.parity.optimizer_records import OPTIMIZERS, OptimizerTrial

ALL = {
    **{name: (Trial, record) for name, record in RECORDS.items()},
    **{name: (ModuleTrial, record) for name, record in MODULES.items()},
    **{name: (OptimizerTrial, record) for name, record in OPTIMIZERS.items()},
}
# Samples of each data type in the ordinary tests, and which are added in those of everything;
# ADJOINT_EXPLORE=1 adds all, some thousand for a record.
SOME = slice(None, 2)
MORE = slice(2, None if os.environ.get("ADJOINT_EXPLORE") else 8)
ALL_SAMPLES = slice(None)
PAGE = Path(__file__).parents[2] / "docs" / "coming_from_torch.md"
ENOUGH = 0.97  # of all records are to be right


def found_in(name: str, chosen: slice) -> dict[str, Any]:
    """What differs in a record."""
    trial, record = ALL[name]
    return trial(record, chosen).run()


def test_the_list_names_records() -> None:
    """A listed difference belongs to a record, and has a reason."""
    assert len(ALL) == len(RECORDS) + len(MODULES) + len(OPTIMIZERS)
    assert DIFFERENCES.keys() <= ALL.keys()
    assert all(reason for checks in DIFFERENCES.values() for reason in checks.values())


def test_the_page_counts_them() -> None:
    """What the page says of the databases is so."""
    right = len(ALL) - len(DIFFERENCES)
    said = re.search(r"(\d+) of (\d+) records are right in every check", PAGE.read_text())
    assert said is not None
    assert (int(said[1]), int(said[2])) == (right, len(ALL))
    assert right >= ENOUGH * len(ALL)


@pytest.mark.parametrize("name", ALL)
def test_some_samples(name: str) -> None:
    """The first samples of each data type differ in nothing that is not listed."""
    found = found_in(name, SOME)
    assert not {check: found[check] for check in found.keys() - DIFFERENCES.get(name, {}).keys()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_more_samples(name: str) -> None:
    """More samples differ in nothing else; of a listed record all, and it still differs."""
    listed = DIFFERENCES.get(name, {})
    found = found_in(name, ALL_SAMPLES if listed else MORE)
    assert not {check: found[check] for check in found.keys() - listed.keys()}
    assert not listed.keys() - found.keys(), "no longer different: take it off the list"
