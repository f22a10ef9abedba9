"""Modules against PyTorch: members, their names, state dicts, conversions, copies and texts."""

import copy
import pickle
import warnings
from collections import OrderedDict

import pytest

import adjoint

torch = pytest.importorskip("torch")

LIBRARIES = {"adjoint": adjoint, "torch": torch}


def both(scenario):
    """Run a scenario in both libraries and compare what it logged."""
    logs = {}
    for name, lib in LIBRARIES.items():
        log = []
        scenario(lib, log)
        logs[name] = log
    assert logs["adjoint"] == logs["torch"]
    assert logs["torch"], "the scenario logged nothing"


def attempt(log, label, action):
    """Log what an action answers, or the type of what it raises."""
    try:
        log.append((label, action()))
    except Exception as error:
        log.append((label, type(error).__name__))


class Linear:
    """A small layer of either library, with members of each kind."""

    made = {}  # noqa: RUF012  one class for each library

    def __new__(cls, lib, n_in, n_out):
        return cls.of(lib)(n_in, n_out)

    @classmethod
    def of(cls, lib):
        if lib in cls.made:
            return cls.made[lib]

        class Layer(lib.nn.Module):
            _version = 3

            def __init__(self, n_in, n_out):
                super().__init__()
                self.sizes = (n_in, n_out)
                self.weight = lib.nn.Parameter(lib.arange(float(n_in * n_out)).reshape(n_out, n_in))
                self.bias = lib.nn.Parameter(lib.ones(n_out))
                self.register_buffer("count", lib.zeros(2, dtype=lib.int64))
                self.register_buffer("scratch", lib.ones(1), persistent=False)

            def forward(self, x):
                return x @ self.weight.t() + self.bias

            def extra_repr(self):
                return "in={}, out={}".format(*self.sizes)

        cls.made[lib] = Layer
        return Layer


def network(lib):
    nn = lib.nn
    shared = Linear(lib, 2, 2)
    return nn.Sequential(
        OrderedDict(
            first=Linear(lib, 3, 2),
            inner=nn.Sequential(shared, nn.ModuleList([shared, Linear(lib, 2, 1)])),
            again=shared,
            extras=nn.ModuleDict({"b": Linear(lib, 1, 1), "a": nn.Sequential()}),
        )
    )


def test_iterators():
    @both
    def scenario(lib, log):
        net = network(lib)
        for remove in (True, False):
            log.append([name for name, _ in net.named_modules(remove_duplicate=remove)])
            log.append([name for name, _ in net.named_parameters(remove_duplicate=remove)])
            log.append([name for name, _ in net.named_buffers(remove_duplicate=remove)])
        log.append([name for name, _ in net.named_parameters(prefix="root", recurse=False)])
        log.append([name for name, _ in net.inner.named_parameters(prefix="root")])
        log.append([name for name, _ in net.named_modules(prefix="root")])
        log.append([name for name, _ in net.named_children()])
        log.append([len(list(net.children())), len(list(net.modules()))])
        log.append([len(list(net.parameters())), len(list(net.parameters(recurse=False)))])
        log.append([len(list(net.buffers())), len(list(net.modules(remove_duplicate=False)))])
        memo = {net.inner}
        log.append([name for name, _ in net.named_modules(memo)])


def test_texts():
    @both
    def scenario(lib, log):
        nn = lib.nn

        class Plain(nn.Module):
            pass

        class Told(nn.Module):
            def extra_repr(self):
                return "one\ntwo"

        told = Told()
        told.child = Plain()
        told.gap = None
        log.append(repr(network(lib)))
        log.append(repr(told))
        log.append(repr(Plain()))
        log.append(repr(nn.ModuleList([Linear(lib, 1, 1)] * 3 + [Plain()])))
        log.append(repr(nn.ModuleList()))
        log.append(repr(nn.ModuleList([told, Told()])))
        told.nothing = None
        told.add_module("later", None)
        log.append(repr(told))
        texts = [
            repr(nn.ParameterList([lib.ones(2, 3), 5, lib.ones(())])),
            repr(nn.ParameterDict({"b": lib.ones(2), "a": "text"})),
            repr(nn.Parameter(lib.ones(2))),
        ]
        log.extend(text.replace("torch.", "adjoint.") for text in texts)


