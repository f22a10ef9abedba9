"""What the calls of all compiled functions do for a while, beside what each would do."""

from adjoint.compiling.errors import CompileError

EAGER = "force_eager"
KNOWN_ALONE = "eager_on_recompile"  # programs that there are run, and no more are made
FAILING = "fail_on_recompile"


class _Stance:
    """The one in force; `eager` is that of all calls, whatever there is of programs."""

    def __init__(self) -> None:
        self.name = "default"
        self.eager = False


stance = _Stance()


def take(name: str) -> None:
    """Have compiled functions called so from now on."""
    stance.name = name
    stance.eager = name == EAGER


def without_program(called: str) -> bool:
    """Whether a call for which there is no program runs eagerly; it may be refused instead."""
    if stance.name == FAILING:
        raise CompileError(
            f"compile: {called} has no program for this call, and the stance is "
            f"{FAILING!r}; call it before with such arguments, or set the stance 'default'"
        )
    return stance.name == KNOWN_ALONE
