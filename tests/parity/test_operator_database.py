"""PyTorch's operator database, run against adjoint: every record, or its difference is listed."""

import os

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's databases import

from tests.parity.operator_differences import DIFFERENCES
from tests.parity.operator_records import RECORDS, Trial

# Samples of each data type in the ordinary tests, and in those of everything; ADJOINT_EXPLORE=1
# tries all, some thousand for a record.
SOME, MORE = 2, 8
EXPLORES = bool(os.environ.get("ADJOINT_EXPLORE"))


def test_the_list_names_records() -> None:
    """A listed difference belongs to a record, and has a reason."""
    assert DIFFERENCES.keys() <= RECORDS.keys()
    assert all(reason for checks in DIFFERENCES.values() for reason in checks.values())


@pytest.mark.parametrize("name", RECORDS)
def test_some_samples(name: str) -> None:
    """The first samples of each data type differ in nothing that is not listed."""
    found = Trial(RECORDS[name], SOME).run()
    assert not {check: found[check] for check in found.keys() - DIFFERENCES.get(name, {}).keys()}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_more_samples(name: str) -> None:
    """More samples differ in nothing else; of a listed record all, and it still differs."""
    listed = DIFFERENCES.get(name, {})
    found = Trial(RECORDS[name], None if listed or EXPLORES else MORE).run()
    assert not {check: found[check] for check in found.keys() - listed.keys()}
    assert not listed.keys() - found.keys(), "no longer different: take it off the list"
