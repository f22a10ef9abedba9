"""Custom ops as programs for PyTorch define and call them: torch.ops, overloads, older forms."""

import pytest

import adjoint.compat.torch as compat
from adjoint import library
from adjoint.compat.torch.utils._python_dispatch import TorchDispatchMode

NS = "compat_ops"


@pytest.fixture(autouse=True)
def undone():
    with library.scoped():
        yield


def make_double(name="double", **options):
    def double(x: compat.Tensor) -> compat.Tensor:
        return x * 2

    return compat.library.custom_op(f"{NS}::{name}", double, mutates_args=(), **options)


def test_overloads_are_shown_in_torch_ops():
    double = make_double()
    packet = compat.ops.compat_ops.double
    assert packet.default is compat.ops.compat_ops.double.default
    assert (packet.default, str(packet.default)) == (double, f"{NS}.double.default")
    assert packet.default.name() == f"{NS}::double"
    assert str(packet.default._schema) == f"{NS}::double(Tensor x) -> Tensor"
    assert packet(compat.ones(1)).tolist() == packet.default(compat.ones(1)).tolist() == [2.0]
    with pytest.raises(AttributeError, match="double.other"):
        assert packet.other


def test_a_packet_calls_the_overload_that_takes_the_arguments():
    make_double()

    def both(x: compat.Tensor, y: compat.Tensor) -> compat.Tensor:
        return x + y

    compat.library.custom_op(f"{NS}::double.pair", both, mutates_args=())
    packet = compat.ops.compat_ops.double
    assert packet.overloads() == ["default", "pair"]
    x = compat.ones(1)
    assert (packet(x).tolist(), packet(x, x * 4).tolist()) == ([2.0], [5.0])
    assert packet.pair(x, x).tolist() == [2.0]
    with pytest.raises(RuntimeError, match="takes 2 positional"):
        packet(x, x, x)


def test_tags_are_remembered():
    tag = compat.Tag.pointwise
    assert make_double(tags=tag).tags == [tag]
    compat.library.define(f"{NS}::tagged", "(Tensor x) -> Tensor", tags=(tag,))
    assert compat.ops.compat_ops.tagged.default.tags == [tag]


def test_registering_for_an_overload():
    make_double()
    op = compat.ops.compat_ops.double.default
    compat.library.register_kernel(op, "cpu", lambda x: x * 3)
    compat.library.register_fake(op, compat.empty_like)
    compat.library.register_autograd(op, lambda ctx, grad: grad * 3)
    x = compat.ones(1, dtype=compat.float64, requires_grad=True)
    op(x).backward()
    assert x.grad.tolist() == [3.0]
    assert set(compat.library.opcheck(op, (x,)).values()) == {"SUCCESS"}


def test_a_mode_sees_custom_ops():
    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append((func, len(args)))
            return func(*args, **(kwargs or {}))

    double = make_double()
    with Seen():
        assert double(compat.ones(1)).tolist() == [2.0]
    assert seen == [(compat.ops.compat_ops.double.default, 1)]


def test_a_library_as_first_argument():
    lib = compat.library.Library(NS, "FRAGMENT")

    @compat.library.define(lib, "triple(Tensor x) -> Tensor")
    def triple(x):
        return x * 3

    lib.define("half(Tensor x) -> Tensor")

    @compat.library.impl(lib, "half", "CPU")
    def half(x):
        return x / 2

    x = compat.ones(1)
    ops = compat.ops.compat_ops
    assert (ops.triple(x).tolist(), ops.half(x).tolist()) == ([3.0], [0.5])
    lib.impl(ops.half.default, lambda x: x / 4, "CPU")
    assert ops.half(x).tolist() == [0.25]
    with pytest.raises(NotImplementedError, match="dispatch keys"):
        lib.impl("half", half, "CPU", with_keyset=True)


def test_a_kernel_that_records_by_itself():
    """The pattern of old: a Function under the key Autograd, the op itself below it."""
    lib = compat.library.Library(NS, "FRAGMENT")
    lib.define("slow(Tensor x) -> Tensor")
    lib.impl("slow", lambda x: x * 2, "CPU")
    op = compat.ops.compat_ops.slow

    class Slow(compat.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with compat._C._AutoDispatchBelowAutograd():
                return op(x)

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    lib.impl("slow", Slow.apply, "Autograd")
    x = compat.ones(1, requires_grad=True)
    y = op(x)
    y.backward()
    assert (y.tolist(), x.grad.tolist()) == ([2.0], [7.0])
    with compat.no_grad():
        assert not op(x).requires_grad


class TestFirstInterfaces:
    def test_declare_and_forget(self):
        from adjoint.compat.torch import _custom_ops
        from adjoint.compat.torch._custom_op import impl as first

        @_custom_ops.custom_op(f"{NS}::foo")
        def foo(x: compat.Tensor) -> compat.Tensor: ...

        _custom_ops.impl(f"{NS}::foo", device_types="cpu")(lambda x: x * 2)
        assert list(first.global_registry) == [f"{NS}::foo"]
        assert first.get_op(f"{NS}::foo")(compat.ones(1)).tolist() == [2.0]
        with pytest.raises(RuntimeError, match="multiple times"):
            _custom_ops.custom_op(f"{NS}::foo", "(Tensor x) -> Tensor")
        first.global_registry[f"{NS}::foo"]._destroy()
        assert len(first.global_registry) == 0
        make_double()
        with pytest.raises(KeyError):
            first.global_registry[f"{NS}::double"]

    @pytest.mark.parametrize(
        "name, schema, message",
        [
            ("aten::foo", "(Tensor x) -> Tensor", "reserved namespace"),
            (f"{NS}::foo.other", "(Tensor x) -> Tensor", "no overload"),
            (f"{NS}::foo", "(Tensor(a!) x) -> Tensor", "functional"),
            (f"{NS}::foo", "(Tensor(a) x) -> Tensor(a)", "views"),
            (f"{NS}::foo", "(Tensor x) -> ()", "no returns"),
            (f"{NS}::foo", "(Tensor self) -> Tensor", "self"),
        ],
    )
    def test_what_is_refused(self, name, schema, message):
        from adjoint.compat.torch import _custom_ops

        with pytest.raises(ValueError, match=message):
            _custom_ops.custom_op(name, schema)

    def test_the_prototype_has_the_name(self):
        from adjoint.compat.torch import _custom_ops

        with pytest.raises(ValueError, match="to have name foo, got bar"):

            @_custom_ops.custom_op(f"{NS}::foo")
            def bar(x: compat.Tensor) -> compat.Tensor: ...
