"""Copies, casts, counts and transforms by loops and threads: what NumPy answers, to the bit."""

import numpy as np
import pytest

import adjoint
from adjoint.backends import threads
from adjoint.backends.fourier import Transforms
from adjoint.backends.loops import written
from adjoint.backends.numpy import host
from adjoint.backends.turning import in_its_order, in_order

compiled_only = pytest.mark.skipif(threads.pool is None, reason="the pure package has no pool")
transforms_only = pytest.mark.skipif(written("fourier") is None, reason="no loop for this machine")


@pytest.fixture(autouse=True, params=[1, 3])
def some_threads(request):
    before = threads.helpers.allowed
    threads.allow(request.param)
    yield
    threads.allow(before)


def bits(size, kind):
    """Elements of any bits: NaN of all kinds among them."""
    raw = np.random.default_rng(size).integers(0, 256, size * np.dtype(kind).itemsize, np.uint8)
    return raw % 2 == 1 if kind == "?" else raw.view(kind)


def ways(kind):
    """Large arrays as they may lie in memory."""
    flat = bits(3 * 130 * 201, kind)
    cube = flat.reshape(3, 130, 201)
    yield from (flat, flat[::-1], flat[::2], cube, cube.swapaxes(1, 2), cube.swapaxes(0, 2))
    yield from (cube[:, ::-1, 3:-2], cube.swapaxes(1, 2)[:, ::-1], cube.swapaxes(1, 2)[..., ::-1])
    yield np.broadcast_to(flat[:401], (300, 401))
    yield np.broadcast_to(flat[:300, None], (300, 401))
    yield np.lib.stride_tricks.sliding_window_view(flat[:20_000], 5)
    yield from (cube[0].T, cube[0].T[::-1], cube.reshape(-1, 6).T)


@pytest.mark.parametrize("kind", "?bhifdFD")
def test_copies_keep_all_bits(kind):
    for array in ways(kind):
        wanted = np.array(array, order="C")
        # What is repeated lies in order, as in PyTorch.
        kept = wanted if 0 in array.strides else np.array(array)
        for made, like in (
            (in_order(array), wanted),
            (host.ascontiguousarray(array), wanted),
            (in_its_order(array), kept),
            (host.array(array), kept),
        ):
            assert made.tobytes() == wanted.tobytes()
            assert made.strides == like.strides
            assert not np.shares_memory(made, array) or made is array


def test_a_copy_within_one_array_is_left_to_numpy():
    array = np.arange(100_000)
    assert not threads.copied_into(array[1:], array[:-1])
    assert not threads.copied_into(array[:-1], array[:-1].astype(np.int32))


@compiled_only
def test_a_call_over_rows_has_the_bits_of_numpy():
    threads.allow(3)
    rows, row = bits(258 * 387, "h").reshape(258, 387).astype("f"), bits(387, "h").astype("f")
    with np.errstate(all="ignore"):
        wanted = rows / row
    out = np.empty_like(rows)
    assert threads.pool.apply(np.divide, rows, row, out)
    assert out.tobytes() == wanted.tobytes()
    assert threads.pool.apply(np.divide, rows, row, rows)
    assert rows.tobytes() == wanted.tobytes()
    assert not threads.pool.apply(np.divide, rows, rows[:, ::-1], rows)
    assert not threads.pool.apply(np.divide, rows, row[:-1], out)
    with pytest.raises(TypeError):
        threads.pool.apply(np.divide, rows, out)


@compiled_only
@pytest.mark.parametrize("kind", "fd")
def test_division_by_a_row(kind, monkeypatch):
    asked, apply = [], threads.pool.apply

    class Pool:
        """The threads, and what they are asked for."""

        def apply(self, *arrays):
            asked.append(arrays[0])
            return apply(*arrays)

    rows = np.random.default_rng(0).integers(-3, 4, (258, 387)).astype(kind)
    with np.errstate(all="ignore"):
        wanted = rows / rows[0]
    monkeypatch.setattr(threads, "pool", Pool())
    tensor = adjoint.tensor(rows)
    tensor.div_(adjoint.tensor(rows[0]))
    monkeypatch.undo()
    assert asked == [np.divide]
    assert tensor.numpy().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("pair", ["fd", "df", "fl", "dl"])
def test_casts_are_those_of_numpy(pair):
    special = [np.nan, np.inf, -np.inf, 2.0**63, -(2.0**70), 1e300, -0.0, 0.5, -1.5, 2.0**53 + 2]
    with np.errstate(all="ignore"):
        values = np.tile(np.array(special), 9_000).astype(pair[0])
        for array in (values, values[::-3], values.reshape(300, -1).T):
            wanted = array.astype(pair[1])
            assert host.copied(array, np.dtype(pair[1])).tobytes("A") == wanted.tobytes("A")


