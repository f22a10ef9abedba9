"""Schedules of learning rates under PyTorch's names."""

from adjoint.optim.lr_scheduler.base import LRScheduler as LRScheduler
from adjoint.optim.lr_scheduler.combined import (
    ChainedScheduler as ChainedScheduler,
    SequentialLR as SequentialLR,
)
from adjoint.optim.lr_scheduler.cycles import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from adjoint.optim.lr_scheduler.decay import (
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from adjoint.optim.lr_scheduler.plateau import ReduceLROnPlateau as ReduceLROnPlateau
