"""Names of torch itself that adjoint leaves out: old ones and private ones."""

from typing import Any

from adjoint.amp.autocast_mode import (
    autocast as autocast,
    clear_autocast_cache as clear_autocast_cache,
    get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    get_autocast_dtype as get_autocast_dtype,
    get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    is_autocast_cache_enabled as is_autocast_cache_enabled,
    is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    is_autocast_enabled as is_autocast_enabled,
)
from adjoint.amp.grad_scaler import GradScaler as GradScaler
from adjoint.compat.narrow_types import NARROW
from adjoint.compat.old_tensor_types import (
    CPU_TYPES,
    set_default_tensor_type as set_default_tensor_type,
)
from adjoint.compat.storages import (
    CLASSES as STORAGES,
    TypedStorage as TypedStorage,
    UntypedStorage as UntypedStorage,
    is_storage as is_storage,
)
from adjoint.compat.uncompiled import compile as compile
from adjoint.compat.versions import __version__ as __version__
from adjoint.ops.arranging.conversion import layout
from adjoint.ops.foreach import FOREACH
from adjoint.tensors.tensor import Tensor

Storage = STORAGES["FloatStorage"]

# Layouts that no tensor has, so that making one is refused.
sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = map(
    layout, ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
)

# A method of Tensor, attached by this package, that torch has as a function too.
_METHODS = ("resize_as_",)


class _Method:
    """A method of Tensor as a function; looked up when called, so that subclasses have theirs."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, self.__name__)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function torch.{self.__name__}>"


globals().update({name: _Method(name) for name in _METHODS})
globals().update(CPU_TYPES)
globals().update(STORAGES)
globals().update(FOREACH)
globals().update(NARROW)
