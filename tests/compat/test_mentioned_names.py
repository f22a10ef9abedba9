"""Names that programs mention and do not call: there, as what they are or as placeholders."""

import importlib
import pickle
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Optional

import pytest

import adjoint
import adjoint.compat.torch as torch
from adjoint.compat import pytorch_names
from adjoint.compat.missing_names import IMPORTED, MissingNameError
from adjoint.compat.torch.utils import _pytree as trees
from adjoint.compat.torch.utils.data import IterDataPipe, functional_datapipe
from adjoint.compat.torch.utils.data.dataloader import _SingleProcessDataLoaderIter

UNHELD = ["qint8", "quint8", "qint32", "quint4x2", "bits8", "uint4", "int1"]


@pytest.mark.parametrize("name", UNHELD)
def test_types_that_no_tensor_has(name):
    kind = getattr(torch, name)
    assert isinstance(kind, torch.dtype) and kind.name == name
    assert torch.ones(1).dtype != kind and {kind: 1}[kind] == 1
    assert not kind.is_complex and not kind.is_floating_point
    with pytest.raises(TypeError, match=name):
        torch.ones(1, dtype=kind)


def test_layouts_and_schemes_that_no_tensor_has():
    assert isinstance(torch.jagged, torch.layout) and torch.ones(1).layout != torch.jagged
    assert isinstance(torch.per_tensor_affine, torch.qscheme)
    assert repr(torch.per_channel_symmetric) == "torch.per_channel_symmetric"


def test_settings_that_pytorch_has_are_not_denied():
    """PyTorch's modules of settings hide their names from dir."""
    for whole in ("_dynamo.config.repro_level", "backends.cudnn.set_flags"):
        path, _, name = whole.rpartition(".")
        module = importlib.import_module(f"adjoint.compat.torch.{path}")
        with pytest.raises(MissingNameError, match="is not in adjoint"):
            getattr(module, name)
    assert torch.backends.cudnn.benchmark_limit is None
    assert torch.backends.nnpack.is_available() is torch.backends.cusparselt.is_available() is False


def test_the_cpu_is_asked_as_other_devices_are():
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    assert torch.cpu.current_device() == "cpu" and torch.cpu.synchronize() is None


def test_functions_of_aten_under_one_more_name():
    functions = torch._C._VariableFunctions
    assert functions.add is torch.add and functions.zeros is torch.zeros
    assert "einsum" in dir(functions) and not hasattr(functions, "save")


def test_configuration_is_text():
    assert "numpy" in torch.__config__.show()
    assert "hardware_concurrency" in torch.__config__.parallel_info()


def test_whether_a_gpu_was_used():
    """Reversible networks ask the variable, to keep the state of its random numbers."""
    assert torch.cuda._initialized is torch.cuda.is_initialized()
    torch.cuda._lazy_init()


def test_sets_of_dispatch_keys():
    keys = torch._C.DispatchKey
    some = torch._C.DispatchKeySet(keys.AutocastCPU) | torch._C.DispatchKeySet(keys.CPU)
    assert some.has(keys.CPU) and not some.has(keys.CUDA)
    assert repr(some - torch._C.DispatchKeySet(keys.CPU)) == "DispatchKeySet(AutocastCPU)"
    assert some.remove(keys.CPU) == torch._C.DispatchKeySet(keys.AutocastCPU)
    assert some & some.add(keys.Meta) == some


def test_excluded_keys_are_left_out():
    keys = torch._C.DispatchKey
    x = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        assert (x @ x).dtype is torch.bfloat16
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.AutocastCPU)):
            assert (x @ x).dtype is torch.float32
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(keys.AutogradCPU)):
        assert not (x @ x).requires_grad


def test_operations_by_pytorch_s_overloads():
    aten = torch.ops.aten
    x = torch.tensor([1.0, 2.0])
    assert aten.pow.Tensor_Scalar(x, 2).tolist() == [1.0, 4.0]
    assert aten.where.self(x > 1, x, -x).tolist() == [-1.0, 2.0]
    table = {aten._transformer_encoder_layer_fwd.default: 1}
    assert table[aten._transformer_encoder_layer_fwd.default] == 1
    with pytest.raises(MissingNameError, match=r"torch\.ops\.aten\._transformer_encoder_layer_fwd"):
        aten._transformer_encoder_layer_fwd.default(x)
    for overload in ("nosuch.default", "pow.nosuch"):
        packet, _, name = overload.partition(".")
        with pytest.raises(AttributeError, match="nosuch"):
            getattr(getattr(aten, packet), name)


Point = namedtuple("Point", "x y")


@dataclass
class Pair:
    """Two values."""

    first: int
    second: list


