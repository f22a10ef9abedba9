"""What follows from a declaration: public names, help, signatures, NumPy's names, autocast."""

import contextlib
import importlib
import inspect
import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor
from adjoint.ops.declaration import AUTOCAST, DECLARED, HOMES, Declaration
from adjoint.ops.inplace import INPLACE
from adjoint.ops.op import TABLE, NamedOp, composite, elementwise
from adjoint.tensors.interop import HANDLERS, NUMPY_NAMES
from adjoint.tensors.tensor import AS_IS
from adjoint.testing import Sample, as_array, flatten, function_of, map_arrays, samples_of
from tests.interpreter import fresh_python


def module(home: str) -> Any:
    """The module that is a home."""
    return importlib.import_module("adjoint" if home == "adjoint" else f"adjoint.{home}")


def public(place: Any) -> Iterator[tuple[str, Any]]:
    """The functions that a module or Tensor shows; not those for programs that import torch."""
    for name in dir(place):
        value = getattr(place, name)
        home = str(getattr(value, "__module__", ""))
        is_function = callable(value) and not isinstance(value, type) and home != "typing"
        if is_function and not name.startswith("_") and not home.startswith("adjoint.compat"):
            yield name, value


# ---- help ----

PLACES = [*map(module, HOMES), Tensor]
every_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)


@every_place
def test_every_function_has_help(place: Any) -> None:
    """Its own words, not those of the kind of object it is."""
    silent = []
    for name, function in public(place):
        doc = function.__doc__
        if not doc or doc == type(function).__doc__:
            silent.append(name)
    assert not silent


def test_every_class_has_help() -> None:
    """Compiled ones too."""
    classes = [value for value in vars(adjoint).values() if isinstance(value, type)]
    assert Tensor in classes
    assert not [kind for kind in classes if not kind.__doc__]


@every_place
def test_every_function_has_a_signature(place: Any) -> None:
    """Which names its arguments."""
    unknown = []
    for name, function in public(place):
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            unknown.append(name)
            continue
        if names == ["args", "kwargs"]:
            unknown.append(name)
    assert not unknown


def shown(thing: Any) -> str:
    """What help() prints, in one line."""
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        help(thing)
    return " ".join(page.getvalue().split())


def test_help_shows_what_an_op_does() -> None:
    """As a function, as a method, in place, and for a function made of ops."""
    x = adjoint.ones(2)
    assert "exp(input: " in shown(adjoint.exp)
    assert "e to the power of each element" in shown(adjoint.exp)
    assert "e to the power of each element" in shown(x.exp)
    assert "In-place form of exp: e to the power" in shown(Tensor.exp_)
    assert "chunk(input: " in shown(adjoint.chunk)


def test_signatures() -> None:
    """Tensors for arrays, numbers where they mix, out=, and no tensor for a method."""
    x = adjoint.ones(2)

    def written(function: Any) -> str:
        text = str(inspect.signature(function))
        return text.replace("adjoint.tensors.tensor.", "").replace("adjoint.return_types.", "")

    assert written(adjoint.exp) == "(input: Tensor, *, out: Tensor | None = None) -> Tensor"
    assert written(x.exp_) == "() -> Tensor"
    assert written(adjoint.mul) == (
        "(input: Tensor | complex, other: Tensor | complex, *, out: Tensor | None = None) -> Tensor"
    )
    assert written(adjoint.topk).endswith("out: tuple[Tensor, ...] | None = None) -> topk")
    assert written(adjoint.cat).startswith("(tensors: collections.abc.Sequence[Tensor], dim: int")
    assert written(adjoint.where).startswith("(condition: Tensor, input: Tensor | complex | None")
    assert written(x.where).startswith("(condition: Tensor, other: Tensor | complex | None")
    assert written(adjoint.narrow_copy) == written(adjoint.narrow)
    assert "reduction: int = 0" in written(adjoint.margin_ranking_loss)
    assert "reduction: str = 'mean'" in written(adjoint.nn.functional.margin_ranking_loss)
    assert written(adjoint.nn.functional.relu) == "(input: Tensor, inplace: bool = False) -> Tensor"


