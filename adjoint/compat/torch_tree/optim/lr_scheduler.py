"""torch.optim.lr_scheduler: the base of schedules, as it was called, and what it warns of."""

from adjoint.optim.lr_scheduler.base import EPOCH_GIVEN, LRScheduler

_LRScheduler = LRScheduler
EPOCH_DEPRECATION_WARNING = EPOCH_GIVEN
