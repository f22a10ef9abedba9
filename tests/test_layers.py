"""Imports of the package point one way, to public names; few import array libraries."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import adjoint

ROOT = Path(adjoint.__file__).parent

# From the bottom up. A module may import its own layer and those below; a package stands for the
# modules in it that are not named themselves.
LAYERS = [
    [
        "_base",
        "autograd.provenance",
        "backends",
        "call.context",
        "call.held",
        "device",
        "dtypes",
        "pytree",
        "tensors.size",
    ],
    ["tensors.core", "tensors.upper"],
    ["autograd.hooks", "autograd.intermediates"],
    ["autograd.node", "autograd.saved_tensors"],
    [
        "autograd.daemons",
        "autograd.early_writes",
        "autograd.engine",
        "autograd.graph_task",
        "autograd.leaves",
        "autograd.reach",
        "autograd.reference_counts",
        "autograd.workers",
    ],
    [
        "call",
        "ops.annotations",
        "ops.as_method",
        "ops.composites",
        "ops.declaration",
        "ops.op",
        "ops.plain_numbers",
        "ops.signatures",
        "tensors.tensor",
        "tensors.changes",
        "tensors.memory",
        "tensors.views",
    ],
    ["creation", "ops", "random", "tensors"],
    ["signal"],
    ["autograd.entry_points", "autograd.forward_rules", "autograd.grad_mode"],
    ["transforms"],
    ["autograd", "control_flow", "fft", "func", "library", "linalg", "sparse", "tensors.methods"],
    ["return_types", "settings", "special", "version"],
    ["amp", "autograd.profiler", "distributed", "nn", "optim", "profiler", "testing", "utils"],
    ["distributions", "functorch", "masked"],
    ["saving"],
    ["compiling"],
    [
        "compat.absent_devices",
        "compat.asking_methods",
        "compat.options_by_name",
        "compat.aten",
        "compat.aten_bags",
        "compat.aten_counts",
        "compat.aten_forms",
        "compat.aten_gradients",
        "compat.aten_fourier",
        "compat.aten_images",
        "compat.aten_matrices",
        "compat.aten_networks",
        "compat.aten_parts",
        "compat.aten_pools",
        "compat.aten_recurrent",
        "compat.aten_sparse",
        "compat.attention_parts",
        "compat.compiler_settings",
        "compat.dispatch_keys",
        "compat.fake_quantization",
        "compat.higher_order",
        "compat.missing_names",
        "compat.no_compiler",
        "compat.odd_products",
        "compat.own_arrays",
        "compat.private_functions",
        "compat.pytorch_names",
        "compat.recurrent_functions",
        "compat.tags",
        "compat.tensorboard_plugins",
        "compat.tensor_types",
        "compat.torch_files",
        "compat.tree_paths",
        "compat.tree_texts",
        "compat.unheld_types",
    ],
    ["compat.torch_tree.ops"],
    ["compat.aten_steps", "compat.dispatched_looks"],
    ["compat.overridable", "compat.torch_tree"],
    ["compat.methods", "compat.old_argument_orders"],
    ["__main__", "cli", "compat", "viz"],
    [""],  # adjoint itself, which only gathers public names
]
RANK = {f"adjoint.{name}".strip("."): rank for rank, names in enumerate(LAYERS) for name in names}

# What may import which array library, and why.
LIBRARIES = {"numpy", "scipy", "ml_dtypes", "cupy", "jax", "torch"}
EXCEPTIONS = {
    "adjoint.dtypes": ({"numpy", "ml_dtypes"}, "our data types are named after NumPy's"),
    "adjoint.testing": ({"numpy"}, "samples are NumPy arrays, whatever the backend"),
    "adjoint.ops.arranging.conversion": ({"ml_dtypes"}, "it knows the limits of bfloat16"),
}


def modules() -> list[str]:
    """Every module of the package."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = ["adjoint", *path.relative_to(ROOT).with_suffix("").parts]
        found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


MODULES = modules()
every_module = pytest.mark.parametrize("module", MODULES)


