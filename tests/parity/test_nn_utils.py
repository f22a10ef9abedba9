"""nn.utils against PyTorch: the same programs, run in both libraries, log the same."""

# ruff: noqa: B023  a scenario runs at once, within the loop that makes what it uses

import copy
import importlib
import math
import pickle
import warnings

import numpy as np
import pytest

import adjoint
import adjoint.func
import adjoint.nn.utils

torch = pytest.importorskip("torch")

importlib.import_module("torch.nn.utils.prune")  # an attribute of nn.utils only then
LIBRARIES = {"adjoint": adjoint, "torch": torch}


def plain(value):
    """A value that can be compared across libraries."""
    if isinstance(value, (adjoint.Tensor, torch.Tensor)):
        kind = str(value.dtype).rpartition(".")[2]
        return (kind, list(value.shape), np.array(value.detach().tolist()))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def same(ours, theirs):
    """Whether two plain values agree, numbers up to rounding."""
    if isinstance(theirs, np.ndarray | float):
        return np.allclose(ours, theirs, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def both(scenario):
    """Run a scenario in both libraries and compare what it logged, entry by entry."""
    logs = {}
    for name, lib in LIBRARIES.items():
        log = logs[name] = []
        scenario(lib, log)
    ours, theirs = (plain(logs[name]) for name in LIBRARIES)
    assert theirs, "the scenario logged nothing"
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert same(one, other), f"entry {place}: {one} against {other}"


def attempt(log, action):
    """Log what an action answers, or the type of what it raises."""
    try:
        log.append(action())
    except Exception as error:
        log.append(type(error).__name__)


def numbers(lib, *shape, seed=0, dtype="float32"):
    values = np.random.default_rng(seed).standard_normal(shape)
    return lib.tensor(values.tolist(), dtype=getattr(lib, dtype)).reshape(shape)


MADE: dict = {}


def classes(lib):
    """Small layers, of the same names and members in both libraries."""
    if lib in MADE:
        return MADE[lib]
    nn = lib.nn

    class Linear(nn.Module):
        def __init__(self, n_in=3, n_out=4, seed=0, device=None):
            super().__init__()
            self.out_features = n_out
            self.weight = nn.Parameter(numbers(lib, n_out, n_in, seed=seed))
            self.bias = nn.Parameter(numbers(lib, n_out, seed=seed + 1))

        def forward(self, x):
            return x @ self.weight.T + self.bias

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Linear(3, 4)
            self.second = Linear(4, 3, seed=5)
            self.register_buffer("calls", lib.zeros(()))

        def forward(self, x, scale=1.0):
            self.calls = self.calls + 1
            return self.second(self.first(x).tanh()) * scale

    class Norm(nn.Module):
        def __init__(self, size, affine=True):
            super().__init__()
            self.num_features, self.eps = size, 1e-5
            self.running_mean = numbers(lib, size, seed=8)
            self.running_var = numbers(lib, size, seed=9) ** 2
            self.weight = nn.Parameter(numbers(lib, size, seed=10)) if affine else None
            self.bias = nn.Parameter(numbers(lib, size, seed=11)) if affine else None

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

    class Product(nn.Module):
        def forward(self, x, y):
            return x * y

        def right_inverse(self, z):
            return z.abs().sqrt(), z.sign() * z.abs().sqrt()

    class Cut(nn.Module):
        def forward(self, x):
            return x[:-1]

    MADE[lib] = {
        kind.__name__: kind for kind in (Linear, Net, Norm, Symmetric, Doubled, Product, Cut)
    }
    return MADE[lib]


def make(lib, kind, *args, **kwargs):
    return classes(lib)[kind](*args, **kwargs)


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


# ---- parametrize ----


def test_one_parametrization():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear", 3, 3)
        weight = layer.weight
        log.append(P.is_parametrized(layer))
        answer = P.register_parametrization(layer, "weight", make(lib, "Symmetric"))
        log.append([answer is layer, type(layer).__name__, repr(layer)])
        log.append([layer.parametrizations.weight.original is weight, weight, layer.weight])
        log.append(P.type_before_parametrizations(layer) is classes(lib)["Linear"])
        log.append([P.is_parametrized(layer, "weight"), P.is_parametrized(layer, "bias")])
        log.append([name for name, _ in layer.named_parameters()])
        log.append(dict(layer.state_dict()))
        (layer(lib.ones(2, 3)) ** 2).sum().backward()
        log.append(weight.grad)
        layer.weight = lib.eye(3)
        log.append([layer.weight, layer.parametrizations.weight.original is weight])
        attempt(log, lambda: setattr(layer, "weight", lib.nn.Parameter(lib.eye(3))))
        attempt(log, lambda: pickle.dumps(layer))
        P.remove_parametrizations(layer, "weight")
        log.append([type(layer) is classes(lib)["Linear"], layer.weight is weight, layer.weight])
        log.append(list(layer.state_dict()))
        attempt(log, lambda: P.remove_parametrizations(layer, "weight"))

    both(scenario)


@pytest.mark.parametrize("leave", [True, False])
def test_several_in_a_row(leave):
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear", 3, 3)
        P.register_parametrization(layer, "weight", make(lib, "Symmetric"))
        P.register_parametrization(layer, "weight", make(lib, "Doubled"))
        P.register_parametrization(layer, "bias", make(lib, "Doubled"))
        log.append([layer.weight, layer.bias, repr(layer)])
        log.append(list(layer.state_dict()))
        attempt(log, lambda: setattr(layer, "bias", lib.ones(3)))  # Doubled has no inverse
        P.remove_parametrizations(layer, "weight", leave_parametrized=leave)
        log.append([type(layer).__name__, layer.weight, layer.bias])
        P.remove_parametrizations(layer, "bias", leave_parametrized=leave)
        log.append([type(layer).__name__, layer.bias, hasattr(layer, "parametrizations")])

    both(scenario)


def test_from_several_tensors():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear", 3, 3)
        layer.bias.requires_grad_(False)
        for name in ("weight", "bias"):
            P.register_parametrization(layer, name, make(lib, "Product"))
        log.append(dict(layer.state_dict()))
        log.append([(name, value.requires_grad) for name, value in layer.named_parameters()])
        log.append([layer.weight, layer.bias])
        layer.weight = lib.full((3, 3), 4.0)
        log.append(dict(layer.state_dict()))
        attempt(log, lambda: P.remove_parametrizations(layer, "weight", leave_parametrized=False))
        log.append(type(layer).__name__)
        P.remove_parametrizations(layer, "weight")
        P.remove_parametrizations(layer, "bias")
        log.append([type(layer).__name__, layer.weight, layer.weight.requires_grad])
        log.append([list(layer._parameters), list(layer._buffers)])

    both(scenario)


def test_buffers_unsafe_and_refusals():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear")
        layer.register_buffer("table", numbers(lib, 4))
        P.register_parametrization(layer, "table", make(lib, "Doubled"))
        log.append([layer.table, list(layer.state_dict()), list(layer._parameters)])
        attempt(log, lambda: P.register_parametrization(layer, "weight", make(lib, "Cut")))
        attempt(log, lambda: P.register_parametrization(layer, "table", make(lib, "Cut")))
        attempt(log, lambda: P.register_parametrization(layer, "absent", make(lib, "Cut")))
        attempt(log, lambda: P.register_parametrization(layer, "training", make(lib, "Cut")))
        log.append([layer.weight, layer.table])
        P.register_parametrization(layer, "weight", make(lib, "Cut"), unsafe=True)
        log.append([layer.weight, layer.parametrizations.weight.unsafe])

    both(scenario)


def test_wrong_inverses():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize

        def inverse(answer):
            class Wrong(lib.nn.Module):
                def forward(self, x, *more):
                    return x

                def right_inverse(self, x):
                    return answer(x)

            return Wrong()

        def refuse(x):
            raise NotImplementedError

        for answer in (
            lambda x: x.double(),
            lambda x: 3,
            lambda x: (x, 3),
            lambda x: x[:1],
            refuse,
        ):
            layer = make(lib, "Linear")
            before = layer.weight.detach().clone()
            attempt(log, lambda: P.register_parametrization(layer, "weight", inverse(answer)) and 1)
            log.append([type(layer).__name__, list(layer.state_dict())])
            if not P.is_parametrized(layer):
                log.append(lib.equal(layer.weight, before) or "changed")
            layer = P.register_parametrization(make(lib, "Linear"), "weight", make(lib, "Doubled"))
            attempt(log, lambda: P.register_parametrization(layer, "weight", inverse(answer)) and 1)

    # A refused inverse leaves our parameter as it was; PyTorch's has changed its shape by then.
    logs = []
    for lib in (adjoint, torch):
        logs.append([])
        scenario(lib, logs[-1])
    assert logs[0] == [True if entry == "changed" else entry for entry in logs[1]]
    assert "changed" in logs[1]


def test_copies_of_parametrized_modules():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear", 3, 3)
        P.register_parametrization(layer, "weight", make(lib, "Symmetric"))
        other = copy.deepcopy(layer)
        log.append([type(other) is type(layer), type(other).__name__])
        other.weight = lib.eye(3)
        log.append([layer.weight, other.weight])
        both_parts = copy.deepcopy([layer, layer])
        log.append(both_parts[0] is both_parts[1])
        other.load_state_dict(layer.state_dict())
        log.append(other.weight)

    both(scenario)


def test_cache():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        layer = make(lib, "Linear", 3, 3)
        P.register_parametrization(layer, "weight", make(lib, "Symmetric"))
        log.append(layer.weight is layer.weight)
        with P.cached():
            first = layer.weight
            log.append(layer.weight is first)
            with P.cached():
                log.append(layer.weight is first)
            log.append(layer.weight is first)
            layer(lib.ones(1, 3)).sum().backward()
            log.append(layer.parametrizations.weight.original.grad)
        log.append(layer.weight is first)

    both(scenario)


def test_transfer():
    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        for kind in ("Symmetric", "Product"):
            source, target = make(lib, "Linear", 3, 3), make(lib, "Linear", 3, 3, seed=4)
            P.register_parametrization(source, "weight", make(lib, kind))
            P.register_parametrization(source, "bias", make(lib, "Doubled"))
            answer = P.transfer_parametrizations_and_params(source, target, "weight")
            log.append([answer is target, repr(target), target.weight, target.bias])
            P.transfer_parametrizations_and_params(source, empty := lib.nn.Module())
            log.append([empty.weight, empty.bias, list(empty.state_dict())])
            log.append(P.transfer_parametrizations_and_params(lib.nn.Module(), target) is target)

    both(scenario)


# ---- ready-made parametrizations ----


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_orthogonal(shape, name, dtype):
    def scenario(lib, log):
        module = lib.nn.Module()
        module.weight = lib.nn.Parameter(numbers(lib, *shape, dtype=dtype))
        try:
            lib.nn.utils.parametrizations.orthogonal(
                module, orthogonal_map=name, use_trivialization=False
            )
        except ValueError:
            log.append("refused")
            return
        log.append(module.weight)
        log.append(list(module.state_dict()))
        (module.weight * numbers(lib, *shape, seed=2, dtype=dtype)).sum().abs().backward()
        log.append(module.parametrizations.weight.original.grad)
        attempt(log, lambda: setattr(module, "weight", numbers(lib, *shape, seed=3, dtype=dtype)))
        log.append(module.weight)

    both(scenario)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
def test_orthogonal_with_base(name, shape):
    def scenario(lib, log):
        module = lib.nn.Module()
        module.weight = lib.nn.Parameter(numbers(lib, *shape))
        lib.nn.utils.parametrizations.orthogonal(module, orthogonal_map=name)
        log.append(module.weight)  # random numbers fill only what can't be seen
        log.append(module.parametrizations.weight.original)
        log.append(list(module.state_dict()))
        attempt(log, lambda: setattr(module, "weight", lib.ones(2, 2)))
        tall = numbers(lib, max(shape), min(shape), seed=3)
        known = lib.linalg.qr(tall)[0]
        module.weight = known if shape[0] >= shape[1] else known.mT
        log.append(module.weight)

    both(scenario)


def test_orthogonal_refusals():
    def scenario(lib, log):
        orthogonal = lib.nn.utils.parametrizations.orthogonal
        layer = make(lib, "Linear")
        attempt(log, lambda: orthogonal(layer, "absent"))
        attempt(log, lambda: orthogonal(layer, "bias"))
        attempt(log, lambda: orthogonal(layer, orthogonal_map="polar"))
        log.append(type(layer).__name__)

    both(scenario)


@pytest.mark.parametrize("dim", [0, 1, -2, None])
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_weight_norm(dim, old):
    def scenario(lib, log):
        utils = lib.nn.utils
        weight_norm = utils.weight_norm if old else utils.parametrizations.weight_norm
        layer = make(lib, "Linear")
        log.append(weight_norm(layer, dim=dim) is layer)
        log.append([repr(layer), dict(layer.state_dict()), layer.weight])
        (layer(lib.ones(2, 3)) ** 2).sum().backward()
        log.append({name: value.grad for name, value in layer.named_parameters()})
        with lib.no_grad():
            first = next(value for name, value in layer.named_parameters() if name != "bias")
            first.mul_(2.0)
        log.append(layer(lib.ones(2, 3)))
        if old:
            attempt(log, lambda: weight_norm(layer))
            log.append([utils.remove_weight_norm(layer) is layer, dict(layer.state_dict())])
            attempt(log, lambda: utils.remove_weight_norm(layer))
        else:
            utils.parametrize.remove_parametrizations(layer, "weight")
            log.append(dict(layer.state_dict()))
        log.append([len(layer._forward_pre_hooks), isinstance(layer.weight, lib.nn.Parameter)])

    both(scenario)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_new_weight_norm_loads_what_the_old_one_saved():
    def scenario(lib, log):
        utils = lib.nn.utils
        old = utils.weight_norm(make(lib, "Linear", seed=4))
        new = utils.parametrizations.weight_norm(make(lib, "Linear"))
        log.append(str(new.load_state_dict(old.state_dict())))
        log.append([new.weight, old.weight])

    both(scenario)


def known_vectors(lib, holder, names, sizes):
    for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
        vector = numbers(lib, size, seed=20 + number)
        getattr(holder, name).copy_(vector / vector.norm())


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("dim", [None, 1])
def test_spectral_norm(old, dim):
    def scenario(lib, log):
        utils = lib.nn.utils
        layer = make(lib, "Linear")
        sizes = (3, 4) if dim else (4, 3)
        spectral_norm = utils.spectral_norm if old else utils.parametrizations.spectral_norm
        log.append(spectral_norm(layer, n_power_iterations=2, dim=dim) is layer)
        holder = layer if old else layer.parametrizations.weight[0]
        known_vectors(lib, holder, ("weight_u", "weight_v") if old else ("_u", "_v"), sizes)
        log.append([repr(layer), list(layer.state_dict())])
        out = layer(lib.ones(2, 3)) + layer(lib.ones(2, 3))  # a step of the method each
        out.sum().backward()
        log.append({name: value.grad for name, value in layer.named_parameters()})
        log.append(dict(layer.state_dict()))
        log.append(layer.state_dict()._metadata[""])
        layer.eval()
        log.append([layer(lib.ones(2, 3)), layer(lib.ones(2, 3))])
        if old:
            attempt(log, lambda: spectral_norm(layer))
            log.append(utils.remove_spectral_norm(layer) is layer)
            attempt(log, lambda: utils.remove_spectral_norm(layer))
            log.append([len(layer._state_dict_hooks), len(layer._forward_pre_hooks)])
        else:
            utils.parametrize.remove_parametrizations(layer, "weight")
        log.append(dict(layer.state_dict()))

    both(scenario)


def test_spectral_norm_refusals_vectors_and_old_state():
    def scenario(lib, log):
        utils = lib.nn.utils
        new = utils.parametrizations.spectral_norm
        for spectral_norm in (new, utils.spectral_norm):
            attempt(log, lambda: spectral_norm(make(lib, "Linear"), n_power_iterations=0))
            attempt(log, lambda: spectral_norm(make(lib, "Linear"), "absent"))
        attempt(log, lambda: new(make(lib, "Linear"), dim=2))
        log.append(new(make(lib, "Linear"), "bias").bias)
        layer = utils.spectral_norm(make(lib, "Linear"))
        known_vectors(lib, layer, ("weight_u", "weight_v"), (4, 3))
        layer(lib.ones(1, 3))
        state = layer.state_dict()
        state["weight"] = layer.weight.detach()
        del state["weight_v"]
        state._metadata[""] = {"version": 1}
        fresh = utils.spectral_norm(make(lib, "Linear", seed=4))
        log.append(str(fresh.load_state_dict(state)))
        log.append(fresh.eval()(lib.ones(1, 3)))
        del state["weight_orig"]
        attempt(log, lambda: fresh.load_state_dict(state))

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


# ---- pruning ----


def pruned(lib, log, layer, name="weight"):
    log.append([dict(layer.state_dict()), getattr(layer, name)])
    log.append([type(hook).__name__ for hook in layer._forward_pre_hooks.values()])


@pytest.mark.parametrize("amount", [0, 3, 0.25, 1.0, 12])
def test_unstructured_pruning(amount):
    def scenario(lib, log):
        prune = lib.nn.utils.prune
        layer = make(lib, "Linear")
        whole = layer.weight
        log.append(prune.is_pruned(layer))
        log.append(prune.l1_unstructured(layer, "weight", amount) is layer)
        log.append([layer.weight_orig is whole, prune.is_pruned(layer)])
        pruned(lib, log, layer)
        layer(lib.ones(1, 3)).sum().backward()
        log.append(layer.weight_orig.grad)
        scores = numbers(lib, 4, 3, seed=6)
        prune.l1_unstructured(layer, "weight", amount=0.5, importance_scores=scores)
        pruned(lib, log, layer)
        log.append(layer(lib.ones(1, 3)))
        log.append(prune.remove(layer, "weight") is layer)
        log.append([dict(layer.state_dict()), layer.weight is whole, prune.is_pruned(layer)])
        attempt(log, lambda: prune.remove(layer, "weight"))

    both(scenario)


@pytest.mark.parametrize("order", [1, 2, math.inf, -math.inf, "fro"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_structured_pruning(order, dim):
    def scenario(lib, log):
        prune = lib.nn.utils.prune
        layer = make(lib, "Linear", 4, 4)
        prune.ln_structured(layer, "weight", 2, n=order, dim=dim)
        pruned(lib, log, layer)
        prune.ln_structured(layer, "weight", 0.5, order, dim)
        pruned(lib, log, layer)
        prune.l1_unstructured(layer, "weight", 1)
        prune.custom_from_mask(layer, "weight", lib.eye(4))
        prune.identity(layer, "weight")
        pruned(lib, log, layer)
        log.append(
            [type(method).__name__ for method in next(iter(layer._forward_pre_hooks.values()))]
        )

    both(scenario)


def test_random_pruning_counts():
    def scenario(lib, log):
        prune = lib.nn.utils.prune
        layer = make(lib, "Linear", 6, 4)
        prune.random_unstructured(layer, "weight", 10)
        log.append((layer.weight_mask == 0).sum())
        prune.random_unstructured(layer, "weight", 0.5)
        log.append((layer.weight_mask == 0).sum())
        other = make(lib, "Linear", 6, 4)
        prune.random_structured(other, "weight", 2, dim=1)
        log.append([(other.weight_mask == 0).sum(), (other.weight_mask.sum(0) == 0).sum()])
        prune.random_structured(other, "weight", 2, dim=0)
        log.append([(other.weight_mask == 0).sum(), (other.weight_mask.sum(1) == 0).sum()])
        prune.random_structured(other, "weight", 0, dim=0)
        log.append((other.weight_mask == 0).sum())

    both(scenario)


def test_global_pruning():
    def scenario(lib, log):
        prune = lib.nn.utils.prune
        net = make(lib, "Net")
        places = [(net.first, "weight"), (net.second, "weight"), (net.first, "bias")]
        prune.global_unstructured(places, prune.L1Unstructured, amount=9)
        log.append(dict(net.state_dict()))
        scores = {places[0]: numbers(lib, 4, 3, seed=9)}
        prune.global_unstructured(
            places, pruning_method=prune.L1Unstructured, importance_scores=scores, amount=0.5
        )
        log.append(dict(net.state_dict()))
        every = prune.global_unstructured
        attempt(log, lambda: every(places, prune.LnStructured, amount=1, n=2))
        attempt(log, lambda: every(3, prune.L1Unstructured, amount=1))
        attempt(log, lambda: every(places, prune.L1Unstructured, [1], amount=1))
        log.append(net(numbers(lib, 2, 3)))

    both(scenario)


def test_pruning_refusals_leave_the_module():
    def scenario(lib, log):
        prune = lib.nn.utils.prune
        layer = make(lib, "Linear")
        for amount in (-1, 1.5, -0.1, "all", None, 13):
            attempt(log, lambda: prune.l1_unstructured(layer, "weight", amount))
        attempt(log, lambda: prune.ln_structured(layer, "bias", 1, 2, 0))
        attempt(log, lambda: prune.ln_structured(layer, "weight", 1, 2, 5))
        attempt(log, lambda: prune.ln_structured(layer, "weight", 9, 2, 0))
        attempt(log, lambda: prune.l1_unstructured(layer, "absent", 1))
        attempt(log, lambda: prune.custom_from_mask(layer, "weight", lib.ones(2)))
        attempt(log, lambda: prune.l1_unstructured(layer, "weight", 1, lib.ones(2)))
        log.append([layer.weight, layer.bias, sorted(layer.state_dict()), prune.is_pruned(layer)])
        attempt(log, lambda: prune.BasePruningMethod())

    both(scenario)


def test_pruning_containers_and_own_methods():
    def scenario(lib, log):
        prune = lib.nn.utils.prune

        class Every(prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        layer = make(lib, "Linear")
        log.append(type(Every.apply(layer, "weight")).__name__)
        log.append(type(Every.apply(layer, "weight")).__name__)
        pruned(lib, log, layer)
        container = next(iter(layer._forward_pre_hooks.values()))
        log.append([len(container), type(container[0]).__name__])
        stranger = Every()
        stranger._tensor_name = "bias"
        attempt(log, lambda: container.add_pruning_method(stranger))
        attempt(log, lambda: container.add_pruning_method(3))
        log.append(Every().prune(lib.ones(5)))
        log.append(prune.L1Unstructured(2).prune(lib.ones(3), importance_scores=lib.arange(3.0)))
        attempt(log, lambda: Every().prune(lib.ones(5), importance_scores=lib.ones(3)))
        for kind in ("structured", "other"):  # without the attribute dim; unknown
            Every.PRUNING_TYPE = kind
            layer = prune.identity(make(lib, "Linear"), "weight")
            attempt(log, lambda: Every.apply(layer, "weight"))
            log.append(layer.weight)

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
