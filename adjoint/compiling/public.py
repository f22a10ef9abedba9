"""`adjoint.compile` and what it answers."""

import functools
import logging
import threading
import warnings
from typing import Any

from adjoint.backends import backend_for
from adjoint.call.context import Changed, current
from adjoint.call.layers import derivatives, open_levels
from adjoint.compiling.answers import AnsweredError, Answers
from adjoint.compiling.errors import (
    AgainError,
    CompileError,
    EagerError,
    LaterError,
    OutdatedError,
)
from adjoint.compiling.repeated import Last
from adjoint.compiling.signatures import Call, difference
from adjoint.compiling.stance import stance, without_program
from adjoint.device import CPU, device
from adjoint.dtypes import get_default_dtype
from adjoint.tensors.core import ABSENT, NDARRAY

log = logging.getLogger("adjoint.compile")

# Names of PyTorch's compilers, for which XLA stands in; those of its eager mode mean just that.
XLA_BACKENDS = ("xla", "inductor", "aot_eager", "cudagraphs", "onnxrt", "openxla", "tvm")
GRAPH_BACKENDS = ("cudagraph",)
EAGER_BACKENDS = ("eager",)
_MANY = 64  # signatures, beyond which those without a program are forgotten


def compile(
    function: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "xla",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    fallback: bool = False,
    limit: int = 8,
    warm_up: int = 1,
    mesh: Any = None,
    shard: Any = None,
) -> Any:
    """A function, or module, that XLA runs: what it reads and changes is found by watching it.

    With `backend="cudagraph"` its work on CuPy is captured instead, and launched as one graph.
    The first call (`warm_up` of them) with each new signature runs eagerly, so that optimizers make
    their state; the next one is traced. After `limit` programs, further signatures run eagerly. A
    `mesh` of devices shares out the batches that are arguments, and tensors as `shard` says. Of
    PyTorch's options, `dynamic`, `mode` and `options` mean nothing here.
    """
    if backend not in (*XLA_BACKENDS, *GRAPH_BACKENDS, *EAGER_BACKENDS):
        raise ValueError(f"compile: backend must be 'xla' or 'cudagraph', got {backend!r}")
    if function is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            backend=backend,
            disable=disable,
            fallback=fallback,
            limit=limit,
            warm_up=warm_up,
            mesh=mesh,
            shard=shard,
        )
    if not callable(function):
        raise TypeError(f"compile: expected a function or module, got {type(function).__name__}")
    for option, number in (("limit", limit), ("warm_up", warm_up)):
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"compile: {option} must be a number of calls, got {number!r}")
    if disable:
        return function
    if backend in EAGER_BACKENDS:
        return _around(function, function)
    graphs = backend in GRAPH_BACKENDS
    if graphs:
        _require_gpu()
    else:
        _require_jax()
    spread = _spread_over(mesh, shard, graphs)
    call = Compiled(function, fallback, limit, warm_up, spread, graphs, fullgraph)
    return _around(function, call)


def _around(function: Any, call: Any) -> Any:
    """What a function is called by; of a module, a module around it that is called so."""
    if hasattr(function, "named_parameters") and not isinstance(function, type):
        from adjoint.compiling.modules import OptimizedModule  # nn is loaded where modules are

        return OptimizedModule(function, call)
    return call


def _require_jax() -> None:
    try:
        import adjoint.backends.xla  # noqa: F401  # JAX is loaded when something is compiled
    except ImportError as error:
        raise ImportError(
            f"compile needs JAX, which can't be imported ({error}); pip install 'adjoint[xla]'"
        ) from error


def _require_gpu() -> None:
    where = device("cuda")
    if not backend_for(where).is_available():  # names what to install, where CuPy is missing
        raise RuntimeError("compile: backend='cudagraph' needs a GPU, and CuPy finds none")


