"""One record of PyTorch's module database, built and called on both sides: what differs."""

import copy
import io
import pickle
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

import adjoint.compat.torch as compat
from tests.parity.operator_records import (
    CHECKED,
    Difference,
    Findings,
    as_near,
    kept,
    kind_of_type,
    leaves_of,
    outcome,
    same,
    same_class,
    same_outcome,
    second_gradient,
    seed,
    tensors_in,
    widened,
)
from tests.parity.operator_twins import AbsentError, Twins, function_at

MODULES = {record.name: record for record in module_db}
# Modules whose results come from chance: all of them, or those in training alone.
BY_CHANCE = {"nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d"}
DROPPING = {
    "nn.MultiheadAttention",
    "nn.Transformer",
    "nn.TransformerDecoderLayer",
    "nn.TransformerEncoder",
    "nn.TransformerEncoderLayer",
}


def module_twin(module: Any) -> Any:
    """adjoint's counterpart of a module that PyTorch has made, through a file."""
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return compat.load(file, weights_only=False)


class Sides:
    """A module on both sides, made from the same arguments, with the same numbers."""

    def __init__(self, trial: "ModuleTrial", entry: Any, kind: Any, training: bool) -> None:
        given = entry.constructor_input
        kwargs = {"dtype": kind, "device": "cpu"} if trial.takes_kind else {}
        kwargs |= given.kwargs
        self.twins = Twins()
        self.theirs = trial.record.module_cls(*given.args, **kwargs).to(kind)
        made = outcome(trial.ours, *trial.twin(given.args), **trial.twin(kwargs))
        if made[1] is not None:
            raise Difference(f"refused: {type(made[1]).__name__}: {made[1]}")
        self.ours = made[0].to(self.twins.of(kind))
        self.theirs.train(training)
        self.ours.train(training)
        if not trial.record.is_lazy:
            self.share()

    def share(self) -> None:
        """Give ours the numbers of theirs; the names must be the same."""
        theirs, ours = self.theirs.state_dict(), self.ours.state_dict()
        if list(theirs) != list(ours):
            raise Difference(f"state dict of {list(ours)} for {list(theirs)}")
        self.ours.load_state_dict({name: Twins().of(value) for name, value in theirs.items()})

    def same_state(self) -> None:
        """Refuse states that differ, in a name, a shape or a number."""
        theirs, ours = self.theirs.state_dict(), self.ours.state_dict()
        if list(theirs) != list(ours):
            raise Difference(f"state dict of {list(ours)} for {list(theirs)}")
        same(list(theirs.values()), list(ours.values()))


