"""Hooks on saving, versions, and what nodes show of what they saved."""

import contextvars
import threading

import numpy as np
import pytest

import adjoint
from adjoint.autograd import graph
from adjoint.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
)


def same(x):
    return x


def leaf(*values):
    return adjoint.tensor(list(values), dtype=adjoint.float64, requires_grad=True)


# ---- saved_tensors_hooks ----


def test_each_saved_tensor_is_packed_at_once_and_unpacked_when_needed():
    x = leaf(1.0, 2.0)
    events = []

    def pack(tensor):
        events.append("pack")
        return tensor

    def unpack(tensor):
        events.append("unpack")
        return tensor

    with saved_tensors_hooks(pack, unpack):
        y = x * x
    assert events == ["pack", "pack"]
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert events == ["pack"] * 2 + ["unpack"] * 4
    assert x.grad.tolist() == [4.0, 8.0]


def test_numbers_and_shapes_are_not_packed():
    def refuse(value):
        raise AssertionError("nothing to pack here")

    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(refuse, refuse):
        (x * 3 + 1).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_what_a_forward_keeps_for_its_rules_alone_is_packed_too():
    x = adjoint.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]], requires_grad=True)
    target = adjoint.tensor([0, 2])
    shapes = []

    def pack(tensor):
        shapes.append(tuple(tensor.shape))
        return tensor.numpy().copy()

    def loss():
        return adjoint.nn.functional.cross_entropy(x, target)

    (expected,) = adjoint.autograd.grad(loss(), x)
    with saved_tensors_hooks(pack, adjoint.from_numpy):
        packed = loss()
    assert (2, 3) in shapes
    assert adjoint.autograd.grad(packed, x)[0].tolist() == expected.tolist()


def test_what_hooks_see():
    """Inputs come as they are, results without history; grad mode is off while packing."""
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []

    def pack(tensor):
        seen.append((tensor, tensor.grad_fn, adjoint.is_grad_enabled()))
        return tensor

    modes = []

    def unpack(tensor):
        modes.append(adjoint.is_grad_enabled())
        return tensor

    with saved_tensors_hooks(pack, unpack):
        z = y.sin()
        w = x.exp()
    (first, node, mode), (_, result_node, _) = seen
    assert first is y and node is y.grad_fn and mode is False
    assert result_node is None
    (z.sum() + w.sum()).backward()
    assert modes == [False, False]
    base = x.clone()
    with saved_tensors_hooks(pack, unpack):
        base[:1].mul_(y[:1])
    base.sum().backward()
    assert modes == [False] * len(modes) and len(modes) > 2
    assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("power", [1, 2, 3])
def test_nested_pairs_compose(power):
    """An outer pair packs what the inner one returned, in tuples, lists and dicts as well."""
    x = leaf(1.0, 2.0)
    sizes = []

    def pack_outer(tensor):
        sizes.append(tensor.tolist())
        return [tensor * 2]

    outer = saved_tensors_hooks(pack_outer, lambda packed: packed[0] / 2)
    middle = saved_tensors_hooks(lambda t: {"a": t + 1}, lambda packed: packed["a"] - 1)
    inner = saved_tensors_hooks(lambda t: (t, "note"), lambda packed: packed[0])
    with outer, middle, inner:
        y = x.exp() ** power
    assert sizes[0] == pytest.approx([2.718281828 + 1, 7.3890560989 + 1])
    (first,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), x)
    exact = adjoint.exp(x * power).detach()
    assert adjoint.allclose(first.detach(), exact * power)
    assert adjoint.allclose(second, exact * power**2)


def test_an_opaque_value_is_not_shown_to_outer_pairs():
    x = leaf(1.0, 2.0)
    store = {}

    def pack(tensor):
        store[len(store)] = tensor
        return len(store) - 1

    def refuse(value):
        raise AssertionError("this is not a tensor")

    with saved_tensors_hooks(refuse, refuse), saved_tensors_hooks(pack, store.get):
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_second_order_through_a_changed_value():
    """Gradients of a leaf reach the leaf, whatever tensor the unpack hook answers."""
    for value in (leaf(1.0, 2.0), leaf(1.0, 2.0) * 1):
        with saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
            y = value**3
        (first,) = adjoint.autograd.grad(y.sum(), value, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), value)
        assert second.tolist() == [12.0, 24.0]


