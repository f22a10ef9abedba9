"""torch.distributions.relaxed_categorical: the distribution of the logarithms."""

from adjoint.distributions.relaxed import ExpRelaxedCategorical as ExpRelaxedCategorical
