"""The self-test of a build: compiled classes live, die and are seen as interpreted ones are.

`pytest tests/test_build.py` is enough to try a wheel; docs/notes/build.md says what may be wrong.
"""

import _thread
import asyncio
import contextlib
import copy
import functools
import gc
import importlib
import operator
import pickle
import sys
import threading
import weakref

import pytest

import adjoint
from adjoint.autograd import Function, forward_rules
from adjoint.transforms import batches
from tests.build_script import script

SOME = 2000


def module_classes():
    """The classes of the modules that a build compiles."""
    for file in script("setup.py").COMPILED:
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


CLASSES = sorted(set(module_classes()), key=lambda cls: cls.__qualname__)
WEAK = [cls for cls in CLASSES if cls.__weakrefoffset__]


def leaf():
    return adjoint.ones(2, requires_grad=True)


def can_be_derived_from(cls):
    try:
        derived = type("Derived", (cls,), {})
        derived.__new__(derived)
    except TypeError:  # compiled without this, or made with arguments only
        return False
    return cls.__weakrefoffset__ or not issubclass(cls, tuple)


OPEN = [cls for cls in CLASSES if can_be_derived_from(cls)]


def each(classes):
    """Try a test on each of these classes; in the pure package on Tensor alone, to try the test."""
    if not adjoint.__compiled__:
        classes = [adjoint.Tensor]
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__qualname__)


class Doubled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def all_kinds():
    """A program in which instances of all compiled classes live and die; what it still holds."""
    x, weight = leaf(), leaf()
    held = [x]
    y = (x * weight + 1).tanh()
    handle = y.register_hook(lambda grad: grad, name="named")
    held += [handle, y, Doubled.apply(y)]
    base = y.clone()
    base[0] = 3.0
    base[0:1].mul_(weight[0])
    constant = adjoint.zeros(2)
    constant[0:1].mul_(weight[0:1])  # the base had no history
    forgotten = y.clone()
    forgotten.eq_(1.0)
    held += [base, constant, forgotten]
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        held.append((y * y).sum())
    held[-1].backward(retain_graph=True)
    module = adjoint.nn.Identity()
    module.register_full_backward_hook(lambda *grads: None)
    held.append(module(y))
    operands = [constant.detach(), None]
    held += [
        batches.BatchCall(adjoint.relu, batches.BatchLevel(2), operands[:1]),
        forward_rules._Call(adjoint.relu, operands[:1], operands[:1]),
    ]
    return held


def instance_of(cls):
    """An instance that nobody else refers to; without its attributes, where that can be had."""
    for arguments in ((), (leaf(),)):
        with contextlib.suppress(TypeError):  # some can only be made with the right arguments
            return cls.__new__(cls, *arguments)
    held = all_kinds()
    found = [thing for thing in gc.get_objects() if type(thing) is cls]
    assert found, f"all_kinds() makes no {cls.__qualname__}"
    del held
    return found[0]


# ---- weak references ----


def test_what_users_see_can_be_weakly_referenced():
    for thing in (leaf(), (leaf() * 2).grad_fn, leaf().register_hook(print)):
        assert any(isinstance(thing, cls) for cls in WEAK)


@each(WEAK)
def test_a_weak_reference_tells_of_the_death(cls):
    thing, told = instance_of(cls), []
    reference = weakref.ref(thing, told.append)
    others = weakref.WeakSet([thing])
    assert reference() is thing
    del thing
    gc.collect()  # of all_kinds(), whose graph it was part of
    assert told == [reference]
    assert reference() is None
    assert not others


@each(OPEN)
def test_the_end_is_told_at_once(cls):
    class Derived(cls):
        pass

    gc.disable()
    try:
        told = []
        reference = weakref.ref(Derived.__new__(Derived), told.append)
        assert told == [reference]
        assert reference() is None
    finally:
        gc.enable()


@each(OPEN)
def test_the_collector_tells_of_a_cycle(cls):
    class Derived(cls):
        pass

    thing, told = Derived.__new__(Derived), []
    thing.itself = thing
    reference = weakref.ref(thing, told.append)
    kept = weakref.ref(thing)  # of several without a callback, Python makes one
    del thing
    gc.collect()
    assert told == [reference]
    assert kept() is None


def test_a_reference_that_dies_first_is_not_told():
    tensor, told = leaf(), []
    references = [weakref.ref(tensor, told.append) for _ in range(3)]
    del references[0]
    gc.collect()
    del tensor
    assert told == references[::-1]


def test_a_function_of_a_compiled_module_is_not_born_with_the_past_of_another():
    from adjoint.ops.op import declare

    function, told = declare("general", {}), []
    watched = bool(type(function).__weakrefoffset__)  # from Python 3.12 on mypyc gives them none
    reference = weakref.ref(function, told.append) if watched else None
    function.note = "of the first"
    del function
    function = declare("general", {})
    assert not hasattr(function, "note")
    if watched:
        assert told == [reference]
        assert reference() is None


# ---- types ----


def counts(classes):
    gc.collect()
    return [sys.getrefcount(cls) for cls in classes]


