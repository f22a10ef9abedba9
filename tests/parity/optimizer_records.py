"""One record of PyTorch's optimizer database, stepped on both sides: what differs."""

import copy
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import adjoint.compat.torch as compat
from tests.parity.operator_records import (
    Difference,
    Findings,
    close,
    kind_of_type,
    numbers,
    outcome,
    same,
    same_class,
    same_outcome,
    seed,
)
from tests.parity.operator_twins import AbsentError, Twins, function_at

OPTIMIZERS = {f"optim.{record.name}": record for record in optim_db}
STEPS = 5
MATRICES = ((4, 3), (2, 5))
SHAPES = (*MATRICES, (3,), (2, 3, 2), (1, 1))
KINDS = (torch.float64, torch.float32, torch.bfloat16, torch.complex128)
DOUBLES = (torch.float64, torch.complex128)
MUON = "Muon"  # which takes matrices alone, and computes in 16 bits
FLAGS = {"foreach": {"foreach": True}, "fused": {"fused": True}}


class Sides:
    """An optimizer on both sides, over the same parameters."""

    def __init__(self, trial: "OptimizerTrial", kind: Any, options: dict[str, Any]) -> None:
        seed(0)
        self.trial, self.options = trial, options
        shapes = MATRICES if trial.record.name == MUON else SHAPES
        self.theirs = [torch.randn(shape, dtype=kind).requires_grad_() for shape in shapes]
        self.ours = [Twins().tensor(each) for each in self.theirs]
        self.make()

    def make(self) -> None:
        """New optimizers over the parameters."""
        self.first = self.trial.record.optim_cls(self.listed(self.theirs), **self.options)
        made = outcome(self.trial.ours, self.listed(self.ours), **Twins().of(self.options))
        if made[1] is not None:
            raise Difference(f"refused: {type(made[1]).__name__}: {made[1]}")
        self.second = made[0]

    def listed(self, params: list[Any]) -> Any:
        """The parameters as a constructor takes them."""
        return list(params)

    def step(self) -> None:
        """One step with the same gradients, then all must agree."""
        grads = [torch.randn_like(each) for each in self.theirs]
        if self.trial.record.only_supports_sparse_grads:
            grads = [(grad * (grad.real > 0)).to_sparse() for grad in grads]
        for theirs, ours, grad in zip(self.theirs, self.ours, grads, strict=True):
            theirs.grad, ours.grad = grad, Twins().tensor(grad)
        given = (self.closure(self.theirs), self.closure(self.ours))
        needs = self.trial.record.step_requires_closure
        theirs = outcome(self.first.step, *given[:1] * needs)
        ours = outcome(self.second.step, *given[1:] * needs)
        if needs and theirs[1] is None and ours[1] is None:
            theirs, ours = (theirs[0].detach(), None), (ours[0].detach(), None)
        same_outcome(theirs, ours)
        self.compare()

    def closure(self, params: list[Any]) -> Any:
        """A function with its gradients, for those that evaluate it themselves."""

        def evaluate() -> Any:
            loss: Any = 0
            for number, param in enumerate(params):
                param.grad = None
                loss = loss + ((param - number) * (param - number).conj()).real.sum()
            loss.backward()
            return loss

        return evaluate

    def compare(self) -> None:
        """Parameters, their states and the settings of groups."""
        self.near(self.theirs, self.ours)
        theirs, ours = self.first.state_dict(), self.second.state_dict()
        self.near(theirs["state"], ours["state"])
        same(
            [sorted(group) for group in theirs["param_groups"]],
            [sorted(group) for group in ours["param_groups"]],
        )

    def near(self, theirs: Any, ours: Any) -> None:
        """Refuse values, or structures of them, that differ."""
        if isinstance(theirs, dict):
            if theirs.keys() != ours.keys():
                raise Difference(f"state of {list(ours)} for {list(theirs)}")
            for key, value in theirs.items():
                self.near(value, ours[key])
        elif isinstance(theirs, list | tuple):
            if len(theirs) != len(ours):
                raise Difference(f"{len(ours)} parts for {len(theirs)}")
            for a, b in zip(theirs, ours, strict=True):
                self.near(a, b)
        elif isinstance(theirs, torch.Tensor):
            same(theirs, ours, by_chance=True)  # shape and data type
            loose = self.trial.record.name == MUON
            kind = "bfloat16" if loose else kind_of_type(theirs.dtype)
            close(numbers(theirs), numbers(ours), kind)
        else:
            same(theirs, ours)


class Groups(Sides):
    """The same with two groups, the second with a learning rate of its own."""

    def listed(self, params: list[Any]) -> Any:
        """See Sides."""
        return [{"params": params[:1]}, {"params": params[1:], "lr": 0.05}]


