"""What changes between two calls of a compiled function is seen: nothing is silently frozen.

Each case answers a function, and what changes something that it reads; called alike, the function
and its compiled form answer the same.
"""

import abc
import argparse
import array
import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import operator
import os
import random
import sys
import threading
import types
import warnings
import weakref
from typing import NamedTuple, TypedDict

import numpy as np
import pytest

import adjoint
from adjoint import nn, optim
from adjoint.autograd import graph
from adjoint.utils.data import DataLoader, TensorDataset

CASES = {}
GD = {"a": 1.0}
GA = 1.0
EAGER = {"count_iter", "generator", "loader_iter", "python_random", "numpy_rng"}  # which say so


def case(make):
    CASES[make.__name__] = make
    return make


@case
def slots():
    class S:
        __slots__ = ("a",)

    s = S()
    s.a = 1.0
    return (lambda x: x * s.a), lambda i: setattr(s, "a", float(i))


@case
def slots_method():
    class S:
        __slots__ = ("a",)

        def f(self, x):
            return x * self.a

    s = S()
    s.a = 1.0
    return (lambda x: s.f(x)), lambda i: setattr(s, "a", float(i))


@case
def slots_bound():
    class S:
        __slots__ = ("a",)

        def f(self, x):
            return x * self.a

    s = S()
    s.a = 1.0
    return s.f, lambda i: setattr(s, "a", float(i))


@case
def slots_dc():
    @dataclasses.dataclass(slots=True)
    class S:
        a: float = 1.0

    s = S()
    return (lambda x: x * s.a), lambda i: setattr(s, "a", float(i))


@case
def slots_tensor():
    class S:
        __slots__ = ("a",)

    s = S()
    s.a = adjoint.ones(2)
    return (lambda x: x * s.a), lambda i: setattr(s, "a", adjoint.full((2,), float(i)))


@case
def defaults():
    def f(x, a=1.0):
        return x * a

    return f, lambda i: setattr(f, "__defaults__", (float(i),))


@case
def kwdefaults():
    def f(x, *, a=1.0):
        return x * a

    return f, lambda i: f.__kwdefaults__.__setitem__("a", float(i))


@case
def helper_defaults():
    def h(x, a=1.0):
        return x * a

    return (lambda x: h(x)), lambda i: setattr(h, "__defaults__", (float(i),))


@case
def default_list():
    def f(x, a=[1.0]):  # noqa: B006
        return x * a[0]

    return f, lambda i: f.__defaults__[0].__setitem__(0, float(i))


@case
def default_list_helper():
    def h(x, a=[1.0]):  # noqa: B006
        return x * a[0]

    return (lambda x: h(x)), lambda i: h.__defaults__[0].__setitem__(0, float(i))


@case
def big_array():
    a = np.ones(100_000)
    return (lambda x: x * float(a[5])), lambda i: a.__setitem__(5, float(i))


@case
def big_array_tensor():
    a = np.ones(100_000, dtype="f4")
    return (lambda x: x * adjoint.tensor(a)[5]), lambda i: a.__setitem__(5, float(i))


@case
def big_array_from_numpy():
    a = np.ones(100_000, dtype="f4")
    return (lambda x: x * adjoint.from_numpy(a)[5]), lambda i: a.__setitem__(5, float(i))


@case
def big_list():
    a = [1.0] * 2000
    return (lambda x: x * a[7]), lambda i: a.__setitem__(7, float(i))


@case
def big_dict():
    a = dict.fromkeys(range(2000), 1.0)
    return (lambda x: x * a[7]), lambda i: a.__setitem__(7, float(i))


@case
def big_set():
    a = set(range(2000))
    return (lambda x: x * (1 + (7 in a))), lambda i: (a.discard(7), a.add(-1)) if i == 3 else None


@case
def np_scalar():
    d = {"a": np.float32(1)}
    return (lambda x: x * float(d["a"])), lambda i: d.__setitem__("a", np.float32(i))


@case
def np_array_arg_attr():
    s = types.SimpleNamespace(a=np.ones(3))
    return (lambda x: x * float(s.a[0])), lambda i: s.a.fill(i)


@case
def object_array():
    a = np.array([1.0, "x"], dtype=object)
    return (lambda x: x * a[0]), lambda i: a.__setitem__(0, float(i))


@case
def obj_array_list():
    a = np.array([[1.0], None], dtype=object)
    return (lambda x: x * a[0][0]), lambda i: a[0].__setitem__(0, float(i))


@case
def cell():
    k = 1.0

    def ch(i):
        nonlocal k
        k = float(i)

    return (lambda x: x * k), ch


@case
def nested_cell():
    k = 1.0

    def ch(i):
        nonlocal k
        k = float(i)

    def f(x):
        def g(y):
            def h(z):
                return z * k

            return h(y)

        return g(x)

    return f, ch


@case
def partial_kw():
    def f(x, a):
        return x * a["v"]

    d = {"v": 1.0}
    return functools.partial(f, a=d), lambda i: d.__setitem__("v", float(i))


@case
def partial_keywords_mut():
    p = functools.partial(lambda x, a: x * a, a=1.0)
    return p, lambda i: p.keywords.__setitem__("a", float(i))


