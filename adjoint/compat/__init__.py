"""Programs written for PyTorch, on adjoint.

`adjoint.compat.torch` has PyTorch's import paths, old names and private spellings; `install()`
makes `import torch` mean it. How the paths are answered is in `mirror.py`.
"""

from adjoint.compat.installing import install as install