class OptimizerTrial(Findings):
    """A record: its class on both sides, and what differs."""

    def run(self) -> dict[str, str]:
        """All checks of all inputs."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self.ours = function_at(f"optim.{self.record.name}")
            except AbsentError as error:
                self.note("missing", "", error)
                return self.found
            inputs = list(enumerate(self.record.optim_inputs_func("cpu")))
            for number, each in inputs[self.chosen]:
                self.options(f"input {number}", each.kwargs)
            if not self.chosen.start:  # else they were tried with the first samples
                self.refusals()
        return self.found

    def options(self, where: str, given: dict[str, Any]) -> None:
        """One set of settings, in all ways of computing the step."""
        for kind in KINDS:
            if kind.is_complex and not self.record.supports_complex:
                continue
            if kind not in DOUBLES and self.record.step_requires_closure:
                continue  # how often it asks depends on the last bits
            place = f"{where}, {kind_of_type(kind)}"
            for name, options in self.ways(given):
                if name == "fused" and kind.is_complex:
                    self.attempt(name, place, self.fused_refused, kind, options)
                else:
                    self.attempt(name, place, self.steps, Sides, kind, options)
            self.attempt("state dict", place, self.state_dict, kind, given)
            if self.record.supports_param_groups:
                self.attempt("groups", place, self.steps, Groups, kind, given)
            if "differentiable" in self.record.supported_impls and kind is not torch.bfloat16:
                self.attempt("differentiable", place, self.differentiable, kind, given)

    def ways(self, given: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The settings with each of the flags that choose how a step is computed."""
        yield "steps", given
        if "foreach" in self.record.supported_impls:
            yield "single", {**given, "foreach": False}
        for flag, setting in FLAGS.items():
            on_cpu = flag != "fused" or "cpu" in self.record.supports_fused_on
            if flag in self.record.supported_impls and on_cpu:
                yield flag, {**given, **setting}

    def steps(self, kind_of_sides: Any, kind: Any, options: dict[str, Any]) -> None:
        """Some steps."""
        sides = kind_of_sides(self, kind, copy.deepcopy(options))
        for _ in range(STEPS):
            sides.step()

    def fused_refused(self, kind: Any, options: dict[str, Any]) -> None:
        """Parameters that have no step in one piece: optimizers can be made, but not stepped."""
        param = torch.randn(4, 3, dtype=kind).requires_grad_()
        param.grad = torch.ones_like(param)
        mine = Twins().tensor(param)
        mine.grad = Twins().tensor(param.grad)
        optimizer = self.ours([mine], **Twins().of(options))
        theirs = outcome(lambda: self.record.optim_cls([param], **options).step())
        same_outcome(theirs, outcome(optimizer.step))

    def state_dict(self, kind: Any, options: dict[str, Any]) -> None:
        """Steps that go on from a state dict, PyTorch's in both."""
        sides = Sides(self, kind, copy.deepcopy(options))
        for _ in range(2):
            sides.step()
        own = copy.deepcopy(sides.second.state_dict())
        state = copy.deepcopy(sides.first.state_dict())
        sides.make()
        sides.second.load_state_dict(own)
        sides.first.load_state_dict(state)
        sides.compare()
        sides.second.load_state_dict(Twins().of(state))
        sides.compare()
        for _ in range(2):
            sides.step()

    def differentiable(self, kind: Any, options: dict[str, Any]) -> None:
        """The gradient of two steps, by the parameter and by its gradients."""
        seed(0)
        start, grad = (torch.randn(4, 3, dtype=kind).requires_grad_() for _ in range(2))
        leaves = (Twins().tensor(start), Twins().tensor(grad))
        given = {**copy.deepcopy(options), "differentiable": True}
        theirs = outcome(self.moved, self.record.optim_cls, torch, start, grad, given)
        if theirs[1] is not None:
            return  # PyTorch has none: it has written over what the gradient needs
        ours = outcome(self.moved, self.ours, compat, *leaves, Twins().of(given))
        same_outcome(theirs, ours)

    def moved(self, kind: Any, library: Any, start: Any, grad: Any, options: Any) -> Any:
        """The gradients of what two steps lead to."""
        library.set_default_dtype(library.float64)  # so that steps are counted in doubles
        try:
            return self.gradients(kind, library, start, grad, options)
        finally:
            library.set_default_dtype(library.float32)

    def gradients(self, kind: Any, library: Any, start: Any, grad: Any, options: Any) -> Any:
        """Two steps, and back through them."""
        param = start.clone()
        optimizer = kind([param], **options)
        for factor in (1.0, 0.5):
            param.grad = grad * factor
            optimizer.step()
        loss = (param * param.conj()).real.sum()
        return library.autograd.grad(loss, (start, grad), allow_unused=True)

    def refusals(self) -> None:
        """Arguments that PyTorch refuses, or warns of."""
        seed(0)
        found = self.record.optim_error_inputs_func("cpu", torch.float32)
        for number, each in enumerate(found):
            self.attempt("error", f"error {number}", self.refusal, each)

    def refusal(self, each: Any) -> None:
        """Ours refuses it too, with an error of the same class."""
        given = each.optimizer_error_input
        params = [torch.randn(2, 3).requires_grad_()] if given.params is None else given.params
        twins = Twins()
        mine, kwargs = twins.of(params), twins.of(given.kwargs)
        for value, _, twin in list(twins.known.values()):
            twin.grad = None if value.grad is None else twins.of(value.grad)
        with warnings.catch_warnings():
            if issubclass(each.error_type, Warning):
                warnings.simplefilter("error", each.error_type)
            theirs = outcome(self.record.optim_cls, params, **given.kwargs)
            ours = outcome(self.ours, mine, **kwargs)
            if each.error_on is OptimizerErrorEnum.STEP_ERROR and ours[1] is None:
                theirs, ours = outcome(theirs[0].step), outcome(ours[0].step)
        if theirs[1] is None:
            return
        if ours[1] is None:
            raise Difference(f"accepted; PyTorch: {type(theirs[1]).__name__}: {theirs[1]}"[:300])
        same_class(type(theirs[1]), ours[1])