@case
def partial_inner():
    p = functools.partial(lambda x, a: x * a, a=1.0)
    return (lambda x: p(x)), lambda i: p.keywords.__setitem__("a", float(i))


@case
def prop():
    class Owner:
        def __init__(s):
            s._a = 1.0

        @property
        def a(s):
            return s._a

    o = Owner()
    return (lambda x: x * o.a), lambda i: setattr(o, "_a", float(i))


@case
def cached_prop():
    class Owner:
        def __init__(s):
            s.b = 1.0

        @functools.cached_property
        def a(s):
            return s.b

    o = Owner()
    return (lambda x: x * o.a), lambda i: setattr(o, "a", float(i))


@case
def dc():
    @dataclasses.dataclass
    class Owner:
        a: float = 1.0

    o = Owner()
    return (lambda x: x * o.a), lambda i: setattr(o, "a", float(i))


@case
def dc_nested():
    @dataclasses.dataclass
    class Owner:
        a: float = 1.0

    @dataclasses.dataclass
    class Q:
        o: Owner

    q = Q(Owner())
    return (lambda x: x * q.o.a), lambda i: setattr(q.o, "a", float(i))


@case
def namedtup():
    class N(NamedTuple):
        a: float

    h = [N(1.0)]
    return (lambda x: x * h[0].a), lambda i: h.__setitem__(0, N(float(i)))


@case
def module_dict():
    return (lambda x: x * GD["a"]), lambda i: GD.__setitem__("a", float(i))


@case
def class_attr_direct():
    class C:
        a = 1.0

    return (lambda x: x * C.a), lambda i: setattr(C, "a", float(i))


@case
def class_attr_base_direct():
    class B:
        a = 1.0

    class C(B):
        pass

    return (lambda x: x * C.a), lambda i: setattr(B, "a", float(i))


@case
def class_attr_base_inst():
    class B:
        a = 1.0

    class C(B):
        pass

    c = C()
    return (lambda x: x * c.a), lambda i: setattr(B, "a", float(i))


@case
def class_attr_shadow():
    class B:
        a = 1.0

    class C(B):
        pass

    c = C()
    return (
        (lambda x: x * c.a),
        lambda i: (
            setattr(C, "a", float(i)) if i % 2 else (delattr(C, "a") if "a" in vars(C) else None)
        ),
    )


@case
def inst_shadows_class():
    class C:
        a = 1.0

    c = C()
    return (lambda x: x * c.a), lambda i: setattr(c, "a", float(i))


@case
def type_self():
    class C:
        a = 1.0

        def f(self, x):
            return x * type(self).a

    c = C()
    return (lambda x: c.f(x)), lambda i: setattr(C, "a", float(i))


@case
def dunder_class():
    class C:
        a = 1.0

        def f(self, x):
            return x * self.__class__.a

    c = C()
    return (lambda x: c.f(x)), lambda i: setattr(C, "a", float(i))


@case
def classmeth():
    class C:
        a = 1.0

        @classmethod
        def f(cls, x):
            return x * cls.a

    return (lambda x: C.f(x)), lambda i: setattr(C, "a", float(i))


@case
def staticmeth():
    class C:
        @staticmethod
        def f(x):
            return x * GD["a"]

    return (lambda x: C.f(x)), lambda i: GD.__setitem__("a", float(i))


@case
def method_replaced():
    class C:
        def f(self, x):
            return x

    c = C()
    return (lambda x: c.f(x)), lambda i: setattr(C, "f", lambda self, x: x * float(i))


@case
def enum_val():
    class E(enum.Enum):
        A = 1
        B = 2

    h = [E.A]
    return (lambda x: x * h[0].value), lambda i: h.__setitem__(0, E.B if i > 2 else E.A)


@case
def enum_member_attr():
    class E(enum.Enum):
        A = 1

    E.A.k = 1.0
    return (lambda x: x * E.A.k), lambda i: setattr(E.A, "k", float(i))


@case
def flag_obj():
    class Owner:
        training = True

    o = Owner()
    return (lambda x: x * (2 if o.training else 3)), lambda i: setattr(o, "training", i < 3)


@case
def code_replaced():
    def h(x):
        return x

    return (
        lambda x: h(x)
    ), lambda i: setattr(h, "__code__", (lambda x: x * 5.0).__code__) if i > 2 else None


@case
def global_func_replaced():
    d = {"f": lambda x: x}
    return (lambda x: d["f"](x)), lambda i: d.__setitem__("f", lambda x: x * float(i))


@case
def getattr_dyn():
    s = types.SimpleNamespace(a=1.0)
    return (lambda x: x * s.a), lambda i: setattr(s, "a", float(i))


@case
def vars_dyn():
    s = types.SimpleNamespace(a=1.0)
    return (lambda x: x * vars(s)["a"]), lambda i: setattr(s, "a", float(i))


@case
def globals_dyn():
    return (lambda x: x * globals()["GD"]["a"]), lambda i: GD.__setitem__("a", float(i))


