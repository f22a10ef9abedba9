"""Programs written for PyTorch, on adjoint.

`adjoint.compat.torch` has PyTorch's import paths, old names and private spellings; `install()`
makes `import torch` mean it (`installing.py`). Names that only such programs use lie where PyTorch
has them: `torch.utils.benchmark` is `torch_tree/utils/benchmark.py`. Which of adjoint's modules
answer a path beside that one is in `paths.py`, and `mirror.py` looks them up; `missing_names.py` is
what it says of those that are not there. `methods` has what is added to adjoint's own classes.
"""

from adjoint.compat.installing import install as install
