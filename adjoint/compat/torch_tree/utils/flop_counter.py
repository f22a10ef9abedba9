"""torch.utils.flop_counter: how many multiplications and additions a program makes."""

import functools
import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Self

from adjoint.compat.torch_tree import ops
from adjoint.compat.torch_tree.utils._python_dispatch import TorchDispatchMode
from adjoint.pytree import tree_map
from adjoint.tensors.tensor import Tensor
from adjoint.utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

aten: Any = ops.__getattr__("aten")
flop_registry: dict[Any, Any] = {}
_SUFFIXES = ("", "K", "M", "B", "T")


def _product(sizes: Iterable[int]) -> int:
    return int(math.prod(sizes))


def get_shape(i: Any) -> Any:
    """The sizes of a tensor; anything else as it is."""
    return tuple(i.shape) if isinstance(i, Tensor) else i


def shape_wrapper(f: Callable[..., int]) -> Callable[..., int]:
    """A formula of sizes as one of tensors."""

    @functools.wraps(f)
    def call(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=shape, **kwargs)

    return call


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Any], Any]:
    """Decorates a function that says how much an op costs: of sizes and `out_shape`.

    With get_raw=True it is given the tensors themselves, and `out_val`.
    """

    def register(formula: Any) -> Any:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, ops.OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula: expected each target to be OpOverloadPacket "
                    f"(torch.ops.mylib.foo), got a {type(target).__name__}"
                )
            if target in flop_registry:
                raise RuntimeError(
                    f"register_flop_formula: {target} has a formula already; a FlopCounterMode "
                    "takes another as custom_mapping={target: formula}"
                )
            flop_registry[target] = formula if get_raw else shape_wrapper(formula)
        return formula

    return register


# ---- formulas ----


def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Of a product of matrices, or of batches of them."""
    return 2 * _product(out_shape) * int(a_shape[-1])


bmm_flop = mm_flop


def addmm_flop(
    self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Of a product that is added to something."""
    return 2 * _product(out_shape) * int(a_shape[-1])


baddbmm_flop = addmm_flop


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """Of a convolution, by the sizes of its input, weight and result."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * int(x_shape[0]) * _product(places) * _product(w_shape)


def conv_flop(
    x_shape: Any,
    w_shape: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def conv_backward_flop(
    grad_shape: Any,
    x_shape: Any,
    w_shape: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
    out_shape: Any,
) -> int:
    """Of the gradients of a convolution: a convolution for the input, and one for the weight."""
    total = 0
    if output_mask[0]:
        total += conv_flop_count(grad_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        images, places = (grad_shape, x_shape) if transposed else (x_shape, grad_shape)
        total += 2 * int(images[1]) * _product(w_shape[2:]) * _product(places)
    return total


def _filters_flop(x: Any, grad: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * int(grad[0]) * _product(grad[2:]) * _product(out_shape)


def _contracted_flop(a: Any, b: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    labels = [part for part in args if isinstance(part, (str, list, tuple))]
    sizes: dict[Any, int] = {}
    for shape, names in zip((a, b), labels, strict=False):
        sizes.update(zip(names, shape, strict=False))
    return 2 * _product(sizes.values())


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Of attention: the scores, and the mean of values that they weigh."""
    if query_shape[1] % key_shape[1] or key_shape[:-1] != value_shape[:-1]:
        raise AssertionError(
            f"attention: keys of shape {key_shape} and values of shape {value_shape} do not go "
            f"with queries of shape {query_shape}"
        )
    *front, targets, width = query_shape
    sources, out_width = key_shape[-2], value_shape[-1]
    return 2 * _product([*front, targets, sources, width + out_width])