def test_the_signature_of_a_program_s_op() -> None:
    """Follows from its part in the op where no types are written."""

    @elementwise(input=lambda grad: grad, other=lambda grad: -grad)
    def between(xp, input, other, scale=1):  # type: ignore[no-untyped-def]  # as programs write it
        return xp.subtract(input, other) * scale

    text = str(inspect.signature(between)).replace("adjoint.tensors.tensor.", "")
    assert text.startswith("(input: Tensor | complex, other: Tensor | complex, scale: Any = 1, ")
    assert text.endswith("out: Tensor | None = None) -> Tensor")


def test_the_source_of_an_op_is_its_declaration() -> None:
    """Decorator, derivative and forward."""
    source = inspect.getsource(adjoint.exp)
    assert source.startswith("@elementwise(")
    assert "def exp(" in source


# ---- names ----


def test_every_public_name_is_what_was_declared() -> None:
    """Or, in nn.functional, a function that takes more arguments than the one declared."""
    for name, declared in DECLARED.items():
        if not declared.is_own():
            continue  # a program's, which other tests may have declared
        places = [(place, declared.function) for place in declared.places()]
        if f"{name}_" in INPLACE:
            places += [(place, INPLACE[f"{name}_"]) for place in declared.inplace_places()]
        for (home, public_name), function in places:
            found = inspect.getattr_static(
                Tensor if home == "Tensor" else module(home), public_name
            )
            own = getattr(found, "__module__", "") == "adjoint.nn.functional"
            if home == "Tensor":
                found = found.op if isinstance(found, NamedOp) else found
                found = getattr(found, "double_of", found)
            assert found is function or (home == "nn.functional" and own), (home, public_name)


def test_no_op_is_named_by_hand() -> None:
    """Whatever a module or Tensor shows of the tables, a declaration has put there."""
    declared = {id(d.function): d for d in DECLARED.values()}
    inplace = {id(op): DECLARED[op.op.name] for op in INPLACE.values()}
    for home in (*HOMES, "Tensor"):
        for name, value in vars(Tensor if home == "Tensor" else module(home)).items():
            if id(value) in declared and not name.startswith("_"):
                assert (home, name) in declared[id(value)].places(), (home, name)
            if id(value) in inplace:
                assert (home, name) in inplace[id(value)].inplace_places(), (home, name)


@pytest.mark.parametrize("home", HOMES)
def test_pickles_find_functions_by_name(home: str) -> None:
    """Every public function comes back as itself."""
    for name, function in public(module(home)):
        assert pickle.loads(pickle.dumps(function)) is function, name


def test_star_import(tmp_path: Path) -> None:
    """Brings the ops, and hides Python's own names; networks wait to be asked for."""
    program = "import sys; from adjoint import *; loaded = 'adjoint.nn' in sys.modules"
    program += "; print(exp, sum(ones(3)), float, loaded)"
    said = fresh_python("-c", program, cwd=tmp_path)
    assert said.split("\n")[0] == "<adjoint op exp> tensor(3.) adjoint.float32 False"


def test_mistakes_in_a_declaration() -> None:
    """Are found when it is made."""
    for options, message in (
        ({"home": "linagl"}, "linagl"),
        ({"also": "specail.psi"}, "specail"),
        ({"autocast": "wide"}, "wide"),
    ):
        with pytest.raises(TypeError, match=message):
            Declaration("mistake", dict(options))
    with pytest.raises(TypeError, match="no option domain"):

        @composite(domain=(0, 1))
        def mistake(input: Any) -> Any:
            return input

    with pytest.raises(TypeError, match="no parameter 'homes'"):
        elementwise(homes="linalg")(lambda xp, input: input)


# ---- functions with the arguments of the top level ----


