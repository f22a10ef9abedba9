"""What PyTorch has and adjoint has not: importable, and an error that names it when it is used."""

import abc
import functools
import importlib
from types import ModuleType
from typing import Any, NoReturn

from adjoint.compat import pytorch_names

# Why a part of PyTorch is not there; the nearest path above a name decides.
_REASONS = {
    "": "adjoint is PyTorch's autograd and what belongs to it",
    "ao": "there are no quantised tensors",
    "quantization": "there are no quantised tensors",
    "sparse": "sparse tensors have the layouts sparse_coo, sparse_csr and sparse_csc alone",
    "nested": "tensors have one shape",
    "_dynamo": "nothing is compiled from byte code; adjoint.compile traces functions",
    "_inductor": "nothing is compiled from byte code; XLA compiles what adjoint.compile traces",
    "_export": "programs are not exported",
    "export": "programs are not exported",
    "fx": "graphs are traced, changed and run; of the passes over them only some are there",
    "jit": "programs run in Python; nothing is scripted",
    "onnx": "programs are not exported",
    "cuda": "GPUs are reached through CuPy, which has streams, graphs and memory pools of its own",
    "xpu": "there is no such device",
    "mps": "there is no such device",
    "mtia": "there is no such device",
    "_subclasses": "of PyTorch's own classes of tensors there are fake ones",
    "utils.data": "an iterable of batches is the program's own",
    "utils.tensorboard": "graphs, meshes, sounds and films are not logged",
    "masked": "masks are arguments of functions, and of MaskedTensor",
    "hub": "files are downloaded, repositories are not",
    "utils.cpp_extension": "no C++ is involved; see adjoint.library for operations of one's own",
}
_PREFIX = "adjoint.compat.torch."

# Classes that many of PyTorch's modules import, and so have: where they are at home.
_AT_HOME = {
    "": "Size Tensor dtype finfo iinfo layout memory_format no_grad",
    "_C": "DispatchKey DispatchKeySet DisableTorchFunction DisableTorchFunctionSubclass",
    "_ops": "OpOverload OpOverloadPacket",
    "autograd": "Function Variable",
    "distributed": "ReduceOp",
    "distributions.utils": "lazy_property",
    "fx": "GraphModule",
    "fx.immutable_collections": "immutable_dict immutable_list",
    "jit": "ScriptFunction",
    "nn.common_types": "_ratio_2_t _ratio_3_t _ratio_any_t _size_1_t _size_2_opt_t _size_2_t "
    "_size_3_opt_t _size_3_t _size_4_t _size_6_t _size_any_opt_t _size_any_t",
    "nn.modules.lazy": "LazyModuleMixin",
    "nn.utils.rnn": "PackedSequence",
    "optim": "Optimizer",
    "overrides": "TorchFunctionMode",
    "profiler": "ProfilerActivity",
    "types": "FileLike _bool _device _dtype _int _size",
    "utils._contextlib": "_DecoratorContextManager",
    "utils._python_dispatch": "TorchDispatchMode",
    "utils._pytree": "SequenceKey",
    "utils.data": "IterDataPipe MapDataPipe",
    "utils.weak": "WeakIdKeyDictionary WeakTensorKeyDictionary",
}
IMPORTED = {name: home for home, names in _AT_HOME.items() for name in names.split()}


class MissingNameError(AttributeError):
    """A name of PyTorch's that adjoint does not have was used."""


class NoDeviceError(MissingNameError, RuntimeError):
    """A function of a device was called that is not there: programs look for one this way."""


DEVICES = ("mps", "mtia", "xpu")


def function_of_device(path: str) -> Any:
    """A function of a device that is not there: it can be mentioned, and most fail when called."""
    name = path.rpartition(".")[2]

    def absent(*args: Any, **kwargs: Any) -> None:
        if not name.startswith("manual_seed"):  # which programs call for all devices
            raise NoDeviceError(str(missing(path)))

    absent.__name__ = absent.__qualname__ = name
    return absent


