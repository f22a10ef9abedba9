"""What PyTorch's programs and tests find of transforms under private names."""

import pytest

import adjoint.compat.torch as compat
import adjoint.compat.torch_tree._functorch.vmap as compat_vmap

functorch = compat._C._functorch
numbers = compat.tensor([1.0, 2.0])


def test_transforms_are_counted():
    depths = []

    def seen(x):
        depths.append((functorch.get_dynamic_layer_stack_depth(), functorch.dlevel(x)))
        return x.sum()

    compat.func.grad(compat.func.grad(seen))(compat.tensor(1.0))
    compat.func.vmap(compat.func.grad(seen))(numbers)
    compat.func.jvp(seen, (numbers,), (numbers,))
    assert depths == [(2, 2), (2, 2), (1, 1)]
    assert functorch.get_dynamic_layer_stack_depth() == 0


def test_what_a_tensor_is_inside():
    def inside(x):
        assert functorch.is_gradtrackingtensor(x) and not functorch.is_batchedtensor(x)
        assert functorch.maybe_get_level(x) == 2
        below = functorch.get_unwrapped(x)
        assert functorch.is_batchedtensor(below) and functorch.dlevel(below) == 0
        assert (functorch.maybe_get_level(below), functorch.maybe_get_bdim(below)) == (1, 0)
        assert functorch.get_unwrapped(below) is numbers
        return x * 1

    compat.func.vmap(compat.func.grad(inside))(numbers)
    assert functorch.maybe_get_level(numbers) == functorch.maybe_get_bdim(numbers) == -1
    with pytest.raises(RuntimeError, match="no transform"):
        functorch.get_unwrapped(numbers)


def test_transforms_are_started_and_ended_by_hand():
    number = functorch._vmap_increment_nesting(2, "error")
    try:
        row = functorch._add_batch_dim(numbers.reshape(1, 2), 1, number)
        assert row.shape == (1,)
        back = functorch._remove_batch_dim(row * 2, number, 2, 1)
        assert back.tolist() == [[2.0, 4.0]]
        with pytest.raises(RuntimeError, match="not the one to be ended"):
            functorch._grad_decrement_nesting()
    finally:
        assert functorch._vmap_decrement_nesting() == 1
    functorch._grad_increment_nesting()
    functorch._jvp_increment_nesting()
    functorch.pop_dynamic_layer_stack_and_undo_to_depth(1)
    assert functorch._grad_decrement_nesting() == 1
    with pytest.raises(RuntimeError, match="no vmap of number 7"):
        functorch._add_batch_dim(numbers, 0, 7)


def test_what_is_left_of_a_derivative():
    kept = []

    def escaping(x):
        kept.append(x.sin())
        return kept[0].sum()

    compat.func.grad(escaping)(numbers)
    assert functorch.dlevel(kept[0]) == -1 and functorch.maybe_get_level(kept[0]) == -2
    total = kept[0].sum()
    assert functorch.dlevel(total) == 0
    assert total.item() == numbers.sin().sum().item()
    spent = (numbers.clone().requires_grad_() * 2).sum()
    spent.backward()
    assert functorch.dlevel(spent) == 0


def test_a_ctx_with_other_saved_tensors():
    wrapper = compat._functorch.autograd_function.CtxWithSavedTensors

    class Double(compat.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            other = wrapper(wrapper(ctx, (1,)), (2,))
            other.note = "set on ctx"
            assert (other.saved_tensors, ctx.note) == ((2,), "set on ctx")
            ctx._pt_inner_ctx = None
            with pytest.raises(RuntimeError, match="name collision"):
                wrapper(ctx, ())
            return grad * 2

    x = compat.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_ensembles_of_models():
    make = compat._functorch.make_functional
    weights, function, names = make.functional_init(compat.nn.Linear, (4,))(3, 2)
    assert names == ["weight", "bias"] and weights[0].shape == (4, 2, 3)
    inputs = compat.ones(4, 5, 3)
    expected = inputs @ weights[0].mT + weights[1].unsqueeze(1)
    assert compat.allclose(compat.func.vmap(function)(weights, (inputs,)), expected)
    norm = compat.nn.BatchNorm1d
    weights, buffers, function, names, others = make.functional_init_with_buffers(norm)(3)
    assert others == ["running_mean", "running_var", "num_batches_tracked"]
    assert function(weights, buffers, (compat.ones(4, 3),)).shape == (4, 3)
    with pytest.raises(RuntimeError, match="functional_init_with_buffers"):
        make.functional_init(norm)(3)
    with pytest.raises(ValueError, match="one size"):
        make.functional_init(norm, (2, 2))(3)


def test_a_library_replaces_the_steps_of_a_vmap(monkeypatch):
    """A container that knows how to lie in a batch is taken apart, and together, its own way."""
    steps = compat._functorch.vmap
    seen = []

    def process(in_dims, args, func):
        seen.append(func.__name__)
        return 2, [0], list(args), steps.tree_flatten(args)[1]

    def create(dims, leaves, level, spec):
        inside = [steps._add_batch_dim(leaf[0], 0, level) for leaf in leaves]
        return steps.tree_unflatten([[leaf] for leaf in inside], steps.tree_flatten((0,))[1])

    monkeypatch.setattr(steps, "_process_batched_inputs", process)
    monkeypatch.setattr(steps, "_create_batched_inputs", create)

    def doubled(held):
        assert held[0].shape == ()
        return 2 * held[0]

    assert compat.vmap(doubled)([numbers]).tolist() == [2.0, 4.0]
    assert seen == ["doubled"]
    monkeypatch.undo()
    assert compat.vmap(lambda held: 2 * held[0])([numbers]).tolist() == [2.0, 4.0]
    assert compat.vmap(lambda x: (x, x + 1), out_dims=(0, 0))(numbers)[1].tolist() == [2.0, 3.0]
    assert seen == ["doubled"]


def test_the_steps_of_a_vmap(monkeypatch):
    """They answer what vmap does without them."""
    steps = compat._functorch.vmap
    plain = compat.vmap(lambda x, y: (x * y, x), (0, None), (0, 0))(numbers, numbers)
    monkeypatch.setattr(steps, "_unwrap_batched", lambda *given: own(*given))
    own = vars(compat_vmap)["_OWN"]["_unwrap_batched"]
    again = compat.vmap(lambda x, y: (x * y, x), (0, None), (0, 0))(numbers, numbers)
    assert [each.tolist() for each in again] == [each.tolist() for each in plain]
    with pytest.raises(ValueError, match="must only return Tensors"):
        compat.vmap(lambda x: 3)(numbers)
    with pytest.raises(ValueError, match="out_dim is None"):
        compat.vmap(lambda x: x, out_dims=None)(numbers)
