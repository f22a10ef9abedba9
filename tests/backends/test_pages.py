"""What adjoint asks of the C library's memory at import, and how that is refused."""

import os

import pytest

from adjoint.backends.numpy import keeps_pages
from tests.interpreter import fresh_python

SETTINGS = ("ADJOINT_KEEP_PAGES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")

# Whether an array of 8 MB lies where freed memory is kept, or in pages of its own.
PROGRAM = """
from pathlib import Path
import numpy
from adjoint.backends.numpy import keeps_pages

place = (array := numpy.empty(8 << 20, numpy.uint8)).ctypes.data
heap = [line for line in Path("/proc/self/maps").read_text().splitlines() if "[heap]" in line]
bounds = [[int(bound, 16) for bound in line.split()[0].split("-")] for line in heap]
print(keeps_pages(), any(start <= place < end for start, end in bounds))
"""


def glibc():
    names = getattr(os, "confstr_names", {})
    return "CS_GNU_LIBC_VERSION" in names and bool(os.confstr("CS_GNU_LIBC_VERSION"))


@pytest.mark.skipif(not glibc(), reason="only glibc is asked to keep pages")
@pytest.mark.parametrize(
    ("settings", "asked", "kept"),
    [
        ({}, True, True),
        ({"ADJOINT_KEEP_PAGES": "1"}, True, True),
        ({"ADJOINT_KEEP_PAGES": "0"}, False, False),
        ({"MALLOC_MMAP_THRESHOLD_": "131072"}, True, False),  # what the user tells glibc stands
    ],
)
def test_pages_are_kept_unless_refused(tmp_path, monkeypatch, settings, asked, kept):
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert fresh_python("-c", PROGRAM, cwd=tmp_path).split() == [str(asked), str(kept)]


def test_other_libraries_are_not_asked():
    assert glibc() or not keeps_pages()
