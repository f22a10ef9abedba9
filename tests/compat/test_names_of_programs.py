"""What programs do with PyTorch's names beside calling them."""

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.torch_tree.torch_version import TorchVersion
from tests.interpreter import fresh_python


class Activations:
    tanh = compat.tanh
    relu_ = compat.relu_
    where = compat.where


def test_a_class_may_have_functions_as_attributes():
    own = Activations()
    x = compat.tensor([-1.0, 2.0])
    assert own.tanh is compat.tanh
    assert Activations.tanh is compat.tanh
    assert own.tanh(x).tolist() == x.tanh().tolist()
    assert own.relu_(x.clone()).tolist() == [0.0, 2.0]
    assert own.where(x > 0, x, 0.0).tolist() == [0.0, 2.0]


def test_methods_of_tensors_are_still_bound():
    x = compat.tensor([-1.0, 2.0])
    assert compat.Tensor.tanh is not compat.tanh
    assert compat.Tensor.where(x, x > 0, compat.zeros(2)).tolist() == [0.0, 2.0]

    class Own(compat.Tensor):
        sine = compat.sin

    assert x.as_subclass(Own).sine().tolist() == x.sin().tolist()


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("2.13.0", "2.5.0"),
        ("2.13.0", (2, 5)),
        ("2.13.0", "2.13.0rc1"),
        ("2.13.0", "2.13.0.dev20260101"),
        ("2.13.0rc1", "2.13.0a0"),
        ("2.13.0.post1", "2.13"),
        ("2.13.0+cpu", "2.13"),
        ("2.13.0+cu118", "2.13.0+cpu"),
        ("2.13.0.1", [2, 13]),
    ],
)
def test_versions_are_compared_by_their_numbers(own, other):
    newer = TorchVersion(own)
    assert newer > other
    assert newer >= other
    assert not newer < other
    assert not newer <= other
    assert newer != other


def test_a_version_is_text_too():
    version = compat.__version__
    assert version == "2.13"
    assert version == (2, 13)
    assert hash(version) == hash("2.13.0")
    assert version.split(".")[0] == "2"
    assert version < "nightly"  # no version: as text
    assert version != 2
    with pytest.raises(TypeError):
        _ = version < 2


def test_versions_are_compared_as_pytorchs_are(torch):
    theirs = torch.__version__
    ours = TorchVersion(str(theirs))
    for other in (
        "2.5.0",
        "2.13",
        "3",
        "abc",
        "",
        (2, 13),
        "2.13.0a0",
        "2.13.0+zz",
        "v2.0",
        "2.13.0.1",
    ):
        for compare in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
            assert getattr(ours, compare)(other) == getattr(theirs, compare)(other), (
                compare,
                other,
            )


def test_einsum_takes_a_list_and_an_order():
    x = compat.ones(2, 2)
    assert compat._VF.einsum("ij,jk,kl->il", [x, x, x], path=[0, 1, 0, 1]).tolist() == [[4, 4]] * 2
    assert compat._VF.einsum("ij->i", (x,), path=[0]).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="4 numbers, got 2"):
        compat._VF.einsum("ij,jk,kl->il", [x, x, x], path=[0, 1])


def test_a_module_with_other_tensors_for_a_while():
    layer = compat.nn.Linear(2, 1)
    before = layer.weight
    given = {"weight": compat.ones(1, 2), "bias": compat.zeros(1)}
    with compat.nn.utils.stateless._reparametrize_module(layer, given):
        assert layer(compat.ones(1, 2)).item() == 2
        layer.bias = compat.nn.Parameter(compat.ones(1))
    assert layer.weight is before
    assert given["bias"].item() == 1


def test_members_of_enumerations_that_are_not_there_can_be_named():
    kind = compat.distributed.fsdp.ShardingStrategy

    def wrap(strategy=kind.FULL_SHARD):
        return strategy

    assert wrap() is kind.FULL_SHARD
    assert wrap() is not kind.NO_SHARD
    with pytest.raises(AttributeError, match="FULL_SHARD.value is not in adjoint"):
        kind.FULL_SHARD.value  # noqa: B018  reading it is what fails


def test_classes_of_modules_that_are_not_listed_can_be_named():
    def launch(config: compat.distributed.launcher.LaunchConfig):
        return config

    assert launch(1) == 1
    with pytest.raises(AttributeError, match=r"launcher\.LaunchConfig is not in adjoint"):
        compat.distributed.launcher.LaunchConfig()


def test_optimizers_are_listed_in_the_modules_that_import_torch_loads(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys, torch\nassert 'SGD' in vars(sys.modules['torch.optim'])\n")
    fresh_python("-m", "adjoint", "run", program, cwd=tmp_path)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(6, dtype=np.float32).tobytes())
    return str(path)


def test_storages_show_the_bytes_of_files(file):
    storage = compat.UntypedStorage.from_file(file, nbytes=12)
    assert storage[4:8].tolist() == list(np.float32(1).tobytes())
    assert compat.asarray(storage, dtype=compat.uint8).view(compat.float32).tolist() == [0, 1, 2]
    assert compat.FloatStorage.from_file(file, size=2).tolist() == [0, 1]
    assert compat.UntypedStorage.from_file(file).tolist() == []


def test_changes_go_to_a_file_that_is_shared(file):
    compat.from_file(file, size=2)[0] = 5
    assert compat.from_file(file, size=2).tolist() == [0, 1]
    compat.from_file(file, shared=True, size=2)[0] = 5
    assert compat.from_file(file, size=2, requires_grad=True).tolist() == [5, 1]
    assert compat.from_file(file, True, 8, dtype=compat.float32).tolist()[6:] == [0, 0]
    new = compat.from_file(f"{file}.new", shared=True, size=3, dtype=compat.int16)
    assert new.tolist() == [0, 0, 0]


