"""Functions whose first argument is not the tensor that they are a method of."""

import inspect
from inspect import Parameter, Signature
from types import MethodType
from typing import Any

from adjoint.call.overriding import answered_elsewhere, offered
from adjoint.ops.as_method import as_attribute
from adjoint.ops.signatures import Described
from adjoint.tensors.tensor import Tensor


class TensorFirst(Described):
    """A function of something and a tensor, with the tensor first: how a method calls it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__: str = function.__name__
        self.describe(function.__doc__, function)

    def __call__(self, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere((tensor, *args), kwargs):
            return offered(self, (tensor, *args), kwargs)
        if not args:
            name = next(iter(inspect.signature(self.function).parameters))
            if name in kwargs:
                return self.function(kwargs.pop(name), tensor, **kwargs)
            raise TypeError(f"{self.__name__}() missing 1 required argument: '{name}'")
        return self.function(args[0], tensor, *args[1:], **kwargs)

    def public_signature(self) -> Signature:
        own = inspect.signature(self.function)
        first, tensor, *rest = own.parameters.values()
        parameters = [
            tensor.replace(kind=Parameter.POSITIONAL_ONLY, default=Parameter.empty),
            first,
            *rest,
        ]
        return own.replace(parameters=parameters)


class MethodOrder(Described):
    """A function that, as a method, takes the tensor as its second argument."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.method = TensorFirst(function)
        self.__name__: str = function.__name__
        self.describe(function.__doc__, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if answered_elsewhere(args, kwargs):
            return offered(self, args, kwargs)
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if not isinstance(instance, Tensor):
            return as_attribute(self, owner)
        return MethodType(self.method, instance)

    def as_method(self) -> TensorFirst:
        """What `Tensor.where` is."""
        return self.method

    def __reduce__(self) -> str:
        return self.__name__  # which it has in its module

    def public_signature(self) -> Signature:
        return inspect.signature(self.function)
