"""Tensors as text."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

from adjoint.backends import Namespace, backend_of
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import current
from adjoint.call.held import Held
from adjoint.call.layers import newest, tracked_by
from adjoint.dtypes import (
    COMPLEX,
    bool_,
    category_of,
    default_complex,
    get_default_dtype,
    int64,
)
from adjoint.tensors.tensor import Tensor
from adjoint.tensors.upper import renewed

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

np = numpy_backend.xp


class _Options:
    """How tensors are shown."""

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None  # None: by the size of the numbers


OPTIONS = _Options()
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Digits after the point, elements before a summary, its edges, width, and notation."""
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    chosen = {} if profile is None else _PROFILES[profile]
    found = {name: value for name, value in given.items() if value is not None}
    vars(OPTIONS).update({**chosen, **found, "sci_mode": sci_mode})


def get_printoptions() -> dict[str, Any]:
    """The settings of set_printoptions."""
    return dict(vars(OPTIONS))


class printoptions(contextlib.ContextDecorator, Held):
    """set_printoptions for the time of a `with`."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.before: list[dict[str, Any]] = []  # before each entry, the innermost last

    def _variable(self) -> Any:
        """See Held."""
        return self

    def _inside(self, before: Any) -> Any:
        """See Held."""
        self.before.append(before)
        return self.options

    def _outside(self, now: Any) -> Any:
        """See Held."""
        return self.before[-1]

    def _left(self) -> None:
        """See Held."""
        del self.before[-1:]

    def get(self) -> dict[str, Any]:
        """All options."""
        return get_printoptions()

    def set(self, options: dict[str, Any]) -> None:
        """Let them be these."""
        set_printoptions(**options)


# ---- numbers ----


class _Style:
    """How the elements of one tensor are written, and how wide that is."""

    def __init__(self, write: Callable[[Any], str], width: int) -> None:
        self.write = write
        self.width = width

    def __call__(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


def _style(values: Any) -> _Style:
    """The style for a flat array of elements."""
    if values.dtype.kind in "bui":
        return _Style(str, max(len(str(value)) for value in values.tolist()))
    if category_of(values.dtype) == COMPLEX:
        return _complex_style(values)
    return _float_style(values.astype("float64"))


def _float_style(values: Any) -> _Style:
    """Plain digits where they show enough of every number, powers of ten otherwise."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    scientific, whole = False, True
    if sizes.size:
        low, high = float(sizes.min()), float(sizes.max())
        whole = bool(np.all(sizes == np.ceil(sizes)))
        scientific = high / low > 1000.0 or high > 1.0e8 or (not whole and low < 1.0e-4)
        if OPTIONS.sci_mode is not None:
            scientific = OPTIONS.sci_mode
    write = _float_writer(scientific, whole)
    seen = values[np.isfinite(values) & (values != 0)].tolist()
    return _Style(write, max((len(write(value)) for value in seen), default=1))


def _float_writer(scientific: bool, whole: bool) -> Callable[[float], str]:
    precision = OPTIONS.precision

    def write(value: float) -> str:
        if scientific:
            return f"{value:.{precision}e}"
        if not whole:
            return f"{value:.{precision}f}"
        return f"{value:.0f}" + ("." if math.isfinite(value) else "")

    return write


def _complex_style(values: Any) -> _Style:
    """Both parts, each in the style of its kind."""
    values = values.astype("complex128")
    real, imaginary = _float_style(values.real), _float_style(values.imag)

    def write(value: complex) -> str:
        second = imaginary(value.imag).lstrip() + "j"
        return real(value.real) + ("" if second[0] in "+-" else "+") + second

    return _Style(write, real.width + imaginary.width + 1)


# ---- arrays ----


def _edges(array: Any) -> Any:
    """The elements a summary shows."""
    edge = OPTIONS.edgeitems
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            shown = [*range(edge), *range(length - edge, length)]
            array = np.take(array, shown, axis=axis)
    return array


def _body(array: Any, indent: int, style: _Style, summarise: bool) -> str:
    """Nested brackets; `indent` is the column they begin in."""
    edge = OPTIONS.edgeitems
    if array.ndim == 0:
        return _padded(array, style)(array.item())
    cut = summarise and len(array) > 2 * edge
    if array.ndim == 1:
        return _row(array, indent, style, cut)
    groups = [array[:edge], array[-edge:]] if cut else [array]
    parts = [[_body(row, indent + 1, style, summarise) for row in group] for group in groups]
    lines = [*parts[0], "...", *parts[1]] if cut else parts[0]
    gap = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return f"[{gap.join(lines)}]"