def test_files_that_are_too_short_or_not_there_are_refused(file):
    with pytest.raises(RuntimeError, match="24 bytes, 40 are wanted"):
        compat.from_file(file, size=10)
    with pytest.raises(RuntimeError, match="can't be opened"):
        compat.from_file(f"{file}.none", size=1)


def test_safetensors_reads_its_files(tmp_path):
    pytest.importorskip("safetensors")
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, safetensors.torch as st\n"
        "st.save_file({'x': torch.arange(6.0).view(2, 3), 'y': torch.ones(2).bfloat16()}, 'file')\n"
        "found = st.load_file('file')\n"
        "assert found['x'].tolist() == [[0, 1, 2], [3, 4, 5]]\n"
        "assert found['y'].dtype is torch.bfloat16\n"
        "with st.safe_open('file', framework='pt') as file:\n"
        "    assert file.get_slice('x')[:, 1:].tolist() == [[1, 2], [4, 5]]\n"
    )
    fresh_python("-m", "adjoint", "run", program, cwd=tmp_path)


def test_parameters_of_a_class_may_take_more_than_a_parameter():
    class Packed(compat.nn.Parameter):
        def __new__(cls, data, requires_grad=False, *, bits=8):
            made = compat.Tensor._make_subclass(cls, data, requires_grad)
            made.bits = bits
            return made

    packed = Packed(compat.ones(2), bits=4)
    assert packed.bits == 4
    assert isinstance(packed, compat.nn.Parameter)
    with pytest.raises(TypeError):
        compat.nn.Parameter(compat.ones(2), bits=4)


def test_what_pytorch_was_built_for():
    assert not compat._C._has_cuda
    assert not compat._C._has_xpu
    assert not compat.has_mkl
    assert compat.has_lapack


def test_backward_passes_are_not_compiled():
    with compat._dynamo.utils.maybe_enable_compiled_autograd(False):
        pass
    with pytest.raises(AttributeError, match="compiled_autograd is not in adjoint"):
        compat._dynamo.utils.maybe_enable_compiled_autograd(True)


def test_no_module_is_spread_over_processes():
    found = compat.distributed._composable_state._get_module_state(compat.nn.Linear(1, 1))
    assert found is None


ALIASES = """
    add_.Tensor view.default split.Tensor transpose_.default unbind.int contiguous.default
    mul.Tensor
"""


@pytest.mark.parametrize("path", ALIASES.split())
def test_schemas_say_what_is_written_and_shared(path, torch):
    name, overload = path.split(".")

    def seen(library):
        schema = getattr(getattr(library.ops.aten, name), overload)._schema
        infos = [each.alias_info for each in (*schema.arguments, *schema.returns)]
        return [
            (schema.name, schema.overload_name, schema.is_mutable),
            [info and (info.is_write, info.before_set, info.after_set) for info in infos],
            [each.name for each in schema.returns],
            [each.is_out for each in schema.arguments],
        ]

    assert seen(compat) == seen(torch)


@pytest.fixture(params=["compat", "torch"])
def library(request):
    return compat if request.param == "compat" else request.getfixturevalue("torch")


def test_collate_functions_of_programs_tell_texts_from_numbers(library):
    collate = library.utils.data._utils.collate
    assert collate.np_str_obj_array_pattern.search(np.array(["a"]).dtype.str)
    assert not collate.np_str_obj_array_pattern.search("<f4")
    assert "int" in collate.default_collate_err_msg_format.format(int)


def test_exceptions_are_raised_again_elsewhere(library):
    try:
        {}["a"]
    except KeyError:
        failure = library._utils.ExceptionWrapper(where="in thread 3")
    assert (failure.exc_type, failure.where) == (KeyError, "in thread 3")
    with pytest.raises(KeyError, match="Caught KeyError in thread 3(.|\n)*Traceback"):
        failure.reraise()


def test_old_and_private_names_of_lists_and_shapes(library):
    nn = library.nn
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    assert layers._get_abs_string_index(-1) == "1"
    assert nn.ParameterList([library.ones(1)])._get_abs_string_index(0) == "0"
    assert nn.Sequential(*layers)._get_item_by_idx(iter("ab"), -1) == "b"
    with pytest.raises(IndexError):
        layers._get_abs_string_index(2)

    x = library.arange(6.0, requires_grad=True)
    with pytest.warns(UserWarning, match="resize"):
        x.resize(2, 3).pow(2).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    with pytest.warns(UserWarning, match="resize_as"):
        assert x.resize_as(library.ones(3, 2)).shape == (3, 2)
    with pytest.warns(UserWarning, match="resize"), pytest.raises(RuntimeError):
        x.resize(4)

    sparse = library.eye(2).to_sparse()
    assert sparse.smm(library.ones(2, 2)).to_dense().tolist() == [[1.0, 1.0]] * 2
    assert sparse.sspaddmm(sparse, library.ones(2, 2)).to_dense().tolist() == [[2, 1], [1, 2]]

    parts = [library.ones(2, 2), library.zeros(3)]
    flat = library._C._nn.flatten_dense_tensors(parts)
    again = library._C._nn.unflatten_dense_tensors(flat, parts)
    assert [part.tolist() for part in again] == [part.tolist() for part in parts]
    assert "inductor" in library._dynamo.list_backends()
