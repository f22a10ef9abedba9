"""nn.utils against PyTorch: clipping, vectors, fusion, calls with other parameters."""

# ruff: noqa: B023  a scenario runs at once, within the loop that makes what it uses

import math
import warnings

import pytest

import adjoint
from tests.parity.utils_cases import attempt, both, make, numbers, torch

# ---- clipping ----


GRADIENTS = {
    "two": lambda lib: [numbers(lib, 3, 4), numbers(lib, 5, seed=1)],
    "mixed": lambda lib: [numbers(lib, 3), numbers(lib, 4, dtype="float64")],
    "double": lambda lib: [numbers(lib, 3, 2, dtype="float64")],
    "half": lambda lib: [numbers(lib, 6).half()],
    "complex": lambda lib: [lib.complex(numbers(lib, 3), numbers(lib, 3, seed=1))],
    "scalar and empty": lambda lib: [lib.tensor(3.0), lib.zeros(0)],
    "huge": lambda lib: [lib.tensor([1e25, -2e25])],
    "tiny": lambda lib: [lib.tensor([1e-25, -2e-25])],
    "transposed": lambda lib: [numbers(lib, 3, 4).mT],
    "infinite": lambda lib: [lib.tensor([1.0, math.inf])],
    "nan": lambda lib: [lib.tensor([1.0, math.nan])],
    "integers": lambda lib: [lib.ones(3, dtype=lib.int64)],
    "nothing": lambda lib: [],
}


def relative(value):
    """Far from 1, a tolerance would hide a difference: logarithms instead."""
    number = value.item()
    return number if not 0 < number < math.inf else math.log(number)


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("order", [2, 2.0, 1, 0.5, 3, 0, math.inf, -math.inf])
def test_total_norm(name, order):
    def scenario(lib, log):
        grads = GRADIENTS[name](lib)
        total = lib.nn.utils.get_total_norm
        attempt(log, lambda: relative(total(grads, order)))
        attempt(log, lambda: str(total(grads, order).dtype).rpartition(".")[2])
        attempt(log, lambda: relative(total(grads, order, error_if_nonfinite=True)))

    both(scenario)


def test_total_norm_of_one_tensor_and_of_many_elements():
    def scenario(lib, log):
        log.append(lib.nn.utils.get_total_norm(numbers(lib, 4)))
        log.append(lib.nn.utils.get_total_norm(lib.full((300_000,), 0.1), foreach=False))

    both(scenario)


def leaves(lib, name):
    found = []
    for grad in GRADIENTS[name](lib):
        leaf = lib.zeros_like(grad).requires_grad_()
        leaf.grad = grad
        found.append(leaf)
    return [lib.ones(2, requires_grad=True), *found]  # one without a gradient


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name != "integers"])
@pytest.mark.parametrize("max_norm", [0.5, 100.0, 0])
def test_clip_grad_norm(name, max_norm):
    def scenario(lib, log):
        params = leaves(lib, name)
        grads = [param.grad for param in params]
        log.append(relative(lib.nn.utils.clip_grad_norm_(params, max_norm)))
        log.append(grads)
        log.append([param.grad is grad for param, grad in zip(params, grads, strict=True)])

    both(scenario)


@pytest.mark.parametrize("name", ["two", "mixed", "half", "infinite", "nan"])
def test_clip_grad_value_and_given_norm(name):
    def scenario(lib, log):
        params = leaves(lib, name)
        lib.nn.utils.clip_grad_value_(params, 0.25)
        log.append([param.grad for param in params])
        lib.nn.utils.clip_grad_value_(iter(params), 0.125)
        log.append([param.grad for param in params])
        lib.nn.utils.clip_grads_with_norm_(params, 1, lib.tensor(10.0))
        log.append([param.grad for param in params])

    both(scenario)


