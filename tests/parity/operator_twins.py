"""What PyTorch's databases give, as adjoint's: tensors with their memory, and functions.

Functions of PyTorch's tests are made anew from their code, with adjoint's compat namespace for the
name torch; PyTorch's own are found by their path.
"""

import functools
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, ModuleType
from typing import Any

import torch

import adjoint
import adjoint.compat.torch as compat

TESTS = "torch.testing._"
DTYPES = {
    getattr(torch, name): getattr(compat, name)
    for name in [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
    ]
}
DIMS = 64  # as many as NumPy has


class AbsentError(Exception):
    """adjoint has no such function or data type."""


def dense(value: Any) -> Any:
    """A tensor without history, with all its numbers in memory as they are."""
    plain = value.detach().resolve_conj().resolve_neg()
    return torch.zeros_like(plain) if plain._is_zerotensor() else plain


def raw(storage: Any, kind: torch.dtype) -> Any:
    """A storage as a NumPy array of one data type, in memory of its own."""
    whole = torch.empty(0, dtype=torch.uint8).set_(storage).clone().numpy()
    target = DTYPES[kind].numpy_dtype
    return whole[: len(whole) // target.itemsize * target.itemsize].view(target)


# Sparse layouts: what makes such a tensor, and of which of its parts.
PARTS = {
    torch.sparse_coo: ("sparse_coo_tensor", ("_indices", "_values")),
    torch.sparse_csr: ("sparse_csr_tensor", ("crow_indices", "col_indices", "values")),
}


class Twins:
    """adjoint's counterparts of one set of arguments; what shares memory there shares it here."""

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.known: dict[int, tuple[Any, Any, Any]] = {}

    def tensor(self, value: Any) -> Any:
        """The twin of a tensor, with its strides."""
        if id(value) in self.known:
            return self.known[id(value)][2]
        if value.layout in PARTS:
            return self.sparse(value)
        if value.dtype not in DTYPES or value.layout is not torch.strided:
            raise AbsentError(f"tensors of {value.dtype}, {value.layout}")
        if value.device.type != "cpu":
            raise AbsentError(f"tensors on {value.device}")
        if value.ndim > DIMS:
            raise AbsentError(f"tensors of {value.ndim} dimensions")
        plain = dense(value)
        storage = plain.untyped_storage()
        if storage.data_ptr() not in self.memory or not storage.nbytes():
            self.memory[storage.data_ptr()] = raw(storage, plain.dtype)
        base = self.memory[storage.data_ptr()].view(DTYPES[plain.dtype].numpy_dtype)
        whole = adjoint.from_numpy(base)
        twin = whole.as_strided(plain.shape, plain.stride(), plain.storage_offset()).detach()
        if value.requires_grad:
            twin.requires_grad_()
        self.known[id(value)] = (value, plain, twin)  # alive, so that no address is used twice
        return twin

    def sparse(self, value: Any) -> Any:
        """The twin of a sparse tensor, made of those of its parts."""
        name, parts = PARTS[value.layout]
        made = getattr(compat, name)(
            *[self.tensor(getattr(value.detach(), part)()) for part in parts], tuple(value.shape)
        )
        if value.requires_grad:
            made.requires_grad_()
        self.known[id(value)] = (value, value, made)
        return made

    def of(self, value: Any) -> Any:
        """The twin of an argument, whatever it is."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            if value not in DTYPES:
                raise AbsentError(str(value))
            return DTYPES[value]
        if isinstance(value, torch.device):
            return compat.device(str(value))
        if isinstance(value, torch.layout | torch.memory_format):
            return function_at(str(value).removeprefix("torch."))
        if isinstance(value, torch.Generator):
            return compat.Generator().manual_seed(value.initial_seed())
        if isinstance(value, dict):
            return {key: self.of(each) for key, each in value.items()}
        if isinstance(value, torch.Size):
            return compat.Size(value)
        if isinstance(value, list | tuple):
            return type(value)([self.of(each) for each in value])
        if isinstance(value, slice):
            return slice(self.of(value.start), self.of(value.stop), self.of(value.step))
        if isinstance(value, torch.nn.Module):
            return function_at(f"nn.{type(value).__name__}")()
        if callable(value) and not isinstance(value, type):
            return twin_of(value)
        return value


def function_at(path: str) -> Any:
    """What compat has under one of PyTorch's paths."""
    found: Any = compat
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            raise AbsentError(f"torch.{path}") from error
    return found


def _walk(path: str) -> Iterator[tuple[int, str]]:
    home: Any = torch
    for name in path.split(".") if path else ():
        home = getattr(home, name)
    for name in dir(home):
        if not name.startswith("__") or path == "Tensor":
            found = getattr(home, name, None)
            if callable(found):
                yield id(found), f"{path}.{name}".lstrip(".")


@functools.cache
def paths() -> dict[int, str]:
    """The path of every function that PyTorch shows, by its identity; the first is the best."""
    homes = (
        "_C._nn _C._linalg _C._special _C._fft Tensor masked.norm masked signal.windows special "
        "fft linalg nn.functional"
    )
    found: dict[int, str] = {}
    for home in (*homes.split(), ""):
        found.update(_walk(home))
    return found


def called(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The call that a wrapper makes from a fixed seed, which would give other numbers here."""
    return function(*args, **kwargs)


@functools.cache
def twin_of(function: Any) -> Any:
    """adjoint's counterpart of a function."""
    if isinstance(function, functools.partial):
        twins = Twins()
        return functools.partial(
            twin_of(function.func), *twins.of(function.args), **twins.of(function.keywords)
        )
    if isinstance(function, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
        return function_at("ops." + str(function).removeprefix("torch.ops."))
    if getattr(function, "__name__", "") == "wrapper_set_seed":
        return called
    if isinstance(function, FunctionType) and function.__module__.startswith(TESTS):
        return rebuilt(function)
    if id(function) in paths():
        return function_at(paths()[id(function)])
    if str(getattr(function, "__module__", None)).startswith("torch"):
        raise AbsentError(repr(function))
    return function


def _twin_of_global(value: Any) -> Any:
    if value is torch:
        return compat
    if isinstance(value, ModuleType) and value.__name__.startswith("torch."):
        return Module(value.__name__.removeprefix("torch."))
    if isinstance(value, FunctionType | functools.partial) or id(value) in paths():
        return Late(value)
    return value


class Module:
    """One of PyTorch's modules, looked up in compat when it is used."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Any:
        return function_at(f"{self.path}.{name}")


class Late:
    """A function that is found when it is called, since functions may know one another."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return twin_of(self.function)(*args, **kwargs)


def _names(code: Any) -> set[str]:
    """The names that a function looks up, and those inside it."""
    inner = [_names(constant) for constant in code.co_consts if hasattr(constant, "co_names")]
    return set(code.co_names).union(*inner)


def rebuilt(function: FunctionType) -> Callable[..., Any]:
    """The same code, calling adjoint."""
    known = function.__globals__
    names = {
        name: _twin_of_global(known[name]) for name in _names(function.__code__) if name in known
    }
    cells = tuple(
        CellType(_twin_of_global(cell.cell_contents)) for cell in function.__closure__ or ()
    )
    twins = Twins()
    made = FunctionType(
        function.__code__,
        {"__builtins__": __builtins__, **names},
        function.__name__,
        twins.of(function.__defaults__),
        cells,
    )
    made.__kwdefaults__ = twins.of(function.__kwdefaults__)
    return made
