"""Functions whose first argument is not the tensor that they are a method of."""

from typing import Any


class MethodOrder:
    """A function that, as a method, takes the tensor as its second argument."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__: str = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        return lambda first, *rest, **kwargs: self.function(first, instance, *rest, **kwargs)
