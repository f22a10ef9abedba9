"""torch._library.autograd: Functions of lists of tensors."""

from typing import Any

from adjoint.autograd.function import Function
from adjoint.pytree import tree_flatten, tree_unflatten


class _Structured:
    """A Function's ctx, which says of arguments as they were given what needs a gradient."""

    def __init__(self, ctx: Any, needs_input_grad: Any) -> None:
        object.__setattr__(self, "ctx", ctx)
        object.__setattr__(self, "needs_input_grad", needs_input_grad)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.ctx, name, value)


def supports_tensorlist(cls: Any) -> Any:
    """Decorates a Function whose arguments and results may be lists of tensors."""
    forward, backward = cls.forward, cls.backward

    class Leaves(Function):
        """The same Function of all tensors one by one."""

        @staticmethod
        def forward(ctx: Any, given: Any, *leaves: Any) -> Any:
            needs = tree_unflatten(ctx.needs_input_grad[1:], given.spec)
            result = forward(_Structured(ctx, needs), *tree_unflatten(leaves, given.spec))
            found, given.answer = tree_flatten(result)
            ctx.given = given
            return tuple(found)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            needs = tree_unflatten(ctx.needs_input_grad[1:], ctx.given.spec)
            whole = tree_unflatten(grads, ctx.given.answer)
            result = backward(_Structured(ctx, needs), whole)
            answers = result if isinstance(result, tuple) else (result,)
            children = ctx.given.spec.children_specs
            if len(answers) != len(children):
                raise RuntimeError(
                    f"{cls.__name__}.backward: {len(children)} gradients are due, one for each "
                    f"argument, got {len(answers)}"
                )
            flat: list[Any] = []
            for answer, child in zip(answers, children, strict=True):
                flat += [None] * child.num_leaves if answer is None else _leaves(answer, child)
            return (None, *flat)

    def apply(*args: Any) -> Any:
        leaves, spec = tree_flatten(args)
        given = _Given(spec)
        result = Leaves.apply(given, *leaves)
        return tree_unflatten(result, given.answer)

    def refuse(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError(
                f"{cls.__name__}: calling Function.{name} directly is not supported; call apply"
            )

        return staticmethod(call)

    Leaves.__name__ = Leaves.__qualname__ = cls.__name__
    cls.forward, cls.backward = refuse("forward"), refuse("backward")
    cls.apply = staticmethod(apply)
    return cls


class _Given:
    """The nests of one call: that of its arguments, and that of its results once known."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self.answer: Any = None


def _leaves(answer: Any, spec: Any) -> list[Any]:
    """The gradients for the leaves of one argument."""
    found = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    if len(found) != spec.num_leaves:
        raise RuntimeError(f"{spec.num_leaves} gradients are due for a list, got {len(found)}")
    return found
