"""The step of optimizers that treat each element alike: one rule, run wherever parameters live.

A subclass of `ElementwiseOptimizer` states its rule once, in `update`, with Python's operators and
the functions of `xp`. The rule then runs on NumPy's and CuPy's arrays in place, on JAX's by making
new ones, and on Tensors where the step itself is to be differentiated. Many small parameters are
joined into one long array, so that a step costs as many calls as the rule has, not as the model has
parameters.
"""

from collections.abc import Callable
from itertools import repeat
from operator import setitem
from typing import Any, Final

from adjoint.autograd.grad_mode import enable_grad, no_grad
from adjoint.backends import quiet
from adjoint.backends.numpy import numpy_backend
from adjoint.call.context import current
from adjoint.creation.factories import full_like, zeros_like
from adjoint.dtypes import COMPLEX, category_of, complex128, float32
from adjoint.ops.arranging.conversion import clone
from adjoint.ops.arranging.indexing import index_put
from adjoint.ops.arranging.shape import reshape
from adjoint.ops.elementwise.arithmetic import abs, sign
from adjoint.ops.elementwise.complex_numbers import view_as_complex, view_as_real
from adjoint.ops.elementwise.powers import sqrt
from adjoint.ops.elementwise.selection import clamp, maximum, where
from adjoint.ops.sparse.layers import Coordinates, coordinates, sparse_of
from adjoint.optim.descent import all_plain
from adjoint.optim.optimizer import (
    Closure,
    Group,
    Optimizer,
    Params,
    check_fused_params,
    evaluated,
    scalar_dtype,
)
from adjoint.optim.plans import (
    Batch,
    Plan,
    Prepared,
    State,
    check_shapes,
    check_writable,
    joins,
)
from adjoint.optim.programs import Fitted, Program, Spare, Tape, likeness, named
from adjoint.optim.wrapped import (
    answers_calls,
    refuse_recorded,
    state_like,
    steps_by_calls,
    with_gradients,
)
from adjoint.optim.writes import Writes
from adjoint.tensors.core import F32, F64, backend_of
from adjoint.tensors.tensor import AS_IS, Tensor
from adjoint.tensors.upper import upper

NO_STATE: Final[State] = {}  # of optimizers that have none


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

    They are read as one number, and written, when the step is, to all parameters that share it.
    """

    def __init__(self, arrays: State) -> None:
        self.arrays = arrays
        self.new: State = {}

    def __getitem__(self, name: str) -> Any:
        new = self.new.get(name)
        return self.arrays[name].item(0) if new is None else new.item()

    def __setitem__(self, name: str, value: Any) -> None:
        self.new[name] = self.arrays[name].dtype.type(value)

    def scale(self, name: str, factor: Any) -> None:
        """Multiply in the counters' own precision."""
        self[name] = self.arrays[name].dtype.type(self[name]) * factor

    def commit(self, writes: Writes) -> None:
        """Have the new numbers written."""
        for name, value in self.new.items():
            writes.put(self.arrays[name], ..., value)


class DeviceCounters(Counters):
    """Counters that stay arrays on the device: a step never waits for their values."""

    def __init__(self, state: dict[str, Tensor]) -> None:
        super().__init__({})
        self.state = state

    def __getitem__(self, name: str) -> Any:
        new = self.new.get(name)
        return self.state[name].array if new is None else new

    def __setitem__(self, name: str, value: Any) -> None:
        array = self.state[name].array
        self.new[name] = backend_of(array).asarray(value, array.dtype)

    def scale(self, name: str, factor: Any) -> None:
        self[name] = self[name] * factor

    def commit(self, writes: Writes) -> None:
        for name, array in self.new.items():
            writes.set(self.state[name], "array", array)


