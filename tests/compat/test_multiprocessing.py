"""torch.multiprocessing: processes that begin anew import adjoint as torch too."""

import textwrap

import pytest

from adjoint.compat.torch import multiprocessing
from tests.interpreter import fresh_python

PROGRAM = """
    import sys
    import torch
    import torch.multiprocessing as mp

    def work(number, tensor, results):
        results.put((number, "adjoint" in torch.__file__, float((tensor * number).sum())))

    def fail(number):
        if number == 1:
            raise ValueError("no such luck")

    def leave(number):
        sys.exit(3)

    if __name__ == "__main__":
        results = mp.get_context("spawn").SimpleQueue()
        mp.spawn(work, args=(torch.ones(3), results), nprocs=2)
        print(sorted(results.get() for _ in range(2)))
        errors = (mp.ProcessRaisedException, mp.ProcessExitedException)
        for function, error in zip((fail, leave), errors):
            try:
                mp.spawn(function, nprocs=2)
            except error as raised:
                print("no such luck" in str(raised), "exit code 3" in str(raised))
        context = mp.start_processes(fail, nprocs=1, join=False, start_method="fork")
        print(len(context.pids()), context.join())
"""


def test_spawned_processes(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM))
    assert fresh_python("-m", "adjoint", "run", path, cwd=tmp_path) == (
        "[(0, True, 0.0), (1, True, 3.0)]\nTrue False\nFalse True\n1 True\n"
    )


def test_python_s_own_names_are_there():
    assert multiprocessing.Queue and multiprocessing.cpu_count() > 0
    before = multiprocessing.get_sharing_strategy()
    assert before in multiprocessing.get_all_sharing_strategies()
    multiprocessing.set_sharing_strategy("file_system")
    assert multiprocessing.get_sharing_strategy() == "file_system"
    multiprocessing.set_sharing_strategy(before)
    with pytest.raises(ValueError, match="file_system"):
        multiprocessing.set_sharing_strategy("telepathy")
