"""torch.distributions.relaxed_bernoulli: the distribution of the logits."""

from adjoint.distributions.relaxed import LogitRelaxedBernoulli as LogitRelaxedBernoulli
