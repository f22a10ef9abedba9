"""Generators, random tensors, fillers, dropout."""

import copy
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import adjoint
from adjoint.random import default_generator, fork_rng


@pytest.fixture(autouse=True)
def seeded():
    adjoint.manual_seed(0)


def test_a_seed_repeats_the_numbers():
    adjoint.manual_seed(3)
    first = adjoint.rand(5), adjoint.randn(3), adjoint.randint(10, (4,)), adjoint.randperm(6)
    adjoint.manual_seed(3)
    second = adjoint.rand(5), adjoint.randn(3), adjoint.randint(10, (4,)), adjoint.randperm(6)
    assert [t.tolist() for t in first] == [t.tolist() for t in second]
    assert adjoint.initial_seed() == 3
    assert adjoint.seed() == adjoint.initial_seed()


def test_state():
    state = adjoint.get_rng_state()
    first = adjoint.rand(3).tolist()
    adjoint.set_rng_state(state)
    assert adjoint.rand(3).tolist() == first
    assert state.dtype is adjoint.uint8
    for bad, error in ((adjoint.zeros(3), TypeError), (state[:3], RuntimeError)):
        with pytest.raises(error):
            adjoint.set_rng_state(bad)


def test_generator_is_separate():
    generator = adjoint.Generator().manual_seed(5)
    before = adjoint.get_rng_state().tolist()
    numbers = adjoint.rand(3, generator=generator).tolist()
    assert adjoint.get_rng_state().tolist() == before
    assert adjoint.rand(3, generator=adjoint.Generator().manual_seed(5)).tolist() == numbers
    with pytest.raises(TypeError, match="Generator"):
        adjoint.rand(3, generator=3)


def test_generator_copies():
    generator = adjoint.Generator().manual_seed(5)
    adjoint.rand(3, generator=generator)
    twins = [copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    twins.append(generator.clone_state())
    expected = adjoint.rand(3, generator=generator).tolist()
    for twin in twins:
        assert twin.initial_seed() == 5
        assert adjoint.rand(3, generator=twin).tolist() == expected


def test_seeds():
    generator = adjoint.Generator()
    assert generator.manual_seed(-3).initial_seed() == 2**64 - 3
    with pytest.raises(ValueError, match="64 bits"):
        generator.manual_seed(2**64)
    with pytest.raises(RuntimeError, match="int"):
        generator.manual_seed(2.5)


def test_fork_rng():
    expected = copy.deepcopy(default_generator)
    with fork_rng():
        adjoint.manual_seed(9)
        adjoint.rand(3)
    assert adjoint.rand(3).tolist() == adjoint.rand(3, generator=expected).tolist()


def test_threads_share_the_generator():
    seen = []

    def draw():
        for _ in range(50):
            seen.append(tuple(adjoint.rand(4).tolist()))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 200


def _draw(queue):
    queue.put(adjoint.rand(3).tolist())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_goes_on_from_the_same_state():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_draw, args=(queue,))
    child.start()
    drawn = queue.get(timeout=60)
    child.join()
    assert drawn == adjoint.rand(3).tolist()


def test_distributions():
    n = 20_000
    uniform = adjoint.rand(n, dtype=adjoint.float64).numpy()
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.02
    normal = adjoint.randn(n).numpy()
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    whole = adjoint.randint(2, 5, (n,)).numpy()
    assert sorted(set(whole.tolist())) == [2, 3, 4]
    assert sorted(adjoint.randperm(9).tolist()) == list(range(9))
    both = adjoint.randn(n, dtype=adjoint.complex64).numpy()
    assert abs((abs(both) ** 2).mean() - 1) < 0.05
    shifted = adjoint.normal(2.0, 3.0, (n,)).numpy()
    assert abs(shifted.mean() - 2) < 0.1 and abs(shifted.std() - 3) < 0.1
    counts = adjoint.poisson(adjoint.full((n,), 4.0)).numpy()
    assert abs(counts.mean() - 4) < 0.1
    flips = adjoint.bernoulli(adjoint.full((n,), 0.3)).numpy()
    assert abs(flips.mean() - 0.3) < 0.02
    assert set(flips.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("fill", "mean"),
    [
        (lambda t: t.uniform_(2, 4), 3),
        (lambda t: t.normal_(1, 2), 1),
        (lambda t: t.exponential_(2), 0.5),
        (lambda t: t.log_normal_(0, 0.5), np.exp(0.125)),
        (lambda t: t.geometric_(0.25), 4),
        (lambda t: t.random_(3, 6), 4),
        (lambda t: t.random_(3), 1),
        (lambda t: t.bernoulli_(0.25), 0.25),
    ],
)
def test_fillers(fill, mean):
    x = adjoint.zeros(20_000)
    assert fill(x) is x
    assert abs(x.numpy().mean() - mean) < 0.1