@pytest.mark.parametrize(
    ("unpack", "error"),
    [
        (lambda t: 1, TypeError),
        (lambda t: None, TypeError),
        (lambda t: t.float(), RuntimeError),
        (lambda t: t[:1], RuntimeError),
    ],
)
def test_what_unpack_returns_is_checked(unpack, error):
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(same, unpack):
        y = x * x
    with pytest.raises(error, match="<lambda>"):
        y.sum().backward()
    assert x.grad is None


def test_a_change_inside_the_pack_hook_is_refused():
    x = leaf(1.0, 2.0)

    def increase(tensor):
        tensor += 1
        return tensor

    for compute in (adjoint.exp, adjoint.sin, lambda t: (t * 1).sin()):
        refused = pytest.raises(RuntimeError, match="modifying its input in place: 'test_")
        with saved_tensors_hooks(increase, same), refused:
            compute(x)


def test_a_packed_tensor_that_changed_later_is_found():
    """A hook that copies is safe from changes; one that keeps the tensor itself is not."""
    for compute, derivative in ((adjoint.sin, adjoint.cos), (adjoint.exp, adjoint.exp)):
        for pack in (adjoint.clone, same, adjoint.Tensor.detach):
            x = leaf(1.0, 2.0)
            y = x * 1
            with saved_tensors_hooks(pack, same):
                z = compute(y)
            (y if compute is adjoint.sin else z).add_(1)
            if pack is adjoint.clone:
                z.sum().backward()
                assert adjoint.allclose(x.grad, derivative(x.detach()))
            else:
                with pytest.raises(RuntimeError, match="modified by an inplace"):
                    z.sum().backward()


def test_errors_of_hooks_come_through():
    x = leaf(1.0)

    class Mine(Exception):
        pass

    def fail(value):
        raise Mine

    with saved_tensors_hooks(fail, same), pytest.raises(Mine):
        x.sin()
    with saved_tensors_hooks(same, fail):
        y = x.sin()
    with pytest.raises(Mine):
        y.sum().backward()


def test_hooks_are_disabled_and_restored():
    pair = saved_tensors_hooks(same, same)
    with disable_saved_tensors_hooks("outer"):
        with disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"):
            pair.__enter__()
        with pytest.raises(RuntimeError, match="outer"):
            pair.__enter__()
        with pytest.raises(RuntimeError, match="outer"):
            save_on_cpu().__enter__()
    with pair:
        with pytest.raises(RuntimeError, match="not now"), disable_saved_tensors_hooks("not now"):
            pass
        assert leaf(1.0).sin().grad_fn._raw_saved_self.unpack_hook is same
    assert leaf(1.0).sin().grad_fn._raw_saved_self.unpack_hook is None


def test_hooks_belong_to_a_context():
    def hooked():
        return leaf(1.0).sin().grad_fn._raw_saved_self.unpack_hook is not None

    answers = []
    with saved_tensors_hooks(same, same):
        thread = threading.Thread(target=lambda: answers.append(hooked()))
        thread.start()
        thread.join()
        answers.append(contextvars.Context().run(hooked))
        answers.append(hooked())
    assert answers == [False, False, True]


def test_a_pass_leaves_no_settings_behind():
    pair = saved_tensors_hooks(same, lambda t: (pair.__enter__(), t)[1])
    with pair:
        leaf(1.0).sin().sum().backward()
    assert not adjoint.call.context.current().saved_hooks
    pair.__exit__()
    assert adjoint.call.context.current() is adjoint.call.context.DEFAULT


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu(pin_memory):
    x = leaf(1.0, 2.0)
    with save_on_cpu(pin_memory=pin_memory):
        y = (x * x).exp()
    assert y.grad_fn._raw_saved_result.data[0] == x.device
    (first,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    assert adjoint.allclose(x.grad, ((2 + 4 * x * x) * y).detach())


def test_save_on_cpu_brings_tensors_back_to_their_device():
    pytest.importorskip("jax")
    x = adjoint.tensor([1.0, 2.0], device="xla", requires_grad=True)
    with save_on_cpu():
        y = x * x
    where, kept = y.grad_fn._raw_saved_self.data
    assert where == x.device and kept.device == adjoint.device("cpu")
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0] and x.grad.device == x.device


# ---- allow_mutation_on_saved_tensors ----


