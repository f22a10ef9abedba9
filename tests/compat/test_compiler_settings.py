"""torch.compiler: stances, backends, and settings that programs save, set and restore."""

import itertools
import warnings

import numpy as np
import pytest

import adjoint.compat.torch as compat
from adjoint.compat.missing_names import MissingNameError

STANCES = ["default", "force_eager", "eager_on_recompile", "fail_on_recompile"]


@pytest.fixture(params=["compat", "torch"])
def library(request):
    """adjoint and PyTorch, as they were afterwards."""
    found = compat if request.param == "compat" else request.getfixturevalue("torch")
    yield found
    found.compiler.set_stance("default")
    found.compiler.set_default_backend(None)


class Runs:
    """How often Python has run a function; a compiler does not look into the counter."""

    def __init__(self):
        self.counter = itertools.count()

    def since(self, before):
        return int(repr(self.counter)[6:-1]) - before

    def __int__(self):
        return self.since(0)


def counted():
    """A compiled function of adjoint's with a program, its argument, and how often it ran."""
    pytest.importorskip("jax")
    runs = Runs()
    step = runs.counter.__next__

    @compat.compile
    def double(x):
        step()
        return x * 2

    x = compat.ones(2)
    for _ in range(3):
        double(x)
    assert runs.since(0) == 2  # once eagerly, once to be traced
    return double, x, runs


def test_a_stance_in_which_compiled_functions_run_eagerly():
    double, x, runs = counted()
    with compat.compiler.set_stance("force_eager"):
        assert double(x).tolist() == [2.0, 2.0]
    assert runs.since(2) == 1
    double(x)
    assert runs.since(2) == 1

    @compat.compiler.set_stance("force_eager")
    def inside(x):
        """Runs eagerly."""
        return double(x)

    assert inside.__doc__ == "Runs eagerly."
    inside(x)
    double(x)
    assert runs.since(2) == 2
    compat.compiler.set_stance("default", force_backend="eager")
    double(x)
    assert runs.since(2) == 3
    compat.compiler.set_stance("default")


def test_functions_without_arguments_are_called_so_too():
    pytest.importorskip("jax")
    x, runs = compat.ones(2), Runs()
    step = runs.counter.__next__

    @compat.compile
    def double():
        step()
        return x * 2

    for _ in range(4):
        double()
    before = int(runs)
    with compat.compiler.set_stance("force_eager"):
        double()
    double()
    assert runs.since(before) == 1


def test_stances_in_which_nothing_new_is_compiled():
    double, x, runs = counted()
    other = compat.ones(2, dtype=compat.float64)
    with compat.compiler.set_stance("eager_on_recompile"):
        for _ in range(3):
            double(other)
        assert runs.since(2) == 3
        double(x)
        assert runs.since(2) == 3
    with compat.compiler.set_stance("fail_on_recompile"):
        assert double(x).tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            double(other)
    assert double(other).tolist() == [2.0, 2.0]


def test_stances_end_where_they_should(library):
    stance = library.compiler.set_stance
    eager = library.compile(lambda x: x + 1, backend="eager")
    for name in STANCES:
        with stance(name):
            pass
        with stance("force_eager"), stance(name):
            pass
    assert eager(library.ones(1)).item() == 2.0
    with pytest.raises(RuntimeError):
        stance("force_eager", force_backend="eager")
    with pytest.raises(RuntimeError):
        stance("nonsense")
        library.compile(lambda x: x, backend="eager" if library is not compat else "xla")(1)


@pytest.mark.parametrize("options", [{}, {"backend": "eager"}])
def test_a_compiled_module_is_one_around_the_other(library, options):
    model = library.nn.Sequential(library.nn.Linear(2, 3))
    made = library.compile(model, **options)
    assert type(made).__name__ == "OptimizedModule"
    for place in (library._dynamo, library._dynamo.eval_frame):
        assert isinstance(made, place.OptimizedModule)
    assert made._orig_mod is model
    assert list(made.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    made.note = 3
    assert (model.note, made.note, len(made)) == (3, 3, 1)
    del made.note
    assert not hasattr(model, "note")
    assert "append" in dir(made)
    made.eval()
    assert not model.training
    assert not made.training
    model.train()
    assert made.training
    assert bool(library.compile(library.nn.ReLU(), **options)._orig_mod)
    assert library.compile(model, disable=True) is model


def test_a_module_that_compiles_itself_may_read_values(library):
    class Model(library.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum().item() > 0 else x - 1

    model = Model()
    assert model._compiled_call_impl is None
    model.compile(**({} if library is compat else {"backend": "eager"}))
    assert model._compiled_call_impl is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [model(library.ones(1)).item() for _ in range(3)] == [2.0] * 3


def test_backends(library):
    compiler = library.compiler
    assert {"inductor", "cudagraphs", "openxla"} <= set(compiler.list_backends())
    assert "eager" not in compiler.list_backends() and "eager" in compiler.list_backends(())
    assert compiler.get_default_backend() == "inductor"
    compiler.set_default_backend("eager")
    assert compiler.get_default_backend() == "eager"

    def plain(x):
        return x + 1

    assert library.compile(plain)(library.ones(1)).item() == 2.0
    compiler.set_default_backend(None)
    assert compiler.get_default_backend() == "inductor"
    with pytest.raises(TypeError):
        compiler.set_default_backend(3)


def test_functions_of_arrays_become_functions_of_tensors(library):
    wrapped = library.compiler.wrap_numpy(lambda x, y=2: (np.sin(x) * y, [x.shape, y]))
    found, others = wrapped(library.ones(2), y=3)
    assert isinstance(found, library.Tensor) and found.dtype is library.float32
    assert found.tolist() == pytest.approx([2.5244129] * 2) and others == [(2,), 3]
    with pytest.raises(RuntimeError):
        wrapped(library.ones(2, requires_grad=True))


def test_settings_are_remembered_and_put_back(library):
    for config, name in (
        (library.compiler.config, "recompile_limit"),
        (library._dynamo.config, "cache_size_limit"),
    ):
        assert getattr(config, name) == 8 and config.verbose is False
        with config.patch(**{name: 3, "verbose": True}):
            assert getattr(config, name) == 3 and config.verbose is True
            with config.patch({name: 4}):
                assert getattr(config, name) == 4
            assert getattr(config, name) == 3
        assert getattr(config, name) == 8 and config.verbose is False
    config = library._dynamo.config

    @config.patch("suppress_errors", True)
    def suppressed():
        return config.suppress_errors

    assert suppressed() is True and config.suppress_errors is False
    before = config.suppress_errors
    config.suppress_errors = True
    assert config.suppress_errors is True
    config.suppress_errors = before


def test_what_a_compiler_would_keep(library):
    compiler = library.compiler
    assert compiler.save_cache_artifacts() is None
    assert compiler.set_enable_guard_collectives(True) is False
    assert compiler.set_enable_guard_collectives(False) is True


def test_a_choice_of_guards_is_handed_on_and_never_asked():
    def plain(x):
        return x + 1

    choice = compat.compiler.skip_guard_on_all_nn_modules_unsafe
    made = compat.compile(plain, backend="eager", options={"guard_filter_fn": choice})
    assert made(1) == 2
    with pytest.raises(MissingNameError, match=r"torch\.compiler\.skip_guard"):
        choice([])
    with compat._inductor.config.patch({"triton.cudagraphs": True, "max_autotune": True}):
        assert compat._inductor.config.triton.cudagraphs and compat._inductor.config.max_autotune
    assert not hasattr(compat._inductor.config.triton, "cudagraphs")
    assert not hasattr(compat._inductor.config, "max_autotune")