def test_attribute_rules():
    @both
    def scenario(lib, log):
        nn = lib.nn

        class Holder(nn.Module):
            kind = "class attribute"

        module = Holder()
        p = nn.Parameter(lib.ones(1))

        def fields():
            return [list(module._parameters), list(module._buffers), list(module._modules)]

        def assign(name, value):
            def act():
                setattr(module, name, value)
                return fields()

            attempt(log, name, act)

        assign("a", p)
        assign("a", lib.ones(1))
        assign("a", None)
        assign("a", p)
        assign("a", Holder())
        assign("a", lib.ones(1))
        assign("a", None)
        assign("a", p)
        assign("b", 5)
        assign("b", p)
        module.register_buffer("c", lib.ones(1), persistent=False)
        assign("c", lib.zeros(1))
        log.append(sorted(module._non_persistent_buffers_set))
        assign("c", 5)
        assign("c", None)
        assign("c", p)
        log.append(sorted(module._non_persistent_buffers_set))
        assign("d", nn.Buffer(lib.ones(1), persistent=False))
        log.append(sorted(module._non_persistent_buffers_set))
        assign("d", nn.Buffer(lib.ones(1)))
        log.append(sorted(module._non_persistent_buffers_set))
        assign("kind", p)
        assign("kind", 3)
        assign("made", p * 2)
        assign("kind2", nn.Parameter(lib.ones(1)) * 2)
        del module.c
        del module.d
        log.append(fields())
        attempt(log, "gone", lambda: module.c)
        attempt(log, "delete", lambda: delattr(module, "c"))
        log.append([name for name in dir(module) if not name.startswith("_")][:3])
        log.append("a" in dir(module))
        module._parameters["direct"] = p
        log.append(module.direct is p)
        module._parameters["direct"] = None
        log.append(module.direct)
        del module._parameters["direct"]
        log.append(hasattr(module, "direct"))
        module._parameters = {"other": p}
        log.append([module.other is p, hasattr(module, "a")])


REGISTRATIONS = [
    ("register_parameter", "parameter"),
    ("register_buffer", "tensor"),
    ("add_module", "module"),
    ("register_module", "module"),
]


@pytest.mark.parametrize(("method", "what"), REGISTRATIONS, ids=str)
def test_registration_errors(method, what):
    @both
    def scenario(lib, log):
        module = lib.nn.Module()
        module.taken = 5
        good = {
            "parameter": lib.nn.Parameter(lib.ones(1)),
            "tensor": lib.ones(1),
            "module": lib.nn.Module(),
        }[what]
        register = getattr(module, method)
        for name in ("fine", "fine", "", "a.b", 5, "taken"):
            attempt(log, name, lambda: register(name, good))  # noqa: B023
        for value in (None, 5, "x", lib.ones(1, dtype=lib.int64)):
            attempt(log, type(value).__name__, lambda: register("other", value))  # noqa: B023
        if what == "parameter":
            attempt(log, "not a leaf", lambda: register("made", good * 2))


def test_before_init():
    @both
    def scenario(lib, log):
        nn = lib.nn

        class Early(nn.Module):
            def __init__(self, value):
                self.value = value

        for value in (5, nn.Parameter(lib.ones(1)), nn.Module()):
            attempt(log, "early", lambda: Early(value).value is value)  # noqa: B023
        bare = Early(5)
        attempt(log, "parameter", lambda: bare.register_parameter("a", None))
        attempt(log, "buffer", lambda: bare.register_buffer("a", None))
        attempt(log, "missing", lambda: bare.nothing)
        attempt(log, "arguments", lambda: nn.Module(5))
        attempt(log, "keywords", lambda: nn.Module(five=5))


def test_call_super_init():
    @both
    def scenario(lib, log):
        class Mixin:
            def __init__(self, tag="none", **kwargs):
                super().__init__(**kwargs)
                log.append(tag)

        class Both(lib.nn.Module, Mixin):
            call_super_init = True

        Both(tag="given")
        Both()


def test_forward_is_required():
    @both
    def scenario(lib, log):
        attempt(log, "call", lambda: lib.nn.Module()(5))
        attempt(log, "list", lambda: lib.nn.ModuleList()(5))
        attempt(log, "parameters", lambda: lib.nn.ParameterList()(5))
        attempt(log, "dict", lambda: lib.nn.ParameterDict()(5))