@each(OPEN)
def test_instances_keep_no_reference_to_their_type(cls):
    class Open(cls):
        pass

    class Slotted(cls):
        __slots__ = ("slot",)

    class Ending(cls):
        def __del__(self):
            pass

    def live_and_die(kind):
        for _ in range(SOME):
            kind.__new__(kind)
        for _ in range(0 if kind is cls else SOME):
            thing = kind.__new__(kind)
            thing.slot = thing

    kinds = [cls, Open, Slotted, Ending]
    before = counts(kinds)
    for number in range(len(kinds)):
        live_and_die(kinds[number])
    assert counts(kinds) == before


def test_a_program_keeps_no_reference_to_the_types_it_uses():
    all_kinds()  # what is made once and kept
    before = counts(CLASSES)
    for _ in range(20):
        all_kinds()
    grown = [now - then for now, then in zip(counts(CLASSES), before, strict=True)]
    assert not {cls: more for cls, more in zip(CLASSES, grown, strict=True) if more}


def dies(make):
    """Whether a class dies that is made, used and dropped."""
    reference = weakref.ref(make())
    gc.collect()
    return reference() is None


@each(OPEN)
def test_a_class_dies_after_its_instances(cls):
    def make():
        class Derived(cls):
            pass

        Derived.__new__(Derived)
        return Derived

    def in_a_cycle():
        class Derived(cls):
            pass

        Derived.only = Derived.__new__(Derived)
        return Derived

    assert dies(make)
    assert dies(in_a_cycle)


def test_a_class_of_tensors_dies_after_its_graph():
    def make():
        class Mine(adjoint.Tensor):
            pass

        x = adjoint.ones(2).as_subclass(Mine).requires_grad_()
        (x * 2).sum().backward()
        assert type(x * 2) is Mine
        return Mine

    assert dies(make)


def test_a_function_dies_after_its_graph():
    def make():
        class Mine(Function):
            forward = staticmethod(lambda ctx, x: x * 2)
            backward = staticmethod(lambda ctx, grad: grad * 2)

        Mine.apply(leaf()).sum().backward()
        return Mine

    assert dies(make)


# ---- what a derived class adds ----


class Value:
    """Counts its ends."""

    ended = 0

    def __del__(self):
        Value.ended += 1


@each(OPEN)
@pytest.mark.parametrize("cyclic", [False, True])
def test_what_a_derived_class_adds_ends_with_the_instance(cls, cyclic):
    ends = []

    class Derived(cls):
        __slots__ = ("slot",) if cls.__dictoffset__ else ("__dict__", "slot")

        def __del__(self):
            ends.append((self.slot is not None, self.added is not None))

    Value.ended = 0
    thing = Derived.__new__(Derived)
    thing.slot, thing.added = Value(), Value()
    if cyclic:
        thing.itself = thing
    del thing
    gc.collect()
    assert ends == [(True, True)]
    assert Value.ended == 2


@each(OPEN)
def test_an_instance_can_be_revived_once(cls):
    revived = []

    class Derived(cls):
        def __del__(self):
            revived.append(self)

    thing = Derived.__new__(Derived)
    thing.added = added = Value()
    del thing
    assert len(revived) == 1
    assert revived[0].added is added
    reference = weakref.ref(revived.pop())  # __del__ is called once in a life
    assert reference() is None
    assert revived == []


@each(OPEN)
def test_the_collector_spares_what_others_hold(cls):
    class Derived(cls):
        __slots__ = ("slot",) if cls.__dictoffset__ else ("__dict__", "slot")

    class Held:
        pass

    held = Held()
    held.itself, held.value = held, [1, 2, 3]
    references = []
    for _ in range(3):
        for kind in (Derived, type("Open", (cls,), {})):
            thing = kind.__new__(kind)
            thing.slot = held
            thing.itself = [thing, held]
            if kind.__weakrefoffset__:
                references.append(weakref.ref(thing))
            del thing
    gc.collect()
    assert all(reference() is None for reference in references)
    assert held.itself is held
    assert held.value == [1, 2, 3]


@pytest.mark.parametrize("make", [leaf, lambda: (leaf() * 2).grad_fn])
def test_attributes_can_be_looked_at_but_not_broken(make):
    thing = make()
    assert isinstance(vars(thing), dict)
    thing.note = 1
    assert vars(thing)["note"] == 1
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary"):
        thing.__dict__ = 5
    reference = weakref.ref(thing)
    with pytest.raises(AttributeError):
        thing.__weakref__ = 5
    assert thing.__weakref__ is reference
    assert thing.note == 1


class Labelled(adjoint.Tensor):
    """At the top of the module, where pickle can find it."""


def test_copies_and_pickles():
    tensor = adjoint.tensor([1.0, 2.0]).as_subclass(Labelled)
    tensor.label = ["kept"]
    ways = [copy.deepcopy, copy.copy, lambda t: pickle.loads(pickle.dumps(t))]
    before = counts([Labelled, adjoint.Tensor])
    for _ in range(20):
        for way in ways:
            made = way(tensor)
            assert type(made) is Labelled
            assert made.label == ["kept"]
            assert made.tolist() == [1.0, 2.0]
            del made
    assert counts([Labelled, adjoint.Tensor]) == before


