"""Writes which modules PyTorch has, and which names in them: adjoint/compat/pytorch_names.txt.

    python -m tools.pytorch_names

It needs PyTorch without devices, of the version that adjoint follows. A line is a module: its path
below torch, its classes and types, and its other names. A star means that names are not listed and
any may be there; behind it are the modules below that are such themselves, without lines of theirs.
"""

import importlib
import inspect
import sys
import types
import typing
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "adjoint" / "compat" / "pytorch_names.txt"
# PyTorch's own of torch.ops.
NAMESPACES = (
    "_c10d_functional",
    "_c10d_functional_autograd",
    "aten",
    "c10d",
    "c10d_functional",
    "prims",
    "profiler",
    "quantized",
)
# What is long to import, or needs devices and packages, and whose names few programs use.
UNLISTED = (
    "_decomp",
    "_dynamo.backends",
    "_dynamo.bytecode_analysis",
    "_dynamo.bytecode_transformation",
    "_dynamo.code_context",
    "_dynamo.codegen",
    "_dynamo.compiled_autograd",
    "_dynamo.comptime",
    "_dynamo.convert_frame",
    "_dynamo.debug_utils",
    "_dynamo.funcname_cache",
    "_dynamo.functional_export",
    "_dynamo.graph_deduplication",
    "_dynamo.guards",
    "_dynamo.metrics_context",
    "_dynamo.output_graph",
    "_dynamo.package",
    "_dynamo.pgo",
    "_dynamo.polyfills",
    "_dynamo.precompile_context",
    "_dynamo.profiler",
    "_dynamo.replay_record",
    "_dynamo.repro",
    "_dynamo.resume_execution",
    "_dynamo.side_effects",
    "_dynamo.source",
    "_dynamo.symbolic_convert",
    "_dynamo.test_case",
    "_dynamo.test_minifier_common",
    "_dynamo.testing",
    "_dynamo.trace_rules",
    "_dynamo.variables",
    "_export",
    "_functorch._activation_checkpointing",
    "_functorch._activation_offloading",
    "_functorch._aot_autograd",
    "_functorch.compile_utils",
    "_functorch.compilers",
    "_functorch.config",
    "_functorch.fx_minifier",
    "_functorch.partitioners",
    "_functorch.predispatch",
    "_functorch.top_operators_github_usage",
    "_higher_order_ops",
    "_inductor",
    "_logging._internal",
    "_meta_registrations",
    "_native",
    "_numpy",
    "_prims",
    "_refs",
    "_subclasses.complex_tensor",
    "_subclasses.fake_impls",
    "_subclasses.meta_utils",
    "_subclasses.schema_check_mode",
    "_torch_docs",
    "_utils_internal",
    "_vendor",
    "contrib",
    "distributed._composable",
    "distributed._functional_collectives_impl",
    "distributed._local_tensor",
    "distributed._shard",
    "distributed._symmetric_memory",
    "distributed._tools",
    "distributed.algorithms",
    "distributed.benchmarks",
    "distributed.checkpoint._experimental",
    "distributed.checkpoint.planner_helpers",
    "distributed.elastic",
    "distributed.flight_recorder",
    "distributed.fsdp._common_utils",
    "distributed.fsdp._flat_param",
    "distributed.fsdp._fully_shard",
    "distributed.fsdp._init_utils",
    "distributed.fsdp._optim_utils",
    "distributed.fsdp._runtime_utils",
    "distributed.fsdp._state_dict_utils",
    "distributed.fsdp._unshard_param_utils",
    "distributed.launcher",
    "distributed.pipelining",
    "distributed.rpc._testing",
    "distributed.tensor._collective_utils",
    "distributed.tensor._dispatch",
    "distributed.tensor._dtensor_spec",
    "distributed.tensor._op_schema",
    "distributed.tensor._ops",
    "distributed.tensor._random",
    "distributed.tensor._redistribute",
    "distributed.tensor._sharding_prop",
    "distributed.tensor._shards_wrapper",
    "distributed.tensor.debug",
    "distributed.tensor.experimental",
    "jit._decompositions",
    "jit._recursive",
    "jit._shape_functions",
    "masked._docs",
    "masked.maskedtensor._ops_refs",
    "nested._internal",
    "nn.attention._fa4",
    "nn.utils._expanded_weights",
    "numa",
    "onnx._internal",
    "onnx.symbolic_helper",
    "onnx.symbolic_opset10",
    "onnx.symbolic_opset11",
    "onnx.symbolic_opset12",
    "onnx.symbolic_opset13",
    "onnx.symbolic_opset14",
    "onnx.symbolic_opset15",
    "onnx.symbolic_opset16",
    "onnx.symbolic_opset17",
    "onnx.symbolic_opset18",
    "onnx.symbolic_opset19",
    "onnx.symbolic_opset20",
    "onnx.symbolic_opset7",
    "onnx.symbolic_opset8",
    "onnx.symbolic_opset9",
    "profiler._chrome_trace_export",
    "profiler._cupti_monitor",
    "profiler._cupti_monitor_trace",
    "profiler._memory_profiler",
    "profiler._pattern_matcher",
    "profiler._utils",
    "sparse._semi_structured_conversions",
    "sparse._semi_structured_ops",
    "testing._internal",
)
FOREIGN = sys.stdlib_module_names - {"builtins"} | {"numpy", "sympy", "typing_extensions"}
# What PyTorch makes without a file of Python.
MADE = ["_C", "_C._autograd", "_C._functions", "_C._functorch", "_C._nn", "_C._profiler"]
MADE += ["_C._distributed_c10d", "_C._onnx", "_C._jit_tree_views", "ops"]


