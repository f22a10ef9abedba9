"""What the collector knows is found without harm to other threads."""

import gc
import sys
import threading

import pytest

import adjoint
from adjoint.autograd import alive, graph


class Thing:
    pass


class Other(Thing):
    pass


def test_objects_of_the_very_classes_are_found():
    thing, other, old = Thing(), Other(), Thing()
    assert {Thing, Other, dict} <= alive.kinds()
    assert {id(each) for each in alive.of_kinds([Thing])} == {id(thing), id(old)}
    assert {id(each) for each in alive.of_kinds([Thing, Other])} == set(
        map(id, (thing, other, old))
    )
    assert alive.of_kinds([]) == []


def test_those_of_one_generation():
    gc.disable()
    try:
        old = Thing()
        gc.collect()
        young = Thing()
        assert alive.of_kinds([Thing], 0) == [young]
        assert old in alive.of_kinds([Thing])
    finally:
        gc.enable()


def test_nothing_is_held_that_was_looked_through():
    thing = Thing()
    before = sys.getrefcount(thing)
    alive.kinds()
    alive.of_kinds([dict])
    assert sys.getrefcount(thing) == before


def look_for_hooks():
    for _ in range(20):
        graph.hooks()


def trace():
    pytest.importorskip("jax")
    step = adjoint.compile(lambda x: x * 2 + 1, limit=9)
    for size in range(2, 8):
        for _ in range(2):
            step(adjoint.ones(size))


@pytest.mark.parametrize("look", [look_for_hooks, trace])
def test_other_threads_make_tuples_meanwhile(look):
    done, broken = threading.Event(), []

    def make():
        while not done.is_set():
            try:
                tuple(n for n in range(300))
            except SystemError as error:
                broken.append(error)

    threads = [threading.Thread(target=make) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for each in threads:
            each.start()
        look()
    finally:
        done.set()
        for each in threads:
            each.join()
        sys.setswitchinterval(interval)
    assert not broken
