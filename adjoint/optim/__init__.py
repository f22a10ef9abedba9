"""Optimizers under PyTorch's names."""

from adjoint.optim import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from adjoint.optim.adam import (
    Adam as Adam,
    Adamax as Adamax,
    AdamW as AdamW,
    NAdam as NAdam,
    RAdam as RAdam,
)
from adjoint.optim.adaptive import (
    Adadelta as Adadelta,
    Adagrad as Adagrad,
    RMSprop as RMSprop,
    Rprop as Rprop,
)
from adjoint.optim.lbfgs import LBFGS as LBFGS
from adjoint.optim.optimizer import Optimizer as Optimizer
from adjoint.optim.sgd import ASGD as ASGD, SGD as SGD
from adjoint.optim.sparse_adam import SparseAdam as SparseAdam
from adjoint.optim.whole import Adafactor as Adafactor, Muon as Muon
