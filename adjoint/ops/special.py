"""Special functions, with SciPy's kernels where it is installed."""