def test_native_functions_take_what_torch_does(torch: Any) -> None:
    """Those that are declared by the order of their arguments, against PyTorch's own schemas."""
    for declared in DECLARED.values():
        if not declared.native:
            continue
        packet = getattr(torch.ops.aten, declared.own)
        arguments = getattr(packet, packet.overloads()[0])._schema.arguments
        own = inspect.signature(getattr(adjoint, declared.own)).parameters
        theirs = [argument.name.replace("self", "input") for argument in arguments]
        assert list(own) == theirs, declared.own
        optional = [name for name, p in own.items() if p.default is not inspect.Parameter.empty]
        assert optional == [a.name for a in arguments if a.has_default_value()]


# ---- NumPy's names ----


def numpy_function(name: str) -> Any:
    """NumPy's function."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def plain(sample: Sample) -> bool:
    """Whether NumPy gives a call the same meaning: no names of ours, and () is all dims here."""
    return not sample.kwargs and "()" not in map(str, sample.args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(NUMPY_NAMES))
def test_numpy_names(name: str) -> None:
    """A function that NumPy has under the name gives NumPy's values for tensors."""
    function = numpy_function(name)
    assert name not in HANDLERS
    (declared,) = [d for d in DECLARED.values() if d.function is NUMPY_NAMES[name]]
    compared = 0
    for sample in filter(plain, samples_of(declared.name)):
        try:
            expected = function(*sample.args)
        except (TypeError, ValueError, IndexError):
            continue  # PyTorch takes more than NumPy
        result = function(*map_arrays(adjoint.from_numpy, sample.args))
        if not sample.compare_values:  # eigenvectors, which come after what is unique
            result, expected = result[0], expected[0]
        for ours, theirs in zip(flatten(result), flatten(expected), strict=True):
            np.testing.assert_allclose(as_array(ours), as_array(theirs), 1e-6)
        compared += 1
    assert compared, f"no sample of {declared.name} is a call of NumPy's {name}"


# Functions of the array standard that are elementwise: NumPy has them all.
STANDARD = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "square",
    "sqrt",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


@pytest.mark.parametrize("name", STANDARD)
def test_names_of_the_array_standard(name: str) -> None:
    """NumPy's function of that name, given a tensor, answers one, computed by an op."""
    function = getattr(np, name)
    kind = int if "bitwise" in name else float
    x, y = (Tensor(np.array([2, 3]).astype(kind), AS_IS) for _ in range(2))
    values = [x, y][: function.nin] if name not in {"acos", "asin", "atanh"} else [x / 4]
    result = function(*values)
    assert isinstance(result, Tensor)
    np.testing.assert_allclose(result.numpy(), function(*[value.numpy() for value in values]))


# ---- autocast ----


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", sorted(name for name in TABLE if DECLARED[name].autocast not in {None, "widest"})
)
def test_autocast(name: str) -> None:
    """The declaration says which type an op computes in."""
    autocast = importlib.import_module("adjoint.compat.torch").autocast
    narrow = DECLARED[name].autocast == "narrow"
    start, wanted = (np.float32, np.float16) if narrow else (np.float16, np.float32)
    seen = set()
    for sample in samples_of(name):
        arrays = [a for a in flatten((sample.args, list(sample.kwargs.values()))) if is_real(a)]
        if not arrays or any(np.iscomplexobj(a) for a in flatten(sample.args)):
            continue
        args, kwargs = map_arrays(
            lambda a: Tensor(a.astype(start) if is_real(a) else a, AS_IS),
            (sample.args, sample.kwargs),
        )
        with autocast("cpu", adjoint.float16):
            results = flatten(function_of(name)(*args, **kwargs))
        seen |= {r.array.dtype for r in results if is_real(as_array(r))}
    assert not seen or np.dtype(wanted) in seen
    assert AUTOCAST[0] is None


def is_real(value: Any) -> bool:
    """Whether this is an array of floating numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
