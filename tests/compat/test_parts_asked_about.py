"""Devices, libraries and machines that programs ask about, compared with PyTorch's CPU build."""

import warnings

import pytest

import adjoint
import adjoint.compat.torch as compat

WITHOUT_GPU = pytest.mark.skipif(compat.cuda.is_available(), reason="says what there is without")


@pytest.fixture(params=["compat", "torch"])
def library(request):
    """adjoint and PyTorch."""
    return compat if request.param == "compat" else request.getfixturevalue("torch")


def outcome(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return type(error)


ASKED = """
    current_device_idx current_device_index current_stream empty_cache empty_host_cache
    get_memory_info max_memory_allocated max_memory_reserved memory_allocated memory_reserved
    reset_peak_memory_stats synchronize
"""


@WITHOUT_GPU
def test_an_accelerator_that_is_not_there(torch):
    for name in ASKED.split():
        first, second = (outcome(getattr(lib.accelerator, name)) for lib in (compat, torch))
        assert first is second is RuntimeError, name
    for lib in (compat, torch):
        accelerator = lib.accelerator
        assert not accelerator.is_available() and accelerator.device_count() == 0
        assert accelerator.current_accelerator() is None
        for setting in (accelerator.set_device_index, accelerator.set_device_idx):
            assert outcome(setting, 0) is RuntimeError
        with accelerator.device_index(None):
            assert outcome(accelerator.memory.memory_allocated) is RuntimeError
        with pytest.raises(RuntimeError), accelerator.device_index(0):
            pass


def test_an_accelerator_that_is_there_is_torch_cuda_s(monkeypatch):
    cuda = compat.cuda.streams.__class__  # the paths are loaded before they are replaced
    assert cuda
    from adjoint.compat.torch_tree import cuda

    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "memory_allocated", lambda device=None: (3, device))
    monkeypatch.setattr(cuda, "current_device", lambda: 1)
    assert compat.accelerator.memory_allocated(0) == (3, 0)
    assert compat.accelerator.current_device_index() == 1


def test_streams_of_the_cpu(library):
    stream = library.cpu.current_stream()
    assert (
        isinstance(stream, library.cpu.Stream) and library.cpu.Stream().wait_stream(stream) is None
    )
    with library.cpu.stream(stream), library.cpu.stream(None):
        pass


def test_settings_of_libraries(library):
    backends = library.backends
    if library is compat:  # PyTorch's own tests, which others here import, freeze its flags
        assert backends.flags_frozen() is False
    assert backends.mha.get_fastpath_enabled() is True
    backends.mha.set_fastpath_enabled(False)
    assert backends.mha.get_fastpath_enabled() is False
    backends.mha.set_fastpath_enabled(True)
    (before,) = backends.nnpack.set_flags(False)
    assert backends.nnpack.set_flags(before) == (False,)
    assert backends.cuda.preferred_linalg_library().name == "Default"
    assert backends.cuda.preferred_blas_library().name == "Cublas"
    for prefer in (backends.cuda.preferred_linalg_library, backends.cuda.preferred_blas_library):
        assert outcome(prefer, "nonsense") is RuntimeError
    assert backends.cuda.is_ck_sdpa_available() is False
    allowed = backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    assert backends.cuda.fp16_bf16_reduction_math_sdp_allowed() is True
    backends.cuda.allow_fp16_bf16_reduction_math_sdp(allowed)


def test_flags_are_said_to_be_frozen(monkeypatch):
    from adjoint.compat.torch_tree import backends

    monkeypatch.setattr(backends._Frozen, "flags", False)
    compat.backends.disable_global_flags()
    assert compat.backends.flags_frozen() is True


def test_engines_of_quantised_tensors(library):
    quantized = library.backends.quantized
    assert isinstance(quantized.supported_engines, list)
    for engine in quantized.supported_engines:
        quantized.engine = engine
    quantized.engine = quantized.engine
    with pytest.raises(RuntimeError):
        quantized.engine = "nonsense"
    assert quantized.engine != "nonsense"


def test_marks_for_a_profiler_and_what_is_watched(library):
    itt = library.profiler.itt
    itt.range_push("a")
    itt.mark("b")
    itt.range_pop()
    with itt.range("c"):
        pass
    assert library.profiler.ProfilerActivity.CPU in library.profiler.supported_activities()
    assert library.random.thread_safe_generator() is None
    assert not library._utils._is_privateuse1_backend_available()


