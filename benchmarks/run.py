"""Time adjoint's main workloads, and PyTorch's where it is installed.

    python benchmarks/run.py [NAME ...] [--save FILE] [--baseline FILE] [--against FOLDER]

Each package has a process of its own with one thread. Within a workload they take turns, so that a
disturbance of the machine meets all alike; gradients are compared before anything is timed. The
figures are those of the best step. Ratios below 1 mean that adjoint is faster.

With --against another build of adjoint, which lies in that folder, takes PyTorch's place, and
processor time is counted, the lower quartile: the two differ by less than a busy machine disturbs.
"""

import argparse
import importlib
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from workloads import CLOCKS, WORKLOADS, Work

PACKAGES = ("adjoint", "torch")
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
AGREEMENT = 2e-3  # of float32 gradients, against the largest of them
NOTICED = 1.1  # times slower than the baseline


# ---- one package, in its own process ----


def serve(package_name: str, clock: str) -> None:
    """Answer requests, one JSON object a line: a workload's name, or for how long to run it."""
    Work.clock = staticmethod(CLOCKS[clock])
    package = importlib.import_module(package_name)
    if package_name == "torch":
        package.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints does not disturb the answers
    work: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        if "work" in request:
            work = WORKLOADS[request["work"]](package)
            np.savez(request["to"], *work.gradients())
            answer: Any = None
        else:
            answer = run_for(work.step, request["seconds"])
        print(json.dumps(answer), file=answers, flush=True)


def run_for(step: Any, seconds: float) -> list[tuple[float, float]]:
    """Steps for about that long, at least one."""
    times = [step()]
    end = perf_counter() + seconds
    while perf_counter() < end:
        times.append(step())
    return times


class Package:
    """The process of one package, as the driver sees it."""

    def __init__(self, name: str, label: str = "", folder: Path | None = None) -> None:
        self.name = label or name
        found = {} if folder is None else {"PYTHONPATH": str(folder.resolve())}
        self.process = subprocess.Popen(
            [
                sys.executable,
                __file__,
                "--serve",
                name,
                *(["--clock", "processor"] if label else []),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD, **found},
        )

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} failed on {request}; its error is above")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# ---- the driver ----


def measure(name: str, packages: list[Package], arguments: argparse.Namespace) -> dict[str, Any]:
    """The best step of each package, in seconds."""
    for package in packages:
        package.ask(work=name, to=str(arguments.scratch / f"{package.name}.npz"))
    compare(name, [arguments.scratch / f"{package.name}.npz" for package in packages])
    times: dict[str, list[tuple[float, float]]] = {package.name: [] for package in packages}
    for _ in range(arguments.rounds):
        for package in packages:
            times[package.name] += package.ask(seconds=arguments.seconds)
    share = 4 if arguments.against else sys.maxsize  # processor time has outliers downwards, too
    best = {name: sorted(steps, key=sum)[len(steps) // share] for name, steps in times.items()}
    return {
        package: {"forward": forward, "backward": backward, "total": forward + backward}
        for package, (forward, backward) in best.items()
    }


def compare(name: str, files: list[Path]) -> None:
    """Refuse to time packages whose gradients differ."""
    first, *others = [np.load(file) for file in files]
    for other in others:
        for key in first.files:
            scale = np.abs(other[key]).max() or 1.0
            error = np.abs(first[key] - other[key]).max() / scale
            if not error < AGREEMENT:
                raise SystemExit(f"{name}: the packages' gradients differ by {error:.1e}")


def ratios(result: dict[str, Any]) -> dict[str, float] | None:
    """Adjoint's times over PyTorch's."""
    if len(result) < 2:
        return None
    ours, theirs = result.values()
    return {part: ours[part] / theirs[part] if theirs[part] else math.nan for part in ours}


def table_row(name: str, result: dict[str, Any], before: dict[str, Any] | None) -> str:
    """One line of the printed table."""
    cells = [f"{name:<12}"]
    for found in result.values():
        cells.append(f"{found['total'] * 1e6:>13,.1f}")
    cells += [f"{'-':>13}"] * (2 - len(result))
    found_ratios = ratios(result)
    for part in ("forward", "backward", "total"):
        shown = found_ratios is not None and not math.isnan(found_ratios[part])
        cells.append(f"{found_ratios[part]:>9.2f}" if found_ratios and shown else f"{'-':>9}")
    if before is not None:
        cells.append(change(result, before))
    return " ".join(cells)


def change(result: dict[str, Any], before: dict[str, Any]) -> str:
    """How a workload compares with the baseline: by its ratio, if both have one."""
    now, then = ratios(result), ratios(before)
    if now is not None and then is not None:
        factor = now["total"] / then["total"]
    else:
        factor = result["adjoint"]["total"] / before["adjoint"]["total"]
    return f"{factor:>9.2f}" + (" slower" if factor > NOTICED else "")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WORKLOADS)}; all by default")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each package")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn")
    parser.add_argument("--save", type=Path, help="write the figures as JSON")
    parser.add_argument("--baseline", type=Path, help="compare with figures saved before")
    parser.add_argument("--against", type=Path, help="a folder with another build of adjoint")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help=argparse.SUPPRESS)
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    return arguments


def main() -> None:
    """Measure and print."""
    arguments = parsed()
    if arguments.serve:
        serve(arguments.serve, arguments.clock)
        return
    baseline = json.loads(arguments.baseline.read_text()) if arguments.baseline else {}
    if arguments.against is None:
        installed = [name for name in PACKAGES if importlib.util.find_spec(name) is not None]
        packages = [Package(name) for name in installed]
    else:
        if not (arguments.against / "adjoint").is_dir():
            raise SystemExit(f"there is no build of adjoint in {arguments.against}")
        packages = [
            Package("adjoint", "adjoint"),
            Package("adjoint", "the other", arguments.against),
        ]
    names = [package.name for package in packages] + ["-"] * (2 - len(packages))
    print(f"best step in microseconds, one thread, Python {platform.python_version()}")
    heading = f"{'':<12} {names[0]:>13} {names[1]:>13} {'forward':>9} {'backward':>9} {'total':>9}"
    print(heading + (f" {'change':>9}" if baseline else ""))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        arguments.scratch = Path(scratch)
        for name in arguments.names or WORKLOADS:
            results[name] = measure(name, packages, arguments)
            print(table_row(name, results[name], baseline.get(name)), flush=True)
    for package in packages:
        package.close()
    if arguments.save:
        arguments.save.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