def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kw: Any
) -> int:
    """Of attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(
    grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any
) -> int:
    """Of the gradients of attention, whose scores are computed once more."""
    *front, targets, width = query_shape
    sources, out_width = key_shape[-2], value_shape[-1]
    return 2 * _product([*front, targets, sources, 3 * width + 2 * out_width])


def sdpa_backward_flop(
    grad_out_shape: Any,
    query_shape: Any,
    key_shape: Any,
    value_shape: Any,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Of the gradients of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


def _slope_flop(grad: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * _product(out_shape) * int(grad[-1])


for _target, _formula in {
    "mm": mm_flop,
    "addmm": addmm_flop,
    "bmm": bmm_flop,
    "baddbmm": baddbmm_flop,
    "convolution": conv_flop,
    "_convolution": conv_flop,
    "convolution_backward": conv_backward_flop,
    "_scaled_dot_product_efficient_attention": sdpa_flop,
    "_scaled_dot_product_efficient_attention_backward": sdpa_backward_flop,
    "_scaled_dot_product_flash_attention": sdpa_flop,
    "_scaled_dot_product_flash_attention_backward": sdpa_backward_flop,
}.items():
    register_flop_formula(getattr(aten, _target))(_formula)
# Operations of adjoint's own that cost something, and PyTorch's of the same kind.
_OWN: dict[str, tuple[Any, str]] = {
    "contract": (_contracted_flop, "bmm"),
    "convolve_filters": (_filters_flop, "convolution_backward"),
    "attend": (sdpa_flop, "scaled_dot_product_attention"),
    "score_slope": (_slope_flop, "scaled_dot_product_attention"),
}


# ---- counting ----


class _Counting(TorchDispatchMode):
    """Tells a counter of each operation."""

    supports_higher_order_operators = None

    def __init__(self, counter: "FlopCounterMode") -> None:
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.counter.note(func, out, args, kwargs or {})
        return out


class FlopCounterMode:
    """Inside its block, counts the multiplications and additions of products, by module and op."""

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn("mods is not needed: modules are found when they run", stacklevel=2)
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None
        given = {
            packet: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for packet, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **given}

    def note(self, func: Any, out: Any, args: Any, kwargs: Any) -> None:
        """Count a call that was made."""
        packet, name = func.overloadpacket, func.overloadpacket.__name__
        if packet in self.flop_registry:
            cost = self.flop_registry[packet](*args, **kwargs, out_val=out)
            if packet is aten.convolution and self.mod_tracker.is_bw:
                packet = aten.convolution_backward  # the gradient of the images is one as well
        elif func.namespace == "aten" and name in _OWN:
            formula, shown = _OWN[name]
            cost = shape_wrapper(formula)(*args, **kwargs, out_val=out)
            packet = getattr(aten, shown)
        else:
            return
        for module in set(self.mod_tracker.parents):
            self.flop_counts[module][packet] += cost

    def get_total_flops(self) -> int:
        """All of them."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By the names of modules, and there by op."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, of modules down to a depth; of all, unless one module has them."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        power = _SUFFIXES.index(get_suffix_str(total))
        inner = sorted(name for name in self.flop_counts if name != "Global")
        if depth is not None:
            inner = [name for name in inner if name.count(".") < depth]
        whole = any(sum(self.flop_counts[name].values()) == total for name in inner)
        rows = []
        for module in inner if whole else ["Global", *inner]:
            counts = self.flop_counts[module]
            rows.append(_row(module, sum(counts.values()), total, power))
            rows += [_row(f"- {op}", cost, total, power) for op, cost in counts.items()]
        titles = ["Module", "FLOP", "% Total"]
        widths = [max(len(title) + 2, *map(len, cells)) for title, *cells in zip(titles, *rows)]
        lines = [titles, ["-" * width for width in widths], *rows]
        return "\n".join("  ".join(_aligned(row, widths)) for row in lines)

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        if self.mode is not None:
            self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__(*exc)
        if self.display:
            print(self.get_table(self.depth))  # noqa: T201  # it is asked for


def get_suffix_str(number: int) -> str:
    """The letter for thousands, millions and so on, of which a number is shown."""
    return _SUFFIXES[min(len(_SUFFIXES) - 1, max(0, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in thousands, millions and so on."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share in percent."""
    return f"{num / denom:.2%}" if denom else "0%"


def normalize_tuple(x: Any) -> tuple[Any, ...]:
    """One value as a tuple of one."""
    return x if isinstance(x, tuple) else (x,)


def _aligned(row: list[str], widths: Iterable[int]) -> list[str]:
    first, *rest = zip(row, widths, strict=True)
    return [first[0].ljust(first[1]), *[cell.rjust(width) for cell, width in rest]]


def _row(name: str, cost: int, total: int, power: int) -> list[str]:
    shown = convert_num_with_suffix(cost, _SUFFIXES[power]) if power else str(cost)
    return [name, shown, convert_to_percent_str(cost, total)]
