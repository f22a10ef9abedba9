"""PyTorch's operator database, run against adjoint: every record, or its difference is listed."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's databases import

from tests.parity.operator_differences import DIFFERENCES
from tests.parity.operator_records import RECORDS, Trial

SOME = 2  # samples of each data type in the ordinary tests


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
def test_all_samples(name: str) -> None:
    """All samples differ in what is listed, and in nothing else: what is mended is not listed."""
    found = Trial(RECORDS[name], None).run()
    listed = DIFFERENCES.get(name, {})
    assert not {check: found[check] for check in found.keys() - listed.keys()}
    assert not listed.keys() - found.keys(), "no longer different: take it off the list"
