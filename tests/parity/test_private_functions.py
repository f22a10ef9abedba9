"""Functions of torch that libraries call though nobody documents them: PyTorch's answers."""

import numpy as np
import pytest

import adjoint.compat.torch as compat

VALUES = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
CALLS = {
    "a shape": lambda t, x: t._shape_as_tensor(x),
    "a shape from a tensor": lambda t, x: t._reshape_from_tensor(x, t.tensor([4, 3])),
    "the negative": lambda t, x: t._neg_view(x),
    "a weight": lambda t, x: t._weight_norm(x, t.ones(3, 1), 0),
    "a weight of one length": lambda t, x: t._weight_norm(x, t.ones(1), -1),
    "8 bits": lambda t, x: t._int_mm(x.to(t.int8), x.to(t.int8).T.contiguous()),
    "8 bits wanted": lambda t, x: t._int_mm(x, x.T),
    "rows that begin": lambda t, x: t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2]), 4),
    "rows of elements": lambda t, x: t._convert_indices_from_csr_to_coo(
        t.tensor([0, 2, 2, 3]), t.tensor([1, 2, 0])
    ),
    "a bad size": lambda t, x: t._check_is_size(-1),
    "a condition": lambda t, x: t._check_with(ValueError, False, lambda: "no"),
    "all": lambda t, x: t._check_tensor_all(x > 0),
    "asked of meta": lambda t, x: t._assert_async(t.empty((), device="meta")),
    "a zero": lambda t, x: t._assert_async(t.tensor(0)),
    "tracing": lambda t, x: t._C._is_tracing(),
    "an accelerator": lambda t, x: t._C._get_accelerator().type,
    "an alias": lambda t, x: (t._C._is_alias_of(x, x[0]), t._C._is_alias_of(x, x + 1)),
    "outside of transforms": lambda t, x: t._C._functorch.maybe_current_level(),
    "kinds of attention": lambda t, x: t.backends.cuda.can_use_flash_attention(
        t.backends.cuda.SDPAParams(x, x, x, None, 0.0, False, False)
    ),
    "what was removed": lambda t, x: t.symeig(x),
}


def plain(value):
    """An answer that two libraries can be compared by."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return (str(value.dtype)[-5:], value.tolist()) if hasattr(value, "tolist") else value


def outcome(library, call):
    """What a call answers, or the class of its error."""
    try:
        return plain(call(library, library.from_numpy(VALUES.copy())))
    except Exception as error:  # any error is an outcome to be compared
        return type(error).__name__


@pytest.mark.parametrize("name", CALLS)
def test_as_in_pytorch(name, torch):
    found, wanted = outcome(compat, CALLS[name]), outcome(torch, CALLS[name])
    if isinstance(wanted, tuple):
        assert found[0] == wanted[0]
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)
    else:
        assert found == wanted


def rounded(library, name, scale, zero_point, *rest):
    """Rounded values, and the gradients of all that has one."""
    x = library.from_numpy(VALUES.copy()).requires_grad_()
    given = [x]
    for value in (scale, zero_point):
        given.append(library.tensor(value) if isinstance(value, list) else value)
        if "learnable" in name:
            given[-1].requires_grad_()
    result = getattr(library, name)(*given, *rest)
    result.pow(2).sum().backward()
    tensors = [each for each in given if isinstance(each, library.Tensor) and each.requires_grad]
    return [result.detach().numpy(), *[each.grad.numpy() for each in tensors]]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("fake_quantize_per_tensor_affine", (0.3, 2, -4, 7)),
        ("fake_quantize_per_tensor_affine", ([0.3], [2], -4, 7)),
        ("fake_quantize_per_channel_affine", ([0.3, 0.7, 0.1], [1.0, 2.0, 0.0], 0, -4, 7)),
        ("_fake_quantize_learnable_per_tensor_affine", ([0.3], [1.2], -4, 7, 0.5)),
        (
            "_fake_quantize_learnable_per_channel_affine",
            ([0.3, 0.7, 0.1], [1.2, 2.0, 0.0], 0, -4, 7, 0.5),
        ),
    ],
)
def test_rounded_values_have_gradients(name, arguments, torch):
    for found, wanted in zip(
        rounded(compat, name, *arguments), rounded(torch, name, *arguments), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_scaled_gradients(torch):
    def outcome(library):
        scale, tracker = library.tensor([8.0]), library.tensor([1], dtype=library.int32)
        log = []
        for value in (1.0, float("inf"), 2.0):
            gradients, found = [library.tensor([value, 4.0])], library.zeros(1)
            library._amp_foreach_non_finite_check_and_unscale_(gradients, found, 1 / scale)
            library._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2)
            log.append((gradients[0].tolist(), found.item(), scale.item(), tracker.item()))
        return log

    assert outcome(compat) == outcome(torch)


@pytest.mark.parametrize(
    ("name", "scale", "zero_point", "rest"),
    [
        ("fake_quantize_per_tensor_affine", 0.1, 0.0, (0, 255)),
        ("fake_quantize_per_channel_affine", [0.1, 0.2], [0.0, 0.0], (0, 0, 255)),
    ],
)
def test_rounding_has_no_derivative_by_its_steps(torch, name, scale, zero_point, rest):
    for library in (compat, torch):
        function, values = getattr(library, name), library.ones(2, 2)
        for needs in ((True, False), (False, True)):
            steps = [
                library.tensor(each, requires_grad=need)
                for each, need in zip((scale, zero_point), needs)
            ]
            with pytest.raises(RuntimeError):
                function(values, *steps, *rest)
            with library.no_grad():
                assert function(values, *steps, *rest).tolist() == [[1.0, 1.0]] * 2
    for library in (compat, torch):
        learned = library.tensor(0.1, requires_grad=True)
        with pytest.raises(TypeError):
            library.fake_quantize_per_tensor_affine(library.ones(2), learned, 0, 0, 255)


@pytest.mark.parametrize("rest", [(), (1,), (3,), (float("inf"),), (2, [0, 1], False, None)])
def test_native_norms_are_of_sparse_tensors(torch, rest):
    found = []
    for library in (compat, torch):
        sparse = library.tensor([[1.0, 0.0], [0.0, -3.0]]).to_sparse()
        found.append(library.native_norm(sparse, *rest).item())
        with pytest.raises(NotImplementedError):
            library.native_norm(sparse.to_dense())
        for refused in (
            (2, [0], False, None),
            (2, [], True, None),
            (2, [], False, library.float64),
        ):
            with pytest.raises(RuntimeError):
                library.native_norm(sparse, *refused)
    assert found[0] == pytest.approx(found[1])
