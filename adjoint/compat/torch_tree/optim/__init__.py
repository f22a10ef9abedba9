"""torch.optim: private names of optimizers and schedules."""