@case
def lru():
    k = [1.0]

    @functools.lru_cache
    def h():
        return 1.0

    return (lambda x: x * h() * k[0]), lambda i: k.__setitem__(0, float(i))


@case
def func_attr():
    def h(x):
        return x * h.a

    h.a = 1.0
    return (lambda x: h(x)), lambda i: setattr(h, "a", float(i))


@case
def func_attr_self():
    def f(x):
        return x * f.a

    f.a = 1.0
    return f, lambda i: setattr(f, "a", float(i))


@case
def callable_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __call__(s, x):
            return x * s.a

    o = Owner()
    return o, lambda i: setattr(o, "a", float(i))


@case
def callable_obj_call():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __call__(s, x):
            return s.g(x)

        def g(s, x):
            return x * s.a

    o = Owner()
    return (lambda x: o(x)), lambda i: setattr(o, "a", float(i))


@case
def operator_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __mul__(s, x):
            return x * s.a

    o = Owner()
    return (lambda x: o * x), lambda i: setattr(o, "a", float(i))


@case
def getitem_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __getitem__(s, k):
            return s.a

    o = Owner()
    return (lambda x: x * o[0]), lambda i: setattr(o, "a", float(i))


@case
def len_obj():
    class Owner:
        def __init__(s):
            s.a = 1

        def __len__(s):
            return s.a

    o = Owner()
    return (lambda x: x * len(o)), lambda i: setattr(o, "a", i)


@case
def iter_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __iter__(s):
            yield s.a

    o = Owner()
    return (lambda x: x * sum(o)), lambda i: setattr(o, "a", float(i))


@case
def float_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __float__(s):
            return s.a

    o = Owner()
    return (lambda x: x * float(o)), lambda i: setattr(o, "a", float(i))


@case
def ctx_obj():
    class Owner:
        def __init__(s):
            s.a = 1.0

        def __enter__(s):
            return s.a

        def __exit__(s, *a):
            pass

    o = Owner()

    def f(x):
        with o as a:
            return x * a

    return f, lambda i: setattr(o, "a", float(i))


@case
def getattr_hook():
    class Owner:
        def __init__(s):
            s.d = {"a": 1.0}

        def __getattr__(s, n):
            return s.__dict__["d"][n]

    o = Owner()
    return (lambda x: x * o.a), lambda i: o.d.__setitem__("a", float(i))


@case
def descriptor():
    class D:
        def __get__(s, o, k=None):
            return o.__dict__["v"]

    class Owner:
        a = D()

    o = Owner()
    o.v = 1.0
    return (lambda x: x * o.a), lambda i: setattr(o, "v", float(i))


@case
def defaultdict():
    d = collections.defaultdict(float)
    d["a"] = 1.0
    return (lambda x: x * d["a"]), lambda i: d.__setitem__("a", float(i))


@case
def ordered():
    d = collections.OrderedDict(a=1.0)
    return (lambda x: x * d["a"]), lambda i: d.__setitem__("a", float(i))


@case
def userdict():
    d = collections.UserDict(a=1.0)
    return (lambda x: x * d["a"]), lambda i: d.__setitem__("a", float(i))


@case
def chainmap():
    d = collections.ChainMap({"a": 1.0})
    return (lambda x: x * d["a"]), lambda i: d.maps[0].__setitem__("a", float(i))


@case
def mapproxy():
    b = {"a": 1.0}
    d = types.MappingProxyType(b)
    return (lambda x: x * d["a"]), lambda i: b.__setitem__("a", float(i))


@case
def bytearr():
    b = bytearray([1, 2])
    return (lambda x: x * b[0]), lambda i: b.__setitem__(0, i)


@case
def arr_array():
    b = array.array("d", [1.0])
    return (lambda x: x * b[0]), lambda i: b.__setitem__(0, float(i))


@case
def dict_of_objs():
    class Owner:
        pass

    o = Owner()
    o.a = 1.0
    d = {"k": [o]}
    return (lambda x: x * d["k"][0].a), lambda i: setattr(o, "a", float(i))


@case
def deep_list():
    d = [[[[[[[[1.0]]]]]]]]
    return (lambda x: x * d[0][0][0][0][0][0][0][0]), lambda i: d[0][0][0][0][0][0][0].__setitem__(
        0, float(i)
    )


@case
def list_sub():
    class L(list):
        pass

    d = L([1.0])
    return (lambda x: x * d[0]), lambda i: d.__setitem__(0, float(i))


@case
def module_own():
    m = types.ModuleType("my_mod")
    m.a = 1.0
    return (lambda x: x * m.a), lambda i: setattr(m, "a", float(i))


@case
def nn_attr():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.a = 1.0
            s.cfg = {"b": 1.0}

        def forward(s, x):
            return x * s.a * s.cfg["b"]

    m = M()
    return m, lambda i: m.cfg.__setitem__("b", float(i))


@case
def nn_slots_cfg():
    @dataclasses.dataclass(slots=True)
    class C:
        b: float = 1.0

    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.cfg = C()

        def forward(s, x):
            return x * s.cfg.b

    m = M()
    return m, lambda i: setattr(m.cfg, "b", float(i))


