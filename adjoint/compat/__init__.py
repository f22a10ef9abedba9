"""Programs written for PyTorch, on adjoint.

`adjoint.compat.torch` has PyTorch's import paths, old names and private spellings; `install()`
makes `import torch` mean it (`installing.py`). Which modules answer a path is in `paths.py`, single
names are in `spellings.py`, and `mirror.py` looks them up; `missing_names.py` is what it says of
those that are not there, and `attaching.py` adds methods. All other modules hold names, by topic.
"""

from adjoint.compat.installing import install as install