def paths(root: Path) -> Iterator[str]:
    """The paths of the modules in a folder."""
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        if parts[-1] != "__main__":
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_pytorch_s(name: str, value: Any) -> bool:
    """Whether a value is PyTorch's, and not one of Python's that a module imported."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0] in {"torch", "functorch"}
    if getattr(typing, name, type(None)) is value:
        return False
    made = isinstance(value, type | types.FunctionType | types.BuiltinFunctionType)
    home = getattr(value, "__module__", None) if made else None
    return (home or "torch").partition(".")[0] not in FOREIGN


def is_type(value: Any) -> bool:
    """Whether a value is a class, or a type that annotations are made of."""
    return isinstance(value, type | typing.TypeVar) or typing.get_origin(value) is not None


def names(top: str, path: str) -> tuple[list[str], list[str]]:
    """The classes of a module, and its other names."""
    whole = f"{top}.{path}".rstrip(".")
    try:
        module = importlib.import_module(whole)
    except (ImportError, OSError, RuntimeError):  # it needs a device or a package
        return [], ["*"]
    listed = {*dir(module), *getattr(module, "__all__", ())}
    # Some are properties of a class of modules.
    kind = type(module)
    members = inspect.getmembers_static(kind, inspect.isdatadescriptor)
    listed |= {name for name, _ in members}
    # Modules whose attributes are settings: some hide the module they replace, some list them.
    hidden, settings = getattr(module, "m", None), getattr(module, "_config", None)
    listed |= {*(vars(hidden) if isinstance(hidden, types.ModuleType) else ())}
    listed |= {*(settings if isinstance(settings, dict) else ())}
    known = {name: getattr(module, name, None) for name in listed if name[:2] != "__"}
    known = {name: value for name, value in known.items() if is_pytorch_s(name, value)}
    classes = {name for name, value in known.items() if is_type(value)}
    return sorted(classes), sorted({*known} - classes)


def is_unlisted(path: str) -> bool:
    """Whether only the path of a module is listed, not its names."""
    return any(path == root or path.startswith(f"{root}.") for root in UNLISTED)


def leaves(package: str, known: list[str], packages: set[str]) -> list[str]:
    """The modules of a package that have none below them."""
    start = f"{package}."
    below = [path.removeprefix(start) for path in known if path.startswith(start)]
    return [name for name in below if "." not in name and start + name not in packages]


def lines() -> Iterator[str]:
    """The file's lines."""
    for top, prefix in (("torch", ""), ("functorch", "functorch")):
        package = importlib.import_module(top)
        made = MADE if top == "torch" else []
        known = sorted({*paths(Path(package.__file__ or "").parent), *made})
        packages = {path.rpartition(".")[0] for path in known}
        for path in known:
            if not is_unlisted(path):
                classes, others = names(top, path)
            elif path in packages or path in UNLISTED:
                classes, others = [], ["*", *leaves(path, known, packages)]
            else:
                continue
            shown = f"{prefix}.{path}".strip(".")
            yield f"{shown}|{' '.join(classes)}|{' '.join(others)}"


def operations() -> Iterator[str]:
    """The lines of torch.ops: its operations by name, and their overloads."""
    importlib.import_module("torch.distributed._functional_collectives")  # which defines some
    registered = importlib.import_module("torch._C")._dispatch_get_all_op_names()  # noqa: SLF001
    # What the compiler asks of a tensor besides, and classes that answer for its looks are asked.
    looks = ("aten::sym_size", "aten::sym_stride")
    for namespace in NAMESPACES:
        overloads: dict[str, list[str]] = {}
        for whole in sorted({*registered, *looks}):
            if whole.startswith(f"{namespace}::"):
                name, _, overload = whole.partition("::")[2].partition(".")
                overloads.setdefault(name, []).append(overload or "default")
        shown = [f"{name}.{','.join(found)}" for name, found in overloads.items()]
        yield f"ops.{namespace}||{' '.join(shown)}"


def old_paths(known: set[str]) -> Iterator[str]:
    """The lines of modules that PyTorch keeps under an old path as well, and has no file for."""
    for whole in sorted(sys.modules):
        top, _, path = whole.partition(".")
        if top == "torch" and path and path not in known and not is_unlisted(path):
            yield f"{path}||*"


def text() -> str:
    """What the file should hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(lines())
        found += operations()
        found += old_paths({line.partition("|")[0] for line in found})
        return "\n".join(found) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