def test_ways_to_the_leaves_of_a_tree():
    tree = {"b": [1, (2, 3)], "a": Point(4, 5), "c": Pair(6, [7])}
    found = trees.tree_leaves_with_path(tree)
    assert [trees.keystr(way) for way, _ in found] == [
        "['b'][0]",
        "['b'][1][0]",
        "['b'][1][1]",
        "['a'].x",
        "['a'].y",
        "['c'].first",
        "['c'].second[0]",
    ]
    assert all(trees.key_get(tree, way) == leaf for way, leaf in found)
    doubled = trees.tree_map_with_path(lambda way, a, b: (len(way), a + b), tree, tree)
    assert doubled["c"].second == [(3, 14)]


def test_containers_taken_apart_by_kind():
    assert trees._list_flatten([1, 2]) == ([1, 2], None)
    assert trees._list_unflatten((1, 2), None) == [1, 2]
    assert trees._dict_unflatten(*trees._dict_flatten({"a": 1})) == {"a": 1}
    assert trees._odict_unflatten([3], ["k"]) == OrderedDict(k=3)
    assert trees._namedtuple_unflatten(*trees._namedtuple_flatten(Point(1, 2))) == Point(1, 2)


def test_a_registered_container_tells_its_ways():
    class Box:
        """Holds one thing."""

        def __init__(self, inside):
            self.inside = inside

    def with_keys(box):
        return [(trees.GetAttrKey("inside"), box.inside)], None

    trees.register_pytree_node(
        Box, lambda box: ([box.inside], None), lambda c, _: Box(*c), flatten_with_keys_fn=with_keys
    )
    ((way, leaf),) = trees.tree_leaves_with_path(Box(3))
    assert trees.keystr(way) == ".inside" and leaf == 3


def test_datasets_made_of_others():
    @functional_datapipe("times_in_test")
    class Times(IterDataPipe):
        """Each number, multiplied."""

        def __init__(self, source, factor):
            self.source, self.factor = source, factor

        def __iter__(self):
            return (each * self.factor for each in self.source)

    wrapped = torch.utils.data.datapipes.iter.IterableWrapper(range(5))
    assert list(wrapped.times_in_test(3).batch(2)) == [[0, 3], [6, 9], [12]]
    assert list(wrapped.filter(bool).map(str)) == ["1", "2", "3", "4"]
    with pytest.raises(AttributeError, match="nosuch"):
        wrapped.nosuch  # noqa: B018
    with pytest.raises(TypeError):
        functional_datapipe("number")(int)


def test_rounds_over_anothers_loader():
    class Loader:
        """What such a round reads of a loader."""

        _dataset_kind = torch.utils.data._DatasetKind.Iterable
        _auto_collation = drop_last = False
        _index_sampler = range(10)
        _IterableDataset_len_called = generator = None
        dataset = ("a", "b")

        def collate_fn(self, sample):
            return sample.upper()

    assert list(_SingleProcessDataLoaderIter(Loader())) == ["A", "B"]
    data = adjoint.utils.data.DataLoader([1, 2, 3], batch_size=2)
    assert [batch.tolist() for batch in _SingleProcessDataLoaderIter(data)] == [[1, 2], [3]]
    assert isinstance(iter(data), torch.utils.data.dataloader._BaseDataLoaderIter)