def mutated(change):
    """The gradient of sum(b**2) if b is changed after it was used."""
    a = leaf(1.0, 2.0, 3.0)
    b = a.clone()
    out = (b**2).sum()
    change(b)
    out.backward()
    return a.grad.tolist()


CHANGES = {
    "in place": lambda b: b.sin_(),
    "setitem": lambda b: b.__setitem__(0, 5.0),
    "view": lambda b: b[:1].mul_(10),
    "detached": lambda b: b.detach().zero_(),
    "out=": lambda b: adjoint.exp(adjoint.ones(3, dtype=b.dtype), out=b.detach()),
    "twice": lambda b: b.sin_().cos_(),
    "shape": lambda b: b.unsqueeze_(0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changes_of_saved_tensors(change):
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        mutated(change)
    with allow_mutation_on_saved_tensors() as context:
        assert mutated(change) == [2.0, 4.0, 6.0]
        assert not len(context.cloned) and not len(context.original)


def test_a_saved_view_and_a_changed_base():
    with allow_mutation_on_saved_tensors():
        a = leaf(1.0, 2.0)
        b = a.clone()
        out = (b[:] ** 2).sum()
        b *= 2
        out.backward()
    assert a.grad.tolist() == [2.0, 4.0]


def test_a_changed_result():
    with allow_mutation_on_saved_tensors() as context:
        a = leaf(1.0, 2.0)
        b = a.exp()
        expected = b.tolist()
        out = b.sum()
        b.zero_()
        assert len(context.cloned) == 1
        out.backward()
    assert a.grad.tolist() == expected


def test_only_what_is_saved_is_cloned_and_once():
    with allow_mutation_on_saved_tensors() as context:
        a = leaf(1.0, 2.0).clone()
        b, c = a.sin(), a.sin()
        assert len(context.handles) == 1 and not len(context.cloned)
        a.mul_(2)
        assert len(context.cloned) == 1
        d = a.sin()
        a.mul_(2)
        assert len(context.cloned) == 2
        del b, c
        assert len(context.cloned) == 1
        d.sum().backward()
        assert not len(context.cloned) and not len(context.memories)
        a.mul_(2)
        assert not len(context.cloned)


def test_second_order_of_changed_tensors():
    with allow_mutation_on_saved_tensors():
        a = leaf(1.0, 2.0)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        (first,) = adjoint.autograd.grad(out, a, create_graph=True)
        (second,) = adjoint.autograd.grad(first.sum(), a)
    assert second.tolist() == [2.0, 2.0]


def test_backward_outside_is_refused():
    with allow_mutation_on_saved_tensors():
        out = leaf(1.0, 2.0).sin().sum()
    with pytest.raises(AssertionError, match="backward outside of the"):
        out.backward()
    refused = pytest.raises(AssertionError, match="backward outside of the")
    with allow_mutation_on_saved_tensors(), refused:
        out.backward()


def test_clear():
    with allow_mutation_on_saved_tensors() as context:
        a = leaf(1.0).clone()
        out = a.sin()
        a.zero_()
        context.clear()
        assert not len(context.cloned)
        with pytest.raises(AssertionError):
            out.sum().backward()


def test_nested_regions():
    """An inner region looks after what is saved in it, the outer one after the rest."""
    with allow_mutation_on_saved_tensors() as outer:
        a = leaf(1.0, 2.0)
        b = a.clone()
        first = (b**2).sum()
        with allow_mutation_on_saved_tensors() as inner:
            second = (b**3).sum()
            b.zero_()
            assert len(outer.cloned) == len(inner.cloned) == 1
            second.backward()
            assert a.grad.tolist() == [3.0, 12.0]
        first.backward()
    assert a.grad.tolist() == [5.0, 16.0]
    assert not adjoint.call.context.current().guards


def test_a_region_belongs_to_its_context():
    """A change made elsewhere is not foreseen, but found."""
    with allow_mutation_on_saved_tensors():
        a = leaf(1.0, 2.0).clone()
        out = a.sin().sum()
        contextvars.Context().run(a.detach().zero_)
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            out.backward()


def test_a_gradient_that_is_saved_and_added_to():
    with allow_mutation_on_saved_tensors():
        a = leaf(3.0)
        a.sum().backward()
        b = leaf(2.0)
        out = (b * a.grad).sum()
        a.sum().backward()
        out.backward()
    assert a.grad.tolist() == [2.0] and b.grad.tolist() == [1.0]


# ---- versions ----


def test_increment_version():
    a, b = leaf(1.0), adjoint.zeros(2, dtype=adjoint.int32)
    increment_version(a)
    increment_version([a, b])
    assert (a._version, b._version) == (2, 1)
    out = a.sin().sum()
    increment_version(a)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        out.backward()
    with adjoint.inference_mode():
        increment_version(adjoint.ones(2))
    for wrong in (3, [a, 3]):
        before = a._version
        with pytest.raises(RuntimeError, match="int"):
            increment_version(wrong)
        assert a._version == before


def test_a_tensor_that_was_detached_in_place_has_no_second_derivative():
    a = leaf(1.0).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        adjoint.autograd.grad(
            b.sum(), [graph.GradientEdge(b.grad_fn.next_functions[0][0], 0)], create_graph=True
        )
    a = leaf(1.0).clone()
    b = a.exp()
    a.detach_()
    b.sum().backward()


# ---- what nodes show ----


def test_saved_attributes_follow_the_graph():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    assert z.grad_fn._saved_self is y
    w = y.exp()
    result = w.grad_fn._saved_result
    assert result.grad_fn is w.grad_fn and result.tolist() == w.tolist()
    one = x * adjoint.ones(2, dtype=x.dtype)
    assert one.grad_fn._saved_self is None and one.grad_fn._saved_other.tolist() == [1.0, 1.0]
    assert adjoint.softmax(x, 0).grad_fn._saved_dim == 0
    assert x.sum().grad_fn._saved_self_sym_sizes == (2,)
    values = x.max(0).values
    assert values.grad_fn._saved_indices.item() == 1
    with pytest.raises(AttributeError, match="MulBackward0"):
        z.grad_fn._saved_dim  # noqa: B018
    assert not hasattr(z.grad_fn, "_saved_nothing")
    shown = [name for name in dir(z.grad_fn) if name.startswith("_saved_")]
    assert sorted(shown) == ["_saved_other", "_saved_self"]
    assert all(hasattr(z.grad_fn, f"_raw{name}") for name in shown)
    assert "_raw_saved_dim" not in dir(adjoint.softmax(x, 0).grad_fn)


def test_saved_attributes_are_checked():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.grad_fn._saved_self  # noqa: B018
    w = x.exp()
    w.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        w.grad_fn._saved_result  # noqa: B018


@pytest.mark.parametrize("is_leaf", [True, False])
def test_hooks_on_one_saved_tensor(is_leaf):
    def value():
        x = leaf(1.0, 2.0)
        return x if is_leaf else (x * 1)

    a = value()
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda t: 2 * t, lambda t: t / 2)
    assert y.grad_fn._saved_self.tolist() == a.tolist()
    assert y.grad_fn._saved_self.grad_fn is a.grad_fn
    a = value()
    a.retain_grad()
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda t: 2 * t, same)
    y.sum().backward()
    assert a.grad.tolist() == [3.0, 6.0]
    a = value()
    y = a.exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: (t,), lambda packed: packed[0])
    (first,) = adjoint.autograd.grad(y.sum(), a, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), a)
    assert adjoint.allclose(second, y.detach())


