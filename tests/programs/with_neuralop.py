"""neuraloperator: operators between functions, in the space of frequencies."""

import torch
from beginnings import normal, report
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO

torch.manual_seed(0)
results = {}
for name, options in {
    "dense": {},
    "factorised": {"factorization": "tucker", "implementation": "factorized", "rank": 0.5},
}.items():
    model = FNO(
        n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=6, n_layers=2, **options
    )
    generator = iter(range(1000))
    with torch.no_grad():
        for parameter in model.parameters():
            seed = next(generator)
            if parameter.is_complex():
                parts = normal(2, *parameter.shape, seed=seed, scale=0.2)
                parameter.copy_(torch.complex(parts[0], parts[1]))
            else:
                parameter.copy_(normal(*parameter.shape, seed=seed, scale=0.2))
    x, y = normal(2, 1, 8, 8), normal(2, 1, 8, 8, seed=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        out = model(x)
        loss = LpLoss(d=2)(out, y) + 0.1 * H1Loss(d=2)(out, y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    results[name] = [losses, out[0]]
report(**results)
