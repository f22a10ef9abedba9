"""The command line: `python -m adjoint run script.py` runs a program written for PyTorch."""

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from adjoint.compat import install
from adjoint.version import __version__


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m adjoint", description=__doc__)
    parser.add_argument("--version", action="version", version=f"adjoint {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    run = commands.add_parser("run", help="run a program in which `import torch` means adjoint")
    run.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    run.add_argument("program", help="a script, or with -m the name of a module")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program is given")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says; a program that is run may end the process with its status."""
    options = _parser().parse_args(arguments)
    install()
    sys.argv = [options.program, *options.arguments]
    if options.module:
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        return
    sys.path[0] = str(Path(options.program).resolve().parent)
    runpy.run_path(options.program, run_name="__main__")
