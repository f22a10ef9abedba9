"""A classifier and a regressor with scikit-learn's methods."""

import numpy as np
import torch
from beginnings import filled, report
from skorch import NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import EpochScoring, LRScheduler

rng = np.random.default_rng(0)
x = rng.normal(size=(64, 4)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
network = torch.nn.Sequential(
    torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2), torch.nn.Softmax(-1)
)
classifier = NeuralNetClassifier(
    filled(network),
    max_epochs=4,
    lr=0.1,
    optimizer=torch.optim.Adam,
    train_split=None,
    iterator_train__shuffle=False,
    verbose=0,
    callbacks=[LRScheduler("StepLR", step_size=2), EpochScoring("accuracy", on_train=True)],
)
classifier.fit(x, y)
regressor = NeuralNetRegressor(
    filled(torch.nn.Linear(4, 1)), max_epochs=3, lr=0.05, train_split=None, verbose=0
)
regressor.fit(x, x[:, :1] - x[:, 1:2])
report(
    losses=classifier.history[:, "train_loss"],
    accuracy=[float(a) for a in classifier.history[:, "accuracy"]],
    probabilities=classifier.predict_proba(x[:5]).tolist(),
    classes=classifier.predict(x[:5]).tolist(),
    regression=[regressor.history[:, "train_loss"], regressor.predict(x[:3]).tolist()],
    score=float(classifier.score(x, y)),
)
