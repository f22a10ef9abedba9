"""torch.distributed.elastic.multiprocessing.errors: what a launcher hears of a failure."""

from adjoint.compat.no_compiler import unchanged as record  # noqa: F401  # there is no launcher
