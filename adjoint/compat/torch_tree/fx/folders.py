"""A GraphModule as a folder: a package with the code of its forward, and files of what it holds."""

from pathlib import Path
from typing import Any

from adjoint.compat.torch_tree.serialization import save

_MODULE = """from pathlib import Path

import torch
{imports}

_HERE = Path(__file__).parent


class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
{members}
        self.load_state_dict(torch.load(_HERE / "state_dict.pt"))

{forward}
"""


def to_folder(module: Any, folder: Any, module_name: str) -> None:
    """Write a package whose class of that name is the module."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    save(module.state_dict(), place / "state_dict.pt")
    members = []
    for name, inner in module.named_children():
        save(inner, place / f"{name}.pt")
        members.append(f'self.{name} = torch.load(_HERE / "{name}.pt", weights_only=False)')
    kept_names = module.state_dict()
    for name, buffer in module.named_buffers(recurse=False):
        looks, kept = _empty(buffer), name in kept_names
        members.append(f'self.register_buffer("{name}", {looks}, persistent={kept})')
    for name, parameter in module.named_parameters(recurse=False):
        looks = f"torch.nn.Parameter({_empty(parameter)})"
        members.append(f'self.register_parameter("{name}", {looks})')
    written = module.graph.python_code(root_module="self")
    imports = [f"import {name}" for name in ("math", "operator") if name in written.src]
    text = _MODULE.format(
        name=module_name,
        imports="\n".join([*imports, "from math import inf, nan", "NoneType = type(None)"]),
        members="\n".join(f"        {line}" for line in members),
        forward="\n".join(f"    {line}".rstrip() for line in written.src.strip("\n").split("\n")),
    )
    (place / "module.py").write_text(text, encoding="utf-8")
    (place / "__init__.py").write_text("from .module import *\n", encoding="utf-8")


def _empty(tensor: Any) -> str:
    kind = str(tensor.dtype).rpartition(".")[2]
    return f"torch.empty({list(tensor.shape)}, dtype=torch.{kind})"