def test_kernels_of_triton_are_plain_ops():
    @torch.library.triton_op("mentioned::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.library.wrap_triton(torch.mul)(x, 2)

    assert double(torch.ones(2)).tolist() == [2.0, 2.0]
    assert torch.ops.mentioned.double(torch.ones(1)).item() == 2.0


def test_managers_of_contexts_decorate():
    seen = []

    class noting(torch.utils._contextlib._NoParamDecoratorContextManager):
        """Notes when it is entered and left."""

        def __enter__(self):
            seen.append("in")

        def __exit__(self, *exc):
            seen.append("out")

    @noting
    def plain():
        seen.append("f")

    @noting()
    def called():
        seen.append("g")

    plain()
    called()
    assert seen == ["in", "f", "out", "in", "g", "out"]


def test_classes_that_are_no_tensors_answer_backward_and_grad():
    class Wrapped:
        """Holds a tensor, and hands calls on to it."""

        def __init__(self, inside):
            self.inside = inside

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            given = trees.tree_map_only(cls, lambda each: each.inside, list(args))
            result = func(*given, **kwargs or {})
            return cls(result) if isinstance(result, torch.Tensor) else result

    x = torch.ones(2, requires_grad=True)
    total = torch.sum(torch.mul(Wrapped(x), 3))
    assert isinstance(total, Wrapped)
    (found,) = torch.autograd.grad(total, x, retain_graph=True)
    torch.autograd.backward(total)
    assert found.tolist() == x.grad.tolist() == [3.0, 3.0]


def test_what_operations_are_made_of_is_noted():
    from adjoint.compat.torch._decomp import get_decompositions, register_decomposition
    from adjoint.compat.torch._inductor.decomposition import register_decomposition as compiler_s

    table = {}

    @register_decomposition(torch.ops.aten.addmm, table)
    def made(*args):
        return args

    assert table[torch.ops.aten.addmm.default] is made
    assert get_decompositions([torch.ops.aten.addmm]) == {}
    assert compiler_s([torch.ops.aten.addmm.default])(made) is made


def test_settings_of_compilers_can_be_set():
    from adjoint.compat.torch._dynamo.utils import disable_cache_limit, is_compile_supported
    from adjoint.compat.torch.utils._triton import has_triton

    torch._inductor.config.triton.unique_kernel_names = True
    with disable_cache_limit():
        assert not is_compile_supported() and not has_triton()


def test_operations_of_other_namespaces_can_be_named():
    found = torch.ops._c10d_functional.all_gather_into_tensor.default
    assert {found: 1}[torch.ops._c10d_functional.all_gather_into_tensor.default] == 1
    with pytest.raises(MissingNameError, match="all_gather_into_tensor"):
        found(torch.ones(1), 1, "group")
    with pytest.raises(MissingNameError, match="nonsense"):
        _ = torch.ops.c10d.nonsense


def test_constants_are_part_of_the_shape_of_a_tree():
    class Constant:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return isinstance(other, Constant) and self.value == other.value

        def __hash__(self):
            return hash(self.value)

    with pytest.raises(TypeError, match="__eq__"):
        trees.register_constant(type("Plain", (), {}))
    with pytest.raises(TypeError, match="__hash__"):
        trees.register_constant(type("Compared", (), {"__eq__": lambda self, other: True}))
    trees.register_constant(Constant)
    leaves, shape = trees.tree_flatten([Constant(3), 1])
    assert leaves == [1] and trees.is_constant_class(Constant)
    assert shape == trees.tree_structure([Constant(3), 2])
    assert shape != trees.tree_structure([Constant(4), 2])
    assert trees.tree_unflatten([5], shape) == [Constant(3), 5]


def test_types_that_no_tensor_has_are_known_by_name():
    assert pickle.loads(pickle.dumps(torch.float8_e4m3fn)) is torch.float8_e4m3fn
    schema = torch._C.parse_schema("a::b(Tensor x, ScalarType kind=float8_e4m3fn) -> Tensor")
    assert schema.arguments[1].default_value == 24


def test_names_of_types():
    assert torch.Tensor.type(torch.ones(1, dtype=torch.complex64)) == "torch.ComplexFloatTensor"
    assert torch.Tensor.type(torch.ones(1, dtype=torch.uint16)) == "torch.UInt16Tensor"
    assert torch.Tensor.type(torch.ones(1)) == "torch.FloatTensor"


def test_places_that_may_share_memory():
    a, b = torch.ones(2), torch.ones(3)
    assert torch._has_compatible_shallow_copy_type(a, b)
    assert not torch._has_compatible_shallow_copy_type(a, b.to("meta"))
    assert torch._C.TensorBase.untyped_storage(a).nbytes() == 8


def test_classes_that_modules_import_are_the_ones_at_home():
    from adjoint.compat.torch.nn.modules.rnn import PackedSequence
    from adjoint.compat.torch.optim.lr_scheduler import Optimizer

    assert Optimizer is torch.optim.Optimizer and torch.nn.init.Tensor is torch.Tensor
    assert PackedSequence is torch.nn.utils.rnn.PackedSequence
    assert torch.serialization.pickle is pickle


@pytest.mark.parametrize("name", sorted(IMPORTED))
def test_pytorch_s_modules_import_one_class_of_a_name(name, request):
    """Where two of PyTorch's modules have a class of this name, it is the same class."""
    pytorch = request.getfixturevalue("torch")
    modules = {path: module for path, module in list(sys.modules.items()) if path[:6] == "torch."}
    home = f"torch.{IMPORTED[name]}".rstrip(".")
    wanted = getattr(modules.get(home, pytorch), name)
    for path, module in modules.items():
        # Of modules whose names are not listed, these have classes of their own of such names.
        own = path.startswith("torch._export.")
        if pytorch_names.is_class(f"{path[6:]}.{name}") and not own:
            assert vars(module).get(name, wanted) is wanted, path


def test_what_attention_written_after_pytorch_s_takes(request):
    """Its private steps, and what they say of wrong masks."""
    pytorch = request.getfixturevalue("torch")
    answers = []
    for library in (torch, pytorch):
        functional = library.nn.functional
        x = library.arange(24.0).reshape(2, 3, 4)
        weight, mask = library.arange(48.0).reshape(12, 4), library.tensor([[True, False]])
        packed = functional._in_projection_packed(x, x + 1, x + 2, weight, weight[:, 0])
        apart = functional._in_projection(x, x + 1, x + 2, weight[:4], weight[4:8], weight[8:])
        added = functional._canonical_mask(mask, "mask", None, "other", library.float32)
        batched = functional._mha_shape_check(x, x, x, None, None, 2)
        with pytest.raises(AssertionError):
            functional._mha_shape_check(x, x[0], x, None, None, 2)
        clones = library.nn.modules.transformer._get_clones(library.nn.ReLU(), 2)
        activation = library.nn.modules.transformer._get_activation_fn("relu")
        with pytest.raises(RuntimeError):
            library.nn.modules.transformer._get_activation_fn("sin")
        answers.append(
            [
                [part.tolist() for part in (*packed, *apart, added, activation(-x))],
                str(functional._none_or_dtype(x)).split(".")[-1],
                functional._none_or_dtype(None),
                batched,
                str(clones),
                library.nn.modules.module._addindent("a\nb", 2),
                library.nn.modules.conv._pair(3),
                library.nn.modules.conv._reverse_repeat_tuple((1, 2), 2),
            ]
        )
    assert answers[0] == answers[1]


def test_what_optimizers_written_after_pytorch_s_take():
    from adjoint.compat.torch.optim import optimizer as names

    class Steps(torch.optim.Optimizer):
        def __init__(self, params, differentiable):
            super().__init__(params, {"differentiable": differentiable})

        @names._use_grad_for_differentiable
        def step(self):
            seen.append(torch.is_grad_enabled())

    seen = []
    for differentiable in (True, False):
        Steps([torch.nn.Parameter(torch.ones(1))], differentiable).step()
    assert seen == [True, False] and torch.is_grad_enabled()
    assert names._default_to_fused_or_foreach([], False) == (False, False)
    assert names._get_value(torch.tensor(2.0)) == 2.0 and names._get_value(3) == 3
    assert names._get_scalar_dtype() is torch.float32 and names._to_scalar(torch.ones(1)).dim() == 0
    parameters, gradients = [torch.ones(1) * 1j, torch.ones(1)], [torch.ones(1) * 2j, torch.ones(1)]
    names._view_as_real(parameters, gradients)
    assert [p.tolist() for p in (*parameters, *gradients)] == [[[0, 1]], [1], [[0, 2]], [1]]


def test_numbers_that_a_compiler_would_not_know(request):
    pytorch = request.getfixturevalue("torch")
    for library in (torch, pytorch):
        assert [library.sym_int(-3.7), library.sym_max(1, 2.5), library.sym_min(1, 2.0)] == [
            -3,
            2.5,
            1,
        ]
        assert type(library.sym_min(1, 2.0)) is float and type(library.sym_max(1, 2)) is int
        assert library.sym_ite(True, 1, 2) == 1 and library.sym_sum([1, 2]) == 3
        index = library._utils._get_device_index
        assert [index(3), index("cuda:1"), index("cpu", allow_cpu=True)] == [3, 1, -1]
        for wrong in ("cpu", "cuda", None):
            with pytest.raises(ValueError, match="expected|Expected"):
                index(wrong)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ([1, 2], list[int]),
        ([1, "a"], list[int]),
        ({"a": 1.0}, dict[str, float]),
        ((1, "a"), tuple[int, str]),
        ((1,), tuple[int, int]),
        (None, Optional[int]),  # noqa: UP045  # which PyTorch's function wants so
        (3, (int, float)),
        (3, str),
    ],
)
def test_values_of_types_with_parts(value, kind, request):
    pytorch = request.getfixturevalue("torch")
    assert torch.jit.isinstance(value, kind) == pytorch.jit.isinstance(value, kind)


def test_a_gpu_that_is_used_for_a_while():
    with torch.cuda.device(-1), torch.cuda.device(None), torch.cuda.device_of(torch.ones(1)):
        assert torch.cuda.get_arch_list() == []
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="GPU"), torch.cuda.device(0):
            pass
        assert torch.get_device_module("cuda") is torch.cuda


def test_the_profiler_by_its_module():
    assert torch.profiler.profiler.profile is torch.profiler.profile
    with torch._subclasses.fake_tensor.unset_fake_temporarily():
        assert not torch._subclasses.fake_tensor.is_fake(torch.ones(1))