def test_where_hooks_on_one_saved_tensor_are_refused():
    x = leaf(1.0, 2.0)
    y = x * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)
    other = y.grad_fn._raw_saved_other
    with pytest.raises(TypeError, match="int"):
        other.register_hooks(1, same)
    with pytest.raises(TypeError, match="argument"):
        other.register_hooks(lambda t, more: t, same)

    def increase(tensor):
        tensor += 1

    with pytest.raises(RuntimeError, match="in place"):
        other.register_hooks(increase, same)
    assert other.unpack_hook is None
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)
    y = x * adjoint.ones(2, dtype=x.dtype)
    with pytest.raises(RuntimeError, match="None"):
        y.grad_fn._raw_saved_self.register_hooks(same, same)


def test_data_and_hook_of_a_saved_tensor():
    a = leaf(2.0)
    with saved_tensors_hooks(same, same):
        b = a**2
    c = b.exp()
    d = c**2
    assert b.grad_fn._raw_saved_self.data is a
    assert b.grad_fn._raw_saved_self.unpack_hook is same
    assert b.grad_fn._raw_saved_self.unpack().tolist() == [2.0]
    raw = c.grad_fn._raw_saved_result
    assert raw.data is not c and raw.data.grad_fn is None and raw.unpack_hook is None
    assert d.grad_fn._raw_saved_self.data is c
    c.sum().backward()
    assert raw.data is None