@case
def nn_class_attr():
    class M(nn.Module):
        k = 1.0

        def forward(s, x):
            return x * M.k

    m = M()
    return m, lambda i: setattr(M, "k", float(i))


@case
def generator_default():
    adjoint.manual_seed(3)
    return (lambda x: x * adjoint.rand(())), lambda i: adjoint.manual_seed(i)


@case
def env():
    os.environ["ADJOINT_FACTOR"] = "1"
    return (lambda x: x * float(os.environ["ADJOINT_FACTOR"])), lambda i: os.environ.__setitem__(
        "ADJOINT_FACTOR", str(i)
    )


@case
def default_dtype():
    return (lambda x: x * adjoint.ones(2).sum()), lambda i: adjoint.set_default_dtype(
        adjoint.float64 if i == 3 else adjoint.float32
    )


@case
def gen_closure():
    g = {"v": 1.0}

    def gen():
        yield g["v"]

    return (lambda x: x * next(gen())), lambda i: g.__setitem__("v", float(i))


@case
def mro_super():
    class B:
        k = 1.0

        def f(s, x):
            return x * s.j

    class C(B):
        def __init__(s):
            s.j = 1.0

        def f(s, x):
            return super().f(x)

    c = C()
    return (lambda x: c.f(x)), lambda i: setattr(c, "j", float(i))


@case
def super_cfg():
    D = {"v": 1.0}

    class B:
        def f(s, x):
            return x * D["v"]

    class C(B):
        def f(s, x):
            return super().f(x)

    c = C()
    return (lambda x: c.f(x)), lambda i: D.__setitem__("v", float(i))


@case
def shadow_builtin():
    def ch(i):
        if i >= 3:
            globals()["abs"] = lambda v: float(i)

    return (lambda x: x * abs(-1.0)), ch


@case
def class_rebound():
    class A:
        k = 1.0

    class B:
        k = 5.0

    C = A

    def ch(i):
        nonlocal C
        C = B if i >= 3 else A

    return (lambda x: x * C.k), ch


@case
def module_rebound():
    m = types.ModuleType("m1")
    m.a = 1.0
    n = types.ModuleType("m2")
    n.a = 7.0
    k = m

    def ch(i):
        nonlocal k
        k = n if i >= 3 else m

    return (lambda x: x * k.a), ch


@case
def dunder_class_assigned():
    class A:
        def f(s, x):
            return x

    class B:
        def f(s, x):
            return x * 5

    o = A()
    return (lambda x: o.f(x)), lambda i: setattr(o, "__class__", B if i >= 3 else A)


@case
def dict_replaced():
    class A:
        pass

    o = A()
    o.a = 1.0
    return (lambda x: x * o.a), lambda i: setattr(o, "__dict__", {"a": float(i)})


@case
def hasattr_added():
    class A:
        pass

    o = A()
    return (
        lambda x: x * (5 if hasattr(o, "a") else 1)
    ), lambda i: setattr(o, "a", 1) if i >= 3 else None


@case
def getattr_default():
    o = types.SimpleNamespace()
    return (
        lambda x: x * getattr(o, "a", 1.0)
    ), lambda i: setattr(o, "a", float(i)) if i >= 3 else None


@case
def getattr_computed():
    o = types.SimpleNamespace(a0=1.0)
    n = 0
    return (lambda x: x * getattr(o, f"a{n}")), lambda i: setattr(o, "a0", float(i))


@case
def getattr_name_outside():
    o = types.SimpleNamespace(a0=1.0)
    names = ["a0"]
    return (lambda x: x * getattr(o, names[0])), lambda i: setattr(o, "a0", float(i))


@case
def attrgetter_outside():
    o = types.SimpleNamespace(a0=1.0)
    get = operator.attrgetter("a0")
    return (lambda x: x * get(o)), lambda i: setattr(o, "a0", float(i))


@case
def asdict():
    @dataclasses.dataclass
    class D:
        a: float = 1.0

    d = D()
    return (lambda x: x * dataclasses.asdict(d)["a"]), lambda i: setattr(d, "a", float(i))


@case
def dc_eq():
    @dataclasses.dataclass
    class D:
        a: float = 1.0

    d = D()
    e = D()
    return (lambda x: x * (2 if d == e else 3)), lambda i: setattr(d, "a", float(i))


@case
def import_inside():
    m = types.ModuleType("zz_cfg")
    m.a = 1.0
    sys.modules["zz_cfg"] = m

    def f(x):
        import zz_cfg

        return x * zz_cfg.a

    return f, lambda i: setattr(m, "a", float(i))


@case
def from_import_inside():
    m = types.ModuleType("zz_cfg")
    m.a = 1.0
    sys.modules["zz_cfg"] = m

    def f(x):
        from zz_cfg import a

        return x * a

    return f, lambda i: setattr(m, "a", float(i))


@case
def getenv():
    os.environ["ADJOINT_FACTOR"] = "1"
    return (lambda x: x * float(os.getenv("ADJOINT_FACTOR"))), lambda i: os.environ.__setitem__(
        "ADJOINT_FACTOR", str(i)
    )


