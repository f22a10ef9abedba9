"""The step of optimizers that treat each element alike: one rule, run wherever parameters live.

A subclass of `ElementwiseOptimizer` states its rule once, in `update`, with Python's operators and
the functions of `xp`. The rule then runs on NumPy's and CuPy's arrays in place, on JAX's by making
new ones, and on Tensors where the step itself is to be differentiated. Many small parameters are
joined into one long array, so that a step costs as many calls as the rule has, not as the model has
parameters.
"""

from collections.abc import Callable
from operator import is_
from typing import Any

from adjoint.autograd.grad_mode import enable_grad, no_grad
from adjoint.backends import quiet
from adjoint.backends.numpy import numpy_backend
from adjoint.dtypes import COMPLEX, category_of, float32
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.elementwise.arithmetic import abs, sign
from adjoint.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.elementwise.selection import clamp, maximum, where
from adjoint.optim.optimizer import Closure, Group, Optimizer, Params, evaluated, scalar_dtype
from adjoint.tensors.core import F32, F64, backend_of, count_changes
from adjoint.tensors.tensor import Tensor

State = dict[str, Any]

BLOCK = 65536  # elements of a piece: few enough for the cache, many enough for a call
SMALL = 8192  # up to here a parameter is worth a copy that saves calls


class TensorFunctions:
    """The functions of `xp` that rules use, on Tensors, so that they are recorded."""

    abs = staticmethod(abs)
    clip = staticmethod(clamp)
    maximum = staticmethod(maximum)
    sign = staticmethod(sign)
    sqrt = staticmethod(sqrt)
    where = staticmethod(where)


def choose(xp: Any, condition: Any, chosen: Any, other: Any) -> Any:
    """chosen where condition holds; a plain bool decides for all elements."""
    if isinstance(condition, bool):
        return chosen if condition else other
    return xp.where(condition, chosen, other)


class Counters:
    """Numbers that go along with parameters, such as how many steps they have made.

    They are read as one number and written to all parameters that share a step.
    """

    def __init__(self, arrays: State) -> None:
        self.arrays = arrays

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name].item(0)

    def __setitem__(self, name: str, value: Any) -> None:
        self.arrays[name][...] = value

    def scale(self, name: str, factor: float) -> None:
        """Multiply in the counters' own precision."""
        self.arrays[name] *= factor

    def agree(self) -> bool:
        """Whether all parameters have the same numbers."""
        return all(bool((array == array[0]).all()) for array in self.arrays.values())


