"""Instances of classes with `__torch_dispatch__`: their looks, and what becomes of them."""

import copy
import importlib
import io
import pickle

import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode

NAMES = ("adjoint.compat.torch", "torch")


@pytest.fixture(params=NAMES)
def library(request, torch):
    return importlib.import_module(request.param)


def asked(library, policy, answers, wrapper=True):
    """An instance whose class is asked about its looks, and what it was asked."""
    seen = []

    class Asked(library.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return answers.get(str(func), NotImplemented)

    data = library.ones(3, 3)
    if wrapper:
        made = library.Tensor._make_wrapper_subclass(Asked, (3, 3), **policy)
    else:
        made = library.Tensor._make_subclass(Asked, data, False, **policy)
    return made, seen


SIZES = {"dispatch_sizes_strides_policy": "sizes"}
STRIDES = {"dispatch_sizes_strides_policy": "strides"}


@pytest.mark.parametrize("wrapper", [True, False])
def test_a_class_says_how_large_its_instances_are(library, wrapper):
    known = {"aten.sym_size.default": (5, 2), "aten.dim.default": 2}
    answers = {**known, "aten.sym_numel.default": 10}
    x, seen = asked(library, SIZES, answers, wrapper)
    assert (tuple(x.size()), tuple(x.shape), x.size(0)) == ((5, 2), (5, 2), 5)
    assert (x.dim(), x.numel()) == (2, 10)
    assert set(seen) == set(answers)


@pytest.mark.parametrize("wrapper", [True, False])
def test_a_class_says_how_its_instances_lie(library, wrapper):
    x, seen = asked(library, STRIDES, {"aten.sym_stride.default": (4, 2)}, wrapper)
    assert tuple(x.stride()) == (4, 2)
    assert tuple(x.shape) == (3, 3)  # it is not asked about that
    assert seen == ["aten.sym_stride.default"]
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        x.is_contiguous()


def test_none_leaves_the_looks_as_they_are(library):
    answers = {"aten.sym_size.default": None, "aten.sym_stride.default": None}
    x, _ = asked(library, SIZES, answers)
    assert (tuple(x.size()), tuple(x.stride())) == ((3, 3), (3, 1))


def test_a_class_that_does_not_answer_is_named(library):
    x, _ = asked(library, SIZES, {})
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        x.size()


def test_a_class_says_where_its_instances_are(library):
    place = library.device("meta")
    x, _ = asked(library, {"dispatch_device": True}, {"prim.device.default": place})
    assert x.device.type == "meta"
    x, _ = asked(library, {"dispatch_layout": True}, {"prim.layout.default": library.sparse_csr})
    assert x.layout is library.sparse_csr


def test_the_class_itself_has_the_members_of_tensor(library):
    x, _ = asked(library, SIZES, {"aten.sym_size.default": (5, 2)})
    for name in ("size", "stride", "shape", "device", "layout", "numel"):
        assert getattr(type(x), name) is getattr(library.Tensor, name)
    with pytest.raises(AttributeError):
        x.shape = (1,)
    assert tuple(x.shape) == (5, 2)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="expected 'strides' or 'sizes', got 'nonsense'"):
        asked(compat, {"dispatch_sizes_strides_policy": "nonsense"}, {})


def holding(library):
    """A class that holds a tensor in a slot, and makes the calls on that."""

    class Holding(library.Tensor):
        __slots__ = ["elem"]

        @staticmethod
        def __new__(cls, elem):
            made = library.Tensor._make_wrapper_subclass(
                cls,
                elem.size(),
                strides=elem.stride(),
                storage_offset=elem.storage_offset(),
                dtype=elem.dtype,
            )
            made.elem = elem
            return made

        def __repr__(self):
            return super().__repr__(tensor_contents=f"{self.elem.tolist()}")

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(str(func))
            unwrap = lambda value: value.elem if isinstance(value, cls) else value
            answer = func(*map(unwrap, args), **{k: unwrap(v) for k, v in (kwargs or {}).items()})
            return cls(answer) if isinstance(answer, library.Tensor) else answer

    seen = []
    Holding.__qualname__, Holding.seen = "Holding", seen
    globals()["Holding"] = Holding
    return Holding


