"""Private members of PyTorch's recurrent layers: their weights in one list."""

from typing import Any


def _flat_weights(self: Any) -> list[Any]:
    """The weights of all directions of all layers."""
    return [weight for weights in self.all_weights for weight in weights]


def _all_weights(self: Any) -> list[list[str]]:
    """The names of the weights of each direction of each layer."""
    return [
        [f"{name}_l{layer}{direction}" for name in self._shapes(layer)]
        for layer in range(self.num_layers)
        for direction in self._directions()
    ]


def _flat_weights_names(self: Any) -> list[str]:
    """The names of the weights of all directions of all layers."""
    return [name for names in _all_weights(self) for name in names]


METHODS: dict[str, Any] = {
    "_flat_weights": property(_flat_weights),
    "_flat_weights_names": property(_flat_weights_names),
    "_all_weights": property(_all_weights),
}