def _row(array: Any, indent: int, style: _Style, cut: bool) -> str:
    """One dimension, in as many lines as it takes."""
    edge = OPTIONS.edgeitems
    groups = [array[:edge], array[-edge:]] if cut else [array]
    parts = [[*map(_padded(array, style), group.tolist())] for group in groups]
    words = [*parts[0], " ...", *parts[1]] if cut else parts[0]
    count = max(1, (OPTIONS.linewidth - indent) // (style.width + 2))
    lines = [", ".join(words[i : i + count]) for i in range(0, len(words), count)]
    gap = ",\n" + " " * (indent + 1)
    return f"[{gap.join(lines)}]"


def _padded(array: Any, style: _Style) -> Callable[[Any], str]:
    """Complex numbers are padded in their parts, all others as a whole."""
    return style.write if category_of(array.dtype) == COMPLEX else style


# ---- the whole ----


def _is_seen(self: Tensor) -> bool:
    """Whether it has elements to show."""
    xp: Namespace = backend_of(self.array).xp
    return xp.valued()


def _notes(self: Tensor) -> list[str]:
    """What is said after the elements."""
    notes: list[str] = []
    if self.device.type != "cpu":
        notes.append(f"device='{self.device}'")
    kind = self.dtype
    layer = newest([self])
    made_of_parts = layer is not None and layer.shown_parts() is not None
    if layer is not None and made_of_parts:
        notes += layer.notes()
    unseen = not _is_seen(self)
    if self.array.size == 0 or unseen:
        if (self.ndim != 1 or unseen) and not made_of_parts:
            notes.append(f"size={tuple(self.array.shape)}")
        if kind is not get_default_dtype():
            notes.append(f"dtype={kind!r}")
    elif kind not in (get_default_dtype(), default_complex(), int64, bool_):
        notes.append(f"dtype={kind!r}")
    if made_of_parts:
        notes.append(f"layout={self.layout!r}")  # type: ignore[attr-defined]  # given by ops
    try:
        node = self.grad_fn
    except RuntimeError:  # a view whose memory was changed in a way that left it no gradient
        return [*notes, "grad_fn=<Invalid>"]
    if node is not None:
        notes.append(f"grad_fn=<{node.name()}>")
    elif self.requires_grad:
        notes.append("requires_grad=True")
    return notes if layer is None or made_of_parts else [*notes, *layer.notes()]


def tensor_text(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """tensor([1., 2.], requires_grad=True); a class may say what stands for the elements."""
    if tensor_contents is not None:
        return _shown_as(self, lambda indent: tensor_contents)
    tracked, others = tracked_by(self)
    if tracked:
        below: Any = renewed(self)
        below.needs_grad = others
        value = repr(below)
        for derivative in tracked:
            value = f"GradTrackingTensor(lvl={derivative.depth}, value={value})"
        return value
    if self.layer is not None:
        shown: str | None = self.layer.text()
        if shown is not None:
            return shown
        parts = self.layer.shown_parts()
        if parts is not None:
            return _parts_text(self, parts)
    return _shown_as(self, lambda indent: _elements(self, indent))


def _shown_as(self: Tensor, contents: Callable[[int], str]) -> str:
    """The name of the class around the contents, which know how far they are moved, and notes."""
    kind = type(self)
    opening = "tensor(" if kind is Tensor else f"{kind.__name__}("
    text = _noted(opening + contents(len(opening)), _notes(self), len(opening)) + ")"
    marked = kind is not Tensor and getattr(self, "_is_param", False)  # nn's mark of a parameter
    return f"Parameter({text})" if marked else text


def _elements(self: Tensor, indent: int) -> str:
    """The elements in nested brackets, or the edges of many."""
    if not _is_seen(self):
        return "..."
    tracing = current().tracing
    if tracing is not None and self.layer is None:
        tracing.refuse_value(self)
    array = backend_of(self.array).to_numpy(self.current_array())
    if array.size == 0:
        return "[]"
    summarise = array.size > OPTIONS.threshold
    style = _style((_edges(array) if summarise else array).reshape(-1))
    if array.dtype.kind not in "buifc":  # of another library, which writes numbers its own way
        array = array.astype("complex64" if category_of(array.dtype) == COMPLEX else "float32")
    return _body(array, indent, style, summarise)


def _noted(text: str, notes: list[str], indent: int) -> str:
    """Text and the notes after it, in as many lines as it takes."""
    column = len(text) - text.rfind("\n") + 1
    for note in notes:
        if column + len(note) + 2 > OPTIONS.linewidth:
            text += ",\n" + " " * indent + note
            column = indent + len(note)
        else:
            text += ", " + note
            column += len(note) + 2
    return text


def _parts_text(self: Tensor, parts: dict[str, Tensor]) -> str:
    """A tensor that shows the tensors it is made of, one below the other."""
    kind = type(self)
    opening = "tensor(" if kind is Tensor else f"{kind.__name__}("
    indent = len(opening)
    lines: list[str] = []
    for name, part in parts.items():
        shown = _elements(part, indent + len(name) + 8)
        empty = f", size={tuple(part.array.shape)}" if part.array.size == 0 else ""
        lines.append(f"{name}=tensor({shown}{empty})")
    text = opening + (",\n" + " " * indent).join(lines)
    first, *rest = _notes(self)
    if len(parts) == 2:  # of coordinates and values; PyTorch breaks the line there
        return _noted(text + ",\n" + " " * indent + first, rest, indent) + ")"
    return _noted(text, [first, *rest], indent) + ")"


def format_tensor(self: Tensor, spec: str) -> str:
    """A single number is formatted as Python's; anything else only as a whole."""
    if self.array.ndim == 0 and _is_seen(self):
        if spec:
            return format(self.detach().item(), spec)
        if type(self) is Tensor:
            return str(self.detach().item())
    return object.__format__(self, spec)


METHODS: dict[str, Any] = {
    "__repr__": tensor_text,
    "__format__": format_tensor,
}