def test_paths():
    @both
    def scenario(lib, log):
        net = network(lib)
        log.append(net.get_submodule("") is net)
        log.append(net.get_submodule("inner.1.0") is net.again)
        log.append(net.get_parameter("inner.1.1.weight").tolist())
        log.append(net.get_buffer("first.count").tolist())
        for path in ("nothing", "inner.5", "first.sizes", "first.weight"):
            attempt(log, path, lambda: net.get_submodule(path) and None)  # noqa: B023
            attempt(log, path, lambda: net.get_parameter(path) and None)  # noqa: B023
            attempt(log, path, lambda: net.get_buffer(path) and None)  # noqa: B023
        new = Linear(lib, 1, 1)
        for path in ("first", "inner.1.0", "inner.new", "", "first.sizes", "none.x"):
            for strict in (False, True):
                attempt(log, path, lambda: net.set_submodule(path, new, strict))  # noqa: B023
        attempt(log, "strict", lambda: net.set_submodule("inner.other", new, strict=True))
        attempt(log, "no module", lambda: net.set_submodule("first", 5))
        log.append([name for name, _ in net.named_modules()])


def test_state_dict():
    @both
    def scenario(lib, log):
        net = network(lib)
        state = net.state_dict()
        log.append([(key, value.tolist(), value.requires_grad) for key, value in state.items()])
        log.append(type(state).__name__)
        log.append({key: dict(value) for key, value in state._metadata.items()})
        log.append(list(net.first.state_dict(prefix="p.")))
        log.append(net.state_dict(keep_vars=True)["first.weight"] is net.first.weight)
        own = {}
        log.append(net.first.state_dict(destination=own) is own)
        log.append(list(own))
        state["first.bias"].add_(1)
        log.append(net.first.bias.tolist())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            log.append(list(net.first.state_dict({}, "q.", True)))
        log.append([w.category.__name__ for w in caught])


def test_load_state_dict():
    @both
    def scenario(lib, log):
        state = network(lib).state_dict()
        for assign in (False, True):
            net = network(lib)
            before = net.first.weight
            with lib.no_grad():
                for parameter in net.parameters():
                    parameter.zero_()
            net.first.bias.requires_grad_(False)
            answer = net.load_state_dict(state, assign=assign)
            log.append([repr(answer), net.first.weight is before, net.first.weight.tolist()])
            log.append([net.first.bias.requires_grad, type(net.first.bias).__name__])
            log.append([net.first.count is state["first.count"], net.first.weight.is_leaf])
        for change in (
            lambda s: s.pop("first.weight"),
            lambda s: s.update({"first.new": lib.ones(1)}),
            lambda s: s.update({"other.new": lib.ones(1)}),
            lambda s: s.update({"first.weight": lib.ones(5)}),
            lambda s: s.update({"first.weight": 5}),
            lambda s: s.update({"first.weight.deep": lib.ones(1)}),
            lambda s: s.update({"first.scratch": lib.ones(1)}),
            lambda s: s.update({"first._extra_state": 5}),
            lambda s: s.update({"first.count": lib.ones(2)}),
        ):
            other = OrderedDict(state)
            change(other)
            for strict in (True, False):
                net = network(lib)

                def load():
                    answer = net.load_state_dict(other, strict=strict)  # noqa: B023
                    return [list(answer.missing_keys), list(answer.unexpected_keys)]

                attempt(log, strict, load)
        attempt(log, "no mapping", lambda: network(lib).load_state_dict([]))


def test_load_scalars_from_old_files():
    @both
    def scenario(lib, log):
        module = lib.nn.Module()
        module.register_buffer("number", lib.tensor(1.0))
        module.load_state_dict({"number": lib.tensor([5.0])})
        log.append(module.number.tolist())