# ---- deep structures ----


DEPTH = 200_000


def chain_of_nodes():
    y = leaf()
    for _ in range(DEPTH):
        y = y + 1
    return y


def chain_of_tensors():
    class Link(adjoint.Tensor):
        pass

    tensor = None
    for _ in range(DEPTH):
        following, tensor = tensor, Link.__new__(Link)
        tensor.following = following
    return tensor


def chain_of_cycles():
    chain = chain_of_tensors()
    chain.itself = chain
    return chain


@pytest.mark.parametrize("make", [chain_of_nodes, chain_of_tensors, chain_of_cycles])
def test_a_deep_chain_is_freed_on_a_small_stack(make):
    ended = []

    def make_and_drop():
        made = make()
        reference = weakref.ref(made)
        del made
        gc.collect()
        ended.append(reference() is None)

    before = threading.stack_size(4 << 20)  # Python 3.13 frees 10,000 objects one inside another
    try:
        thread = threading.Thread(target=make_and_drop)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert ended == [True]


# ---- frames ----


def by_function(x):
    return x * 2  # here: by_function


def by_lambda(x):
    double = lambda value: value * 2  # here: by_lambda
    return double(x)


def by_generator(x):
    def generate():
        yield x * 2  # here: by_generator

    return next(generate())


def by_comprehension(x):
    made = [value * 2 for value in [x]]  # here: by_comprehension
    return made[0]


def by_generator_expression(x):
    return sum(value * 2 for value in [x])  # here: by_generator_expression


def by_method(x):
    return x.tanh()  # here: by_method


def by_several_lines(x):
    return adjoint.mul(  # here: by_several_lines
        x,
        2,
    )


def by_map_of_a_function(x):
    def double(value):
        return value * 2  # here: by_map_of_a_function

    return next(map(double, [x]))


def by_map_of_an_op(x):
    return next(map(adjoint.tanh, [x]))  # here: by_map_of_an_op


def by_key_of_sorted(x):
    made = []

    def key(value):
        made.append(value * 2)  # here: by_key_of_sorted
        return 0

    sorted([x], key=key)
    return made[0]


def by_partial(x):
    return functools.partial(adjoint.mul, x)(2)  # here: by_partial


def by_reduce(x):
    return functools.reduce(operator.mul, [x, x])  # here: by_reduce


def by_methodcaller(x):
    return operator.methodcaller("tanh")(x)  # here: by_methodcaller


def by_property(x):
    class Owner:
        @property
        def double(self):
            return x * 2  # here: by_property

    return Owner().double


def by_class_body(x):
    class Body:
        made = x * 2  # here: by_class_body

    return Body.made


def by_coroutine(x):
    async def double():
        await asyncio.sleep(0)
        return x * 2  # here: by_coroutine

    return asyncio.run(double())


def by_thread(x):
    made = []

    def run():
        made.append(x * 2)  # here: by_thread

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return made[0]


def by_finalizer(x):
    made = []

    class Ending:
        def __del__(self):
            made.append(x * 2)  # here: by_finalizer

    Ending()
    return made[0]


def by_handler(x):
    try:
        raise LookupError  # noqa: TRY301
    except LookupError:
        return x * 2  # here: by_handler


CALLERS = [
    by_function, by_lambda, by_generator, by_comprehension, by_generator_expression, by_method,
    by_several_lines, by_map_of_a_function, by_map_of_an_op, by_key_of_sorted, by_partial,
    by_reduce, by_methodcaller, by_property, by_class_body, by_coroutine, by_thread, by_finalizer,
    by_handler,
]  # fmt: skip


@pytest.mark.parametrize("caller", CALLERS)
def test_the_line_of_a_call_is_noted(caller):
    node = caller(leaf()).grad_fn
    while not node.source().text.endswith(f"here: {caller.__name__}"):  # sum() adds to it
        assert node.name() == "AddBackward0", node.source()
        node = node.next_functions[0][0]
    assert node.source().filename == __file__


def test_the_line_of_made_up_code_is_noted():
    space = {"x": leaf()}
    exec(compile("\n\ny = x * 2\n", "<made up>", "exec"), space)
    source = space["y"].grad_fn.source()
    assert (source.filename, source.lineno, source.function) == ("<made up>", 3, "<module>")
    assert eval("x * 2", space).grad_fn.source().filename == "<string>"


def test_the_line_of_a_change_is_noted():
    tensor = adjoint.ones(2)
    tensor.add_(1)  # here: changed
    assert tensor.counter().source().text.endswith("here: changed")


def test_a_call_without_any_frame_has_no_line():
    results, done = [], threading.Event()
    items = (item for item in [leaf()])
    weakref.finalize(items, done.set)  # it dies with the thread, however that ends
    _thread.start_new_thread(results.extend, (map(adjoint.tanh, items),))
    del items
    done.wait()
    assert results[0].grad_fn.source() is None


def test_a_line_keeps_no_frame_alive():
    def double(x):
        local = Value()
        return x * 2, weakref.ref(local)

    result, reference = double(leaf())
    assert result.grad_fn.source() is not None
    assert reference() is None
