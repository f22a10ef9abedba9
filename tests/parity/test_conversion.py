"""Converting and loading modules with the settings of torch.__future__, against PyTorch."""

import pytest

import adjoint.compat.torch as compat

torch = pytest.importorskip("torch")

LIBRARIES = [compat, torch]


@pytest.fixture(autouse=True)
def usual_settings():
    """The settings are those of the whole program."""
    yield
    for library in LIBRARIES:
        library.__future__.set_swap_module_params_on_conversion(False)
        library.__future__.set_overwrite_module_params_on_conversion(False)


def layer(library):
    made = library.nn.Linear(2, 2)
    with library.no_grad():
        made.weight.copy_(library.tensor([[1.0, 2.0], [3.0, 4.0]]))
    made.weight.grad = library.ones(2, 2)
    return made


def converted(library, setting):
    """What a conversion leaves of the parameter, of its gradient, and of a view of it."""
    if setting:
        getattr(library.__future__, f"set_{setting}_module_params_on_conversion")(True)
    module = layer(library)
    weight, grad = module.weight, module.weight.grad
    module.double()
    seen = [module.weight is weight, module.weight.grad is grad]
    seen += [str(tensor.dtype)[-7:] for tensor in (weight, grad, module.weight, module.weight.grad)]
    seen += [module.weight.requires_grad, module.weight.grad.requires_grad, module.weight.is_leaf]
    seen += [type(module.weight).__name__, module.weight.tolist(), module.weight.grad.tolist()]
    return seen


@pytest.mark.parametrize("setting", [None, "swap", "overwrite"])
def test_conversions_keep_replace_or_swap_parameters(setting):
    assert converted(compat, setting) == converted(torch, setting)


def loaded(library, assign):
    """What loading by a swap leaves."""
    library.__future__.set_swap_module_params_on_conversion(True)
    module, other = layer(library), layer(library)
    other.weight.requires_grad_(False)
    weight = module.weight
    state = other.state_dict()
    state["weight"] = state["weight"].double() * 2
    module.load_state_dict(state, assign=assign)
    return [
        module.weight is weight,
        str(module.weight.dtype)[-7:],
        module.weight.requires_grad,
        module.weight.tolist(),
        type(module.weight).__name__,
    ]


@pytest.mark.parametrize("assign", [False, True])
def test_loading_by_a_swap(assign):
    assert loaded(compat, assign) == loaded(torch, assign)


@pytest.mark.parametrize("library", LIBRARIES, ids=["adjoint", "torch"])
def test_a_graph_from_before_a_swap_refuses_to_accumulate(library):
    library.__future__.set_swap_module_params_on_conversion(True)
    module = library.nn.Linear(2, 2)
    out = module(library.ones(1, 2))
    module.double()
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        out.sum().backward()
    module(library.ones(1, 2, dtype=library.float64)).sum().backward()
    assert module.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def swapped(library):
    first = library.nn.Parameter(library.tensor([1.0, 2.0]))
    second = library.tensor([[3.0]], dtype=library.float64)
    first.tag = "a"
    first.grad = library.tensor([5.0, 6.0])
    library.utils.swap_tensors(first, second)
    return [
        (type(t).__name__, t.tolist(), t.requires_grad, getattr(t, "tag", None), t.grad is None)
        for t in (first, second)
    ]


def test_swapped_tensors_trade_all_they_are():
    assert swapped(compat) == swapped(torch)


