"""torch.utils.weak: dictionaries whose keys are tensors, compared by identity and held weakly."""

import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

TensorWeakRef = weakref.ref


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that equals another if both are to the same object."""

    __slots__ = ("identity",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]  # typeshed has only __new__
        self.identity = id(key)

    def __hash__(self) -> int:
        return self.identity

    def __eq__(self, other: object) -> bool:
        found = self()
        return self is other or (
            found is not None and isinstance(other, WeakIdRef) and found is other()
        )


class _Values(dict[WeakIdRef, Any]):
    """A dictionary that can be weakly referenced."""


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary that compares keys by identity and forgets those that nobody else holds."""

    def __init__(self, initial: Any = None) -> None:
        self._values = _Values()
        if initial is not None:
            self.update(initial)

    def __getitem__(self, key: Any) -> Any:
        return self._values[WeakIdRef(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._values[WeakIdRef(key, self._forget())] = value

    def _forget(self) -> Callable[[Any], None]:
        """What a reference calls when its key is gone; it does not keep the dictionary alive."""
        weak = weakref.ref(self._values)

        def forget(reference: Any) -> None:
            values = weak()
            if values is not None:
                values.pop(reference, None)

        return forget

    def __delitem__(self, key: Any) -> None:
        del self._values[WeakIdRef(key)]

    def __contains__(self, key: object) -> bool:
        return WeakIdRef(key) in self._values

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self._values):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return len(self._values)


WeakTensorKeyDictionary = WeakIdKeyDictionary
WeakTensorRefKey = WeakIdRef
