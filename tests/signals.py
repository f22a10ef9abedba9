"""Signals that are heard at a chosen place of a program."""

import contextlib
import dis
import functools
import opcode
import signal
import sys
import threading
from pathlib import Path

import adjoint

PACKAGE = str(Path(adjoint.__file__).parent)
# After these the interpreter looks for signals, and nowhere else.
CHECKED = {"RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD"}
# Python 3.12 traces bytecodes only if a frame had asked for them before settrace was called.
sys._getframe().f_trace_opcodes = True


class Heard(BaseException):
    """What the signal's handler raises."""


@contextlib.contextmanager
def handling(error=Heard):
    """Inside, a signal raises this."""

    def handler(number, frame):
        raise error

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def send():
    """Send it to the main thread."""
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)


@functools.cache
def _handlers(code):
    return dis._parse_exception_table(code)


def _handler(code, offset):
    """Where an error at an instruction is handled."""
    return next((e.target for e in _handlers(code) if e.start <= offset < e.end), None)


def is_heard(code, before, offset):
    """Whether a signal may be heard after an instruction, and as well be raised at the next."""
    checked = opcode.opname[code.co_code[before]] in CHECKED
    return checked and _handler(code, before) == _handler(code, offset)


def heard_at(place, function, *args, folder=PACKAGE, except_in=()):
    """Call a function with a signal at the so-and-so-many-th place where one can be heard.

    Only places in interpreted files of a folder, or of several, count. False if there are fewer.
    In functions called one of `except_in`, none is heard at the very start.
    """
    left = place
    previous = {}

    def on_opcode(frame, event, argument):
        nonlocal left
        if event == "opcode":
            code = frame.f_code
            before = previous.get(id(frame))
            previous[id(frame)] = frame.f_lasti
            starts = before is not None and opcode.opname[code.co_code[before]] == "RESUME"
            if starts and code.co_name in except_in:
                return on_opcode
            if before is not None and is_heard(code, before, frame.f_lasti):
                left -= 1
                if left < 0:
                    sys.settrace(None)
                    raise Heard
        return on_opcode

    def on_call(frame, event, argument):
        if not frame.f_code.co_filename.startswith(folder):
            return None
        frame.f_trace_opcodes = True
        previous.pop(id(frame), None)
        return on_opcode

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        function(*args)
    except Heard:
        return True
    finally:
        sys.settrace(before)
    return False


def meanwhile(place, function, action, folder=PACKAGE):
    """Call a function, and another before the so-and-so-many-th bytecode of it that is interpreted.

    That is what another thread may do there. False if there are fewer.
    """
    left = place

    def on_opcode(frame, event, argument):
        nonlocal left
        if event == "opcode":
            left -= 1
            if left == -1:
                sys.settrace(None)
                action()
        return on_opcode

    def on_call(frame, event, argument):
        if not frame.f_code.co_filename.startswith(folder):
            return None
        frame.f_trace_opcodes = True
        return on_opcode

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        function()
    finally:
        sys.settrace(before)
    return left < 0


def is_free(lock):
    """Whether another thread gets a lock at once."""
    got = []

    def take():
        got.append(lock.acquire(blocking=False))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]
