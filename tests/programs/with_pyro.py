"""Variational inference, a model conditioned on values, and a mixture with its choices summed."""

import pyro
import pyro.distributions as dist
import torch
from beginnings import normal, report
from pyro.infer import SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate
from pyro.infer.autoguide import AutoDelta
from pyro.optim import Adam

data = normal(20) + 1.5


def model(data):
    loc = pyro.sample("loc", dist.Normal(0.0, 10.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    with pyro.plate("data", len(data)):
        pyro.sample("obs", dist.Normal(loc, scale), obs=data)


guide = AutoDelta(model, init_loc_fn=lambda site: torch.tensor(0.5))
svi = SVI(model, guide, Adam({"lr": 0.1}), loss=Trace_ELBO())
results = {"losses": [svi.step(data) for _ in range(10)]}
given = {"loc": torch.tensor(1.0), "scale": torch.tensor(2.0)}
trace = pyro.poutine.trace(pyro.poutine.condition(model, given)).get_trace(data)
results["log_prob"] = trace.log_prob_sum()
pyro.clear_param_store()


@config_enumerate
def mixture(data):
    weights = pyro.param("weights", torch.tensor([0.3, 0.7]), constraint=dist.constraints.simplex)
    places = pyro.param("places", torch.tensor([-1.0, 1.0]))
    with pyro.plate("data", len(data)):
        index = pyro.sample("index", dist.Categorical(weights))
        pyro.sample("obs", dist.Normal(places[index], 1.0), obs=data)


svi = SVI(mixture, lambda data: None, Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
results["mixed"] = [svi.step(data) for _ in range(5)]
report(**results, weights=pyro.param("weights"), places=pyro.param("places"))
