"""A process that has imported PyTorch, and runs programs in copies of itself.

Each line that comes in names a program, the folder it runs in, and the file for what it prints;
the answer is its exit status. A copy ends at once: threads that PyTorch has left abort others.
"""

import contextlib
import importlib
import json
import os
import runpy
import sys
import traceback
from pathlib import Path

# What many of the programs import; none of it is ours to test.
IMPORTED = (
    "torch",
    "torch._dynamo",
    "torch.distributed.fsdp",
    "torch.utils.data",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
    "sklearn.metrics",
    "matplotlib.pyplot",
    "pandas",
)


def run(program: str, folder: str, printed: str) -> None:
    """Run a program in this process, which ends with it."""
    os.chdir(folder)
    target = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(target, stream)
    sys.argv = [program]
    sys.path[0] = str(Path(program).parent)
    status = 0
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        status = int(bool(error.code))
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Answer until nobody asks any more."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