class RecordedCounters(Counters):
    """Counters of a step that is part of the graph, which follows those that require grad."""

    def __init__(self, state: dict[str, Tensor], names: Any) -> None:
        super().__init__({name: state[name].array for name in names})
        self.state = state
        self.recorded: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Any:
        tensor = self.recorded.get(name, self.state[name])
        return reshape(tensor, ()) if tensor.requires_grad else super().__getitem__(name)

    def scale(self, name: str, factor: Any) -> None:
        if self.state[name].requires_grad:
            self.recorded[name] = self.state[name] * factor
        else:
            super().scale(name, factor)


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
        self._programs: dict[Any, Program] = {}
        self._spare = Spare()
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._plans = {}
        self._programs = {}
        self._spare = Spare()
        for group in self.param_groups:
            group.setdefault("differentiable", False)
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

    def programs(self) -> list[Program]:
        """The programs that its steps so far were made by."""
        return list(self._programs.values())

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

    def shortcut(self, params: list[Any], group: Group, writes: Writes) -> list[Any]:
        """Prepare the step of parameters with a quicker way; the others are returned."""
        return params

    # ---- the step ----

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters once; closure, if given, computes the loss and its gradients.

        It changes all of them and their state, or, if it fails or is interrupted, none.
        """
        loss = evaluated(closure)
        settings = current()
        tracing = settings.tracing
        writes = Writes(self._spare)
        for number, group in enumerate(self.param_groups):
            params = with_gradients(group["params"])
            if not group["differentiable"]:
                refuse_lost("weight_decay", group.get("weight_decay"))
            if group.get("fused"):
                check_fused_params(params)
            if not all_plain(params):
                params = self._without_sparse(params, group, writes)
                params = self._without_wrapped(params, group, writes)
            if settings.modes and tracing is None and not group["differentiable"]:
                if not upper.stepped(self, params, group, writes):
                    for param in params:
                        self._step_by_calls(param, group, writes)
                continue
            if group["differentiable"]:
                for param in params:
                    self._record(param, group, writes)
                continue
            if tracing is not None and not group.get("capturable"):
                tracing.make_step(self, number, params, writes)
                continue
            asked = group if tracing is None else tracing.group(self, number, params)
            params = self.shortcut(params, group, writes)
            if group.get("capturable"):
                self._step_each(params, group, asked, writes)
            elif params:
                self._step_planned(number, params, group, writes)
        writes.run()
        return loss

    def _without_sparse(self, params: list[Any], group: Group, writes: Writes) -> list[Any]:
        """Prepare the step of parameters with sparse gradients; the others are returned."""
        left: list[Any] = []
        for param in params:
            layer = sparse_of(param.gradient)
            if layer is None:
                left.append(param)
            elif group["differentiable"] or group.get("capturable"):
                raise RuntimeError(
                    "a step that is differentiable or capturable takes no sparse gradients; make "
                    "them dense with to_dense()"
                )
            else:
                self.step_sparse(param, coordinates(layer).joined(), group, writes)
        return left

    def _without_wrapped(self, params: list[Any], group: Group, writes: Writes) -> list[Any]:
        """Prepare the step of parameters whose class answers calls; the others are returned."""
        left: list[Any] = []
        for param in params:
            if steps_by_calls(param):
                refuse_recorded(param, group)
                self._step_by_calls(param, group, writes)
            else:
                left.append(param)
        return left

    def _step_by_calls(
        self, param: Any, group: Group, writes: Writes, rows: Coordinates | None = None
    ) -> None:
        """A step of which modes, or the class of the parameter and its state, are asked.

        A sparse gradient's rows are taken out, and written back with all others beside them.
        """
        state, home, fresh = self._prepared(param, group, writes)
        names = list(self.arrays(group))
        numbers = self._numbers_by_calls(param, group, state, fresh, writes)
        held = [param, *(state[name] for name in names)]
        grad, index = (param.grad, None) if rows is None else (rows.elements, rows.index())
        with no_grad():
            taken = held if index is None else [each[index] for each in held]
            work = [_widened_by_calls(each) for each in (taken[0], grad, *taken[1:])]
            rule = (self.update, TensorFunctions, work, names, numbers, group["maximize"])
            results = [_narrowed_by_calls(*both) for both in zip(_applied(*rule), held)]
            if index is not None:
                results = [index_put(*each) for each in zip(held, repeat(index), results)]
        writes.late.append((param, results[0], False))
        for name, before, value in zip(names, held[1:], results[1:]):
            if answers_calls(before):
                writes.put(home, name, value)
            else:
                writes.late.append((before, value, False))

    def _numbers_by_calls(
        self, param: Any, group: Group, state: State, fresh: bool, writes: Writes
    ) -> dict[str, Any]:
        """The numbers of a step by calls; what is on a device and not looked at is a Tensor."""
        if not group.get("capturable"):
            counters = Counters({name: state[name].array for name in self.counts(group)})
            numbers = floats(self.numbers(numpy_backend.xp, group, counters, fresh))
        else:
            counters = DeviceCounters(state)
            found = self.numbers(backend_of(param.array).xp, group, counters, fresh)
            numbers = {
                name: Tensor(value, AS_IS) if hasattr(value, "dtype") else value
                for name, value in found.items()
            }
        counters.commit(writes)
        return numbers

    def step_sparse(self, param: Any, grad: Coordinates, group: Group, writes: Writes) -> None:
        """Prepare the step of a parameter with a sparse gradient; most rules refuse it."""
        raise RuntimeError(
            f"{type(self).__name__} does not support sparse gradients; SGD, Adagrad and SparseAdam "
            "do, and to_dense() makes them dense"
        )

    def step_rows(self, param: Any, grad: Coordinates, group: Group, writes: Writes) -> None:
        """The step of those elements alone that a sparse gradient has, by the same rule."""
        if current().modes:
            self._step_by_calls(param, group, writes, grad)
            return
        state, _, fresh = self._prepared(param, group, writes)
        names, xp, index = list(self.arrays(group)), grad.xp, tuple(grad.indices())
        arrays = [param.current_array(), *[state[name].array for name in names]]
        check_writable(arrays)
        counters = Counters({name: state[name].array for name in self.counts(group)})
        numbers = floats(self.numbers(xp, group, counters, fresh))
        counters.commit(writes)
        rows = [array[index] for array in arrays]
        work = [widened(xp, each) for each in (rows[0], grad.elements.array, *rows[1:])]
        with quiet():
            results = _applied(self.update, xp, work, names, numbers, group["maximize"])
        for array, row, result in zip(arrays, rows, results):
            writes.put(array, index, narrowed(result, row))
        writes.changed.append(param)

    def value(self, group: Group, setting: Any) -> Any:
        """A setting as a rule wants it: a number, or the array or Tensor that it is given as."""
        if not isinstance(setting, Tensor):
            return setting
        if group["differentiable"]:
            return setting if setting.ndim == 0 else reshape(setting, ())
        if group.get("capturable"):
            tracing = current().tracing
            if tracing is not None:
                tracing.lift_all([setting])
            return setting.array.reshape(())
        return setting.numpy_array().reshape(-1)[0]  # in the precision it was given in

    def _prepared(self, param: Any, group: Group, writes: Writes) -> Prepared:
        """The state of a parameter, with what it lacks; that is kept when the step succeeds."""
        counts, arrays = self.counts(group), self.arrays(group)
        if not counts and not arrays:
            return Prepared({}, None, False)
        home = self.state.get(param)
        values = {} if home is None else home
        if sparse_of(param.gradient) is None:
            refuse_sparse_state(param, values)
        new: State = {}
        for name, first in counts.items():
            if name not in values:
                new[name] = _counter(param, group, first)
        lacking = len(new)
        for name, first in arrays.items():
            if values.get(name) is None:
                new[name] = _filled(param, first)
        if home is None:
            home = {}
            # From a dict: Tensors are then not asked for their hashes, which is Python's work.
            writes.calls.append((self.state.update, {param: home}))
        if new:
            values = {**values, **new}
            writes.calls.append((home.update, new))
        return Prepared(values, home, len(new) > lacking)

    def _record(self, param: Any, group: Group, writes: Writes) -> None:
        """A step that is part of the graph: the rule runs on copies, which autograd follows."""
        state, home, fresh = self._prepared(param, group, writes)
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
        counters.commit(writes)
        writes.late.append((param, results[0], True))
        for name, value in (*counters.recorded.items(), *zip(names, results[1:])):
            writes.put(home, name, value)

    def _step_each(self, params: list[Any], group: Group, asked: Group, writes: Writes) -> None:
        """The steps of parameters one by one; what is listed twice makes two, each for itself."""
        if len(set(map(id, params))) == len(params):
            for param in params:
                self._step_alone(param, group, asked, writes)
            return
        for param in params:
            own = Writes(self._spare)
            self._step_alone(param, group, asked, own)
            own.run()

    def _step_alone(self, param: Any, group: Group, asked: Group, writes: Writes) -> None:
        """The step of one parameter, whatever its array is, by the settings that are asked for."""
        state, _, fresh = self._prepared(param, group, writes)
        tracing = current().tracing
        if tracing is not None:
            tracing.lift_all([param, param.gradient, *state.values()])
        array = param.current_array()
        backend = backend_of(array)
        names = list(self.arrays(group))
        arrays = [array, param.gradient.array, *(state[name].array for name in names)]
        check_shapes(arrays, names)
        if group.get("capturable"):
            counters: Counters = DeviceCounters(state)
            numbers = self.numbers(backend.xp, asked, counters, fresh)
        else:
            counters = Counters({name: state[name].array for name in self.counts(group)})
            numbers = floats(self.numbers(backend.xp, asked, counters, fresh))
        counters.commit(writes)
        maximize = group["maximize"]
        programmed = backend.mutable and backend.xp.valued()
        if programmed and not (param.special or param.inference):
            check_writable([array, *arrays[2:]])
            program = self.program(backend, arrays, names, numbers, maximize)
            writes.apply(program, arrays, numbers)
            writes.changed.append(param)
            return
        work = [widened(backend.xp, each) for each in arrays]
        with quiet():
            results = _applied(self.update, backend.xp, work, names, numbers, maximize)
        for name, before, result in zip(names, arrays[2:], results[1:]):
            new = narrowed(result, before)
            if backend.mutable:
                writes.put(before, ..., new)
            else:
                writes.set(state[name], "array", new)
        writes.late.append((param, Tensor(narrowed(results[0], array), AS_IS), False))

    def _step_planned(self, number: int, params: list[Any], group: Group, writes: Writes) -> None:
        """The step of several parameters: small ones of a kind at once, the others singly."""
        plan = self._plans.get(number)
        names = list(self.arrays(group))
        together = len(params) > 1 and group["foreach"] is not False
        new = plan is None or not plan.fits(params, names, together, self.state)
        if plan is None or new:
            plan = Plan(params, names, together)
            self._fill(plan, group, writes)
            writes.put(self._plans, number, plan)
        place = 0
        for batch in plan.batches:
            backend, counters = batch.backend, Counters(batch.counts)
            numbers = floats(self.numbers(backend.xp, group, counters, new and batch.fresh))
            counters.commit(writes)
            arrays = batch.gather()
            program = self.program(backend, arrays, names, numbers, group["maximize"])
            if backend is numpy_backend:
                cells = plan.filled(place, program, arrays[0].dtype, numbers)
                place += 1
                if batch.fitted is None or batch.fitted.cells is not cells:
                    batch.fitted = Fitted(cells, arrays, self._spare)
                writes.calls += batch.fitted.on(batch.grad)
            else:
                writes.apply(program, arrays, numbers)
            batch.spread(writes)
        if plan.repeated:
            self._step_each(plan.singles, group, group, writes)
        else:
            self._step_singles(plan, place, group, writes)

    def _step_singles(self, plan: Plan, place: int, group: Group, writes: Writes) -> None:
        """The steps of parameters one by one; those with the same counts share their numbers."""
        names, maximize, xp = plan.names, group["maximize"], numpy_backend.xp
        counters = list(self.counts(group))
        shared: dict[Any, tuple[Counters, Any]] = {}
        for number, param in enumerate(plan.singles):
            home = self.state.get(param) if names or counters else NO_STATE
            single = None if home is None else plan.single(number, home, counters)
            grad = param.gradient.array
            if single is None or not single.ready(grad):
                self._step_alone(param, group, group, writes)
                continue
            arrays, kind = single.arrays, grad.dtype
            stand = (kind, *[(count.dtype, count.item(0)) for count in single.counts.values()])
            found = shared.get(stand)
            if found is None:
                own = Counters(single.counts)
                numbers = floats(self.numbers(xp, group, own, False))
                operands = [arrays[0], grad, *arrays[1:]]
                program = self.program(numpy_backend, operands, names, numbers, maximize)
                found = shared[stand] = own, plan.filled(place, program, kind, numbers)
                place += 1
            for name, value in found[0].new.items():
                writes.calls.append((setitem, single.counts[name], ..., value))
            writes.calls += single.calls(found[1], grad, self._spare)
            writes.changed.append(param)

    def _fill(self, plan: Plan, group: Group, writes: Writes) -> None:
        """Sort a plan's parameters into batches."""
        names, counts = plan.names, self.counts(group)
        kinds: dict[Any, list[Any]] = {}
        for param in plan.params:
            if plan.repeated or not (plan.together and joins(param)):
                plan.singles.append(param)
                continue
            state = self.state.get(param, {})
            known = all(state.get(name) is not None for name in names)
            stands = tuple(float(state.get(name, first)) for name, first in counts.items())
            where = backend_of(param.array).device(param.array)
            kinds.setdefault((param.array.dtype, str(where), known, stands), []).append(param)
        for members in kinds.values():
            if len(members) == 1:
                plan.singles += members
                continue
            states = [self._prepared(param, group, writes) for param in members]
            for param, own in zip(members, states):
                check_shapes([param.array, *(own.values[name].array for name in names)], names)
            plan.batches.append(Batch(members, states, names, list(counts)))
            plan.batches[-1].adopt(writes)
        plan.known = [None] * len(plan.singles)

    def program(
        self, backend: Any, arrays: list[Any], names: list[str], numbers: Any, maximize: bool
    ) -> Program:
        """The rule for this step as a list of calls; the one of another step that is alike."""
        kinds = [_kind(array.dtype) for array in arrays]
        alike = likeness(numbers)
        key = (backend.name, maximize, *[kind.char for kind in kinds], alike)
        program = None if alike is None else self._programs.get(key)
        if program is None:
            tape = Tape(backend.xp, kinds)
            known = {name: named(name, value) for name, value in numbers.items()}
            results = _applied(self.update, tape, tape.operands(), names, known, maximize)
            for place, result in zip((0, *range(2, len(arrays))), results):
                tape.keep(place, result)
            program = tape.finished()
            program.kernel = backend.step_kernel(tuple(tape.notes), len(kinds), len(tape.numbers))
            if alike is not None:
                self._programs[key] = program
        return program


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


