"""Which modules answer each of PyTorch's import paths.

A path's names are those of its modules, looked up in this order when used: the module of that path
in `torch_tree`, for names that only PyTorch's programs use; adjoint's own of that path, if it is
listed in `SAME`; and those that `ELSEWHERE` names, of other paths.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_FOLDER = str(Path(__file__).parent / "torch_tree")
_TREE = "adjoint.compat.torch_tree"

# Modules that are PyTorch's under the same name; adjoint has others, some under PyTorch's names.
SAME = (
    "",
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
    "autograd",
    "autograd.anomaly_mode",
    "autograd.forward_ad",
    "autograd.function",
    "autograd.functional",
    "autograd.grad_mode",
    "autograd.gradcheck",
    "autograd.graph",
    "autograd.profiler",
    "distributions",
    "distributions.constraint_registry",
    "distributions.constraints",
    "distributions.distribution",
    "distributions.kl",
    "distributions.transforms",
    "fft",
    "func",
    "library",
    "linalg",
    "masked",
    "nn",
    "nn.attention",
    "nn.functional",
    "nn.grad",
    "nn.init",
    "nn.parameter",
    "nn.utils",
    "nn.utils.clip_grad",
    "nn.utils.convert_parameters",
    "nn.utils.fusion",
    "nn.utils.init",
    "nn.utils.memory_format",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.spectral_norm",
    "nn.utils.stateless",
    "nn.utils.weight_norm",
    "optim",
    "optim.lr_scheduler",
    "optim.optimizer",
    "optim.sparse_adam",
    "optim.swa_utils",
    "profiler",
    "random",
    "return_types",
    "signal",
    "signal.windows",
    "sparse",
    "special",
    "utils",
    "utils.checkpoint",
    "utils.data",
    "utils.data.dataloader",
    "utils.data.dataset",
    "utils.data.distributed",
    "utils.data.sampler",
    "utils.hooks",
    "utils.module_tracker",
)

# PyTorch has a module for each of these, adjoint one for several.
_DISTRIBUTIONS = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution "
    "exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy "
    "half_normal independent inverse_gamma kumaraswamy laplace lkj_cholesky log_normal "
    "logistic_normal lowrank_multivariate_normal mixture_same_family multinomial "
    "multivariate_normal negative_binomial normal one_hot_categorical pareto poisson "
    "relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform von_mises "
    "weibull wishart"
)
_OF_VECTORS = "lowrank_multivariate_normal wishart"
_DISTRIBUTION_HOMES = ("adjoint.distributions", f"{_TREE}.distributions.utils")
_VECTORS = f"{_TREE}.distributions.multivariate_normal"
_LAYERS = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold "
    "instancenorm linear loss normalization padding pixelshuffle pooling rnn sparse transformer "
    "upsampling"
)
_OPTIMIZERS = (
    "_adafactor _muon adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd "
    "sparse_adam"
)

# What a library or device answers that is not there; it has no parts either.
ABSENT = "adjoint.compat.absent_devices"
_ABSENT_PATHS = (
    "backends.cpu backends.cuda backends.cudnn backends.cusparselt backends.kleidiai "
    "backends.mkl backends.miopen backends.nnpack "
    "backends.mkldnn backends.mps backends.openmp backends.opt_einsum distributed.autograd "
    "distributed.rpc"
)
_FUNCTORCH = (
    "_functorch.apis _functorch.autograd_function _functorch.eager_transforms "
    "_functorch.functional_call _functorch.vmap _vmap_internals"
)

# Paths that are shown by a module of more: they list what PyTorch has there, and no other names.
SHARED = frozenset(
    (
        *(f"nn.modules.{name}" for name in _LAYERS.split()),
        *(f"optim.{name}" for name in _OPTIMIZERS.split()),
        *(f"distributions.{name}" for name in _DISTRIBUTIONS.split()),
    )
)

ELSEWHERE: dict[str, tuple[str, ...]] = {
    "": (f"{_TREE}._VF",),
    **dict.fromkeys(("mtia", "xpu"), ("adjoint.compat.absent_accelerators",)),
    "mps": ("adjoint.compat.absent_mps",),
    "_C._nn": ("adjoint.nn.functional",),
    "_VF": ("adjoint",),
    "__future__": ("adjoint.nn.conversion",),
    "_custom_ops": ("adjoint.library.legacy",),
    "_functorch.config": (),
    "_jit_internal": ("typing",),
    **dict.fromkeys(("_lobpcg", "_lowrank"), ("adjoint",)),
    "_tensor": ("adjoint", f"{_TREE}.overrides"),
    "_tensor_str": ("adjoint",),
    "autograd": (f"{_TREE}.autograd.grad_mode",),
    "autograd.profiler_util": ("adjoint.autograd.profiler_events",),
    "distributed": (f"{_TREE}.distributed.distributed_c10d", "adjoint.compat.collectives"),
    "distributed.distributed_c10d": ("adjoint.compat.collectives",),
    "distributed.nn": (f"{_TREE}.distributed.nn.functional",),
    **dict.fromkeys(
        ("distributed.tensor", "distributed._tensor", "distributed._tensor.placement_types"),
        (f"{_TREE}.distributed.tensor.placement_types",),
    ),
    "distributions.utils": ("adjoint.distributions.parameters",),
    "_functorch.make_functional": ("adjoint.functorch",),
    "functional": ("adjoint",),
    "functorch": ("adjoint.functorch", f"{_TREE}.fx.experimental.proxy_tensor"),
    "functorch.experimental": ("adjoint.functorch.experimental",),
    "functorch.experimental.control_flow": (f"{_TREE}._higher_order_ops",),
    "jit.annotations": ("typing",),
    **dict.fromkeys(
        (f"masked.maskedtensor.{name}" for name in ("binary", "core", "creation", "reductions")),
        (f"{_TREE}.masked.maskedtensor",),
    ),
    "masked._ops": ("adjoint.masked",),
    "nn.functional.grad": ("adjoint.nn.grad",),
    "nn.modules": ("adjoint.nn",),
    "nn.modules.lazy": ("adjoint.nn.layers.lazy",),
    "nn.modules.module": ("adjoint.nn.module", "adjoint.nn", "adjoint.nn.state_dict"),
    "nn.modules.utils": ("adjoint.nn",),
    "nn.parallel.data_parallel": (f"{_TREE}.nn.parallel",),
    **dict.fromkeys(
        ("nn.parallel.parallel_apply", "nn.parallel.replicate"),
        (f"{_TREE}.nn.parallel.scatter_gather",),
    ),
    "nn.parameter": ("adjoint.nn",),
    "optim.optimizer": ("adjoint.optim",),
    "profiler": ("adjoint.autograd.profiler",),
    "profiler.profiler": (
        "adjoint.profiler",
        "adjoint.autograd.profiler",
        f"{_TREE}.profiler",
    ),
    "signal.windows.windows": ("adjoint.signal.windows",),
    "utils._cxx_pytree": (f"{_TREE}.utils._pytree", "adjoint.pytree"),
    "utils._pytree": ("adjoint.pytree",),
    "utils.data._utils": (),
    "utils.data._utils.collate": ("adjoint.utils.data.collate",),
    "utils.data._utils.worker": ("adjoint.utils.data.worker",),
    "utils.data.dataloader": ("adjoint.utils.data.worker",),
    "utils.dlpack": ("adjoint.tensors.interop",),
    "utils.hooks": ("adjoint.autograd.hooks",),
    "utils.tensorboard.writer": (f"{_TREE}.utils.tensorboard",),
    **dict.fromkeys(_ABSENT_PATHS.split(), (ABSENT,)),
    **dict.fromkeys(_FUNCTORCH.split(), ("adjoint.func",)),
    **{f"distributions.{name}": _DISTRIBUTION_HOMES for name in _DISTRIBUTIONS.split()},
    **{f"distributions.{name}": (*_DISTRIBUTION_HOMES, _VECTORS) for name in _OF_VECTORS.split()},
    **{f"nn.modules.{name}": ("adjoint.nn",) for name in _LAYERS.split()},
    **{
        f"optim.{name}": ("adjoint.optim", f"{_TREE}.optim._functional")
        for name in _OPTIMIZERS.split()
    },
}


def _in_tree() -> Iterator[str]:
    """The paths of the modules in torch_tree."""
    for folder, _, files in os.walk(_FOLDER):
        package = folder[len(_FOLDER) :].replace(os.sep, ".")
        for file in files:
            if file.endswith(".py"):
                name = f"{package}.{file.removesuffix('.py')}"
                yield name.removesuffix(".__init__").lstrip(".")


def _homes() -> dict[str, tuple[str, ...]]:
    tree = set(_in_tree())
    return {
        path: (
            *([f"{_TREE}.{path}".rstrip(".")] if path in tree else []),
            *([f"adjoint.{path}".rstrip(".")] if path in SAME else []),
            *ELSEWHERE.get(path, ()),
        )
        for path in {*tree, *SAME, *ELSEWHERE}
    }


PATHS = _homes()