class DeviceCounters(Counters):
    """Counters that stay arrays on the device: a step never waits for their values."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        self.state = state

    def __getitem__(self, name: str) -> Any:
        return self.state[name].array

    def __setitem__(self, name: str, value: Any) -> None:
        tensor = self.state[name]
        tensor.array = backend_of(tensor.array).asarray(value, tensor.array.dtype)

    def scale(self, name: str, factor: Any) -> None:
        self[name] = self[name] * factor


class RecordedCounters(Counters):
    """Counters of a step that is part of the graph, which follows those that require grad."""

    def __init__(self, state: dict[str, Tensor], names: Any) -> None:
        super().__init__({name: state[name].array for name in names})
        self.state = state

    def __getitem__(self, name: str) -> Any:
        tensor = self.state[name]
        return reshape(tensor, ()) if tensor.requires_grad else super().__getitem__(name)

    def scale(self, name: str, factor: Any) -> None:
        if self.state[name].requires_grad:
            self.state[name] = self.state[name] * factor
        else:
            super().scale(name, factor)


class Batch:
    """Small parameters of one kind at one step, whose state lies in one array for each name."""

    def __init__(
        self, params: list[Any], states: list[Any], names: list[str], counters: list[str]
    ) -> None:
        self.params = params
        self.states = states
        self.names = names
        self.backend = backend_of(params[0].array)
        xp = self.backend.xp
        self.grad = xp.concatenate([param.array for param in params], axis=None)
        self.param = xp.empty_like(self.grad)
        self.parts = self._views(self.param)
        self.joined: list[Any] = []
        self.state_parts: dict[str, list[Any]] = {}
        for name in names:
            flat = xp.concatenate([state[name].array for state in states], axis=None)
            self.joined.append(flat)
            self._adopt(name, self._views(flat))
        counts: State = {}
        for name in counters:
            counts[name] = numpy_backend.xp.stack([state[name].array for state in states])
            self._adopt(name, [counts[name][place, ...] for place in range(len(states))])
        self.counters = Counters(counts)

    def _views(self, flat: Any) -> list[Any]:
        """The part of each parameter in a long array, in its shape."""
        views, start = [], 0
        for param in self.params:
            array = param.array
            views.append(flat[start : start + array.size].reshape(array.shape))
            start += array.size
        return views

    def _adopt(self, name: str, parts: list[Any]) -> None:
        """Let the state of each parameter be its part of the long array."""
        self.state_parts[name] = parts
        for state, part in zip(self.states, parts):
            state[name] = Tensor(part)

    def intact(self, states: list[Any]) -> bool:
        """Whether nobody has replaced a state since the last step, or set a counter apart."""
        if not all(map(is_, states, self.states)):
            return False
        for name, parts in self.state_parts.items():
            tensors = [state.get(name) for state in states]
            if not all(map(is_, [getattr(tensor, "array", None) for tensor in tensors], parts)):
                return False
        return self.counters.agree()

    def gather(self) -> list[Any]:
        """The joined parameters, gradients and states; the first two as they are now."""
        join = self.backend.xp.concatenate
        join([param.array for param in self.params], axis=None, out=self.param)
        join([param.gradient.array for param in self.params], axis=None, out=self.grad)
        return [self.param, self.grad, *self.joined]

    def spread(self, results: list[Any]) -> None:
        """Give each parameter its part of the results."""
        for flat, result in zip([self.param, *self.joined], results):
            if result is not flat:
                flat[...] = result
        for param, part in zip(self.params, self.parts):
            param.array[...] = part
        count_changes(self.params)


class Plan:
    """How the parameters of a group that have gradients make a step: in batches, or singly."""

    def __init__(self, params: list[Any], names: list[str]) -> None:
        self.params = params
        self.names = names
        self.arrays = [param.array for param in params]
        self.batches: list[Batch] = []
        self.singles: list[Any] = []

    def fits(self, params: list[Any], names: list[str], state: Any) -> bool:
        """Whether these are the parameters and states it was made for, in the same memory."""
        if names != self.names or len(params) != len(self.params):
            return False
        if not all(map(is_, params, self.params)):
            return False
        if not all(map(is_, [param.array for param in params], self.arrays)):
            return False
        return all(batch.intact([state.get(p) for p in batch.params]) for batch in self.batches)


def penalty(param: Any, weight_decay: Any) -> Any:
    """The gradient of weight decay; for that of weight_decay itself param stays as it is now."""
    if isinstance(weight_decay, Tensor):
        param = clone(param)
    return param * weight_decay


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose step is one rule, applied to each element of each parameter.

    The rule is `update(xp, param, grad, state, **numbers)`: it answers param after one step, and
    changes the arrays of `state` in place or puts others there.
    """

    update: Callable[..., Any]

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self._plans: dict[int, Plan] = {}
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        for group in self.param_groups:
            counts = self.counts(group)
            for param in group["params"]:
                own = self.state.get(param, {})
                for name in counts.keys() & own.keys():
                    if not _counts_here(own[name], group):
                        own[name] = _counter(param, group, own[name])

    def check_state(self) -> None:
        """See Optimizer."""
        for group in self.param_groups:
            arrays, counts = self.arrays(group), self.counts(group)
            for param in group["params"]:
                own = self.state.get(param, {})
                for name in arrays.keys() & own.keys():
                    if own[name] is not None or counts:  # None: not needed so far, as in SGD
                        _check_shape(name, own[name], param.shape)
                for name in counts.keys() & own.keys():
                    _check_shape(name, own[name], ())

    # ---- what an optimizer states ----

    def arrays(self, group: Group) -> State:
        """The state in the shape of a parameter: names, in order, and first values."""
        raise NotImplementedError

    def counts(self, group: Group) -> dict[str, Any]:
        """The counters of a parameter: names, in order, and first values."""
        return {"step": 0.0}

    def numbers(self, xp: Any, group: Group, counters: Any, fresh: bool) -> dict[str, Any]:
        """Advance the counters, and answer the keyword arguments of `update` for this step."""
        raise NotImplementedError

    def shortcut(self, params: list[Any], group: Group) -> list[Any]:
        """Step those parameters for which there is a quicker way; the others are returned."""
        return params

    # ---- the step ----

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters once; closure, if given, computes the loss and its gradients."""
        loss = evaluated(closure)
        for number, group in enumerate(self.param_groups):
            params = [param for param in group["params"] if param.gradient is not None]
            if group["differentiable"]:
                for param in params:
                    self._record(param, group)
                continue
            params = self.shortcut(params, group)
            if len(params) > 1 and group["foreach"] is not False and not group.get("capturable"):
                self._step_together(number, params, group)
                continue
            for param in params:
                self._step_alone(param, group)
        return loss

    def value(self, group: Group, setting: Any) -> Any:
        """A setting as a rule wants it: a number, or the array or Tensor that it is given as."""
        if not isinstance(setting, Tensor):
            return setting
        if group["differentiable"]:
            return setting if setting.ndim == 0 else reshape(setting, ())
        if group.get("capturable"):
            return setting.array.reshape(())
        return setting.numpy_array().reshape(-1)[0]  # in the precision it was given in

    def _prepared(self, param: Any, group: Group) -> tuple[State, bool]:
        """The state of a parameter, with what it lacks; and whether any of it is new."""
        if not self.counts(group) and not self.arrays(group):
            return {}, False
        state = self.state[param]
        fresh = False
        for name, first in self.counts(group).items():
            if name not in state:
                state[name] = _counter(param, group, first)
        for name, first in self.arrays(group).items():
            if state.get(name) is None:
                state[name] = _filled(param, first)
                fresh = True
        return state, fresh

    def _record(self, param: Any, group: Group) -> None:
        """A step that is part of the graph: the rule runs on copies, which autograd follows."""
        state, fresh = self._prepared(param, group)
        counters = RecordedCounters(state, self.counts(group))
        names = list(self.arrays(group))
        paired = category_of(param.array.dtype) == COMPLEX
        with enable_grad():
            numbers = self.numbers(TensorFunctions, group, counters, fresh)
            tensors = [clone(each) for each in (param, param.grad, *(state[n] for n in names))]
            work = [view_as_real(each) for each in tensors] if paired else tensors
            maximize = group["maximize"]
            results = _applied(self.update, TensorFunctions, work, names, numbers, maximize)
            if paired:
                results = [view_as_complex(each) for each in results]
            param.copy_(results[0])
            state.update(zip(names, results[1:]))

    def _step_alone(self, param: Any, group: Group) -> None:
        """The step of one parameter, whatever its array is."""
        state, fresh = self._prepared(param, group)
        array = param.current_array()
        backend = backend_of(array)
        xp = backend.xp
        names = list(self.arrays(group))
        arrays = [array, param.gradient.array, *(state[name].array for name in names)]
        if group.get("capturable"):
            numbers = self.numbers(xp, group, DeviceCounters(state), fresh)
        else:
            counters = Counters({name: state[name].array for name in self.counts(group)})
            numbers = _floats(self.numbers(xp, group, counters, fresh))
        work = [_widened(xp, each) for each in arrays]
        results = self._run(backend, work, names, numbers, group["maximize"])
        for name, before, result in zip(names, arrays[2:], results[1:]):
            if result is before:
                continue
            if backend.mutable:
                before[...] = _narrowed(result, before)
            else:
                state[name].array = _narrowed(result, before)
        if results[0] is array and backend.mutable and not (param.special or param.inference):
            count_changes([param])
            return
        with no_grad():
            param.copy_(Tensor(_narrowed(results[0], array)))

    def _step_together(self, number: int, params: list[Any], group: Group) -> None:
        """The step of several parameters: small ones of a kind at once, the others singly."""
        plan = self._plans.get(number)
        names = list(self.arrays(group))
        fresh: list[Batch] = []
        if plan is None or not plan.fits(params, names, self.state):
            plan = self._plans[number] = Plan(params, names)
            fresh = self._fill(plan, group)
        for batch in plan.batches:
            numbers = self.numbers(batch.backend.xp, group, batch.counters, batch in fresh)
            arrays = batch.gather()
            batch.spread(
                self._run(batch.backend, arrays, batch.names, _floats(numbers), group["maximize"])
            )
        for param in plan.singles:
            self._step_alone(param, group)

    def _fill(self, plan: Plan, group: Group) -> list[Batch]:
        """Sort a plan's parameters into batches; those whose state is new are returned."""
        names, counts = plan.names, self.counts(group)
        kinds: dict[Any, list[Any]] = {}
        distinct = len({id(param) for param in plan.params}) == len(plan.params)
        for param in plan.params:
            if not distinct or not _joins(param):
                plan.singles.append(param)
                continue
            state = self.state.get(param, {})
            known = all(state.get(name) is not None for name in names)
            stands = tuple(float(state.get(name, first)) for name, first in counts.items())
            where = backend_of(param.array).device(param.array)
            kinds.setdefault((param.array.dtype, str(where), known, stands), []).append(param)
        fresh = []
        for (_, _, known, _), members in kinds.items():
            if len(members) == 1:
                plan.singles += members
                continue
            for param in members:
                self._prepared(param, group)
            states = [self.state.get(param) for param in members]
            plan.batches.append(Batch(members, states, names, list(counts)))
            if not known:
                fresh.append(plan.batches[-1])
        return fresh

    def _run(
        self, backend: Any, arrays: list[Any], names: list[str], numbers: Any, maximize: bool
    ) -> list[Any]:
        """The rule on a parameter, its gradient and state; on large arrays piece by piece."""
        xp = backend.xp
        with quiet():
            if arrays[0].size <= BLOCK or not backend.mutable or not all(map(_dense, arrays)):
                return _applied(self.update, xp, arrays, names, numbers, maximize)
            flat = [array.reshape(-1) for array in arrays]
            for start in range(0, flat[0].size, BLOCK):
                pieces = [array[start : start + BLOCK] for array in flat]
                results = _applied(self.update, xp, pieces, names, numbers, maximize)
                for piece, result in zip([pieces[0], *pieces[2:]], results):
                    if result is not piece:
                        piece[...] = result
        return [arrays[0], *arrays[2:]]


