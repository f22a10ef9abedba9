"""Containers of modules and parameters against PyTorch."""

from collections import OrderedDict

import pytest

from tests.parity.test_module import Linear, attempt, both

pytest.importorskip("torch")


def test_containers():
    @both
    def scenario(lib, log):
        nn = lib.nn
        layers = [Linear(lib, n, n) for n in range(1, 6)]

        def sizes(container):
            return [(name, child.sizes[0]) for name, child in container._modules.items()]

        for kind in ("Sequential", "ModuleList"):

            def make(modules):
                return nn.Sequential(*modules) if kind == "Sequential" else nn.ModuleList(modules)  # noqa: B023

            net = make(layers[:3])
            log.append([len(net), sizes(net), net[-1] is layers[2], sizes(net[1:])])
            log.append([child.sizes[0] for child in net])
            net[1] = layers[4]
            net.append(layers[3])
            net.insert(1, layers[0])
            log.append(sizes(net))
            del net[0]
            del net[1:3]
            log.append(sizes(net))
            log.append(sizes(net.extend(layers[:2])))
            log.append(net.pop(0).sizes)
            log.append(sizes(net + make(layers[:1])))
            net += make(layers[3:])
            log.append(sizes(net))
            for index in (9, -9, "x", 1.5):
                attempt(log, index, lambda: net[index])  # noqa: B023
            attempt(log, "extend", lambda: net.extend(5))  # noqa: B023
            attempt(log, "append", lambda: net.append(5))  # noqa: B023
            log.append("0" in dir(net))
        net = nn.Sequential(*layers[:2])
        log.append([sizes(net * 2), sizes(2 * net)])
        net *= 3
        log.append(sizes(net))
        for wrong in (0, -1, 1.5, "x"):
            attempt(log, wrong, lambda: net * wrong)  # noqa: B023
        attempt(log, "add", lambda: net + [1])
        attempt(log, "insert", lambda: net.insert(0, 5))
        attempt(log, "insert", lambda: net.insert(99, layers[0]))
        named = nn.Sequential(OrderedDict(x=layers[0], y=layers[1], z=layers[2]))
        log.append([sizes(named[:2]), named.y is layers[1]])
        del named[1]
        log.append(sizes(named))


def test_module_dict():
    @both
    def scenario(lib, log):
        nn = lib.nn
        one, two = Linear(lib, 1, 1), Linear(lib, 2, 2)
        table = nn.ModuleDict({"b": one, "a": two})
        log.append([list(table), len(table), "a" in table, list(table.keys())])
        table["c"] = one
        table.update([("d", two), ["e", one]])
        table.update(nn.ModuleDict({"f": one}))
        log.append([list(table), table["d"] is two, [v.sizes[0] for v in table.values()]])
        log.append([table.pop("d") is two, [key for key, _ in table.items()]])
        del table["b"]
        attempt(log, "gone", lambda: table["b"])
        attempt(log, "pop", lambda: table.pop("b"))
        for wrong in (5, [5], [("a",)], {"keys": one}, {"a.b": one}, {"a": 5}):
            attempt(log, "wrong", lambda: table.update(wrong))  # noqa: B023
        table.clear()
        log.append(list(table))


def test_parameter_containers():
    @both
    def scenario(lib, log):
        nn = lib.nn
        held = nn.ParameterList([lib.ones(1), lib.ones(2), "text"])
        held.append(lib.ones(3))
        held += [nn.Parameter(lib.ones(4))]
        held[0] = lib.zeros(1)
        log.append([name for name, _ in held.named_parameters()])
        log.append([len(held), held[2], held[0].tolist(), held[-1].tolist(), len(held[1:3])])
        log.append([type(v).__name__ for v in held])
        attempt(log, "range", lambda: held[9])
        attempt(log, "extend", lambda: held.extend(lib.ones(2)))
        attempt(log, "extend", lambda: held.extend(5))
        table = nn.ParameterDict({"b": lib.ones(1), "a": lib.ones(2)})
        log.append([list(table), [name for name, _ in table.named_parameters()]])
        table["c"] = 5
        table.update(OrderedDict(z=lib.ones(1), y=lib.ones(1)))
        table.update([("x", lib.ones(1))])
        log.append([list(table), list(reversed(table)), len(table), "c" in table, table.get("no")])
        log.append([table.setdefault("c", 7), table.setdefault("d", 8), table.pop("c")])
        log.append([table.popitem()[0], [k for k, _ in table.items()]])
        merged = table | nn.ParameterDict({"new": lib.ones(1)})
        log.append([list(merged), list(table.copy()), list(table.fromkeys(["q"], 1).items())])
        table |= nn.ParameterDict({"more": lib.ones(1)})
        del table["a"]
        log.append([list(table), list(table.state_dict())])
        table.clear()
        log.append([len(table), len(list(table.values()))])
        attempt(log, "key", lambda: table.__setitem__(5, 5))
