"""torch.fx, of which programs are not traced: what modules use of it when they are imported."""

from typing import Any, NoReturn

from adjoint.compat.missing_names import missing


def wrap(fn_or_name: Any) -> Any:
    """Decorates a function, or names one, that a tracer should leave whole: there is none."""
    return fn_or_name


def _absent(name: str) -> type:
    """A class that may be derived from and asked for, but has no instances."""

    def refuse(cls: type, *args: Any, **kwargs: Any) -> NoReturn:
        raise missing(f"fx.{name}")

    return type(name, (), {"__new__": refuse, "__doc__": f"torch.fx.{name}: there is none."})


Graph = _absent("Graph")
GraphModule = _absent("GraphModule")
Interpreter = _absent("Interpreter")
Node = _absent("Node")
Proxy = _absent("Proxy")
Tracer = _absent("Tracer")
Transformer = _absent("Transformer")
