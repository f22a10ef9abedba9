"""Why Python 3.12 is not asked for signals at the bytecodes of several threads: it dies of it.

No library takes part. Two threads run the same functions, both traced bytecode by bytecode, and one
stops tracing: `python tests/faults/opcode_tracing.py` ends with a segmentation fault on 3.12, and
with "alive" on 3.11 and 3.13.
"""

import faulthandler
import random
import sys
import threading
from typing import Any

ROUNDS = 300
left = [0]  # bytecodes until tracing ends


def count(number: int) -> int:
    """Something to trace."""
    total = 0
    for each in range(number):
        total += each
    return total


def work(number: int, inner: Any) -> int:
    """Something to trace, with places where a bytecode is replaced."""
    first = count(number)
    try:
        second = inner(number)
    finally:
        first += 1
    return first + int(second)


def on_a_thread(number: int) -> int:
    """The same work on another thread, at the same time."""
    other = threading.Thread(target=work, args=(number, count), daemon=True)
    other.start()
    found = work(number, count)
    other.join(1.0)
    return found


def enter(frame: Any, event: str, arg: Any) -> Any:
    """A function is called: trace its bytecodes."""
    frame.f_trace_opcodes = True
    frame.f_trace_lines = False
    return step


def step(frame: Any, event: str, arg: Any) -> Any:
    """A bytecode is about to run; after some the thread is no longer traced."""
    if event == "opcode":
        left[0] -= 1
        if left[0] == 0:
            sys.settrace(None)
            return None
    return step


if __name__ == "__main__":
    faulthandler.enable()
    for _ in range(ROUNDS):
        left[0] = random.randrange(20, 1500)
        threading.settrace(enter)
        sys.settrace(enter)
        work(5, on_a_thread)
        sys.settrace(None)
        threading.settrace(None)
    print("alive")