def _applied(
    update: Callable[..., Any],
    xp: Any,
    arrays: list[Any],
    names: list[str],
    numbers: dict[str, Any],
    maximize: bool,
) -> list[Any]:
    """What the rule makes of a parameter and its state."""
    param, grad, *rest = arrays
    state = dict(zip(names, rest))
    param = update(xp, param, -grad if maximize else grad, state, **numbers)
    return [param, *(state[name] for name in names)]


def _dense(array: Any) -> bool:
    contiguous: bool = array.flags.c_contiguous
    return contiguous


def _joins(param: Any) -> bool:
    """Whether a parameter is small and plain enough to be joined with others."""
    array = param.array
    return (
        array.size <= SMALL
        and array.dtype in (F32, F64)
        and backend_of(array).mutable
        and not (param.special or param.inference)
    )


def _floats(numbers: dict[str, Any]) -> dict[str, Any]:
    """Python's own numbers, which take on the precision of the arrays they meet."""
    return {
        name: value.item() if hasattr(value, "item") else value for name, value in numbers.items()
    }


def _widened(xp: Any, array: Any) -> Any:
    """An array as rules can use it: complex numbers as two reals, 16-bit floats as 32 bits."""
    if array.dtype in (F32, F64):
        return array
    if category_of(array.dtype) == COMPLEX:
        return xp.stack([array.real, array.imag])
    return array.astype("float32")