NAMED = """
x * y | x / y | x @ y | x ** y | x ** 2 | x.exp() | x.log() | x.sin() | x.cos() | x.tan() | x.tanh()
x.sigmoid() | x.relu() | x.sqrt() | x.rsqrt() | x.abs() | x.sum() | x.sum(0) | x.prod() | x.prod(0)
x.max(0).values | x.min(1).values | x.amax(0) | lib.softmax(x, 0) | lib.log_softmax(x, 1)
x.logsumexp(0) | x.cumsum(0) | x.cumprod(0) | x.transpose(0, 1) | x.permute(1, 0) | x.reshape(4)
x.clamp(0.25, 0.8) | lib.where(x > 0.5, x, y) | lib.maximum(x, y) | lib.atan2(x, y)
x.index_select(0, lib.tensor([0])) | x.sort(0).values | x.topk(1).values | lib.addmm(x, x, y)
x.expm1() | x.log1p() | x.log2() | x.sinh() | x.cosh() | x.asin() | x.acos() | x.atan() | x.erf()
x.reciprocal() | x.masked_fill(x > 0.5, 0.0) | x.tril() | x.triu() | x.flip(0) | x.addcmul(x, y)
x.addcdiv(x, y) | x[0].dot(y[0]) | x.trace() | lib.linalg.inv(x) | x.select(0, 1) | x.norm()
lib.nn.functional.gelu(x) | lib.nn.functional.softplus(x) | lib.nn.functional.leaky_relu(x)
lib.nn.functional.silu(x) | x.hypot(y) | x.remainder(y) | lib.logaddexp(x, y) | x.lgamma()
x.digamma() | x.erfinv() | x.logit() | x.kthvalue(1).values | lib.lerp(x, y, 0.3)
"""
PROGRAMS = [program.strip() for program in NAMED.replace("\n", "|").split("|") if program.strip()]


def shown(lib, program):
    data = ([[0.3, 0.7], [0.2, 0.9]], [[1.3, 0.4], [0.8, 0.5]])
    x, y = (lib.tensor(d, dtype=lib.float64, requires_grad=True) for d in data)
    node = eval(program, {"x": x, "y": y, "lib": lib}).grad_fn
    return {name: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}


@pytest.mark.parametrize("program", PROGRAMS)
def test_names_and_values_are_those_of_pytorch(program):
    torch = pytest.importorskip("torch")
    ours, theirs = shown(adjoint, program), shown(torch, program)
    common = sorted(set(ours) & set(theirs))
    assert common or not theirs
    tensors = {name for name, value in theirs.items() if isinstance(value, torch.Tensor)}
    assert tensors <= set(ours) or program in {"x.prod()", "x.prod(0)"}  # ours keep no result
    for name in common:
        a, b = ours[name], theirs[name]
        if isinstance(b, torch.Tensor) and isinstance(a, adjoint.Tensor):
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), err_msg=name)
            assert a.requires_grad == b.requires_grad, name
        elif isinstance(a, int) and not isinstance(a, bool) and isinstance(b, int):
            assert a % 2**64 == b, name  # PyTorch shows a dim from the end without its sign
        elif not isinstance(b, torch.Tensor) and isinstance(b, int | float | tuple | type(None)):
            assert a == b or (a,) == b, name  # PyTorch makes a tuple of one dim


def test_tensors_in_a_saved_index_have_places_of_their_own():
    x = adjoint.arange(4.0).reshape(2, 2).requires_grad_()
    y = x[:, adjoint.tensor([0, 1])]
    node = y.grad_fn
    assert node._saved_indices[0] is None
    assert node._saved_indices[1].tolist() == [0, 1]
    whole, picked = node._raw_saved_indices
    assert "_raw_saved_indices" in dir(node)
    assert picked.unpack().tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="None is forbidden"):
        whole.register_hooks(same, same)
    picked.register_hooks(same, lambda index: 1 - index)
    (y * adjoint.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [[2.0, 1.0], [2.0, 1.0]]
    with pytest.raises(RuntimeError, match="freed"):
        picked.register_hooks(same, same)
