"""What PyTorch says of operations; of its own, `aten_tags.txt` lists it (tools/aten_forms.py)."""

import enum
import functools
from pathlib import Path


class Tag(enum.Enum):
    """What may be said of an operation for PyTorch's compilers; adjoint only remembers it."""

    core = 0
    cudagraph_unsafe = 1
    data_dependent_output = 2
    dynamic_output_shape = 3
    flexible_layout = 4
    generated = 5
    inplace = 6
    inplace_view = 7
    maybe_aliasing_or_mutating = 8
    needs_contiguous_strides = 9
    needs_exact_strides = 10
    needs_fixed_stride_order = 11
    nondeterministic_bitwise = 12
    nondeterministic_seeded = 13
    out = 14
    out_variant = 15
    pointwise = 16
    pt2_compliant_tag = 17
    reduction = 18
    view_copy = 19


@functools.cache
def _listed() -> dict[str, list[Tag]]:
    """The tags of overloads of aten's."""
    found: dict[str, list[Tag]] = {}
    for line in Path(__file__).with_name("aten_tags.txt").read_text(encoding="utf-8").splitlines():
        tag, *overloads = line.split(" ")
        for overload in overloads:
            found.setdefault(overload, []).append(Tag[tag])
    return found


def of_aten(overload: str) -> list[Tag]:
    """The tags of an overload, as add.Tensor."""
    return [*_listed().get(overload, ()), Tag.pt2_compliant_tag]
