"""Operations of PyTorch's that pick the greatest of windows, or put it back, and their gradients.

torch.ops.aten has them by name, and modes and classes below autograd see them (aten_steps).
"""

from typing import Any, Final

from adjoint.ops.arranging.indexing import scatter_add
from adjoint.ops.arranging.shape import flatten, reshape
from adjoint.ops.composites import COMPOSITES
from adjoint.ops.neural.pooling import unpooled_images
from adjoint.ops.shared_rules import zero_of


def _named(function: Any, name: str, text: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def put_back(name: str, rank: int, grad_output: Any, input: Any, indices: Any) -> Any:
    """A gradient at the places that the greatest elements had, added where windows overlap."""
    if grad_output.shape != indices.shape:
        raise RuntimeError(
            f"{name}(): grad_output and indices must have one shape, got "
            f"{list(grad_output.shape)} and {list(indices.shape)}"
        )
    nothing = zero_of(flatten(input, -rank))  # the result depends on input, with slope 0
    places, grads = flatten(indices, -rank), flatten(grad_output, -rank)
    return reshape(scatter_add(nothing, -1, places, grads), tuple(input.shape))


def _adaptive(rank: int) -> tuple[Any, Any]:
    name = f"adaptive_max_pool{rank}d"

    def forward(input: Any, output_size: Any) -> Any:
        return COMPOSITES[name](input, tuple(output_size), return_indices=True)

    def backward(grad_output: Any, input: Any, indices: Any) -> Any:
        return put_back(f"{name}_backward", rank, grad_output, input, indices)

    return (
        _named(forward, name, "The greatest of windows that divide images, and their places."),
        _named(backward, f"{name}_backward", f"The gradient of {name}."),
    )


def _fractional(rank: int) -> tuple[Any, Any]:
    name = f"fractional_max_pool{rank}d"

    def forward(input: Any, kernel_size: Any, output_size: Any, random_samples: Any) -> Any:
        sizes = tuple(kernel_size), tuple(output_size)
        return COMPOSITES[name](input, *sizes, None, True, random_samples)

    def backward(
        grad_output: Any, input: Any, kernel_size: Any, output_size: Any, indices: Any
    ) -> Any:
        return put_back(f"{name}_backward", rank, grad_output, input, indices)

    return (
        _named(forward, name, "The greatest of windows that samples choose, and their places."),
        _named(backward, f"{name}_backward", f"The gradient of {name}."),
    )


def max_unpool2d(input: Any, indices: Any, output_size: Any) -> Any:
    """Images of zeros, with the elements of input where indices say."""
    return unpooled_images("max_unpool2d", input, indices, tuple(output_size))


def max_unpool3d(input: Any, indices: Any, output_size: Any, stride: Any, padding: Any) -> Any:
    """Volumes of zeros, with the elements of input where indices say."""
    return unpooled_images("max_unpool3d", input, indices, tuple(output_size))


POOLS: Final = (
    *_adaptive(2),
    *_adaptive(3),
    *_fractional(2),
    *_fractional(3),
    max_unpool2d,
    max_unpool3d,
)
