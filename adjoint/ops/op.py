"""The op grammar: one declaration says everything about an operation.

A declaration is a forward function under the decorator of its family; the decorator's keywords are
the derivatives (docs/adding_an_op.md). All signatures are resolved here, once, at import.
"""

from collections import namedtuple
from collections.abc import Callable
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

import adjoint.call.dispatch as dispatch
from adjoint._base import mypyc_attr
from adjoint.autograd.node import ALIGNED, EDGEWISE
from adjoint.backends.error_state import ufunc_of
from adjoint.backends.numpy import numpy_backend
from adjoint.call.argument_types import flags_of, refuse_no_flag
from adjoint.call.arguments import holds_complex, tensors_in
from adjoint.call.context import current
from adjoint.call.half_precision import widening_forward
from adjoint.call.promotion import common_backend
from adjoint.call.rule import (
    ALIGN,
    ALL_GRADS,
    BATCHED,
    EACH,
    FRONT,
    GRAD,
    HIDDEN,
    LOOP,
    MATRICES,
    NEEDS,
    NOTHING,
    OF_LATER,
    RESULT,
    SHAPE,
    SIZE,
    TANGENT,
    VALUE,
    Plan,
    Rule,
)
from adjoint.call.short_form import path
from adjoint.dtypes import as_real, float64, refusing_forward
from adjoint.ops.as_method import AsMethod, as_attribute
from adjoint.ops.composites import OTHER_WORDS, composite as composite
from adjoint.ops.declaration import DECLARED, Declaration
from adjoint.ops.plain_numbers import (
    FACTORS,
    needs_look,
    numbers_of,
    plain_number,
    whole_numbers,
)
from adjoint.ops.signatures import Described, answer_of, of_op
from adjoint.tensors.core import TensorCore
from adjoint.tensors.tensor import Tensor, is_numpy

if TYPE_CHECKING:
    from adjoint.call.fused import Fused

DIMS: Final = {"dim", "dims", "dim0", "dim1", "dim2", "dimension", "axes"}

_WHOLE: Final = ("i", "I")  # of plain_numbers.numbers_of

# Other names that arguments may have.
ALIASES: Final[dict[str, str]] = {"self": "input", **OTHER_WORDS}


