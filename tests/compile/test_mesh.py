"""A compiled step over eight devices comes to the numbers of one."""

import json
from pathlib import Path

import pytest

pytest.importorskip("jax")

from tests.interpreter import fresh_python

PROGRAM = Path(__file__).with_name("mesh_program.py")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
        patch.setenv("JAX_PLATFORMS", "cpu")
        printed = fresh_python("-W", "ignore", PROGRAM, cwd=tmp_path_factory.mktemp("mesh"))
    return json.loads(printed)


def test_rows_are_those_of_one_device_bit_for_bit(seen):
    assert seen["devices"] == 8
    assert seen["rows"] == [0.0, 0.0]


def test_trainings_on_exact_numbers_are_those_of_one_device_bit_for_bit(seen):
    """Where no sum is rounded: losses, results, parameters, buffers, gradients, states, chance."""
    assert len(seen["bits"]) == 16
    for name, (count, same, devices) in seen["bits"].items():
        assert count > 15
        assert same == count, name
        assert devices == (8 if name.startswith("xla") else 1)


def test_trainings_differ_by_the_order_of_sums_alone(seen):
    assert seen["numpy"] < 1e-6
    assert seen["xla"] < 1e-6
    assert seen["hooked"] < 1e-6


def test_hooks_see_whole_gradients_once(seen):
    assert seen["hooks"] == [5, 5]


def test_tensors_of_numpy_stay_so_and_those_of_xla_are_spread_as_asked(seen):
    assert seen["kind"] == "ndarray"
    assert seen["weight"] == [[16, 8], [8, 8]]
    assert seen["bias"] == [16]


def test_results_of_a_mesh_have_gradients(seen):
    assert seen["afterwards"] == 16 * 8 * 3


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0, "a mesh of 9 devices was asked for, and JAX has 8"),
        (1, "mesh must be a jax.sharding.Mesh"),
        (2, "give mesh= too"),
        (3, "the mesh has the axes ['data'], not 'model'"),
        (4, "3 elements of a tensor of shape [3] can't be shared out to the 8 devices"),
        (5, "for each dimension of [3]; got ('data', None)"),
    ],
)
def test_what_cannot_be_spread_is_named(seen, number, message):
    assert message in seen["refusals"][number]