def torch_path(module_name: str) -> str:
    """`nn.functional` of `adjoint.compat.torch.nn.functional`; empty for the top."""
    return module_name[len(_PREFIX) :]


def _reason(path: str) -> str:
    while path not in _REASONS:
        path = path.rpartition(".")[0]
    return _REASONS[path]


def missing(path: str) -> MissingNameError:
    """The error about a path below torch."""
    own = path.startswith("ops.") and not path.startswith("ops.aten.")  # a program's, not PyTorch's
    if not own and not pytorch_names.is_known(path):
        parent, _, name = f"torch.{path}".rpartition(".")
        return MissingNameError(f"module {parent!r} has no attribute {name!r}: nor has PyTorch's")
    return MissingNameError(f"torch.{path} is not in adjoint: {_reason(path)}")


class Missing(ModuleType):
    """Stands for a module, class or function that was imported but is not there.

    An import is no use, and neither is an annotation, a class derived from it that is never
    instantiated, or the question whether something is an instance of it. All else is an error.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, f"torch.{torch_path(name)}, which is not in adjoint.")
        self.__path__: list[str] = []

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise missing(torch_path(self.__name__))

    def __getattr__(self, name: str) -> Any:
        own = torch_path(self.__name__)
        path = f"{own}.{name}"
        if name == "torch":
            return importlib.import_module(_PREFIX[:-1])  # which PyTorch's modules import
        if name == "__all__" and pytorch_names.is_module(own):
            return pytorch_names.public_names(own)
        if pytorch_names.is_module(path):
            return importlib.import_module(f"{self.__name__}.{name}")
        if pytorch_names.is_class(path):
            return class_of(path)
        if name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        if not pytorch_names.is_listed(path):
            raise missing(path)
        # Of a part that is there by name alone, what it has can be mentioned as well.
        found = vars(self)[name] = Missing(f"{self.__name__}.{name}")
        return found

    def __repr__(self) -> str:
        return f"<torch.{torch_path(self.__name__)}, which is not in adjoint>"

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, subclass: Any) -> bool:
        return False

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type(self.__name__.rpartition(".")[2], (), {"__new__": self._fail}),)

    def __or__(self, other: Any) -> Any:
        return Any

    def __getitem__(self, parameters: Any) -> Any:
        return self

    __ror__ = __or__
    __call__ = __iter__ = __enter__ = __bool__ = __len__ = _fail

    def __exit__(self, *exc: object) -> None:
        """Only there because `with` looks for it before it enters."""


class MissingClass(abc.ABCMeta):
    """The class of PyTorch's classes that are not there: they can be named, not used.

    An annotation, a base class, and the question whether something is an instance are no use.
    """

    path: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise missing(cls.path)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        if name.isupper():  # a member of an enumeration, which is named in defaults as well
            return placeholder(f"{cls.path}.{name}")
        raise missing(f"{cls.path}.{name}")

    def __getitem__(cls, parameters: Any) -> Any:
        return cls

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.path}', which is not in adjoint>"


def class_of(path: str) -> Any:
    """A class that a module of PyTorch's imports, or what stands for one that is not there."""
    home, _, name = path.rpartition(".")
    if IMPORTED.get(name, home) == home:
        return placeholder(path)
    return getattr(importlib.import_module(f"{_PREFIX}{IMPORTED[name]}".rstrip(".")), name)


@functools.cache
def placeholder(path: str) -> MissingClass:
    """The class that stands for one of PyTorch's; a warning or error can be asked for as one."""
    home, _, name = f"torch.{path}".rpartition(".")
    bases: dict[str, type] = {"Warning": Warning, "Error": Exception, "Exception": Exception}
    base = next((kind for end, kind in bases.items() if name.endswith(end)), object)
    return MissingClass(name, (base,), {"path": path, "__module__": home})
