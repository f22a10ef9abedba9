"""A classifier trained by pytorch-ignite's engine, with its metrics and handlers."""

import torch
from beginnings import filled, normal, report
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import EarlyStopping, LRScheduler
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage

batches = [(normal(6, 4, seed=i), (torch.arange(6) + i) % 3) for i in range(4)]
model = filled(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
loss = torch.nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, loss)
evaluator = create_supervised_evaluator(
    model, {"accuracy": Accuracy(), "loss": Loss(loss), "confusion": ConfusionMatrix(3)}
)
RunningAverage(output_transform=lambda value: value).attach(trainer, "average")
schedule = LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5))
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
stopping = EarlyStopping(3, lambda engine: -engine.state.metrics["loss"], trainer)
evaluator.add_event_handler(Events.COMPLETED, stopping)
history = []


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    """Note how far it has come."""
    found = evaluator.run(batches).metrics
    rate = optimizer.param_groups[0]["lr"]
    history.append([engine.state.metrics["average"], rate, *found.values()])


trainer.run(batches, max_epochs=4)
report(history=history)
