"""torch.library.fallthrough_kernel, torch._library.utils and _python_dispatch: as PyTorch's."""

import importlib
import inspect

import pytest

import adjoint.compat.torch as compat

SCHEMA = 'call(Tensor x, int[2] k, *, Tensor? y=None, Device device="cpu", float p=0.5) -> Tensor'


def asked(torch):
    path = "adjoint.compat.torch" if torch is compat else "torch"
    utils = importlib.import_module(f"{path}._library.utils")
    with torch.library._scoped_library("libraryutils", "DEF") as lib:
        lib.define(SCHEMA)
        lib.impl("call", lambda x, k, **named: x.clone(), "CPU")
        op = torch.ops.libraryutils.call.default
        schema = op._schema
        one, two = torch.ones(1), torch.ones(2)
        call = ((one, [1, 2]), {"p": 3.0})
        positions, named = utils.fill_defaults(schema, *call)
        yield len(positions), named["y"], str(named["device"]), named["p"]
        yield [
            (each.name, value == 3.0) for each, value in utils.zip_schema(schema, (1, 2), call[1])
        ]
        yield utils.has_kwarg_only_args(schema), utils.has_kwarg_only_tensors(schema)
        yield utils.has_tensor_arg(schema), utils.get_device_arg_index(schema)
        found = utils.iter_tensors((one, [two], [[two]], 3), {"a": one})
        yield [len(each) for each in found]
        aten = torch.ops.aten
        for each in (aten.sin.default, op, aten.add_.Tensor, aten.add.out):
            yield utils.is_builtin(each), utils.is_inplace(each), utils.is_out(each)
        yield utils.has_fake_kernel(op), utils.requires_set_python_module()
        yield utils.get_source(1) == f"{__file__}:{inspect.currentframe().f_lineno}"
        ended = []
        utils.RegistrationHandle(lambda: ended.append(1)).destroy()
        yield ended, utils.Kernel(max, "here")(1, 2)
        dispatch = importlib.import_module(f"{path}.utils._python_dispatch")
        info = dispatch.get_alias_info(aten.add_.Tensor)
        yield [(each.alias_set, each.is_write, each.name) for each in (*info.args, *info.outs)]


def test_schemas_are_read_alike(torch):
    ours, theirs = list(asked(compat)), list(asked(torch))
    assert ours == theirs


@pytest.mark.filterwarnings("ignore")
def test_what_falls_through_is_not_cast(torch):
    found = []
    for library in (compat, torch):
        a, b, c = library.ones(2, 3), library.ones(3, 2), library.ones(2, 2)
        with library.library._scoped_library("aten", "IMPL") as lib:
            for name in ("addmm", "mm"):
                lib.impl(name, library.library.fallthrough_kernel, "AutocastCPU")
            with library.autocast(device_type="cpu", dtype=library.bfloat16):
                found += [each.dtype for each in (library.addmm(c, a, b), library.mm(a, b))]
                found.append(library.matmul(a, b).dtype)
        with library.autocast(device_type="cpu", dtype=library.bfloat16):
            found += [each.dtype for each in (library.addmm(c, a, b), library.mm(a, b))]
    shown = [str(kind).rpartition(".")[2] for kind in found]
    assert shown == [*["float32"] * 2, *["bfloat16"] * 3] * 2
    with pytest.raises(NotImplementedError, match="never called"):
        compat.library.fallthrough_kernel()
    lib = compat.library.Library("aten", "IMPL")
    with pytest.raises(NotImplementedError, match="autocast's keys"):
        lib.impl("addmm", compat.library.fallthrough_kernel, "CPU")


def test_a_device_without_a_kernel_of_its_own_has_that_of_all(torch):
    for library in (compat, torch):
        with library.library._scoped_library("fallingthrough", "DEF") as lib:
            lib.define("total(Tensor x) -> Tensor")
            lib.impl("total", lambda x: x.sum(), "CompositeExplicitAutograd")
            lib.impl("total", library.library.fallthrough_kernel, "ZeroTensor")
            assert library.ops.fallingthrough.total(library.ones(3)).item() == 3


def test_modes_may_be_left_out_for_a_while():
    from adjoint.compat.torch_tree.utils import _python_dispatch as dispatch

    with dispatch.BaseTorchDispatchMode() as outer, dispatch.BaseTorchDispatchMode() as inner:
        assert (compat.ones(2) + 1).tolist() == [2.0, 2.0]
        with dispatch._pop_mode_temporarily() as left:
            assert left is inner
            assert dispatch._get_current_dispatch_mode() is outer
        with dispatch._disable_current_modes() as modes:
            assert modes == [outer, inner]
            assert not dispatch.any_torch_dispatch_mode_on_stack()
    with pytest.raises(RuntimeError, match="no mode"), dispatch._pop_mode_temporarily():
        pass
