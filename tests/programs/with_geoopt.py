"""Optimisation on curved spaces: a sphere, hyperbolic space, orthogonal matrices."""

import geoopt
from beginnings import normal, report

results = {}
sphere, ball, stiefel = geoopt.Sphere(), geoopt.PoincareBall(c=1.0), geoopt.Stiefel()
starts = {
    "sphere": (sphere, sphere.projx(normal(5, 3).double())),
    "ball": (ball, ball.projx(normal(5, 3, scale=0.3).double())),
    "stiefel": (stiefel, stiefel.projx(normal(4, 2).double())),
}
for name, (manifold, start) in starts.items():
    point = geoopt.ManifoldParameter(start.clone(), manifold=manifold)
    target = manifold.projx(normal(*start.shape, seed=2, scale=0.3).double())
    for kind in (geoopt.optim.RiemannianSGD, geoopt.optim.RiemannianAdam):
        optimizer = kind([point], lr=0.05)
        losses = []
        for _ in range(6):
            loss = (point - target).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results[f"{name} {kind.__name__}"] = [losses, point.detach().clone()]
distance = ball.dist(starts["ball"][1], ball.mobius_add(starts["ball"][1], starts["ball"][1]))
report(**results, distance=distance)
