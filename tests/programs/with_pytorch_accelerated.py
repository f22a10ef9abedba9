"""A trainer over accelerate: losses, a schedule by callbacks, and what it remembers."""

import torch
from beginnings import filled, name_torchvision_operators, normal, report
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

operators = name_torchvision_operators()

from pytorch_accelerated import Trainer


class Ordered(Trainer):
    """A trainer that takes batches in order."""

    def create_train_dataloader(self, batch_size, train_dl_kwargs=None):
        return DataLoader(self.train_dataset, batch_size, shuffle=False)


model = filled(nn.Linear(3, 2))
trainer = Ordered(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), 0.1))
data = TensorDataset(normal(16, 3), torch.arange(16) % 2)
trainer.train(train_dataset=data, eval_dataset=data, num_epochs=2, per_device_batch_size=4)
names = ("train_loss_epoch", "eval_loss_epoch")
report(
    parameters=list(model.parameters()),
    losses=[trainer.run_history.get_metric_values(name) for name in names],
)
