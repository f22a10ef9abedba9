"""Time every op of the table beside PyTorch, forward and backward, on about 100,000 elements.

    pip install torch
    python benchmarks/scan.py [NAME ...] [--threads 1 2] [--save FILE]

Each package has a process of its own for each number of threads; within an op they take turns, and
the quickest call of each counts. With several threads a turn begins with a rest: those of the other
package look out for work for a while after its last call, and would have the processors. Ratios
below 1 mean that adjoint is faster. `--save` writes the page of the documentation. All ops take
some six minutes.
"""

import argparse
import importlib
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("adjoint", "torch")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
TURNS = 4
SECONDS = 0.006  # of a turn
REST = 0.03  # seconds, after which threads of OpenMP (8 ms) and of OpenBLAS (26) are asleep
LONG = 0.05  # seconds of calls that are not worth more than two turns
BARS = (1.5, 2.0)

# Where PyTorch keeps a function that is not torch.<name>, in the order of looking.
PLACES = ("", "special.", "nn.functional.", "linalg.", "fft.", "Tensor.")

ABSENT = "PyTorch has none"

# Why more than 1.5 times PyTorch's time is what it takes, and of which ops.
WHY: dict[str, str] = {
    "elements of windows lie apart, and are gathered": "adaptive_max_pool2d max_pool3d",
    "OpenBLAS's LAPACK beside MKL's": """
        cholesky_inverse geqrf linalg_cond linalg_eigvals linalg_eigvalsh linalg_ldl_solve
        linalg_svdvals
    """,
    "NumPy counts and finds with one thread": "argwhere nonzero nonzero_positions",
    "memory is what it waits for, beside what finds the way": "view_as_complex_copy",
    "windows by chance are many small steps": "fractional_max_pool2d fractional_max_pool3d",
    "places are read one by one, each in a line of the cache of its own": "gather index_select",
    "threads of OpenBLAS, which wait for those of the loops, and they for them": """
        conv_tbc matmul
    """,
    "LAPACK factors its panels by one thread": "linalg_solve_ex linalg_tensorsolve lu",
    "a product and a sum, one after the other": "linalg_vecdot",
    "gradients are added by one thread where windows overlap": "stft unfold_copy",
    "NumPy sorts with one thread, or threads of Python's": "topk",
    "its deviations are computed beside it": "native_layer_norm",
    "its index is made as wide as its source first": "index_reduce_",
    "a call of few microseconds": """
        bitwise_not detach_ is_complex is_floating_point is_same_size numel view_dtype
    """,
}
REASONS = {name: reason for reason, names in WHY.items() for name in names.split()}

ABOUT = """# What each op costs beside PyTorch

Every op and composite of the table that PyTorch has, forward and backward (forward alone where
there is no derivative), float32 where nothing is said, about 100,000 elements, the {build} package.
`python benchmarks/scan.py --save FILE` wrote this; the arguments are the samples of the tests,
larger, or those of benchmarks/scan_cases.py. A ratio is adjoint's time over PyTorch's, the quickest
calls of both in turns.

"""


# ---- one package, in its own process ----


