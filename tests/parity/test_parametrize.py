"""Parametrizations and normalised weights against PyTorch."""

# ruff: noqa: B023  a scenario runs at once, within the loop that makes what it uses

import copy
import pickle

import pytest

import adjoint
from tests.parity.utils_cases import attempt, both, classes, make, numbers, torch

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


def test_the_start_is_swapped_where_that_is_asked_for():
    """Who holds the tensor then sees its class change; else it stays the tensor it was."""

    def scenario(lib, log):
        P = lib.nn.utils.parametrize
        future = lib.__future__ if lib is torch else adjoint.nn.conversion

        class Named(lib.Tensor):
            pass

        class There(lib.nn.Module):
            def forward(self, value):
                return value * 2

            def right_inverse(self, value):
                return (value / 2).as_subclass(Named)

        for asked in (True, False):
            layer = make(lib, "Linear", 3, 3)
            layer.register_buffer("extra", lib.ones(2))
            weight, extra = layer.weight, layer.extra
            future.set_swap_module_params_on_conversion(asked)
            try:
                for name in ("weight", "extra"):
                    P.register_parametrization(layer, name, There())
                log.append([type(weight).__name__, type(extra).__name__, weight, extra])
                layer.weight = lib.zeros(3, 3)
                log.append([layer.parametrizations.weight.original is weight, weight])
                P.remove_parametrizations(layer, "weight")
                log.append([type(layer.weight).__name__, layer.weight is weight])
            finally:
                future.set_swap_module_params_on_conversion(False)

    both(scenario)
