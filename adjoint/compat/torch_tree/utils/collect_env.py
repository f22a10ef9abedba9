"""torch.utils.collect_env: what a report of an error should say of where it happened."""

import importlib.metadata
import platform
import sys
from typing import NamedTuple

from adjoint.compat.torch_tree import cuda
from adjoint.compat.torch_tree.torch_version import __version__ as answered
from adjoint.version import __version__

_PACKAGES = ("numpy", "scipy", "cupy", "jax", "jaxlib", "ml_dtypes", "safetensors", "threadpoolctl")


class SystemEnv(NamedTuple):
    """What is known of the machine and what is installed."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    nvidia_gpu_models: str | None
    pip_packages: str
    cpu_info: str


def _packages() -> str:
    found = [f"adjoint=={__version__}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "\n".join(found)


def get_env_info() -> SystemEnv:
    """What is known of the machine and what is installed."""
    there = cuda.is_available()
    models = [cuda.get_device_name(f"cuda:{number}") for number in range(cuda.device_count())]
    return SystemEnv(
        torch_version=f"adjoint {__version__}, which answers as PyTorch {answered}",
        is_debug_build="False",
        cuda_compiled_version="N/A",
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)",
        python_platform=platform.platform(),
        is_cuda_available=str(there),
        nvidia_gpu_models="\n".join(models) if there else None,
        pip_packages=_packages(),
        cpu_info=platform.processor() or platform.machine(),
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """Such a record as text, a line for each of its parts."""
    shown = {
        "PyTorch version": envinfo.torch_version,
        "Debug build": envinfo.is_debug_build,
        "Built for CUDA": envinfo.cuda_compiled_version,
        "OS": envinfo.os,
        "C library": envinfo.libc_version,
        "Python version": envinfo.python_version,
        "Python platform": envinfo.python_platform,
        "CUDA is there": envinfo.is_cuda_available,
        "GPUs": envinfo.nvidia_gpu_models or "none found",
        "CPU": envinfo.cpu_info,
    }
    lines = [f"{name}: {value}" for name, value in shown.items()]
    versions = [f"[pip3] {each}" for each in envinfo.pip_packages.splitlines()]
    return "\n".join([*lines, "", "Packages:", *versions])


def get_pretty_env_info() -> str:
    """What is known, as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print it."""
    sys.stdout.write(f"{get_pretty_env_info()}\n")