class Server:
    """The calls that a package is asked to make."""

    def __init__(self, name: str, threads: int) -> None:
        self.package = importlib.import_module(name)
        self.package.set_num_threads(threads)
        self.own = name == "adjoint"
        self.rest = REST if threads > 1 else 0.0
        self.call: Any = None
        self.leaves: list[Any] = []
        self.weights: list[Any] = []

    def function(self, name: str, path: str | None) -> Any:
        """What to call: ours by the name of the op, PyTorch's by its path."""
        if self.own:
            tables = importlib.import_module("adjoint.testing")
            known = name in tables.all_functions()
            return tables.function_of(name) if known else getattr(self.package.Tensor, name)
        paths = [f"{place}{name}" for place in PLACES] if path is None else [path]
        for each in paths:
            found = self.package
            for part in each.split("."):
                found = getattr(found, part, None)
            if found is not None:
                return found
        raise LookupError(ABSENT)

    def value(self, given: Any, kind: str) -> Any:
        """An argument: tensors for arrays, its data types for NumPy's."""
        if isinstance(given, np.ndarray):
            made = self.package.from_numpy(given)
            if given.dtype.kind not in "fc":
                return made
            made = made.to(getattr(self.package, kind)) if kind else made
            self.leaves.append(made)
            return made
        if isinstance(given, np.dtype):
            return getattr(self.package, given.name)
        if isinstance(given, (tuple, list)):
            return type(given)([self.value(each, kind) for each in given])
        return given

    def prepare(self, file: str, differentiate: bool) -> list[Any]:
        """Make the arguments and call once; the shapes of the results."""
        asked = pickle.loads(Path(file).read_bytes())  # noqa: S301  the driver wrote it
        self.leaves, self.weights = [], []
        function = self.function(asked["name"], asked["path"])
        args = [self.value(each, asked["kind"]) for each in asked["args"]]
        kwargs = {k: self.value(v, asked["kind"]) for k, v in asked["kwargs"].items()}
        self.call = lambda: function(*args, **kwargs)
        if differentiate:
            for leaf in self.leaves:
                leaf.requires_grad_()
        results = tensors(self.call())
        if differentiate:
            live = [result for result in results if result.requires_grad]
            if not live:
                raise RuntimeError("nothing to differentiate")
            self.weights = [self.package.ones(r.shape, dtype=r.dtype) for r in live]
            self.step()
        return [list(result.shape) for result in results]

    def step(self) -> float:
        """The seconds of one call and its backward, the graph freed."""
        begin = perf_counter()
        results = self.call()
        if self.weights:
            live = [result for result in tensors(results) if result.requires_grad]
            self.package.autograd.grad(live, self.leaves, self.weights, allow_unused=True)
            del live
        del results
        return perf_counter() - begin

    def turn(self) -> float:
        """The quickest call of a turn."""
        sleep(self.rest)
        best = self.step()
        end = perf_counter() + SECONDS
        while perf_counter() < end:
            best = min(best, self.step())
        return best


def tensors(results: Any) -> list[Any]:
    """All tensors among results."""
    if isinstance(results, (tuple, list)):
        return [each for part in results for each in tensors(part)]
    return [results] if hasattr(results, "requires_grad") else []