class ModuleTrial(Findings):
    """A record: its class on both sides, and what differs."""

    def __init__(self, record: Any, chosen: slice) -> None:
        super().__init__(record, chosen)
        self.name = record.name
        takes = record.module_cls.__init__.__code__.co_varnames
        self.takes_kind = "dtype" in takes and "device" in takes

    def run(self) -> dict[str, str]:
        """All checks of all data types, in training and out of it."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.ours = function_at(self.name)
            except AbsentError as error:
                self.note("missing", "", error)
                return self.found
            for kind in CHECKED:
                if kind in self.record.supported_dtypes("cpu"):
                    for training in (True, False):
                        self.values(kind, training)
            if not self.chosen.start:  # else they were tried with the first samples
                self.refusals()
        return self.found

    def twin(self, value: Any) -> Any:
        """Arguments of a constructor, modules among them."""
        if isinstance(value, torch.nn.Module):
            return module_twin(value)
        if isinstance(value, tuple):
            return tuple(self.twin(each) for each in value)
        if isinstance(value, dict):
            return {key: self.twin(each) for key, each in value.items()}
        return Twins().of(value)

    def entries(self, kind: Any, training: bool, requires_grad: bool) -> list[Any]:
        """Some inputs of a data type, the same in every run."""
        seed(0)
        found = self.record.module_inputs_func(
            self.record, device="cpu", dtype=kind, requires_grad=requires_grad, training=training
        )
        return list(enumerate(found))[self.chosen]

    def values(self, kind: Any, training: bool) -> None:
        """Everything that is compared of each input."""
        by_chance = self.name in BY_CHANCE or (training and self.name in DROPPING)
        for number, entry in self.entries(kind, training, True):
            where = f"{kind_of_type(kind)}, training {training}, input {number}"
            seed(0)
            try:
                sides = Sides(self, entry, kind, training)
            except AbsentError as error:
                self.note("missing", where, error)
                continue
            except Difference as error:
                self.note("construction", where, error)
                continue
            if entry.forward_input is None:
                continue
            self.attempt("forward", where, self.forward, sides, entry, by_chance)
            self.attempt("state", where, sides.same_state)
            if not by_chance and not self.record.is_lazy:
                self.attempt("gradient", where, self.gradient, sides, entry, kind, where)
                self.attempt("memory format", where, self.memory_format, sides, entry)
            if kind is torch.float32 and "forward" not in self.found:
                self.attempt("repr", where, self.shown, sides)
                self.attempt("copies", where, self.copies, sides, entry, by_chance)
                self.attempt("conversion", where, self.conversion, sides)

    def forward(self, sides: Sides, entry: Any, by_chance: bool) -> None:
        """The results of a call; those of lazy modules have shapes alone in common."""
        args, kwargs = entry.forward_input.args, entry.forward_input.kwargs
        lazy = self.record.is_lazy and sides.theirs.has_uninitialized_params()
        theirs = outcome(sides.theirs, *args, **kwargs)
        ours = outcome(sides.ours, *sides.twins.of(args), **sides.twins.of(kwargs))
        exact = None if by_chance else lambda: self.exact(sides.theirs, args, kwargs)
        same_outcome(theirs, ours, by_chance or lazy, exact)
        if lazy:
            sides.share()
            theirs = outcome(sides.theirs, *args, **kwargs)
            ours = outcome(sides.ours, *sides.twins.of(args), **sides.twins.of(kwargs))
            same_outcome(theirs, ours, exact=exact)

    def exact(self, module: Any, args: Any, kwargs: Any) -> Any:
        """What PyTorch's module answers in double precision."""
        wide = _wide_module(module)
        return wide(*_widened(args), **_widened(kwargs))

    def gradient(self, sides: Sides, entry: Any, kind: Any, where: str) -> None:
        """Gradients of inputs and parameters, and of doubles second ones."""
        given = (entry.forward_input.args, entry.forward_input.kwargs)
        twice = kind is torch.float64 and self.record.supports_gradgrad
        theirs = outcome(sides.theirs, *given[0], **given[1])
        ours = outcome(sides.ours, *sides.twins.of(given[0]), **sides.twins.of(given[1]))
        if theirs[1] is not None or ours[1] is not None:
            return  # what forward says
        leaves = list(leaves_of(given))
        mine = [sides.twins.tensor(leaf) for leaf in leaves]
        leaves += list(sides.theirs.parameters())
        mine += list(sides.ours.parameters())
        first = [each for each in tensors_in(theirs[0]) if each.requires_grad]
        second = [each for each in tensors_in(ours[0]) if each.requires_grad]
        if len(first) != len(second):
            raise Difference(f"{len(second)} results need a gradient for {len(first)}")
        if not first or not leaves:
            return
        seeds = [torch.randn_like(each) for each in first]
        options = {"allow_unused": True, "create_graph": twice}
        answer = outcome(torch.autograd.grad, first, leaves, seeds, **options)
        if answer[1] is not None:
            return  # PyTorch has none
        reply = outcome(compat.autograd.grad, second, mine, Twins().of(seeds), **options)
        if reply[1] is not None:
            raise Difference(f"refused: {type(reply[1]).__name__}: {reply[1]}")
        exact = partial(self.exact_gradient, sides.theirs, given, seeds)
        as_near(list(answer[0]), list(reply[0]), exact=exact)
        if twice:
            rest = (answer[0], reply[0], leaves, mine, unknown)
            self.attempt("second gradient", where, second_gradient, *rest)

    def exact_gradient(self, module: Any, given: Any, seeds: list[Any]) -> Any:
        """The gradient that PyTorch's module has in double precision."""
        wide = _wide_module(module)
        args, kwargs = _widened(given[0], kept), _widened(given[1], kept)
        results = [each for each in tensors_in(wide(*args, **kwargs)) if each.requires_grad]
        leaves = [*leaves_of((args, kwargs)), *wide.parameters()]
        weights = [widened(seed) for seed in seeds]
        return torch.autograd.grad(results, leaves, weights, allow_unused=True)

    def memory_format(self, sides: Sides, entry: Any) -> None:
        """Images with their channels last: the same numbers, in the same order of memory."""
        value = entry.forward_input.args[0] if entry.forward_input.args else None
        if not isinstance(value, torch.Tensor) or value.ndim != 4:
            return
        if any(each.ndim == 5 for each in sides.theirs.state_dict().values()):
            return  # of a volume, whose channels can't be last in this way
        rest = entry.forward_input.args[1:]
        last = value.detach().to(memory_format=torch.channels_last)
        theirs = copy.deepcopy(sides.theirs).to(memory_format=torch.channels_last)
        ours = copy.deepcopy(sides.ours).to(memory_format=compat.channels_last)
        answer = outcome(theirs, last, *rest, **entry.forward_input.kwargs)
        kwargs = sides.twins.of(entry.forward_input.kwargs)
        reply = outcome(ours, Twins().tensor(last), *sides.twins.of(rest), **kwargs)
        same_outcome(answer, reply)

    def shown(self, sides: Sides) -> None:
        """What a module is printed as."""
        same(repr(sides.theirs), repr(sides.ours))

    def copies(self, sides: Sides, entry: Any, by_chance: bool) -> None:
        """A pickled and a copied module answer what the module answers."""
        args = sides.twins.of(entry.forward_input.args)
        kwargs = sides.twins.of(entry.forward_input.kwargs)
        for made in (pickle.loads(pickle.dumps(sides.ours)), copy.deepcopy(sides.ours)):
            before, after = made(*args, **kwargs), copy.deepcopy(sides.ours)(*args, **kwargs)
            for one, other in zip(tensors_in(before), tensors_in(after), strict=True):
                agree = np.array_equal(one.numpy(force=True), other.numpy(force=True), True)
                if one.shape != other.shape or not (by_chance or agree):
                    raise Difference("a copy answers something else")

    def conversion(self, sides: Sides) -> None:
        """Data types after half, double and a move to where it is."""
        for change in ("half", "double", "bfloat16", "cpu", "float"):
            theirs = getattr(copy.deepcopy(sides.theirs), change)().state_dict()
            ours = getattr(copy.deepcopy(sides.ours), change)().state_dict()
            same([each.dtype for each in theirs.values()], [each.dtype for each in ours.values()])

    def refusals(self) -> None:
        """Arguments that PyTorch refuses, when a module is made or called."""
        if self.record.module_error_inputs_func is None:
            return
        for training in (True, False):
            seed(0)
            found = self.record.module_error_inputs_func(
                self.record,
                device="cpu",
                dtype=torch.float32,
                requires_grad=False,
                training=training,
            )
            for number, each in enumerate(found):
                self.attempt("error", f"error {number}", self.refusal, each)

    def refusal(self, each: Any) -> None:
        """Ours refuses it too, with an error of the same class."""
        given = each.module_error_input.constructor_input
        theirs = outcome(self.record.module_cls, *given.args, **given.kwargs)
        ours = outcome(self.ours, *self.twin(given.args), **self.twin(given.kwargs))
        if each.error_on is ModuleErrorEnum.FORWARD_ERROR:
            called = each.module_error_input.forward_input
            same_outcome(theirs[1:] * 2, ours[1:] * 2)
            theirs = outcome(theirs[0], *called.args, **called.kwargs)
            ours = outcome(ours[0], *Twins().of(called.args), **Twins().of(called.kwargs))
        if theirs[1] is not None:
            if ours[1] is None:
                raise Difference(f"accepted; PyTorch: {theirs[1]}"[:300])
            same_class(type(theirs[1]), ours[1])


def unknown(seeds: list[Any]) -> Any:
    """Second gradients are those of doubles already: nothing is more exact."""
    raise Difference("no other values are known")


def _wide_module(module: Any) -> Any:
    """A copy in double precision; PyTorch's double() leaves complex parameters as they are."""
    is_complex = any(each.is_complex() for each in module.parameters())
    return copy.deepcopy(module).to(torch.complex128 if is_complex else torch.float64)


def _widened(value: Any, finish: Any = None) -> Any:
    """All tensors of a structure in double precision."""
    if isinstance(value, torch.Tensor):
        return widened(value) if finish is None else finish(value, widened(value))
    if isinstance(value, dict):
        return {key: _widened(each, finish) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_widened(each, finish) for each in value)
    return value