def test_extra_state_and_versions():
    @both
    def scenario(lib, log):
        class Versioned(lib.nn.Module):
            _version = 2

            def __init__(self):
                super().__init__()
                self.tag = "new"
                self.register_parameter("empty", None)
                self.register_buffer("none", None)

            def get_extra_state(self):
                return self.tag

            def set_extra_state(self, state):
                self.tag = state

            def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
                log.append((prefix, dict(local_metadata)))
                super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

        net = lib.nn.Sequential(Versioned(), Versioned())
        net[0].tag = "saved"
        state = net.state_dict()
        log.append(dict(state))
        other = lib.nn.Sequential(Versioned(), Versioned())
        other.load_state_dict(state)
        log.append([other[0].tag, other[1].tag])
        state.pop("1._extra_state")
        attempt(log, "missing", lambda: other.load_state_dict(state))
        attempt(log, "lenient", lambda: list(other.load_state_dict(state, strict=False)[0]))
        attempt(log, "none", lambda: lib.nn.Module().get_extra_state())
        attempt(log, "none", lambda: lib.nn.Module().set_extra_state(5))


def test_state_dict_hooks():
    @both
    def scenario(lib, log):
        net = lib.nn.Sequential(Linear(lib, 1, 1))

        def noting(label, answer=None):
            def hook(*args):
                seen = [type(a).__name__ if isinstance(a, lib.nn.Module) else a for a in args]
                log.append((label, [list(a) if isinstance(a, dict) else a for a in seen]))
                return answer

            return hook

        handles = []
        for label, module in (("outer", net), ("inner", net[0])):
            register = module.register_state_dict_pre_hook
            handles.append(register(noting(f"{label} pre")))
            handles.append(module.register_state_dict_post_hook(noting(f"{label} post")))
            register = module._register_state_dict_hook
            handles.append(register(noting(f"{label} private", {"answer": 1})))
            register = module.register_load_state_dict_pre_hook
            handles.append(register(noting(f"{label} load pre")))
            register = module._register_load_state_dict_pre_hook
            handles.append(register(noting(f"{label} private load pre")))
            register = module.register_load_state_dict_post_hook
            handles.append(
                register(lambda m, keys: log.append(("loaded", type(m).__name__, *keys)))
            )
        answer = net.state_dict()
        log.append(dict(answer))
        state = OrderedDict((key, value) for key, value in net[0].state_dict().items())
        attempt(log, "load", lambda: list(net.load_state_dict({"0.weight": lib.ones(1, 1)}, False)))
        for handle in handles:
            handle.remove()
        log.append([list(net.state_dict()), list(state)])

        public = noting("must be None", 5)
        net.register_state_dict_post_hook(public)
        attempt(log, "answers", net.state_dict)
        attempt(log, "again", lambda: net._register_state_dict_hook(public))
        net = lib.nn.Sequential()
        net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.append("more"))
        attempt(log, "more", lambda: net.load_state_dict({}))
        net.register_load_state_dict_post_hook(lambda m, keys: 5)
        attempt(log, "answers", lambda: net.load_state_dict({}))


def test_conversions():
    @both
    def scenario(lib, log):
        def kinds(module):
            names = ("weight", "count", "scratch")
            found = [str(getattr(module, name).dtype).rpartition(".")[2] for name in names]
            return [*found, str(module.weight.grad.dtype).rpartition(".")[2]]

        def layer():
            made = Linear(lib, 2, 1)
            made(lib.ones(1, 2)).sum().backward()
            return made

        for change in (
            lambda m: m.double(),
            lambda m: m.half(),
            lambda m: m.bfloat16(),
            lambda m: m.double().float(),
            lambda m: m.to(lib.float64),
            lambda m: m.to("cpu", lib.float64),
            lambda m: m.to(device="cpu"),
            lambda m: m.to(lib.ones(1, dtype=lib.float64)),
            lambda m: m.to(lib.device("cpu"), dtype=lib.float16),
            lambda m: m.type(lib.float64),
            lambda m: m.cpu(),
            lambda m: m.share_memory(),
        ):
            module = layer()
            weight = module.weight
            same = change(module) is module
            log.append([kinds(module), same, module.weight is weight, weight.requires_grad])
        attempt(log, "integers", lambda: layer().to(lib.int64))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            log.append(kinds(layer().to(lib.complex64)))
        log.append([w.category.__name__ for w in caught])
        empty = layer().to_empty(device="cpu")
        log.append([tuple(empty.weight.shape), kinds(empty)])


def test_modes():
    @both
    def scenario(lib, log):
        net = network(lib)
        log.append(net.eval() is net)
        log.append([module.training for module in net.modules()])
        net.inner.train()
        log.append([module.training for module in net.modules()])
        attempt(log, "mode", lambda: net.train(1))
        order = []
        log.append(net.apply(lambda module: order.append(type(module).__name__)) is net)
        log.append(order)
        net.requires_grad_(False)
        log.append([p.requires_grad for p in net.parameters()])


