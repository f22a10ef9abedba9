"""The memory of a training step beside PyTorch's: its peak, and the pages that it asks for.

    python benchmarks/step_memory.py [NAME ...]

Each package runs each workload in a process of its own, with one thread. The peak is what resident
memory grows by from before the workload is made to the highest point of its steps; pages are those
that the system has to find for one step, after the first few. Linux only: /proc has the figures.
"""

import argparse
import importlib
import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from run import ONE_THREAD, PACKAGES
from workloads import WORKLOADS

USUAL = ("big", "transformer")
WARM = 3  # steps before pages are counted
STEPS = 8


def resident(key: str) -> int:
    """A figure of this process, in bytes."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise LookupError(f"/proc/self/status says nothing of {key}")


def pages() -> int:
    """How many pages the system has found for this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def serve(package_name: str, name: str) -> None:
    """Run a workload, and print its peak in bytes and its pages of a step."""
    package = importlib.import_module(package_name)
    package.set_num_threads(1)
    before = resident("VmRSS")
    work = WORKLOADS[name](package)
    for _ in range(WARM):
        work.step()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
    start = pages()
    for _ in range(STEPS):
        work.step()
    print(json.dumps([resident("VmHWM") - before, (pages() - start) / STEPS]))


def measured(package: str, name: str) -> tuple[float, float]:
    """The peak and the pages of a step, of a package in a process of its own."""
    command = [sys.executable, __file__, "--serve", package, name]
    found = subprocess.run(
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    peak, count = json.loads(found.stdout.splitlines()[-1])
    return peak, count


def main() -> None:
    """Print a line for each workload."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORKLOADS)}; else {USUAL}")
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.names[0])
        return
    packages = [name for name in PACKAGES if importlib.util.find_spec(name) is not None]
    print(f"{'':12}" + "".join(f"{f'{p}: peak MB':>18}{'pages a step':>16}" for p in packages))
    for name in given.names or USUAL:
        cells = [measured(package, name) for package in packages]
        shown = "".join(f"{peak / 1e6:>18,.1f}{count:>16,.1f}" for peak, count in cells)
        print(f"{name:12}{shown}", flush=True)


if __name__ == "__main__":
    main()