def module_loads(library):
    """Which of two classes is asked what to load, and what it says."""
    seen = []

    class Asking(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is library.Tensor.module_load:
                seen.append((cls.__name__, len(types), kwargs))
            return super().__torch_function__(func, types, args, kwargs or {})

    class Deeper(Asking):
        pass

    library.__future__.set_swap_module_params_on_conversion(True)
    for kind in (Asking, Deeper):
        module = library.nn.Module()
        module.register_buffer("data", library.zeros(2).as_subclass(Asking))
        value = library.ones(2).as_subclass(kind)
        module.load_state_dict({"data": value})
        seen.append((type(module.data).__name__, module.data.tolist()))
    return seen


def test_subclasses_are_asked_what_to_load():
    assert module_loads(compat) == module_loads(torch)


@pytest.mark.parametrize("library", LIBRARIES, ids=["adjoint", "torch"])
def test_what_is_loaded_must_be_a_tensor_of_its_own(library):
    class Careless(library.Tensor):
        def module_load(self, other, assign=False):
            return other

    library.__future__.set_swap_module_params_on_conversion(True)
    module = library.nn.Module()
    module.register_buffer("data", library.zeros(2).as_subclass(Careless))
    with pytest.raises(RuntimeError, match="module_load returned one of self or other"):
        module.load_state_dict({"data": library.ones(2)})


def kinds(library):
    """A dense tensor, one of each sparse layout, and one without values."""
    dense = library.tensor([[1.0, 0.0], [0.0, 4.0]])
    return [dense, dense.to_sparse(), dense.to_sparse_csr(), dense.to("meta")]


@pytest.mark.parametrize("one", range(4))
@pytest.mark.parametrize("other", range(4))
def test_data_is_of_one_layout_with_values_or_without(one, other):
    seen = []
    for library in LIBRARIES:
        tensor, value = kinds(library)[one], kinds(library)[other] * 2
        try:
            tensor.data = value
        except RuntimeError:
            seen.append("refused")
        kept = tensor.is_meta or one == other == 2  # PyTorch's rows keep their old values
        values = [] if kept else tensor.to_dense().tolist()
        seen.append([str(tensor.layout).split(".")[-1], tensor.device.type, values])
    assert seen[: len(seen) // 2] == seen[len(seen) // 2 :]


@pytest.mark.parametrize("change", ["meta", "sparse", "rows"])
def test_a_parameter_that_cannot_become_another_is_replaced(change):
    seen = []
    for library in LIBRARIES:
        module = layer(library)
        weight, grad = module.weight, module.weight.grad
        changes = {
            "meta": lambda t: t.to("meta"),
            "sparse": lambda t: t.to_sparse(),
            "rows": lambda t: t.to_sparse_csr() if t.dim() == 2 else t,
        }
        module._apply(changes[change])
        seen.append([module.weight is weight, module.weight.grad is grad])
        seen[-1] += [weight.tolist(), grad.tolist(), weight.grad is grad, module.weight.is_leaf]
        for tensor in (weight, grad, module.weight, module.weight.grad):
            seen[-1].append((tensor.is_meta, str(tensor.layout).split(".")[-1]))
        seen[-1].append((type(module.weight).__name__, module.weight.requires_grad))
    assert seen[0] == seen[1]


def test_sparse_gradients_are_converted_in_their_place():
    seen = []
    for library in LIBRARIES:
        table = library.nn.Embedding(4, 2, sparse=True)
        table(library.tensor([1, 3])).sum().backward()
        grad = table.weight.grad
        table.double()
        seen.append([table.weight.grad is grad, str(grad.dtype)[-7:], grad.to_dense().tolist()])
    assert seen[0] == seen[1]


ASKED = ["contiguous_format", "preserve_format", "channels_last"]
LYING = {
    "in order": lambda t: t.ones(2, 3, 4, 4),
    "turned": lambda t: t.ones(2, 3, 4, 4).transpose(0, 1),
    "every other": lambda t: t.ones(2, 3, 4, 4)[..., ::2],
    "channels last": lambda t: t.ones(2, 3, 4, 4).to(memory_format=t.channels_last),
    "every other channel": lambda t: t.ones(2, 3, 4, 4).to(memory_format=t.channels_last)[:, ::2],
    "every other row": lambda t: t.ones(2, 3, 4, 4).to(memory_format=t.channels_last)[:, :, ::2],
}


@pytest.mark.parametrize("order", ASKED)
@pytest.mark.parametrize("name", LYING)
def test_a_tensor_is_itself_where_its_strides_are_most_like_an_order(torch, name, order):
    def facts(t):
        x, wanted = LYING[name](t), getattr(t, order)
        same, typed = x.to(memory_format=wanted), x.float(memory_format=wanted)
        wide = x.double(memory_format=wanted)
        return same is x, typed is x, same.stride(), typed.stride(), wide.stride()

    assert facts(compat) == facts(torch)