def test_out_is_shown_to_a_class(library):
    kind = holding(library)
    x, y = kind(library.ones(2) * -3), kind(library.zeros(2))
    assert library.abs(x, out=y) is y
    assert kind.seen == ["aten.abs.out"]
    assert y.elem.tolist() == [3, 3]


def test_the_start_in_memory_is_kept_and_the_memory_has_no_address(library):
    part = library.arange(24.0).reshape(4, 6).t().diagonal(2)
    x = holding(library)(part)
    assert (x.stride(), x.storage_offset()) == (part.stride(), part.storage_offset())
    with pytest.raises(RuntimeError):
        x.untyped_storage().data_ptr()


def test_what_is_held_in_slots_is_pickled_and_copied(library):
    kind = holding(library)
    x = kind(library.arange(3))
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(again) is kind
        assert again.elem.tolist() == [0, 1, 2]
        assert again.elem is not x.elem
    kept = io.BytesIO()
    library.save(x, kept)
    kept.seek(0)
    assert library.load(kept, weights_only=False).elem.tolist() == [0, 1, 2]


def test_a_class_says_what_is_printed(library):
    assert repr(holding(library)(library.ones(2))) == "Holding([1.0, 1.0])"


def test_an_instance_is_none_of_another_class(library):
    class Other(library.Tensor):
        pass

    x = holding(library)(library.ones(2))
    with pytest.raises(RuntimeError, match="already associated to a python object of type Holding"):
        library.Tensor._make_subclass(Other, x)
    with pytest.raises(RuntimeError, match="already associated to a python object of type Holding"):
        x.as_subclass(Other)


def test_an_answer_of_none_in_a_backward_pass_is_named(library):
    class Silent(library.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            made = library.Tensor._make_wrapper_subclass(
                cls, elem.size(), dtype=elem.dtype, requires_grad=requires_grad
            )
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            unwrap = lambda value: value.elem if isinstance(value, cls) else value
            answer = func(*map(unwrap, args), **(kwargs or {}))
            if "add" in str(func):
                return None
            return cls(answer) if isinstance(answer, library.Tensor) else answer

    x = Silent(library.full((2,), 0.5), requires_grad=True)
    with pytest.raises(RuntimeError, match="but got None"):
        x.acos().sum().backward()
    assert x.grad is None


def test_nonsense_in_a_backward_pass_is_named():
    class Nonsense(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            answer = func(*args, **(kwargs or {}))
            return "arf" if "sigmoid_backward" in str(func) else answer

    x = compat.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"(?s)returned a str.*SigmoidBackward0"), Nonsense():
        x.sigmoid().sum().backward()
    assert x.grad is None


def test_keys_of_tensors(library):
    keys = library._C._dispatch_keys
    key = library._C.DispatchKey
    assert keys(library.ones(1)).has(key.CPU)
    assert keys(library.ones(1, device="meta")).has(key.Meta)
    assert not keys(library.ones(1)).has(key.Python)
    assert keys(holding(library)(library.ones(1))).has(key.Python)


def test_keys_that_are_left_out(library):
    internal = library._C
    before = internal._dispatch_tls_local_exclude_set()
    key = internal.DispatchKey.AutogradCPU
    with internal._ExcludeDispatchKeyGuard(internal.DispatchKeySet(key)):
        assert internal._dispatch_tls_local_exclude_set().has(key)
    assert internal._dispatch_tls_local_exclude_set().raw_repr() == before.raw_repr()


def test_an_operation_by_its_name(library):
    internal = library._C
    x = library.ones(2)
    found = internal._dispatch_call_boxed(
        internal._dispatch_find_schema_or_throw("aten::mul", "Tensor"), x, x
    )
    assert found.tolist() == [1, 1]


def test_the_mention_of_a_storage(library):
    mention = importlib.import_module(f"{library.__name__}.multiprocessing.reductions")
    x = library.ones(2, 3)
    same, other = x[1], library.ones(2)
    kept = mention.StorageWeakRef(x.untyped_storage())
    assert kept == mention.StorageWeakRef(same.untyped_storage())
    assert kept != mention.StorageWeakRef(other.untyped_storage())
    assert not kept.expired()
    del x, same
    assert kept.expired()
