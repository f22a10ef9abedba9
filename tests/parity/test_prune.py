"""Pruning against PyTorch."""

# ruff: noqa: B023  a scenario runs at once, within the loop that makes what it uses

import math

import pytest

from tests.parity.utils_cases import attempt, both, make, numbers

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
