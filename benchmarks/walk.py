"""How long the way of a call and of a backward pass is: functions called, and files they lie in.

Run `PYTHONPATH=. python benchmarks/walk.py` in the source tree. It goes through
`(x * w).tanh().sum().backward()`, the forward in a module with a full backward hook, with a tensor
hook on the product, and counts the calls of adjoint's own functions (docs/architecture.md).
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import adjoint
from adjoint import nn

HOME = str(Path(adjoint.__file__).parent)


class Product(nn.Module):
    """The forward of the walk."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(adjoint.ones(3))

    def forward(self, x: Any) -> Any:
        """A product, with a hook on it, and what follows."""
        product = x * self.weight
        product.register_hook(lambda grad: None)
        return product.tanh().sum()


def walked(work: Callable[[], object]) -> tuple[int, Counter[str]]:
    """How many functions of adjoint's some work calls, and how many in each file."""
    files: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(HOME):
            files[str(Path(name).relative_to(HOME))] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return files.total(), files


def walk(x: Any, plain: Any, hooked: Any) -> dict[str, tuple[int, Counter[str]]]:
    """The counts of each part of the walk."""
    losses: list[Any] = []
    return {
        "the call of a module": walked(lambda: losses.append(plain(x))),
        "the call of a hooked module": walked(lambda: losses.append(hooked(x))),
        "its backward": walked(lambda: losses[-1].backward()),
    }


def main() -> None:
    """Print the counts, and where the calls are."""
    if adjoint.__compiled__:
        sys.exit("this adjoint is compiled; calls can be counted in the sources alone")
    x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    plain, hooked = Product(), Product()
    hooked.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    walk(x, plain, hooked)  # the first time some modules are loaded
    for name, (calls, files) in walk(x, plain, hooked).items():
        print(f"{name}: {calls} calls through {len(files)} files")
        for path, count in files.most_common():
            print(f"  {count:4} {path}")


if __name__ == "__main__":
    main()
