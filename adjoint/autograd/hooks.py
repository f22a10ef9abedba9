"""The hooks' contract: who is called, with what, and what an answer may be.

The order of the kinds is the engine's (`engine.evaluate`); within a kind, hooks run in the order
of registration over a snapshot, so a hook may add or remove hooks.
"""

import contextlib
import itertools
import warnings
import weakref
from typing import Any, Final

from adjoint._base import HookTable, WeakBase, exchange, is_of_handler, moments, mypyc_attr
from adjoint.autograd.provenance import INTERPRETED
from adjoint.call.context import current
from adjoint.tensors.core import TensorCore, backend_of
from adjoint.tensors.upper import upper

# The kinds of hook, in the words of messages and records.
TENSOR: Final = "tensor hook"
PRE: Final = "pre-hook"
POST: Final = "post-hook"
ACCUMULATE: Final = "post-accumulate hook"

# What a hook is given besides the gradients.
NOTHING_MORE: Final = 0
CONTEXT_LAST: Final = 1
NODE_FIRST: Final = 2


class NodeHooks:
    """The hooks of one node, by kind; each kind is None until it is used."""

    def __init__(self) -> None:
        self.tensor: dict[int, HookTable] = {}
        self.retain: dict[int, Any] = {}  # output number → weak reference to the tensor
        self.pre: HookTable | None = None
        self.post: HookTable | None = None
        self.recast = False  # grad_dtype was set when edges led here already

    def is_empty(self) -> bool:
        """Whether nobody waits for anything."""
        return not (self.tensor or self.retain or self.pre or self.post or self.recast)


class Hook:
    """A hook with a name or other options; one without stands in its table as it is."""

    def __init__(self, function: Any, name: str | None, once: bool, extra: int) -> None:
        self.function = function
        self.name = name
        self.once = once
        self.extra = extra
        self.traceable = False
        self.id = -1


class HookContext:
    """Where a hook is called: the node, the kind of hook, and which of the node's outputs."""

    def __init__(self, node: Any, kind: str, output_nr: int) -> None:
        self.node = node
        self.kind = kind
        self.output_nr = output_nr

    @property
    def source(self) -> Any:
        """Where in the user's program the node was made, if that is known."""
        return self.node.source()

    @property
    def module_path(self) -> Any:
        """The path of the module that made the node, if that is known."""
        return getattr(self.node, "module_path", None)

    def __repr__(self) -> str:
        return f"HookContext({self.kind} of output {self.output_nr} of {self.node!r})"


class _HandleIds:
    """Ids of hooks, each drawn in one step, so that no two threads get the same."""

    def __init__(self) -> None:
        self.draw: Any = itertools.count().__next__

    def pass_over(self, id: int) -> None:
        """Give only later ones from now on."""
        with moments.lock:
            if self.draw() <= id:  # behind a gap: other threads may have found the old one just now
                self.draw = itertools.count(id + 1000).__next__


_ids: Final[_HandleIds] = _HandleIds()


@mypyc_attr(allow_interpreted_subclasses=True)
class RemovableHandle(WeakBase):
    """Takes a hook away again; it keeps neither the hook nor its owner alive."""

    extra_dict_ref: Any = ()

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        self.id: int = _ids.draw()
        if extra_dict is None:
            return
        extras = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extras)

    def remove(self) -> None:
        """Remove the hook; any number of times."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            table = reference()
            if table is not None:
                table.pop(self.id, None)

    def __getstate__(self) -> Any:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        table, self.id, extras = state
        self.hooks_dict_ref = weakref.ref(HookTable() if table is None else table)
        self.extra_dict_ref = tuple(weakref.ref(HookTable() if d is None else d) for d in extras)
        _ids.pass_over(self.id)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


# ---- registering ----


def register(
    table: HookTable,
    hook: Any,
    kind: str,
    name: str | None = None,
    once: bool = False,
    context: bool = False,
    traceable: bool = False,
) -> RemovableHandle:
    """Append a hook to a table; one that is `traceable` becomes a part of compiled programs."""
    if not callable(hook):
        raise TypeError(f"a {kind} must be callable, got {type(hook).__name__}")
    if name is None and not once and not context and not traceable:
        return insert(table, hook)
    special = Hook(hook, name, once, CONTEXT_LAST if context else NOTHING_MORE)
    special.traceable = traceable
    handle = insert(table, special)
    special.id = handle.id
    return handle


def insert(table: HookTable, entry: object) -> RemovableHandle:
    """Append what stands for a hook to a table."""
    handle = RemovableHandle(table)
    table[handle.id] = entry
    return handle


def attach_region_hooks(node: Any, pairs: tuple[Any, ...]) -> None:
    """Give a new node the hooks of the regions it is made in (`graph.node_hooks`)."""
    hooks: NodeHooks = node.any_hooks()
    for pre, post in pairs:
        if pre is not None:
            insert(pre_table(hooks), pre)
        if post is not None:
            insert(post_table(hooks), post)


def pre_table(hooks: NodeHooks) -> HookTable:
    """The table of pre-hooks, made if there is none."""
    if hooks.pre is None:
        made = HookTable()
        anew: Any = hooks  # read anew (docs/notes/build.md)
        if INTERPRETED:
            exchange(hooks, "pre", None, made)
        elif anew.pre is None:
            hooks.pre = made
    found = hooks.pre
    assert found is not None
    return found


def post_table(hooks: NodeHooks) -> HookTable:
    """The table of post-hooks, made if there is none."""
    if hooks.post is None:
        made = HookTable()
        anew: Any = hooks
        if INTERPRETED:
            exchange(hooks, "post", None, made)
        elif anew.post is None:
            hooks.post = made
    found = hooks.post
    assert found is not None
    return found


# ---- naming ----


def function_of(hook: Any) -> Any:
    """What the user registered."""
    return getattr(hook, "function", hook)


def name_of(hook: Any) -> str:
    """The name a hook was registered under, or else its function's."""
    if isinstance(hook, Hook):
        if hook.name is not None:
            return hook.name
        hook = hook.function
    try:
        name = getattr(hook, "__qualname__", None)
        return name if isinstance(name, str) and name else repr(hook)
    except Exception as error:  # of the hook's own __repr__ must not hide why its name is asked for
        if is_of_handler(error):
            raise
        return object.__repr__(hook)


