"""Losses of embeddings, with the pairs that miners choose."""

import torch
from beginnings import normal, report
from pytorch_metric_learning import losses, miners

labels = torch.tensor([0, 0, 1, 1, 2, 2, 0, 1])
results = {}
for name, loss in {
    "triplet": losses.TripletMarginLoss(margin=0.2),
    "contrastive": losses.ContrastiveLoss(),
    "n_pairs": losses.NTXentLoss(temperature=0.3),
    "multi_similarity": losses.MultiSimilarityLoss(),
    "circle": losses.CircleLoss(),
    "lifted": losses.GeneralizedLiftedStructureLoss(),
    "supervised": losses.SupConLoss(),
}.items():
    embeddings = normal(8, 5).requires_grad_()
    value = loss(embeddings, labels)
    value.backward()
    results[name] = [value, embeddings.grad]
embeddings = normal(8, 5)
results["mined"] = miners.MultiSimilarityMiner(epsilon=0.1)(embeddings, labels)
report(**results)
