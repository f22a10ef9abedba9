"""torch.futures: results that come later, which callbacks and other threads wait for."""

import concurrent.futures
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Future(Generic[Value]):
    """A value that is set once; `wait` returns it, or raises the exception set in its place."""

    def __init__(self, *, devices: Any = None) -> None:
        self._inner: concurrent.futures.Future[Value] = concurrent.futures.Future()

    def done(self) -> bool:
        """Whether it has a value or an exception."""
        return self._inner.done()

    def wait(self) -> Any:
        """The value, once it is there."""
        return self._inner.result()

    def value(self) -> Any:
        """The value, which must be there."""
        if not self.done():
            raise RuntimeError("Future.value: there is no value yet; wait() waits for it")
        return self._inner.result()

    def then(self, callback: Callable[["Future[Value]"], Any]) -> "Future[Any]":
        """A future of what callback answers when it is given this one, completed."""
        following: Future[Any] = Future()

        def run(_: object) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self._inner.add_done_callback(run)
        return following

    def add_done_callback(self, callback: Callable[["Future[Value]"], Any]) -> None:
        """Call callback with this future when it is completed."""
        self._inner.add_done_callback(lambda _: callback(self))

    def set_result(self, result: Any) -> None:
        """Complete it with a value."""
        if self.done():
            raise RuntimeError("Future.set_result: it has a value already")
        self._inner.set_result(result)

    def set_exception(self, result: BaseException) -> None:
        """Complete it with an exception."""
        if not isinstance(result, BaseException):
            raise TypeError(f"Future.set_exception: {result!r} is no exception")
        self._inner.set_exception(result)


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    """The values of all, once they are there."""
    return [future.wait() for future in futures]


def collect_all(futures: Sequence[Future[Any]]) -> Future[Any]:
    """A future of the list of these futures, when all are completed."""
    collected: Future[Any] = Future()
    completed = itertools.count(1)  # which several threads may ask

    def count(_: Future[Any]) -> None:
        if next(completed) == len(futures):
            collected.set_result(list(futures))

    if not futures:
        collected.set_result([])
    for future in futures:
        future.add_done_callback(count)
    return collected
