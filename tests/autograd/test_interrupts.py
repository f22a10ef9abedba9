"""A signal that is heard anywhere leaves everything as it was, or as it would have become."""

import contextlib
import signal
import sys
import threading
import time

import pytest

import adjoint
from adjoint.autograd import grad_mode

MAIN = threading.main_thread()


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
    signal.pthread_kill(MAIN.ident, signal.SIGUSR1)


def leaf(*values):
    return adjoint.tensor(list(values), requires_grad=True)


class TestNested:
    """Passes so deep within others that they run on threads of their own."""

    def chain(self, depth, innermost):
        """A loss whose backward runs a pass within a pass, so deep, and then a function."""
        with adjoint.enable_grad():
            y = leaf(1.0) * 2.0
            if depth == 0:
                y.register_hook(lambda grad: innermost())
            else:
                y.register_hook(lambda grad: self.chain(depth - 1, innermost).backward())
            return y.sum()

    @pytest.mark.parametrize("depth", [12, 13, 24, 30])
    def test_an_interrupt_stops_them_before_it_is_raised(self, depth):
        x = leaf(1.0, 2.0)
        x.grad = adjoint.ones(2)
        threads = threading.active_count()
        steps = []

        def innermost():
            with adjoint.enable_grad():
                for _ in range(3):
                    (x * 2.0).sum().backward()
                send()
                time.sleep(0.05)  # the main thread hears of it
                y = x * 1.0
                for _ in range(20):
                    y = y * 1.0
                    y.register_hook(lambda grad: (time.sleep(0.01), steps.append(1)))
                y.sum().backward()

        with handling(), pytest.raises(Heard):
            self.chain(depth, innermost).backward()
        after = len(steps)
        assert x.grad.tolist() == [1.0, 1.0]
        assert x.grad._version == 0
        assert threading.active_count() == threads
        time.sleep(0.1)
        assert len(steps) == after < 20
        assert x.grad.tolist() == [1.0, 1.0]

    def test_a_pass_that_goes_on_after_it_can_nest_again(self):
        x = leaf(1.0)

        def innermost():
            with adjoint.enable_grad():
                send()
                time.sleep(0.05)
                (x * 2.0).sum().backward()

        def guarded():
            with adjoint.enable_grad():
                with pytest.raises(Heard):
                    self.chain(14, innermost).backward()
                self.chain(14, lambda: None).backward()
                (x * 3.0).sum().backward()

        with handling():
            self.chain(0, guarded).backward()
        assert x.grad.tolist() == [3.0]

    def test_a_thread_that_can_not_start(self, monkeypatch):
        def start(thread):
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", start)
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="can't start"):
            self.chain(12, lambda: (x * 2.0).sum().backward()).backward()
        assert x.grad is None

    @pytest.mark.parametrize("runs", [False, True])
    def test_an_interrupt_while_it_starts(self, monkeypatch, runs):
        start = threading.Thread.start
        ran = []

        def interrupted(thread):
            if runs:
                start(thread)
            raise Heard

        monkeypatch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(Heard):
            self.chain(12, lambda: (time.sleep(0.02), ran.append(1))).backward()
        after = list(ran)
        time.sleep(0.05)
        assert ran == after
