"""What each sample of a training set has done to a prediction, by hooks and factored curvature."""

import torch.nn.functional as F
from beginnings import filled, normal, report
from kronfluence.analyzer import Analyzer, prepare_model
from kronfluence.arguments import FactorArguments, ScoreArguments
from kronfluence.task import Task
from torch import nn
from torch.utils.data import TensorDataset


class Regression(Task):
    """Squared errors, of the model's own answers where it is to sample."""

    def compute_train_loss(self, batch, model, sample=False):
        inputs, targets = batch
        outputs = model(inputs)
        return F.mse_loss(outputs, outputs.detach() + 0.1 if sample else targets, reduction="sum")

    def compute_measurement(self, batch, model):
        return self.compute_train_loss(batch, model)

    def get_influence_tracked_modules(self):
        return None


network = filled(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
training = TensorDataset(normal(10, 3), normal(10, 2, seed=3))
queries = TensorDataset(normal(4, 3, seed=5), normal(4, 2, seed=6))
task = Regression()
analyzer = Analyzer("small", prepare_model(network, task), task, cpu=True, disable_tqdm=True)
scores = {}
for strategy in ("identity", "ekfac"):
    analyzer.fit_all_factors(
        strategy,
        training,
        per_device_batch_size=5,
        factor_args=FactorArguments(strategy=strategy),
        overwrite_output_dir=True,
    )
    analyzer.compute_pairwise_scores(
        f"of_{strategy}",
        strategy,
        queries,
        training,
        2,
        per_device_train_batch_size=5,
        score_args=ScoreArguments(damping_factor=1e-2),
        overwrite_output_dir=True,
    )
    scores[strategy] = analyzer.load_pairwise_scores(f"of_{strategy}")["all_modules"]
report(**scores)
