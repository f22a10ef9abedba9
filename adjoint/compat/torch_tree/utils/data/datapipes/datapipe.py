"""torch.utils.data.datapipes.datapipe: the classes that such datasets derive from."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

from adjoint.utils.data.dataset import Dataset, IterableDataset


class _Named:
    """Classes of datasets, each under the name of a method that makes one of another dataset."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __getattr__(self, attribute_name: str) -> Any:
        if attribute_name not in type(self).functions:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {attribute_name!r}")
        return functools.partial(type(self).functions[attribute_name], self)

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any) -> None:
        """Let instances have a method of this name that makes a dataset of the class."""
        if function_name in cls.functions:
            raise Exception(  # noqa: TRY002  # PyTorch's class of error
                f"{function_name} is the name of another dataset, "
                f"{cls.functions[function_name].__name__}, already"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let instances have a method of this name."""
        cls.functions[function_name] = function


class IterDataPipe(_Named, IterableDataset[Any]):
    """A dataset that is iterated over, often made of another."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class MapDataPipe(_Named, Dataset[Any]):
    """A dataset with indices, often made of another."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
