"""Metrics of a classifier and of a regression, batch by batch."""

import torch
from beginnings import name_torchvision_operators, normal, report

operators = name_torchvision_operators()

import torchmetrics

classes = {
    "accuracy": torchmetrics.classification.MulticlassAccuracy(4),
    "f1": torchmetrics.classification.MulticlassF1Score(4, average="weighted"),
    "auroc": torchmetrics.classification.MulticlassAUROC(4),
    "confusion": torchmetrics.classification.MulticlassConfusionMatrix(4),
    "calibration": torchmetrics.classification.MulticlassCalibrationError(4),
    "kappa": torchmetrics.classification.MulticlassCohenKappa(4),
}
numbers = {
    "mse": torchmetrics.MeanSquaredError(),
    "r2": torchmetrics.R2Score(),
    "pearson": torchmetrics.PearsonCorrCoef(),
    "spearman": torchmetrics.SpearmanCorrCoef(),
    "cosine": torchmetrics.CosineSimilarity(),
}
for step in range(3):
    scores, targets = normal(10, 4, seed=step).softmax(-1), torch.arange(10) * 3 % 4
    found, wanted = normal(10, seed=step), normal(10, seed=step + 5)
    for metric in classes.values():
        metric.update(scores, targets)
    for name, metric in numbers.items():
        rows = name == "cosine"
        metric.update(found[None] if rows else found, wanted[None] if rows else wanted)
report(**{name: metric.compute() for name, metric in (classes | numbers).items()})