def test_zero_grad():
    @both
    def scenario(lib, log):
        layer = Linear(lib, 2, 1)
        for set_to_none, create_graph in ((True, False), (False, False), (False, True)):
            (layer(lib.ones(1, 2)) ** 2).sum().backward(create_graph=create_graph)
            grad = layer.weight.grad
            layer.zero_grad(set_to_none)
            now = layer.weight.grad
            log.append(None if now is None else [now.tolist(), now is grad, now.requires_grad])


def test_copies():
    @both
    def scenario(lib, log):
        layer = Linear(lib, 2, 1)
        layer.weight.grad = lib.ones(1, 2)
        layer.note = [1]
        layer.register_forward_hook(print)
        shallow = copy.copy(layer)
        log.append([shallow._parameters is layer._parameters, shallow.note is layer.note])
        shallow.weight = lib.nn.Parameter(lib.zeros(1, 2))
        log.append(layer.weight.tolist())
        layer.weight.grad = lib.ones(1, 2)
        deep = copy.deepcopy(layer)
        log.append(
            [deep.weight is layer.weight, deep.weight.grad, deep.note, deep.note is layer.note]
        )
        log.append([list(deep._forward_hooks.values()) == [print], deep.training])
        net = network(lib)
        twin = copy.deepcopy(net)
        log.append([twin.again is twin.inner[0], twin.again is net.again])
        log.append([name for name, _ in twin.named_parameters()])


class Pickled(adjoint.nn.Module):
    """Of a module, so that it can be pickled."""

    def __init__(self):
        super().__init__()
        self.weight = adjoint.nn.Parameter(adjoint.ones(2))


class PickledTorch(torch.nn.Module):
    """The same in PyTorch."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))


def pickled_hook(*args):
    return None


def test_pickles():
    @both
    def scenario(lib, log):
        made = Pickled() if lib is adjoint else PickledTorch()
        made.note = "kept"
        made.register_full_backward_hook(pickled_hook)
        made.weight.register_hook(pickled_hook)
        made.register_load_state_dict_pre_hook(pickled_hook)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            text = pickle.dumps(made)
        again = pickle.loads(text)
        log.append([again.note, again.weight.tolist(), again.weight.requires_grad])
        log.append([list(again._backward_hooks.values()) == [pickled_hook]])
        log.append(list(again.state_dict()))
        log.append(len(again._load_state_dict_pre_hooks))
        old = made.__getstate__()
        for name in ("_forward_pre_hooks", "_state_dict_hooks", "_non_persistent_buffers_set"):
            old.pop(name)
        blank = type(made).__new__(type(made))
        blank.__setstate__(old)
        log.append([list(blank.state_dict()), len(blank._forward_pre_hooks)])


def test_registration_hooks():
    @both
    def scenario(lib, log):
        nn = lib.nn if lib is adjoint else torch.nn.modules.module
        handles = [
            nn.register_module_parameter_registration_hook(
                lambda m, name, p: log.append(("parameter", name))
            ),
            nn.register_module_buffer_registration_hook(
                lambda m, name, b: (
                    log.append(("buffer", name)) or (b + 1 if name == "raised" else None)
                )
            ),
            nn.register_module_module_registration_hook(
                lambda m, name, c: log.append(("module", name))
            ),
        ]
        try:
            module = lib.nn.Module()
            module.a = lib.nn.Parameter(lib.ones(1))
            module.a = None
            module.register_buffer("raised", lib.ones(1))
            module.raised = lib.zeros(1)
            module.c = lib.nn.Module()
            module.c = None
            module.add_module("d", None)
            log.append(module.raised.tolist())
        finally:
            for handle in handles:
                handle.remove()
        module.e = lib.nn.Module()


def test_parametrized_by_property():
    @both
    def scenario(lib, log):
        class Tied(Linear.of(lib)):
            @property
            def weight(self):
                return self.raw * 2

            @weight.setter
            def weight(self, value):
                self.raw = value

        layer = Tied(2, 1)
        attempt(log, "weight", lambda: layer.weight.tolist())
        log.append([name for name, _ in layer.named_parameters()])