def _kind(dtype: Any) -> Any:
    """The data type in which a rule treats an array of this one."""
    return F64 if dtype == F64 or dtype == complex128.numpy_dtype else F32


def refuse_sparse_state(param: Any, state: State) -> None:
    """A step with a dense gradient works on the memory of the state, which must be dense, too."""
    for name, value in state.items():
        if sparse_of(param) is not None or sparse_of(value) is not None:
            raise RuntimeError(
                f"the gradient of a parameter of shape {list(param.shape)} is dense, and its "
                f"{name} sparse: the two can't be added. Give one kind of gradients"
            )


def refuse_lost(name: str, setting: Any) -> None:
    """Refuse a setting that needs a gradient which a step would not compute."""
    if isinstance(setting, Tensor) and setting.requires_grad:
        raise TypeError(
            f"{name} needs a gradient, which this optimizer does not compute: detach() it; that of "
            "weight_decay is kept with differentiable=True"
        )


def floats(numbers: dict[str, Any]) -> dict[str, Any]:
    """Python's own numbers, which take on the precision of the arrays they meet."""
    return {
        name: value.item() if hasattr(value, "item") else value for name, value in numbers.items()
    }


def widened(xp: Any, array: Any) -> Any:
    """An array as rules can use it: complex numbers as two reals, 16-bit floats as 32 bits."""
    if array.dtype in (F32, F64):
        return array
    if category_of(array.dtype) == COMPLEX:
        return xp.stack([array.real, array.imag])
    return array.astype("float32")


