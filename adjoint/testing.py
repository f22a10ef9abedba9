"""What the generated tests draw from: samples of every op and composite.

A sample's array arguments are NumPy arrays, also inside lists: the tests make tensors of adjoint,
tensors of PyTorch, or arrays of another library from them. Floating arrays of a sample are
differentiated unless `differentiate` says otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Sample:
    """One call of an op."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiate: bool = True  # False: only values are compared (indices, comparisons, ties)
    second_order: bool = True
    torch: str | Callable[..., Any] | None = None  # PyTorch's path, if not torch.<name>
    compare_values: bool = True  # False: values are not unique (eigenvectors), gradients are
    without: dict[str, str] = field(default_factory=dict)  # backend → why it can't run there


SamplesFunction = Callable[[np.random.Generator], Iterator[Sample]]
SAMPLES: dict[str, SamplesFunction] = {}


def samples(*names: str) -> Callable[[SamplesFunction], SamplesFunction]:
    """Register a generator of samples for one or several ops that take the same arguments."""

    def register(function: SamplesFunction) -> SamplesFunction:
        for name in names:
            if name in SAMPLES:
                raise ValueError(f"samples of {name} are registered twice")
            SAMPLES[name] = function
        return function

    return register
