"""torch.distributions.multivariate_normal: products and distances of batches of vectors."""

from adjoint.distributions.multivariate import factor_of_inverse, squared_distance, times_vector

_batch_mahalanobis = squared_distance
_batch_mv = times_vector
_precision_to_scale_tril = factor_of_inverse
