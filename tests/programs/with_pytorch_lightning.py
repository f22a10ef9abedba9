"""A LightningModule fitted, validated and tested by a Trainer."""

import logging
import warnings

import torch
from beginnings import filled, name_torchvision_operators, normal, report
from torch.utils.data import DataLoader, TensorDataset

operators = name_torchvision_operators()

import pytorch_lightning as pl

warnings.simplefilter("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
seen = []


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = filled(
            torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        )

    def forward(self, x):
        return self.network(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self(x), y)
        self.log("train", loss)
        seen.append(loss.detach())
        return loss

    def validation_step(self, batch, index):
        self.log("valid", torch.nn.functional.mse_loss(self(batch[0]), batch[1]))

    test_step = validation_step

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1)]


x = normal(32, 4)
loader = DataLoader(TensorDataset(x, x.prod(1, keepdim=True)), batch_size=8)
trainer = pl.Trainer(
    max_epochs=3,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    gradient_clip_val=1.0,
    accumulate_grad_batches=2,
)
model = Model()
trainer.fit(model, loader, loader)
results = trainer.validate(model, loader, verbose=False)
report(losses=seen, valid=results[0]["valid"], steps=trainer.global_step)