def _narrowed(array: Any, like: Any) -> Any:
    """A widened array in the data type that it had."""
    if category_of(like.dtype) == COMPLEX:
        array = array[0] + 1j * array[1]
    return array.astype(like.dtype)


def _filled(param: Any, value: Any) -> Tensor:
    """A new state in the shape of a parameter; both parts of complex numbers get the value."""
    array = param.array
    if category_of(array.dtype) == COMPLEX:
        value = complex(value, value)
    return Tensor(backend_of(array).xp.full_like(array, value))


def _counts_here(counter: Any, group: Group) -> bool:
    """Whether a loaded counter can be used as it is; old versions kept plain numbers."""
    if not isinstance(counter, Tensor):
        return False
    return bool(group.get("capturable")) or backend_of(counter.array) is numpy_backend


def _check_shape(name: str, value: Any, shape: Any) -> None:
    """Refuse a part of a loaded state that does not fit its parameter."""
    if not isinstance(value, Tensor):
        raise TypeError(f"load_state_dict: '{name}' must be a Tensor, got {type(value).__name__}")
    if value.shape != shape and not (shape == () and value.array.size == 1):
        raise ValueError(
            f"load_state_dict: '{name}' of a parameter's state has shape {list(value.shape)}, "
            f"expected {list(shape)}"
        )


def _counter(param: Any, group: Group, value: Any) -> Tensor:
    """A new counter, in main memory unless its value may not be looked at."""
    if isinstance(value, Tensor) and value.array.size == 1:
        value = value.item()
    if not isinstance(value, int | float):
        raise TypeError(
            f"load_state_dict: a count of steps must be a number, got a {type(value).__name__}"
        )
    backend = backend_of(param.array) if group.get("capturable") else numpy_backend
    kind = float32 if group.get("fused") else scalar_dtype()
    return Tensor(backend.asarray(float(value), kind.numpy_dtype))
