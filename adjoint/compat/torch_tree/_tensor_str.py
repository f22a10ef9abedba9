"""torch._tensor_str: the text of a tensor, for programs that give Tensor another `__repr__`."""

from adjoint.tensors.printing import (
    OPTIONS,
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    tensor_text,
)

PRINT_OPTS = OPTIONS
_str = tensor_text
