"""A classifier of skorch's, fitted like one of scikit-learn's."""

import numpy as np
import torch
from beginnings import filled, report
from skorch import NeuralNetClassifier

rng = np.random.default_rng(0)
x = rng.normal(size=(30, 4)).astype(np.float32)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
model = filled(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2), torch.nn.Softmax(-1)))
net = NeuralNetClassifier(
    model, max_epochs=5, lr=0.1, train_split=None, iterator_train__shuffle=False, verbose=0
)
net.fit(x, y)
report(losses=net.history[:, "train_loss"], probabilities=net.predict_proba(x).tolist())