@case
def lru_object():
    class D:
        a = 1.0

    @functools.lru_cache
    def cfg():
        d = D()
        d.a = 1.0
        return d

    return (lambda x: x * cfg().a), lambda i: setattr(cfg(), "a", float(i))


@case
def weak():
    class D:
        pass

    d = D()
    d.a = 1.0
    r = weakref.ref(d)
    return (lambda x: x * r().a), lambda i: (setattr(d, "a", float(i)), r)


@case
def contextvar():
    v = contextvars.ContextVar("v")
    v.set(1.0)
    return (lambda x: x * v.get()), lambda i: v.set(float(i))


@case
def thread_local():
    v = threading.local()
    v.a = 1.0
    return (lambda x: x * v.a), lambda i: setattr(v, "a", float(i))


@case
def count_iter():
    it = itertools.count(1)
    return (lambda x: x * next(it)), lambda i: None


@case
def generator():
    def g():
        k = 0
        while True:
            k += 1
            yield k

    it = g()
    return (lambda x: x * next(it)), lambda i: None


@case
def loader_iter():
    it = iter(DataLoader(TensorDataset(adjoint.arange(20.0)), batch_size=1))
    return (lambda x: x * next(it)[0]), lambda i: None


@case
def init_inside():
    d = {"v": 1.0}

    class H:
        def __init__(s):
            s.k = d["v"]

    return (lambda x: x * H().k), lambda i: d.__setitem__("v", float(i))