def narrowed(array: Any, like: Any) -> Any:
    """A widened array in the data type that it had."""
    if category_of(like.dtype) == COMPLEX:
        array = array[0] + 1j * array[1]
    return array.astype(like.dtype)


def _widened_by_calls(tensor: Any) -> Any:
    """A copy of a tensor as rules can use it: see `widened`."""
    if tensor.dtype.is_complex:
        return clone(view_as_real(tensor))
    return tensor.to(float32) if tensor.dtype.itemsize < F32.itemsize else clone(tensor)


def _narrowed_by_calls(tensor: Any, like: Any) -> Any:
    """A widened tensor in the data type that it had."""
    if like.dtype.is_complex:
        return view_as_complex(tensor)
    return tensor if tensor.dtype is like.dtype else tensor.to(like.dtype)


def _filled(param: Any, value: Any) -> Tensor:
    """A new state in the shape of a parameter; both parts of complex numbers get the value."""
    array = param.array
    if category_of(array.dtype) == COMPLEX:
        value = complex(value, value)
    if param.special and answers_calls(param):
        return state_like(param, value)
    made = Tensor(backend_of(array).xp.full_like(array, value), AS_IS)
    if current().modes:
        seen: Any = full_like(param, value) if value else zeros_like(param)
        return made if seen.layer is not None else seen
    return made


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
    made = Tensor(backend.asarray(float(value), kind.numpy_dtype), AS_IS)
    seen = upper.seen_below("lift_fresh", made) if current().modes else made
    return seen if seen.layer is None else made