@mypyc_attr(allow_interpreted_subclasses=True)
class Op(Described):
    """An operation; called, it is the public function, and on Tensor the method.

    Those of the table are declared below; library.CustomOpDef derives from it.
    """

    def __init__(self, name: str, family: str, forward: Any) -> None:
        self.name = name
        self.family = family
        self.forward = forward
        self.__name__ = name
        self.__qualname__ = name
        self.describe(forward.__doc__, forward)
        self.parameters: list[str] = []
        self.positional = 0  # how many may be given by position
        self.required = 0
        self.defaults: list[Any] = []
        self.older: Any = None  # names the arguments of a call with too many, in an older order
        self.star = -1  # the parameter that takes all further positions (view, permute)
        self.index_of: dict[str, int] = {}
        self.inputs: list[int] = []  # the parameters with a derivative
        self.rules: list[Rule | None] = []
        self.joint: Rule | None = None
        self.jvp: Rule | None = None  # the tangent of the result, where the family can't say it
        self.push: Rule | None = None  # the tangent of several, where a loop of the wheel has it
        self.vmap: Rule | None = None  # the op over a batch, where its family can't say it
        self.batching = ALIGN if family == "elementwise" else LOOP
        # Which dimension of an argument, or of the "result", joins the batch, if not the first.
        self.folds: dict[str, int] = {}
        self.short_rank = -1  # elements of so many dimensions need but one call below; -1: none
        self.draws = ""  # the public name of what draws by chance
        self.draws_by_form = False  # the first argument says how many numbers, and not which
        self.dims: list[tuple[int, int]] = []  # parameters that count dimensions; see from_end
        self.ruled = 0  # those that have a rule of their own, as bits
        self.plans: dict[int, Plan] = {}  # by which inputs need a gradient
        self.plan_of_first = NOTHING  # if the first input alone needs one, or both of two: most
        self.plan_of_both = NOTHING  # calls ask for these, and an attribute is no look-up
        self.first_rule: Rule | None = None
        self.second_rule: Rule | None = None
        self.lane = dispatch.GENERAL
        self.node_lane = EDGEWISE  # of nodes that the short form makes
        self.direct: Any = None  # NumPy's own function, where forward is just that; or a loop
        self.looped = False  # direct is a loop of the wheel, for float32 and float64 alone
        self.fused: "Fused | None" = None  # the loops of the wheel that do what forward does
        self.kernels: Any = None  # those of a GPU, once a call has asked for them
        # Those that make a result with its tangent, by which arguments have tangents, as bits.
        self.pairs: list[Any] = [None, None, None, None]
        self.public = True  # users call it, with what may be of other classes
        self.transparent = False  # what it calls is watched and overridden, not the op itself
        self.diagonal = family == "elementwise"  # its gradients have the shape of its result
        self.promotes: list[int] = []
        self.floats = False
        self.bools = True  # whether bools may be among the arguments that mix
        self.refuses = ""  # NumPy's letters of the kinds of numbers that it is not for
        self.view = False
        self.outputs: Any = None  # a namedtuple class, or None
        self.derived = -1  # the results whose gradients its rules want, as bits; -1: all
        self.converts = False  # to a dtype that may have no gradient
        self.aligned = family == "elementwise"  # in place it reads where it writes, place by place
        self.constant = False  # in place it writes one value everywhere
        self.rewrites = False  # in place it may write a place twice, of which it warns
        self.hides = False  # forward answers (result, an array for the rules alone)
        self.mutate: Any = None  # writes the result into the first argument's array
        self.inplace = True
        self.changer: Any = None  # its in-place form, as watchers and subclasses see it
        self.saved_as: dict[str, str] = {}  # what PyTorch calls a parameter or result it saves
        # What PyTorch calls its nodes: a text, or a function of a node that is to be shown.
        self.node_name: Any = "".join(p.capitalize() for p in name.split("_")) + "Backward0"
        self.numbers_without_edge: list[
            int
        ] = []  # parameters that have an edge if they are tensors
        self.domain: Any = None  # (low, high): where an elementwise op is defined and smooth
        # Whether 16-bit floats are computed with in float32; "rules": in its rules alone.
        self.wide: Any = family == "elementwise"
        self.wide_numbers = False  # a number beside 16-bit floats is not rounded to their type
        # Below what every call reads, which so stays close together.
        self.tensors: list[int] = []  # parameters that mix, and for which users may give no number
        self.switches: dict[int, bool] = {}  # which parameters are true or false, or also None
        # And which are numbers without a derivative, and NumPy's letter of the kind of each.
        self.constants: dict[int, str] = {}
        self.numbers = False  # whether it takes numbers alone
        self.ordered = False  # the result lies in order, however the arguments do
        # Or as channels_last has it, if the "first" argument does, or its "images" but no volumes,
        # "either" of two arguments, or "all" of a list.
        self.follows = ""
        # Without dtype it computes in that of out=; or only "floats" do, or "all" but what is
        # complex in real numbers.
        self.follows_out: Any = False
        # Arguments that share no memory with what is written, or, if it is aligned, no other place.
        self.apart: tuple[int, ...] = ()
        # True: out= must have the data type of the result; or the error of what can't be cast.
        self.exact_out: Any = False
        self.known_as: Any = None  # the public function by which classes know its calls, if another
        self.method: Any = None  # see as_method
        self.above: Any = None  # in the lane OWN: what makes a call, and records it

    def __repr__(self) -> str:
        return f"<adjoint op {self.name}>"

    def __reduce__(self) -> Any:
        known = DECLARED.get(self.name)
        if known is not None and known.function is self:
            return (find, (self.name,))
        return self.__name__  # a program's op has this name in its module

    def public_signature(self) -> Any:
        """How users call it, and what it answers."""
        return of_op(self)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if not isinstance(instance, Tensor):
            return as_attribute(self, owner)
        if instance.special or not current().plain:
            return MethodType(self.as_method(), instance)
        return MethodType(self, instance)

    def as_method(self) -> Any:
        """What `Tensor.add` is, of which those who answer calls are told."""
        if self.method is None:
            self.method = AsMethod(self)
        return self.method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            count = len(args)
            if count == 1 and self.lane == dispatch.UNARY:
                return path.unary(self, args[0])
            if count == 2 and self.lane == dispatch.BINARY:
                if self.tensors:
                    self.refuse_numbers(args)
                return path.binary(self, args[0], args[1])
        return dispatch.call(self, args, kwargs)

    def refuse_numbers(self, values: Any) -> None:
        """Refuse a number where users have to give a tensor; operators and NumPy's take both."""
        for i in self.tensors:
            if type(values[i]) in (bool, int, float, complex):
                raise TypeError(
                    f"{self.name}(): argument '{self.parameters[i]}' must be a Tensor, not "
                    f"{type(values[i]).__name__}; make one with tensor(...)"
                )

    def refuse_no_flags(self, values: list[Any]) -> None:
        """Refuse what is neither true nor false where users have to say one of them."""
        for i, optional in self.switches.items():
            if type(values[i]) is not bool:
                refuse_no_flag(self.name, self.parameters[i], values[i], optional)

    def settle_numbers(self, values: list[Any]) -> list[Any]:
        """The arguments, numbers without a derivative as Python's; refuses what is none."""
        for i, kind in self.constants.items():
            if needs_look(values[i], kind):
                values[i] = plain_number(self.name, self.parameters[i], values[i], kind)
                if isinstance(values[i], complex) and not any(
                    map(holds_complex, tensors_in(values))
                ):
                    values[i] = as_real(values[i])
        return values

    def with_whole_numbers(self, values: list[Any]) -> list[Any] | None:
        """The arguments of a call that was refused, whole numbers as Python's; None if they are."""
        kinds = numbers_of(self.forward)
        free = [place for place, _ in self.dims if kinds.get(self.parameters[place]) not in _WHOLE]
        return whole_numbers(values, free)

    def run(self, values: list[Any]) -> Any:
        """The call with its arguments in the order of the parameters; how a watcher makes it."""
        return dispatch.apply(self, values)

    def over_batch(self, level: Any, values: list[Any]) -> Any:
        """A call inside vmap, of ops that compute and record by themselves."""
        raise NotImplementedError(f"{self.name} is batched by its rule")

    def pushed(self, level: Any, values: list[Any]) -> Any:
        """A call on tensors with tangents, of ops that compute and record by themselves."""
        raise NotImplementedError(f"{self.name} is pushed forward by its rules")

    def evaluated(self, values: list[Any]) -> Any:
        """The results of a call, recorded; only ops that do it by themselves have it."""
        if self.above is None:
            raise NotImplementedError(f"{self.name} is computed by dispatch")
        return self.above(values)

    def ruled_parameters(self) -> list[int]:
        """The parameters with a derivative that a rule, or the op by itself, knows."""
        if self.joint is not None or self.lane == dispatch.OWN:
            return self.inputs
        return [parameter for i, parameter in enumerate(self.inputs) if self.ruled >> i & 1]

    def recorded(self, values: list[Any], output: Any) -> Any:
        """A call whose results are known, as tensors without history: recorded, not computed."""
        tensors = tensors_in(values)
        for tensor in tensors:
            tensor.up_to_date()
        backend = common_backend(self, tensors)
        if backend is not numpy_backend:
            values = dispatch.beside(values, tensors, backend)
        several = isinstance(output, tuple)
        arrays = tuple([t.array for t in output]) if several else output.array
        return dispatch.wrap(self, values, backend, arrays, current())

    def stands_for_calls(self) -> bool:
        """Whether a call may be made by `recorded`: nothing but its results comes of it."""
        return not (self.view or self.hides)

    def spelled(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call as a user would write them."""
        count = self.positional
        while count > 0 and values[count - 1] is self.defaults[count - 1]:
            count -= 1
        named: dict[str, Any] = {}
        for i in range(self.positional, len(values)):
            if values[i] is not self.defaults[i]:
                named[self.parameters[i]] = values[i]
        return tuple(values[:count]), named

    def plan(self, mask: int) -> Plan:
        """What to keep when the inputs of the mask need gradients."""
        found = self.plans.get(mask)
        if found is None:
            found = self.plans.setdefault(mask, self.planned(mask))
        return found

    def planned(self, mask: int) -> Plan:
        """The same, worked out from the rules that will run."""
        rules = [r for i, r in enumerate(self.rules) if mask >> i & 1 and r is not None]
        if self.joint is not None:
            rules.append(self.joint)
        return Plan(rules, len(self.parameters))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in the order of the parameters, defaults filled in."""
        count = len(args)
        if not kwargs and count == self.positional == len(self.defaults) and self.star < 0:
            return self.settle_numbers(list(args)) if self.constants else list(args)
        if self.star >= 0 and count > self.star:
            rest: Any = args[self.star :]
            if len(rest) == 1 and isinstance(rest[0], (tuple, list)):
                rest = tuple(rest[0])
            args = (*args[: self.star], rest)
            count = len(args)
        if count > self.positional:
            older: Any = None if self.older is None else self.older(args)
            if older is not None and not older.keys() & kwargs.keys():
                return self.bind((), {**older, **kwargs})
            raise TypeError(
                f"{self.signature()} takes {self.positional} positional arguments, got {count}"
            )
        values = list(args)
        values.extend(self.defaults[count:])
        for name, value in kwargs.items():
            index = self.index_of.get(name, -1)
            if index < 0 and ALIASES.get(name) not in kwargs:
                index = self.index_of.get(ALIASES.get(name, ""), -1)
            if index < 0 and name in ("input", "x") and self.parameters[0] == "A":
                index = 0  # PyTorch shows A, and takes input
            if index < 0:
                raise TypeError(f"{self.signature()} got an unexpected argument '{name}'")
            if index < count:
                raise TypeError(f"{self.signature()} got several values for '{name}'")
            if index == self.star and not isinstance(value, (tuple, list)):
                value = (value,)
            values[index] = value
        if count < self.required:
            absent = [repr(p) for p, v in zip(self.parameters, values) if v is MISSING]
            if absent:
                raise TypeError(f"{self.signature()} misses {', '.join(absent)}")
        return self.settle_numbers(values) if self.constants else values

    def counted_from_end(self, values: list[Any]) -> list[Any]:
        """The arguments, dimensions counted from the end: those of a batch may come in front."""
        counted = values
        ndim = -1
        for parameter, more in self.dims:
            dim = values[parameter]
            if dim is None or (type(dim) is int and dim < 0):
                continue
            if ndim < 0:
                ndim = rank_of(values[0])
                counted = list(values)
            first: Any = dim[0] if isinstance(dim, (tuple, list)) and dim else dim
            if isinstance(first, bool) and "unbiased" not in self.index_of:  # then it is that
                raise TypeError(
                    f"{self.name}(): argument '{self.parameters[parameter]}' must be whole "
                    f"numbers, not {dim!r}"
                )
            counted[parameter] = from_end(dim, ndim + more)
        return counted

    def signature(self) -> str:
        """The call as a user would write it, for error messages."""
        parts: list[str] = []
        for i, name in enumerate(self.parameters):
            if i == self.positional and self.star < 0:
                parts.append("*")
            default = self.defaults[i]
            star = "*" if i == self.star else ""
            parts.append(f"{star}{name}" if default is MISSING else f"{star}{name}={default!r}")
        return f"{self.name}({', '.join(parts)})"


class NamedOp:
    """An op, or its in-place form, under another of its names, as a method of Tensor's."""

    def __init__(self, op: Any, name: str) -> None:
        self.op = op
        self.method = AsMethod(op, name)

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self.method
        if isinstance(instance, Tensor) and (instance.special or not current().plain):
            return MethodType(self.method, instance)
        return MethodType(self.op, instance)


def rank_of(value: Any) -> int:
    """How many dimensions a tensor or an array has, or the one of a list that has most."""
    if isinstance(value, TensorCore):
        return len(value.spec().shape)
    if isinstance(value, (list, tuple)):
        return max([rank_of(element) for element in value], default=0)
    return getattr(value, "ndim", 0)


def from_end(dim: Any, ndim: int) -> Any:
    """A dimension, or several, counted from the end; one that there isn't stays, to be refused."""
    if type(dim) is int:
        return dim - ndim if 0 <= dim < ndim else dim
    if isinstance(dim, (tuple, list)):
        return tuple([each if is_numpy(each) else from_end(each, ndim) for each in dim])
    if is_numpy(dim):
        raise TypeError("a dimension must be a whole number, not an array; call .item() on it")
    return dim


class Missing:
    """The default of a parameter that has none."""

    def __repr__(self) -> str:
        return "required"


MISSING: Final[Missing] = Missing()
TABLE: Final[dict[str, Op]] = {}


def find(name: str) -> Op:
    """The op called `name`."""
    return TABLE[name]


class _Probe:
    """Stands for `xp` in the trial of a forward: it notes the calls that are made."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> Any:
            self.calls.append((name, args))
            return self

        return call


class _Token:
    """Stands for an array of doubles in the trial of a forward; a closer look ends the trial."""

    def __getattr__(self, name: str) -> Any:
        if name == "dtype":
            return float64.numpy_dtype
        raise LookupError(name)


def _direct(op: Op) -> Any:
    """NumPy's function, if forward with its defaults does nothing but call it."""
    tokens: list[Any] = [_Token() for default in op.defaults if default is MISSING]
    if not tokens or len(tokens) > 2:
        return None
    probe = _Probe()
    try:
        answer = op.forward(probe, *tokens)
    except Exception:
        return None
    if answer is not probe or len(probe.calls) != 1 or probe.calls[0][1] != tuple(tokens):
        return None
    return getattr(numpy_backend.xp, probe.calls[0][0], None)


def _passes(op: Op, rule: Rule) -> bool:
    """Whether a rule of the gradient and an option answers the gradient itself, by default."""
    if rule.form != OF_LATER:
        return False
    token = _Token()
    try:
        return rule.function(token, op.defaults[rule.later]) is token
    except Exception:
        return False


def _read_signature(op: Op) -> None:
    code = op.forward.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[1:count])
    op.positional = code.co_argcount - 1
    defaults: list[Any] = [MISSING] * len(names)
    given = op.forward.__defaults__ or ()
    for i, value in enumerate(given):
        defaults[op.positional - len(given) + i] = value
    for name, value in (op.forward.__kwdefaults__ or {}).items():
        defaults[names.index(name)] = value
    if code.co_flags & 4:  # *dims: takes all further positions
        op.star = op.positional
        names.insert(op.star, code.co_varnames[count])
        defaults.insert(op.star, MISSING)
        op.positional += 1
    op.parameters = names
    op.defaults = defaults
    op.required = sum(1 for d in defaults if d is MISSING)
    op.index_of = {name: i for i, name in enumerate(names)}