def test_small_tools(library):
    def function():
        """To be moved."""

    library.utils.set_module(function, "elsewhere")
    assert function.__module__ == "elsewhere"
    assert outcome(library.utils.set_module, function, 3) is TypeError
    tools = library.utils._import_utils
    assert (tools.import_dill() is not None) is tools.dill_available()


GIVEN = [
    None,
    {},
    {"device": "cpu"},
    {"device": "cpu", "factory_kwargs": {"dtype": 1}},
    {"device": "cpu", "factory_kwargs": {"device": "cuda"}},
    {"nonsense": 1},
    {"factory_kwargs": {"nonsense": 1}},
]


@pytest.mark.parametrize("given", GIVEN)
def test_what_layers_are_made_of(given, torch):
    first, second = (outcome(lib.nn.factory_kwargs, given) for lib in (compat, torch))
    assert first == second


def test_names_under_the_paths_of_their_files(library):
    assert (
        library.signal.windows.windows.hann(3).tolist() == library.signal.windows.hann(3).tolist()
    )
    x = library.tensor([1.0, 2.0, 4.0])
    mask = library.tensor([True, False, True])
    assert library.masked._ops.sum(x, mask=mask).item() == 5.0


def test_what_is_known_of_the_machine(capsys):
    from adjoint.compat.torch.utils import collect_env

    found = collect_env.get_env_info()
    assert found._asdict().keys() >= {"torch_version", "os", "python_version", "pip_packages"}
    text = collect_env.get_pretty_env_info()
    for said in ("adjoint", "PyTorch version: ", "Python version: ", "[pip3] numpy=="):
        assert said in text
    collect_env.main()
    assert capsys.readouterr().out == f"{text}\n"


def test_datasets_that_datasets_are_made_of(library):
    pipes = library.utils.data.datapipes.iter
    first = pipes.IterableWrapper([1, 2])
    second = first.map(str)
    third = second.batch(2)
    (top,) = library.utils.data.graph.traverse_dps(third).items()
    assert top[0] == id(third) and top[1][0] is third
    ((key, (middle, below)),) = top[1][1].items()
    assert key == id(second) and middle is second and list(below) == [id(first)]
    assert below[id(first)][1] == {}


# ---- parts that are there by name alone ----


def test_what_a_missing_part_has_can_be_mentioned_and_fails_when_it_is_called():
    from adjoint.compat.torch.quantization import quantize_dynamic

    assert compat.quantization.quantize_dynamic is quantize_dynamic
    table = {"dynamic": compat.quantization.quantize_dynamic}
    with pytest.raises(AttributeError, match=r"torch\.quantization\.quantize_dynamic"):
        table["dynamic"](3)
    with pytest.raises(AttributeError):
        compat.quantization.nonsense  # noqa: B018
    with pytest.raises(AttributeError):
        quantize_dynamic.nonsense  # noqa: B018
    # Of a part that is there, what is not can't be told from what a program looks for.
    assert not hasattr(compat, "quantize_per_tensor") and not hasattr(compat.jit, "load")


def test_names_of_a_missing_part_by_star(torch):
    names = {}
    exec("from adjoint.compat.torch.ao.nn.qat.modules import *", names)
    wanted = torch.ao.nn.qat.modules.__all__
    assert set(wanted) <= names.keys() and not {"torch", "nn"} & names.keys()
    assert set(torch.ao.quantization.__all__) <= set(compat.ao.quantization.__all__)
    for name in wanted:
        assert isinstance(names[name], type)


def test_properties_of_modules_are_not_denied():
    assert "is not in adjoint" in repr(compat.backends.xnnpack.enabled)
    with pytest.raises(AttributeError, match="nor has PyTorch"):
        compat.backends.xnnpack.nonsense  # noqa: B018
    assert compat.random.manual_seed and compat.random is not adjoint.random


@pytest.mark.parametrize("name", ["mps", "mtia", "xpu"])
def test_functions_of_devices_that_are_not_there(library, name):
    device = getattr(library, name)
    assert not device.is_available()
    assert hasattr(device, "empty_cache")
    assert not hasattr(device, "nonsense")
    assert device.manual_seed(3) is None
    with pytest.raises((RuntimeError, AssertionError)):
        device.get_rng_state()
