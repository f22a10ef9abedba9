"""torcheval: sixteen metrics, copied and merged."""

import numpy as np
import torch
from beginnings import name_torchvision_operators, normal, report

kept = name_torchvision_operators()

from torcheval import metrics
from torcheval.metrics.toolkit import clone_metric

rng = np.random.default_rng(0)
scores, labels = normal(20, 4).softmax(1), torch.from_numpy(rng.integers(0, 4, 20))
chance, truth = normal(20, seed=3).sigmoid(), (normal(20, seed=2) > 0).long()
classes, choices, numbers = (scores, labels), (chance, truth), (chance, truth.float())
CASES = {
    "accuracy": (metrics.MulticlassAccuracy(), classes),
    "best two": (metrics.MulticlassAccuracy(k=2), classes),
    "f1": (metrics.MulticlassF1Score(num_classes=4, average=None), classes),
    "confusion": (metrics.MulticlassConfusionMatrix(4), classes),
    "area of each": (metrics.MulticlassAUROC(num_classes=4), classes),
    "hits": (metrics.HitRate(), classes),
    "area": (metrics.BinaryAUROC(), choices),
    "precision": (metrics.BinaryAUPRC(), choices),
    "curve": (metrics.BinaryPrecisionRecallCurve(), choices),
    "recall": (metrics.BinaryRecallAtFixedPrecision(min_precision=0.5), choices),
    "entropy": (metrics.BinaryNormalizedEntropy(), numbers),
    "error": (metrics.MeanSquaredError(), numbers),
    "explained": (metrics.R2Score(), numbers),
    "noise": (metrics.PeakSignalNoiseRatio(), numbers),
    "mean": (metrics.Mean(), (chance,)),
}
results = {}
for name, (metric, given) in CASES.items():
    metric.update(*given)
    merged = clone_metric(metric)
    merged.merge_state([metric])
    results[name] = [metric.compute(), merged.compute(), sorted(metric.state_dict())]
report(**results)