def _resolve(op: Op, function: Any) -> Rule:
    """Where each parameter of a rule comes from, by its name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return Rule(function, [_source(op, name) for name in names], bool(op.wide))


_ENDINGS: Final = {"_shape": SHAPE, "_tangent": TANGENT, "_batched": BATCHED, "_each": EACH}


def _source(op: Op, name: str) -> tuple[int, int]:
    if name == "grads":
        return (GRAD, ALL_GRADS)
    for stem, kind in (("grad", GRAD), ("result", RESULT)):
        if name == stem:
            return (kind, 0)
        if name.startswith(stem) and name[len(stem) :].isdecimal():
            return (kind, int(name[len(stem) :]))
    if name == "needs":
        return (NEEDS, 0)
    if name == "hidden":
        return (HIDDEN, 0)
    if name == "batch_size":
        return (SIZE, 0)
    if name in op.index_of:
        return (VALUE, op.index_of[name])
    for ending, kind in _ENDINGS.items():
        if name.endswith(ending) and name[: -len(ending)] in op.index_of:
            return (kind, op.index_of[name[: -len(ending)]])
    raise TypeError(
        f"{op.name}: a rule asks for '{name}', which is no grad, result, needs, hidden, "
        f"batch_size, parameter of {op.signature()}, nor <parameter>"
        + ", <parameter>".join(_ENDINGS)
    )


def declare(family: str, options: dict[str, Any]) -> Callable[[Any], Op]:
    """The decorator of a family: options are its keywords."""

    def decorate(forward: Any) -> Op:
        settings = dict(options)
        name = settings.pop("name", None) or forward.__name__.rstrip("_")
        kind = settings.pop("kind", Op)  # a subclass that computes and records its calls by itself
        op: Op = kind(name, family, forward)
        declared = Declaration(name, settings)
        op.public = declared.is_public()
        _read_signature(op)
        _apply_settings(op, settings)
        if declared.home is not None and op.required > 1:
            op.tensors = _only_tensors(op)
        if declared.home is not None:
            op.switches = {
                op.index_of[each]: optional or op.defaults[op.index_of[each]] is None
                for each, optional in flags_of(forward).items()
            }
        for key in settings:
            if key not in op.index_of:
                raise TypeError(f"{op.name}: no parameter '{key}' in {op.signature()}")
        op.inputs = op.inputs or sorted(op.index_of[key] for key in settings)
        op.rules = [
            _resolve(op, settings[op.parameters[i]]) if op.parameters[i] in settings else None
            for i in op.inputs
        ]
        _finish(op)
        op.constants = _constants(op)
        declared.function = op
        if op.lane != dispatch.OWN and declared.is_news():
            TABLE[name] = op
            DECLARED[name] = declared
        return op

    return decorate


def _constants(op: Op) -> dict[int, str]:
    """Where numbers without a derivative are; dimensions are asked for where they are counted."""
    kinds = numbers_of(op.forward)
    counted = [place for place, _ in op.dims]
    return {
        place: kinds.get(name, "C" if op.defaults[place] is None else "c")
        for place, name in enumerate(op.parameters)
        if (name in kinds or name in FACTORS) and place not in op.inputs and place not in counted
    }


def _apply_settings(op: Op, settings: dict[str, Any]) -> None:
    """Take the options that are not derivatives out of settings."""
    op.view = settings.pop("view", False)
    op.converts = settings.pop("converts", False)
    op.floats = settings.pop("floats", False)
    op.bools = settings.pop("bools", True)
    op.refuses = settings.pop("refuses", "")
    op.numbers = settings.pop("numbers", False)
    op.mutate = settings.pop("mutate", None)
    op.inplace = bool(settings.pop("inplace", op.family == "elementwise"))
    op.hides = settings.pop("hides", False)
    op.exact_out = settings.pop("exact_out", False)
    apart = settings.pop("apart", "")
    names = list(op.index_of) if apart is True else apart.split()
    op.apart = tuple([op.index_of[name] for name in names])
    ordered = settings.pop("ordered", False)
    op.ordered = bool(ordered)
    op.follows = ordered if isinstance(ordered, str) else ""
    op.follows_out = settings.pop("follows_out", False)
    op.constant = settings.pop("constant", False)
    op.rewrites = settings.pop("rewrites", False)
    op.aligned = settings.pop("aligned", op.aligned)
    op.wide = settings.pop("wide", op.wide)
    op.wide_numbers = settings.pop("wide_numbers", False)
    op.jvp = _optional(op, settings.pop("jvp", None))
    op.vmap = _optional(op, settings.pop("vmap", None))
    op.batching = settings.pop("batching", op.batching)
    op.folds = settings.pop("folds", {})
    op.draws = settings.pop("draws", "")
    op.draws_by_form = settings.pop("draws_by_form", False)
    _read_dims(op, settings.pop("dims", 0))
    op.domain = settings.pop("domain", None)
    op.node_name = settings.pop("node_name", op.node_name)
    op.numbers_without_edge = [op.index_of[n] for n in settings.pop("numbers_without_edge", ())]
    op.saved_as = settings.pop("saved_as", op.saved_as)
    returns = settings.pop("returns", None)
    if returns is not None:
        known = op.name.removesuffix("_dim")
        op.outputs = namedtuple(known, returns)  # type: ignore[misc]  # made from data
        op.outputs = answer_of(known)(op.outputs)
    joint = settings.pop("joint", None)
    if joint is not None:
        names, function = joint
        op.inputs = [op.index_of[name] for name in names.split()]
        op.joint = _resolve(op, function)
    promotes = settings.pop("promotes", None)
    if promotes is None and op.family == "elementwise":
        op.promotes = [i for i, d in enumerate(op.defaults) if d is MISSING]
    elif promotes:
        op.promotes = [op.index_of[name] for name in promotes.split()]


def _only_tensors(op: Op) -> list[int]:
    """The parameters of an elementwise op that are said to be arrays, not operands."""
    if op.family != "elementwise":
        return []
    kinds: dict[str, Any] = getattr(op.forward, "__annotations__", {})
    arrays = {name for name, kind in kinds.items() if getattr(kind, "__name__", "") == "Array"}
    return [i for i in op.promotes if op.defaults[i] is MISSING and op.parameters[i] in arrays]


def _optional(op: Op, function: Any) -> Rule | None:
    return None if function is None else _resolve(op, function)


def _read_dims(op: Op, more: int | None) -> None:
    """Which parameters count dimensions: those of the first argument and `more`; None: of none."""
    if more is not None:
        op.dims = [(i, more) for i, name in enumerate(op.parameters) if name in DIMS]


def _finish(op: Op) -> None:
    """Choose the op's lane, and look up once what every call asks for."""
    op.plan_of_first, op.plan_of_both = op.plan(1), op.plan(3)
    op.first_rule = op.rules[0] if op.rules else None
    op.second_rule = op.rules[1] if len(op.rules) > 1 else None
    for i, rule in enumerate(op.rules):
        if rule is not None:
            op.ruled |= 1 << i
            rule.passes = _passes(op, rule)
    rules = op.rules if op.joint is None else [op.joint]
    wanted = {number for r in rules if r for kind, number in r.sources if kind == GRAD}
    if wanted and ALL_GRADS not in wanted:
        op.derived = sum(1 << number for number in wanted)
    if op.diagonal and op.ruled:  # what has no rule may answer another data type
        op.node_lane = ALIGNED
    op.direct = None if op.view else _direct(op)
    if _has_short_form(op):
        op.lane = dispatch.UNARY if op.required == 1 else dispatch.BINARY
        op.short_rank = _short_rank(op)
    if op.wide is True and (ufunc_of(op.direct) is None or len(op.parameters) > op.required):
        op.forward = widening_forward(op.forward)
    if op.refuses:
        op.forward = refusing_forward(op.name, op.forward, op.refuses)
        if op.mutate is not None:
            op.mutate = refusing_forward(op.name, op.mutate, op.refuses)