def test_counts():
    numbers = np.random.default_rng(0).integers(0, 700, 100_003)
    for minlength in (0, 5, 1000):
        found = host.bincount(numbers, minlength=minlength)
        np.testing.assert_array_equal(found, np.bincount(numbers, minlength=minlength))
    strided = numbers[::2]
    np.testing.assert_array_equal(host.bincount(strided), np.bincount(strided))
    with pytest.raises(ValueError, match="negative"):
        host.bincount(numbers - 1)
    mask = numbers.reshape(-1, 1) > 300
    assert adjoint.count_nonzero(adjoint.tensor(mask)).item() == mask.sum()


@pytest.mark.parametrize("turns", range(-1, 5))
def test_rotations(turns):
    array = np.arange(260 * 390, dtype=np.float32).reshape(2, 130, 390)
    for dims in ((0, 1), (2, 1), (-1, 0)):
        turned = adjoint.rot90(adjoint.tensor(array), turns, dims)
        np.testing.assert_array_equal(turned.numpy(), np.rot90(array, turns, dims))
        assert turned.is_contiguous() == (turns % 2 == 0)  # as PyTorch's: flipped, then transposed


# ---- transforms ----

LENGTHS = [2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 26, 49, 121, 149, 224, 251, 447, 894, 1000]


def normal(rng, *shape):
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)


def near(found, wanted):
    assert found.dtype == (np.complex64 if wanted.dtype.kind == "c" else np.float32)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, atol=3e-6 * max(1e-30, np.abs(wanted).max()))


@transforms_only
@pytest.mark.parametrize("rows", [4, 8, 13])
@pytest.mark.parametrize("size", LENGTHS)
def test_transforms_of_rows(size, rows):
    rng, ours = np.random.default_rng(size), Transforms(None)  # no library may be asked
    given = normal(rng, rows, size)
    half = normal(rng, rows, size // 2 + 1)
    for norm in ("backward", "ortho", "forward"):
        for axis in (1, 0):
            x, h = (given, half) if axis else (given.T.copy(), half.T.copy())
            one = {"s": (size,), "axes": (axis,), "norm": norm}
            own = {"n": size, "axis": axis, "norm": norm}
            near(ours.fftn(x, **one), np.fft.fft(x.astype("D"), **own))
            near(ours.ifftn(x, **one), np.fft.ifft(x.astype("D"), **own))
            real = x.real.copy()
            near(ours.fftn(real, **one), np.fft.fft(real.astype("d"), **own))
            near(ours.ifftn(real, **one), np.fft.ifft(real.astype("d"), **own))
            near(ours.rfftn(real, **one), np.fft.rfft(real.astype("d"), **own))
            near(ours.irfftn(h, **one), np.fft.irfft(h.astype("D"), **own))
            near(ours.irfftn(h.real, **one), np.fft.irfft(h.real.astype("D"), **own))


@transforms_only
def test_transforms_of_what_lies_in_no_order_and_of_other_lengths():
    rng, ours = np.random.default_rng(1), Transforms(None)
    cube = normal(rng, 5, 24, 60)[:, ::-1, ::2]
    for axes in ((0, 2), (1,), (2, 1, 0)):
        for grow in (-3, 0, 4):
            s = tuple(max(4, cube.shape[axis] + grow) for axis in axes)
            near(ours.fftn(cube, s, axes, "ortho"), np.fft.fftn(cube.astype("D"), s, axes, "ortho"))
            wanted = np.fft.irfftn(cube.astype("D"), s, axes, "backward")
            near(ours.irfftn(cube, s, axes, "backward"), wanted)
            real = cube.imag
            wanted = np.fft.rfftn(real.astype("d"), s, axes, "forward")
            near(ours.rfftn(real, s, axes, "forward"), wanted)


@transforms_only
def test_rows_know_nothing_of_each_other():
    rng, ours = np.random.default_rng(2), Transforms(None)
    given = normal(rng, 203, 360)
    alone = ours.fftn(given[:8], (360,), (1,), "backward")
    given[8:] *= np.float32(1e30)
    given[9, 3], given[11, 0] = np.nan, np.inf
    found = ours.fftn(given, (360,), (1,), "backward")
    assert found[:8].tobytes() == alone.tobytes()
    assert np.isnan(found[9]).all()