_BLAMED: Final = "_adjoint_hook"


def blame(error: BaseException, kind: str, hook: object) -> None:
    """Remember for the engine's note which hook raised; the innermost, if one called another."""
    with contextlib.suppress(Exception):  # of an error that hides its attributes: raised as it is
        error.__dict__.setdefault(_BLAMED, f"{kind} '{name_of(hook)}'")


def blamed(error: BaseException) -> Any:
    """Which hook raised, or None; it is told once."""
    with contextlib.suppress(Exception):  # see blame
        return error.__dict__.pop(_BLAMED, None)
    return None


def add_note(error: BaseException, text: str) -> None:
    """Add a note to an error, whatever its class makes of that; none if it can't have any."""
    with contextlib.suppress(Exception):
        BaseException.add_note(error, text)


def unserializable_hook(f: Any) -> Any:
    """Mark a hook as one that pickling may leave out without a warning."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor: TensorCore) -> None:
    """Warn of each hook that pickling a tensor would leave out, unless it is marked."""
    table: HookTable | None = None
    node = tensor.node
    if node is None:
        table = None if tensor.extras is None else tensor.extras.hooks
    elif node.hooks is not None:
        table = node.hooks.tensor.get(tensor.output_number)
    for hook in [] if table is None else list(table.values()):
        if not hasattr(function_of(hook), "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {function_of(hook)!r} on tensor will not be serialized. If this is "
                "expected, mark it with utils.hooks.unserializable_hook to silence this.",
                stacklevel=3,
            )


# ---- calling ----

_TRACEABLE: Final = "_adjoint_traceable"


def traceable(hook: Any) -> Any:
    """Mark a hook as one that compile may trace: it becomes a part of the program."""
    setattr(hook, _TRACEABLE, True)
    return hook


def is_traceable(hook: Any) -> bool:
    """Whether a hook is marked so."""
    return bool(getattr(function_of(hook), _TRACEABLE, False))


def ask(hook: Any, args: tuple[Any, ...], answers: Any = None) -> Any:
    """Call a hook; while a program is traced, have the host call it whenever that runs.

    Its answer may take the place of `answers`.
    """
    settings = current()
    if settings.plain:
        return hook(*args)
    if settings.tracing is not None and not is_traceable(hook):
        return settings.tracing.ask(hook, args, answers)
    answer = hook(*args)
    if settings.asking is not None:
        settings.asking.note(hook, args, answer)
    return answer


values_of: Final[Any] = dict.values  # found once: compiled code would look it up at each call


def snapshot(table: HookTable) -> list[Any]:
    """The hooks of a table as they are now; those that are called may change it."""
    return list(values_of(table))


def wrapped(grad: Any) -> Any:
    """A gradient as hooks see it: a Tensor, or None."""
    return grad if grad is None or isinstance(grad, TensorCore) else upper.tensor(grad)


def _call(
    hook: Hook,
    table: HookTable,
    node: Any,
    kind: str,
    number: int,
    args: tuple[Any, ...],
    answers: Any = None,
) -> Any:
    """A hook that was registered with options."""
    if hook.once:
        if table.pop(hook.id, None) is None:
            return None  # another pass has called it meanwhile
        tracing = current().tracing
        if tracing is not None:
            tracing.spent = True
    if hook.extra == CONTEXT_LAST:
        args = (*args, HookContext(node, kind, number))
    elif hook.extra == NODE_FIRST:
        args = (node, *args)
    return hook.function(*args) if hook.traceable else ask(hook.function, args, answers)


def through_tensor_hooks(node: Any, hooks: NodeHooks, grads: list[Any]) -> list[Any]:
    """Tensor.register_hook's hooks of each output."""
    if len(grads) == 1:
        only = hooks.tensor.get(0)
        grad = wrapped(grads[0])
        return [_through_table(node, only, 0, grad) if only else grad]
    grads = [wrapped(g) for g in grads]
    for number, table in list(hooks.tensor.items()):
        if table:
            grads[number] = _through_table(node, table, number, grads[number])
    return grads