def take_loop(op: Op, function: Any) -> None:
    """Let the short form call a loop of the wheel, where forward is more than one of NumPy's."""
    before = op.direct
    op.direct = function
    if op.ordered or op.required != len(op.promotes) or not _has_short_form(op):
        op.direct = before
        return
    op.looped = True
    op.lane = dispatch.UNARY if op.required == 1 else dispatch.BINARY
    op.short_rank = _short_rank(op)


def _short_rank(op: Op) -> int:
    """The least rank of elements for which a call over a batch is the same call below; or -1."""
    if op.batching == MATRICES:
        return 2
    one = op.lane == dispatch.UNARY and op.batching == FRONT and op.vmap is None and not op.dims
    return 0 if op.diagonal or one else -1


def _has_short_form(op: Op) -> bool:
    """Whether forward is one function of the first arguments, and rules want little besides."""
    if op.direct is None or op.joint is not None or op.view or op.outputs is not None:
        return False
    count = len(op.rules)
    if count > op.required or 0 < count < op.required:  # the others are no tensors
        return False
    if any(op.inputs[i] != i for i in range(count)):
        return False
    for i, rule in enumerate(op.rules):
        for kind, index in [] if rule is None else rule.sources:
            given = kind == VALUE and (index < 2 or op.defaults[index] is not MISSING)
            own_shape = kind == SHAPE and index == op.inputs[i]  # the next node knows it
            if not (kind in (GRAD, RESULT) or given or own_shape):
                return False
    return True


def elementwise(**options: Any) -> Callable[[Any], Op]:
    """Each element depends on the inputs' elements at its place: the Jacobian is diagonal."""
    return declare("elementwise", options)


def linear(**options: Any) -> Callable[[Any], Op]:
    """Linear in its differentiable input: its jvp is the op itself."""
    return declare("linear", options)


def multilinear(**options: Any) -> Callable[[Any], Op]:
    """Linear in each differentiable input: its jvp is a sum over one input at a time."""
    return declare("multilinear", options)


def general(**options: Any) -> Callable[[Any], Op]:
    """Nothing is known but the rules: its jvp is the derivative of its vjp, or `jvp=`."""
    return declare("general", options)