def serve(name: str, threads: int) -> None:
    """Answer requests, one JSON object a line."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints does not disturb the answers
    server = Server(name, threads)
    for line in sys.stdin:
        request = json.loads(line)
        answer: Any
        try:
            answer = server.prepare(**request) if request else server.turn()
        except Exception as error:  # the driver says why an op is not timed
            answer = {"error": str(error).strip().split("\n", maxsplit=1)[0]}
        print(json.dumps(answer), file=answers, flush=True)


class Package:
    """The process of one package, as the driver sees it."""

    def __init__(self, name: str, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **dict.fromkeys(POOLS, str(threads))},
        )

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its answer; an error of the package is raised here."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a process failed on {request}; its error is above")
        answer = json.loads(line)
        if isinstance(answer, dict):
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# ---- the driver ----


def prepared(name: str, calls: Any, pairs: list[list[Package]], scratch: Path) -> None:
    """Have all processes prepare the first call that they agree on."""
    problems = ["no sample has an array that could be larger"]
    file = scratch / "call"
    for call in calls:
        file.write_bytes(pickle.dumps(call._asdict()))
        # An op with a derivative in one package alone is compared by its forward.
        for differentiate in (True, False) if call.differentiate else (False,):
            request = {"file": str(file), "differentiate": differentiate}
            try:
                shapes = [[p.ask(**request) for p in reversed(pair)] for pair in pairs]
            except RuntimeError as error:
                problems.append(str(error))
                continue
            if all(theirs == ours for theirs, ours in shapes):
                return
            problems.append(f"results of other shapes: {shapes[0]}")
    raise LookupError(f"{name}: {problems[min(1, len(problems) - 1)]}")


def measured(pair: list[Package]) -> list[float]:
    """The quickest call of each package, in seconds."""
    best = [package.ask() for package in pair]
    for _ in range(TURNS - 1 if sum(best) < LONG else 1):
        best = [min(old, package.ask()) for old, package in zip(best, pair, strict=True)]
    return best


Times = dict[str, list[list[float]]]  # of an op, for each number of threads, both packages


def scan(names: list[str], threads: list[int], scratch: Path) -> tuple[Times, list[str]]:
    """The times of each op, and what could not be timed, with the reason."""
    sys.path.append(str(ROOT))  # last: what is installed is timed, the samples are found here
    cases = importlib.import_module("scan_cases")
    everything = dict.fromkeys([*importlib.import_module("adjoint.testing").all_functions()])
    everything.update(dict.fromkeys(cases.CALLS))
    pairs = [[Package(name, count) for name in PACKAGES] for count in threads]
    table: Times = {}
    left: list[str] = []
    for name in names or everything:
        try:
            prepared(name, cases.calls_of(name), pairs, scratch)
        except LookupError as error:
            left.append(str(error.args[0]))
            continue
        table[name] = [measured(pair) for pair in pairs]
        shown = "".join(f"{ours / theirs:>9.2f}" for ours, theirs in table[name])
        print(f"{name:32}{shown}{table[name][0][0] * 1e6:>13,.1f}", flush=True)
    for pair in pairs:
        for package in pair:
            package.close()
    return table, left


def summary(table: Times, threads: list[int]) -> list[str]:
    """The median, and how many ops are beyond the bars, for each number of threads."""
    lines = []
    for i, count in enumerate(threads):
        ratios = [times[i][0] / times[i][1] for times in table.values()]
        beyond = ", ".join(f"{sum(r > bar for r in ratios)} over {bar}" for bar in BARS)
        lines.append(
            f"{count} thread{'s' * (count > 1)}: {len(ratios)} ops, median "
            f"{statistics.median(ratios):.2f}, {sum(r < 1 for r in ratios)} below 1, {beyond}"
        )
    return lines


def as_markdown(table: Times, threads: list[int], compiled: bool) -> str:
    """The page of the documentation, the slowest first."""
    heads = " | ".join(f"{count} thread{'s' * (count > 1)}" for count in threads)
    lines = [
        *ABOUT.format(build="compiled" if compiled else "pure").splitlines(),
        *[f"- {line}." for line in summary(table, threads)],
        "",
        f"| op | {heads} | µs, one thread | why more than {BARS[0]} |",
        "|---" * (len(threads) + 3) + "|",
    ]
    for name, times in sorted(table.items(), key=lambda item: -item[1][0][0] / item[1][0][1]):
        cells = " | ".join(f"{ours / theirs:.2f}" for ours, theirs in times)
        slow = any(ours / theirs > BARS[0] for ours, theirs in times)
        reason = REASONS.get(name, "") if slow else ""
        lines.append(f"| {name} | {cells} | {times[0][0] * 1e6:,.0f} | {reason} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print a line for each op, the slowest again, and what was not timed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", help="of ops or calls; all by default")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--save", type=Path, help="write a page of Markdown, or figures to .json")
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.threads[0])
        return
    compiled = importlib.import_module("adjoint").__compiled__
    counts = "".join(f"{f'{count} threads':>9}" for count in given.threads)
    print(f"{'ratio to PyTorch':32}{counts}{'µs':>13}")
    with tempfile.TemporaryDirectory() as scratch:
        table, left = scan(given.names, given.threads, Path(scratch))
    own = [reason for reason in left if reason.endswith(ABSENT)]
    print("", *[f"not timed: {reason}" for reason in left if reason not in own], sep="\n")
    print(f"not timed: {len(own)} ops of our own, which PyTorch has no name for")
    print(*summary(table, given.threads), f"compiled: {compiled}", sep="\n")
    if given.save is not None:
        text = as_markdown(table, given.threads, compiled)
        if given.save.suffix == ".json":
            text = json.dumps(table, indent=1) + "\n"
        given.save.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