def test_cauchy():
    assert abs(np.median(adjoint.zeros(20_000).cauchy_(5, 2).numpy()) - 5) < 0.2


def test_random_fills_the_whole_range():
    assert adjoint.zeros(100, dtype=adjoint.uint8).random_().numpy().max() > 128
    assert adjoint.zeros(100, dtype=adjoint.int64).random_().numpy().max() > 2**60
    assert 2**22 < adjoint.zeros(100).random_().numpy().max() < 2**24
    assert set(adjoint.zeros(100, dtype=adjoint.bool).random_().tolist()) == {False, True}


def test_fillers_cut_the_gradient():
    x = adjoint.ones(3, requires_grad=True)
    y = (x * 2).uniform_()
    assert y.grad_fn.name() == "UniformBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError, match="leaf"):
        x.normal_()


def test_samples_have_zero_gradients():
    p = adjoint.full((3,), 0.5, requires_grad=True)
    for sample in (adjoint.bernoulli(p), adjoint.poisson(p), adjoint.normal(p, 1.0)):
        p.grad = None
        sample.sum().backward()
        assert p.grad.tolist() == [0, 0, 0]


def test_multinomial():
    weights = adjoint.tensor([[1.0, 3.0, 0.0], [0.0, 1.0, 1.0]])
    drawn = adjoint.multinomial(weights, 4000, replacement=True).numpy()
    assert drawn.shape == (2, 4000)
    assert abs((drawn[0] == 1).mean() - 0.75) < 0.05
    assert not (drawn[0] == 2).any() and not (drawn[1] == 0).any()
    without = adjoint.multinomial(adjoint.ones(5), 5)
    assert sorted(without.tolist()) == [0, 1, 2, 3, 4]
    first = np.array([adjoint.multinomial(weights[0], 2)[0].item() for _ in range(400)])
    assert abs((first == 1).mean() - 0.75) < 0.1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: adjoint.rand(2, dtype=adjoint.int64), NotImplementedError),
        (lambda: adjoint.randn_like(adjoint.arange(2)), NotImplementedError),
        (lambda: adjoint.randint(3, 3, (2,)), RuntimeError),
        (lambda: adjoint.randint(300, (2,), dtype=adjoint.uint8), RuntimeError),
        (lambda: adjoint.randint(5, 2), TypeError),
        (lambda: adjoint.randperm(-1), RuntimeError),
        (lambda: adjoint.normal(adjoint.zeros(2), -1.0), RuntimeError),
        (lambda: adjoint.normal(0.0, 1.0), TypeError),
        (lambda: adjoint.bernoulli(adjoint.tensor([2.0])), RuntimeError),
        (lambda: adjoint.bernoulli(adjoint.tensor([1])), NotImplementedError),
        (lambda: adjoint.poisson(adjoint.tensor([-1.0])), RuntimeError),
        (lambda: adjoint.multinomial(adjoint.ones(3), 4), RuntimeError),
        (lambda: adjoint.multinomial(adjoint.ones(3), 0), RuntimeError),
        (lambda: adjoint.multinomial(adjoint.zeros(3), 1), RuntimeError),
        (lambda: adjoint.multinomial(-adjoint.ones(3), 1), RuntimeError),
        (lambda: adjoint.multinomial(adjoint.arange(3), 1), RuntimeError),
        (lambda: adjoint.multinomial(adjoint.ones(2, 2, 2), 1), RuntimeError),
        (lambda: adjoint.zeros(2, dtype=adjoint.int64).uniform_(), NotImplementedError),
        (lambda: adjoint.zeros(2).uniform_(2, 1), RuntimeError),
        (lambda: adjoint.zeros(2).uniform_(1, 2, 3), TypeError),
        (lambda: adjoint.zeros(2).normal_(0, -1), RuntimeError),
        (lambda: adjoint.zeros(2).random_(5, 2), RuntimeError),
        (lambda: adjoint.zeros(2).exponential_(-1), RuntimeError),
        (lambda: adjoint.zeros(2, dtype=adjoint.int64).exponential_(), RuntimeError),
        (lambda: adjoint.zeros(2).log_normal_(0, -1), RuntimeError),
        (lambda: adjoint.zeros(2).cauchy_(0, -1), RuntimeError),
        (lambda: adjoint.zeros(2).geometric_(0), RuntimeError),
        (lambda: adjoint.zeros(2).bernoulli_(2.0), RuntimeError),
        (lambda: adjoint.dropout(adjoint.ones(2), 1.5, True), RuntimeError),
        (lambda: adjoint.dropout(adjoint.arange(2), 0.5, True), RuntimeError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_likes():
    source = adjoint.zeros(2, 3, dtype=adjoint.float64)
    for made in (
        adjoint.rand_like(source),
        adjoint.randn_like(source),
        adjoint.randint_like(source, 5),
        adjoint.randint_like(source, 2, 5),
    ):
        assert made.dtype is adjoint.float64
        assert made.shape == (2, 3)
    assert adjoint.rand_like(source, dtype=adjoint.float32, requires_grad=True).requires_grad


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_uniform_never_reaches_its_end(kind):
    if getattr(adjoint, kind, None) is None:
        pytest.skip("needs ml_dtypes")
    assert adjoint.rand(50_000, dtype=getattr(adjoint, kind)).double().numpy().max() < 1


def test_dropout_uses_one_mask_both_ways():
    x = adjoint.ones(1000, requires_grad=True)
    y = adjoint.dropout(x, 0.25, True)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    kept = y.numpy(force=True) != 0
    assert 0.7 < kept.mean() < 0.8
    np.testing.assert_allclose(y.numpy(force=True)[kept], 1 / 0.75, rtol=1e-6)
    assert adjoint.dropout(x, 0.5, False) is x
    assert adjoint.dropout(x, 1.0, True).numpy(force=True).max() == 0


@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64])
def test_binomial_of_what_is_certain_impossible_or_no_number(dtype):
    nan, inf = float("nan"), float("inf")
    for rows in (
        [(3.7, 1.0, 3.0), (3.7, 0.0, 0.0), (0.5, 0.5, 0.0), (-2.0, 1.0, 0.0), (5.0, 1.5, 5.0)],
        [(nan, 0.5, nan), (2.0, nan, nan), (inf, 0.0, 0.0), (inf, 1.0, inf), (4.0, 1.0, 4.0)],
    ):
        count, prob, expected = adjoint.tensor(rows, dtype=dtype).t()
        found = adjoint.binomial(count, prob)
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
        assert not np.signbit(found.numpy()).any()
    # In whatever order the elements lie in memory, the same are drawn for the same places.
    count, prob = adjoint.full((7, 5), 40.0, dtype=dtype), adjoint.rand(7, 5, dtype=dtype)
    adjoint.manual_seed(1)
    first = adjoint.binomial(count, prob)
    adjoint.manual_seed(1)
    turned = adjoint.binomial(count.t().contiguous().t(), prob.t().contiguous().t())
    assert first.tolist() == turned.tolist()
    assert len(set(first.flatten().tolist())) > 5
