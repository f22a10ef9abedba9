"""What other platforms lack is not needed."""

import ast

from tests.interpreter import ROOT, fresh_python

# As on Windows: what Python does not have there is gone before adjoint is imported. Python's own
# modules must be loaded first, because on this system they rely on it.
PROGRAM = """
import os, sys
import asyncio, ctypes, multiprocessing.connection, multiprocessing.synchronize, pathlib, shutil
import signal, socket, subprocess, tempfile, threading, uuid, zipfile
import numpy

ABSENT = ("fork", "forkpty", "register_at_fork", "confstr", "confstr_names", "sysconf", "uname",
    "getuid", "geteuid", "getgid", "mkfifo", "pread", "pwrite", "sched_getaffinity",
    "sched_yield", "posix_fadvise", "posix_fallocate", "sendfile", "wait3", "wait4", "getpgid",
    "killpg", "nice", "getloadavg", "statvfs", "fchmod", "chown", "setsid", "openpty")
for name in ABSENT:
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "SIGCHLD", "alarm", "setitimer",
        "pthread_kill", "pthread_sigmask", "sigwait", "siginterrupt"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "posix", "pty", "resource", "termios", "syslog"):
    sys.modules[name] = None

import adjoint
import adjoint.autograd.workers
import adjoint.compat.torch
import adjoint.optim, adjoint.random, adjoint.saving.serialization
import adjoint.utils.checkpoint, adjoint.utils.data

x = adjoint.rand(3, requires_grad=True)
(x * 2).sum().backward()
print(x.grad.tolist())
with tempfile.TemporaryDirectory() as folder:
    adjoint.save({"x": x}, os.path.join(folder, "saved"))
    print(adjoint.load(os.path.join(folder, "saved"))["x"].shape)
print(len(list(adjoint.utils.data.DataLoader(range(4)))))
"""


def test_nothing_needs_what_windows_lacks():
    printed = fresh_python("-c", PROGRAM, cwd=ROOT)
    assert printed == "[2.0, 2.0, 2.0]\nadjoint.Size([3])\n4\n"


# Of these modules, what Python has everywhere. What it has on some systems only must be asked for
# with hasattr or getattr first, and stands in GUARDED with the file that does so.
EVERYWHERE = {
    "os": {
        "PathLike", "__file__", "cpu_count", "environ", "fspath", "fsync", "getenv", "getpid",
        "makedirs", "path", "sep", "urandom", "walk",
    },
    "signal": {"SIGINT", "SIG_IGN", "getsignal", "signal", "valid_signals"},
    "socket": {"gethostname"},
}  # fmt: skip
GUARDED = {
    ("os", "confstr", "backends/numpy.py"),
    ("os", "register_at_fork", "_base.py"),
    ("os", "register_at_fork", "backends/threads.py"),
}
UNIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios"}


def test_modules_use_only_what_is_there_everywhere():
    package = ROOT / "adjoint"
    found = []
    for path in sorted(package.rglob("*.py")):
        tree, file = ast.parse(path.read_text("utf-8")), path.relative_to(package).as_posix()
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
        imported = {alias.name for node in imports for alias in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found += [(file, alias.name) for alias in node.names if alias.name in UNIX_ONLY]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                allowed = EVERYWHERE.get(node.module, {alias.name for alias in node.names})
                found += [(file, a.name) for a in node.names if a.name not in allowed]
                found += [(file, node.module)] if node.module in UNIX_ONLY else []
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module, name = node.value.id, node.attr
                if module in imported and name not in EVERYWHERE.get(module, {name}):
                    found += [(file, module, name)] if (module, name, file) not in GUARDED else []
    assert found == []
