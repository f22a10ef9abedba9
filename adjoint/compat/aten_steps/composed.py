"""Functions that PyTorch composes otherwise than adjoint, composed its way while others look on.

Modes and classes below autograd see a function's operations. Where adjoint's own differ from
PyTorch's, a table has a function of the same arguments that is made of PyTorch's.
"""

from typing import Any, Final

from adjoint.amp.autocast_mode import autocast, is_autocast_enabled
from adjoint.call.arguments import tensors_in
from adjoint.call.context import current
from adjoint.call.half_precision import half_type
from adjoint.call.layers import lies_in
from adjoint.compat.aten import PRIVATE
from adjoint.compat.aten_forms import bound
from adjoint.compat.aten_steps import (
    composed_bags,
    composed_cells,
    composed_counts,
    composed_factors,
    composed_functions,
    composed_images,
    composed_losses,
    composed_matrices,
    composed_networks,
    composed_places,
    composed_pools,
    composed_products,
    composed_samples,
    composed_sequences,
    composed_windows,
    composed_writing,
)
from adjoint.compat.aten_steps.answering import DISABLED, GROUND, asking
from adjoint.compat.aten_steps.recorded import is_taken_apart
from adjoint.creation.windows import sampled
from adjoint.nn.layers.recurrent import along_sequences
from adjoint.ops.composites import COMPOSITES

# Those that are one operation, back too: numbers of 16 bits are rounded as often as adjoint's.
_WHOLE: Final[dict[str, Any]] = {
    **composed_pools.FUNCTIONS,
    **composed_images.FUNCTIONS,
    **composed_writing.FUNCTIONS,
    **composed_bags.FUNCTIONS,
    **composed_counts.FUNCTIONS,
}
_FUNCTIONS: Final[dict[str, Any]] = {
    **composed_products.FUNCTIONS,
    **composed_factors.FUNCTIONS,
    **composed_functions.FUNCTIONS,
    **composed_matrices.FUNCTIONS,
    **composed_samples.FUNCTIONS,
    **composed_places.FUNCTIONS,
    **composed_networks.FUNCTIONS,
    **composed_cells.FUNCTIONS,
    **composed_losses.FUNCTIONS,
    **composed_windows.FUNCTIONS,
    **_WHOLE,
}
_COMPOSED: Final = {COMPOSITES[name]: function for name, function in _FUNCTIONS.items()}
_ROUNDED_ONCE: Final = frozenset(_WHOLE.values())
_COMPOSED.update({PRIVATE[name]: each for name, each in composed_places.OPERATIONS.items()})
_COMPOSED[sampled] = composed_windows.window
_COMPOSED[along_sequences] = composed_sequences.along_sequences
# Operations that adjoint makes of several, and has no op for; its views are known as views.
_VIEWS: Final = ("alias", "index", "lift_fresh", "slice", "view")
# Those of them that are recorded as one.
_DERIVED: Final[dict[str, Any]] = {
    "_native_batch_norm_legit": composed_networks.LEGIT,
    **composed_products.DERIVED,
    **composed_images.DERIVED,
}
_THEMSELVES: Final = {each: name for name, each in PRIVATE.items() if name not in _VIEWS}
_THEMSELVES[COMPOSITES["is_same_size"]] = "is_same_size"


# Functions that autocast leaves alone, by the kinds of devices; kernels.py says which.
WITHOUT_AUTOCAST: Final[dict[Any, set[str]]] = {}


def composed(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """See tensors.upper; not inside transforms, nor under autocast and others who watch calls.

    Complex numbers, and mostly those of 16 bits, are left to adjoint's ops, wider inside.
    """
    called = getattr(called, "double_of", called)
    for kind in WITHOUT_AUTOCAST.get(called, ()):
        if is_autocast_enabled(kind):
            with autocast(kind, enabled=False):
                return called(*args, **kwargs)
    function, itself = _COMPOSED.get(called), _THEMSELVES.get(called)
    settings = current()
    if function is None and itself is None:
        return NotImplemented
    tensors = tensors_in([*args, *kwargs.values()])
    held = any(t.special and lies_in(t, GROUND) for t in tensors)
    if not settings.modes and (not held or DISABLED.get()):
        return NotImplemented
    if settings.watchers or settings.functions or is_taken_apart():
        return NotImplemented
    if kwargs.get("out") is not None:
        return NotImplemented
    if any(tensor.layer is not None and not lies_in(tensor, GROUND) for tensor in tensors):
        return NotImplemented
    is_complex = any(tensor.array.dtype.kind == "c" for tensor in tensors)
    is_narrow = any(half_type(tensor.array) is not None for tensor in tensors)
    if function is None:
        assert itself is not None
        if settings.recording and any(tensor.needs_grad for tensor in tensors):
            operation, found = _DERIVED.get(itself), bound(itself, args, kwargs)
            if operation is None or found is None or is_complex or is_narrow:
                return NotImplemented  # its steps are recorded
            given, named = found[0].spelled(found[1])
            return operation(*given, **named)
        with asking() as ask:
            return ask(itself, *args, **kwargs)
    is_whole = function in _ROUNDED_ONCE
    if is_complex or (is_narrow and not is_whole):
        return NotImplemented
    return function(*args, **kwargs)