def _spread_over(mesh: Any, shard: Any, graphs: bool) -> Any:
    """How tensors lie on the devices of a mesh; None if there is none."""
    if mesh is None:
        if shard is not None:
            raise ValueError("compile: shard= says how tensors lie on a mesh; give mesh= too")
        return None
    if graphs:
        raise ValueError("compile: backend='cudagraph' captures the work of one GPU, not of a mesh")
    from adjoint.backends.meshes import Spread  # with JAX, which is loaded here

    return Spread(mesh, shard)


class _Signature:
    """The calls of one signature: how many ran eagerly, and the program of the others."""

    __slots__ = ("calls", "eager", "programs")

    def __init__(self) -> None:
        self.calls = 0
        self.eager = False  # it can't be compiled, or there are too many
        self.programs: list[Any] = []  # the one used last comes first


class Compiled:
    """A function that is traced once for each signature, and run by XLA."""

    def __init__(
        self,
        function: Any,
        fallback: bool,
        limit: int,
        warm_up: int,
        spread: Any = None,
        graphs: bool = False,
        whole: bool = False,
    ) -> None:
        self.function = function
        self.whole = whole  # it never runs eagerly instead
        self.spread = spread  # over the devices of a mesh
        self.graphs = graphs  # its work on CuPy is captured, not traced for XLA
        self.fallback = fallback and not whole
        self.limit = limit
        self.warm_up = warm_up
        self.count = 0  # programs made
        self.signatures: dict[Any, _Signature] = {}
        self.warned = False
        self.crowded = False  # it was said that many arguments come once
        self.told = False  # what it changes at tracing alone
        self.lock = threading.RLock()
        self.last = Last(self.lock, None, None, None)  # which no call is like
        self.answers = Answers()
        functools.update_wrapper(self, function, updated=())

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        settings = (self.fallback, self.limit, self.warm_up, self.spread, self.graphs, self.whole)
        return Compiled, (self.function, *settings)

    def __repr__(self) -> str:
        return f"<compiled {self.name}, {self.count} programs>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs:
            answer = self.last.answer()
            if answer is not ABSENT:
                return answer
        if current().tracing is not None:  # a part of that, by which no lock is waited for
            return self.function(*args, **kwargs)
        with self.lock:
            return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call, of one thread at a time."""
        settings = current()
        if self.last.program is not None and self.last.settings is None:  # it is outdated
            self.last = Last(self.lock, None, None, None)
        if not settings.plain:  # a context wants to see its calls
            log.info("%s runs eagerly inside a context that sees its calls", self.name)
            return self.function(*args, **kwargs)
        if open_levels.get() or len(derivatives.get()) > 1:
            log.info("%s runs eagerly inside a transform", self.name)
            return self.function(*args, **kwargs)
        if stance.eager:
            return self.function(*args, **kwargs)
        call = Call(args, kwargs, settings)
        signature = self.signatures.get(call.key)
        if signature is None:
            log.info("%s: %s", self.name, difference(call.key, list(self.signatures)))
            if len(self.signatures) >= _MANY:
                self._forget_one()
            signature = self.signatures[call.key] = _Signature()
        reason = ""
        for program in signature.programs:
            if not args and not kwargs and not program.host_calls:
                self.last = Last(self.lock, settings, get_default_dtype(), program)
            try:
                return program.run(call.tensors)
            except AnsweredError as answered:
                self.answers.note(answered.hook, (), answered)
                signature.programs, reason = [], answered.reason
                break
            except OutdatedError as outdated:
                reason = reason or outdated.reason  # of the newest
        if without_program(self.name):
            return self.function(*args, **kwargs)
        if signature.eager or signature.calls < self.warm_up:
            signature.calls += 1
            with Changed({"asking": self.answers}):
                return self.function(*args, **kwargs)
        if self.count >= self.limit:
            self._give_up(signature)
            return self.function(*args, **kwargs)
        return self._compiled(signature, call, args, kwargs, reason)

    def _forget_one(self) -> None:
        """Forget the oldest signature without a program: each keeps its arguments."""
        spare = (key for key, each in self.signatures.items() if not each.programs)
        self.signatures.pop(next(spare, None), None)
        if not self.crowded:
            self.crowded = True
            warnings.warn(
                f"compile: {self.name} has met {_MANY} kinds of arguments, and runs eagerly when "
                "one comes for the first time. What is new at each call (an object, a number, a "
                "length) should stay the same, or be a tensor",
                stacklevel=4,
            )

    def _give_up(self, signature: _Signature) -> None:
        signature.eager = True
        if not self.warned:
            self.warned = True
            warnings.warn(
                f"compile: {self.name} has {self.count} programs, which is the limit; calls with "
                "other arguments run eagerly. Pass numbers that change as tensors, or raise limit=",
                stacklevel=4,
            )

    def _compiled(
        self, signature: _Signature, call: Call, args: Any, kwargs: Any, reason: str
    ) -> Any:
        """Trace the function, and run what was traced."""
        log.info("%s is traced: %s", self.name, reason or "it has no program yet")
        try:
            program = self._program(call, args, kwargs)
        except AgainError:
            return self._compiled(
                signature, call, args, kwargs, "the code of a Function reads values"
            )
        except CompileError as error:
            if isinstance(error, LaterError) and self.warm_up and not self.whole:
                log.info("%s runs eagerly once more: %s", self.name, error)
                with Changed({"asking": self.answers}):
                    return self.function(*args, **kwargs)
            if not self.fallback and (self.whole or not isinstance(error, EagerError)):
                raise
            signature.eager = True
            log.warning("%s runs eagerly: %s", self.name, error)
            if not self.warned:
                self.warned = True
                warnings.warn(f"compile: {self.name} runs eagerly: {error}", stacklevel=4)
            return self.function(*args, **kwargs)
        self.count += 1
        if program.unrepeated:
            self._tell(program.unrepeated)
        if not program.spent:
            signature.programs.insert(0, program)
        try:
            return program.run(call.tensors)
        except OutdatedError as outdated:  # by a warning that somebody notes, or another thread
            log.info("%s runs eagerly: %s", self.name, outdated.reason)
            return self.function(*args, **kwargs)

    def _tell(self, names: list[str]) -> None:
        """Say what the function has changed while it was traced, and will not change again."""
        told = ", ".join(f"'{name}'" for name in dict.fromkeys(names))
        log.info("%s changes %s, which is not done at later calls", self.name, told)
        if not self.told:
            self.told = True
            warnings.warn(
                f"compile: {self.name} changes {told} while it is traced, which is not done at "
                "later calls. Let a tensor hold it, do it in a hook, or outside",
                stacklevel=5,
            )

    def _program(self, call: Call, args: Any, kwargs: Any) -> Any:
        """What a call is traced to, or captured as, by one thread at a time."""
        from adjoint.compiling.watching import PATIENCE, TURN

        if not TURN.acquire(timeout=PATIENCE):
            raise LaterError(f"{self.name} is not compiled while another thread's trace lasts")
        try:
            return self._made(call, args, kwargs)
        finally:
            TURN.release()

    def _made(self, call: Call, args: Any, kwargs: Any) -> Any:
        if self.graphs:
            from adjoint.compiling import capturing  # with CuPy, which is loaded here

            return capturing.program_of(
                self.function, self.name, call.tensors, args, kwargs, self.answers
            )
        from adjoint.compiling.making import program_of
        from adjoint.compiling.tracing import XLA, Tracing

        on_xla = any(type(tensor.array) is not NDARRAY for tensor in call.tensors)
        others = [p for each in self.signatures.values() for p in each.programs]
        known = {id(owner) for program in others for owner in program.owners}
        program = program_of(
            self.function,
            # Of which no name stays: it refers to all memory that the program may take over.
            Tracing(self.name, call.tensors, XLA if on_xla else CPU, self.answers, self.spread),
            args,
            kwargs,
        )
        program.named += [(n, t) for n, t in enumerate(call.tensors) if id(t) in known]
        return program
