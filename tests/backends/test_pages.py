"""What adjoint asks of the C library's memory at import, and how that is refused."""

import os

import pytest

import adjoint
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


# An array that is freed, the next one of its size, and one of another; then what is held.
LARGE = """
import importlib
import numpy as np
import adjoint

pages = importlib.import_module("adjoint.backends.pages")
size = 40 << 20
first = np.empty(size, np.uint8)
place = first.ctypes.data
first[:] = 7
del first
held = pages.held()
other = np.empty(size + 4096, np.uint8)
zeros = np.zeros(size, np.uint8)
again = np.empty(size, np.uint8)
print(held == size, again.ctypes.data == place, not zeros.any(), pages.held())
del other, zeros, again
many = [np.empty(size, np.uint8) for _ in range(9)]
del many
print(pages.held() == 6 * size)
grown = np.empty(size, np.uint8)
grown[:] = 3
grown.resize(2 * size, refcheck=False)
print(grown[0] == 3 and grown[size - 1] == 3)
huge = np.empty(300 << 20, np.uint8)
del huge
pages.keep(0)
print(pages.held())
"""


@pytest.mark.skipif(not keeps_pages(), reason="nothing is kept")
@pytest.mark.skipif(not adjoint.__compiled__, reason="the pure package keeps no large blocks")
def test_large_blocks_are_kept_for_arrays_of_their_size(tmp_path):
    lines = fresh_python("-c", LARGE, cwd=tmp_path).splitlines()
    assert lines == ["True True True 0", "True", "True", "0"]


THREADS = """
import threading
import numpy as np
import adjoint
from adjoint.backends import pages

def work(seed):
    for turn in range(6):
        arrays = [np.full(8 << 20, seed + turn + i, np.float32) for i in range(3)]
        assert all((a == seed + turn + i).all() for i, a in enumerate(arrays))
        shared.append(arrays.pop())
        if len(shared) > 4:
            shared.pop(0)

shared = []
threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(3)]
for thread in threads:
    thread.start()
work(1000)
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.skipif(not keeps_pages(), reason="nothing is kept")
@pytest.mark.skipif(not adjoint.__compiled__, reason="the pure package keeps no large blocks")
def test_threads_may_free_what_others_have_made(tmp_path):
    assert fresh_python("-c", THREADS, cwd=tmp_path).split() == ["done"]


def test_other_libraries_are_not_asked():
    assert glibc() or not keeps_pages()