@case
def function_backward():
    d = {"v": 1.0}

    class F(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * d["v"]

    def f(x):
        w = adjoint.ones(2, requires_grad=True)
        return adjoint.autograd.grad((F.apply(w) * x).sum(), w)[0]

    return f, lambda i: d.__setitem__("v", float(i))


@case
def flag_bound_too():
    class Owner:
        pass

    o = Owner()
    o.flag = False
    o.n = 1.0

    def f(x):
        if o.flag:
            o.n = o.n
        p = types.SimpleNamespace()
        p.a = 1
        return x * o.n

    return f, lambda i: setattr(o, "n", float(i))


@case
def tensor_and_flag_in_dict():
    s = {"mean": adjoint.zeros(2), "k": 1.0}

    def f(x):
        s["mean"] = s["mean"] * 0.5 + x
        return s["mean"] * s["k"]

    return f, lambda i: s.__setitem__("k", float(i))


@case
def group_lr():
    p = adjoint.ones(2, requires_grad=True)
    o = optim.SGD([p], lr=1.0)
    return (lambda x: x * o.param_groups[0]["lr"]), lambda i: o.param_groups[0].__setitem__(
        "lr", float(i)
    )


@case
def scheduler_epoch():
    p = adjoint.ones(2, requires_grad=True)
    o = optim.SGD([p], lr=1.0)
    s = optim.lr_scheduler.StepLR(o, 100)
    return (lambda x: x * s.last_epoch), lambda i: (o.step(), s.step()) if i > 2 else None


@case
def tensor_attr():
    t = adjoint.ones(2)
    t.k = 1.0
    return (lambda x: x * t * t.k), lambda i: setattr(t, "k", float(i))


@case
def param_attr():
    m = nn.Linear(2, 2)
    m.weight.k = 1.0
    return (lambda x: x * m.weight.k), lambda i: setattr(m.weight, "k", float(i))


@case
def masked():
    a = np.ma.array([1.0, 2.0], mask=[False, False])
    return (
        lambda x: x * float(a.sum())
    ), lambda i: a.mask.__setitem__(0, i >= 3) if i < 3 else a.__setitem__(0, np.ma.masked)


@case
def builtin_method():
    d = {"a": 1.0}
    get = d.get
    return (lambda x: x * get("a")), lambda i: d.__setitem__("a", float(i))


@case
def eval_string():
    return (lambda x: x * eval("GA")), lambda i: globals().__setitem__("GA", float(i))


@case
def metaclass_attr():
    class M(type):
        k = 1.0

    class C(metaclass=M):
        pass

    return (lambda x: x * C.k), lambda i: setattr(M, "k", float(i))


@case
def swap_same_count():
    class B:
        a = 1.0

    class C(B):
        z = 1

    c = C()

    def ch(i):
        if i == 3 and "z" in vars(C):
            del C.z
            C.a = 9.0

    return (lambda x: x * c.a), ch


@case
def shadow_with_none():
    class C:
        a = 1.0

    c = C()
    return (
        lambda x: x * (5 if c.a is None else 1)
    ), lambda i: setattr(c, "a", None) if i >= 3 else None


@case
def match_class():
    class P:
        def __init__(s):
            s.v = 1.0

    p = P()

    def f(x):
        match p:
            case P(v=1.0):
                return x
            case P(v=k):
                return x * k

    return f, lambda i: setattr(p, "v", float(i))


@case
def wraps():
    d = {"v": 1.0}

    def deco(f):
        @functools.wraps(f)
        def g(x):
            return f(x) * d["v"]

        return g

    @deco
    def f(x):
        return x

    return f, lambda i: d.__setitem__("v", float(i))


@case
def singledispatch():
    @functools.singledispatch
    def h(v):
        return 1.0

    return (lambda x: x * h(3)), lambda i: h.register(int, lambda v: float(i)) if i >= 3 else None


@case
def memo_default_mut():
    class C:
        def f(self, x, opts={"k": 1.0}):  # noqa: B006
            return x * opts["k"]

    c = C()
    return (lambda x: c.f(x)), lambda i: C.f.__defaults__[0].__setitem__("k", float(i))


@case
def hook_changes_what_is_read():
    s = types.SimpleNamespace(n=0)

    def hook(g):
        s.n += 1

    def f(x):
        w = adjoint.ones(2, requires_grad=True)
        w.register_hook(hook)
        k = s.n
        (w * x).sum().backward()
        return x * k

    return f, lambda i: None


@case
def subclass_forward_cfg():
    class Cfg:
        drop = 1.0

    class Base(nn.Module):
        cfg = Cfg

        def forward(s, x):
            return s.scale(x)

        def scale(s, x):
            return x * s.cfg.drop

    class M(Base):
        pass

    m = M()
    return m, lambda i: setattr(Cfg, "drop", float(i))


@case
def module_list_dict():
    m = nn.Module()
    m.opts = [{"a": (1.0, [1.0])}]
    return (lambda x: x * m.opts[0]["a"][1][0]), lambda i: m.opts[0]["a"][1].__setitem__(
        0, float(i)
    )


@case
def python_random():
    random.seed(0)
    return (lambda x: x * random.random()), lambda i: None


@case
def numpy_rng():
    r = np.random.default_rng(0)
    return (lambda x: x * r.random()), lambda i: None


@case
def argparse_ns():
    a = argparse.Namespace(k=1.0)
    return (lambda x: x * a.k), lambda i: setattr(a, "k", float(i))


@case
def nested_default():
    k = [1.0]

    def outer(x):
        def inner(y, v=k):
            return y * v[0]

        return inner(x)

    return outer, lambda i: k.__setitem__(0, float(i))


@case
def set_of_objects():
    class Owner:
        pass

    o = Owner()
    o.a = 1.0
    s = {o}
    return (lambda x: x * sum(e.a for e in s)), lambda i: setattr(o, "a", float(i))


@case
def key_objects():
    class Owner:
        pass

    o = Owner()
    o.a = 1.0
    s = {o: 1}
    return (lambda x: x * sum(e.a for e in s)), lambda i: setattr(o, "a", float(i))


@case
def setattr_hook():
    class Owner:
        def __init__(s):
            object.__setattr__(s, "d", {"a": 1.0})

        def __getattribute__(s, n):
            return (
                object.__getattribute__(s, "d")["a"] if n == "a" else object.__getattribute__(s, n)
            )

    o = Owner()
    return (lambda x: x * o.a), lambda i: o.d.__setitem__("a", float(i))


@case
def memview():
    b = bytearray([1, 2])
    v = memoryview(b)
    return (lambda x: x * v[0]), lambda i: b.__setitem__(0, i)


@case
def type_changes_only():
    d = [1]
    return (
        lambda x: (
            (x.to(adjoint.int32) * d[0]).to(adjoint.float32) + (1 if isinstance(d[0], bool) else 0)
        )
    ), lambda i: d.__setitem__(0, True if i >= 3 else 1)


@case
def abc_impl():
    class A(abc.ABC):
        @abc.abstractmethod
        def k(self): ...
        def f(self, x):
            return x * self.k()

    class B(A):
        def __init__(s):
            s.v = 1.0

        def k(self):
            return self.v

    b = B()
    return (lambda x: b.f(x)), lambda i: setattr(b, "v", float(i))


@case
def function_in_list():
    d = {"v": 1.0}
    fs = [lambda x: x, lambda x: x * d["v"]]

    def f(x):
        for g in fs:
            x = g(x)
        return x

    return f, lambda i: d.__setitem__("v", float(i))


@case
def list_of_fn_changed():
    fs = [lambda x: x]

    def f(x):
        for g in fs:
            x = g(x)
        return x

    return f, lambda i: fs.append(lambda x: x * 2) if i >= 3 else None


@case
def map_reduce():
    d = {"v": 1.0}

    def h(a):
        return a * d["v"]

    return (lambda x: next(map(h, [x]))), lambda i: d.__setitem__("v", float(i))


@case
def sorted_key():
    w = {"a": 1, "b": 2}
    names = ["a", "b"]
    return (
        lambda x: (
            x
            * len(min(names, key=lambda n: w[n]))
            * (1 if min(names, key=lambda n: w[n]) == "a" else 5)
        )
    ), lambda i: w.__setitem__("a", i)


@case
def inherited_slots():
    class A:
        __slots__ = ("a",)

    class B(A):
        __slots__ = ("b",)

    b = B()
    b.a = 1.0
    b.b = 2
    return (lambda x: x * b.a), lambda i: setattr(b, "a", float(i))


@case
def slot_deleted():
    class A:
        __slots__ = ("a",)

    o = A()
    o.a = 1.0

    def f(x):
        try:
            return x * o.a
        except AttributeError:
            return x * 9

    return f, lambda i: delattr(o, "a") if i == 3 and hasattr(o, "a") else None


@case
def attr_deleted():
    class A:
        a = 5.0

    o = A()
    o.a = 1.0
    return (lambda x: x * o.a), lambda i: vars(o).clear() if i >= 3 else None


@case
def property_setter_replaced():
    class A:
        @property
        def a(s):
            return 1.0

    o = A()
    return (lambda x: x * o.a), lambda i: setattr(A, "a", property(lambda s: float(i)))


@case
def counter():
    c = collections.Counter(a=1)
    return (lambda x: x * c["a"]), lambda i: c.update(a=1) if i >= 3 else None


@case
def deque_():
    c = collections.deque([1.0])
    return (lambda x: x * c[0]), lambda i: c.__setitem__(0, float(i))


@case
def namedtuple_inside_obj():
    N = collections.namedtuple("N", "a b")
    o = types.SimpleNamespace(n=N(1.0, [1.0]))
    return (lambda x: x * o.n.a * o.n.b[0]), lambda i: o.n.b.__setitem__(0, float(i))


@case
def module_hparam_dict():
    class M(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(2, 2, bias=False)
            s.h = types.SimpleNamespace(k=1.0)

        def forward(s, x):
            return x * s.h.k

    m = nn.Sequential(M(), M())
    return m, lambda i: setattr(m[1].h, "k", float(i))


@case
def dropout_p():
    d = nn.Dropout(0.0)
    return (lambda x: d(x)), lambda i: setattr(d, "p", 1.0 if i >= 3 else 0.0)


@case
def bn_momentum():
    b = nn.BatchNorm1d(2, affine=False, track_running_stats=False)
    return (lambda x: b(adjoint.stack([x, x * 2]))), lambda i: setattr(b, "eps", float(i))


@case
def train_mode():
    b = nn.Dropout(1.0)
    return (lambda x: b(x)), lambda i: b.train(i < 3)


@case
def requires_grad_flag():
    w = adjoint.ones(2, requires_grad=True)
    return (lambda x: x * (2 if w.requires_grad else 3)), lambda i: w.requires_grad_(i < 3)


@case
def tensor_shape_py():
    s = {"t": adjoint.ones(2)}
    return (lambda x: x * s["t"].shape[0]), lambda i: s.__setitem__("t", adjoint.ones(i))


@case
def tensor_resized():
    t = adjoint.ones(2)
    return (lambda x: x * t.shape[0]), lambda i: setattr(t, "data", adjoint.ones(i))


@case
def grad_present():
    w = adjoint.ones(2, requires_grad=True)
    return (lambda x: x * (1 if w.grad is None else 4)), lambda i: setattr(
        w, "grad", adjoint.ones(2) if i >= 3 else None
    )


@case
def closure_of_method():
    def make(k):
        class A:
            def f(s, x):
                return x * k[0]

        return A()

    k = [1.0]
    a = make(k)
    return (lambda x: a.f(x)), lambda i: k.__setitem__(0, float(i))


@case
def partialmethod():
    class A:
        def f(s, x, k):
            return x * k * s.m

        g = functools.partialmethod(f, k=2.0)

    a = A()
    a.m = 1.0
    return (lambda x: a.g(x)), lambda i: setattr(a, "m", float(i))


@case
def cached_fn_of_self():
    class A:
        def __init__(s):
            s.m = 1.0

        @functools.cached_property
        def h(s):
            return types.SimpleNamespace(v=s.m)

    a = A()
    return (lambda x: x * a.h.v), lambda i: setattr(a.h, "v", float(i))


@case
def decorator_class():
    class Deco:
        def __init__(s, f):
            s.f = f
            s.k = 1.0

        def __call__(s, x):
            return s.f(x) * s.k

    @Deco
    def f(x):
        return x

    return (lambda x: f(x)), lambda i: setattr(f, "k", float(i))


@case
def compiled_in_compiled():
    d = {"v": 1.0}
    inner = adjoint.compile(lambda x: x * d["v"])
    return (lambda x: inner(x)), lambda i: d.__setitem__("v", float(i))


@case
def class_call_factory():
    class Cfg:
        k = 1.0

    class H:
        def __init__(s, c):
            s.c = c

        def __mul__(s, x):
            return x * s.c.k

    return (lambda x: H(Cfg) * x), lambda i: setattr(Cfg, "k", float(i))


@case
def type_call():
    class Cfg:
        k = 1.0

    t = type("Dyn", (Cfg,), {})
    o = t()
    return (lambda x: x * o.k), lambda i: setattr(Cfg, "k", float(i))


@case
def star_args_global():
    a = [1.0]

    def h(x, *ks):
        return x * ks[0]

    return (lambda x: h(x, *a)), lambda i: a.__setitem__(0, float(i))


@case
def dict_unpack():
    a = {"k": 1.0}

    def h(x, k):
        return x * k

    return (lambda x: h(x, **a)), lambda i: a.__setitem__("k", float(i))


@case
def np_view_base():
    base = np.ones(4)
    v = base[:2]
    v.flags.writeable = False
    return (lambda x: x * float(v[0])), lambda i: base.fill(i)


@case
def struct_array():
    a = np.zeros(2, dtype=[("a", "f8")])
    a["a"] = 1
    return (lambda x: x * float(a["a"][0])), lambda i: a["a"].fill(i)


@case
def nan_values():
    a = [float("nan")]
    return (lambda x: x * (1.0 if a[0] != a[0] else a[0])), lambda i: a.__setitem__(
        0, float(i) if i >= 3 else float("nan")
    )


@case
def neg_zero():
    a = [0.0]
    return (lambda x: x / np.copysign(1.0, a[0])), lambda i: a.__setitem__(
        0, -0.0 if i >= 3 else 0.0
    )


@case
def loop_global_counter_outside():
    o = types.SimpleNamespace(step=0)
    return (lambda x: x * (o.step > 2) + 1.0), lambda i: setattr(o, "step", i)


@case
def walrus_default_factory():
    d = collections.defaultdict(lambda: k[0])
    k = [1.0]
    return (lambda x: x * collections.defaultdict(d.default_factory)["z"]), lambda i: k.__setitem__(
        0, float(i)
    )


@case
def typeddict():
    class T(TypedDict):
        a: float

    t = T(a=1.0)
    return (lambda x: x * t["a"]), lambda i: t.__setitem__("a", float(i))


@case
def global_dtype_obj():
    o = types.SimpleNamespace(dt=adjoint.float32)
    return (lambda x: (x * 1.5).to(o.dt).to(adjoint.float32)), lambda i: setattr(
        o, "dt", adjoint.int64 if i >= 3 else adjoint.float32
    )


@case
def super_class_attr():
    class A:
        k = 1.0

    class B(A):
        def f(s, x):
            return x * super().k

    b = B()
    return (lambda x: b.f(x)), lambda i: setattr(A, "k", float(i))


@case
def hook_registered_fn_state():
    d = {"v": 1.0}
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(1.0)
    m.register_forward_hook(lambda m, a, o: o * d["v"])
    return (lambda x: m(x)), lambda i: d.__setitem__("v", float(i))


@case
def traceable_hook_state():
    d = {"v": 1.0}
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(1.0)
    m.register_forward_hook(graph.traceable(lambda m, a, o: o * d["v"]))
    return (lambda x: m(x)), lambda i: d.__setitem__("v", float(i))


@case
def traceable_tensor_hook():
    d = {"v": 1.0}
    w = adjoint.ones(2, requires_grad=True)
    w.register_hook(graph.traceable(lambda g: g * d["v"]))
    return (lambda x: adjoint.autograd.grad((w * x).sum(), w)[0]), lambda i: d.__setitem__(
        "v", float(i)
    )


@case
def param_init_outside():
    class Act(nn.Module):
        slope = 1.0

        def forward(s, x):
            return x * self_slope()

    d = {"s": 1.0}

    def self_slope():
        return d["s"]

    m = nn.Sequential(Act())
    return m, lambda i: d.__setitem__("s", float(i))


@case
def custom_optimizer():
    class Opt(optim.Optimizer):
        def __init__(s, ps):
            super().__init__(ps, {"lr": 1.0})
            s.extra = 1.0

        def step(s, closure=None):
            with adjoint.no_grad():
                for g in s.param_groups:
                    for p in g["params"]:
                        p.add_(p.grad, alpha=-s.extra)

    w = adjoint.zeros(2, requires_grad=True)
    o = Opt([w])

    def f(x):
        with adjoint.no_grad():
            w.zero_()
        w.grad = None
        (w * x).sum().backward()
        o.step()
        return w.detach().clone()

    return f, lambda i: setattr(o, "extra", float(i))


@case
def custom_scheduler_lambda():
    k = [1.0]
    w = adjoint.zeros(2, requires_grad=True)
    o = optim.SGD([w], lr=1.0)
    s = optim.lr_scheduler.LambdaLR(o, lambda e: k[0])

    def f(x):
        with adjoint.no_grad():
            w.zero_()
        w.grad = None
        (w * x).sum().backward()
        s.step()
        o.step()
        return w.detach().clone()

    return f, lambda i: k.__setitem__(0, float(i))


def answers(name, compile):
    function, change = CASES[name]()
    function = compile(function)
    found = []
    for number in (1, 1, 3, 4):
        change(number)
        found.append(function(adjoint.ones(2)).tolist())
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_compiled_function_answers_as_eagerly(name, monkeypatch):
    monkeypatch.setitem(GD, "a", 1.0)
    monkeypatch.setitem(globals(), "GA", 1.0)
    monkeypatch.setenv("ADJOINT_FACTOR", "1")
    try:
        expected = answers(name, lambda function: function)
        GD["a"] = 1.0
        globals().update(GA=1.0)
        globals().pop("abs", None)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            found = answers(name, adjoint.compile)
    finally:
        adjoint.set_default_dtype(adjoint.float32)
        globals().pop("abs", None)
        sys.modules.pop("zz_cfg", None)
    np.testing.assert_allclose(found, expected, 1e-6)
    assert any("runs eagerly" in str(each.message) for each in said) == (name in EAGER)