def tree_of(module: str) -> ast.Module:
    """A module's source, parsed."""
    path = ROOT.joinpath(*module.split(".")[1:])
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(source.read_text(encoding="utf-8"))


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements that run, wherever they stand: not those for type checkers."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from statements(child)


def imports(module: str) -> Iterator[tuple[int, str]]:
    """The line and the full name of each module that a module imports."""
    for statement in statements(tree_of(module)):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield statement.lineno, alias.name
            continue
        assert statement.level == 0, f"{module}:{statement.lineno}: a relative import"
        source = statement.module or ""
        for alias in statement.names:
            inner = f"{source}.{alias.name}"
            yield statement.lineno, inner if inner in MODULES else source


def rank_of(module: str) -> int:
    """The layer of a module, or of the nearest package around it that has one."""
    name = module
    while name not in RANK:
        assert "." in name, f"{module} has no layer: give it one in LAYERS"
        name = name.rpartition(".")[0]
    assert name != "adjoint" or module == "adjoint", f"{module} has no layer: give it one in LAYERS"
    return RANK[name]


@every_module
def test_imports_point_down(module: str) -> None:
    """A module imports nothing that lies above it."""
    for line, name in imports(module):
        if name.partition(".")[0] == "adjoint":
            assert rank_of(name) <= rank_of(module), f"{module}:{line} imports {name} from above"


def needed_to_load(module: str) -> set[str]:
    """The modules that a module imports when it is loaded: not those its functions ask for."""
    found: set[str] = set()
    for statement in tree_of(module).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in statements(statement):
            source = getattr(node, "module", None)
            for alias in node.names:
                inner = f"{source}.{alias.name}" if source else alias.name
                found.add(inner if inner in MODULES else str(source))
    return {name for name in found if name in MODULES and name != module}


def test_no_two_modules_need_one_another_to_load() -> None:
    """Whatever a module needs can be loaded before it."""
    needed = {module: needed_to_load(module) for module in MODULES}
    packages = {module for module in MODULES if any(m.startswith(f"{module}.") for m in MODULES)}
    loaded = set(packages)  # which gather what lies below them
    waiting = [module for module in MODULES if module not in packages]
    while waiting:
        ready = [module for module in waiting if needed[module] <= loaded]
        assert ready, f"these need one another: {waiting}"
        loaded.update(ready)
        waiting = [module for module in waiting if module not in loaded]


@every_module
def test_imports_are_public(module: str) -> None:
    """A name with an underscore is its module's own."""
    for statement in statements(tree_of(module)):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("adjoint"):
            for alias in statement.names:
                private = alias.name.startswith("_") and not alias.name.startswith("__")
                inner = f"{statement.module}.{alias.name}"
                where = f"{module}:{statement.lineno}"
                assert not private or inner in MODULES, f"{where} imports the private {inner}"


@every_module
def test_array_libraries_stay_behind_backends(module: str) -> None:
    """NumPy, CuPy and JAX are for the backends; PyTorch is for nothing but tests."""
    allowed, _ = EXCEPTIONS.get(module, (set(), ""))
    for line, name in imports(module):
        library = name.partition(".")[0]
        assert library != "torch", f"{module}:{line} imports PyTorch"
        if library in LIBRARIES and not module.startswith("adjoint.backends"):
            assert library in allowed, f"{module}:{line} imports {library}"


def test_lists_are_up_to_date() -> None:
    """Every exception is still made use of."""
    for module, (allowed, reason) in EXCEPTIONS.items():
        if module in MODULES:
            used = {name.partition(".")[0] for _, name in imports(module)} & LIBRARIES
            assert allowed <= used, f"{module} no longer imports {allowed - used} ({reason})"


@every_module
def test_tensors_are_made_on_arrays_as_they_are(module: str) -> None:
    """Tensor(array) is a program's way, and converts; adjoint itself says Tensor(array, AS_IS)."""
    for call in ast.walk(tree_of(module)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            alone = len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)
            assert call.func.id != "Tensor" or not alone, f"{module}:{call.lineno} lacks AS_IS"