def test_clip_grad_norm_refuses_and_warns():
    def scenario(lib, log):
        utils = lib.nn.utils
        params = leaves(lib, "nan")
        attempt(log, lambda: utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True))
        log.append(params[1].grad)
        for call in (
            lambda: utils.clip_grad_norm_((p for p in ()), 1.0),
            lambda: utils.clip_grad_norm_([], 1.0),
            lambda: utils.clip_grad_norm(leaves(lib, "two"), 1.0),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                log.append(call())
            log.append([one.category.__name__ for one in caught])

    both(scenario)


# ---- vectors ----


def test_parameters_and_vectors():
    def scenario(lib, log):
        utils = lib.nn.utils
        layer = make(lib, "Linear")
        vector = utils.parameters_to_vector(layer.parameters())
        log.append(vector)
        vector.sum().backward()
        log.append(layer.weight.grad)
        new = lib.arange(16.0)
        utils.vector_to_parameters(new, layer.parameters())
        new[0] = 7.0
        log.append(dict(layer.named_parameters()))
        attempt(log, lambda: utils.vector_to_parameters([1.0], layer.parameters()))
        attempt(log, lambda: utils.parameters_to_vector([]))
        attempt(log, lambda: utils.vector_to_parameters(lib.arange(5.0), layer.parameters()))

    both(scenario)


# ---- fusion ----


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_fused_convolutions(affine, transpose, bias):
    def scenario(lib, log):
        conv, norm = lib.nn.Module(), make(lib, "Norm", 4, affine)
        conv.weight = lib.nn.Parameter(numbers(lib, 4, 4, 3, 2))
        conv.bias = lib.nn.Parameter(numbers(lib, 4, seed=3)) if bias else None
        fuse = lib.nn.utils.fuse_conv_bn_eval
        attempt(log, lambda: fuse(conv, norm))
        fused = fuse(conv.eval(), norm.eval(), transpose)
        log.append([fused is conv, fused.weight, fused.bias, conv.weight])
        log.append([fused.weight.requires_grad, fused.bias.requires_grad])
        norm.running_mean = None
        attempt(log, lambda: fuse(conv, norm))

    both(scenario)


def test_fused_linear():
    def scenario(lib, log):
        fuse = lib.nn.utils.fuse_linear_bn_eval
        for features in (4, 1):
            layer, norm = make(lib, "Linear").eval(), make(lib, "Norm", features).eval()
            fused = fuse(layer, norm)
            log.append([fused.weight, fused.bias, layer.weight])
        attempt(log, lambda: fuse(make(lib, "Linear").eval(), make(lib, "Norm", 3).eval()))
        attempt(log, lambda: fuse(make(lib, "Linear"), make(lib, "Norm", 4).eval()))

    both(scenario)


# ---- calls with other parameters ----


def test_functional_call():
    def scenario(lib, log):
        call = lib.func.functional_call
        net = make(lib, "Net")
        x = numbers(lib, 2, 3, seed=30)
        own = {name: value.detach() for name, value in net.named_parameters()}
        given = {name: (2 * value).requires_grad_() for name, value in own.items()}
        given["calls"] = lib.tensor(5.0)
        out = call(net, given, (x,), {"scale": 3.0})
        out.sum().backward()
        log.append([out, given["first.weight"].grad, net.first.weight.grad is None])
        log.append([given["calls"], net.calls])
        log.append({name: value is own for name, value in net.named_parameters()})
        log.append(call(net, {"first.bias": lib.zeros(4)}, x))
        log.append(call(net, [{"first.bias": lib.zeros(4)}, {"calls": lib.tensor(0.0)}], x))
        log.append(call(net, {}, x))

    both(scenario)


def test_functional_call_refusals_leave_the_module():
    def scenario(lib, log):
        call = lib.func.functional_call
        net = make(lib, "Net")
        before = dict(net.named_parameters())
        x = numbers(lib, 2, 3)
        zeros = lib.zeros(4)
        for given in (
            3,
            [{"first.bias": zeros}, {"first.bias": zeros}],
            {"first.bias": zeros, "third.bias": zeros},
            {"first.bias": zeros, "first.forward.x": zeros},
            {"first.bias": [1.0]},
            {"first.bias": zeros, "": zeros},
            {"training": zeros},
        ):
            attempt(log, lambda: call(net, given, x))
        attempt(log, lambda: call(net, {"first.bias": zeros}, x, strict=True))
        attempt(log, lambda: call(net, {**net.state_dict(), "more": zeros}, x, strict=True))
        attempt(log, lambda: call(net, dict(net.state_dict()), x, strict=True))
        attempt(log, lambda: call(net, {"extra": zeros}, x))
        log.append(hasattr(net, "extra"))
        attempt(log, lambda: call(net, {"first.weight": lib.ones(7, 7)}, x))
        log.append([value is before[name] for name, value in net.named_parameters()])

    both(scenario)


def test_functional_call_of_tied_weights():
    def scenario(lib, log):
        call = lib.func.functional_call

        class Tied(lib.nn.Module):
            def __init__(self):
                super().__init__()
                self.one = lib.nn.Parameter(lib.ones(2))
                self.two = self.one

            def forward(self, x):
                return x + self.one + 10 * self.two

        net, x = Tied(), lib.zeros(2)
        five, six = lib.full((2,), 5.0), lib.full((2,), 6.0)
        log.append(call(net, {"one": five}, x))
        log.append(call(net, {"one": five}, x, tie_weights=False))
        log.append(call(net, {"one": five, "two": five}, x))
        attempt(log, lambda: call(net, {"one": five, "two": six}, x))
        log.append(call(net, {"one": five, "two": six}, x, tie_weights=False))
        log.append(net.one is net.two)

    both(scenario)


def test_functional_call_of_parametrized_modules():
    def scenario(lib, log):
        layer = make(lib, "Linear", 3, 3)
        lib.nn.utils.parametrize.register_parametrization(layer, "weight", make(lib, "Symmetric"))
        given = {"parametrizations.weight.original": lib.ones(3, 3)}
        log.append(lib.func.functional_call(layer, given, lib.ones(1, 3)))
        log.append(layer.weight)

    both(scenario)


def test_stateless_and_stacked():
    def scenario(lib, log):
        net = make(lib, "Net")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            log.append(lib.nn.utils.stateless.functional_call(net, {}, lib.ones(1, 3)))
        log.append([one.category.__name__ for one in caught])
        stacked = lib.func.stack_module_state([net, make(lib, "Net")])
        log.append(stacked)
        log.append([value.requires_grad and value.is_leaf for value in stacked[0].values()])
        for models in ([], [net, make(lib, "Linear")], [net, make(lib, "Net").eval()]):
            attempt(log, lambda: lib.func.stack_module_state(models))

    both(scenario)


# ---- names ----


def test_public_names():
    ours, theirs = adjoint.nn.utils, torch.nn.utils
    assert [name for name in theirs.__all__ if name != "rnn" and not hasattr(ours, name)] == []
    for path in ("parametrize", "parametrizations", "prune", "stateless"):
        module = getattr(theirs, path)
        listed = getattr(module, "__all__", None) or [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", "") == module.__name__ and name[0] != "_"
        ]
        assert [name for name in listed if not hasattr(getattr(ours, path), name)] == []


# ---- real layers ----


def twins(kind, *args):
    """A layer of PyTorch's and one of ours with the same values."""
    theirs, ours = getattr(torch.nn, kind)(*args), getattr(adjoint.nn, kind)(*args)
    state = {name: adjoint.tensor(value.tolist()) for name, value in theirs.state_dict().items()}
    ours.load_state_dict(state)
    return {adjoint: ours, torch: theirs}


@pytest.mark.parametrize("kind", ["Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d"])
def test_fused_layers_compute_the_same(kind):
    convs, norms = twins(kind, 3, 4, 3), twins(f"BatchNorm{kind[-2:]}", 4)

    def scenario(lib, log):
        conv, norm = convs[lib].eval(), norms[lib].eval()
        norm.running_mean.copy_(numbers(lib, 4))
        norm.running_var.copy_(numbers(lib, 4, seed=1) ** 2)
        x = numbers(lib, 2, 3, *[6] * int(kind[-2]))
        fused = lib.nn.utils.fuse_conv_bn_eval(conv, norm, "Transpose" in kind)
        log.append([fused(x), list(fused.state_dict())])
        log.append(bool(lib.allclose(fused(x), norm(conv(x)), atol=1e-5)))

    both(scenario)


APPLIED = {
    "weight_norm": lambda lib, net, name: lib.nn.utils.parametrizations.weight_norm(net, name),
    "old weight_norm": lambda lib, net, name: lib.nn.utils.weight_norm(net, name),
    "pruned": lambda lib, net, name: lib.nn.utils.prune.l1_unstructured(net, name, 0.5),
}


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("applied", APPLIED)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
def test_recurrent_layers_use_the_computed_weight(kind, applied):
    nets = twins(kind, 3, 4)

    def scenario(lib, log):
        net = APPLIED[applied](lib, nets[lib], "weight_hh_l0")
        out, _ = net(numbers(lib, 5, 2, 3))
        out.sum().backward()
        log.append([out, list(net.state_dict())])
        log.append({name: value.grad for name, value in net.named_parameters()})

    both(scenario)