def _through_table(node: Any, table: HookTable, number: int, grad: Any) -> Any:
    hook: Any = None
    try:
        for hook in snapshot(table):
            if isinstance(hook, Hook):
                answer = _call(hook, table, node, TENSOR, number, (grad,), grad)
            else:
                answer = ask(hook, (grad,), grad)
            if answer is not None and answer is not grad:
                grad = _checked(hook, grad, answer)
    except BaseException as error:
        blame(error, TENSOR, hook)
        raise
    return grad


def through_pre_hooks(node: Any, table: HookTable, grads: list[Any]) -> list[Any]:
    """Node.register_prehook: each sees all gradients of the outputs, as a tuple."""
    grads = [wrapped(g) for g in grads]
    hook: Any = None
    try:
        for hook in snapshot(table):
            seen = tuple(grads)
            if isinstance(hook, Hook):
                answer = _call(hook, table, node, PRE, 0, (seen,), seen)
            else:
                answer = ask(hook, (seen,), seen)
            if answer is not None and answer is not seen:
                grads = _checked_tuple(hook, grads, answer)
    except BaseException as error:
        blame(error, PRE, hook)
        raise
    return grads


def through_post_hooks(
    node: Any, table: HookTable, results: list[Any], grads: list[Any]
) -> list[Any]:
    """Node.register_hook: each sees the gradients of the inputs and those of the outputs."""
    results = [wrapped(g) for g in results]
    outputs = tuple(wrapped(g) for g in grads)
    hook: Any = None
    try:
        for hook in snapshot(table):
            seen = tuple(results)
            if isinstance(hook, Hook):
                answer = _call(hook, table, node, POST, 0, (seen, outputs), seen)
            else:
                answer = ask(hook, (seen, outputs), seen)
            if answer is not None and answer is not seen:
                results = _checked_tuple(hook, results, answer)
    except BaseException as error:
        blame(error, POST, hook)
        raise
    return results


def run_accumulate_hooks(node: Any, table: HookTable, leaf: TensorCore) -> None:
    """Tensor.register_post_accumulate_grad_hook: each sees the leaf, whose grad is updated."""
    hook: Any = None
    try:
        for hook in snapshot(table):
            if isinstance(hook, Hook):
                answer = _call(hook, table, node, ACCUMULATE, 0, (leaf,))
            else:
                answer = ask(hook, (leaf,))
            if answer is not None and answer is not leaf:
                _refuse_answer(hook, answer)
    except BaseException as error:
        blame(error, ACCUMULATE, hook)
        raise


# ---- checking what they answer ----


def _refuse_answer(hook: Any, answer: Any) -> None:
    kind: type[Exception] = RuntimeError if isinstance(answer, TensorCore) else TypeError
    raise kind(
        f"{ACCUMULATE} '{name_of(hook)}': such hooks should return None, it returned "
        f"{type(answer).__name__}; change .grad itself instead"
    )


def is_sparse(grad: TensorCore) -> bool:
    """Whether a gradient has some of its elements alone."""
    return grad.layer is not None and bool(grad.layer.sparse)


def _checked(hook: Any, old: Any, new: Any) -> Any:
    """What a hook answered in place of a gradient, if it may take its place."""
    if old is None:
        raise RuntimeError(
            f"hook '{name_of(hook)}' can't replace a None gradient with a non-None value; "
            "it may only return None here"
        )
    if not isinstance(new, TensorCore):
        raise TypeError(
            f"hook '{name_of(hook)}' must return None or a Tensor, returned {type(new).__name__}"
        )
    if new.array.shape != old.array.shape:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the size of value: the gradient has shape "
            f"{tuple(old.array.shape)}, it returned {tuple(new.array.shape)}"
        )
    if new.array.dtype != old.array.dtype:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value: the gradient is "
            f"{old.array.dtype}, it returned {new.array.dtype}"
        )
    if is_sparse(new) != is_sparse(old):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the type of value: of the gradient and what it "
            "returned one is sparse, the other dense"
        )
    if type(new.array) is not type(old.array) and backend_of(new.array) is not backend_of(
        old.array
    ):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has changed the device of value: the gradient is on "
            f"{backend_of(old.array).name}, it returned one on {backend_of(new.array).name}"
        )
    return new


def _checked_tuple(hook: Any, old: list[Any], answer: Any) -> list[Any]:
    if not isinstance(answer, tuple):
        raise TypeError(
            f"expected tuple, but hook '{name_of(hook)}' returned {type(answer).__name__}; it may "
            f"return None, or a tuple of {len(old)} gradients"
        )
    if len(answer) != len(old):
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values: "
            f"got {len(answer)}, but expected {len(old)}"
        )
    new: list[Any] = []
    for before, value in zip(old, answer):
        keeps = value is None or value is before
        new.append(value if keeps else _checked(hook, before, value))
    return new
