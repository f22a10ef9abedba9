"""Short programs in the manner of tutorials and questions: what they answer is PyTorch's."""

import importlib
import io
import warnings

import pytest

import adjoint.compat.torch as compat


def part(library, path):
    return importlib.import_module(f"{library.__name__}.{path}")


def storages_of_a_file(library):
    file, seen = io.BytesIO(), []
    library.save({"a": library.ones(3), "b": library.arange(2)}, file)

    def placed(storage, place):
        seen.append((type(storage).__name__, storage.nbytes(), len(storage), place))
        return storage.cpu()

    file.seek(0)
    found = library.load(file, map_location=placed)
    return seen, {name: value.tolist() for name, value in found.items()}


def parameters_of_a_class(library):
    class Tagged(library.nn.Parameter):
        pass

    return repr(Tagged(library.ones(2))), str(Tagged(library.ones(2), requires_grad=False))


def annotations_of_a_graph(library):
    fx = part(library, "fx")

    def function(x: library.Tensor):
        return x + 1

    return fx.symbolic_trace(function).code.replace("adjoint.compat.", "")


def occurrences_of_a_pattern(library):
    fx, rewriter = part(library, "fx"), part(library, "fx.subgraph_rewriter")
    seen = []

    def takes_the_first(match, graph, pattern):
        seen.append([str(anchor.args[0].op) for anchor in match.anchors])
        return match.nodes_map[match.anchors[0]].args[0].op == "placeholder"

    traced = fx.symbolic_trace(lambda x: library.relu(x) + library.relu(x + 1))
    found = rewriter.replace_pattern_with_filters(
        traced, lambda a: library.relu(a), lambda a: a.clamp(min=0), [takes_the_first]
    )
    return seen, [str(each.anchor) for each in found], traced(library.ones(1)).item(), traced.code


def views_among_operations(library):
    of = library.ops.aten
    operations = [of.view.default, of.t.default, of.add.Tensor, of.add_.Tensor, of.sin.out]
    return [each.is_view for each in operations]


def kinds_of_devices(library):
    kinds = part(library, "utils.checkpoint").DefaultDeviceType
    before = kinds.get_device_type()
    kinds.set_device_type(before)
    return before, kinds.get_device_type()


def backward_of_a_class(library):
    seen = []

    class Logged(library.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is library.Tensor.backward:
                seen.append((len(args), sorted(kwargs or {})))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = library.ones(2, requires_grad=True)
    (x * 2).as_subclass(Logged).sum().backward()
    return seen, x.grad.tolist()


def checks_of_an_operator(library):
    @library.library.custom_op("of_users::twice", mutates_args=())
    def twice(x: library.Tensor) -> library.Tensor:
        return x * 2

    twice.register_fake(lambda x: library.empty_like(x))
    twice.register_autograd(lambda ctx, grad: grad * 2)
    return library.library.opcheck(twice, (library.ones(2, requires_grad=True),))


def shape_of_a_nest(library):
    trees = part(library, "utils._pytree")
    return repr(trees.tree_structure([1, (2, [3, {"a": 4, "b": ()}]), {"c": None}]))


def matrices_of_diagonals(library):
    spdiags = library.sparse.spdiags
    rows = library.arange(9.0).reshape(3, 3) + 1
    found = [
        spdiags(rows, library.tensor([0, -1, 2]), (3, 4)),
        spdiags(library.arange(1.0, 5.0), library.tensor([1]), (3, 3)),
        spdiags(rows[:1], library.tensor(-1), (3, 3), layout=library.sparse_csr),
    ]
    for offsets, shape in (([0, 0], (3, 3)), ([0], (3, 3)), ([0, 1], (3,))):
        with pytest.raises(RuntimeError):
            spdiags(rows[:2], library.tensor(offsets), shape)
    return [(each.to_dense().tolist(), str(each.layout)[-3:]) for each in found]


def conditions_of_bytes(library):
    condition = library.tensor([0, 1, 2], dtype=library.uint8)
    x = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with warnings.catch_warnings(record=True):
        found = [library.where(condition, x, x * 10), x.where(condition, x * 3)]
        library.stack(found).sum().backward()
    with pytest.raises(RuntimeError):
        library.where(condition.long(), x, x)
    return [each.tolist() for each in found], x.grad.tolist()


def what_is_refused(library):
    close = part(library, "testing").assert_close
    for call, kind in (
        (lambda: library.stack([]), RuntimeError),
        (lambda: close("a", "a"), TypeError),
    ):
        with pytest.raises(kind):
            call()


PROGRAMS = [
    annotations_of_a_graph,
    backward_of_a_class,
    checks_of_an_operator,
    conditions_of_bytes,
    kinds_of_devices,
    matrices_of_diagonals,
    occurrences_of_a_pattern,
    parameters_of_a_class,
    shape_of_a_nest,
    storages_of_a_file,
    views_among_operations,
    what_is_refused,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(torch, program):
    assert program(compat) == program(torch)
