"""`import torch` means adjoint after install(), and in programs that adjoint runs."""

import textwrap

import numpy as np
import pytest

from adjoint.compat.torch_tree import serialization
from tests.interpreter import fresh_python

PROGRAM = """
import sys
import torch
import torch.nn.functional as F
import torch.utils.checkpoint
from torch import nn, Tensor
from torch.autograd import Variable
from torch.autograd.graph import Node
import functorch

x = Variable(torch.FloatTensor([1, 2, 3]), requires_grad=True)
loss = F.relu(x * 2).sum()
loss.backward()
assert isinstance(loss.grad_fn, Node)
print(x.grad.tolist(), torch.__name__, sys.argv[1:], __name__)
"""
ANSWER = "[2.0, 2.0, 2.0] torch ['--flag', 'value'] __main__\n"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_run_a_script(program, tmp_path):
    assert fresh_python("-m", "adjoint", "run", program, "--flag", "value", cwd=tmp_path) == ANSWER


def test_run_a_module(program, tmp_path):
    printed = fresh_python("-m", "adjoint", "run", "-m", "program", "--flag", "value", cwd=tmp_path)
    assert printed == ANSWER


def test_run_finds_modules_beside_the_script(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "part.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    (folder / "main.py").write_text("from part import value\nprint(value)\n")
    assert fresh_python("-m", "adjoint", "run", folder / "main.py", cwd=tmp_path) == "2.0\n"


HOMES = """
import pickle
import torch
from torch import nn, optim

schedulers = optim.lr_scheduler
for place, base in (nn, nn.Module), (optim, optim.Optimizer), (schedulers, schedulers.LRScheduler):
    for name in sorted(set(dir(place)) - {"Container", "DataParallel"}):
        kind = getattr(place, name)
        if isinstance(kind, type) and issubclass(kind, base):
            print(kind.__module__, name, pickle.loads(pickle.dumps(kind)) is kind)


class Own(nn.Module):
    pass


print(Own.__module__)
"""


def test_layers_and_optimizers_are_of_pytorch_s_modules(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "homes.py").write_text(HOMES)
    printed = fresh_python("-m", "adjoint", "run", "homes.py", cwd=tmp_path)
    assert printed == fresh_python("homes.py", cwd=tmp_path)
    assert "torch.nn.modules.linear Linear True\n" in printed


LISTED = """
import inspect
from torch import nn, optim
from torch.nn.modules import activation, pooling


def below(kind):
    for each in kind.__subclasses__():
        yield from below(each)
        if not each.__module__.rpartition(".")[2].startswith("_"):
            yield each


for base in (optim.Optimizer, optim.lr_scheduler.LRScheduler):
    assert {each.__module__.partition(".")[0] for each in below(base)} == {"torch"}
    print(*sorted({each.__name__ for each in below(base)} - {"_LRScheduler"}))
for module in (activation, pooling):
    kinds = [name for name, kind in vars(module).items() if inspect.isclass(kind)]
    print(*sorted(name for name in kinds if name not in ("Parameter", "Tensor")))
print(inspect.getmodule(optim.swa_utils.SWALR).__name__.rpartition("torch.")[2])
"""


def test_programs_that_list_subclasses_and_modules_find_pytorchs(tmp_path, torch):
    program = tmp_path / "lists.py"
    program.write_text(LISTED)
    answer = fresh_python("-m", "adjoint", "run", program, cwd=tmp_path)
    assert answer == fresh_python(program, cwd=tmp_path)


def test_the_source_of_a_layer_is_found(tmp_path):
    (tmp_path / "source.py").write_text(
        "import inspect, torch\n"
        "for kind in (torch.nn.Linear, torch.nn.Module, torch.optim.Adam, torch.nn.LSTM):\n"
        "    print(inspect.getsource(kind).partition('(')[0])\n"
    )
    printed = fresh_python("-m", "adjoint", "run", "source.py", cwd=tmp_path)
    assert printed == "class Linear\nclass Module\nclass Adam\nclass LSTM\n"


def test_a_program_sees_the_names_of_torch(tmp_path):
    (tmp_path / "shown.py").write_text(
        "import torch\n"
        "x = torch.ones(2, 3, requires_grad=True)\n"
        "print(x.dtype, x.shape, type(x), x.clone().grad_fn.next_functions[0][0].name())\n"
        "print(torch.zeros(1, dtype=torch.int64).dtype, [torch.float64])\n"
        "y = x.clone()\n"
        "print(y.copy_(x).grad_fn.name(), type(y.grad_fn).__name__)\n"
        "y[0].add_(1)\n"
        "print(y.grad_fn.name(), type(y.grad_fn).__name__)\n"
    )
    printed = fresh_python("-m", "adjoint", "run", "shown.py", cwd=tmp_path)
    assert printed == (
        "torch.float32 torch.Size([2, 3]) <class 'torch.Tensor'> torch::autograd::AccumulateGrad\n"
        "torch.int64 [torch.float64]\n"
        "torch::autograd::CopyBackwards CopyBackwards\n"
        "torch::autograd::CopySlices CopySlices\n"
    )


def test_what_a_program_saves_can_be_loaded_with_and_without_install(tmp_path):
    (tmp_path / "saves.py").write_text(
        "import copy, pickle, torch\n"
        "x = torch.arange(3.0)\n"
        "assert pickle.loads(pickle.dumps(x)).tolist() == copy.deepcopy(x).tolist()\n"
        "torch.save({'x': x, 'w': torch.nn.Parameter(x)}, 'saved')\n"
        "print(torch.load('saved')['x'].tolist())\n"
    )
    assert fresh_python("-m", "adjoint", "run", "saves.py", cwd=tmp_path) == "[0.0, 1.0, 2.0]\n"
    assert serialization.load(tmp_path / "saved")["w"].tolist() == [0.0, 1.0, 2.0]


def test_the_status_of_a_script_is_that_of_the_process(tmp_path):
    (tmp_path / "ends.py").write_text("import sys, torch\nsys.exit(3)\n")
    code = """
        from adjoint.cli import main
        try:
            main(["run", "ends.py"])
        except SystemExit as end:
            print(end.code)
    """
    assert run(code, tmp_path) == "3\n"


def test_the_version_is_told(tmp_path):
    from adjoint import __version__

    assert fresh_python("-m", "adjoint", "--version", cwd=tmp_path) == f"adjoint {__version__}\n"


def run(code, tmp_path):
    return fresh_python("-c", textwrap.dedent(code), cwd=tmp_path)


def test_install_twice(tmp_path):
    code = """
        import adjoint.compat
        adjoint.compat.install()
        adjoint.compat.install()
        import torch.nn.functional
        import sys
        print(sum(type(finder).__name__ == "_AliasFinder" for finder in sys.meta_path))
        print(torch.nn.functional is sys.modules["adjoint.compat.torch.nn.functional"])
    """
    assert run(code, tmp_path) == "1\nTrue\n"


def test_numpy_makes_arrays_of_tensors(tmp_path, torch):
    names = [
        "atleast_1d",
        "ravel",
        "copy",
        "sort",
        "zeros_like",
        "nan_to_num",
        "diff",
        "linalg.norm",
    ]
    code = f"""
        import adjoint.compat
        adjoint.compat.install()
        import numpy as np
        import torch
        from scipy import ndimage
        x = torch.tensor([3.0, 1.0])
        for name in {names}:
            function = np.linalg.norm if "norm" in name else getattr(np, name)
            print(type(function(x)).__name__)
        print(np.stack([x, np.ones(2)]).dtype, type(np.where(x > 1, 1, 0)).__name__)
        print(ndimage.distance_transform_edt(x > 1), np.dot(np.ones(2), x), type(np.clip(x, 0, 1)))
        try:
            np.concatenate([x.requires_grad_()])
        except RuntimeError as error:
            print("detach" in str(error))
    """
    *kinds, joined, distances, refused = run(code, tmp_path).splitlines()
    x = torch.tensor([3.0, 1.0])
    functions = [np.linalg.norm if "norm" in name else getattr(np, name) for name in names]
    assert kinds == [type(function(x)).__name__ for function in functions]
    assert joined == "float64 ndarray"
    assert distances == "[1. 0.] 4.0 <class 'torch.Tensor'>"
    assert refused == "True"


def test_install_after_torch_is_refused(tmp_path):
    (tmp_path / "torch.py").write_text("")
    code = """
        import sys
        sys.path.insert(0, "")
        import torch
        import adjoint.compat
        try:
            adjoint.compat.install()
        except RuntimeError as error:
            print("already imported" in str(error), "install()" in str(error))
        print(len([f for f in sys.meta_path if "Alias" in type(f).__name__]))
    """
    assert run(code, tmp_path) == "True True\n0\n"


SHOWN = """
    import warnings
    warnings.simplefilter("ignore")  # of typed storages
    import torch
    numbers = torch.ones(2, dtype=torch.float64)
    print(torch.nn.ParameterList([torch.nn.Parameter(numbers)]))
    print(torch.nn.ParameterDict({"a": torch.nn.Parameter(numbers), "b": 4, "c": torch.ones(3)}))
    print(torch.ones(2).untyped_storage(), numbers.storage(), torch.FloatStorage([1.0]))
    print(torch.typename(numbers), repr(numbers), [torch.int8, torch.strided, torch.Size([1])])
"""


def test_types_are_shown_as_pytorchs(tmp_path):
    pytest.importorskip("torch")
    installed = "    import adjoint.compat\n    adjoint.compat.install()\n"
    assert run(installed + SHOWN, tmp_path) == run(SHOWN, tmp_path)


def test_star_import(tmp_path):
    code = """
        import adjoint.compat
        adjoint.compat.install()
        from torch import *
        from torch.nn.functional import *
        print(tensor([1.0]).item(), relu.__name__)
    """
    assert run(code, tmp_path) == "1.0 relu\n"


def test_adjoint_alone_does_not_load_compat(tmp_path):
    code = "import adjoint, sys; print(any('adjoint.compat' in name for name in sys.modules))"
    assert run(code, tmp_path) == "False\n"


def test_torch_is_not_imported_by_compat(tmp_path):
    code = """
        import sys
        import adjoint.compat.torch as t
        for name in dir(t):
            getattr(t, name, None)
        print("torch" in sys.modules)
    """
    assert run(code, tmp_path) == "False\n"


def test_the_modules_below_torch_are_loaded_with_it(tmp_path):
    (tmp_path / "classes.py").write_text(
        "import inspect, sys, torch\n"
        "found = dict(inspect.getmembers(sys.modules['torch.nn.modules.loss'], inspect.isclass))\n"
        "print(found['MSELoss'] is torch.nn.MSELoss, sys.modules['torch.nn'] is torch.nn)\n"
    )
    assert fresh_python("-m", "adjoint", "run", "classes.py", cwd=tmp_path) == "True True\n"
